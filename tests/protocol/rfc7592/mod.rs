//! RFC 7592: clients that manage their own registration.

mod answer;
mod keys;
mod update;

use async_trait::async_trait;
use grantor::Config;
use grantor::client_metadata::RegistrationBounds;
use grantor::config::Profile;
use grantor::hooks::{ApproveWithin, QueueAll, RegistrationDecision, RegistrationPolicy, RegistrationRequest};
use grantor::wire::{Body, Endpoint, Request, Response};
use serde_json::{Value, json};

use crate::rfc7591::{bounds, open, public, register};
use support::world::World;

/// The settings of a profile with registration and its management on.
fn managed(profile: Profile) -> Config {
    let mut config = open(profile);
    config.registration.management = true;
    config
}

async fn world_with(bounds: RegistrationBounds) -> World {
    World::built(managed(Profile::Mcp), |builder| builder.registration_policy(ApproveWithin::new(bounds))).await
}

/// A world whose clients, and their updates, are approved at once.
async fn world() -> World {
    world_with(bounds()).await
}

/// A world whose clients and updates await review.
async fn queueing() -> World {
    World::built(managed(Profile::Mcp), |builder| builder.registration_policy(QueueAll::new(bounds()))).await
}

/// Approves new clients, and lets their updates await review.
#[derive(Debug)]
struct QueueUpdates;

#[async_trait]
impl RegistrationPolicy for QueueUpdates {
    async fn decide(&self, request: &RegistrationRequest<'_>) -> RegistrationDecision {
        match request.updated {
            None => RegistrationDecision::Approve(bounds()),
            Some(_) if request.metadata.name.as_deref() == Some("Refused") => RegistrationDecision::Refuse,
            Some(_) => RegistrationDecision::Queue(bounds()),
        }
    }
}

async fn queueing_updates() -> World {
    World::built(managed(Profile::Mcp), |builder| builder.registration_policy(QueueUpdates)).await
}

/// A request to the address that an answer names, with this token.
async fn call(world: &World, method: &str, address: &Value, token: &str, body: &[u8]) -> Response {
    let path = address.as_str().unwrap().strip_prefix(world.server.issuer()).unwrap();
    let header = format!("Bearer {token}");
    let request = Request::new(method).path(path).header("Authorization", header.as_bytes());
    let request = request.header("Content-Type", b"application/json").body(Body::Bytes(body));
    world.server.serve(Endpoint::ClientConfiguration, &request.peer([192, 0, 2, 1].into())).await
}

fn token(client: &Value) -> &str {
    client["registration_access_token"].as_str().unwrap()
}

/// A request of that client for itself.
async fn own(world: &World, method: &str, client: &Value, body: &Value) -> Response {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    call(world, method, &client["registration_client_uri"], token(client), body.as_bytes()).await
}

async fn get(world: &World, client: &Value) -> Value {
    information(&own(world, "GET", client, &Value::Null).await)
}

async fn put(world: &World, client: &Value, metadata: &Value) -> Response {
    own(world, "PUT", client, metadata).await
}

/// What the client registered, as an update sends it.
fn update_of(client: &Value, members: Value) -> Value {
    let mut update = public();
    let update_members = update.as_object_mut().unwrap();
    update_members.insert("client_id".into(), client["client_id"].clone());
    update_members.extend(members.as_object().unwrap().clone());
    update
}

#[track_caller]
fn information(response: &Response) -> Value {
    assert_eq!(response.status(), 200, "{}", String::from_utf8_lossy(response.body()));
    assert_eq!(response.header("Cache-Control"), Some("no-store"));
    serde_json::from_slice(response.body()).unwrap()
}

#[track_caller]
fn unauthorized(response: &Response, error: Option<&str>) {
    assert_eq!(response.status(), 401, "{}", String::from_utf8_lossy(response.body()));
    let challenge = response.header("WWW-Authenticate").unwrap();
    assert!(challenge.starts_with("Bearer "), "{challenge}");
    let expected = error.map(|error| format!("error=\"{error}\""));
    assert_eq!(challenge.contains("error="), expected.is_some(), "{challenge}");
    assert!(expected.is_none_or(|expected| challenge.contains(&expected)), "{challenge}");
    assert_eq!(response.header("Cache-Control"), Some("no-store"));
}

async fn registered(world: &World, members: Value) -> Value {
    let mut metadata = public();
    metadata.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    register(world, metadata).await
}

/// A confidential client.
async fn confidential(world: &World) -> Value {
    registered(world, json!({"token_endpoint_auth_method": "client_secret_basic"})).await
}
