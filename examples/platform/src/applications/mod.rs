//! The developer's pages: submit, view and change applications.

mod details;
mod drafts;
mod entered;
mod form;
mod keys;
mod list;
mod secret;
mod submit;
mod upload;

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::response::Response;
use axum::routing::{get, post};
use grantor::application::LogoSlot;
use grantor::{Application, ClientId};

use crate::accounts::Account;
use crate::pages::Failure;
use crate::registration::{Named, failure, logo};
use crate::session::SignedIn;
use crate::web::Platform;

/// A logo for applications that have none yet. It is public.
pub(crate) const SAMPLE_LOGO: &[u8] = include_bytes!("../../assets/sample_logo.png");

pub(crate) fn routes() -> Router<Platform> {
    Router::new()
        .route("/applications", get(list::list))
        .route("/applications/new", get(submit::new).post(submit::create))
        .route("/applications/drafts/{draft}/logo", get(draft_logo))
        .route("/applications/{id}", get(details::details))
        .route("/applications/{id}/change", get(submit::edit).post(submit::change))
        .route("/applications/{id}/secret", post(secret::make))
        .route("/applications/{id}/retire-secret", post(secret::retire))
        .route("/applications/{id}/keys", post(keys::replace))
        .route("/applications/{id}/delete", post(secret::delete))
        .route("/applications/{id}/logo", get(logo_in_force))
        .route("/applications/{id}/logo/proposed", get(proposed_logo))
        .layer(DefaultBodyLimit::max(upload::BODY_BYTES))
}

/// Finds an application of this owner. Applications of others are not found.
async fn own(platform: &Platform, account: &Account, id: &ClientId) -> Result<Arc<Application>, Failure> {
    let application = platform.registrar()?.application(id).await.map_err(failure)?;
    if application.owner.as_ref() == Some(&account.subject) { Ok(application) } else { Err(Failure::NotFound) }
}

async fn draft_logo(
    State(platform): State<Platform>,
    signed_in: SignedIn,
    draft: Result<Path<String>, PathRejection>,
) -> Result<Response, Failure> {
    let Path(draft) = draft.map_err(|_| Failure::NotFound)?;
    let kept = drafts::find(&platform.database, &signed_in.account.subject, &draft).await?;
    kept.map(|kept| logo::send(&kept)).ok_or(Failure::NotFound)
}

async fn logo_in_force(
    State(platform): State<Platform>,
    signed_in: SignedIn,
    Named(id): Named,
) -> Result<Response, Failure> {
    own(&platform, &signed_in.account, &id).await?;
    logo::of(&platform, &id, LogoSlot::InForce).await
}

async fn proposed_logo(
    State(platform): State<Platform>,
    signed_in: SignedIn,
    Named(id): Named,
) -> Result<Response, Failure> {
    own(&platform, &signed_in.account, &id).await?;
    logo::of(&platform, &id, LogoSlot::Proposed).await
}
