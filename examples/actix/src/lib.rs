#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod guard;
mod hosts;
mod interaction;

pub use crate::guard::{RequireScope, RequiredScope, require_scope, require_scopes};
pub use crate::hosts::{HostChecked, RefuseOtherHosts, refuse_other_hosts};
pub use crate::interaction::{Interaction, Users};

use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::time::Duration;

use actix_web::body::{BodyStream, to_bytes_limited};
use actix_web::dev::Payload;
use actix_web::error::{Error, InternalError, PayloadError};
use actix_web::web::{self, Bytes, Data, ServiceConfig};
use actix_web::{FromRequest, HttpMessage as _, HttpRequest, HttpResponse};
use futures_util::{FutureExt as _, Stream};
use grantor::secret::ConsentTicket;
use grantor::wire::{self, Endpoint, protective_headers};
use grantor::{AuthorizationServer, Decision, PendingAuthorization, ResourceError, Subject};
use tokio::time::timeout;

/// Returns what [`App::configure`](actix_web::App::configure) takes: the routes of the endpoints that the server
/// answers by itself, [`Endpoint::MACHINE`], and the server as `Data<AuthorizationServer>`. These are token, pushed
/// requests, requests of devices, revocation, introspection, registration and its management [RFC 7592], the server's
/// keys, and the metadata of the server and of its protected resources.
///
/// Each accepts every method: the server answers 405 to methods that an endpoint does not support
/// [RFC 9110 section 15.5.6]. The path of the authorization endpoint is `server.path(Endpoint::Authorization)`. You
/// write its handler, see [`authorize`].
pub fn configure(server: &AuthorizationServer) -> impl FnOnce(&mut ServiceConfig) {
    |services| {
        services.app_data(Data::new(server.clone()));
        for &endpoint in Endpoint::MACHINE {
            let serve = move |server: Data<AuthorizationServer>, request: Incoming| async move {
                respond(server.serve(endpoint, &request.to_request()).await)
            };
            server.paths(endpoint).iter().for_each(|path| _ = services.route(path, web::to(serve)));
        }
    }
}

/// Returns what [`App::configure`](actix_web::App::configure) takes: the routes that a load balancer asks. `/livez`
/// answers 204 while the process runs, and `/readyz` with
/// [`readiness_response`](AuthorizationServer::readiness_response). They tell strangers nothing else.
pub fn health(server: &AuthorizationServer) -> impl FnOnce(&mut ServiceConfig) {
    let server = Data::new(server.clone());
    |services| {
        let ready = |server: Data<AuthorizationServer>| async move { respond(server.readiness_response().await) };
        services.app_data(server);
        services.route("/livez", web::get().to(|| async { HttpResponse::NoContent().finish() }));
        services.route("/readyz", web::get().to(ready));
    }
}

/// A request with its body. This extractor reads up to [`AuthorizationServer::body_limit`] bytes, for at most ten
/// seconds.
#[derive(Debug)]
#[non_exhaustive]
pub struct Incoming {
    /// Method, address, header lines and extensions.
    pub request: HttpRequest,
    /// The body; `None` if it was too long or too slow, which [`to_request`](Self::to_request) reports to the server.
    pub body: Option<Bytes>,
}

impl Incoming {
    /// Lends the request to the server.
    pub fn to_request(&self) -> wire::Request<'_> {
        to_request(&self.request, self.body.as_deref().map_or(wire::Body::TooLarge, wire::Body::Bytes))
    }
}

impl FromRequest for Incoming {
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Error>>>>;

    /// # Panics
    ///
    /// Panics if the application has no server: see [`configure`].
    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let body = read(payload, server(&request).body_limit()).await;
            Ok(Self { request, body })
        })
    }
}

/// Reads a body for at most ten seconds; `None` if it is too long or too slow.
async fn read(payload: impl Stream<Item = Result<Bytes, PayloadError>> + 'static, limit: usize) -> Option<Bytes> {
    let mut reading = pin!(to_bytes_limited(BodyStream::new(payload), limit));
    // Most bodies arrive together with their head and need no timer. Otherwise the second poll registers the waker.
    let body = match reading.as_mut().now_or_never() {
        Some(body) => body,
        None => timeout(Duration::from_secs(10), reading).await.ok()?,
    };
    body.ok()?.ok()
}

/// Lends a request to the server: the raw bytes, every header line, and the address of the peer. Behind a proxy, this
/// is the `IpAddr` that a middleware has put into the extensions of the request.
pub fn to_request<'a>(request: &'a HttpRequest, body: wire::Body<'a>) -> wire::Request<'a> {
    let query = request.query_string().as_bytes();
    let borrowed = wire::Request::new(request.method().as_str()).path(request.path()).query(query).body(body);
    let borrowed = request
        .headers()
        .iter()
        .fold(borrowed, |borrowed, (name, value)| borrowed.header(name.as_str(), value.as_bytes()));
    let peer = request.extensions().get::<IpAddr>().copied().or_else(|| request.peer_addr().map(|peer| peer.ip()));
    peer.map_or(borrowed, |address| borrowed.peer(address))
}

/// Converts the server's response unchanged: status, every header line, body.
pub fn respond(response: wire::Response) -> HttpResponse {
    let mut builder = HttpResponse::build(response.status().try_into().expect("the server makes valid status codes"));
    response.headers().fold(&mut builder, |builder, header| builder.append_header(header));
    builder.body(response.into_body())
}

/// An error that is a response. `?` converts a [`ResourceError`] into it.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "it will always be one response")]
pub struct Refused(pub HttpResponse);

impl From<ResourceError> for Refused {
    fn from(error: ResourceError) -> Self {
        Self(respond(error.into_response()))
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        InternalError::from_response("refused by the authorization server", refused.0).into()
    }
}

fn server(request: &HttpRequest) -> &AuthorizationServer {
    request.app_data::<Data<AuthorizationServer>>().expect("the application is configured with a server")
}

/// A request that waits for the decision of its user.
#[derive(Debug)]
#[non_exhaustive]
pub struct ConsentRequest {
    /// What the consent page shows. All its texts come from the application: escape them.
    pub pending: PendingAuthorization,
    /// What the page's form sends back in its field `handle`.
    pub ticket: ConsentTicket,
}

/// Checks an authorization request and holds it for the user who is signed in [RFC 6749 section 4.1.1].
///
/// Without a user it returns `None`: show the sign-in page, and retry the request afterwards. `session` is the secret
/// name of the browser's session, such as the value of its cookie. If clients push requests, it must exist before the
/// sign-in and stay the same during it: see [`Request::session`](wire::Request::session).
///
/// # Errors
///
/// The answer for the browser: a page, or a redirect to the client.
pub async fn authorize(
    server: &AuthorizationServer,
    request: &Incoming,
    user: Option<&Subject>,
    session: &[u8],
) -> Result<Option<ConsentRequest>, Refused> {
    let borrowed = user.into_iter().fold(request.to_request().session(session), wire::Request::subject);
    let pending = match server.authorize(&borrowed).await {
        Ok(pending) => pending,
        Err(error) if user.is_none() && error.needs_sign_in() => return Ok(None),
        Err(error) => return Err(Refused(respond(error.response(user)))),
    };
    let Some(subject) = user else { return Ok(None) };
    let ticket =
        server.hold(&pending, subject, session).await.map_err(|error| Refused(respond(error.response(user))))?;
    Ok(Some(ConsentRequest { pending, ticket }))
}

/// Returns a page of HTML with the headers that a consent or sign-in page needs [RFC 9700 section 4.16].
pub fn page(html: String) -> HttpResponse {
    let headers = [("Content-Type", "text/html; charset=utf-8")].into_iter().chain(protective_headers());
    headers.fold(&mut HttpResponse::Ok(), |page, header| page.append_header(header)).body(html)
}

/// Applies the decision that the page's form sent, and returns the redirect to the client
/// [RFC 6749 section 4.1.2], or a page that says why not.
///
/// [`Decision::from_form`] documents the fields of the form. A ticket decides once. For another form, call
/// [`AuthorizationServer::decide`]; for [data](grantor::interaction::SignedIn::data) too, with the `SignedIn`.
pub async fn decide(server: &AuthorizationServer, request: &Incoming, user: &Subject, session: &[u8]) -> HttpResponse {
    let (ticket, decision) = Decision::from_form(request.body.as_deref().unwrap_or_default());
    respond(server.decide(&ticket, user, session, &decision).await.unwrap_or_else(|error| error.response(Some(user))))
}

/// Removes expired records, once a minute: `tokio::spawn(grantor_actix::purge(server.clone()))`. It never returns.
pub async fn purge(server: AuthorizationServer) {
    loop {
        tokio::time::sleep(Duration::from_secs(60)).await;
        // An event reports an error: `PurgeRefused` or `PurgeFailed`.
        while server.purge_expired(1000).await.is_ok_and(|purge| !purge.is_finished()) {
            // Requests are served before the next 1000 records are examined.
            tokio::task::yield_now().await;
        }
    }
}
