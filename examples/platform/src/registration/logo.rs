//! Logos that are not public: those of drafts, of submissions and of the administrator's pages.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use grantor::ClientId;
use grantor::application::{Logo, LogoSlot};

use crate::pages::Failure;
use crate::registration::failure;
use crate::web::Platform;

/// Sends a logo of an application. The caller must check who may see it.
pub(crate) async fn of(platform: &Platform, id: &ClientId, slot: LogoSlot) -> Result<Response, Failure> {
    let logo = platform.registrar()?.logo(id, slot).await.map_err(failure)?;
    logo.map(|logo| send(&logo)).ok_or(Failure::NotFound)
}

/// Sends a logo so that browsers treat it as an image, even if its bytes contain more.
pub(crate) fn send(logo: &Logo) -> Response {
    const HEADERS: [(HeaderName, HeaderValue); 5] = [
        (CACHE_CONTROL, HeaderValue::from_static("private, no-cache")),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    ];
    (HEADERS, [(CONTENT_TYPE, logo.media_type())], logo.bytes().to_vec()).into_response()
}
