//! Which requests are meant for this application.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::HOST;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use oauth2::url::Url;

use super::failure::Failure;

/// Refuses requests for another host. Otherwise an attacker's name that resolves to this address would put the
/// attacker's page into this origin (DNS rebinding).
pub(super) async fn check(State(own): State<Arc<str>>, request: Request, next: Next) -> Response {
    let host = request.headers().get(HOST).and_then(|value| value.to_str().ok());
    let host = host.or_else(|| Some(request.uri().authority()?.as_str()));
    if host.is_some_and(|host| is_own(&own, host)) {
        next.run(request).await
    } else {
        Failure::OtherHost(own.to_string()).into_response()
    }
}

fn is_own(own: &str, host: &str) -> bool {
    let Ok(own) = Url::parse(own) else { return false };
    // Parsed as a URL, because the scheme's default port may be left out.
    Url::parse(&format!("{}://{host}", own.scheme())).is_ok_and(|asked| asked.origin() == own.origin())
}
