//! The future of every request may be dropped at any await: nothing acknowledged is lost or doubled.
//!
//! Each call of the store waits once before and once after its effect, and in between as often as a store that does not
//! answer at once. Each step is dropped at each of these waits, one at a time, and then the world is checked.

mod review;
mod taking_back;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use async_trait::async_trait;
use grantor::application::{ApplicationFilter, LogoSlot};
use grantor::client::ClientState;
use grantor::store::{Authorization, Grant, Insertion, Page, RecordStore, Replacement};
use grantor::{Application, Subject, Timestamp};

use support::intercepted::step::{Answer, Step};
use support::intercepted::{Fate, Script, copy, over, pending_once};
use support::world::{Credentials, Pair, Reviewer as _, World, e401, form, logo, public_form};

/// Every call passes three places: before it is made, while it is under way, after its effect.
#[derive(Debug, Default)]
struct Interrupted {
    passed: AtomicUsize,
}

impl Interrupted {
    fn pass(&self) {
        self.passed.fetch_add(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Script for Interrupted {
    async fn before(&self, _: &'static str) -> Fate {
        self.pass();
        pending_once().await;
        // Only a store that does not answer at once waits here.
        self.pass();
        Fate::Done
    }

    async fn after(&self, _: &'static str) {
        self.pass();
        pending_once().await;
    }
}

/// Where a step waits: the places that it has passed, and how often it has waited since the last of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Wait {
    passed: usize,
    waits: usize,
}

impl Wait {
    /// The next wait, after so many places in all.
    fn next(self, passed: usize) -> Self {
        Self { passed, waits: if passed == self.passed { self.waits + 1 } else { 1 } }
    }
}

/// Runs a step until it waits after that place, then drops it, and moves the place to where that was. Returns the
/// answer if the step was complete before.
async fn cut_off(world: &World, step: &Step, place: &mut Wait) -> Option<Answer> {
    answered_or_cut_off(world, step, place).await.map(Answer::good)
}

/// The same for a step that may be refused.
async fn answered_or_cut_off(world: &World, step: &Step, place: &mut Wait) -> Option<Answer> {
    let script = Arc::new(Interrupted::default());
    let answer = {
        let interrupted = over(world, script.clone());
        let mut future = pin!(step.run(&interrupted));
        let mut here = Wait::default();
        poll_fn(|context| {
            if let Poll::Ready(answer) = future.as_mut().poll(context) {
                return Poll::Ready(Some(answer));
            }
            here = here.next(script.passed.load(Ordering::SeqCst));
            if here <= *place {
                return Poll::Pending;
            }
            *place = here;
            Poll::Ready(None)
        })
        .await
    };
    settle(world).await;
    answer
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

/// A world with an uninvolved grant, and what the step under test needs.
struct Scene {
    world: World,
    /// Of another grant of the same user: no step may affect it.
    bystander: Pair,
    step: Step,
    /// The tokens, if any, that the step is about.
    pair: Pair,
}

impl Scene {
    async fn new(prepare: impl AsyncFn(&World, &Pair) -> Step) -> Self {
        Self::of(World::platform().await, prepare).await
    }

    /// The same with access tokens that are JWTs: signing waits as well.
    async fn with_jwts(prepare: impl AsyncFn(&World, &Pair) -> Step) -> Self {
        Self::of(World::with_jwts().await, prepare).await
    }

    async fn of(world: World, prepare: impl AsyncFn(&World, &Pair) -> Step) -> Self {
        let bystander = world.pair().await;
        let pair = world.pair().await;
        let step = prepare(&world, &pair).await;
        Self { world, bystander, step, pair }
    }

    async fn live_grants(&self) -> usize {
        self.world.server.grants_of(&self.world.alice).await.unwrap().len()
    }

    async fn bystander_lives(&self) {
        assert!(self.world.opens(&self.bystander.access).await);
        Step::Refresh(self.bystander.refresh.clone()).run(&self.world).await.good();
    }
}

/// Cuts a step off at every await, each time in a new world, and checks what is left.
async fn at_every_await(scene: impl AsyncFn() -> Scene, look: impl AsyncFn(&Scene, Option<Answer>)) {
    let mut place = Wait::default();
    for _ in 0..1000 {
        let scene = scene().await;
        let answer = cut_off(&scene.world, &scene.step, &mut place).await;
        let is_complete = answer.is_some();
        look(&scene, answer).await;
        if is_complete {
            assert!(place.passed > 2, "the step never waited");
            return;
        }
    }
    panic!("the step never ended");
}

#[tokio::test]
async fn steps_that_only_look_change_nothing_and_work_the_next_time() {
    let kinds: [fn(&Pair) -> Step; 4] = [
        |_| Step::Authorize,
        |pair| Step::Introspect(pair.access.clone()),
        |pair| Step::Authenticate(pair.access.clone()),
        |_| Step::Purge,
    ];
    for kind in kinds {
        let scene = async || Scene::new(async |_, pair| kind(pair)).await;
        at_every_await(scene, async |scene, _| {
            let store = &scene.world.store;
            let counts = async || (store.authorization_count().await, store.grant_count().await);
            assert_eq!(counts().await, (2, 2), "{:?}", scene.step);
            scene.step.run(&scene.world).await.good();
            assert_eq!((counts().await, scene.live_grants().await), ((2, 2), 2), "{:?}", scene.step);
            assert!(scene.world.opens(&scene.pair.access).await);
            scene.bystander_lives().await;
        })
        .await;
    }
}

#[tokio::test]
async fn a_dropped_hold_leaves_at_most_a_request_that_nobody_can_decide() {
    let scene = async || Scene::new(async |_, _| Step::Hold).await;
    at_every_await(scene, async |scene, answer| {
        assert!(scene.world.store.authorization_count().await <= 3);
        let handle = match answer {
            Some(answer) => answer.given,
            None => Step::Hold.run(&scene.world).await.good().given,
        };
        let code = Step::Agree(handle).run(&scene.world).await.good().given;
        let pair = Step::Exchange(code).run(&scene.world).await.pair();
        assert!(scene.world.opens(&pair.access).await);
        assert_eq!(scene.live_grants().await, 3);
        scene.bystander_lives().await;
    })
    .await;
}

#[tokio::test]
async fn a_dropped_decision_is_taken_once() {
    let handle = async |world: &World| Step::Hold.run(world).await.good().given;
    let (taken, open) = (Tally::default(), Tally::default());
    let scene = async || Scene::new(async |world, _| Step::Agree(handle(world).await)).await;
    at_every_await(scene, async |scene, answer| {
        let again = scene.step.run(&scene.world).await;
        let codes: Vec<_> = [answer, Some(again.clone())].into_iter().flatten().filter(Answer::is_good).collect();
        if again.is_good() {
            open.add();
        } else {
            assert_eq!((again.status, again.error.as_str()), (400, ""), "a page says that it was decided");
            taken.add();
        }
        assert!(codes.len() <= 1, "two codes of one consent");
        for code in codes {
            let pair = Step::Exchange(code.given).run(&scene.world).await.pair();
            assert!(scene.world.opens(&pair.access).await);
        }
        scene.bystander_lives().await;
    })
    .await;
    assert!(taken.any() && open.any());

    let scene = async || Scene::new(async |world, _| Step::Deny(handle(world).await)).await;
    at_every_await(scene, async |scene, _| {
        let again = scene.step.run(&scene.world).await;
        assert!(again.is_good() || again.status == 400, "{again:?}");
        let Step::Deny(handle) = &scene.step else { unreachable!() };
        assert_eq!(Step::Agree(handle.clone()).run(&scene.world).await.status, 400, "what was denied stays denied");
        scene.bystander_lives().await;
    })
    .await;
}

/// A dropped exchange may have been applied: then its code is spent, and another try is a replay.
#[tokio::test]
async fn a_dropped_exchange_never_leaves_two_live_grants() {
    exchange_at_every_await(async || Scene::new(async |world, _| Step::Exchange(world.code().await)).await).await;
    exchange_at_every_await(async || Scene::with_jwts(async |world, _| Step::Exchange(world.code().await)).await).await;
}

async fn exchange_at_every_await(scene: impl AsyncFn() -> Scene) {
    let (spent, open) = (Tally::default(), Tally::default());
    at_every_await(scene, async |scene, answer| {
        if let Some(answer) = answer {
            assert!(scene.world.opens(&answer.pair().access).await);
            assert_eq!(scene.live_grants().await, 3);
            return;
        }
        let before = scene.live_grants().await;
        let again = scene.step.run(&scene.world).await;
        if before == 2 {
            open.add();
            assert!(scene.world.opens(&again.pair().access).await);
            assert_eq!(scene.live_grants().await, 3);
        } else {
            spent.add();
            assert_eq!((again.status, again.error.as_str()), (400, "invalid_grant"));
            assert_eq!((before, scene.live_grants().await), (3, 2));
        }
        scene.bystander_lives().await;
        assert!(scene.world.opens(&scene.world.pair().await.access).await, "a new sign-in works");
    })
    .await;
    assert!(spent.any() && open.any());
}

#[tokio::test]
async fn a_dropped_refresh_may_be_tried_again_within_the_grace() {
    refresh_at_every_await(async || Scene::new(async |_, pair| Step::Refresh(pair.refresh.clone())).await).await;
    refresh_at_every_await(async || Scene::with_jwts(async |_, pair| Step::Refresh(pair.refresh.clone())).await).await;
}

async fn refresh_at_every_await(scene: impl AsyncFn() -> Scene) {
    at_every_await(scene, async |scene, answer| {
        assert!(scene.world.opens(&scene.pair.access).await);
        let again = scene.step.run(&scene.world).await.pair();
        if let Some(answer) = answer {
            assert_eq!(answer.pair(), again, "one line");
        }
        assert!(scene.world.opens(&again.access).await);
        let next = Step::Refresh(again.refresh).run(&scene.world).await.pair();
        assert!(scene.world.opens(&next.access).await);
        assert_eq!(scene.live_grants().await, 2);
        scene.bystander_lives().await;
    })
    .await;
}

/// With an old token in its grace: for the newest pair, which only reads, and for another scope, which writes.
#[tokio::test]
async fn a_dropped_refresh_with_an_old_token_leaves_one_line_of_tokens() {
    for step in [Step::Refresh as fn(String) -> Step, Step::Reduce] {
        let scene = async || {
            Scene::new(async |world, pair| {
                Step::Refresh(pair.refresh.clone()).run(world).await.good();
                step(pair.refresh.clone())
            })
            .await
        };
        at_every_await(scene, async |scene, answer| {
            let again = scene.step.run(&scene.world).await.pair();
            if let Some(answer) = answer {
                let given = answer.pair();
                assert_eq!(given.refresh, again.refresh, "one line");
                assert_eq!(given.access == again.access, matches!(scene.step, Step::Refresh(_)));
                assert!(scene.world.opens(&given.access).await);
            }
            assert!(scene.world.opens(&scene.pair.access).await && scene.world.opens(&again.access).await);
            Step::Refresh(again.refresh).run(&scene.world).await.good();
            assert_eq!(scene.live_grants().await, 2);
            assert!(scene.world.events.take().iter().all(|event| !event.starts_with("RefreshTokenReused")));
            scene.bystander_lives().await;
        })
        .await;
    }
}

/// Without grace, a refresh that was applied and never answered looks like a stolen token.
#[tokio::test]
async fn a_dropped_refresh_without_grace_leaves_one_line_of_tokens_or_none() {
    let (lost, open) = (Tally::default(), Tally::default());
    let scene = async || {
        let no_grace = |config: &mut grantor::Config| config.refresh.grace = std::time::Duration::ZERO;
        let mut world = World::with(grantor::config::Profile::Strict, no_grace).await;
        world.client = world.register(public_form()).await;
        Scene::of(world, async |_, pair| Step::Refresh(pair.refresh.clone())).await
    };
    at_every_await(scene, async |scene, answer| {
        let is_complete = answer.is_some();
        let again = scene.step.run(&scene.world).await;
        if again.is_good() {
            assert!(!is_complete);
            open.add();
            assert_eq!(scene.live_grants().await, 2);
            Step::Refresh(again.pair().refresh).run(&scene.world).await.good();
        } else {
            lost.add();
            assert_eq!((again.status, again.error.as_str()), (400, "invalid_grant"));
            assert_eq!(scene.live_grants().await, 1);
            assert!(!scene.world.opens(&scene.pair.access).await);
        }
        scene.bystander_lives().await;
    })
    .await;
    assert!(lost.any() && open.any());
}

#[tokio::test]
async fn a_dropped_revocation_is_done_by_the_next_one() {
    let scene = async || Scene::new(async |_, pair| Step::Revoke(pair.refresh.clone())).await;
    at_every_await(scene, async |scene, answer| {
        let alive = scene.world.opens(&scene.pair.access).await;
        assert!(answer.is_none() || !alive, "an acknowledged revocation is lost");
        scene.step.run(&scene.world).await.good();
        assert!(!scene.world.opens(&scene.pair.access).await);
        assert_eq!(scene.live_grants().await, 1);
        scene.bystander_lives().await;
    })
    .await;

    let scene = async || Scene::new(async |_, pair| Step::Revoke(pair.access.clone())).await;
    at_every_await(scene, async |scene, answer| {
        let alive = scene.world.opens(&scene.pair.access).await;
        assert!(answer.is_none() || !alive, "an acknowledged revocation is lost");
        scene.step.run(&scene.world).await.good();
        assert!(!scene.world.opens(&scene.pair.access).await);
        Step::Refresh(scene.pair.refresh.clone()).run(&scene.world).await.good();
        assert_eq!(scene.live_grants().await, 2);
        scene.bystander_lives().await;
    })
    .await;
}

#[tokio::test]
async fn a_dropped_withdrawal_of_a_grant_is_done_by_the_next_one() {
    let scene = async || {
        Scene::new(async |world, pair| Step::WithdrawGrant(world.access(&pair.access).await.unwrap().grant().unwrap()))
            .await
    };
    at_every_await(scene, async |scene, answer| {
        let alive = scene.world.opens(&scene.pair.access).await;
        assert!(answer.is_none() || !alive, "an acknowledged withdrawal is lost");
        scene.step.run(&scene.world).await.good();
        assert!(!scene.world.opens(&scene.pair.access).await);
        scene.bystander_lives().await;
    })
    .await;
}

#[tokio::test]
async fn a_dropped_withdrawal_of_a_user_or_an_application_is_done_by_the_next_one() {
    for step in [Step::WithdrawSubject, Step::WithdrawApplication] {
        withdrawn_at_every_await(&step).await;
    }
}

async fn withdrawn_at_every_await(step: &Step) {
    let mut place = Wait::default();
    for _ in 0..1000 {
        let world = World::platform().await;
        let pair = world.pair().await;
        let code = world.code().await;
        let handle = Step::Hold.run(&world).await.good().given;
        let mut other = copy(&world);
        other.alice = Subject::new("bob").unwrap();
        let bystander = other.pair().await;

        let is_complete = cut_off(&world, step, &mut place).await.is_some();
        if !is_complete {
            step.run(&world).await.good();
        }
        assert!(!world.opens(&pair.access).await);
        let refused = [Step::Refresh(pair.refresh), Step::Exchange(code), Step::Agree(handle)];
        for use_of in refused {
            assert_eq!(use_of.run(&world).await.status, 400, "{use_of:?} after {place:?}");
        }
        assert_eq!(world.server.grants_of(&world.alice).await.unwrap().len(), 0);
        assert!(other.opens(&bystander.access).await);
        if is_complete {
            return;
        }
    }
    panic!("the withdrawal never ended");
}

#[tokio::test]
async fn a_dropped_submission_is_whole_or_not_there() {
    let scene = async || Scene::new(async |_, _| Step::Submit).await;
    at_every_await(scene, async |scene, _| {
        let id = Step::Submit.run(&scene.world).await.good().given;
        let registrar = scene.world.server.registrar().unwrap();
        let waiting = registrar.list(&ApplicationFilter::AwaitingReview, Page::first(10)).await.unwrap();
        assert!(matches!(waiting.len(), 1 | 2) && waiting.iter().any(|waiting| waiting.id().as_str() == id));
        for waiting in waiting {
            assert!(registrar.client(waiting.id()).await.is_ok());
            assert_eq!(registrar.logo(waiting.id(), LogoSlot::InForce).await.unwrap().as_deref(), Some(&logo()));
            Step::ApproveApplication(waiting.id().clone()).run(&scene.world).await.good();
            let secret = registrar.claim_now(waiting.id()).await.unwrap().expose().to_owned();
            let client = Credentials { id: waiting.id().to_string(), secret };
            assert!(scene.world.opens(&scene.world.pair_of(&client).await.access).await);
        }
    })
    .await;
}

#[tokio::test]
async fn a_dropped_approval_took_effect_or_can_be_given_again() {
    let (done, open) = (Tally::default(), Tally::default());
    let submit = async |world: &World| {
        let developer = Subject::new("developer").unwrap();
        world.server.registrar().unwrap().submit(developer, form(), Some(logo())).await.unwrap()
    };
    let scene = async || Scene::new(async |world, _| Step::ApproveApplication(submit(world).await)).await;
    at_every_await(scene, async |scene, answer| {
        let Step::ApproveApplication(id) = &scene.step else { unreachable!() };
        let again = scene.step.run(&scene.world).await;
        let registrar = scene.world.server.registrar().unwrap();
        assert_eq!(registrar.client(id).await.unwrap().state(), ClientState::Approved);
        assert!(answer.is_none() || !again.is_good(), "an acknowledged approval is lost");
        if again.is_good() { &open } else { &done }.add();
        let secret = registrar.claim_now(id).await.unwrap().expose().to_owned();
        let client = Credentials { id: id.to_string(), secret };
        assert!(scene.world.opens(&scene.world.pair_of(&client).await.access).await);
        scene.bystander_lives().await;
    })
    .await;
    assert!(done.any() && open.any());
}

#[tokio::test]
async fn dropped_steps_of_the_registrar_are_done_by_the_next_one() {
    for step in [Step::Suspend, Step::WithdrawClient, Step::RotateSecret, Step::ChangeApplication] {
        let scene = async || Scene::new(async |_, _| step.clone()).await;
        at_every_await(scene, async |scene, answer| {
            let again = scene.step.run(&scene.world).await;
            // A second suspension is refused, because the application is suspended already.
            assert!(again.is_good() || matches!(scene.step, Step::Suspend), "{again:?}");
            let opens = scene.world.opens(&scene.pair.access).await;
            let refreshed = scene.world.refresh(&scene.pair.refresh).await;
            match scene.step {
                Step::Suspend => {
                    assert!(!opens);
                    e401(&refreshed, "invalid_client");
                    Step::Resume.run(&scene.world).await.good();
                    scene.bystander_lives().await;
                }
                Step::WithdrawClient => {
                    assert!(!opens);
                    assert_eq!(Answer::from(refreshed).error, "invalid_grant");
                    assert!(scene.world.opens(&scene.world.pair().await.access).await);
                }
                Step::RotateSecret => {
                    assert!(opens);
                    for secret in [again.given].into_iter().chain(answer.map(|answer| answer.given)) {
                        let client = Credentials { secret, ..scene.world.client.clone() };
                        Answer::from(scene.world.refresh_as(&client, &scene.pair.refresh).await).good();
                    }
                }
                _ => {
                    assert!(opens);
                    scene.bystander_lives().await;
                }
            }
        })
        .await;
    }
}

/// Counts how often a branch of a test was taken.
#[derive(Default)]
struct Tally(std::cell::Cell<usize>);

impl Tally {
    fn add(&self) {
        self.0.set(self.0.get() + 1);
    }

    fn any(&self) -> bool {
        self.0.get() > 0
    }
}
