//! A server that switches to another key while APIs verify its tokens.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::future::join_all;
use grantor::client::{GrantType, GrantTypes};
use grantor::fetch::{FetchError, FetchErrorKind, FetchResponse, Transport, TransportRequest};
use grantor::hooks::SigningKey;
use grantor::resource::{JwtSettings, JwtVerifier};
use grantor::wire::{Endpoint, Request};
use grantor::{AuthorizationServer, Config, ResourceServer, Timestamp};
use serde_json::Value;

use super::{API, config};
use crate::resource_client::refused;
use support::keys::Signer;
use support::to_server::ToServer;
use support::world::{Credentials, START, World, form, ok};

/// When the server restarts with the next key.
const RESTART: u32 = START + 600;
/// When the next key begins to sign: twice the `max-age` of the key set later.
const SWITCH: u32 = RESTART + 600;
/// Until when the old key is published: the lifetime of its last token and 60 s longer.
const OLD_ENDS: u32 = SWITCH + 300 + 60;

/// Brings requests to the server that runs now. One request fails when a test says so.
#[derive(Clone, Debug)]
struct ToRunning {
    server: Arc<Mutex<AuthorizationServer>>,
    fails_once: Arc<AtomicBool>,
}

#[async_trait]
impl Transport for ToRunning {
    async fn send(&self, request: &TransportRequest<'_>) -> Result<FetchResponse, FetchError> {
        if self.fails_once.swap(false, Ordering::Relaxed) {
            return Err(FetchError::new(FetchErrorKind::TimedOut));
        }
        let server = self.server.lock().unwrap().clone();
        ToServer(server).send(request).await
    }
}

/// An API in a separate process.
struct Api {
    resource: ResourceServer,
    transport: ToRunning,
    /// When it checks its first token.
    starts: u32,
}

struct Platform {
    world: World,
    machine: Credentials,
    running: Arc<Mutex<AuthorizationServer>>,
}

impl Platform {
    async fn new() -> Self {
        let world = World::built(own_config(), |builder| builder.signing_keys([old()])).await;
        let mut form = form();
        form.grant_types = GrantTypes::NONE.with(GrantType::ClientCredentials);
        (form.redirect_uris, form.scopes, form.client_scopes) = (Vec::new(), String::new(), "repo-code:rw".into());
        let machine = world.register(form).await;
        let running = Arc::new(Mutex::new(world.server.clone()));
        Self { world, machine, running }
    }

    fn api(&self, starts: u32) -> Api {
        let transport = ToRunning { server: Arc::clone(&self.running), fails_once: Arc::default() };
        let verifier = JwtVerifier::new(JwtSettings::of_server(&own_config(), API), transport.clone()).unwrap();
        let resource = ResourceServer::jwt(own_config(), verifier.with_clock(self.world.clock.clone())).unwrap();
        Api { resource, transport, starts }
    }

    /// Another server with these keys on the same store takes over.
    fn restart(&mut self, keys: [SigningKey; 2]) {
        let builder = self.world.builder(own_config(), self.world.store.clone());
        self.world.server = builder.signing_keys(keys).build().unwrap();
        *self.running.lock().unwrap() = self.world.server.clone();
    }

    async fn token(&self) -> String {
        let call = self.world.token(&[("grant_type", "client_credentials")]).client(&self.machine);
        ok(&call.send().await).access_token.expose().to_owned()
    }

    async fn published(&self) -> Vec<String> {
        let response = self.world.server.serve(Endpoint::Jwks, &Request::new("GET")).await;
        let set: Value = serde_json::from_slice(response.body()).unwrap();
        set["keys"].as_array().unwrap().iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect()
    }
}

fn own_config() -> Config {
    let mut config = config();
    config.resources[0].is_default = true;
    config.client_credentials.on = true;
    config
}

fn old() -> SigningKey {
    Signer::es256().signing_key()
}

fn next() -> SigningKey {
    Signer::ed25519().signing_key()
}

/// The `kid` in the header of a token.
fn key_id(token: &str) -> String {
    let header = URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap()).unwrap();
    serde_json::from_slice::<Value>(&header).unwrap()["kid"].as_str().unwrap().to_owned()
}

async fn status(resource: &ResourceServer, token: &str) -> u16 {
    let header = format!("Bearer {token}");
    let request = Request::new("GET").header("Authorization", header.as_bytes());
    resource.authenticate(&request).await.map_or_else(refused, |_| 200)
}

/// 7517-5-02: verifiers that obey `max-age`, each in another phase of it, accept every token. Each of them misses its
/// first request after the restart.
#[tokio::test]
async fn a_switch_of_keys_refuses_no_token() {
    let mut platform = Platform::new().await;
    let apis: Vec<Api> = (0..7).map(|number| platform.api(START + 43 * number)).collect();
    let (mut tokens, mut accepted, mut kids) = (VecDeque::<(String, u32)>::new(), 0, Vec::new());
    for now in (START..OLD_ENDS + 400).step_by(7) {
        platform.world.clock.set(Timestamp::from_seconds(now));
        if (RESTART..RESTART + 7).contains(&now) {
            let keys = [
                old().published_until(Timestamp::from_seconds(OLD_ENDS)),
                next().signs_from(Timestamp::from_seconds(SWITCH)),
            ];
            platform.restart(keys);
            apis.iter().for_each(|api| api.transport.fails_once.store(true, Ordering::Relaxed));
        }
        // The tokens that have not expired, while others are issued.
        let issues = join_all((0..3).map(|_| platform.token()));
        tokens.retain(|(_, issued)| now < issued + 300);
        let running = apis.iter().filter(|api| api.starts <= now);
        let checks = join_all(running.flat_map(|api| tokens.iter().map(|(token, _)| status(&api.resource, token))));
        let (issued, statuses) = futures::join!(issues, checks);
        assert_eq!(statuses, vec![200; statuses.len()], "{} s after the switch", i64::from(now) - i64::from(SWITCH));
        accepted += statuses.len();
        for token in issued {
            let running = apis.iter().filter(|api| api.starts <= now);
            let statuses = join_all(running.map(|api| status(&api.resource, &token))).await;
            assert_eq!(statuses, vec![200; statuses.len()], "issued at {now}");
            kids.push((now, key_id(&token)));
            tokens.push_back((token, now));
        }
    }
    assert!(accepted > 10_000, "{accepted}");
    assert!(apis.iter().all(|api| !api.transport.fails_once.load(Ordering::Relaxed)), "each missed one request");
    for (now, kid) in kids {
        let signer = if now < SWITCH { old() } else { next() };
        assert_eq!(kid, signer.key_id(), "{now}");
    }
    assert_eq!(platform.published().await, [next().key_id()]);
}

/// 7517-5-02: a key that signs as soon as it is published is not known everywhere yet.
#[tokio::test]
async fn a_key_that_was_just_published_may_be_refused() {
    let mut platform = Platform::new().await;
    let api = platform.api(START);
    assert_eq!(status(&api.resource, &platform.token().await).await, 200);
    platform.world.advance(1);
    platform.restart([old().published_until(Timestamp::from_seconds(OLD_ENDS)), next()]);
    let token = platform.token().await;
    assert_eq!(status(&api.resource, &token).await, 401);
    platform.world.advance(9);
    assert_eq!(status(&api.resource, &token).await, 200);
}
