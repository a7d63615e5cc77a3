//! The bounds of a grant's record: pairs in grace, bytes.

use std::time::Duration;

use grantor::config::Profile;
use grantor::store::Record;
use grantor::wire::Response;

use crate::grant_states::record;
use support::world::{Pair, World, error_body, ok, pair};

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
    assert!(before.encode().len() < (PAIRS_IN_GRACE + 10) * PAIR_BYTES, "{}", before.encode().len());
    assert!(world.opens(&newest.access).await && world.opens(&first.access).await);
    // Every token in grace still leads to the newest pair, even across 64 links.
    for old in [&first, &second] {
        assert_eq!(pair(&world.refresh(&old.refresh).await), newest);
    }
    // A further access token needs no room for another pair.
    let reduce = [("grant_type", "refresh_token"), ("refresh_token", &first.refresh), ("scope", "repo-code:r")];
    let further = pair(&world.token(&reduce).client(&world.client).send().await);
    assert_eq!((&*further.scope, &further.refresh), ("repo-code:r", &newest.refresh));
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
