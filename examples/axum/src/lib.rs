#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[cfg(feature = "accept")]
pub mod accept;
mod guard;
mod hosts;
mod interaction;

pub use crate::guard::{Guarded, RequireScope, RequireScopes, RequiredScope, require_scope, require_scopes};
pub use crate::hosts::{HostChecked, RefuseOtherHosts, refuse_other_hosts};
pub use crate::interaction::{Interaction, Users};

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{ConnectInfo, FromRef, FromRequest, OriginalUri, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{AppendHeaders, Html, IntoResponse, Response};
use axum::routing::{MethodRouter, any, get};
use futures_util::FutureExt as _;
use grantor::secret::ConsentTicket;
use grantor::wire::{self, Endpoint, protective_headers};
use grantor::{AuthorizationServer, Decision, PendingAuthorization, ResourceError, Subject};
use tokio::time::timeout;

/// Returns the routes of the endpoints that the server answers by itself: token, pushed requests, requests of devices,
/// revocation, introspection, registration and its management [RFC 7592], the server's keys, and the metadata of the
/// server and of its protected resources. The server in the router's state answers.
///
/// Each accepts every method: the server answers 405 to methods that an endpoint does not support
/// [RFC 9110 section 15.5.6]. The path of the authorization endpoint is `server.path(Endpoint::Authorization)`. You
/// write its handler, see [`authorize`].
pub fn routes<S: Clone + Send + Sync + 'static>(server: &AuthorizationServer) -> Router<S>
where
    AuthorizationServer: FromRef<S>,
{
    at_their_paths(server, |endpoint| {
        any(move |State(server): State<AuthorizationServer>, request: Incoming| async move {
            respond(server.serve(endpoint, &request.to_request()).await)
        })
    })
}

/// Returns the routes that a load balancer asks: `/livez`, which answers 204 while the process runs, and `/readyz` with
/// [`readiness_response`](AuthorizationServer::readiness_response). They tell strangers nothing else.
pub fn health<S: Clone + Send + Sync + 'static>() -> Router<S>
where
    AuthorizationServer: FromRef<S>,
{
    let ready = |State(server): State<AuthorizationServer>| async move { respond(server.readiness_response().await) };
    Router::new().route("/livez", get(|| async { StatusCode::NO_CONTENT })).route("/readyz", get(ready))
}

/// Routes the paths of the endpoints that the server answers by itself to what serves each.
fn at_their_paths<S: Clone + Send + Sync + 'static>(
    server: &AuthorizationServer,
    serve: impl Fn(Endpoint) -> MethodRouter<S>,
) -> Router<S> {
    Endpoint::MACHINE.iter().fold(Router::new(), |router, &endpoint| {
        server.paths(endpoint).iter().fold(router, |router, path| router.route(path, serve(endpoint)))
    })
}

/// A request with its body. This extractor reads up to [`AuthorizationServer::body_limit`] bytes, for at most ten
/// seconds. The server is the one in the router's state.
#[derive(Debug)]
#[non_exhaustive]
pub struct Incoming {
    /// Method, address, header lines and extensions.
    pub parts: Parts,
    /// The body; `None` if it was too long or too slow, which [`to_request`](Self::to_request) reports to the server.
    pub body: Option<Bytes>,
}

impl Incoming {
    /// Lends the request to the server.
    pub fn to_request(&self) -> wire::Request<'_> {
        to_request(&self.parts, self.body.as_deref().map_or(wire::Body::TooLarge, wire::Body::Bytes))
    }
}

impl<S: Send + Sync> FromRequest<S> for Incoming
where
    AuthorizationServer: FromRef<S>,
{
    type Rejection = Infallible;

    async fn from_request(request: Request, state: &S) -> Result<Self, Infallible> {
        let (parts, body) = request.into_parts();
        Ok(Self { parts, body: read(body, AuthorizationServer::from_ref(state).body_limit()).await })
    }
}

/// Reads a body for at most ten seconds; `None` if it is too long or too slow.
async fn read(body: Body, limit: usize) -> Option<Bytes> {
    let mut reading = pin!(to_bytes(body, limit));
    // Most bodies arrive together with their head and need no timer. Otherwise the second poll registers the waker.
    let body = match reading.as_mut().now_or_never() {
        Some(body) => body,
        None => timeout(Duration::from_secs(10), reading).await.ok()?,
    };
    body.ok()
}

/// Lends a request to the server: the raw bytes, the path as it arrived at the outermost [`Router`], every header line,
/// and the address of the peer. The address is known if the service was made with
/// [`into_make_service_with_connect_info`](Router::into_make_service_with_connect_info) or is served by
/// `accept::serve`.
pub fn to_request<'a>(parts: &'a Parts, body: wire::Body<'a>) -> wire::Request<'a> {
    let uri = parts.extensions.get().map_or(&parts.uri, |OriginalUri(uri)| uri);
    let (path, query) = (uri.path(), uri.query().unwrap_or_default().as_bytes());
    let borrowed = wire::Request::new(parts.method.as_str()).path(path).query(query).body(body);
    let borrowed =
        parts.headers.iter().fold(borrowed, |borrowed, (name, value)| borrowed.header(name.as_str(), value.as_bytes()));
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    peer.map_or(borrowed, |ConnectInfo(address)| borrowed.peer(address.ip()))
}

/// Converts the server's response unchanged: status, every header line, body.
pub fn respond(response: wire::Response) -> Response {
    const VALID: &str = "the server makes valid responses";
    let mut headers = HeaderMap::with_capacity(8);
    for (name, value) in response.headers() {
        let name = HeaderName::from_bytes(name.as_bytes()).expect(VALID);
        headers.append(name, HeaderValue::from_str(value).expect(VALID));
    }
    let status = StatusCode::from_u16(response.status()).expect(VALID);
    let mut converted = Response::new(Body::from(response.into_body()));
    *converted.status_mut() = status;
    *converted.headers_mut() = headers;
    converted
}

/// An error that is a response. `?` converts a [`ResourceError`] into it.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "it will always be one response")]
pub struct Refused(pub Response);

impl From<ResourceError> for Refused {
    fn from(error: ResourceError) -> Self {
        Self(respond(error.into_response()))
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        self.0
    }
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
pub fn page(html: String) -> Response {
    (AppendHeaders(protective_headers()), Html(html)).into_response()
}

/// Applies the decision that the page's form sent, and returns the redirect to the client
/// [RFC 6749 section 4.1.2], or a page that says why not.
///
/// [`Decision::from_form`] documents the fields of the form. A ticket decides once. For another form, call
/// [`AuthorizationServer::decide`]; for [data](grantor::interaction::SignedIn::data) too, with the `SignedIn`.
pub async fn decide(server: &AuthorizationServer, request: &Incoming, user: &Subject, session: &[u8]) -> Response {
    let (ticket, decision) = Decision::from_form(request.body.as_deref().unwrap_or_default());
    respond(server.decide(&ticket, user, session, &decision).await.unwrap_or_else(|error| error.response(Some(user))))
}

/// Removes expired records, once a minute: `tokio::spawn(grantor_axum::purge(server.clone()))`. It never returns.
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
