//! OpenID Connect: what clients learn about who signed in.

mod discovery;
mod id_token;
mod request;
mod settings;
mod userinfo;

use grantor::config::{Identity, Profile};
use grantor::hooks::{Claims, SigningKey};
use grantor::jose::SigningAlgorithm;
use grantor::scope::IdentityScope;
use grantor::server::Builder;
use grantor::wire::Response;
use grantor::{AuthorizationServer, Config, MemoryStore};
use serde_json::{Value, json};

use crate::rfc9068::parts;
use support::keys::Signer;
use support::world::{ISSUER, PKCE, REDIRECT_URI, START, With, World, config_of, form, ok};

/// What the client of these tests is registered for.
const SCOPES: &str = "openid email profile repo-code:rw";

/// What each request needs: an OpenID request must name its redirect URI.
const WITH_URI: [(&str, &str); 3] = [PKCE[0], PKCE[1], ("redirect_uri", REDIRECT_URI)];

/// A hook with no claims of its own.
#[derive(Debug)]
struct NoClaims;

impl Claims for NoClaims {}

fn rs256() -> SigningKey {
    SigningKey::from_pkcs8(SigningAlgorithm::Rs256, include_bytes!("../../data/keys/rsa-1.pk8")).unwrap()
}

fn es256() -> SigningKey {
    SigningKey::from_pkcs8(SigningAlgorithm::Es256, include_bytes!("../../data/keys/p256-1.pk8")).unwrap()
}

fn ed25519() -> SigningKey {
    SigningKey::from_pkcs8(SigningAlgorithm::EdDsa, include_bytes!("../../data/keys/ed25519-1.pk8")).unwrap()
}

fn identity() -> Identity {
    Identity::new([IdentityScope::profile(), IdentityScope::email(), IdentityScope::phone(), IdentityScope::address()])
}

/// The settings with all scopes of the standard beside those of the platform.
pub(crate) fn config() -> Config {
    let mut config = config_of(Profile::Strict);
    config.identity = Some(identity());
    config
}

/// A world whose client may sign users in. It signs with RS256, unless the hooks say otherwise.
pub(crate) async fn built(config: Config, hooks: impl FnOnce(Builder) -> Builder) -> World {
    let mut world = World::built(config, |builder| hooks(builder.signing_keys([rs256()]).claims(NoClaims))).await;
    world.client = world.register(form().with(|form| form.scopes = SCOPES.into())).await;
    world
}

async fn world() -> World {
    built(config(), |builder| builder).await
}

fn build(config: Config, keys: Vec<SigningKey>) -> Result<AuthorizationServer, String> {
    let builder = AuthorizationServer::builder(config, MemoryStore::new()).signing_keys(keys).claims(NoClaims);
    builder.build().map_err(|error| error.to_string())
}

/// The answer to the exchange of a code for these scopes.
async fn exchanged(world: &World, scope: &str) -> Response {
    let query = world.query(&[&WITH_URI[..], &[("scope", scope)]].concat());
    world.exchange(&world.code_for(&query).await).await
}

/// `OK`, as JSON.
#[track_caller]
fn members(response: &Response) -> Value {
    ok(response);
    serde_json::from_slice(response.body()).unwrap()
}

/// `ID`: `OK` with an ID token, which is the last member.
#[track_caller]
fn id_token(response: &Response) -> String {
    let token = members(response)["id_token"].as_str().expect("an ID token").to_owned();
    assert!(String::from_utf8_lossy(response.body()).ends_with(&format!(r#","id_token":"{token}"}}"#)));
    token
}
