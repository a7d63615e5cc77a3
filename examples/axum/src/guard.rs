//! The guard of routes that need an access token.

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::BoxError;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{Request, Response};
use grantor::scope::{Permission, ScopeSet};
use grantor::{Authenticated, AuthorizationServer, ConfigError, ResourceError, ResourceServer, wire};
use tower_layer::Layer;
use tower_service::Service;

use crate::{Refused, respond, to_request};

/// The scope that a route requires, named by a type.
pub trait RequiredScope: Send + Sync + 'static {
    /// The name in the catalog, without a permission.
    const NAME: &'static str;
    /// The permission that is required; `None` for a scope without a permission.
    const PERMISSION: Option<Permission> = None;
}

/// An extractor for routes that need an access token with a scope; other requests are answered 401 or 403 with a
/// challenge, 400 if they are malformed, and 503 if the look-up of the token failed [RFC 6750 section 3].
///
/// A browser sends a preflight before a page of another origin may call the route [Fetch standard]. A `get` route
/// answers it with 405 before this extractor runs. A route that takes every method answers it with 204 and no CORS
/// headers. In each case no page may call the route, unless a CORS layer runs first.
///
/// The router's state has the server `R`: the [`AuthorizationServer`], or the [`ResourceServer`] of an API in another
/// process. With [`Config::resources`](grantor::Config::resources), the former accepts tokens for the default resource
/// only, and none if there is no default. [`require_scopes`] guards the routes of any other resource.
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

impl<S: Send + Sync, N: RequiredScope, R: FromRef<S> + Into<ResourceServer>> FromRequestParts<S>
    for RequireScope<N, R>
{
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        let resource: ResourceServer = R::from_ref(state).into();
        let request = to_request(parts, wire::Body::Empty);
        let token = resource.authenticate_for_account(&request, N::NAME, N::PERMISSION).await?;
        Ok(Self { token, scope: PhantomData })
    }
}

/// Returns a layer that makes the check of [`RequireScope`] before the routes it is added to. Their handlers get the
/// token as `Extension<Authenticated>`. The server is an [`AuthorizationServer`] or a [`ResourceServer`].
///
/// Added to a [`Router`](axum::Router), it answers a preflight with 204. Added to a `get` route itself with
/// [`route_layer`](axum::routing::MethodRouter::route_layer), it does not see the preflight: the route answers with
/// 405.
///
/// # Errors
///
/// [`ConfigError`] if no token can have the scope, for example because its name is mistyped. The extractor alone
/// answers 503 then.
pub fn require_scope<N: RequiredScope>(server: impl Into<ResourceServer>) -> Result<RequireScopes, ConfigError> {
    let resource = server.into();
    resource.check_scope(N::NAME, N::PERMISSION)?;
    Ok(RequireScopes { resource, needed: Needed::ForAccount(N::NAME, N::PERMISSION) })
}

/// Returns a layer that guards an API: requests need a token with these scopes at this resource. Handlers get the token
/// as `Extension<Authenticated>`. A preflight is answered as by [`require_scope`].
///
/// It can be added to a [`Router`](axum::Router), or to any other service of tower, whatever its body.
///
/// A mistyped identifier or scope is an error when the routes are made:
///
/// ```
/// use axum::Router;
/// use grantor::{AuthorizationServer, ConfigError};
///
/// fn notes(server: &AuthorizationServer, routes: Router) -> Result<Router, ConfigError> {
///     let notes = server.protected_resource("https://api.example/notes")?;
///     let write = notes.scopes(["notes:rw"])?;
///     Ok(routes.route_layer(grantor_axum::require_scopes(notes, write)))
/// }
/// ```
///
/// A request that is refused gets 401 or 403, whose challenge names the resource's metadata and all scopes that are
/// needed [RFC 9728 section 5.1].
#[must_use]
pub fn require_scopes(resource: ResourceServer, needed: ScopeSet) -> RequireScopes {
    RequireScopes { resource, needed: Needed::All(needed) }
}

/// The layer that [`require_scope`] and [`require_scopes`] return.
#[derive(Clone, Debug)]
pub struct RequireScopes {
    resource: ResourceServer,
    needed: Needed,
}

#[derive(Clone, Debug)]
enum Needed {
    All(ScopeSet),
    ForAccount(&'static str, Option<Permission>),
}

impl RequireScopes {
    async fn check(&self, request: &wire::Request<'_>) -> Result<Authenticated, ResourceError> {
        match &self.needed {
            Needed::All(scopes) => self.resource.authenticate_for(request, scopes).await,
            Needed::ForAccount(scope, permission) => {
                self.resource.authenticate_for_account(request, scope, *permission).await
            }
        }
    }
}

impl<S> Layer<S> for RequireScopes {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded { inner, guard: self.clone() }
    }
}

/// A service behind [`require_scope`] or [`require_scopes`].
#[derive(Clone, Debug)]
pub struct Guarded<S> {
    inner: S,
    guard: RequireScopes,
}

impl<S, B, A> Service<Request<B>> for Guarded<S>
where
    S: Service<Request<B>, Response = Response<A>, Future: Send> + Clone + Send + 'static,
    B: Send + 'static,
    A: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The service that is ready answers. A clone of it may not be ready.
        let next = self.inner.clone();
        let mut ready = std::mem::replace(&mut self.inner, next);
        let guard = self.guard.clone();
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            match guard.check(&to_request(&parts, wire::Body::Empty)).await {
                Ok(token) => parts.extensions.insert(token),
                Err(error) => return Ok(respond(error.into_response())),
            };
            Ok(ready.call(Request::from_parts(parts, body)).await?.map(Body::new))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::{Ready, ready};

    use grantor::scope::{ScopeCatalog, ScopeDefinition};
    use grantor::{Config, MemoryStore};

    use super::*;

    /// A service whose bodies are not those of axum.
    #[derive(Clone)]
    struct Echo;

    impl Service<Request<String>> for Echo {
        type Response = Response<String>;
        type Error = Infallible;
        type Future = Ready<Result<Response<String>, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: Request<String>) -> Self::Future {
            ready(Ok(Response::new(request.into_body())))
        }
    }

    /// GUARD-01
    #[tokio::test]
    async fn any_service_of_tower_can_be_guarded() {
        let mut config = Config::strict("https://auth.example");
        config.scopes = ScopeCatalog::builder().scope(ScopeDefinition::plain("notes")).build().unwrap();
        let server = AuthorizationServer::new(config, MemoryStore::new()).unwrap();
        let resource = ResourceServer::from(server);
        let needed = resource.scopes(["notes"]).unwrap();
        let mut guarded = require_scopes(resource, needed).layer(Echo);
        let refused = guarded.call(Request::new("a body".to_owned())).await.unwrap();
        assert_eq!(refused.status(), 401);
        assert_eq!(refused.headers()["WWW-Authenticate"], "Bearer realm=\"https://auth.example\", scope=\"notes\"");
    }
}
