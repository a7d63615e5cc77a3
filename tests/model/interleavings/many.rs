//! Three requests and more at once.

use crate::interleavings::explore::{Move, Scene, each, in_many_orders};
use crate::interleavings::refreshes::without_grace;
use support::intercepted::step::Step;
use support::world::{Pair, World};

fn no_pair() -> Pair {
    Pair { access: String::new(), refresh: String::new(), scope: String::new() }
}

#[test]
fn of_four_exchanges_one_succeeds_and_is_taken_back() {
    in_many_orders(
        "4 exchanges",
        async || {
            let world = World::platform().await;
            let code = world.code().await;
            Scene { world, tasks: each(vec![Step::Exchange(code); 4]), pair: no_pair(), pairs_made: 1 }
        },
        async |scene, answers| {
            let given: Vec<_> = answers.iter().flatten().filter_map(|answer| answer.pair.as_ref()).collect();
            assert_eq!(given.len(), 1, "a code is redeemed once: {answers:?}");
            assert!(scene.world.is_dead(given[0]).await, "{answers:?}");
            let events = scene.world.events.take();
            let count = |name: &str| events.iter().filter(|event| event.starts_with(name)).count();
            assert_eq!((count("Exchanged"), count("CodeReplayed")), (1, 1), "reported once: {events:?}");
        },
    );
}

#[test]
fn of_four_refreshes_one_rotates_and_all_bring_its_pair() {
    in_many_orders(
        "4 refreshes",
        async || {
            let world = World::platform().await;
            let pair = world.pair().await;
            Scene { tasks: each(vec![Step::Refresh(pair.refresh.clone()); 4]), world, pair, pairs_made: 1 }
        },
        async |scene, answers| {
            let events = scene.world.events.take();
            let count = |name: &str| events.iter().filter(|event| event.starts_with(name)).count();
            assert_eq!((count("Refreshed {"), count("RefreshedInGrace {")), (1, 3), "{events:?}");
            assert!(answers.iter().flatten().all(|answer| answer.pair == answers[0][0].pair), "{answers:?}");
            assert!(scene.is_one_line(answers).await, "{answers:?}");
        },
    );
}

#[test]
fn refreshes_with_three_tokens_of_a_line_stay_one_line() {
    in_many_orders(
        "3 refreshes along a line, each after the last, and a smaller one",
        async || {
            let world = World::platform().await;
            let first = world.pair().await;
            let second = Step::Refresh(first.refresh.clone()).run(&world).await.pair();
            let pair = Step::Refresh(second.refresh.clone()).run(&world).await.pair();
            let going_on = |pair: &Pair| vec![Step::Refresh(pair.refresh.clone()).into(), Move::RefreshGiven];
            let smaller = vec![Step::Reduce(second.refresh.clone()).into()];
            let tasks = vec![going_on(&first), going_on(&second), going_on(&pair), smaller];
            Scene { world, tasks, pair, pairs_made: 3 }
        },
        async |scene, answers| {
            assert!(answers.iter().flatten().all(|answer| answer.is_good()), "{answers:?}");
            assert!(scene.is_one_line(answers).await, "{answers:?}");
        },
    );
}

#[test]
fn of_four_refreshes_without_grace_one_succeeds_and_is_taken_back() {
    in_many_orders(
        "4 refreshes without grace",
        async || {
            let world = without_grace().await;
            let pair = world.pair().await;
            Scene { tasks: each(vec![Step::Refresh(pair.refresh.clone()); 4]), world, pair, pairs_made: 1 }
        },
        async |scene, answers| {
            let given: Vec<_> = answers.iter().flatten().filter_map(|answer| answer.pair.as_ref()).collect();
            assert_eq!(given.len(), 1, "no rotation is doubled: {answers:?}");
            assert!(scene.world.is_dead(given[0]).await, "{answers:?}");
        },
    );
}

#[test]
fn after_a_revocation_among_refreshes_and_purges_no_token_works() {
    in_many_orders(
        "3 refreshes, revocation, purge",
        async || {
            let world = World::platform().await;
            let pair = world.pair().await;
            let refresh = Step::Refresh(pair.refresh.clone());
            let steps = [refresh.clone(), refresh.clone(), Step::Revoke(pair.refresh.clone()), Step::Purge, refresh];
            Scene { world, tasks: each(steps), pair, pairs_made: 1 }
        },
        async |scene, answers| {
            assert!(answers[2][0].is_good(), "{answers:?}");
            let given = answers.iter().flatten().filter_map(|answer| answer.pair.as_ref());
            for pair in given.chain([&scene.pair]) {
                assert!(scene.world.is_dead(pair).await, "{answers:?}");
            }
            assert_eq!(scene.world.live_grants().await, 0);
        },
    );
}

/// A worker continues with its new pair while another holds the old pair, the application is suspended and resumed, and
/// everything is purged.
#[test]
fn nothing_acknowledged_is_lost_among_workers_a_suspension_and_a_purge() {
    in_many_orders(
        "2 workers, suspension, purge",
        async || {
            let world = World::platform().await;
            let pair = world.pair().await;
            let refresh = || Move::from(Step::Refresh(pair.refresh.clone()));
            let tasks = vec![
                vec![refresh(), refresh()],
                vec![refresh(), Step::Revoke(pair.access.clone()).into()],
                vec![Step::Suspend.into(), Step::Resume.into()],
                vec![Step::Purge.into()],
            ];
            Scene { world, tasks, pair, pairs_made: 1 }
        },
        async |scene, answers| {
            assert!(answers[2].iter().chain(&answers[3]).all(|answer| answer.is_good()), "{answers:?}");
            for answer in answers[..2].iter().flatten() {
                let is_suspended = (answer.status, answer.error.as_str()) == (401, "invalid_client");
                assert!(answer.is_good() || is_suspended, "{answers:?}");
                if let Some(pair) = &answer.pair {
                    assert!(scene.is_live(pair).await, "{answers:?}");
                }
            }
            let was_revoked = answers[1][1].is_good();
            assert_eq!(scene.world.opens(&scene.pair.access).await, !was_revoked, "{answers:?}");
            assert_eq!(scene.world.live_grants().await, 1);
        },
    );
}
