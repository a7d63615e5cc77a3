//! What the thin server on axum answers. The README of grantor-axum has the same in one file.

use axum::extract::State;
use axum::http::header::{COOKIE, SET_COOKIE};
use axum::middleware::from_fn_with_state;
use axum::response::{AppendHeaders, IntoResponse, Response};
use axum::routing::any;
use axum::{Extension, Json, Router};
use grantor::scope::Permission;
use grantor::wire::Endpoint;
use grantor::{Authenticated, AuthorizationServer};
use grantor_axum::{Incoming, Refused, RequireScope, RequiredScope, page, require_scopes};

use crate::{Me, Session, consent_page, protected_resources};

/// Everything that the service answers.
pub fn routes(server: AuthorizationServer) -> Router {
    let routes = grantor_axum::routes(&server).merge(pages(&server)).route("/api/me", any(me));
    let guarded = protected_resources(&server).into_iter().fold(routes, |routes, (path, needed)| {
        routes.route(&path, any(me_there).layer(from_fn_with_state(needed, require_scopes)))
    });
    guarded.with_state(server)
}

/// The authorization endpoint and its consent page.
pub fn pages(server: &AuthorizationServer) -> Router<AuthorizationServer> {
    Router::new().route(&server.path(Endpoint::Authorization), any(authorize)).route("/consent", any(consent))
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
    answer(&server, &token).await
}

/// The same at a protected resource, behind its guard.
async fn me_there(
    State(server): State<AuthorizationServer>,
    Extension(token): Extension<Authenticated>,
) -> Result<Response, Refused> {
    answer(&server, &token).await
}

async fn answer(server: &AuthorizationServer, token: &Authenticated) -> Result<Response, Refused> {
    let user = server.require_subject(token)?;
    Ok(Json(Me { user: user.as_str(), scope: token.scopes().as_str() }).into_response())
}

fn session(request: &Incoming) -> Session {
    Session::of(request.parts.headers.get(COOKIE).and_then(|cookies| cookies.to_str().ok()))
}
