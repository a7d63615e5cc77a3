//! Tokens that were verified before.

use grantor::fetch::FetchErrorKind;
use grantor::resource::{JwtSettings, JwtVerifier};
use serde_json::json;

use super::{API, Api, config};
use crate::resource_client::Script;
use support::keys::Signer;
use support::world::{ISSUER, START};

/// 9068-4-01
#[tokio::test]
async fn times_are_judged_at_each_use() {
    let api = Api::new();
    let token = api.token(json!({"exp": START + 100, "nbf": START + 10, "iat": START + 60}));
    for (at, status) in [(9, 401), (10, 200), (99, 200), (100, 401)] {
        api.at(at);
        assert_eq!(api.status(&token).await, status, "{at}");
    }
    // Its signature was verified, so the client is known.
    let event = "AccessTokenRefused { client: Some(app), refusal: Expired }";
    assert_eq!(api.events.take().last().map(String::as_str), Some(event));
    // The clock decides, as in the process of the authorization server.
    api.at(10);
    assert_eq!(api.status(&token).await, 200);
    api.at(0);
    assert_eq!(api.status(&token).await, 401);
    // An expired token needs no keys.
    api.answer_always(Err(FetchErrorKind::Connection));
    api.at(1000);
    let sent = api.script.sent();
    assert_eq!((api.status(&token).await, api.script.sent()), (401, sent));
}

/// 9068-4-01: a kept token is the whole text, and not a part of it.
#[tokio::test]
async fn a_token_is_found_by_all_of_its_text() {
    let api = Api::new();
    let token = api.token(json!({}));
    assert_eq!(api.status(&token).await, 200);
    let bytes = token.as_bytes();
    for place in (0..bytes.len()).step_by(7).chain([bytes.len() - 1]) {
        let mut other = bytes.to_vec();
        other[place] = if other[place] == b'A' { b'B' } else { b'A' };
        let other = String::from_utf8(other).unwrap();
        assert_eq!(api.status(&other).await, 401, "{place}");
    }
    for other in [&token[1..], &token[..token.len() - 1]] {
        assert_eq!(api.status(other).await, 401);
    }
    assert_eq!(api.status(&token).await, 200);
}

/// 9068-4-01: making room never costs an answer.
#[tokio::test]
async fn more_tokens_than_are_kept_are_all_answered() {
    let api = Api::built(Signer::es256().named("one"), |settings| settings.max_entries = 16);
    let tokens: Vec<_> = (0..100).map(|number| api.token(json!({"sub": number.to_string()}))).collect();
    for round in 0..2 {
        for (number, token) in tokens.iter().enumerate() {
            let found = api.check(token).await.unwrap();
            assert_eq!(found.subject().unwrap().as_str(), number.to_string(), "{round}");
        }
    }
    assert_eq!(api.script.sent(), 1);
}

/// 9068-4-01: two verifiers share nothing, and clones share everything.
#[tokio::test]
async fn a_verifier_trusts_only_what_it_fetched() {
    let api = Api::new();
    let token = api.token(json!({}));
    assert_eq!(api.status(&token).await, 200);
    let script = Script::default();
    script.always(Ok(super::key_set(&[])));
    let other = JwtVerifier::new(JwtSettings::new(super::KEYS_URL, ISSUER, API), script.clone()).unwrap();
    let other = other.with_clock(api.clock.clone());
    let resource = grantor::ResourceServer::jwt(config(), other.clone()).unwrap();
    let (script_of_api, verifier_of_api) = (api.script.clone(), api.verifier.clone());
    let other = Api { resource, verifier: other, script, ..api };
    assert_eq!((other.status(&token).await, other.script.sent()), (401, 1));
    let resource = grantor::ResourceServer::jwt(config(), verifier_of_api.clone()).unwrap();
    let clone = Api { resource, verifier: verifier_of_api, script: script_of_api, ..other };
    assert_eq!((clone.status(&token).await, clone.script.sent()), (200, 1));
}
