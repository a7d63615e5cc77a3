//! The future of every request may be dropped at any await: nothing acknowledged is lost or doubled.
//!
//! Each call of the store waits once before and once after its effect, and in between as often as a store that does not
//! answer at once. Each step is dropped at each of these waits, one at a time, and taken again.

use std::cell::Cell;

use grantor::application::{ApplicationFilter, LogoSlot};
use grantor::store::{Authorization, Grant, Insertion, Page, RecordStore, Replacement};
use grantor::{Application, Timestamp};

use crate::scene::{Kind, Scene, strict_public};
use crate::waiting::{Waiting, dropped_after};
use support::intercepted::over;
use support::intercepted::step::{Answer, Step};
use support::world::{World, logo};

/// Drops a step at every wait, each time in a new world, and checks what is left. There is an answer if the step was
/// complete before.
async fn at_every_wait(scene: impl AsyncFn() -> Scene, look: impl AsyncFn(&Scene, Option<Answer>, &str)) {
    for wait in 1..1000 {
        let scene = scene().await;
        scene.world.events.take();
        let slow = over(&scene.world, Waiting);
        let mut answer = None;
        let is_complete = dropped_after(wait, async { answer = Some(scene.step.run(&slow).await) }).await;
        settle(&scene.world).await;
        look(&scene, answer, &format!("{:?}, dropped at wait {wait}", scene.step)).await;
        if is_complete {
            assert!(wait > 2, "the step never waited");
            return;
        }
    }
    panic!("the step never ended");
}

/// Drops a step of each kind, which must then be done by the next one.
async fn each_is_done_by_the_next_one(kinds: &[Kind], world: impl AsyncFn() -> World) {
    for kind in kinds {
        let scene = async || Scene::of(world().await, *kind).await;
        at_every_wait(scene, async |scene, answer, case| {
            let Some(answer) = answer else { return scene.again(*kind, case).await };
            if matches!(scene.step, Step::Refresh(_) | Step::Reduce(_)) {
                let again = scene.step.run(&scene.world).await.pair();
                assert_eq!(answer.clone().pair().refresh, again.refresh, "{case}: one line");
                assert!(!scene.world.events.saw("RefreshTokenReused"), "{case}");
            }
            scene.holds(answer.good(), case).await;
        })
        .await;
    }
}

/// Waits for a write that may still be under way, by one write of each kind that changes nothing: a store executes
/// writes of one kind in order.
async fn settle(world: &World) {
    let World { store, alice, .. } = world;
    let id = world.client.client_id();
    let application = RecordStore::<Application>::find(store, &id).await.unwrap().unwrap();
    let other = application.version().wrapping_add(1);
    assert_eq!(RecordStore::<Application>::insert(store, application.clone()).await.unwrap(), Insertion::Exists);
    assert_eq!(RecordStore::<Application>::replace(store, other, application).await.unwrap(), Replacement::Lost);

    let authorization =
        RecordStore::<Authorization>::list(store, alice.as_str(), Page::first(1)).await.unwrap().remove(0);
    assert_eq!(RecordStore::<Authorization>::insert(store, authorization.clone()).await.unwrap(), Insertion::Exists);
    assert_eq!(RecordStore::<Authorization>::replace(store, u32::MAX, authorization).await.unwrap(), Replacement::Lost);
    let grant = RecordStore::<Grant>::list(store, alice.as_str(), Page::first(1)).await.unwrap().remove(0);
    assert_eq!(RecordStore::<Grant>::insert(store, grant.clone()).await.unwrap(), Insertion::Exists);
    assert_eq!(RecordStore::<Grant>::replace(store, u32::MAX, grant).await.unwrap(), Replacement::Lost);

    let long_ago = Timestamp::from_seconds(0);
    assert_eq!(RecordStore::<Authorization>::purge(store, long_ago, 1).await.unwrap().removed(), 0);
    assert_eq!(RecordStore::<Grant>::purge(store, long_ago, 1).await.unwrap().removed(), 0);
}

#[tokio::test]
async fn a_dropped_step_took_effect_or_can_be_taken_again() {
    let kinds = [
        Kind::Authorize,
        Kind::Agree,
        Kind::Deny,
        Kind::Introspect,
        Kind::Authenticate,
        Kind::Submit,
        Kind::ApproveApplication,
        Kind::ChangeApplication,
        Kind::ApproveChange,
        Kind::RejectApplication,
        Kind::Suspend,
        Kind::Resume,
        Kind::RotateSecret,
        Kind::RetireSecret,
        Kind::ReadApplication,
        Kind::ListGrants,
        Kind::Purge,
    ];
    each_is_done_by_the_next_one(&kinds, World::platform).await;
}

#[tokio::test]
async fn a_dropped_hold_leaves_at_most_a_request_that_nobody_can_decide() {
    let scene = async || Scene::new(Kind::Hold).await;
    at_every_wait(scene, async |scene, answer, case| {
        assert!(scene.world.store.authorization_count().await <= 3, "{case}");
        match answer {
            Some(answer) => scene.holds(answer.good(), case).await,
            None => scene.again(Kind::Hold, case).await,
        }
    })
    .await;
}

/// A dropped exchange may have been applied: then its code is spent, and another try is a replay.
#[tokio::test]
async fn a_dropped_exchange_never_leaves_two_live_grants() {
    each_is_done_by_the_next_one(&[Kind::Exchange], World::platform).await;
    // Signing waits as well.
    each_is_done_by_the_next_one(&[Kind::Exchange], World::with_jwts).await;
}

/// With the newest token, and with an old one in its grace: for the newest pair, which only reads, and for another
/// scope, which writes.
#[tokio::test]
async fn a_dropped_refresh_may_be_tried_again_within_the_grace() {
    let kinds = [Kind::Refresh, Kind::RefreshInGrace, Kind::ReduceInGrace];
    each_is_done_by_the_next_one(&kinds, World::platform).await;
    each_is_done_by_the_next_one(&kinds, World::with_jwts).await;
}

#[tokio::test]
async fn a_dropped_revocation_is_done_by_the_next_one() {
    let kinds = [
        Kind::RevokeRefreshToken,
        Kind::RevokeAccessToken,
        Kind::WithdrawGrant,
        Kind::WithdrawClient,
        Kind::WithdrawApplication,
        Kind::WithdrawSubject,
    ];
    each_is_done_by_the_next_one(&kinds, World::platform).await;
}

/// Without grace, a refresh that was applied and never answered looks like a stolen token.
#[tokio::test]
async fn without_grace_a_dropped_refresh_forks_nothing() {
    let (lost, open) = (Cell::new(false), Cell::new(false));
    let scene = async || Scene::of(strict_public().await, Kind::Refresh).await;
    at_every_wait(scene, async |scene, answer, case| {
        let again = scene.step.run(&scene.world).await;
        if again.is_good() {
            assert!(answer.is_none(), "{case}");
            open.set(true);
            assert_eq!(scene.world.live_grants().await, 2, "{case}");
            Step::Refresh(again.pair().refresh).run(&scene.world).await.good();
        } else {
            lost.set(true);
            assert_eq!((again.status, again.error.as_str()), (400, "invalid_grant"), "{case}");
            assert_eq!(scene.world.live_grants().await, 1, "{case}");
            assert!(!scene.world.opens(&scene.pair.access).await, "{case}");
        }
        scene.bystander_lives(case).await;
    })
    .await;
    assert!(lost.get() && open.get());
}

/// Both a replay of a code, also past its end, and the reuse of a refresh token end the scene's pair.
#[tokio::test]
async fn a_dropped_replay_or_reuse_is_noticed_later() {
    for (kind, seconds) in [(Kind::Exchange, 0), (Kind::Exchange, 600), (Kind::Refresh, 360)] {
        let (revoked, alive) = (Cell::new(false), Cell::new(false));
        let scene = async || {
            let mut scene = Scene::new(kind).await;
            scene.pair = scene.step.run(&scene.world).await.pair();
            scene.world.advance(seconds);
            scene.bystander = scene.world.pair().await;
            scene
        };
        at_every_wait(scene, async |scene, answer, case| {
            let is_refused = |answer: &Answer| (answer.status, answer.error.as_str()) == (400, "invalid_grant");
            let is_alive = scene.world.opens(&scene.pair.access).await;
            assert!(
                answer.is_none_or(|answer| is_refused(&answer) && !is_alive),
                "{case}: what was acknowledged is lost"
            );
            if is_alive { &alive } else { &revoked }.set(true);
            let before = scene.world.live_grants().await;
            assert!(is_refused(&scene.step.run(&scene.world).await), "{case}");
            assert!(!scene.world.opens(&scene.pair.access).await, "{case}");
            assert_eq!(
                Step::Refresh(scene.pair.refresh.clone()).run(&scene.world).await.error,
                "invalid_grant",
                "{case}"
            );
            assert_eq!(before - scene.world.live_grants().await, usize::from(is_alive), "{case}: of others, none");
            scene.bystander_lives(case).await;
        })
        .await;
        assert!(revoked.get() && alive.get());
    }
}

#[tokio::test]
async fn a_dropped_submission_is_whole_or_not_there() {
    let scene = async || Scene::new(Kind::Submit).await;
    at_every_wait(scene, async |scene, _, case| {
        let registrar = scene.world.server.registrar().unwrap();
        let waiting = registrar.list(&ApplicationFilter::AwaitingReview, Page::first(10)).await.unwrap();
        assert!(waiting.len() <= 1, "{case}");
        for waiting in waiting {
            assert_eq!(
                registrar.logo(waiting.id(), LogoSlot::InForce).await.unwrap().as_deref(),
                Some(&logo()),
                "{case}"
            );
            Step::ApproveApplication(waiting.id().clone()).run(&scene.world).await.good();
        }
    })
    .await;
}

#[tokio::test]
async fn a_dropped_purge_removes_what_has_expired_or_leaves_it() {
    let scene = async || {
        let world = World::platform().await;
        for _ in 0..3 {
            world.code().await;
            Step::Hold.run(&world).await.good();
        }
        world.advance(1800 + 3600);
        Scene::of(world, Kind::Purge).await
    };
    at_every_wait(scene, async |scene, _, case| {
        let store = &scene.world.store;
        assert!((2..=8).contains(&store.authorization_count().await), "{case}");
        assert_eq!((store.grant_count().await, scene.world.live_grants().await), (2, 2), "{case}");
        scene.step.run(&scene.world).await.good();
        // The two codes that were exchanged ended under an hour ago.
        assert_eq!(store.authorization_count().await, 2, "{case}");
        assert!(scene.world.opens(&scene.pair.access).await, "{case}");
        scene.bystander_lives(case).await;
    })
    .await;
}
