//! Tokens that were verified before, and the keys that signed them.

#![cfg(feature = "jose")]

use async_trait::async_trait;
use futures::executor::block_on;
use serde_json::{Value, json};

use super::*;
use crate::config::Config;
use crate::jose::{Jwk, KeyPair, SigningAlgorithm};
use crate::scope::ResourceScope;
use crate::wire::fetch::{FetchError, FetchResponse, TransportRequest};

const KEY: &[u8] = include_bytes!("../../../tests/data/keys/p256-1.pk8");
const OTHER_KEY: &[u8] = include_bytes!("../../../tests/data/keys/p256-2.pk8");

/// A server with that key set.
#[derive(Debug)]
struct Published(Value);

#[async_trait]
impl Transport for Published {
    async fn send(&self, _: &TransportRequest<'_>) -> Result<FetchResponse, FetchError> {
        let mut response = FetchResponse::new(200, json!({"keys": [self.0]}).to_string());
        response.content_type = Some("application/jwk-set+json".to_owned());
        Ok(response)
    }
}

fn public(pkcs8: &[u8]) -> Jwk {
    KeyPair::from_pkcs8(SigningAlgorithm::Es256, pkcs8).unwrap().public().unwrap()
}

/// The key under that `kid`.
fn named(pkcs8: &[u8], key_id: &str) -> Value {
    let mut members = json!(public(pkcs8).members());
    members["kid"] = key_id.into();
    members
}

fn verifier(key: Value) -> JwtVerifier {
    let settings = JwtSettings::new("https://auth.example/jwks", "https://auth.example", "https://api.example");
    JwtVerifier::new(settings, Published(key)).unwrap()
}

/// The digest of the only key that a server publishes.
fn digest(key: Value) -> Digest {
    let name = key["kid"].as_str().unwrap().to_owned();
    let keys = block_on(verifier(key).0.keys.usable()).unwrap();
    keys.named(&name).unwrap().digest
}

/// 9068-4-01: the signature of a kept token is not verified again, and its key must be published under the same `kid`.
#[test]
fn a_kept_token_counts_with_its_key_alone() {
    let token = b"the.text.alone";
    let catalog = Config::strict("https://auth.example").scopes;
    for (signed_by, is_accepted) in
        [(named(KEY, "one"), true), (named(KEY, "two"), false), (named(OTHER_KEY, "one"), false)]
    {
        let verifier = verifier(named(KEY, "one"));
        let facts = Arc::new(TokenFacts {
            client_id: ClientId::new("app").unwrap(),
            subject: None,
            scope: "".into(),
            resource_scope: ResourceScope::All,
            key: None,
            issued: Some(Timestamp::from_seconds(0)),
            expires: Some(Timestamp::from_seconds(u32::MAX)),
            not_before: None,
            claims: None,
        });
        let kept = Verified { facts, key: digest(signed_by.clone()) };
        verifier.0.state().verified.keep(*Digest::of(token).bytes(), kept);
        let found = block_on(verifier.look_up(token, &catalog)).unwrap();
        assert_eq!(found.is_some(), is_accepted, "{signed_by}");
    }
}

/// 9068-4-01: only keys that may sign access tokens are kept.
#[test]
fn a_key_without_kid_or_for_another_algorithm_is_left_out() {
    let mut nameless = named(KEY, "one");
    nameless.as_object_mut().unwrap().remove("kid");
    let encryption = json!({"use": "enc"});
    let mut for_encryption = named(KEY, "one");
    for_encryption.as_object_mut().unwrap().extend(encryption.as_object().unwrap().clone());
    let rsa = json!({"kty": "RSA", "kid": "one", "e": "AQAB", "n": base64url::encode(&[0xff; 256])});
    let mut with_algorithm = rsa.clone();
    with_algorithm["alg"] = "RS256".into();
    let changed = |name: &str, value: &str| {
        let mut key = with_algorithm.clone();
        key[name] = value.into();
        key
    };
    // Anyone can send tokens that name a key, so its signatures must be cheap to verify.
    let rsa_4096 = changed("n", &base64url::encode(&[0xff; 512]));
    let rsa_4104 = changed("n", &base64url::encode(&[0xff; 513]));
    let exponent_65539 = changed("e", "AQAD");
    for (key, is_used) in [
        (named(KEY, "one"), true),
        (nameless, false),
        (for_encryption, false),
        (rsa, false),
        (with_algorithm.clone(), true),
        (rsa_4096, true),
        (rsa_4104, false),
        (exponent_65539, false),
    ] {
        let keys = block_on(verifier(key.clone()).0.keys.usable()).unwrap();
        assert_eq!(keys.named("one").is_some(), is_used, "{key}");
    }
}
