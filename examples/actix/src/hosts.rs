//! The check of the host that a request is for.

use std::future::{Ready, ready};
use std::task::{Context, Poll};

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
/// The routes of [`Interaction`](crate::Interaction) have this check already.
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
    type Transform = OwnHosts<S>;
    type InitError = ();
    type Future = Ready<Result<OwnHosts<S>, ()>>;

    fn new_transform(&self, inner: S) -> Self::Future {
        ready(Ok(OwnHosts { inner, hosts: self.hosts.clone() }))
    }
}

/// A service behind [`refuse_other_hosts`].
#[derive(Clone, Debug)]
pub struct OwnHosts<S> {
    inner: S,
    hosts: Hosts,
}

impl<S, B> Service<ServiceRequest> for OwnHosts<S>
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
        match self.hosts.refusal(host(request.headers(), request.uri())) {
            Some(refusal) => Either::Right(ready(Ok(request.into_response(respond(refusal)).map_into_right_body()))),
            None => Either::Left(self.inner.call(request).map_ok(ServiceResponse::map_into_left_body)),
        }
    }
}

/// The host that a request is for. HTTP/2 has it in the URI.
pub(crate) fn host<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> Option<&'a [u8]> {
    let host = headers.get(HOST).map(HeaderValue::as_bytes);
    host.or_else(|| uri.authority().map(|authority| authority.as_str().as_bytes()))
}
