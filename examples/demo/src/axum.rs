//! What the thin server on axum answers. The README of grantor-axum has the same in one file.

use axum::extract::State;
use axum::http::header::{COOKIE, SET_COOKIE};
use axum::response::{AppendHeaders, IntoResponse, Response};
use axum::routing::any;
use axum::{Json, Router};
use grantor::AuthorizationServer;
use grantor::scope::Permission;
use grantor::wire::Endpoint;
use grantor_axum::{Incoming, Refused, RequireScope, RequiredScope, page};

use crate::{Me, Session, consent_page};

/// Everything that the service answers.
pub fn routes(server: AuthorizationServer) -> Router {
    grantor_axum::routes(&server)
        .route(&server.path(Endpoint::Authorization), any(authorize))
        .route("/consent", any(consent))
        .route("/api/me", any(me))
        .with_state(server)
}

/// Asks the user, who would have to sign in first in a real service.
async fn authorize(State(server): State<AuthorizationServer>, request: Incoming) -> Result<Response, Refused> {
    let session = session(&request);
    let held = grantor_axum::authorize(&server, &request, Some(&session.user), session.id.as_bytes()).await?;
    let html = held.map(|held| consent_page(&held.pending, &session, &held.handle)).unwrap_or_default();
    Ok((AppendHeaders([(SET_COOKIE, session.set_cookie())]), page(html)).into_response())
}

/// Takes the decision; the form's handle is worth nothing without this user's session.
async fn consent(State(server): State<AuthorizationServer>, request: Incoming) -> Response {
    let session = session(&request);
    grantor_axum::decide(&server, &request, &session.user, session.id.as_bytes()).await
}

/// The scope of the resource.
struct Profile;

impl RequiredScope for Profile {
    const NAME: &str = "account-profile";
    const PERMISSION: Option<Permission> = Some(Permission::Read);
}

/// A resource: who the token speaks for.
async fn me(
    State(server): State<AuthorizationServer>,
    RequireScope { token, .. }: RequireScope<Profile>,
) -> Result<Response, Refused> {
    let user = server.require_subject(&token)?;
    Ok(Json(Me { user: user.as_str(), scope: token.scopes().as_str() }).into_response())
}

fn session(request: &Incoming) -> Session {
    Session::of(request.parts.headers.get(COOKIE).and_then(|cookies| cookies.to_str().ok()))
}
