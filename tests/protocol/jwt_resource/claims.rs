//! What the claims of a token mean.

use grantor::Timestamp;
use grantor::scope::{Permission, Resource};
use serde_json::{Value, json};

use super::{API, Api, OTHER_API};
use crate::resource_client::resource_scopes;
use support::world::{ISSUER, START, wa};

/// The thumbprint of a key.
const KEY: &str = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I";

/// 9068-4-01, 9068-2.2-02, 9068-2.2-03
#[tokio::test]
async fn each_claim_is_needed_and_of_its_type() {
    let api = Api::new();
    for (changes, status) in [
        (json!({}), 200),
        (json!({"iss": format!("{ISSUER}/")}), 401),
        (json!({"iss": "HTTPS://auth.example"}), 401),
        (json!({"iss": [ISSUER]}), 401),
        (json!({"aud": [API]}), 200),
        (json!({"aud": [OTHER_API, API]}), 200),
        (json!({"aud": OTHER_API}), 401),
        (json!({"aud": []}), 401),
        (json!({"aud": [API, 7]}), 401),
        (json!({"aud": format!("{API}/")}), 401),
        (json!({"aud": ISSUER}), 401),
        (json!({"sub": ""}), 401),
        (json!({"sub": 7}), 401),
        (json!({"sub": "x".repeat(255)}), 200),
        (json!({"sub": "x".repeat(256)}), 401),
        (json!({"sub": "client:app"}), 200),
        (json!({"sub": "client:other"}), 401),
        (json!({"sub": "client:"}), 401),
        (json!({"client_id": ""}), 401),
        (json!({"client_id": 7}), 401),
        (json!({"iat": START}), 200),
        (json!({"iat": START + 60}), 200),
        (json!({"iat": START + 61}), 503),
        (json!({"iat": START + 901}), 401),
        (json!({"iat": START.to_string()}), 401),
        (json!({"iat": f64::from(START)}), 401),
        (json!({"iat": -1}), 401),
        (json!({"exp": START}), 401),
        (json!({"exp": START + 1}), 200),
        (json!({"exp": START - 1}), 401),
        (json!({"exp": (START + 9).to_string()}), 401),
        (json!({"exp": f64::from(START + 9)}), 401),
        (json!({"exp": 1e30}), 401),
        (json!({"exp": u64::from(u32::MAX) + 1}), 200),
        (json!({"nbf": START}), 200),
        (json!({"nbf": START + 1}), 401),
        (json!({"nbf": "1"}), 401),
        (json!({"jti": 7}), 401),
        (json!({"scope": "(none)"}), 200),
        (json!({"scope": ""}), 200),
        (json!({"scope": "repo-code:rw unknown"}), 200),
        (json!({"scope": ["repo-code:rw"]}), 401),
        (json!({"scope": "repo-code:rw\trepo-issue:r"}), 401),
        (json!({"resource_scope": 7}), 401),
        (json!({"resources": "a"}), 401),
        (json!({"cnf": {}}), 401),
        (json!({"cnf": {"jkt": "short"}}), 401),
        (json!({"cnf": {"jkt": KEY, "x5t#S256": KEY}}), 401),
        (json!({"cnf": {"x5t#S256": KEY}}), 401),
        (json!({"cnf": KEY}), 401),
        (json!({"auth_time": START, "acr": "x", "roles": ["y"]}), 200),
    ] {
        assert_eq!(api.status(&api.token(changes.clone())).await, status, "{changes}");
    }
    for name in ["iss", "aud", "sub", "client_id", "iat", "exp", "jti"] {
        for value in [json!("(none)"), Value::Null, json!(true), json!({"a": "b"})] {
            assert_eq!(api.status(&api.token(json!({ name: value }))).await, 401, "{name}: {value}");
        }
    }
}

/// 9068-2.2-02: a client id is never taken for a user.
#[tokio::test]
async fn a_client_that_acts_for_itself_is_no_user() {
    let api = Api::new();
    let user = api.check(&api.token(json!({}))).await.unwrap();
    assert_eq!((user.client_id().as_str(), api.resource.require_subject(&user).unwrap().as_str()), ("app", "alice"));
    let own = api.check(&api.token(json!({"sub": "client:app"}))).await.unwrap();
    assert_eq!((own.client_id().as_str(), own.subject()), ("app", None));
    wa(api.resource.require_subject(&own).unwrap_err(), 403, "insufficient_scope");
}

/// 9068-2.2-03
#[tokio::test]
async fn the_resources_of_a_token_are_those_that_it_names() {
    let api = Api::new();
    for (changes, public, private) in resource_scopes() {
        let token = api.check(&api.token(changes.clone())).await.unwrap();
        for (resource, is_covered) in [(Resource::Public("a"), public), (Resource::Private("a"), private)] {
            let covered = api.resource.require(&token, "repo-code", Permission::ReadWrite, resource).is_ok();
            assert_eq!(covered, is_covered, "{changes} {resource:?}");
        }
    }
    let narrow = api.check(&api.token(json!({"scope": "repo-code:r unknown"}))).await.unwrap();
    api.resource.require(&narrow, "repo-code", Permission::Read, Resource::Private("a")).unwrap();
    let refused = api.resource.require(&narrow, "repo-code", Permission::ReadWrite, Resource::Private("a"));
    wa(refused.unwrap_err(), 403, "insufficient_scope");
}

/// 9068-4-01: nothing that does not pass is asked about, and each refusal says why.
#[tokio::test]
async fn each_refusal_is_one_event() {
    let api = Api::new();
    for (changes, event) in [
        (json!({"exp": START}), "client: None, refusal: Expired"),
        (json!({"iat": START + 901}), "client: None, refusal: NotYetValid"),
        (json!({"iss": "https://x.example"}), "client: None, refusal: AnotherIssuer"),
        (json!({"aud": "https://x.example"}), "client: None, refusal: AnotherAudience"),
        (json!({"cnf": {"x5t#S256": KEY}}), "client: None, refusal: UnknownBinding"),
        (json!({"jti": "(none)"}), "client: None, refusal: MalformedClaim(\"jti\")"),
        (json!({"scope": "a\tb"}), "client: None, refusal: MalformedClaim(\"scope\")"),
    ] {
        assert_eq!(api.status(&api.token(changes)).await, 401);
        assert_eq!(api.events.take(), [format!("AccessTokenRefused {{ {event} }}")]);
    }
    assert_eq!(api.script.sent(), 0);
}

/// CLK-02
///
/// If the clock of the authorization server is ahead by minutes, its clients keep their tokens. A token with a wrong
/// signature raises no alarm.
#[tokio::test]
async fn a_token_of_a_clock_that_is_ahead_is_answered_with_503() {
    let api = Api::new();
    let genuine = api.token(json!({"iat": START + 600, "exp": START + 900}));
    let forged = format!("{}AAAA", &genuine[..genuine.len() - 4]);
    assert_eq!(api.status(&forged).await, 401);
    assert!(!api.events.saw("ClockDiffers"));
    for _ in 0..2 {
        assert_eq!(api.status(&genuine).await, 503);
    }
    assert_eq!(api.events.take(), ["ClockDiffers { ahead: 600 }"], "once a minute");
    api.clock.set(Timestamp::from_seconds(START + 540));
    assert_eq!(api.status(&genuine).await, 200);
}
