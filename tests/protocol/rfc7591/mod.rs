//! RFC 7591: clients that register themselves.

pub(crate) mod answer;
mod bounds;
mod editors;
mod initial_tokens;
mod keys;
mod metadata;
mod places;
mod redirects;
mod resources;
mod review;

use grantor::client_metadata::RegistrationBounds;
use grantor::config::{DynamicRegistration, ExcessScopes, Profile};
use grantor::hooks::{ApproveWithin, QueueAll};
use grantor::scope::{ResourceScope, ScopeCatalog, ScopeSet};
use grantor::wire::{Endpoint, Response};
use grantor::{ClientId, Config};
use serde_json::{Value, json};

use support::world::{Credentials, PKCE, SCOPES, World, config_of};

pub(crate) fn scopes(wire: &str) -> ScopeSet {
    ScopeCatalog::platform().parse(wire.as_bytes()).unwrap()
}

/// What the policies of these tests admit: the scopes of the world.
pub(crate) fn bounds() -> RegistrationBounds {
    RegistrationBounds::new(scopes(SCOPES), ResourceScope::All)
}

/// The settings of a profile with registration on.
pub(crate) fn open(profile: Profile) -> Config {
    let mut config = config_of(profile);
    config.public_clients = true;
    config.registration.dynamic = DynamicRegistration::Open;
    config
}

/// The settings of the MCP profile with registration on, and excess scopes refused.
pub(crate) fn refusing() -> Config {
    let mut config = open(Profile::Mcp);
    config.registration.excess_scopes = ExcessScopes::Refuse;
    config
}

pub(crate) async fn world_with(config: Config, bounds: RegistrationBounds) -> World {
    World::built(config, |builder| builder.registration_policy(ApproveWithin::new(bounds))).await
}

/// A world whose clients are approved at once.
pub(crate) async fn world() -> World {
    world_with(open(Profile::Mcp), bounds()).await
}

/// A world whose clients await review.
async fn queueing() -> World {
    World::built(open(Profile::Mcp), |builder| builder.registration_policy(QueueAll::new(bounds()))).await
}

pub(crate) async fn post(world: &World, body: impl Into<Vec<u8>>) -> Response {
    let call = world.post(Endpoint::Registration, &[]).without_header("Content-Type");
    call.header("Content-Type", b"application/json").raw_body(body).send().await
}

/// The answer to a registration that succeeds.
#[track_caller]
pub(crate) fn created(response: &Response) -> Value {
    assert_eq!(response.status(), 201, "{}", String::from_utf8_lossy(response.body()));
    assert_eq!(response.header("Cache-Control"), Some("no-store"));
    serde_json::from_slice(response.body()).unwrap()
}

pub(crate) async fn register(world: &World, metadata: Value) -> Value {
    created(&post(world, metadata.to_string()).await)
}

/// A public client with code and refresh, as most applications register.
pub(crate) fn public() -> Value {
    json!({
        "redirect_uris": ["https://app.example.com/cb"],
        "client_name": "App",
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
    })
}

/// The metadata with members set; null removes nothing and counts as absent.
pub(crate) fn with(mut metadata: Value, members: Value) -> Value {
    let members = members.as_object().unwrap().clone();
    metadata.as_object_mut().unwrap().extend(members);
    metadata
}

pub(crate) fn credentials(answer: &Value) -> Credentials {
    let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
    Credentials { id: text("client_id"), secret: text("client_secret") }
}

pub(crate) fn id(answer: &Value) -> ClientId {
    ClientId::new(answer["client_id"].as_str().unwrap()).unwrap()
}

/// The query of a request with that redirect URI and PKCE.
pub(crate) fn query(world: &World, client: &Value, redirect_uri: &str, more: &[(&str, &str)]) -> String {
    let parameters = [&PKCE[..], &[("redirect_uri", redirect_uri)], more].concat();
    world.query_of(&credentials(client), &parameters)
}

pub(crate) async fn purge(world: &World) {
    assert!(world.purge(1000).await.is_finished());
}

#[track_caller]
pub(crate) fn refused(response: &Response, status: u16, error: &str) {
    assert_eq!(response.status(), status, "{}", String::from_utf8_lossy(response.body()));
    let body: Value = serde_json::from_slice(response.body()).unwrap();
    assert_eq!(body["error"], error, "{body}");
}
