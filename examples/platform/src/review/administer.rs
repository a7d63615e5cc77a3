//! Administration of applications in force: suspend, resume, remove scopes, revoke, transfer, delete.

use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use grantor::registration::Reduction;
use tower_sessions::Session;

use crate::accounts::Account;
use crate::pages::Failure;
use crate::registration::{Controls, Named, failure};
use crate::review::details::{acting, conclude, explain, refuse};
use crate::session::Administrator;
use crate::web::Platform;

pub(super) async fn suspend(
    State(platform): State<Platform>,
    Administrator(account): Administrator,
    Named(id): Named,
    session: Session,
) -> Result<Response, Failure> {
    let outcome = acting(&platform, &account)?.suspend(&id).await;
    let done = "Suspended. It cannot be used now, and its tokens are refused.";
    conclude(&platform, &account, &id, &session, outcome.map(|()| done)).await
}

pub(super) async fn resume(
    State(platform): State<Platform>,
    Administrator(account): Administrator,
    Named(id): Named,
    session: Session,
) -> Result<Response, Failure> {
    let outcome = acting(&platform, &account)?.resume(&id).await;
    let done = "It can be used again, with the tokens it had.";
    conclude(&platform, &account, &id, &session, outcome.map(|()| done)).await
}

pub(super) async fn set_privileges(
    State(platform): State<Platform>,
    Administrator(account): Administrator,
    Named(id): Named,
    session: Session,
    controls: Controls,
) -> Result<Response, Failure> {
    let registrar = acting(&platform, &account)?;
    // Privileges that the page does not show are kept.
    let mut privileges = registrar.client(&id).await.map_err(failure)?.privileges();
    privileges.require_pkce = controls.has("require_pkce");
    privileges.trusted = controls.has("trusted");
    privileges.may_introspect = controls.has("may_introspect");
    let outcome = registrar.set_privileges(&id, controls.version()?, privileges).await;
    conclude(&platform, &account, &id, &session, outcome.map(|()| "Its privileges are saved.")).await
}

pub(super) async fn reduce(
    State(platform): State<Platform>,
    Administrator(account): Administrator,
    Named(id): Named,
    session: Session,
    controls: Controls,
) -> Result<Response, Failure> {
    let scopes = controls.all("scope").collect::<Vec<_>>().join(" ");
    if scopes.is_empty() {
        return refuse(&platform, &account, &id, "No scope was removed: leave at least one, or suspend it.").await;
    }
    let reducing = Reduction::default().scopes(scopes);
    let outcome = acting(&platform, &account)?.reduce(&id, controls.version()?, reducing).await;
    let done = "It now has only the chosen scopes, and so do its tokens.";
    conclude(&platform, &account, &id, &session, outcome.map(|()| done)).await
}

pub(super) async fn end_secrets(
    State(platform): State<Platform>,
    Administrator(account): Administrator,
    Named(id): Named,
    session: Session,
    controls: Controls,
) -> Result<Response, Failure> {
    if !controls.has("confirmed") {
        let text = "No secret was ended: check the box to confirm.";
        return refuse(&platform, &account, &id, text).await;
    }
    let outcome = acting(&platform, &account)?.end_secrets(&id).await;
    let done = "Its secrets are ended. Its developer can make a new one.";
    conclude(&platform, &account, &id, &session, outcome.map(|()| done)).await
}

pub(super) async fn transfer(
    State(platform): State<Platform>,
    Administrator(account): Administrator,
    Named(id): Named,
    session: Session,
    controls: Controls,
) -> Result<Response, Failure> {
    let Some(owner) = Account::find(&platform.database, controls.one("owner").trim()).await? else {
        return refuse(&platform, &account, &id, "Nothing was transferred: there is no account of that name.").await;
    };
    let outcome = acting(&platform, &account)?.transfer(&id, controls.version()?, owner.subject).await;
    conclude(&platform, &account, &id, &session, outcome.map(|()| "It belongs to the new developer now.")).await
}

pub(super) async fn delete(
    State(platform): State<Platform>,
    Administrator(account): Administrator,
    Named(id): Named,
    controls: Controls,
) -> Result<Response, Failure> {
    if !controls.has("confirmed") {
        let text = "Nothing was deleted: check the box to confirm.";
        return refuse(&platform, &account, &id, text).await;
    }
    match acting(&platform, &account)?.delete(&id, controls.version()?).await {
        Ok(()) => Ok(Redirect::to("/review").into_response()),
        Err(error) => explain(&platform, &account, &id, error).await,
    }
}

pub(super) async fn revoke_grants(
    State(platform): State<Platform>,
    Administrator(account): Administrator,
    Named(id): Named,
    session: Session,
    controls: Controls,
) -> Result<Response, Failure> {
    if !controls.has("confirmed") {
        let text = "Nothing was revoked: check the box to confirm.";
        return refuse(&platform, &account, &id, text).await;
    }
    let outcome = acting(&platform, &account)?.revoke_grants(&id).await;
    let done = "Everything that users had granted to it is revoked.";
    conclude(&platform, &account, &id, &session, outcome.map(|()| done)).await
}
