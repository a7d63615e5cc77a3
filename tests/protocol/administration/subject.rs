//! Everything of a user at once: after a logout, a new password, a deleted account.

use std::collections::BTreeSet;

use grantor::config::Profile;
use grantor::store::{Authorization, Grant, Record, RecordStore, RevocationReason};
use grantor::{Consent, Decision, Subject};

use support::world::{PKCE, SESSION, World, code, e400, form, ok, pair, text, wa};

async fn held(world: &World, subject: &Subject) -> String {
    let pending = world.authorize(&world.query(&PKCE)).await.unwrap();
    world.server.hold(&pending, subject, SESSION).await.unwrap().expose().to_owned()
}

fn agreed() -> Decision {
    Decision::Approve(Consent::to_everything())
}

/// Returns a code for that user.
async fn code_of(world: &World, subject: &Subject) -> String {
    let handle = held(world, subject).await;
    text(&code(&world.server.decide(&handle, subject, SESSION, &agreed()).await.unwrap()), "code")
}

/// 9700-4.14.2-04, 6749-6-07
#[tokio::test]
async fn everything_of_a_user_is_withdrawn_and_nothing_of_others() {
    let world = World::platform().await;
    let alice = &world.alice;
    let bob = Subject::new("bob").unwrap();
    let other_client = world.register(form()).await;
    let old = world.pair().await;
    let new = pair(&world.refresh(&old.refresh).await);
    let elsewhere = world.pair_of(&other_client).await;
    let waiting = held(&world, alice).await;
    let unredeemed = world.code().await;
    let of_bob = pair(&world.exchange(&code_of(&world, &bob).await).await);
    let (code_of_bob, waiting_of_bob) = (code_of(&world, &bob).await, held(&world, &bob).await);
    world.events.take();

    // Two grants, a code, and a consent request.
    assert_eq!(world.server.revoke_subject(alice).await.unwrap(), 4);
    let events = world.events.take();
    let revoked = events.iter().filter(|event| event.starts_with("GrantRevoked"));
    assert!(revoked.clone().count() == 2 && revoked.clone().all(|event| event.contains("SubjectRevoked")));
    for pair in [&old, &new] {
        wa(world.access(&pair.access).await.unwrap_err(), 401, "invalid_token");
        e400(&world.refresh(&pair.refresh).await, "invalid_grant");
    }
    assert!(!world.opens(&elsewhere.access).await);
    e400(&world.refresh_as(&other_client, &elsewhere.refresh).await, "invalid_grant");
    e400(&world.exchange(&unredeemed).await, "invalid_grant");
    let refused = world.server.decide(&waiting, alice, SESSION, &agreed()).await.unwrap_err();
    let response = refused.response(Some(alice));
    assert_eq!((response.status(), response.header("Location")), (400, None));
    assert!(world.server.grants_of(alice).await.unwrap().is_empty());
    // A code that was never used is not reported as a replay, nor a withdrawn token as reuse.
    let events = world.events.take();
    assert!(!events.iter().any(|event| event.starts_with("CodeReplayed") || event.starts_with("RefreshTokenReused")));

    assert!(world.opens(&of_bob.access).await);
    ok(&world.refresh(&of_bob.refresh).await);
    ok(&world.exchange(&code_of_bob).await);
    code(&world.server.decide(&waiting_of_bob, &bob, SESSION, &agreed()).await.unwrap());

    assert_eq!(world.server.revoke_subject(alice).await.unwrap(), 0);
    assert!(world.opens(&world.pair().await.access).await);
}

/// 9700-4.14.2-04
#[tokio::test]
async fn a_code_that_was_killed_stays_dead_after_its_end() {
    let world = World::platform().await;
    let code = world.code().await;
    assert_eq!(world.server.revoke_subject(&world.alice).await.unwrap(), 1);
    let revoked =
        RecordStore::<Grant>::list(&world.store, world.alice.as_str(), grantor::store::Page::first(10)).await.unwrap();
    assert_eq!(revoked.len(), 1);
    assert_eq!(revoked[0].revoked().unwrap().reason, RevocationReason::SubjectRevoked);
    world.events.take();
    for (seconds, reason) in [(0, "CodeSpent"), (599, "CodeSpent"), (1, "CodeExpired"), (3599, "CodeExpired")] {
        world.advance(seconds);
        e400(&world.exchange(&code).await, "invalid_grant");
        let events = world.events.take();
        assert!(events.len() == 1 && events[0].contains(reason), "{events:?}");
    }
    assert_eq!(world.store.grant_count().await, 1);
}

/// 9700-4.14.2-04
#[tokio::test]
async fn what_had_ended_before_is_not_counted() {
    let world = World::platform().await;
    world.pair().await;
    world.code().await;
    held(&world, &world.alice).await;
    let denied = held(&world, &world.alice).await;
    let _ = world.server.decide(&denied, &world.alice, SESSION, &Decision::Deny).await.unwrap();
    world.advance(599);
    let still_alive = world.code().await;
    world.advance(1);
    // The grant, the later code and the consent request; the first code has expired.
    assert_eq!(world.server.revoke_subject(&world.alice).await.unwrap(), 3);
    e400(&world.exchange(&still_alive).await, "invalid_grant");

    world.pair().await;
    held(&world, &world.alice).await;
    world.advance(15_552_000);
    assert_eq!(world.server.revoke_subject(&world.alice).await.unwrap(), 0);
}

/// 9700-4.14.2-04
#[tokio::test]
async fn a_request_on_the_screen_is_counted_until_its_end() {
    let world = World::platform().await;
    for (seconds, counted) in [(1799, 1), (1800, 0)] {
        held(&world, &world.alice).await;
        world.advance(seconds);
        assert_eq!(world.server.revoke_subject(&world.alice).await.unwrap(), counted, "{seconds}");
    }
}

/// 9700-4.14.2-04
#[tokio::test]
async fn grants_are_counted_when_their_codes_are_long_gone() {
    let world = World::platform().await;
    let pairs = [world.pair().await, world.pair().await];
    world.advance(3 * 3600);
    assert_eq!(world.purge(10).await.removed(), 2);
    assert_eq!(world.server.revoke_subject(&world.alice).await.unwrap(), 2);
    for pair in pairs {
        assert!(!world.opens(&pair.access).await);
    }
    assert_eq!(world.server.revoke_subject(&world.alice).await.unwrap(), 0);
}

/// 9700-4.14.2-04
#[tokio::test]
async fn a_denial_that_was_found_makes_no_version() {
    let world = World::platform().await;
    held(&world, &world.alice).await;
    let found = RecordStore::<Authorization>::list(&world.store, world.alice.as_str(), grantor::store::Page::first(10))
        .await
        .unwrap();
    let held_version = found[0].version();
    let mut versions = BTreeSet::new();
    for _ in 0..3 {
        let _ = world.server.revoke_subject(&world.alice).await.unwrap();
        let found =
            RecordStore::<Authorization>::list(&world.store, world.alice.as_str(), grantor::store::Page::first(10))
                .await
                .unwrap();
        versions.extend(found.iter().map(|record| record.version()));
        assert_eq!((found.len(), versions.len()), (1, 1));
    }
    assert!(!versions.contains(&held_version), "the first denial is written");
}

/// 9700-4.14.2-04
#[tokio::test]
async fn a_user_with_any_number_of_grants_is_withdrawn_whole() {
    let world = World::with(Profile::Platform, |config| config.limits.grants = 1000).await;
    let mut pairs = Vec::new();
    let mut codes = Vec::new();
    for _ in 0..130 {
        pairs.push(world.pair().await);
        codes.push(world.code().await);
    }
    assert_eq!(world.server.revoke_subject(&world.alice).await.unwrap(), 260);
    for (pair, code) in pairs.iter().zip(&codes) {
        assert!(!world.opens(&pair.access).await);
        e400(&world.exchange(code).await, "invalid_grant");
    }
}
