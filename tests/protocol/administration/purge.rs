//! Records are removed an hour after they expire, grants only when a late exchange is impossible.

use std::time::Duration;

use grantor::client::GrantTypes;
use grantor::config::Profile;
use grantor::store::{Grant, Purge, Record, RecordStore, RevocationReason, Store};
use grantor::{Config, Decision};

use support::world::{PKCE, SESSION, With as _, World, e400, empty, form, ok, pair};

const HOUR: u64 = 3600;
/// Shorter than the lifetime of a code, so that a decision makes the record last longer.
const HOLD_LIFE: u64 = 60;
const CODE_LIFE: u64 = 600;
const REFRESH_LIFE: u64 = 15_552_000;

async fn world() -> World {
    World::with(Profile::Platform, |config| config.authorization.hold_lifetime = Duration::from_secs(HOLD_LIFE)).await
}

async fn purge(world: &World, limit: usize) -> Purge {
    world.purge(limit).await
}

/// Returns how many authorizations and grants are stored.
async fn stored(world: &World) -> (usize, usize) {
    (world.store.authorization_count().await, world.store.grant_count().await)
}

/// Asserts that a purge removes the record after exactly `seconds`, and not a second earlier.
async fn goes_after(world: &World, seconds: u64, kept: (usize, usize), left: (usize, usize)) {
    world.advance(seconds - 1);
    let early = purge(world, 100).await;
    assert_eq!((early.removed(), early.is_finished(), stored(world).await), (0, true, kept));
    world.advance(1);
    let removed = kept.0 + kept.1 - left.0 - left.1;
    let due = purge(world, 100).await;
    assert_eq!((due.removed(), due.is_finished(), stored(world).await), (removed, true, left));
}

/// D-07, D-31
#[tokio::test]
async fn an_authorization_is_kept_until_an_hour_after_its_end() {
    let world = world().await;
    let hold = async || {
        let pending = world.authorize(&world.query(&PKCE)).await.unwrap();
        world.server.hold(&pending, &world.alice, SESSION).await.unwrap()
    };
    hold().await;
    goes_after(&world, HOLD_LIFE + HOUR, (1, 0), (0, 0)).await;

    let handle = hold().await;
    world.advance(10);
    let _ = world.server.decide(handle.expose(), &world.alice, SESSION, &Decision::Deny).await.unwrap();
    goes_after(&world, HOLD_LIFE + HOUR - 10, (1, 0), (0, 0)).await;

    world.code().await;
    goes_after(&world, CODE_LIFE + HOUR, (1, 0), (0, 0)).await;
}

/// D-07
#[tokio::test]
async fn the_replay_of_a_code_is_noticed_as_long_as_it_is_kept() {
    let world = world().await;
    let code = world.code().await;
    let live = pair(&world.exchange(&code).await);
    world.advance(CODE_LIFE + HOUR - 1);
    assert_eq!(purge(&world, 100).await.removed(), 0);
    e400(&world.exchange(&code).await, "invalid_grant");
    assert!(world.events.saw("CodeReplayed"));
    e400(&world.refresh(&live.refresh).await, "invalid_grant");

    let code = world.code().await;
    let live = pair(&world.exchange(&code).await);
    world.advance(CODE_LIFE + HOUR);
    // The two codes, and the grant that the replay revoked, unless a fail-over may undo the revocation.
    let removed = if world.store.reads_settled() { 3 } else { 2 };
    assert_eq!(purge(&world, 100).await.removed(), removed);
    e400(&world.exchange(&code).await, "invalid_grant");
    assert!(!world.events.saw("CodeReplayed"));
    ok(&world.refresh(&live.refresh).await);
}

/// D-07, D-12
#[tokio::test]
async fn a_grant_is_kept_until_an_hour_after_its_last_end() {
    let world = world().await;
    let live = world.pair().await;
    world.advance(CODE_LIFE + HOUR);
    assert_eq!(purge(&world, 100).await.removed(), 1);
    goes_after(&world, REFRESH_LIFE - CODE_LIFE, (0, 1), (0, 0)).await;
    e400(&world.refresh(&live.refresh).await, "invalid_grant");

    // The grant was refreshed, so the newest token decides.
    let first = world.pair().await;
    world.advance(CODE_LIFE + HOUR);
    assert_eq!(purge(&world, 100).await.removed(), 1);
    let second = pair(&world.refresh(&first.refresh).await);
    world.advance(REFRESH_LIFE);
    assert_eq!((purge(&world, 100).await.removed(), stored(&world).await), (0, (0, 1)));
    goes_after(&world, HOUR, (0, 1), (0, 0)).await;
    e400(&world.refresh(&second.refresh).await, "invalid_grant");
}

/// D-07, LIM-08
#[tokio::test]
async fn a_revoked_grant_goes_two_hours_after_its_code() {
    let world = world().await;
    let code_only = world.register(form().with(|form| form.grant_types = GrantTypes::CODE_ONLY)).await;
    let revoked = world.pair().await;
    empty(&world.revoke(&revoked.refresh).await);
    world.pair_of(&code_only).await;
    let killed = world.code().await;
    // A code that was revoked before its exchange leaves a grant without tokens.
    assert_eq!(world.server.revoke_subject(&world.alice).await.unwrap(), 2);
    world.advance(CODE_LIFE + HOUR);
    assert_eq!((purge(&world, 100).await.removed(), stored(&world).await), (3, (0, 3)));
    goes_after(&world, HOUR, (0, 3), (0, 0)).await;
    world.events.take();
    e400(&world.refresh(&revoked.refresh).await, "invalid_grant");
    e400(&world.exchange(&killed).await, "invalid_grant");
    let events = world.events.take();
    assert!(events.iter().all(|event| event.starts_with("Refused")), "{events:?}");
}

/// LIM-08
#[tokio::test]
async fn a_grant_that_was_revoked_late_goes_with_the_next_purge() {
    for retention in [0, 7 * 86_400] {
        let kept = Duration::from_secs(retention);
        let world = World::with(Profile::Platform, |config| config.revocation.retention = kept).await;
        // If a fail-over may undo the revocation, a retry within two hours still finds the record to confirm.
        let kept_for = if world.store.reads_settled() { retention } else { retention.max(2 * HOUR) };
        let first = world.pair().await;
        world.advance(CODE_LIFE + 2 * HOUR);
        assert_eq!(purge(&world, 100).await.removed(), 1);
        assert_eq!(stored(&world).await, (0, 1));
        world.advance(30 * 86_400);
        let second = pair(&world.refresh(&first.refresh).await);
        empty(&world.revoke(&second.refresh).await);
        // A repeated revocation gets the same response.
        empty(&world.revoke(&second.refresh).await);
        if kept_for > 0 {
            goes_after(&world, kept_for, (0, 1), (0, 0)).await;
        } else {
            assert_eq!((purge(&world, 100).await.removed(), stored(&world).await), (1, (0, 0)));
        }
        e400(&world.refresh(&second.refresh).await, "invalid_grant");
        empty(&world.revoke(&second.refresh).await);
        assert!(!world.events.saw("RefreshTokenReused"));
    }
}

/// LIM-08
#[tokio::test]
async fn a_revoked_grant_keeps_no_tokens_and_no_lists() {
    let world = world().await;
    let mut live = world.pair().await;
    let id = world.access(&live.access).await.unwrap().grant().unwrap();
    for _ in 0..20 {
        live = pair(&world.refresh(&live.refresh).await);
    }
    let find = async || RecordStore::<Grant>::find(&world.store, &id).await.unwrap().unwrap();
    assert!(find().await.encode().len() > 2000);
    assert!(world.server.revoke_grant(id, &world.alice).await.unwrap());
    let revoked = find().await;
    assert!(revoked.encode().len() < 160, "{}", revoked.encode().len());
    assert!(revoked.scopes().is_empty());
    assert_eq!(revoked.revoked().unwrap().reason, RevocationReason::RevokedByUser);
    for token in [&live.refresh, &live.access] {
        empty(&world.revoke(token).await);
    }
    assert_eq!(*find().await, *revoked);
}

/// D-07, LIM-08
#[tokio::test]
async fn a_grant_of_short_lived_tokens_keeps_its_place() {
    let short = |config: &mut Config| {
        config.authorization.hold_lifetime = Duration::from_secs(HOLD_LIFE);
        config.tokens.access_lifetime = Duration::from_secs(300);
        config.tokens.refresh_lifetime = Duration::from_secs(400);
    };
    let world = World::with(Profile::Platform, short).await;
    world.pair().await;
    world.advance(CODE_LIFE + HOUR);
    assert_eq!(purge(&world, 100).await.removed(), 1);
    goes_after(&world, HOUR, (0, 1), (0, 0)).await;
}

/// D-07
#[tokio::test]
async fn a_purge_is_bounded_and_goes_on_where_it_stopped() {
    let world = world().await;
    for _ in 0..10 {
        world.pair().await;
    }
    world.advance(CODE_LIFE + HOUR);
    let alive = world.pair().await;
    for (limit, removed, finished, left) in
        [(0, 0, false, 11), (4, 4, false, 7), (4, 4, false, 3), (4, 2, true, 1), (4, 0, true, 1)]
    {
        let step = purge(&world, limit).await;
        assert_eq!((step.removed(), step.is_finished()), (removed, finished), "{limit}");
        assert_eq!(stored(&world).await, (left, 11), "{limit}");
    }
    assert!(world.opens(&alive.access).await);
}

/// D-07
#[tokio::test]
async fn a_purge_does_not_walk_over_what_is_alive() {
    let world = world().await;
    world.code().await;
    world.advance(CODE_LIFE + HOUR);
    for _ in 0..50 {
        world.pair().await;
    }
    assert_eq!((purge(&world, 1).await.removed(), stored(&world).await), (1, (50, 50)));
    // A store may read no more records than it was allowed to, so only the next step reports the end.
    let step = purge(&world, 1).await;
    assert_eq!((step.removed(), step.is_finished(), stored(&world).await), (0, true, (50, 50)));
}

/// D-07
#[tokio::test]
async fn what_is_removed_is_in_no_list() {
    let world = world().await;
    world.pair().await;
    world.code().await;
    world.advance(CODE_LIFE + HOUR + REFRESH_LIFE);
    assert_eq!(purge(&world, 100).await.removed(), 3);
    assert!(world.server.grants_of(&world.alice).await.unwrap().is_empty());
    assert_eq!(world.server.revoke_subject(&world.alice).await.unwrap(), 0);
    assert_eq!(stored(&world).await, (0, 0));
}
