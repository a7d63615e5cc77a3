//! Which answers are used again, and for how long.

use std::time::Duration;

use grantor::Timestamp;
use grantor::fetch::{FetchErrorKind, FetchResponse};
use grantor::resource::ResourceClient;
use serde_json::json;

use super::{Api, Script, TOKEN, answer, described, inactive, resource, settings};
use support::world::START;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// RSC-10
#[tokio::test]
async fn each_check_asks_by_default() {
    let api = Api::new();
    for sent in 1..4 {
        assert_eq!((api.status(TOKEN).await, api.script.sent()), (200, sent));
    }
    api.script.always(Ok(inactive()));
    assert_eq!(api.status(TOKEN).await, 401);
}

/// RSC-10
#[tokio::test]
async fn an_answer_is_used_for_its_time_to_live() {
    let api = Api::with(|own| own.time_to_live = seconds(10));
    for (at, sent) in [(0, 1), (9, 1), (10, 2), (19, 2), (20, 3)] {
        api.at(at);
        assert_eq!((api.status(TOKEN).await, api.script.sent()), (200, sent), "{at}");
    }
}

/// RSC-10: the age counts from the time that the request was sent.
#[tokio::test]
async fn a_slow_answer_is_no_younger() {
    let api = Api::with(|own| own.time_to_live = seconds(10));
    api.script.wait();
    let mut checks = super::Checks::of(&api, [TOKEN]);
    assert_eq!(checks.run(), [0_u16; 0]);
    api.at(2);
    api.script.answer(Ok(described(json!({}))));
    assert_eq!(checks.run(), [200]);
    api.script.always(Ok(described(json!({}))));
    for (at, sent) in [(9, 1), (10, 2)] {
        api.at(at);
        assert_eq!((api.status(TOKEN).await, api.script.sent()), (200, sent), "{at}");
    }
}

/// RSC-10, RSC-05
#[tokio::test]
async fn no_answer_is_used_when_the_token_has_expired() {
    let api = Api::with(|own| own.time_to_live = seconds(10));
    api.script.always(Ok(described(json!({"exp": START + 5}))));
    for (at, status) in [(0, 200), (4, 200), (5, 401), (6, 401)] {
        api.at(at);
        assert_eq!(api.status(TOKEN).await, status, "{at}");
    }
    api.script.always(Ok(described(json!({"nbf": START + 8}))));
    for (at, status) in [(6, 401), (7, 401), (8, 200)] {
        api.at(at);
        assert_eq!(api.status(TOKEN).await, status, "{at}");
    }
}

/// RSC-10
#[tokio::test]
async fn a_clock_set_back_makes_nothing_younger() {
    for back in [1, 3600] {
        let api = Api::with(|own| {
            own.time_to_live = seconds(10);
            own.stale_if_error = seconds(60);
            own.inactive_time_to_live = seconds(5);
        });
        let at = |time: i64| api.clock.set(Timestamp::from_seconds(u32::try_from(i64::from(START) + time).unwrap()));
        assert_eq!((api.status(TOKEN).await, api.script.sent()), (200, 1));
        at(5);
        assert_eq!((api.status(TOKEN).await, api.script.sent()), (200, 1));
        at(5 - back);
        assert_eq!((api.status(TOKEN).await, api.script.sent()), (200, 2), "{back}");
        assert_eq!((api.status(TOKEN).await, api.script.sent()), (200, 2), "{back}");
        at(4 - back);
        api.script.always(Err(FetchErrorKind::Connection));
        assert_eq!(api.status(TOKEN).await, 503, "{back}");
        at(4);
        assert_eq!(api.status(TOKEN).await, 503, "{back}");
        api.script.always(Ok(inactive()));
        assert_eq!((api.status(TOKEN).await, api.script.sent()), (401, 5), "{back}");
        at(3);
        assert_eq!((api.status(TOKEN).await, api.script.sent()), (401, 6), "{back}");
    }
}

/// RSC-10: the clock is set back while a request is open.
#[tokio::test]
async fn an_answer_from_before_the_clock_was_set_back_is_not_kept() {
    let api = Api::with(|own| own.time_to_live = seconds(10));
    api.script.wait();
    let mut checks = super::Checks::of(&api, [TOKEN, "another"]);
    assert_eq!((checks.run(), api.script.sent()), (vec![], 2));
    // Seven seconds pass, of which the clock shows one.
    api.at(7);
    let mut third = super::Checks::of(&api, ["third"]);
    assert_eq!((third.run(), api.script.sent()), (vec![], 3));
    api.at(1);
    let mut fourth = super::Checks::of(&api, ["fourth"]);
    assert_eq!((fourth.run(), api.script.sent()), (vec![], 4));
    api.script.answer(Ok(described(json!({}))));
    assert_eq!(checks.run(), [200]);
    api.script.always(Ok(described(json!({}))));
    assert_eq!((api.status(TOKEN).await, api.script.sent()), (200, 5));
}

/// RSC-09
#[tokio::test]
async fn without_the_authorization_server_it_fails_closed() {
    let outage = |ttl, stale| async move {
        let api = Api::with(|own| (own.time_to_live, own.stale_if_error) = (seconds(ttl), seconds(stale)));
        assert_eq!(api.status(TOKEN).await, 200);
        api.script.always(Err(FetchErrorKind::Connection));
        let mut statuses = Vec::new();
        for at in [0, 9, 10, 69, 70] {
            api.at(at);
            statuses.push(api.status(TOKEN).await);
        }
        assert_eq!(api.status("another").await, 503);
        (statuses, api.client.security_report().findings.len())
    };
    assert_eq!(outage(0, 0).await, (vec![503, 503, 503, 503, 503], 0));
    assert_eq!(outage(10, 0).await, (vec![200, 200, 503, 503, 503], 0));
    assert_eq!(outage(10, 60).await, (vec![200, 200, 200, 200, 503], 1));
    assert_eq!(outage(0, 10).await, (vec![200, 200, 503, 503, 503], 1));
}

/// RSC-09, RSC-17
#[tokio::test]
async fn a_stale_answer_is_reported_and_ends_with_its_token() {
    let api = Api::with(|own| (own.time_to_live, own.stale_if_error) = (seconds(10), seconds(60)));
    api.script.always(Ok(described(json!({"exp": START + 30}))));
    assert_eq!(api.status(TOKEN).await, 200);
    assert_eq!(api.events.take(), [""; 0]);
    api.script.always(Err(FetchErrorKind::TimedOut));
    api.at(29);
    assert_eq!(api.status(TOKEN).await, 200);
    let events = api.events.take();
    assert_eq!(events.len(), 2, "{events:?}");
    assert!(events[0].starts_with("IntrospectionFailed"), "{events:?}");
    assert!(events[1].starts_with("StaleAnswerUsed { client: app, subject: Some(\"alice\")"), "{events:?}");
    assert!(events[1].contains("the request timed out: the cause of the failure"), "{events:?}");
    api.at(30);
    assert_eq!(api.status(TOKEN).await, 401);
}

/// RSC-09
///
/// Only the authorization server's own trouble is an outage.
#[tokio::test]
async fn what_is_no_outage_opens_no_stale_answer() {
    for (failure, status) in [
        (Err(FetchErrorKind::Connection), 200),
        (Err(FetchErrorKind::TimedOut), 200),
        (Ok(FetchResponse::new(503, "")), 200),
        (Err(FetchErrorKind::TooManyRequests), 503),
        (Err(FetchErrorKind::TooLarge), 503),
        (Ok(FetchResponse::new(401, "")), 503),
        (Ok(FetchResponse::new(429, "")), 503),
        (Ok(answer("{}")), 503),
    ] {
        let api = Api::with(|own| (own.time_to_live, own.stale_if_error) = (seconds(10), seconds(60)));
        assert_eq!(api.status(TOKEN).await, 200);
        api.at(10);
        api.script.always(failure.clone());
        assert_eq!(api.status(TOKEN).await, status, "{failure:?}");
    }
}

/// RSC-09, RSC-15
///
/// The request that fails was sent before the revocation, so its failure says nothing about the time after it.
#[tokio::test]
async fn a_failure_from_before_the_check_opens_no_stale_answer() {
    let api = Api::with(|own| own.stale_if_error = seconds(60));
    assert_eq!(api.status(TOKEN).await, 200);
    api.script.wait();
    let mut first = super::Checks::of(&api, [TOKEN]);
    assert_eq!((first.run(), api.script.sent()), (vec![], 2));
    let mut second = super::Checks::of(&api, [TOKEN]);
    assert_eq!((second.run(), api.script.sent()), (vec![], 2));
    api.script.answer(Err(FetchErrorKind::Connection));
    assert_eq!(first.run(), [200]);
    assert_eq!((second.run(), api.script.sent()), (vec![503], 2));
}

/// RSC-09
#[tokio::test]
async fn what_was_inactive_is_never_stale() {
    for refusal in [inactive(), described(json!({"aud": "https://other.example"}))] {
        let api = Api::with(|own| (own.time_to_live, own.stale_if_error) = (seconds(10), seconds(60)));
        assert_eq!(api.status(TOKEN).await, 200);
        api.at(10);
        api.script.always(Ok(refusal));
        assert_eq!(api.status(TOKEN).await, 401);
        api.script.always(Err(FetchErrorKind::Connection));
        assert_eq!(api.status(TOKEN).await, 503);
    }
}

/// RSC-11, NEG-11
#[tokio::test]
async fn two_clients_and_two_tokens_share_nothing() {
    let api = Api::with(|own| own.time_to_live = seconds(300));
    let other = Script::default();
    other.always(Ok(inactive()));
    let second = ResourceClient::new(settings(), other.clone()).unwrap();
    let second = Api { resource: resource(&second), client: second, script: other, ..Api::new() };
    assert_eq!([api.status(TOKEN).await, second.status(TOKEN).await], [200, 401]);
    assert_eq!((api.script.sent(), second.script.sent()), (1, 1));
    let last = format!("{}X", &TOKEN[..TOKEN.len() - 1]);
    api.script.always(Ok(inactive()));
    assert_eq!([api.status(&last).await, api.status(TOKEN).await], [401, 200]);
    assert_eq!(api.script.sent(), 2);
    // Clones share everything.
    let clone = resource(&api.client.clone());
    let clone = Api { resource: clone, client: api.client.clone(), script: api.script.clone(), ..Api::new() };
    assert_eq!((clone.status(TOKEN).await, api.script.sent()), (200, 2));
}

/// RSC-13
#[tokio::test]
async fn making_room_costs_a_look_up_and_never_an_answer() {
    let api = Api::with(|own| (own.time_to_live, own.max_entries) = (seconds(300), 16));
    for round in 0..3 {
        for number in 0..100 {
            let token = format!("token-{number}");
            api.script.always(Ok(described(json!({"sub": token}))));
            let found = api.check(&token).await.unwrap();
            assert_eq!(found.subject().unwrap().as_str(), token, "{round}");
        }
    }
    assert_eq!(api.script.sent(), 300);
    let before = api.script.sent();
    assert_eq!((api.status("token-99").await, api.script.sent()), (200, before));
}

/// RSC-14
#[tokio::test]
async fn inactive_is_kept_only_by_option_and_briefly() {
    let api = Api::with(|own| own.time_to_live = seconds(300));
    api.script.always(Ok(inactive()));
    for sent in 1..3 {
        assert_eq!((api.status(TOKEN).await, api.script.sent()), (401, sent));
    }
    let api = Api::with(|own| own.inactive_time_to_live = seconds(5));
    api.script.always(Ok(inactive()));
    for (at, sent) in [(0, 1), (4, 1), (5, 2)] {
        api.at(at);
        assert_eq!((api.status(TOKEN).await, api.script.sent()), (401, sent), "{at}");
    }
    // Other refusals, and valid tokens without a time to live, are asked about each time.
    api.script.always(Ok(described(json!({"aud": "x"}))));
    for sent in 3..5 {
        assert_eq!((api.status("another").await, api.script.sent()), (401, sent));
    }
    api.at(10);
    api.script.always(Ok(described(json!({}))));
    assert_eq!([api.status(TOKEN).await, api.status(TOKEN).await], [200, 200]);
    assert_eq!(api.script.sent(), 6);
}

/// RSC-14
#[tokio::test]
async fn a_flood_of_unknown_tokens_leaves_valid_ones() {
    let api = Api::with(|own| {
        (own.time_to_live, own.inactive_time_to_live, own.max_entries) = (seconds(300), seconds(5), 64);
    });
    // 64 entries less an eighth, half of them in each generation.
    let valid: Vec<_> = (0..28).map(|number| format!("valid-{number}")).collect();
    for token in &valid {
        assert_eq!(api.status(token).await, 200);
    }
    api.script.always(Ok(inactive()));
    for number in 0..1000 {
        assert_eq!(api.status(&format!("random-{number}")).await, 401);
    }
    let sent = api.script.sent();
    for token in &valid {
        assert_eq!((api.status(token).await, api.script.sent()), (200, sent), "{token}");
    }
}

/// RSC-14
#[tokio::test]
async fn failures_are_never_kept() {
    let api = Api::with(|own| (own.time_to_live, own.inactive_time_to_live) = (seconds(300), seconds(5)));
    for failure in [Err(FetchErrorKind::Connection), Ok(answer("{}"))] {
        api.script.always(failure);
        assert_eq!(api.status("new").await, 503);
    }
    api.script.always(Ok(described(json!({}))));
    assert_eq!(api.status("new").await, 200);
}
