//! RFC 9068: access tokens in the form of JWTs, and RFC 7517: the keys that sign them.

mod forged;
mod issued;
mod keys;
mod revoked;
mod settings;
mod signer;
mod stores;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use grantor::client::{GrantType, GrantTypes};
use grantor::config::Profile;
use grantor::hooks::SigningKey;
use grantor::jose::SigningAlgorithm;
use grantor::protected_resource::{AccessTokenFormat, ProtectedResource};
use grantor::server::Builder;
use grantor::wire::{Endpoint, Request, Response};
use grantor::{Authenticated, Config, ResourceError};
use serde_json::{Value, json};

use crate::rfc8707::{own_scopes, resource};
use support::keys::Signer;
use support::world::{Credentials, PKCE, World, config_of, encode, form, pair};

/// The default resource. It reads JWTs, as `B` does.
const A: &str = "https://a.example/api";
const B: &str = "https://b.example/api";
/// Its tokens are opaque.
const C: &str = "https://c.example/api";

const P256: &[u8] = include_bytes!("../../data/keys/p256-1.pk8");

fn es256() -> SigningKey {
    SigningKey::from_pkcs8(SigningAlgorithm::Es256, P256).unwrap()
}

fn jwt(identifier: &str) -> ProtectedResource {
    let mut own = resource(identifier, &["repo-code:rw", "repo-issue:rw", "account-profile:rw"]);
    own.access_tokens = AccessTokenFormat::Jwt;
    own
}

fn config() -> Config {
    let mut config = config_of(Profile::Mcp);
    config.scopes = own_scopes();
    config.client_credentials.on = true;
    config.resources = vec![jwt(A), jwt(B), resource(C, &[])];
    config.resources[0].is_default = true;
    config
}

/// A world whose server signs with ES256.
async fn world() -> World {
    built(config(), |builder| builder.signing_keys([es256()])).await
}

async fn built(config: Config, hooks: impl FnOnce(Builder) -> Builder) -> World {
    World::built(config, hooks).await
}

/// A client that gets tokens for itself.
pub(crate) async fn machine(world: &World) -> Credentials {
    let mut form = form();
    form.grant_types = GrantTypes::NONE.with(GrantType::ClientCredentials);
    form.redirect_uris = Vec::new();
    form.scopes = String::new();
    form.client_scopes = "repo-code:rw".into();
    world.register(form).await
}

async fn own_token(world: &World, client: &Credentials, resources: &[&str]) -> Response {
    let call = world.token(&[("grant_type", "client_credentials")]);
    let call = resources.iter().fold(call, |call, resource| call.field("resource", resource));
    call.client(client).send().await
}

/// A code for these resources.
async fn code_for(world: &World, resources: &[&str]) -> String {
    let query = world.query(&PKCE);
    let named = resources.iter().map(|resource| format!("&{}", encode(&[("resource", resource)])));
    world.code_for(&(query + &named.collect::<String>())).await
}

/// An access token for the default resource.
async fn token(world: &World) -> String {
    pair(&world.exchange(&world.code().await).await).access
}

/// The header and the claims of a JWT.
pub(crate) fn parts(token: &str) -> [Value; 2] {
    let parts: Vec<&str> = token.split('.').collect();
    assert_eq!(parts.len(), 3, "no JWT: {token}");
    [0, 1].map(|place| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(parts[place]).unwrap()).unwrap())
}

fn is_jwt(token: &str) -> bool {
    token.split('.').count() == 3
}

fn is_signed_by(token: &str, signer: &Signer) -> bool {
    let (signed, signature) = token.rsplit_once('.').unwrap();
    signer.is_signature(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap())
}

/// The check in the process of the authorization server.
async fn at(world: &World, resource: &str, token: &str) -> Result<Authenticated, ResourceError> {
    crate::rfc8707::at(world, resource, token).await
}

async fn opens(world: &World, resource: &str, token: &str) -> bool {
    at(world, resource, token).await.is_ok()
}

/// What introspection tells the client that holds the token.
async fn introspected(world: &World, client: &Credentials, token: &str) -> Value {
    world.introspect_as(client, token).await
}

async fn key_set(world: &World) -> Response {
    world.server.serve(Endpoint::Jwks, &Request::new("GET")).await
}

/// The `kid` of each published key.
async fn published(world: &World) -> Vec<String> {
    let response = key_set(world).await;
    assert_eq!(response.status(), 200);
    let set: Value = serde_json::from_slice(response.body()).unwrap();
    set["keys"].as_array().unwrap().iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect()
}

fn inactive() -> Value {
    json!({"active": false})
}
