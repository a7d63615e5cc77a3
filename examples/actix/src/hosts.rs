//! The check of the host that a request is for.

use std::future::{Ready, ready};
use std::task::{Context, Poll};

use actix_web::HttpResponse;
use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{Service, ServiceRequest, ServiceResponse, Transform};
use actix_web::error::Error;
use actix_web::http::Uri;
use actix_web::http::header::{HOST, HeaderMap, HeaderValue};
use futures_util::TryFutureExt as _;
use futures_util::future::{Either, MapOk};
use grantor::server::Hosts;

use crate::respond;

/// Returns a middleware that refuses requests for other host names with 421. [`Hosts`] says which services need it.
///
/// The routes of [`Interaction`](crate::Interaction) have this check already, those of [`configure`](crate::configure)
/// do not. If the middleware also wraps an `Interaction` with more [`hosts`](crate::Interaction::hosts), pass the same
/// names to [`Hosts::and`]. Wrap with it last: it then runs before the others.
///
/// ```
/// use actix_web::App;
/// use grantor::AuthorizationServer;
///
/// fn service(server: &AuthorizationServer) {
///     let hosts = server.hosts();
///     let app = move || App::new().wrap(grantor_actix::refuse_other_hosts(hosts.clone()));
///     # let _ = app();
/// }
/// ```
#[must_use]
pub fn refuse_other_hosts(hosts: Hosts) -> RefuseOtherHosts {
    RefuseOtherHosts { hosts }
}

/// The middleware that [`refuse_other_hosts`] returns.
#[derive(Clone, Debug)]
pub struct RefuseOtherHosts {
    hosts: Hosts,
}

impl<S, B> Transform<S, ServiceRequest> for RefuseOtherHosts
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error>,
    B: MessageBody,
{
    type Response = ServiceResponse<EitherBody<B>>;
    type Error = Error;
    type Transform = HostChecked<S>;
    type InitError = ();
    type Future = Ready<Result<HostChecked<S>, ()>>;

    fn new_transform(&self, inner: S) -> Self::Future {
        ready(Ok(HostChecked { inner, hosts: self.hosts.clone() }))
    }
}

/// A service behind [`refuse_other_hosts`].
#[derive(Clone, Debug)]
pub struct HostChecked<S> {
    inner: S,
    hosts: Hosts,
}

impl<S, B> Service<ServiceRequest> for HostChecked<S>
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error>,
    B: MessageBody,
{
    type Response = ServiceResponse<EitherBody<B>>;
    type Error = Error;
    type Future = Either<
        MapOk<S::Future, fn(ServiceResponse<B>) -> ServiceResponse<EitherBody<B>>>,
        Ready<Result<ServiceResponse<EitherBody<B>>, Error>>,
    >;

    fn poll_ready(&self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&self, request: ServiceRequest) -> Self::Future {
        match refusal(&self.hosts, request.headers(), request.uri()) {
            Some(refusal) => Either::Right(ready(Ok(request.into_response(refusal).map_into_right_body()))),
            None => Either::Left(self.inner.call(request).map_ok(ServiceResponse::map_into_left_body)),
        }
    }
}

/// Returns the answer to a request for another host. HTTP/2 has the host in the URI.
pub(crate) fn refusal(hosts: &Hosts, headers: &HeaderMap, uri: &Uri) -> Option<HttpResponse> {
    let host = headers.get(HOST).map(HeaderValue::as_bytes);
    let host = host.or_else(|| uri.authority().map(|authority| authority.as_str().as_bytes()));
    hosts.refusal(host).map(respond)
}
