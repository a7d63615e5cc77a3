//! The guard of routes that need an access token.

use std::marker::PhantomData;
use std::pin::Pin;

use actix_web::body::MessageBody;
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::error::Error;
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{FromRequest, HttpMessage as _, HttpRequest};
use grantor::scope::{Permission, ScopeSet};
use grantor::{Authenticated, AuthorizationServer, ConfigError, ResourceServer, wire};

use crate::{Refused, to_request};

/// The scope that a route requires, named by a type.
pub trait RequiredScope: 'static {
    /// The name in the catalog, without a permission.
    const NAME: &'static str;
    /// The permission that is required; `None` for a scope without a permission.
    const PERMISSION: Option<Permission> = None;
}

/// An extractor for routes that need an access token with a scope; other requests are answered 401 or 403 with a
/// challenge, 400 if they are malformed, and 503 if the look-up of the token failed [RFC 6750 section 3].
///
/// A browser sends a preflight before a page of another origin may call the route [Fetch standard]. Where it reaches
/// this extractor, it is answered with 204 and no CORS headers. A `web::get` route is not called for it: actix-web
/// refuses the method first. In each case no page may call the route, unless a CORS middleware runs first.
///
/// The application has the server `R` as `Data`: the [`AuthorizationServer`], or the [`ResourceServer`] of an API in
/// another process. With [`Config::resources`](grantor::Config::resources), the former accepts tokens for the default
/// resource only, and none if there is no default. [`require_scopes`] guards the routes of any other resource.
///
/// A token that is bound to a key needs a DPoP proof. Its URL must be the path of the request at the origin of the
/// resource, or of the issuer without protected resources [RFC 9449 section 7].
///
/// The token is read from the header only. With `bearer_in_body`, take [`Incoming`](crate::Incoming), and call
/// [`authenticate`](ResourceServer::authenticate) and [`require`](ResourceServer::require).
///
/// # Security
///
/// A scope with permissions is required for the account as a whole. For a single resource, call
/// [`require`](ResourceServer::require) in the handler too.
#[derive(Debug)]
pub struct RequireScope<N, R = AuthorizationServer> {
    /// The user, the client and the scopes of the token.
    pub token: Authenticated,
    scope: PhantomData<fn() -> (N, R)>,
}

impl<N: RequiredScope, R: Clone + Into<ResourceServer> + 'static> FromRequest for RequireScope<N, R> {
    type Error = Refused;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Refused>>>>;

    /// # Panics
    ///
    /// Panics if the application has no `Data` of this server: see [`configure`](crate::configure).
    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move {
            let server = request.app_data::<Data<R>>().expect("the application is configured with a server");
            let resource: ResourceServer = R::clone(server).into();
            let token = authenticate::<N>(&resource, &request).await?;
            Ok(Self { token, scope: PhantomData })
        })
    }
}

/// Returns a function for [`from_fn`](actix_web::middleware::from_fn) that checks [`RequireScope`] before all routes
/// that are wrapped in it. Their handlers get the token as `ReqData<Authenticated>`. The server is an
/// [`AuthorizationServer`] or a [`ResourceServer`].
///
/// ```
/// use actix_web::middleware::from_fn;
/// use actix_web::{App, web};
/// use grantor::{AuthorizationServer, ConfigError};
/// use grantor_actix::RequiredScope;
///
/// fn service<Notes: RequiredScope>(server: &AuthorizationServer) -> Result<(), ConfigError> {
///     let guard = grantor_actix::require_scope::<Notes, _>(server.clone())?;
///     let app = move || {
///         let notes = web::scope("/notes").wrap(from_fn(guard.clone()));
///         App::new().service(notes.route("", web::get().to(async || "the notes")))
///     };
///     # let _ = app();
///     Ok(())
/// }
/// ```
///
/// # Errors
///
/// [`ConfigError`] if no token can have the scope, for example because its name is mistyped. The extractor alone
/// answers 503 then.
pub fn require_scope<N: RequiredScope, B: MessageBody + 'static>(
    server: impl Into<ResourceServer>,
) -> Result<impl Fn(ServiceRequest, Next<B>) -> Guarded<B> + Clone + 'static, ConfigError> {
    let resource = server.into();
    resource.check_scope(N::NAME, N::PERMISSION)?;
    Ok(move |request: ServiceRequest, next: Next<B>| -> Guarded<B> {
        let resource = resource.clone();
        Box::pin(async move {
            authenticate::<N>(&resource, request.request()).await?;
            next.call(request).await
        })
    })
}

/// Checks a request, and puts the token into it.
async fn authenticate<N: RequiredScope>(
    resource: &ResourceServer,
    request: &HttpRequest,
) -> Result<Authenticated, Refused> {
    let borrowed = to_request(request, wire::Body::Empty);
    let token = resource.authenticate_for_account(&borrowed, N::NAME, N::PERMISSION).await?;
    request.extensions_mut().insert(token.clone());
    Ok(token)
}

type Guarded<B> = Pin<Box<dyn Future<Output = Result<ServiceResponse<B>, Error>>>>;

/// Guards the routes of one protected resource: a function for [`from_fn`](actix_web::middleware::from_fn). The
/// handlers get the token as `ReqData<Authenticated>`. A preflight is answered as [`RequireScope`] does.
///
/// A mistyped identifier or scope is an error when the service starts:
///
/// ```
/// use actix_web::dev::ServiceRequest;
/// use actix_web::middleware::{Next, from_fn};
/// use actix_web::{App, web};
/// use grantor::{AuthorizationServer, ConfigError};
///
/// fn service(server: &AuthorizationServer) -> Result<(), ConfigError> {
///     let notes = server.protected_resource("https://api.example/notes")?;
///     let write = notes.scopes(["notes:rw"])?;
///     let app = move || {
///         let needed = (notes.clone(), write.clone());
///         let guard = move |request: ServiceRequest, next: Next<_>| {
///             grantor_actix::require_scopes(needed.clone(), request, next)
///         };
///         App::new().service(web::resource("/notes").wrap(from_fn(guard)).get(async || "the notes"))
///     };
///     # let _ = app();
///     Ok(())
/// }
/// ```
///
/// # Errors
///
/// [`Refused`] with 401 or 403, whose challenge names the resource's metadata and all scopes that are needed
/// [RFC 9728 section 5.1]; and what the routes themselves return.
pub async fn require_scopes(
    (resource, needed): (ResourceServer, ScopeSet),
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let token = resource.authenticate_for(&to_request(request.request(), wire::Body::Empty), &needed).await;
    request.extensions_mut().insert(token.map_err(Refused::from)?);
    next.call(request).await
}
