//! The secret of one's own application: made, shown once, replaced.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use grantor::{ClientId, RegistrarError};
use tower_sessions::Session;

use crate::applications::own;
use crate::pages::{Failure, Frame, page_with_script};
use crate::registration::{Controls, Named, failure, notice};
use crate::session::SignedIn;
use crate::web::Platform;

#[derive(Template)]
#[template(path = "applications/secret.html")]
struct SecretPage<'a> {
    frame: Frame,
    name: &'a str,
    client_id: &'a ClientId,
    client_secret: &'a str,
    is_rotated: bool,
}

/// Makes the first secret, or the next one.
pub(super) async fn make(
    State(platform): State<Platform>,
    signed_in: SignedIn,
    Named(id): Named,
    controls: Controls,
) -> Result<Response, Failure> {
    let owner = &signed_in.account.subject;
    // Read first: once the secret exists, nothing may fail before the page shows it.
    let application = own(&platform, &signed_in.account, &id).await?;
    let (registrar, version) = (platform.registrar()?, controls.version()?);
    let is_rotated = registrar.client(&id).await.map_err(failure)?.has_secret();
    let made = if is_rotated {
        registrar.rotate_secret(&id, owner, version).await
    } else {
        registrar.claim_secret(&id, owner, version).await
    };
    match made {
        Ok(secret) => Ok(page_with_script(&SecretPage {
            frame: Frame::for_account(&signed_in.account),
            name: &application.form().name,
            client_id: &id,
            client_secret: secret.expose(),
            is_rotated,
        })),
        Err(error) => back(&signed_in.visitor.session, &id, Err(error)).await,
    }
}

pub(super) async fn retire(
    State(platform): State<Platform>,
    signed_in: SignedIn,
    Named(id): Named,
    controls: Controls,
) -> Result<Response, Failure> {
    let session = &signed_in.visitor.session;
    if !controls.has("confirmed") {
        return to_application(session, &id, "Nothing was retired: check the box first.").await;
    }
    let owner = &signed_in.account.subject;
    let outcome = platform.registrar()?.revoke_previous_secret(&id, owner, controls.version()?).await;
    back(session, &id, outcome.map(|()| "Only the newest secret works now.")).await
}

pub(super) async fn delete(
    State(platform): State<Platform>,
    signed_in: SignedIn,
    Named(id): Named,
    controls: Controls,
) -> Result<Response, Failure> {
    let session = &signed_in.visitor.session;
    if !controls.has("confirmed") {
        return to_application(session, &id, "Nothing was deleted: check the box first.").await;
    }
    match platform.registrar()?.delete_own(&id, &signed_in.account.subject, controls.version()?).await {
        Ok(()) => Ok(Redirect::to("/applications").into_response()),
        Err(error) => back(session, &id, Err(error)).await,
    }
}

/// Redirects to the application, with a notice of what was done, or why nothing was.
async fn back(
    session: &Session,
    id: &ClientId,
    outcome: Result<&'static str, RegistrarError>,
) -> Result<Response, Failure> {
    let text = match outcome {
        Ok(done) => done,
        Err(RegistrarError::ChangedMeanwhile | RegistrarError::SecretExists) => {
            "Nothing was done: the application was changed after you opened this page, perhaps by this form. A \
             secret is shown once; if it was lost, make a new one below."
        }
        Err(RegistrarError::NoSecret) => {
            "Nothing was done: the application authenticates with its key and has no secret."
        }
        Err(error) => return Err(failure(error)),
    };
    to_application(session, id, text).await
}

async fn to_application(session: &Session, id: &ClientId, text: &'static str) -> Result<Response, Failure> {
    notice::leave(session, id, text).await?;
    Ok(Redirect::to(&format!("/applications/{id}")).into_response())
}
