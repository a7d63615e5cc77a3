//! The key set: how long it is used, and when it is fetched.

use std::time::Duration;

use grantor::Reason;
use grantor::fetch::{FetchErrorKind, FetchResponse};
use grantor::resource::KeySetError;
use serde_json::json;

use super::{Api, KEYS_URL, key_set};
use crate::resource_client::{Checks, refused};
use support::keys::Signer;

fn second(api: &Api) -> Signer {
    api.signer.another().named("two")
}

/// A token with a `kid` that is not published.
fn forged(api: &Api, number: usize) -> String {
    api.signed_by(&api.signer.another().named(&format!("forged-{number}")), json!({}))
}

/// 9068-4-01
#[tokio::test]
async fn one_request_is_sent_for_the_key_set() {
    let api = Api::new();
    for _ in 0..3 {
        assert_eq!(api.status(&api.token(json!({}))).await, 200);
    }
    let [sent] = &api.script.requests()[..] else { panic!("one request") };
    assert_eq!((&*sent.method, &*sent.url, &*sent.body), ("GET", KEYS_URL, ""));
    let accepted = ("Accept".to_owned(), "application/jwk-set+json, application/json".to_owned());
    assert_eq!(sent.headers, [accepted]);
    assert_eq!((sent.timeout, sent.max_bytes), (Duration::from_secs(2), 65_536));
}

/// 7517-5-02
#[tokio::test]
async fn a_key_set_is_used_for_its_max_age_within_bounds() {
    for (cache_control, age, fresh) in [
        (Some("public, max-age=300"), None, 300),
        (Some("max-age=200"), None, 200),
        (Some("max-age=200"), Some("50"), 150),
        (Some("max-age=86400"), None, 300),
        (Some("max-age=59"), None, 60),
        (Some("no-store"), None, 60),
        (None, None, 300),
    ] {
        let api = Api::new();
        let mut response = key_set(&[&api.signer]);
        response.cache_control = cache_control.map(str::to_owned);
        response.age = age.map(str::to_owned);
        api.answer_always(Ok(response));
        for (at, sent) in [(0, 1), (fresh - 1, 1), (fresh, 2)] {
            api.at(at);
            assert_eq!(
                (api.status(&api.token(json!({}))).await, api.script.sent()),
                (200, sent),
                "{cache_control:?} {at}"
            );
        }
    }
}

/// 7517-5-02: a key that is dropped is refused within `max-age`, even for a token that was verified before.
#[tokio::test]
async fn a_dropped_key_is_refused_within_max_age() {
    let api = Api::new();
    let next = second(&api);
    let token = api.token(json!({"exp": api.now() + 900}));
    assert_eq!(api.status(&token).await, 200);
    api.publish(&[&next]);
    api.at(299);
    assert_eq!((api.status(&token).await, api.script.sent()), (200, 1));
    api.at(300);
    for _ in 0..2 {
        assert_eq!((api.status(&token).await, api.script.sent()), (401, 2));
    }
    let events = api.events.take();
    assert_eq!(events, ["AccessTokenRefused { client: None, refusal: UnknownKey }"; 2]);
    assert_eq!(api.status(&api.signed_by(&next, json!({}))).await, 200);
    // It is accepted again if it comes back.
    api.publish(&[&next, &api.signer]);
    api.at(600);
    assert_eq!((api.status(&token).await, api.script.sent()), (200, 3));
}

/// 7517-5-02
#[tokio::test]
async fn a_slow_answer_makes_no_key_younger() {
    let api = Api::new();
    api.script.wait();
    let token = api.token(json!({"exp": api.now() + 900}));
    let mut check = Checks::new([api.status(&token)]);
    assert_eq!(check.run(), [0_u16; 0]);
    api.at(2);
    api.script.answer(Ok(key_set(&[&api.signer])));
    assert_eq!(check.run(), [200]);
    api.publish(&[]);
    api.at(299);
    assert_eq!((api.status(&token).await, api.script.sent()), (200, 1));
    api.at(300);
    assert_eq!((api.status(&token).await, api.script.sent()), (401, 2));
}

/// 7517-5-02: as in the cache of verified tokens, `kid` alone does not name a key.
#[tokio::test]
async fn another_key_under_the_same_kid_is_another_key() {
    let api = Api::new();
    let token = api.token(json!({"exp": api.now() + 900}));
    assert_eq!(api.status(&token).await, 200);
    let other = api.signer.another().named("one");
    api.publish(&[&other]);
    api.at(300);
    api.events.take();
    assert_eq!(api.status(&token).await, 401);
    assert_eq!(api.events.take(), ["AccessTokenRefused { client: None, refusal: Signature }"]);
    assert_eq!((api.status(&api.signed_by(&other, json!({}))).await, api.script.sent()), (200, 2));
    // The same key under another `kid` is no longer the one that the token names.
    api.publish(&[&api.signer.clone().named("renamed")]);
    api.at(600);
    assert_eq!(api.status(&token).await, 401);
}

/// 9068-4-01: a forged token costs one verification, even if the authorization server gives a `kid` to several keys.
#[tokio::test]
async fn of_several_keys_with_one_kid_the_first_counts() {
    let api = Api::new();
    let (other, slow) = (api.signer.another().named("one"), Signer::largest_of_proofs().named("one"));
    api.publish(&[&slow, &other, &api.signer]);
    assert_eq!(api.status(&api.token(json!({}))).await, 401);
    // PS256 does not count: the key cannot have signed an access token.
    assert_eq!((api.status(&api.signed_by(&other, json!({}))).await, api.script.sent()), (200, 1));
}

/// 7517-5-02: a token of a new key leads to one request, and is accepted.
#[tokio::test]
async fn an_unknown_kid_is_asked_about_once() {
    let api = Api::new();
    assert_eq!(api.status(&api.token(json!({}))).await, 200);
    let next = second(&api);
    let token = api.signed_by(&next, json!({"exp": api.now() + 900}));
    api.publish(&[&api.signer, &next]);
    // The key set was just fetched.
    api.at(9);
    assert_eq!((api.status(&token).await, api.script.sent()), (401, 1));
    api.at(10);
    for _ in 0..3 {
        assert_eq!((api.status(&token).await, api.script.sent()), (200, 2));
        assert_eq!((api.status(&api.token(json!({}))).await, api.script.sent()), (200, 2));
    }
    // A wrong signature under a known `kid` leads to none.
    api.at(20);
    let wrong = api.signed_by(&Signer::fresh().named("two"), json!({}));
    assert_eq!((api.status(&wrong).await, api.script.sent()), (401, 2));
}

/// 9068-4-01
#[tokio::test]
async fn made_up_kids_lead_to_one_request_in_10_s() {
    let api = Api::new();
    assert_eq!(api.status(&api.token(json!({}))).await, 200);
    for (at, sent) in [(0, 1), (9, 1), (10, 2), (19, 2), (20, 3)] {
        api.at(at);
        for number in 0..300 {
            assert_eq!((api.status(&forged(&api, number)).await, api.script.sent()), (401, sent), "{at}");
        }
    }
    assert_eq!((api.status(&api.token(json!({}))).await, api.script.sent()), (200, 3));
    // Nothing is sent for a token that cannot pass.
    api.at(40);
    for changes in [json!({"exp": 1}), json!({"iss": "x"}), json!({"aud": "x"}), json!({"sub": ""})] {
        let token = api.signed_by(&second(&api), changes);
        assert_eq!((api.status(&token).await, api.script.sent()), (401, 3));
    }
}

/// 9068-4-01: while the key is not known, the token is neither valid nor invalid.
#[tokio::test]
async fn an_unknown_kid_is_no_verdict_while_the_key_set_is_away() {
    let api = Api::new();
    assert_eq!(api.status(&api.token(json!({}))).await, 200);
    let next = second(&api);
    let token = api.signed_by(&next, json!({"exp": api.now() + 900}));
    api.at(10);
    api.answer_always(Err(FetchErrorKind::Connection));
    for at in [10, 19, 20, 29] {
        api.at(at);
        assert_eq!([api.status(&token).await, api.status(&api.token(json!({}))).await], [503, 200], "{at}");
    }
    assert_eq!(api.script.sent(), 3);
    api.publish(&[&api.signer, &next]);
    assert_eq!(api.status(&token).await, 503, "within the pause");
    api.at(30);
    assert_eq!((api.status(&token).await, api.script.sent()), (200, 4));
}

/// 7517-5-02, 9068-4-01: a short outage stops no API, and a long one does not let a leaked key live.
#[tokio::test]
async fn without_the_authorization_server_the_keys_are_used_300_s_longer() {
    let api = Api::new();
    let token = api.token(json!({"exp": api.now() + 3600}));
    assert_eq!(api.status(&token).await, 200);
    api.answer_always(Err(FetchErrorKind::TimedOut));
    for (at, status, sent) in [(299, 200, 1), (300, 200, 2), (309, 200, 2), (310, 200, 3), (599, 200, 4), (600, 503, 4)]
    {
        api.at(at);
        assert_eq!((api.status(&token).await, api.script.sent()), (status, sent), "{at}");
        // A token that was not verified before has the same answer.
        assert_eq!((api.status(&api.token(json!({}))).await, api.script.sent()), (status, sent), "{at}");
    }
    // What has expired is refused anyway.
    assert_eq!(api.status(&api.token(json!({"exp": api.now()}))).await, 401);
    api.publish(&[&api.signer]);
    api.at(608);
    assert_eq!(api.status(&token).await, 503);
    api.at(609);
    assert_eq!((api.status(&token).await, api.script.sent()), (200, 5));
}

/// 9068-4-01
#[tokio::test]
async fn a_failed_request_is_reported_once_with_its_cause() {
    let api = Api::new();
    api.answer_always(Err(FetchErrorKind::Tls));
    for _ in 0..3 {
        let error = api.check(&api.token(json!({}))).await.unwrap_err();
        assert!(matches!(error.reason(), Reason::AccessTokenKeys(cause) if matches!(**cause, KeySetError::Fetch(_))));
        assert_eq!(
            format!("{error:?}"),
            "the keys of the authorization server could not be fetched: the request for the key set failed: TLS \
             failed: the cause of the failure"
        );
        assert_eq!(refused(error), 503);
    }
    let events = api.events.take();
    assert!(matches!(&events[..], [event] if event.starts_with("KeySetFailed")), "{events:?}");
}

/// 9068-4-01
#[tokio::test]
async fn only_a_key_set_is_a_key_set() {
    let html = |body: &str| {
        let mut response = FetchResponse::new(200, body);
        response.content_type = Some("text/html".to_owned());
        response
    };
    let json = |body: String| {
        let mut response = FetchResponse::new(200, body);
        response.content_type = Some("application/json".to_owned());
        response
    };
    let good = Api::new();
    let mut keys = vec![good.signer.jwk_with_algorithm()];
    keys.extend((0..32).map(|_| json!({"kty": "x"})));
    let padded = |bytes: usize| {
        let set = json!({"keys": [good.signer.jwk_with_algorithm()], "pad": ""}).to_string();
        set.replace("\"pad\":\"\"", &format!("\"pad\":\"{}\"", "x".repeat(bytes - set.len())))
    };
    let with_status = |status| {
        let mut response = key_set(&[&good.signer]);
        response.status = status;
        response
    };
    for (response, status) in [
        (json(padded(65_536)), 200),
        (json(padded(65_537)), 503),
        (json(json!({ "keys": keys }).to_string()), 503),
        (json(json!({ "keys": keys[..32] }).to_string()), 200),
        (json("{}".into()), 503),
        (json("[]".into()), 503),
        (json(r#"{"keys":{}}"#.into()), 503),
        (json(r#"{"keys":[]}"#.into()), 401),
        (html(&good.signer.key_set()), 503),
        (FetchResponse::new(200, good.signer.key_set()), 503),
        (with_status(404), 503),
        (with_status(302), 503),
        (with_status(500), 503),
    ] {
        let api = Api::new();
        let text = format!("{} {:?}", response.status, response.content_type);
        api.answer_always(Ok(response));
        assert_eq!((api.status(&api.token(json!({}))).await, api.script.sent()), (status, 1), "{text}");
    }
}

/// 9068-4-01
#[tokio::test]
async fn parallel_checks_share_one_request() {
    let api = Api::new();
    api.script.wait();
    let tokens: Vec<_> = (0..1000).map(|number| api.token(json!({"jti": number.to_string()}))).collect();
    let mut checks = Checks::new(tokens.iter().map(|token| api.status(token)));
    assert_eq!((checks.run(), api.script.sent()), (vec![], 1));
    checks.drop_first();
    assert_eq!((checks.run(), api.script.sent()), (vec![], 1));
    api.script.answer(Ok(key_set(&[&api.signer])));
    assert_eq!((checks.run(), api.script.sent()), (vec![200; 999], 1));
}

/// 9068-4-01: callers who hang up cannot keep the key set from being fetched.
#[tokio::test]
async fn a_request_outlasts_the_checks_that_were_dropped() {
    let api = Api::new();
    let token = api.token(json!({"exp": api.now() + 3600}));
    let hang_up = || {
        let mut dropped = Checks::new([api.status(&token)]);
        assert_eq!(dropped.run(), [0_u16; 0]);
    };
    api.script.wait();
    for _ in 0..3 {
        hang_up();
    }
    assert_eq!((api.script.sent(), api.script.open()), (1, 1));
    let mut check = Checks::new([api.status(&token)]);
    assert_eq!(check.run(), [0_u16; 0]);
    api.script.answer(Ok(key_set(&[&api.signer])));
    assert_eq!((check.run(), api.script.sent()), (vec![200], 1));
    // A check that comes later than any answer may, sends the request again.
    api.at(300);
    hang_up();
    api.at(304);
    let mut check = Checks::new([api.status(&token)]);
    assert_eq!((check.run(), api.script.sent()), (vec![], 2));
    api.script.answer(Err(FetchErrorKind::TimedOut));
    assert_eq!((check.run(), api.script.sent()), (vec![], 3));
    api.script.answer(Ok(key_set(&[&api.signer])));
    assert_eq!((check.run(), api.script.sent(), api.events.take().len()), (vec![200], 3, 0));
}

/// 7517-5-02
#[tokio::test]
async fn a_clock_set_back_makes_no_key_younger() {
    let api = Api::new();
    let token = api.token(json!({"exp": api.now() + 3600}));
    api.at(200);
    assert_eq!((api.status(&token).await, api.script.sent()), (200, 1));
    api.at(250);
    assert_eq!((api.status(&token).await, api.script.sent()), (200, 1));
    api.publish(&[]);
    // The age of the key set is not known any more.
    api.at(249);
    assert_eq!((api.status(&token).await, api.script.sent()), (401, 2));
}

/// 7517-5-02, 9068-4-01: a clock that is set back again and again does not lead to more requests.
#[tokio::test]
async fn a_clock_set_back_keeps_the_pause() {
    let api = Api::new();
    let token = api.token(json!({"exp": api.now() + 3600}));
    for (at, sent) in [(200, 1), (205, 1), (204, 1), (206, 1), (203, 1), (209, 1), (210, 2), (219, 2)] {
        api.at(at);
        assert_eq!((api.status(&token).await, api.script.sent()), (200, sent), "{at}");
    }
    // Before the last request there is no pause.
    api.at(100);
    assert_eq!((api.status(&token).await, api.script.sent()), (200, 3));
    // The previous key set, whose age is not known, is not used in an outage.
    api.at(150);
    assert_eq!((api.status(&token).await, api.script.sent()), (200, 3));
    api.answer_always(Err(FetchErrorKind::Connection));
    api.at(149);
    assert_eq!((api.status(&token).await, api.script.sent()), (503, 4));
}

/// 7517-5-02
#[tokio::test]
async fn a_clock_set_back_during_the_request_makes_no_key_younger() {
    let api = Api::new();
    api.at(10_000);
    let token = api.token(json!({"exp": api.now() + 3600, "iat": 0}));
    api.script.wait();
    let mut check = Checks::new([api.status(&token)]);
    assert_eq!(check.run(), [0_u16; 0]);
    api.at(0);
    api.script.answer(Ok(key_set(&[&api.signer])));
    assert_eq!(check.run(), [200]);
    api.publish(&[]);
    api.at(300);
    assert_eq!((api.status(&token).await, api.script.sent()), (401, 2));
}
