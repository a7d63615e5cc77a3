//! The bounds of a grant's record: live pairs, pairs in grace, octets.

use grantor::Profile;
use grantor::wire::Response;

use crate::grant_states::record;
use crate::world::{Pair, World, e400, error_body, form, ok, pair, public_form};

const LIVE_PAIRS: usize = 128;
const PAIRS_IN_GRACE: usize = 256;
const PAIRS_IN_GRACE_AT_MOST: usize = 1024;
/// More than the record keeps of one pair.
const PAIR_OCTETS: usize = 100;

/// D-11
#[tokio::test]
async fn one_live_pair_too_many_supersedes_the_oldest() {
    let world = World::platform().await;
    let first = world.pair().await;
    let mut live = vec![pair(&world.refresh(&first.refresh).await)];
    for _ in 1..LIVE_PAIRS {
        live.push(pair(&world.refresh(&first.refresh).await));
    }
    assert!(!world.events.saw("OldestPairSuperseded"), "there is room for {LIVE_PAIRS}");
    world.advance(100);
    let one_more = pair(&world.refresh(&first.refresh).await);
    let events = world.events.take();
    assert_eq!(events.iter().filter(|event| event.starts_with("OldestPairSuperseded")).count(), 1);
    // All work on, the oldest for its grace.
    for token in live.iter().chain([&one_more]) {
        assert!(world.opens(&token.access).await);
    }
    world.advance(299);
    assert!(world.opens(&live[0].access).await);
    ok(&world.refresh(&live[0].refresh).await);
    assert!(world.events.saw("RefreshedInGrace"));
    world.advance(1);
    assert!(!world.opens(&live[0].access).await);
    e400(&world.refresh(&live[0].refresh).await, "invalid_grant");
    ok(&world.refresh(&live[2].refresh).await);
    assert!(world.events.saw("Refreshed {"));
}

/// D-11
#[tokio::test]
async fn superseding_the_oldest_ends_no_grace() {
    // In the strict profile a refresh with a newer token would; this is none.
    let world = World::strict().await;
    let first = world.pair().await;
    for number in 0..LIVE_PAIRS + 20 {
        let response = world.refresh(&first.refresh).await;
        assert_eq!(response.status(), 200, "refresh {number}");
    }
    assert!(world.events.saw("OldestPairSuperseded"));
    assert!(world.opens(&first.access).await);
}

/// A chain of first refreshes with so many pairs in grace at its end.
async fn chain(world: &World, first: &Pair, in_grace: usize) -> Pair {
    let mut newest = first.clone();
    for _ in 0..in_grace {
        newest = pair(&world.refresh(&newest.refresh).await);
    }
    newest
}

/// 429 with the seconds to wait.
#[track_caller]
fn too_many(response: &Response, retry_after: &str) {
    assert_eq!(response.status(), 429, "{}", String::from_utf8_lossy(response.body()));
    assert_eq!(response.header("Retry-After"), Some(retry_after));
    assert_eq!(response.header("Cache-Control"), Some("no-store"));
    error_body(response, "temporarily_unavailable");
}

/// D-11
#[tokio::test]
async fn a_first_refresh_waits_while_too_many_pairs_are_in_grace() {
    let world = World::platform().await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    world.advance(100);
    let newest = chain(&world, &second, PAIRS_IN_GRACE - 1).await;
    let before = record(&world).await.encode();
    too_many(&world.refresh(&newest.refresh).await, "200");
    assert_eq!(record(&world).await.encode(), before);
    assert!(world.opens(&newest.access).await && world.opens(&first.access).await);
    // Nobody in grace waits.
    let sibling = pair(&world.refresh(&first.refresh).await);
    ok(&world.refresh(&second.refresh).await);
    too_many(&world.refresh(&sibling.refresh).await, "200");
    world.advance(199);
    too_many(&world.refresh(&newest.refresh).await, "1");
    world.advance(1);
    let next = pair(&world.refresh(&newest.refresh).await);
    too_many(&world.refresh(&next.refresh).await, "100");
    world.advance(100);
    ok(&world.refresh(&next.refresh).await);
    ok(&world.refresh(&sibling.refresh).await);
}

/// D-11
#[tokio::test]
async fn the_record_is_bounded_in_every_profile_whoever_refreshes_how() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        for form in [form(), public_form()] {
            let world = World::with(profile, |_| {}).await;
            let client = world.register(form).await;
            let mut newest = world.pair_of(&client).await;
            // Those of the first round are in the margin when those of the second are in grace.
            for round in 1..=2 {
                let mut refreshes = 0;
                let refused = loop {
                    let response = world.refresh_as(&client, &newest.refresh).await;
                    if response.status() != 200 {
                        break response;
                    }
                    newest = pair(&response);
                    refreshes += 1;
                    assert!(refreshes <= PAIRS_IN_GRACE, "{profile:?}: the record grows without end");
                };
                assert_eq!(refreshes, PAIRS_IN_GRACE, "{profile:?}");
                let grace = world.server.config().grace.access_token;
                too_many(&refused, &grace.whole_seconds().to_string());
                let size = record(&world).await.encode().len();
                assert!(size < (round * PAIRS_IN_GRACE + 10) * PAIR_OCTETS, "{profile:?}: {size} octets");
                world.advance(grace.whole_seconds());
            }
            ok(&world.refresh_as(&client, &newest.refresh).await);
        }
    }
}

/// D-11
#[tokio::test]
async fn uses_in_grace_go_on_up_to_the_bound_of_the_record() {
    let world = World::platform().await;
    let first = world.pair().await;
    let mut honoured = 0;
    let refused = loop {
        let response = world.refresh(&first.refresh).await;
        if response.status() != 200 {
            break response;
        }
        honoured += 1;
        assert!(honoured <= LIVE_PAIRS + PAIRS_IN_GRACE_AT_MOST, "the record grows without end");
    };
    // The first pair is in grace itself; every use beyond the live pairs puts one more there.
    assert_eq!(honoured, LIVE_PAIRS + PAIRS_IN_GRACE_AT_MOST - 1);
    too_many(&refused, "300");
    let size = record(&world).await.encode().len();
    assert!(size < (LIVE_PAIRS + PAIRS_IN_GRACE_AT_MOST + 10) * PAIR_OCTETS, "{size} octets");
    assert!(world.opens(&first.access).await, "nothing was taken from anybody");
}
