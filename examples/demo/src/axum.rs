//! The routes of the thin server on axum. The README of grantor-axum has the same in one file.

use axum::extract::{Request, State};
use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::request::Parts;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{AppendHeaders, IntoResponse, Response};
use axum::routing::any;
use axum::{Extension, Json, Router};
use grantor::config::Profile;
use grantor::scope::Permission;
use grantor::wire::{Body, Endpoint};
use grantor::{Authenticated, AuthorizationServer, Subject};
use grantor_axum::{
    Incoming, Refused, RequireScope, RequiredScope, page, refuse_other_hosts, require_scopes, to_request,
};

use crate::{INTERACTION, LOOPBACK_NAMES, Me, PROFILE, Session, consent_page, protected_resources, require_profile};

/// Returns all routes of the service.
pub fn routes(server: AuthorizationServer) -> Router {
    let routes = grantor_axum::routes(&server).merge(pages(&server));
    let me = if server.config().profile() == Profile::Fapi { any(me_of_anyone) } else { any(me) };
    let routes = routes.route("/api/me", me.layer(from_fn(returned)));
    let guarded = protected_resources(&server).into_iter().fold(routes, |routes, (path, needed)| {
        routes.route(&path, any(me_there).layer(from_fn_with_state(needed, require_scopes)))
    });
    let hosts = server.hosts().and(LOOPBACK_NAMES);
    guarded.with_state(server).layer(from_fn_with_state(hosts, refuse_other_hosts))
}

/// The authorization endpoint and its consent page.
pub fn pages(server: &AuthorizationServer) -> Router<AuthorizationServer> {
    Router::new().route(&server.path(Endpoint::Authorization), any(authorize)).route("/consent", any(consent))
}

/// Asks the user. A real service requires a sign-in first.
async fn authorize(State(server): State<AuthorizationServer>, request: Incoming) -> Result<Response, Refused> {
    let session = session(&request);
    let held = grantor_axum::authorize(&server, &request, Some(&session.user), session.id.as_bytes()).await?;
    let html = held.map(|held| consent_page(&held.pending, &session, &held.ticket)).unwrap_or_default();
    Ok((AppendHeaders([(SET_COOKIE, session.set_cookie())]), page(html)).into_response())
}

/// Applies the decision. The form's ticket is not valid without this user's session.
async fn consent(State(server): State<AuthorizationServer>, request: Incoming) -> Response {
    let session = session(&request);
    grantor_axum::decide(&server, &request, &session.user, session.id.as_bytes()).await
}

/// The scope of the resource.
struct OwnProfile;

impl RequiredScope for OwnProfile {
    const NAME: &str = PROFILE;
    const PERMISSION: Option<Permission> = Some(Permission::Read);
}

/// A resource: the user of the token.
async fn me(RequireScope { token, .. }: RequireScope<OwnProfile>) -> Response {
    answer(&token)
}

/// The same, also for a token without a user, which the conformance suite requests. Such a token has no account, so it
/// needs the scope for its application.
async fn me_of_anyone(State(server): State<AuthorizationServer>, parts: Parts) -> Result<Response, Refused> {
    let token = server.authenticate(&to_request(&parts, Body::Empty)).await?;
    require_profile(&server, &token)?;
    Ok(answer(&token))
}

/// The same at a protected resource, behind its guard.
async fn me_there(Extension(token): Extension<Authenticated>) -> Response {
    answer(&token)
}

fn answer(token: &Authenticated) -> Response {
    let user = token.subject().map(Subject::as_str);
    let application = user.is_none().then(|| token.client_id().as_str());
    Json(Me { user, application, scope: token.scopes().as_str() }).into_response()
}

/// Returns the id of the interaction in every response.
async fn returned(request: Request, next: Next) -> Response {
    let id = request.headers().get(INTERACTION).cloned();
    let mut response = next.run(request).await;
    if let Some(id) = id {
        response.headers_mut().insert(INTERACTION, id);
    }
    response
}

fn session(request: &Incoming) -> Session {
    Session::of(request.parts.headers.get(COOKIE).and_then(|cookies| cookies.to_str().ok()))
}
