//! The bounds of a grant's record: pairs in grace, bytes.

use std::time::Duration;

use grantor::config::Profile;
use grantor::store::Record;
use grantor::wire::Response;

use crate::grant_states::record;
use support::world::{Pair, World, e400, error_body, form, ok, pair, public_form};

const PAIRS_IN_GRACE: usize = 64;
/// An upper bound for what the record keeps of one pair.
const PAIR_BYTES: usize = 120;

/// Refreshes in a chain until this many pairs are in grace.
async fn chain(world: &World, first: &Pair, in_grace: usize) -> Pair {
    let mut newest = first.clone();
    for _ in 0..in_grace {
        newest = pair(&world.refresh(&newest.refresh).await);
    }
    newest
}

/// Asserts a 429 response with the seconds to wait.
#[track_caller]
fn too_many(response: &Response, retry_after: &str) {
    assert_eq!(response.status(), 429, "{}", String::from_utf8_lossy(response.body()));
    assert_eq!(response.header("Retry-After"), Some(retry_after));
    assert_eq!(response.header("Cache-Control"), Some("no-store"));
    error_body(response, "temporarily_unavailable");
}

/// D-11
#[tokio::test]
async fn a_refresh_waits_while_64_pairs_are_in_grace() {
    let world = World::platform().await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    world.advance(100);
    let newest = chain(&world, &second, PAIRS_IN_GRACE - 1).await;
    let before = record(&world).await;
    too_many(&world.refresh(&newest.refresh).await, "200");
    assert_eq!(record(&world).await, before);
    assert!(world.opens(&newest.access).await && world.opens(&first.access).await);
    // Every token in grace still leads to the newest pair, even across 64 links.
    for old in [&first, &second] {
        assert_eq!(pair(&world.refresh(&old.refresh).await), newest);
    }
    // To the exact second.
    world.advance(199);
    too_many(&world.refresh(&newest.refresh).await, "1");
    world.advance(1);
    let next = pair(&world.refresh(&newest.refresh).await);
    too_many(&world.refresh(&next.refresh).await, "100");
    world.advance(99);
    too_many(&world.refresh(&next.refresh).await, "1");
    world.advance(1);
    ok(&world.refresh(&next.refresh).await);
    assert!(!world.events.saw("RefreshTokenReused"));
}

/// D-11
#[tokio::test]
async fn a_use_in_grace_needs_no_room_for_another_pair() {
    let world = World::platform().await;
    let first = world.pair().await;
    let newest = chain(&world, &first, PAIRS_IN_GRACE).await;
    let reduce = [("grant_type", "refresh_token"), ("refresh_token", &first.refresh), ("scope", "repo-code:r")];
    too_many(&world.refresh(&newest.refresh).await, "300");
    let further = pair(&world.token(&reduce).client(&world.client).send().await);
    assert_eq!((&*further.scope, &further.refresh), ("repo-code:r", &newest.refresh));
    assert_eq!(pair(&world.refresh(&first.refresh).await), newest);
}

/// D-11
#[tokio::test]
async fn the_record_is_bounded_in_every_profile() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        for form in [form(), public_form()] {
            let world = World::with(profile, |_| {}).await;
            let client = world.register(form).await;
            let mut newest = world.pair_of(&client).await;
            // Pairs of the first round are still retained when those of the second are in grace.
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
                let grace = world.server.config().refresh.access_token_grace;
                too_many(&refused, &grace.as_secs().to_string());
                let size = record(&world).await.encode().len();
                assert!(size < (round * PAIRS_IN_GRACE + 10) * PAIR_BYTES, "{profile:?}: {size} bytes");
                world.advance(grace.as_secs());
            }
            ok(&world.refresh_as(&client, &newest.refresh).await);
        }
    }
}

/// D-11
#[tokio::test]
async fn uses_in_grace_leave_the_record_as_it_is() {
    let world = World::platform().await;
    let first = world.pair().await;
    let second = pair(&world.refresh(&first.refresh).await);
    let before = record(&world).await;
    for _ in 0..2000 {
        assert_eq!(pair(&world.refresh(&first.refresh).await), second);
    }
    assert_eq!(record(&world).await, before);
    world.advance(300);
    e400(&world.refresh(&first.refresh).await, "invalid_grant");
}

/// D-11
/// Without a grace, pairs are only retained; they are bounded too.
#[tokio::test]
async fn retained_pairs_are_bounded() {
    let world = World::with(Profile::Platform, |config| {
        config.refresh.access_token_grace = Duration::ZERO;
        config.refresh.grace = Duration::ZERO;
    })
    .await;
    let first = world.pair().await;
    let newest = chain(&world, &first, 2 * PAIRS_IN_GRACE).await;
    too_many(&world.refresh(&newest.refresh).await, "60");
    assert!(record(&world).await.encode().len() < (2 * PAIRS_IN_GRACE + 10) * PAIR_BYTES);
    world.advance(59);
    too_many(&world.refresh(&newest.refresh).await, "1");
    world.advance(1);
    ok(&world.refresh(&newest.refresh).await);
    assert!(!world.events.saw("RefreshTokenReused"));
}
