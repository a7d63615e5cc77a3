//! An authorization server with two APIs, and how these check tokens in processes of their own.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use grantor::fetch::{FetchError, FetchResponse, Transport, TransportRequest};
use grantor::hooks::SigningKey;
use grantor::jose::SigningAlgorithm;
use grantor::protected_resource::{AccessTokenFormat, ProtectedResource};
use grantor::resource::{IntrospectionSettings, JwtSettings, JwtVerifier, ResourceClient};
use grantor::wire::{Endpoint, Request};
use grantor::{ClientId, ClientSecret, Config, ResourceServer};
use serde_json::Value;
use support::to_server::ToServer;

use crate::world::{self, World, ready};

/// The API whose tokens are opaque.
pub(super) const OPAQUE: &str = "https://opaque.example/api";
/// The API whose tokens are JWTs.
pub(super) const JWTS: &str = "https://jwts.example/api";
/// The scope that the routes require.
pub(super) const SCOPE: &str = "account-profile:r";
/// The smallest cache: with it, tokens that take turns are never found there.
pub(super) const FEWEST_ENTRIES: usize = 16;

const API: &str = "api";
const SECRET: &str = "the secret of the API, from its configuration";

/// An authorization server whose clock stands still.
pub(super) struct Service {
    pub(super) world: World,
    config: Config,
}

impl Service {
    /// # Panics
    ///
    /// If the key is not one for that algorithm.
    pub(super) fn new(issuer: &str, algorithm: SigningAlgorithm, key: &[u8]) -> Self {
        let mut config = Config::platform(issuer);
        config.development = true;
        let mut opaque = ProtectedResource::new(OPAQUE, "Opaque");
        opaque.is_default = true;
        opaque.resource_servers = vec![ClientId::new(API).expect("it is an id")];
        let mut jwts = ProtectedResource::new(JWTS, "JWTs");
        jwts.access_tokens = AccessTokenFormat::Jwt;
        config.resources = vec![opaque, jwts];
        let key = SigningKey::from_pkcs8(algorithm, key).expect("it is a key");
        let world = World::built(config.clone(), |builder| builder.signing_keys([key]));
        let api = world.server.own_client(API).name("API").secret(SECRET).resource_server();
        ready(api.ensure()).expect("memory does not fail");
        Self { world, config }
    }

    /// Returns so many tokens for that API, each of another user.
    pub(super) fn tokens(&self, api: &str, count: usize) -> Vec<String> {
        let query = format!("{}&resource={api}", world::query(&self.world.client));
        let token = |number| {
            let form = self.world.exchange_form(query.as_bytes(), &world::subject(number));
            let response = self.world.post(Endpoint::Token, form.as_bytes());
            let answer: Value = serde_json::from_slice(response.body()).expect("JSON");
            answer["access_token"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
        };
        (0..count).map(token).collect()
    }

    /// Returns the answer of the introspection endpoint about that token.
    pub(super) fn description(&self, token: &str) -> FetchResponse {
        let form = format!("token={token}&client_id={API}&client_secret={}", SECRET.replace(' ', "+"));
        let response = self.world.post(Endpoint::Introspection, form.as_bytes());
        let mut answer = FetchResponse::new(response.status(), response.body());
        answer.content_type = response.header("Content-Type").map(str::to_owned);
        answer
    }

    /// Returns a transport to this server without HTTP, which never waits.
    pub(super) fn in_process(&self) -> ToServer {
        ToServer(self.world.server.clone())
    }

    /// Returns the check by introspection, with answers that are kept for so long.
    pub(super) fn introspecting(&self, transport: impl Transport, time_to_live: Duration) -> ResourceServer {
        let secret = ClientSecret::new(SECRET);
        let mut settings = IntrospectionSettings::of_server(&self.config, API, secret, OPAQUE);
        settings.time_to_live = time_to_live;
        let client = ResourceClient::new(settings, transport).expect("the settings are sound");
        let client = client.with_clock(self.world.clock.clone());
        ResourceServer::introspecting(self.config.clone(), client).expect("the settings are sound")
    }

    /// Returns the check by JWT. It keeps so many tokens, or as many as by default.
    pub(super) fn verifying(&self, transport: impl Transport, max_entries: Option<usize>) -> ResourceServer {
        let mut settings = JwtSettings::of_server(&self.config, JWTS);
        settings.max_entries = max_entries.unwrap_or(settings.max_entries);
        let verifier = JwtVerifier::new(settings, transport).expect("the settings are sound");
        let verifier = verifier.with_clock(self.world.clock.clone());
        ResourceServer::jwt(self.config.clone(), verifier).expect("the settings are sound")
    }
}

/// Returns the values of the `Authorization` header.
pub(super) fn headers(tokens: &[String]) -> Vec<String> {
    tokens.iter().map(|token| format!("Bearer {token}")).collect()
}

/// Checks a request with that header. Nothing on the way may wait.
///
/// # Panics
///
/// If the token is refused.
pub(super) fn check(resource: &ResourceServer, header: &str) {
    let request = Request::new("GET").path("/api").header("Authorization", header.as_bytes());
    black_box(ready(resource.authenticate(&request)).expect("a valid token"));
}

/// A transport that counts the requests. Clones share the count.
#[derive(Clone, Debug)]
pub(super) struct Counting<T> {
    inner: T,
    sent: Arc<AtomicU64>,
}

impl<T> Counting<T> {
    pub(super) fn new(inner: T) -> Self {
        Self { inner, sent: Arc::default() }
    }

    pub(super) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl<T: Transport> Transport for Counting<T> {
    async fn send(&self, request: &TransportRequest<'_>) -> Result<FetchResponse, FetchError> {
        self.sent.fetch_add(1, Ordering::Relaxed);
        self.inner.send(request).await
    }
}
