//! The decision on a submission, in the version that the administrator read.

use axum::extract::State;
use axum::response::Response;
use grantor::application::{FieldError, Logo, Problem, RegistrationLimits};
use grantor::{Approval, RegistrarError};
use tower_sessions::Session;

use crate::applications::SAMPLE_LOGO;
use crate::pages::Failure;
use crate::registration::problems::{misleading, without_line_ends};
use crate::registration::{Controls, Named};
use crate::review::details::{Refusal, acting, conclude, refuse};
use crate::session::Administrator;
use crate::web::Platform;

pub(super) async fn approve(
    State(platform): State<Platform>,
    Administrator(account): Administrator,
    Named(id): Named,
    session: Session,
    controls: Controls,
) -> Result<Response, Failure> {
    let registrar = acting(&platform, &account)?;
    let scopes = controls.all("scope").collect::<Vec<_>>().join(" ");
    if scopes.is_empty() {
        let text = "Tick at least one scope, or reject the application.";
        return refuse(&platform, &account, &id, text).await;
    }
    let approval = approval(&controls, registrar.limits()).map_err(Failure::internal)?.scopes(scopes);
    let outcome = registrar.approve(&id, controls.version()?, approval).await;
    let has_key = registrar.client(&id).await.is_ok_and(|client| client.form().keys.is_some());
    let done = outcome.map(|approved| {
        if approved.is_change {
            "The change is approved and in force."
        } else if controls.has("name") {
            "Approved. Users see the name and website that you entered."
        } else if has_key {
            "Approved. The developer can use it now; it authenticates with its key."
        } else {
            "Approved. The developer can use it now, and makes its secret."
        }
    });
    conclude(&platform, &account, &id, &session, done).await
}

fn approval(controls: &Controls, limits: &RegistrationLimits) -> Result<Approval, FieldError> {
    let mut approval = Approval::default();
    // What users see of an application that registered itself.
    if controls.has("name") {
        let logo = Logo::new(SAMPLE_LOGO, limits)?;
        approval = approval.name(controls.one("name")).website(controls.one("website")).logo(logo);
    }
    if controls.has("require_pkce") {
        approval = approval.require_pkce();
    }
    if controls.has("trusted") {
        approval = approval.trusted();
    }
    if controls.has("may_introspect") {
        approval = approval.may_introspect();
    }
    Ok(approval)
}

pub(super) async fn reject(
    State(platform): State<Platform>,
    Administrator(account): Administrator,
    Named(id): Named,
    session: Session,
    controls: Controls,
) -> Result<Response, Failure> {
    let registrar = acting(&platform, &account)?;
    // Browsers end the lines of a text with two characters.
    let reason = without_line_ends(controls.one("reason"));
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

fn reason_words(problem: &Problem, reason: &str) -> String {
    match problem {
        Problem::Missing => "Give a reason: the developer must know what to change.".into(),
        Problem::TooManyCharacters { limit } => {
            let count = reason.trim().chars().count();
            format!("The reason has {count} characters; it may have at most {limit}.")
        }
        Problem::Text(error) => misleading("The reason", *error),
        other => format!("The reason {other}."),
    }
}
