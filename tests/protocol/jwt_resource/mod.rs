//! RFC 9068 at an API in a separate process: the verifier over a scripted transport, and over a server.

mod claims;
mod headers;
mod kept;
mod keys;
mod live;
mod opaque;
mod rotation;

use grantor::config::{DpopBoundTokens, Profile};
use grantor::fetch::FetchResponse;
use grantor::protected_resource::AccessTokenFormat;
use grantor::resource::{JwtSettings, JwtVerifier};
use grantor::testing::ManualClock;
use grantor::wire::Request;
use grantor::{Authenticated, Config, ResourceError, ResourceServer, Timestamp};
use serde_json::{Value, json};

use crate::resource_client::{Answer, Script, refused};
use crate::rfc8707::resource;
use support::keys::Signer;
use support::world::{ISSUER, Recorder, START, config_of};

const API: &str = "https://api.example";
const OTHER_API: &str = "https://other.example";
const KEYS_URL: &str = "https://auth.example/oauth2/jwks";

/// An API that verifies the tokens of an authorization server in another process.
struct Api {
    resource: ResourceServer,
    verifier: JwtVerifier,
    script: Script,
    clock: ManualClock,
    events: Recorder,
    /// The key of the authorization server.
    signer: Signer,
}

impl Api {
    fn new() -> Self {
        Self::with(Signer::es256().named("one"))
    }

    /// The authorization server publishes that key.
    fn with(signer: Signer) -> Self {
        Self::built(signer, |_| {})
    }

    /// The same with changed settings.
    fn built(signer: Signer, change: impl FnOnce(&mut JwtSettings)) -> Self {
        let (script, events) = (Script::default(), Recorder::default());
        let clock = ManualClock::new(Timestamp::from_seconds(START));
        let mut settings = JwtSettings::of_server(&config(), API);
        change(&mut settings);
        let verifier = JwtVerifier::new(settings, script.clone()).unwrap();
        let verifier = verifier.with_clock(clock.clone()).with_events(events.clone());
        let resource = ResourceServer::jwt(config(), verifier.clone()).unwrap();
        let api = Self { resource, verifier, script, clock, events, signer };
        api.publish(&[&api.signer]);
        api
    }

    /// The key set has these keys from now on.
    fn publish(&self, signers: &[&Signer]) {
        self.script.always(Ok(key_set(signers)));
    }

    fn answer_always(&self, answer: Answer) {
        self.script.always(answer);
    }

    async fn check(&self, token: &str) -> Result<Authenticated, ResourceError> {
        let header = format!("Bearer {token}");
        self.resource.authenticate(&Request::new("GET").header("Authorization", header.as_bytes())).await
    }

    /// 200, or the status of the answer; the headers are those of the status.
    async fn status(&self, token: &str) -> u16 {
        self.check(token).await.map_or_else(refused, |_| 200)
    }

    /// A token that is issued now, with changed claims. The text `(none)` leaves one out.
    fn token(&self, changes: Value) -> String {
        self.signed_by(&self.signer, changes)
    }

    fn signed_by(&self, signer: &Signer, changes: Value) -> String {
        let now = self.now();
        let claims = json!({
            "iss": ISSUER, "aud": API, "sub": "alice", "client_id": "app", "iat": now, "exp": now + 300, "jti": "one",
            "scope": "repo-code:rw", "resource_scope": "all",
        });
        signer.sign(header(signer).to_string(), changed(claims, changes).to_string())
    }

    fn now(&self) -> u32 {
        grantor::Clock::now(&self.clock).seconds()
    }

    fn at(&self, seconds: u32) {
        self.clock.set(Timestamp::from_seconds(START + seconds));
    }
}

fn config() -> Config {
    let mut config = config_of(Profile::Strict);
    config.dpop.tokens = DpopBoundTokens::Off;
    config.resources = vec![resource(API, &[]), resource(OTHER_API, &[])];
    config.resources[0].access_tokens = AccessTokenFormat::Jwt;
    config
}

/// The header of an access token.
fn header(signer: &Signer) -> Value {
    json!({"typ": "at+jwt", "alg": signer.algorithm(), "kid": signer.jwk()["kid"]})
}

/// The object with changed members. The text `(none)` leaves one out.
fn changed(mut object: Value, changes: Value) -> Value {
    let members = object.as_object_mut().unwrap();
    for (name, value) in changes.as_object().unwrap() {
        if value == "(none)" {
            members.remove(name);
        } else {
            members.insert(name.clone(), value.clone());
        }
    }
    object
}

/// The response of an authorization server with these keys.
fn key_set(signers: &[&Signer]) -> FetchResponse {
    let keys: Vec<_> = signers.iter().map(|signer| signer.jwk_with_algorithm()).collect();
    let mut response = FetchResponse::new(200, json!({ "keys": keys }).to_string());
    response.content_type = Some("application/jwk-set+json".to_owned());
    response.cache_control = Some("public, max-age=300".to_owned());
    response
}
