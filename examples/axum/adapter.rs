//! Lends axum's requests to the authorization server and gives its responses back.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::response::Response;
use axum::routing::any;
use grantor::AuthorizationServer;
use grantor::wire::{self, Endpoint};
use tokio::time::timeout;

/// Routes the endpoints that the server answers by itself, whatever the method: it knows which it takes.
pub(crate) fn machine_endpoints(server: &AuthorizationServer) -> Router<AuthorizationServer> {
    Endpoint::MACHINE.iter().fold(Router::new(), |router, &endpoint| {
        let serve = move |State(server): State<AuthorizationServer>, request: Request| async move {
            let incoming = Incoming::read(request, server.body_limit()).await;
            respond(server.serve(endpoint, &incoming.lend()).await)
        };
        router.route(&server.path(endpoint), any(serve))
    })
}

/// A request whose body was read up to the limit and for as long as a body may take, or is left alone.
pub(crate) struct Incoming {
    parts: Parts,
    body: Option<Bytes>,
}

impl Incoming {
    pub(crate) async fn read(request: Request, limit: usize) -> Self {
        let (parts, body) = request.into_parts();
        let body = timeout(PATIENCE, to_bytes(body, limit)).await;
        Self { parts, body: body.ok().and_then(Result::ok) }
    }

    /// Without the body, which a resource reads for itself. A server with `bearer_in_body` needs `read`.
    pub(crate) fn head(request: Request) -> Self {
        Self { parts: request.into_parts().0, body: Some(Bytes::new()) }
    }

    /// The same as the server sees it: raw octets, every header line, the address of the peer.
    pub(crate) fn lend(&self) -> wire::Request<'_> {
        let body = self.body.as_deref().map_or(wire::Body::TooLarge, wire::Body::Octets);
        let query = self.parts.uri.query().unwrap_or_default();
        let request = wire::Request::new(self.parts.method.as_str()).query(query.as_bytes()).body(body);
        let headers = self.headers().iter();
        let request = headers.fold(request, |request, (name, value)| request.header(name.as_str(), value.as_bytes()));
        match self.parts.extensions.get::<ConnectInfo<SocketAddr>>() {
            Some(ConnectInfo(address)) => request.peer(address.ip()),
            None => request,
        }
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.parts.headers
    }

    pub(crate) fn body(&self) -> &[u8] {
        self.body.as_deref().unwrap_or_default()
    }
}

pub(crate) fn respond(response: wire::Response) -> Response {
    let builder = Response::builder().status(response.status());
    let builder = response.headers().fold(builder, |builder, (name, value)| builder.header(name, value));
    builder.body(Body::from(response.into_body())).expect("the server makes valid headers")
}

const PATIENCE: Duration = Duration::from_secs(10);
