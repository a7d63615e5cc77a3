//! The logos of approved applications, for the pages that users see.

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use grantor::application::LogoSlot;
use grantor::client::ClientState;
use grantor::{Client, ClientId};

use crate::pages::{Failure, segment};
use crate::web::Platform;

pub(crate) fn routes() -> Router<Platform> {
    Router::new().route("/logos/{client_id}", get(logo))
}

/// The address of a client's logo, which changes with the client; `None` unless a person approved the logo.
pub(crate) fn address(client: &Client) -> Option<String> {
    let (id, version) = (segment(client.id().as_str()), client.version());
    (client.state() == ClientState::Approved && !client.is_unreviewed()).then(|| format!("/logos/{id}?v={version}"))
}

async fn logo(
    State(platform): State<Platform>,
    client_id: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    let Path(client_id) = client_id.map_err(|_| Failure::NotFound)?;
    let id = ClientId::new(client_id).map_err(|_| Failure::NotFound)?;
    let registrar = platform.server.registrar().ok_or(Failure::NotFound)?;
    let client = platform.server.client(&id).await?;
    let client = client.filter(|client| client.state() == ClientState::Approved).ok_or(Failure::NotFound)?;
    let logo = registrar.logo(&id, LogoSlot::InForce).await?.ok_or(Failure::NotFound)?;
    let is_versioned = query.is_some_and(|query| query == format!("v={}", client.version()));
    let caching = if is_versioned { "max-age=31536000, immutable" } else { "no-cache" };
    let headers = [
        (CONTENT_TYPE, logo.media_type()),
        (CACHE_CONTROL, caching),
        // Browsers must treat the file as an image, even if it contains more.
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
    ];
    Ok((headers, logo.bytes().to_vec()).into_response())
}
