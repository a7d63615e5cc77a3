//! An adapter answers what the core answers, octet by octet: two servers with the same randomness and
//! the same clock, one called directly, one through the example's adapter.

#[path = "../examples/axum/adapter.rs"]
#[expect(dead_code, reason = "the machine endpoints alone are compared")]
mod adapter;
#[path = "protocol/world.rs"]
#[expect(dead_code, reason = "the fixture has more than these tests need")]
mod world;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use grantor::wire::{self, Endpoint};
use tower::ServiceExt as _;

use crate::world::{Credentials, FORM, VERIFIER, World, encode};

/// One HTTP request, as octets.
#[derive(Clone, Debug)]
struct Case {
    method: &'static str,
    endpoint: Endpoint,
    query: &'static str,
    headers: Vec<(&'static str, Vec<u8>)>,
    body: Vec<u8>,
}

/// What came back; header names in lower case, sorted, without those that a framework adds.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Seen {
    fn new(status: u16, headers: impl Iterator<Item = (String, String)>, body: Vec<u8>) -> Self {
        let lower = headers.map(|(name, value)| (name.to_lowercase(), value));
        let mut headers: Vec<_> = lower.filter(|(name, _)| name != "content-length" && name != "date").collect();
        headers.sort();
        Self { status, headers, body }
    }
}

impl Case {
    fn post(endpoint: Endpoint, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("Content-Type", FORM.as_bytes().to_vec())];
        Self { method: "POST", endpoint, query: "", headers, body: body.into() }
    }

    fn form(endpoint: Endpoint, client: &Credentials, form: &[(&str, &str)]) -> Self {
        let credentials = [("client_id", client.id.as_str()), ("client_secret", client.secret.as_str())];
        Self::post(endpoint, encode(&[form, &credentials].concat()))
    }

    fn method(self, method: &'static str) -> Self {
        Self { method, ..self }
    }

    fn header(mut self, name: &'static str, value: &[u8]) -> Self {
        self.headers.push((name, value.to_vec()));
        self
    }

    fn query(self, query: &'static str) -> Self {
        Self { query, ..self }
    }

    fn without_headers(self) -> Self {
        Self { headers: Vec::new(), ..self }
    }

    async fn by_core(&self, world: &World) -> Seen {
        let body = wire::Body::Octets(&self.body);
        let request = wire::Request::new(self.method).query(self.query.as_bytes()).body(body);
        let headers = self.headers.iter();
        let request = headers.fold(request, |request, (name, value)| request.header(name, value));
        let response = world.server.serve(self.endpoint, &request).await;
        let headers = response.headers().map(|(name, value)| (name.to_owned(), value.to_owned()));
        Seen::new(response.status(), headers, response.body().to_vec())
    }

    async fn by_axum(&self, world: &World) -> Seen {
        let app = adapter::machine_endpoints(&world.server).with_state(world.server.clone());
        let uri = format!("{}?{}", world.server.path(self.endpoint), self.query);
        let request = Request::builder().method(self.method).uri(uri);
        let headers = self.headers.iter();
        let request = headers.fold(request, |request, (name, value)| request.header(*name, value.as_slice()));
        let response = app.oneshot(request.body(Body::from(self.body.clone())).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        let headers = parts.headers.iter();
        let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
        Seen::new(parts.status.as_u16(), headers, to_bytes(body, usize::MAX).await.unwrap().to_vec())
    }
}

/// The whole flow of the machine endpoints with every kind of error, in an order that both servers
/// follow.
async fn cases(world: &World) -> Vec<Case> {
    let client = &world.client;
    let code = world.code().await;
    let exchange = [("grant_type", "authorization_code"), ("code", code.as_str()), ("code_verifier", VERIFIER)];
    let token = |form: &[(&str, &str)]| Case::form(Endpoint::Token, client, form);
    let limit = world.server.body_limit();
    let padded = |octets: usize| {
        let mut body = b"grant_type=refresh_token&x=".to_vec();
        body.resize(octets, b'a');
        Case::post(Endpoint::Token, body)
    };
    let wrong = Credentials { secret: "wrong".into(), ..client.clone() };
    vec![
        token(&[("grant_type", "authorization_code"), ("code", "unknown")]),
        Case::form(Endpoint::Token, &wrong, &exchange),
        token(&exchange).header("Authorization", b"Basic !!!"),
        token(&exchange).header("Authorization", b"Basic YQ==").header("Authorization", b"Basic YQ=="),
        token(&exchange).method("GET"),
        token(&exchange).method("HEAD"),
        token(&exchange).method("PUT"),
        token(&exchange).method("BREW"),
        token(&exchange).without_headers(),
        token(&exchange).header("Content-Type", b"application/json"),
        token(&exchange).query("grant_type=password&code=x&client_secret=y"),
        token(&exchange),
        token(&[("grant_type", "refresh_token"), ("refresh_token", "unknown"), ("scope", "\"")]),
        token(&[("grant_type", "password")]),
        token(&[]),
        Case::post(Endpoint::Token, "grant_type=refresh_token&grant_type=refresh_token"),
        Case::post(Endpoint::Token, "grant_type=%ff"),
        Case::post(Endpoint::Token, "grant_type=%zz"),
        Case::post(Endpoint::Token, ""),
        padded(limit),
        padded(limit + 1),
        padded(limit * 64),
        Case::form(Endpoint::Revocation, client, &[("token", "unknown")]),
        Case::form(Endpoint::Revocation, &wrong, &[("token", "unknown")]),
        Case::form(Endpoint::Revocation, client, &[]),
        Case::post(Endpoint::Revocation, "token=x").method("GET"),
        Case::form(Endpoint::Introspection, client, &[("token", "unknown")]),
        Case::post(Endpoint::Introspection, "token=x"),
        Case::post(Endpoint::Metadata, "").method("GET"),
        Case::post(Endpoint::Metadata, "").method("HEAD"),
        Case::post(Endpoint::Metadata, ""),
    ]
}

#[tokio::test]
async fn the_axum_adapter_answers_what_the_core_answers() {
    let (direct, adapted) = (World::platform().await, World::platform().await);
    let (left, right) = (cases(&direct).await, cases(&adapted).await);
    assert_eq!(left.len(), right.len());
    let mut statuses = Vec::new();
    for (one, other) in left.iter().zip(&right) {
        assert_eq!(one.body, other.body, "both servers draw the same secrets");
        let mut expected = one.by_core(&direct).await;
        let seen = other.by_axum(&adapted).await;
        statuses.push(seen.status);
        if other.method == "HEAD" {
            // A framework sends no body in answer to HEAD.
            expected.body.clone_from(&seen.body);
        }
        assert_eq!(seen, expected, "{one:?}");
    }
    for status in [200, 400, 401, 405, 413] {
        assert!(statuses.contains(&status), "no case for {status}");
    }
}
