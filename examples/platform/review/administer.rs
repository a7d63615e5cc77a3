//! Looking after applications in force: stop them, let them go on, change their secret, end their grants.

use axum::extract::State;
use axum::response::Response;
use grantor::RegistrarError;
use tower_sessions::Session;

use crate::pages::Failure;
use crate::registration::{Named, failure};
use crate::review::details::{conclude, explain, refuse};
use crate::review::{Controls, secret};
use crate::session::Administrator;
use crate::web::Platform;

pub(super) async fn suspend(
    State(platform): State<Platform>,
    Administrator(account): Administrator,
    Named(id): Named,
    session: Session,
) -> Result<Response, Failure> {
    let outcome = platform.registrar()?.suspend(&id).await;
    let done = "Suspended. Nobody can use it now, and its tokens are refused.";
    conclude(&platform, &account, &id, &session, outcome.map(|()| done)).await
}

pub(super) async fn resume(
    State(platform): State<Platform>,
    Administrator(account): Administrator,
    Named(id): Named,
    session: Session,
) -> Result<Response, Failure> {
    let outcome = platform.registrar()?.resume(&id).await;
    let done = "It can be used again, with the tokens it had.";
    conclude(&platform, &account, &id, &session, outcome.map(|()| done)).await
}

pub(super) async fn rotate_secret(
    State(platform): State<Platform>,
    Administrator(account): Administrator,
    Named(id): Named,
    controls: Controls,
) -> Result<Response, Failure> {
    let registrar = platform.registrar()?;
    let version = controls.version()?;
    // Read first: once there is a secret, nothing may come between it and the page.
    let application = registrar.application(&id).await.map_err(failure)?;
    match registrar.rotate_secret(&id, version).await {
        Ok(made) => Ok(secret::of_rotated(&account, application.form().name(), &id, &made)),
        Err(RegistrarError::ChangedMeanwhile) => {
            let text = "No new secret was made: the application was changed after you opened this page, perhaps by \
                        this very form. A secret is shown once; if it was lost, make a new one below.";
            refuse(&platform, &account, &id, text).await
        }
        Err(error) => explain(&platform, &account, &id, error).await,
    }
}

pub(super) async fn retire_secret(
    State(platform): State<Platform>,
    Administrator(account): Administrator,
    Named(id): Named,
    session: Session,
    controls: Controls,
) -> Result<Response, Failure> {
    if !controls.has("confirmed") {
        let text = "Nothing was retired: tick the box to say that the developer uses the new secret.";
        return refuse(&platform, &account, &id, text).await;
    }
    let outcome = platform.registrar()?.retire_previous_secret(&id, controls.version()?).await;
    let done = "Only the newest secret works now.";
    conclude(&platform, &account, &id, &session, outcome.map(|()| done)).await
}

pub(super) async fn withdraw_grants(
    State(platform): State<Platform>,
    Administrator(account): Administrator,
    Named(id): Named,
    session: Session,
    controls: Controls,
) -> Result<Response, Failure> {
    if !controls.has("confirmed") {
        let text = "Nothing was withdrawn: tick the box to say that you mean it.";
        return refuse(&platform, &account, &id, text).await;
    }
    let outcome = platform.registrar()?.withdraw_grants(&id).await;
    let done = "Everything that users had granted to it is withdrawn.";
    conclude(&platform, &account, &id, &session, outcome.map(|()| done)).await
}
