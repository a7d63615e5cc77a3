//! Refreshes against each other and against everything that revokes.

use grantor::id::GrantId;

use crate::interleavings::explore::{Answers, Move, Scene, Waits, each, in_every_order, in_every_order_where};
use support::intercepted::step::{Answer, NARROWER, Step};
use support::world::{Pair, World, public_form};

/// A scene about a pair of tokens, with a refresh and another step.
async fn with(world: World, other: impl AsyncFn(&World, &Pair) -> Step) -> Scene {
    let pair = world.pair().await;
    let other = other(&world, &pair).await;
    let tasks = each([Step::Refresh(pair.refresh.clone()), other]);
    Scene { world, tasks, pair, pairs_made: 1 }
}

pub(crate) async fn without_grace() -> World {
    let no_grace = |config: &mut grantor::Config| config.refresh.grace = std::time::Duration::ZERO;
    let mut world = World::with(grantor::config::Profile::Strict, no_grace).await;
    world.client = world.register(public_form()).await;
    world
}

async fn grant(world: &World, pair: &Pair) -> GrantId {
    world.access(&pair.access).await.unwrap().grant().unwrap()
}

#[test]
fn two_refreshes_bring_one_pair_where_there_is_grace() {
    for reads_settled in [true, false] {
        in_every_order_where(
            reads_settled,
            "refresh, refresh",
            Waits::CodesAndTokens,
            async || with(World::platform().await, async |_, pair| Step::Refresh(pair.refresh.clone())).await,
            async |scene, answers| {
                let given: Vec<_> = answers.iter().flatten().map(|answer| answer.clone().pair()).collect();
                assert_eq!(given[0], given[1], "{answers:?}");
                let events = scene.world.events.take();
                let count = |name: &str| events.iter().filter(|event| event.starts_with(name)).count();
                assert_eq!((count("Refreshed {"), count("RefreshedInGrace {")), (1, 1), "one rotated: {events:?}");
                assert!(scene.is_one_line(answers).await, "{answers:?}");
                scene.world.advance(300);
                assert!(!scene.world.opens(&scene.pair.access).await);
            },
        );
    }
}

/// The first of the two rotates, and the other one gets one more access token beside the new pair.
#[test]
fn two_refreshes_for_different_scopes_bring_one_pair_and_one_more_access_token() {
    for reads_settled in [true, false] {
        in_every_order_where(
            reads_settled,
            "refresh, smaller refresh",
            Waits::CodesAndTokens,
            async || with(World::platform().await, async |_, pair| Step::Reduce(pair.refresh.clone())).await,
            async |scene, answers| {
                let [whole, reduce] = [answers[0][0].clone().pair(), answers[1][0].clone().pair()];
                assert!(whole.access != reduce.access && whole.refresh == reduce.refresh, "{answers:?}");
                assert_eq!((reduce.scope.as_str(), whole.scope.contains(' ')), (NARROWER, true));
                assert!(scene.is_one_line(answers).await, "{answers:?}");
            },
        );
    }
}

/// The strict profile ends graces with the next refresh; another try of a client is not reported as reuse.
#[test]
fn honest_retries_are_never_accused_where_a_refresh_ends_earlier_graces() {
    in_every_order(
        "refresh, smaller refresh, strict",
        Waits::CodesAndTokens,
        async || with(World::strict().await, async |_, pair| Step::Reduce(pair.refresh.clone())).await,
        async |scene, answers| {
            assert!(answers.iter().flatten().all(Answer::is_good), "{answers:?}");
            let events = scene.world.events.take();
            assert!(events.iter().all(|event| !event.starts_with("RefreshTokenReused")), "{events:?}");
            assert_eq!(scene.world.live_grants().await, 1);
        },
    );
}

/// One worker continues with its new pair, another presents the first token.
#[test]
fn a_chain_of_refreshes_and_a_late_one_are_one_line() {
    for reads_settled in [true, false] {
        in_every_order_where(
            reads_settled,
            "refresh and another, refresh",
            Waits::CodesAndTokens,
            async || {
                let mut scene =
                    with(World::platform().await, async |_, pair| Step::Refresh(pair.refresh.clone())).await;
                scene.tasks[0].push(Move::RefreshGiven);
                scene
            },
            async |scene, answers| {
                let last = answers[0][1].clone().pair();
                assert!([&answers[0][0], &answers[0][1]].iter().any(|answer| answer.pair == answers[1][0].pair));
                assert!(scene.is_one_line(answers).await, "{answers:?}");
                assert_eq!(Step::Refresh(scene.pair.refresh.clone()).run(&scene.world).await.status, 200);
                assert!(scene.is_live(&last).await, "{answers:?}");
            },
        );
    }
}

/// Refreshes with both refresh tokens of one line at once.
#[test]
fn an_old_and_the_newest_token_at_once_bring_one_line() {
    in_every_order_where(
        false,
        "refresh with the old and with the newest token",
        Waits::CodesAndTokens,
        async || {
            let world = World::platform().await;
            let old = world.pair().await;
            let pair = Step::Refresh(old.refresh.clone()).run(&world).await.pair();
            let tasks = each([Step::Refresh(old.refresh), Step::Refresh(pair.refresh.clone())]);
            Scene { world, tasks, pair, pairs_made: 2 }
        },
        async |scene, answers| {
            let [by_old, by_newest] = [answers[0][0].clone().pair(), answers[1][0].clone().pair()];
            assert!(by_old == by_newest || by_old == scene.pair, "{answers:?}");
            assert!(scene.is_one_line(answers).await, "{answers:?}");
        },
    );
}

#[test]
fn two_refreshes_bring_one_pair_where_there_is_no_grace_and_the_second_ends_it() {
    in_every_order(
        "refresh, refresh, without grace",
        Waits::CodesAndTokens,
        async || with(without_grace().await, async |_, pair| Step::Refresh(pair.refresh.clone())).await,
        async |scene, answers| {
            let given: Vec<_> = answers.iter().flatten().filter_map(|answer| answer.pair.as_ref()).collect();
            assert_eq!(given.len(), 1, "no rotation is doubled: {answers:?}");
            let events = scene.world.events.take();
            assert!(events.iter().any(|event| event.starts_with("RefreshTokenReused")), "{events:?}");
            assert!(scene.world.is_dead(given[0]).await, "reuse revokes: {answers:?}");
            assert_eq!(scene.world.live_grants().await, 0);
        },
    );
}

/// What was withdrawn is dead, whatever the refresh returned.
async fn all_dead(scene: &Scene, answers: &Answers) {
    let (refreshed, taken) = (&answers[0][0], &answers[1][0]);
    assert!(taken.is_good(), "{answers:?}");
    assert!(refreshed.is_good() || refreshed.error == "invalid_grant", "{answers:?}");
    for pair in refreshed.pair.iter().chain([&scene.pair]) {
        assert!(scene.world.is_dead(pair).await, "{answers:?}");
    }
    assert_eq!(scene.world.live_grants().await, 0);
}

#[test]
fn a_revoked_refresh_token_takes_along_what_a_refresh_brings_meanwhile() {
    let scene = async || with(World::platform().await, async |_, pair| Step::Revoke(pair.refresh.clone())).await;
    in_every_order("refresh, revocation", Waits::CodesAndTokens, scene, all_dead);
}

#[test]
fn what_a_user_withdraws_takes_along_what_a_refresh_brings_meanwhile() {
    let scene = async || {
        let other = async |world: &World, pair: &Pair| Step::WithdrawGrant(grant(world, pair).await);
        with(World::platform().await, other).await
    };
    in_every_order("refresh, withdrawal of a grant", Waits::CodesAndTokens, scene, all_dead);
    let scene = async || with(World::platform().await, async |_, _| Step::WithdrawSubject).await;
    in_every_order("refresh, withdrawal of a user", Waits::CodesAndTokens, scene, all_dead);
    let scene = async || with(World::platform().await, async |_, _| Step::WithdrawApplication).await;
    in_every_order("refresh, withdrawal of an application", Waits::CodesAndTokens, scene, all_dead);
}

#[test]
fn what_is_withdrawn_of_a_client_takes_along_what_a_refresh_brings_meanwhile() {
    let scene = async || with(World::platform().await, async |_, _| Step::WithdrawClient).await;
    in_every_order("refresh, withdrawal of a client", Waits::All, scene, all_dead);
}

#[test]
fn a_revoked_access_token_stays_dead_and_its_refresh_goes_on() {
    in_every_order(
        "refresh, revocation of the access token",
        Waits::CodesAndTokens,
        async || with(World::platform().await, async |_, pair| Step::Revoke(pair.access.clone())).await,
        async |scene, answers| {
            assert!(answers[1][0].is_good(), "{answers:?}");
            assert!(!scene.world.opens(&scene.pair.access).await, "{answers:?}");
            let given = answers[0][0].clone().pair();
            assert!(scene.is_live(&given).await, "what was acknowledged is not lost: {answers:?}");
        },
    );
}

#[test]
fn a_suspension_stops_what_a_refresh_brings_until_it_ends() {
    in_every_order(
        "refresh, suspension",
        Waits::All,
        async || with(World::platform().await, async |_, _| Step::Suspend).await,
        async |scene, answers| {
            let (refreshed, suspended) = (&answers[0][0], &answers[1][0]);
            assert!(suspended.is_good(), "{answers:?}");
            assert!(!scene.world.opens(&scene.pair.access).await, "{answers:?}");
            if !refreshed.is_good() {
                assert_eq!((refreshed.status, refreshed.error.as_str()), (401, "invalid_client"), "{answers:?}");
            }
            if let Some(pair) = &refreshed.pair {
                assert!(!scene.world.opens(&pair.access).await, "{answers:?}");
            }
            Step::Resume.run(&scene.world).await.good();
            for pair in refreshed.pair.iter().chain([&scene.pair]) {
                assert!(scene.is_live(pair).await, "nothing was lost by it: {answers:?}");
            }
        },
    );
}

/// The same token after its grace, while the newer pair is used.
#[test]
fn reuse_ends_what_a_refresh_of_the_newer_pair_brings_meanwhile() {
    in_every_order(
        "refresh, reuse",
        Waits::CodesAndTokens,
        async || {
            let world = World::platform().await;
            let old = world.pair().await;
            let pair = Step::Refresh(old.refresh.clone()).run(&world).await.pair();
            world.advance(360);
            let tasks = each([Step::Refresh(pair.refresh.clone()), Step::Refresh(old.refresh)]);
            Scene { world, tasks, pair, pairs_made: 1 }
        },
        async |scene, answers| {
            assert_eq!(answers[1][0].error, "invalid_grant", "{answers:?}");
            for pair in answers[0][0].pair.iter().chain([&scene.pair]) {
                assert!(scene.world.is_dead(pair).await, "reuse revokes: {answers:?}");
            }
        },
    );
}
