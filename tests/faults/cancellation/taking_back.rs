//! Refused steps that revoke something, the purge of expired records, and steps that only read.

use crate::cancellation::{Scene, Tally, Wait, answered_or_cut_off, at_every_await};
use support::intercepted::step::{Answer, Step};
use support::world::{Pair, World};

/// Cuts a refused step off at every await, each time in a new world. The step is then taken again, and the scene's pair
/// must be dead.
async fn refused_at_every_await(scene: impl AsyncFn() -> Scene) {
    let (revoked, alive) = (Tally::default(), Tally::default());
    let mut place = Wait::default();
    for _ in 0..1000 {
        let scene = scene().await;
        let answer = answered_or_cut_off(&scene.world, &scene.step, &mut place).await;
        let is_refused = |answer: &Answer| (answer.status, answer.error.as_str()) == (400, "invalid_grant");
        let is_alive = scene.world.opens(&scene.pair.access).await;
        if let Some(answer) = &answer {
            assert!(is_refused(answer), "{answer:?}");
            assert!(!is_alive, "what was acknowledged is lost");
        }
        if is_alive {
            alive.add()
        } else {
            revoked.add()
        }
        assert!(is_refused(&scene.step.run(&scene.world).await), "after {place:?}");
        assert!(!scene.world.opens(&scene.pair.access).await, "after {place:?}");
        assert_eq!(Step::Refresh(scene.pair.refresh.clone()).run(&scene.world).await.error, "invalid_grant");
        assert_eq!(scene.live_grants().await, 1, "after {place:?}");
        scene.bystander_lives().await;
        if answer.is_some() {
            assert!(revoked.any() && alive.any());
            return;
        }
    }
    panic!("the step never ended");
}

#[tokio::test]
async fn a_dropped_replay_is_noticed_by_the_next_one() {
    refused_at_every_await(async || {
        let world = World::platform().await;
        let bystander = world.pair().await;
        let code = world.code().await;
        let pair = Step::Exchange(code.clone()).run(&world).await.pair();
        Scene { world, bystander, step: Step::Exchange(code), pair }
    })
    .await;
}

#[tokio::test]
async fn a_dropped_replay_past_the_end_of_its_code_is_noticed_by_the_next_one() {
    refused_at_every_await(async || {
        let world = World::platform().await;
        let code = world.code().await;
        let pair = Step::Exchange(code.clone()).run(&world).await.pair();
        world.advance(600);
        let bystander = world.pair().await;
        Scene { world, bystander, step: Step::Exchange(code), pair }
    })
    .await;
}

#[tokio::test]
async fn a_dropped_reuse_is_noticed_by_the_next_one() {
    refused_at_every_await(async || {
        let world = World::platform().await;
        let old = world.pair().await;
        let pair = Step::Refresh(old.refresh.clone()).run(&world).await.pair();
        world.advance(360);
        let bystander = world.pair().await;
        Scene { world, bystander, step: Step::Refresh(old.refresh), pair }
    })
    .await;
}

#[tokio::test]
async fn a_dropped_refresh_in_grace_takes_nothing_from_the_pair_that_came_before_it() {
    let scene = async || {
        let old = std::cell::RefCell::new(None);
        let prepare = async |world: &World, pair: &Pair| {
            *old.borrow_mut() = Some(Step::Refresh(pair.refresh.clone()).run(world).await.pair());
            world.advance(200);
            Step::Refresh(pair.refresh.clone())
        };
        let mut scene = Scene::new(prepare).await;
        scene.pair = old.take().unwrap();
        scene
    };
    at_every_await(scene, async |scene, answer| {
        let again = scene.step.run(&scene.world).await.pair();
        for pair in answer.map(Answer::pair).iter().chain([&again, &scene.pair]) {
            assert!(scene.world.opens(&pair.access).await);
            Step::Refresh(pair.refresh.clone()).run(&scene.world).await.good();
        }
        // Its end was not moved.
        scene.world.advance(99);
        scene.step.run(&scene.world).await.good();
        scene.world.advance(1);
        assert_eq!(scene.live_grants().await, 2);
        assert_eq!(scene.step.run(&scene.world).await.error, "invalid_grant");
        assert_eq!(scene.live_grants().await, 1, "from its end on, its use is reuse");
        scene.bystander_lives().await;
    })
    .await;
}

#[tokio::test]
async fn a_dropped_purge_removes_nothing_but_what_is_over_and_the_next_one_the_rest() {
    let scene = async || {
        let world = World::platform().await;
        for _ in 0..3 {
            world.code().await;
            Step::Hold.run(&world).await.good();
        }
        world.advance(1800 + 3600);
        Scene::of(world, async |_, _| Step::Purge).await
    };
    at_every_await(scene, async |scene, _| {
        let store = &scene.world.store;
        assert!((2..=8).contains(&store.authorization_count().await));
        assert_eq!((store.grant_count().await, scene.live_grants().await), (2, 2));
        scene.step.run(&scene.world).await.good();
        assert_eq!(store.authorization_count().await, 2, "the two codes that were exchanged ended under an hour ago");
        assert!(scene.world.opens(&scene.pair.access).await);
        scene.bystander_lives().await;
    })
    .await;
}

#[tokio::test]
async fn what_is_shown_to_users_and_reviewers_changes_nothing() {
    for step in [Step::ListGrants, Step::ReadApplication] {
        let scene = async || Scene::new(async |_, _| step.clone()).await;
        at_every_await(scene, async |scene, _| {
            scene.step.run(&scene.world).await.good();
            assert_eq!(scene.live_grants().await, 2, "{:?}", scene.step);
            assert!(scene.world.opens(&scene.pair.access).await);
            scene.bystander_lives().await;
        })
        .await;
    }
}
