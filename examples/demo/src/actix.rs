//! The routes of the thin server on actix-web.

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{HeaderName, LOCATION};
use actix_web::middleware::{Next, from_fn};
use actix_web::web::{self, Data, ReqData, ServiceConfig};
use actix_web::{Error, HttpRequest, HttpResponse};
use grantor::config::Profile;
use grantor::interaction::{ReturnTo, SignedIn};
use grantor::scope::Permission;
use grantor::wire::Body;
use grantor::{Authenticated, AuthorizationServer, Subject};
use grantor_actix::{
    Interaction, Refused, RequireScope, RequiredScope, Users, health, refuse_other_hosts, require_scopes, to_request,
};

use crate::LOOPBACK_NAMES;
use crate::service::{Alice, INTERACTION, Me, PROFILE, pages, protected_resources, require_profile};

/// Configures all routes of the service.
pub fn configure(services: &mut ServiceConfig, server: &AuthorizationServer) {
    let own_hosts = refuse_other_hosts(server.hosts().and(LOOPBACK_NAMES));
    services
        .app_data(Data::new(server.clone()))
        .configure(Interaction::new(server, pages(), Alice).hosts(LOOPBACK_NAMES).configure())
        .configure(health(server));
    let me_resource = web::resource("/api/me");
    match server.config().profile() {
        Profile::Fapi => services.service(me_resource.wrap(from_fn(returned)).wrap(own_hosts.clone()).to(me_of_anyone)),
        _ => services.service(me_resource.wrap(own_hosts.clone()).to(me)),
    };
    for (path, needed) in protected_resources(server) {
        let guard = move |request: ServiceRequest, next: Next<_>| require_scopes(needed.clone(), request, next);
        let there = web::resource(path).wrap(from_fn(guard)).wrap(own_hosts.clone());
        services.service(there.to(me_there));
    }
}

impl Users for Alice {
    async fn signed_in(&self, _: &HttpRequest) -> Result<Option<SignedIn>, Error> {
        Ok(Some(Self::user()))
    }

    /// Never called, since she is always signed in.
    fn sign_in(&self, return_to: &ReturnTo) -> HttpResponse {
        HttpResponse::SeeOther().insert_header((LOCATION, return_to.as_str())).finish()
    }
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
    let token = server.resource().authenticate(&to_request(&request, Body::Empty)).await?;
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
