//! Lends actix-web's requests to the authorization server and gives its responses back.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::HeaderMap;
use actix_web::web::{self, Bytes, Data, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use grantor::AuthorizationServer;
use grantor::wire::{self, Endpoint};
use tokio::time::timeout;

/// Routes the endpoints that the server answers by itself, whatever the method: it knows which it takes.
pub(crate) fn machine_endpoints(services: &mut ServiceConfig, server: &AuthorizationServer) {
    for &endpoint in Endpoint::MACHINE {
        let serve = move |server: Data<AuthorizationServer>, request: HttpRequest, payload: Payload| async move {
            let incoming = Incoming::read(request, payload, server.body_limit()).await;
            respond(server.serve(endpoint, &incoming.lend()).await)
        };
        services.route(&server.path(endpoint), web::to(serve));
    }
}

/// A request whose body was read up to the limit and for as long as a body may take, or is left alone.
pub(crate) struct Incoming {
    request: HttpRequest,
    body: Option<Bytes>,
}

impl Incoming {
    pub(crate) async fn read(request: HttpRequest, payload: Payload, limit: usize) -> Self {
        let body = timeout(PATIENCE, payload.to_bytes_limited(limit)).await;
        Self { request, body: body.ok().and_then(Result::ok).and_then(Result::ok) }
    }

    /// Without the body, which a resource reads for itself. A server with `bearer_in_body` needs `read`.
    pub(crate) fn head(request: HttpRequest) -> Self {
        Self { request, body: Some(Bytes::new()) }
    }

    /// The same as the server sees it: raw octets, every header line, the address of the peer.
    pub(crate) fn lend(&self) -> wire::Request<'_> {
        let body = self.body.as_deref().map_or(wire::Body::TooLarge, wire::Body::Octets);
        let query = self.request.query_string();
        let request = wire::Request::new(self.request.method().as_str()).query(query.as_bytes()).body(body);
        let headers = self.headers().iter();
        let request = headers.fold(request, |request, (name, value)| request.header(name.as_str(), value.as_bytes()));
        match self.request.peer_addr() {
            Some(address) => request.peer(address.ip()),
            None => request,
        }
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        self.request.headers()
    }

    pub(crate) fn body(&self) -> &[u8] {
        self.body.as_deref().unwrap_or_default()
    }
}

pub(crate) fn respond(response: wire::Response) -> HttpResponse {
    let status = StatusCode::from_u16(response.status()).expect("the server has valid status codes");
    let mut builder = HttpResponse::build(status);
    for header in response.headers() {
        builder.append_header(header);
    }
    builder.body(response.into_body())
}

pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
