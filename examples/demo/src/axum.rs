//! The routes of the thin server on axum.

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::any;
use axum::{Extension, Json, Router};
use grantor::config::Profile;
use grantor::interaction::{ReturnTo, SignedIn};
use grantor::scope::Permission;
use grantor::wire::Body;
use grantor::{Authenticated, AuthorizationServer, Subject};
use grantor_axum::{
    Interaction, Refused, RequireScope, RequiredScope, Users, health, refuse_other_hosts, require_scopes, to_request,
};

use crate::LOOPBACK_NAMES;
use crate::service::{Alice, INTERACTION, Me, PROFILE, pages, protected_resources, require_profile};

/// Returns all routes of the service.
pub fn routes(server: AuthorizationServer) -> Router {
    let hosts = server.hosts().and(LOOPBACK_NAMES);
    let me = match server.config().profile() {
        Profile::Fapi => any(me_of_anyone).layer(from_fn(returned)),
        _ => any(me),
    };
    let resources = protected_resources(&server).into_iter();
    let routes = resources.fold(Router::new().route("/api/me", me), |routes, (path, (resource, needed))| {
        routes.route(&path, any(me_there).layer(require_scopes(resource, needed)))
    });
    let interaction = Interaction::new(&server, pages(), Alice).hosts(LOOPBACK_NAMES);
    // `Interaction` checks the host by itself, and a load balancer asks for none. Add other routes before the layer.
    routes.layer(refuse_other_hosts(hosts)).merge(interaction.routes()).merge(health()).with_state(server)
}

impl Users for Alice {
    async fn signed_in(&self, _: &mut Parts) -> Result<Option<SignedIn>, Response> {
        Ok(Some(Self::user()))
    }

    /// Never called, since she is always signed in.
    fn sign_in(&self, return_to: &ReturnTo) -> Response {
        Redirect::to(return_to.as_str()).into_response()
    }
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
    let token = server.resource().authenticate(&to_request(&parts, Body::Empty)).await?;
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
