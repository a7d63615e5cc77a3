//! The check of the host that a request is for.

use std::future::{Ready, ready};
use std::task::{Context, Poll};

use axum::extract::Request;
use axum::http::header::HOST;
use axum::http::{HeaderMap, HeaderValue, Uri};
use axum::response::Response;
use futures_util::future::Either;
use grantor::server::Hosts;
use tower_layer::Layer;
use tower_service::Service;

use crate::respond;

/// Returns a layer that refuses requests for other host names with 421. [`Hosts`] says which services need it.
///
/// The routes of [`Interaction`](crate::Interaction) have this check already.
///
/// ```
/// use axum::Router;
/// use grantor::AuthorizationServer;
///
/// fn app(server: &AuthorizationServer, routes: Router) -> Router {
///     routes.layer(grantor_axum::refuse_other_hosts(server.hosts()))
/// }
/// ```
#[must_use]
pub fn refuse_other_hosts(hosts: Hosts) -> RefuseOtherHosts {
    RefuseOtherHosts { hosts }
}

/// The layer that [`refuse_other_hosts`] returns.
#[derive(Clone, Debug)]
pub struct RefuseOtherHosts {
    hosts: Hosts,
}

impl<S> Layer<S> for RefuseOtherHosts {
    type Service = OwnHosts<S>;

    fn layer(&self, inner: S) -> OwnHosts<S> {
        OwnHosts { inner, hosts: self.hosts.clone() }
    }
}

/// A service behind [`refuse_other_hosts`].
#[derive(Clone, Debug)]
pub struct OwnHosts<S> {
    inner: S,
    hosts: Hosts,
}

impl<S: Service<Request, Response = Response>> Service<Request> for OwnHosts<S> {
    type Response = Response;
    type Error = S::Error;
    type Future = Either<S::Future, Ready<Result<Response, S::Error>>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        match self.hosts.refusal(host(request.headers(), request.uri())) {
            Some(refusal) => Either::Right(ready(Ok(respond(refusal)))),
            None => Either::Left(self.inner.call(request)),
        }
    }
}

/// The host that a request is for. HTTP/2 has it in the URI.
pub(crate) fn host<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> Option<&'a [u8]> {
    let host = headers.get(HOST).map(HeaderValue::as_bytes);
    host.or_else(|| uri.authority().map(|authority| authority.as_str().as_bytes()))
}
