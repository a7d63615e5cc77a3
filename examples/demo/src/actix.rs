//! The routes of the thin server on actix-web. The README of grantor-actix has the same in one file.

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{COOKIE, HeaderName, HeaderValue, SET_COOKIE};
use actix_web::middleware::{Next, from_fn};
use actix_web::web::{self, Data, ReqData, ServiceConfig};
use actix_web::{Error, HttpRequest, HttpResponse};
use grantor::config::Profile;
use grantor::scope::Permission;
use grantor::wire::{Body, Endpoint};
use grantor::{Authenticated, AuthorizationServer, Subject};
use grantor_actix::{
    Incoming, Refused, RequireScope, RequiredScope, page, refuse_other_hosts, require_scopes, to_request,
};

use crate::{INTERACTION, LOOPBACK_NAMES, Me, PROFILE, Session, consent_page, protected_resources, require_profile};

/// Configures all routes of the service.
pub fn configure(services: &mut ServiceConfig, server: &AuthorizationServer) {
    let hosts = server.hosts().and(LOOPBACK_NAMES);
    let guard = move |request: ServiceRequest, next: Next<_>| refuse_other_hosts(hosts.clone(), request, next);
    services.service(web::scope("").wrap(from_fn(guard)).configure(|services| routes(services, server)));
}

fn routes(services: &mut ServiceConfig, server: &AuthorizationServer) {
    services
        .configure(grantor_actix::configure(server))
        .route(&server.path(Endpoint::Authorization), web::to(authorize))
        .route("/consent", web::to(consent))
        .service(match server.config().profile() {
            Profile::Fapi => web::resource("/api/me").wrap(from_fn(returned)).to(me_of_anyone),
            _ => web::resource("/api/me").wrap(from_fn(returned)).to(me),
        });
    for (path, needed) in protected_resources(server) {
        let guard = move |request: ServiceRequest, next: Next<_>| require_scopes(needed.clone(), request, next);
        services.service(web::resource(path).wrap(from_fn(guard)).to(me_there));
    }
}

/// Asks the user. A real service requires a sign-in first.
async fn authorize(server: Data<AuthorizationServer>, request: Incoming) -> Result<HttpResponse, Refused> {
    let session = session(&request);
    let held = grantor_actix::authorize(&server, &request, Some(&session.user), session.id.as_bytes()).await?;
    let html = held.map(|held| consent_page(&held.pending, &session, &held.ticket)).unwrap_or_default();
    let mut page = page(html);
    let cookie = HeaderValue::try_from(session.set_cookie()).expect("the id is hexadecimal");
    page.headers_mut().append(SET_COOKIE, cookie);
    Ok(page)
}

/// Applies the decision. The form's ticket is not valid without this user's session.
async fn consent(server: Data<AuthorizationServer>, request: Incoming) -> HttpResponse {
    let session = session(&request);
    grantor_actix::decide(&server, &request, &session.user, session.id.as_bytes()).await
}

/// The scope of the resource.
struct OwnProfile;

impl RequiredScope for OwnProfile {
    const NAME: &str = PROFILE;
    const PERMISSION: Option<Permission> = Some(Permission::Read);
}

/// A resource: the user of the token.
async fn me(RequireScope { token, .. }: RequireScope<OwnProfile>) -> HttpResponse {
    answer(&token)
}

/// The same, also for a token without a user, which the conformance suite requests. Such a token has no account, so it
/// needs the scope for its application.
async fn me_of_anyone(server: Data<AuthorizationServer>, request: HttpRequest) -> Result<HttpResponse, Refused> {
    let token = server.authenticate(&to_request(&request, Body::Empty)).await?;
    require_profile(&server, &token)?;
    Ok(answer(&token))
}

/// The same at a protected resource, behind its guard.
async fn me_there(token: ReqData<Authenticated>) -> HttpResponse {
    answer(&token)
}

fn answer(token: &Authenticated) -> HttpResponse {
    let user = token.subject().map(Subject::as_str);
    let application = user.is_none().then(|| token.client_id().as_str());
    HttpResponse::Ok().json(Me { user, application, scope: token.scopes().as_str() })
}

/// Returns the id of the interaction in every response.
async fn returned(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let id = request.headers().get(INTERACTION).cloned();
    let mut response = next.call(request).await?;
    if let Some(id) = id {
        response.headers_mut().insert(HeaderName::from_static(INTERACTION), id);
    }
    Ok(response)
}

fn session(request: &Incoming) -> Session {
    Session::of(request.request.headers().get(COOKIE).and_then(|cookies| cookies.to_str().ok()))
}
