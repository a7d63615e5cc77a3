//! Which checks share a request, and how many requests are sent at once.

use std::time::Duration;

use grantor::fetch::FetchErrorKind;
use serde_json::json;

use super::{Api, Checks, TOKEN, described, inactive};

fn open(change: impl FnOnce(&mut grantor::resource::IntrospectionSettings)) -> Api {
    let api = Api::with(change);
    api.script.wait();
    api
}

/// RSC-15
#[tokio::test]
async fn a_thousand_checks_send_two_requests() {
    let api = open(|_| {});
    let mut checks = Checks::of(&api, [TOKEN; 1000]);
    assert_eq!((checks.run(), api.script.sent()), (vec![], 1));
    api.script.answer(Ok(described(json!({}))));
    assert_eq!((checks.run(), api.script.sent()), (vec![200], 2));
    api.script.answer(Ok(described(json!({}))));
    assert_eq!((checks.run(), api.script.sent()), (vec![200; 999], 2));
}

/// RSC-15: with a time to live, one request is enough.
#[tokio::test]
async fn a_time_to_live_lets_checks_join_a_request_that_was_sent() {
    let api = open(|own| own.time_to_live = Duration::from_secs(2));
    let mut checks = Checks::of(&api, [TOKEN; 1000]);
    assert_eq!((checks.run(), api.script.sent()), (vec![], 1));
    api.at(1);
    let mut later = Checks::of(&api, [TOKEN]);
    assert_eq!((later.run(), api.script.sent()), (vec![], 1));
    api.at(2);
    let mut too_late = Checks::of(&api, [TOKEN]);
    assert_eq!(too_late.run(), [0_u16; 0]);
    api.script.answer(Ok(described(json!({}))));
    assert_eq!((checks.run(), later.run()), (vec![200; 1000], vec![200]));
    assert_eq!((too_late.run(), api.script.sent()), (vec![], 2));
    api.script.answer(Ok(inactive()));
    assert_eq!(too_late.run(), [401]);
}

/// RSC-15
#[tokio::test]
async fn a_check_sees_a_revocation_from_before_it_began() {
    let api = open(|_| {});
    let mut before = Checks::of(&api, [TOKEN]);
    assert_eq!((before.run(), api.script.sent()), (vec![], 1));
    // The token is revoked now.
    let mut after = Checks::of(&api, [TOKEN; 2]);
    assert_eq!((after.run(), api.script.sent()), (vec![], 1));
    api.script.answer(Ok(described(json!({}))));
    assert_eq!((before.run(), after.run()), (vec![200], vec![]));
    assert_eq!(api.script.sent(), 2);
    api.script.answer(Ok(inactive()));
    assert_eq!((after.run(), api.script.sent()), (vec![401, 401], 2));
}

/// RSC-15
#[tokio::test]
async fn the_others_are_answered_if_the_first_caller_hangs_up() {
    let api = open(|_| {});
    let mut checks = Checks::of(&api, [TOKEN; 10]);
    assert_eq!((checks.run(), api.script.sent()), (vec![], 1));
    checks.drop_first();
    assert_eq!(checks.run(), [0_u16; 0]);
    api.script.answer(Ok(described(json!({}))));
    assert_eq!((checks.run(), api.script.sent()), (vec![], 2));
    checks.drop_first();
    assert_eq!(checks.run(), [0_u16; 0]);
    api.script.answer(Ok(described(json!({}))));
    assert_eq!((checks.run(), api.script.sent()), (vec![200; 8], 2));
}

/// RSC-15: nobody waits for the next request while the first one is open.
#[tokio::test]
async fn a_request_in_progress_is_waited_for_whoever_hangs_up() {
    let api = open(|_| {});
    let mut first = Checks::of(&api, [TOKEN]);
    assert_eq!(first.run(), [0_u16; 0]);
    for _ in 0..3 {
        let mut gone = Checks::of(&api, [TOKEN]);
        assert_eq!((gone.run(), api.script.sent()), (vec![], 1));
    }
    let mut last = Checks::of(&api, [TOKEN]);
    assert_eq!((last.run(), api.script.sent()), (vec![], 1));
    api.script.answer(Ok(described(json!({}))));
    assert_eq!((first.run(), last.run(), api.script.sent()), (vec![200], vec![], 2));
    api.script.answer(Ok(inactive()));
    assert_eq!(last.run(), [401]);
    // A request that nobody waits for ends.
    let mut gone = Checks::of(&api, [TOKEN]);
    assert_eq!((gone.run(), api.script.sent(), api.script.open()), (vec![], 3, 1));
    drop(gone);
    assert_eq!(api.script.open(), 0);
}

/// RSC-15, RSC-08
#[tokio::test]
async fn a_shared_failure_fails_all_and_the_next_check_asks_anew() {
    let api = open(|_| {});
    let mut checks = Checks::of(&api, [TOKEN; 1000]);
    assert_eq!(checks.run(), [0_u16; 0]);
    api.script.answer(Err(FetchErrorKind::TimedOut));
    assert_eq!((checks.run(), api.script.sent()), (vec![503; 1000], 1));
    assert_eq!(api.events.take().len(), 1);
    api.script.always(Ok(described(json!({}))));
    assert_eq!((api.status(TOKEN).await, api.script.sent()), (200, 2));
}

/// RSC-08
#[tokio::test]
async fn a_silent_server_keeps_256_requests_open() {
    let api = open(|_| {});
    let tokens: Vec<_> = (0..10_000).map(|number| format!("token-{number}")).collect();
    let mut checks = Checks::of(&api, tokens.iter().map(String::as_str));
    assert_eq!(checks.run(), vec![503; 10_000 - 256]);
    assert_eq!((api.script.sent(), api.script.open()), (256, 256));
    // More checks of the same tokens wait with them; no place is free.
    let mut more = Checks::of(&api, ["token-0", "token-1", "one-more"]);
    assert_eq!(more.run(), [503]);
    // The transport ends each request after 2 s.
    for _ in 0..256 {
        api.script.answer(Err(FetchErrorKind::TimedOut));
    }
    assert_eq!((checks.run(), more.run()), (vec![503; 256], vec![503; 2]));
    assert_eq!((api.script.sent(), api.script.open()), (256, 0));
    api.script.always(Ok(described(json!({}))));
    for token in &tokens {
        assert_eq!(api.status(token).await, 200);
    }
}

/// RSC-08: a caller that hangs up frees the place of its request.
#[tokio::test]
async fn a_dropped_check_frees_its_place() {
    let api = open(|_| {});
    let tokens: Vec<_> = (0..256).map(|number| format!("token-{number}")).collect();
    let mut checks = Checks::of(&api, tokens.iter().map(String::as_str));
    assert_eq!(checks.run(), [0_u16; 0]);
    assert_eq!(Checks::of(&api, ["one-more"]).run(), [503]);
    checks.drop_first();
    let mut more = Checks::of(&api, ["one-more"]);
    assert_eq!((more.run(), api.script.open()), (vec![], 256));
}
