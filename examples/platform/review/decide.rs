//! The decision on what was submitted, as it was read.

use axum::extract::State;
use axum::response::Response;
use grantor::{Approval, Problem, RegistrarError};
use tower_sessions::Session;

use crate::pages::Failure;
use crate::registration::{Named, failure};
use crate::review::details::{Refusal, conclude, explain, refuse};
use crate::review::{Controls, secret};
use crate::session::Administrator;
use crate::web::Platform;

pub(super) async fn approve(
    State(platform): State<Platform>,
    Administrator(account): Administrator,
    Named(id): Named,
    session: Session,
    controls: Controls,
) -> Result<Response, Failure> {
    let registrar = platform.registrar()?;
    let scopes = controls.all("scope").collect::<Vec<_>>().join(" ");
    if scopes.is_empty() {
        let text = "Tick at least one scope, or reject the application.";
        return refuse(&platform, &account, &id, text).await;
    }
    // Read first: once there is a secret, nothing may come between it and the page.
    let application = registrar.application(&id).await.map_err(failure)?;
    match registrar.approve(&id, controls.version()?, approval(&controls).scopes(scopes)).await {
        Ok(approved) if approved.is_change() => {
            conclude(&platform, &account, &id, &session, Ok("The change is approved and in force.")).await
        }
        Ok(approved) => Ok(secret::of_approved(&account, application.form().name(), &approved)),
        Err(error) => explain(&platform, &account, &id, error).await,
    }
}

fn approval(controls: &Controls) -> Approval {
    let mut approval = Approval::default();
    if controls.has("require_pkce") {
        approval = approval.require_pkce();
    }
    if controls.has("trusted") {
        approval = approval.trusted();
    }
    if controls.has("may_introspect") {
        approval = approval.may_introspect();
    }
    approval
}

pub(super) async fn reject(
    State(platform): State<Platform>,
    Administrator(account): Administrator,
    Named(id): Named,
    session: Session,
    controls: Controls,
) -> Result<Response, Failure> {
    let registrar = platform.registrar()?;
    // Browsers end the lines of a text with two characters.
    let reason = controls.one("reason").replace("\r\n", "\n");
    match registrar.reject(&id, controls.version()?, reason.trim()).await {
        Err(RegistrarError::Invalid(errors)) => {
            let problem = errors.first().map(|error| reason_words(error.problem(), &reason));
            refuse(&platform, &account, &id, Refusal { text: None, reason, reason_problem: problem }).await
        }
        outcome => {
            let done = "Rejected. The developer sees your reason.";
            conclude(&platform, &account, &id, &session, outcome.map(|()| done)).await
        }
    }
}

fn reason_words(problem: Problem, reason: &str) -> String {
    match problem {
        Problem::Missing => "Give a reason: the developer has to know what to change.".into(),
        Problem::TooManyCharacters { limit } => {
            let count = reason.trim().chars().count();
            format!("The reason has {count} characters; it may have at most {limit}.")
        }
        other => format!("The reason {other}."),
    }
}
