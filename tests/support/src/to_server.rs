//! A transport to a server in the same process.

use grantor::AuthorizationServer;
use grantor::fetch::{FetchError, FetchResponse, Transport, TransportRequest};
use grantor::wire::{Body, Endpoint, Request};

/// Brings requests to the introspection endpoint of that server, and to its key set.
#[derive(Clone, Debug)]
pub struct ToServer(pub AuthorizationServer);

#[async_trait::async_trait]
impl Transport for ToServer {
    async fn send(&self, sent: &TransportRequest<'_>) -> Result<FetchResponse, FetchError> {
        let endpoint = match (sent.method, sent.url.strip_prefix(self.0.issuer())) {
            ("POST", Some("/oauth2/introspect")) => Endpoint::Introspection,
            ("GET", Some("/oauth2/jwks")) => Endpoint::Jwks,
            other => panic!("{other:?}"),
        };
        let request = Request::new(sent.method).body(Body::Bytes(sent.body));
        let headers = sent.headers.iter();
        let request = headers.fold(request, |request, (name, value)| request.header(name, value.as_bytes()));
        let response = self.0.serve(endpoint, &request).await;
        let mut answer = FetchResponse::new(response.status(), response.body());
        answer.content_type = response.header("Content-Type").map(str::to_owned);
        answer.cache_control = response.header("Cache-Control").map(str::to_owned);
        Ok(answer)
    }
}
