//! The check of the host that a request is for.

use std::future::{Ready, ready};
use std::task::{Context, Poll};

use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::HOST;
use axum::response::Response;
use futures_util::future::Either;
use grantor::server::Hosts;
use tower_layer::Layer;
use tower_service::Service;

use crate::respond;

/// Returns a layer that refuses requests for other host names with 421. [`Hosts`] says which services need it.
///
/// The routes of [`Interaction`](crate::Interaction) have this check already, those of [`routes`](crate::routes) do
/// not. If the layer also wraps an `Interaction` with more [`hosts`](crate::Interaction::hosts), pass the same names
/// to [`Hosts::and`]. Add the layer last: it then runs before the others.
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
    type Service = HostChecked<S>;

    fn layer(&self, inner: S) -> HostChecked<S> {
        HostChecked { inner, hosts: self.hosts.clone() }
    }
}

/// A service behind [`refuse_other_hosts`].
#[derive(Clone, Debug)]
pub struct HostChecked<S> {
    inner: S,
    hosts: Hosts,
}

impl<S: Service<Request, Response = Response>> Service<Request> for HostChecked<S> {
    type Response = Response;
    type Error = S::Error;
    type Future = Either<S::Future, Ready<Result<Response, S::Error>>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        match refusal(&self.hosts, &request) {
            Some(refusal) => Either::Right(ready(Ok(refusal))),
            None => Either::Left(self.inner.call(request)),
        }
    }
}

/// Returns the answer to a request for another host. HTTP/2 has the host in the URI.
pub(crate) fn refusal(hosts: &Hosts, request: &Request) -> Option<Response> {
    let host = request.headers().get(HOST).map(HeaderValue::as_bytes);
    let host = host.or_else(|| request.uri().authority().map(|authority| authority.as_str().as_bytes()));
    hosts.refusal(host).map(respond)
}
