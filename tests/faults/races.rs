//! Two or more requests at once: revocation beats anything in flight, and one code gives one grant.
//!
//! First every deterministic order: one step is taken from beginning to end in every gap between the store calls of
//! another. Then real threads, which a barrier releases together.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use async_trait::async_trait;
use futures::executor::block_on;
use grantor::client::ClientState;
use grantor::store::{Grant, RecordStore};

use crate::scene::strict_public;
use support::intercepted::step::{Answer, Step};
use support::intercepted::{Fate, Script, copy, over};
use support::world::{Credentials, Pair, World, e401};

/// Takes another step in one gap: before or after the effect of a call.
struct Gap {
    left: Mutex<usize>,
    step: Mutex<Option<Pin<Box<dyn Future<Output = Answer> + Send>>>>,
    answer: Mutex<Option<Answer>>,
}

impl Gap {
    fn new(number: usize, world: &World, step: &Step) -> Arc<Self> {
        let (world, step) = (copy(world), step.clone());
        let step: Pin<Box<dyn Future<Output = Answer> + Send>> = Box::pin(async move { step.run(&world).await });
        Arc::new(Self { left: Mutex::new(number), step: Mutex::new(Some(step)), answer: Mutex::default() })
    }

    async fn pass(&self) {
        let step = {
            let mut left = self.left.lock().unwrap();
            let is_here = *left == 0;
            *left = left.saturating_sub(1);
            if is_here { self.step.lock().unwrap().take() } else { None }
        };
        if let Some(step) = step {
            let answer = step.await;
            *self.answer.lock().unwrap() = Some(answer);
        }
    }
}

impl fmt::Debug for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gap")
    }
}

#[async_trait]
impl Script for Gap {
    async fn before(&self, _: &'static str) -> Fate {
        self.pass().await;
        Fate::Done
    }

    async fn after(&self, _: &'static str) {
        self.pass().await;
    }
}

/// A world, a pair of tokens in it, and the two steps that meet.
struct Meeting {
    world: World,
    pair: Pair,
    outer: Step,
    inner: Step,
}

/// The results of the two steps.
struct Met {
    outer: Answer,
    inner: Answer,
    case: String,
}

/// Takes the inner step in every gap of the outer one, then the other way round, each in a new world.
async fn in_every_order(scene: impl AsyncFn() -> Meeting, look: impl AsyncFn(&Meeting, Met)) {
    for is_turned in [false, true] {
        for number in 0..200 {
            let mut scene = scene().await;
            if is_turned {
                std::mem::swap(&mut scene.outer, &mut scene.inner);
            }
            let gap = Gap::new(number, &scene.world, &scene.inner);
            let outer = scene.outer.run(&over(&scene.world, gap.clone())).await;
            let inner = gap.answer.lock().unwrap().take();
            let Some(inner) = inner else {
                assert!(number > 2, "{:?} made hardly a call", scene.outer);
                break;
            };
            let case = format!("{:?} in gap {number} of {:?}: {inner:?}, {outer:?}", scene.inner, scene.outer);
            let met = Met { outer, inner, case };
            look(&scene, if is_turned { met.turned() } else { met }).await;
        }
    }
}

impl Met {
    fn turned(self) -> Self {
        Self { outer: self.inner, inner: self.outer, ..self }
    }
}

/// The second step is always the one that revokes.
async fn platform(steps: impl AsyncFn(&World, &Pair) -> (Step, Step)) -> Meeting {
    of(World::platform().await, steps).await
}

async fn of(world: World, steps: impl AsyncFn(&World, &Pair) -> (Step, Step)) -> Meeting {
    let pair = world.pair().await;
    let (outer, inner) = steps(&world, &pair).await;
    Meeting { world, pair, outer, inner }
}

#[tokio::test]
async fn revocation_beats_every_refresh_in_flight() {
    let revoke_grant = async |world: &World, pair: &Pair| {
        Step::WithdrawGrant(world.access(&pair.access).await.unwrap().grant().unwrap())
    };
    for kind in 0..4 {
        let counts = Tally::default();
        let steps = async |world: &World, pair: &Pair| {
            let taking = match kind {
                0 => Step::Revoke(pair.refresh.clone()),
                1 => revoke_grant(world, pair).await,
                2 => Step::WithdrawSubject,
                _ => Step::WithdrawClient,
            };
            (Step::Refresh(pair.refresh.clone()), taking)
        };
        in_every_order(
            async || platform(steps).await,
            async |scene, met| {
                assert!(met.inner.is_good(), "{}", met.case);
                assert!(scene.world.is_dead(&scene.pair).await, "{}", met.case);
                if let Some(given) = &met.outer.pair {
                    assert!(scene.world.is_dead(given).await, "{}", met.case);
                    counts.won();
                } else {
                    assert_eq!((met.outer.status, met.outer.error.as_str()), (400, "invalid_grant"), "{}", met.case);
                    counts.lost();
                }
                assert_eq!(scene.world.live_grants().await, 0, "{}", met.case);
            },
        )
        .await;
        counts.both();
    }
}

/// CVE-2026-53518: one success, which a detected replay revokes.
#[tokio::test]
async fn two_exchanges_of_one_code_give_one_pair_which_the_replay_revokes() {
    let steps = async |world: &World, _: &Pair| {
        let code = world.code().await;
        (Step::Exchange(code.clone()), Step::Exchange(code))
    };
    in_every_order(
        async || platform(steps).await,
        async |scene, met| {
            let (good, refused): (Vec<_>, Vec<_>) = [met.outer, met.inner].into_iter().partition(Answer::is_good);
            assert!(good.len() == 1 && refused[0].error == "invalid_grant", "{}", met.case);
            assert!(scene.world.is_dead(good[0].pair.as_ref().unwrap()).await, "{}", met.case);
            assert!(scene.world.opens(&scene.pair.access).await, "{}: a bystander was hurt", met.case);
            assert_eq!(scene.world.live_grants().await, 1, "{}", met.case);
        },
    )
    .await;
}

/// D-25: while an application is suspended, nothing that it has works; afterwards, everything does.
#[tokio::test]
async fn a_suspension_stops_what_a_refresh_in_flight_brings_until_it_ends() {
    let counts = Tally::default();
    let steps = async |_: &World, pair: &Pair| (Step::Refresh(pair.refresh.clone()), Step::Suspend);
    in_every_order(
        async || platform(steps).await,
        async |scene, met| {
            let world = &scene.world;
            assert!(met.inner.is_good(), "{}", met.case);
            assert_eq!(
                world.server.client(&world.client.client_id()).await.unwrap().unwrap().state(),
                ClientState::Suspended
            );
            if met.outer.is_good() {
                counts.won()
            } else {
                counts.lost()
            }
            assert!(met.outer.is_good() || met.outer.error == "invalid_client", "{}", met.case);
            for pair in met.outer.pair.iter().chain([&scene.pair]) {
                assert!(!world.opens(&pair.access).await, "{}", met.case);
                e401(&world.refresh(&pair.refresh).await, "invalid_client");
            }
            Step::Resume.run(world).await.good();
            for pair in met.outer.pair.iter().chain([&scene.pair]) {
                assert!(world.opens(&pair.access).await, "{}", met.case);
                Step::Refresh(pair.refresh.clone()).run(world).await.good();
            }
        },
    )
    .await;
    counts.both();
}

const CHANGED_MEANWHILE: &str = "the application was changed since it was read";

/// A lost update of the client must not undo a suspension or a withdrawal.
#[tokio::test]
async fn no_step_of_the_registrar_undoes_another() {
    let rotations = Tally::default();
    for other in [Step::RotateSecret, Step::ChangeApplication, Step::WithdrawClient] {
        let steps = async |_: &World, _: &Pair| (other.clone(), Step::Suspend);
        in_every_order(
            async || platform(steps).await,
            async |scene, met| {
                let world = &scene.world;
                let rotates = matches!(other, Step::RotateSecret);
                assert!(met.inner.is_good(), "{}", met.case);
                assert!(met.outer.is_good() || rotates && met.outer.error == CHANGED_MEANWHILE, "{}", met.case);
                assert!(!world.opens(&scene.pair.access).await, "{}", met.case);
                Step::Resume.run(world).await.good();
                let withdrawn = matches!(other, Step::WithdrawClient);
                assert_eq!(world.opens(&scene.pair.access).await, !withdrawn, "{}", met.case);
                if rotates {
                    if met.outer.is_good() {
                        rotations.won()
                    } else {
                        rotations.lost()
                    }
                    let made = Some(met.outer.given).filter(|made| !made.is_empty());
                    let secret = made.unwrap_or_else(|| world.client.secret.clone());
                    let client = Credentials { secret, ..world.client.clone() };
                    assert!(world.opens(&world.pair_of(&client).await.access).await, "{}", met.case);
                }
            },
        )
        .await;
    }
    rotations.both();
}

/// The pairs that a pair's grant has made: 1, and one more for every refresh that took effect.
async fn pairs_made(world: &World, pair: &Pair) -> u32 {
    let grant = world.access(&pair.access).await.unwrap().grant().unwrap();
    RecordStore::<Grant>::find(&world.store, &grant).await.unwrap().unwrap().pairs_made()
}

/// Yields to other threads around every call, so that they meet in more places.
#[derive(Debug, Default)]
struct Jostled {
    reads_settled: bool,
    confirms: AtomicUsize,
}

#[async_trait]
impl Script for Jostled {
    async fn before(&self, call: &'static str) -> Fate {
        self.confirms.fetch_add(usize::from(call.ends_with(".confirm")), Ordering::Relaxed);
        thread::yield_now();
        Fate::Done
    }

    async fn after(&self, _: &'static str) {
        thread::yield_now();
    }

    fn reads_settled(&self) -> bool {
        self.reads_settled
    }
}

/// Takes all steps at once, each in its own thread.
fn at_once(world: &World, steps: &[Step]) -> Vec<Answer> {
    at_once_over(world, &Arc::default(), steps)
}

fn at_once_over(world: &World, script: &Arc<Jostled>, steps: &[Step]) -> Vec<Answer> {
    let world = over(world, script.clone());
    let barrier = Barrier::new(steps.len());
    let run = |step: &Step| {
        barrier.wait();
        block_on(step.run(&world))
    };
    thread::scope(|scope| {
        let threads: Vec<_> = steps.iter().map(|step| scope.spawn(|| run(step))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

const ROUNDS: usize = 12;

/// CVE-2026-53518: with threads.
#[tokio::test]
async fn of_32_exchanges_at_once_one_succeeds_and_is_revoked() {
    let world = World::platform().await;
    for _ in 0..ROUNDS {
        let code = world.code().await;
        let answers = at_once(&world, &vec![Step::Exchange(code); 32]);
        let (good, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Answer::is_good);
        assert_eq!((good.len(), refused.len()), (1, 31));
        assert!(refused.iter().all(|answer| answer.error == "invalid_grant"), "{refused:?}");
        let given = good[0].pair.as_ref().unwrap();
        assert!(!world.opens(&given.access).await);
        assert_eq!(Step::Refresh(given.refresh.clone()).run(&world).await.error, "invalid_grant");
    }
}

/// CVE-2026-53517: no request forks a line of tokens that has no grace.
#[tokio::test]
async fn of_50_refreshes_at_once_all_bring_one_pair_with_grace_and_one_succeeds_without() {
    for reads_settled in [true, false] {
        let world = World::platform().await;
        for _ in 0..ROUNDS {
            let first = world.pair().await;
            world.events.take();
            let script = Arc::new(Jostled { reads_settled, ..Jostled::default() });
            let answers = at_once_over(&world, &script, &vec![Step::Refresh(first.refresh.clone()); 50]);
            let given: Vec<_> = answers.into_iter().map(Answer::pair).collect();
            assert!(given.iter().all(|pair| *pair == given[0]), "one line");
            assert!(world.opens(&given[0].access).await);
            assert_eq!(pairs_made(&world, &given[0]).await, 2, "one new pair");
            let confirms = if reads_settled { 0 } else { 49 };
            assert_eq!(script.confirms.load(Ordering::Relaxed), confirms, "one for each answer that was read");
            let events = world.events.take();
            let count = |name: &str| events.iter().filter(|event| event.starts_with(name)).count();
            assert_eq!((count("Refreshed {"), count("RefreshedInGrace {")), (1, 49));
        }
        assert_eq!(world.server.grants_of(&world.alice).await.unwrap().len(), ROUNDS);
    }

    let world = strict_public().await;
    for _ in 0..ROUNDS {
        let first = world.pair().await;
        let answers = at_once(&world, &vec![Step::Refresh(first.refresh); 50]);
        let (good, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Answer::is_good);
        assert_eq!((good.len(), refused.len()), (1, 49));
        assert!(refused.iter().all(|answer| answer.error == "invalid_grant"), "{refused:?}");
        assert!(!world.opens(&good[0].pair.as_ref().unwrap().access).await);
    }
}

/// Counts the winners, to ensure that the gaps lie on both sides of the deciding write.
#[derive(Default)]
struct Tally {
    won: std::cell::Cell<usize>,
    lost: std::cell::Cell<usize>,
}

impl Tally {
    fn won(&self) {
        self.won.set(self.won.get() + 1);
    }

    fn lost(&self) {
        self.lost.set(self.lost.get() + 1);
    }

    #[track_caller]
    fn both(&self) {
        assert!(self.won.get() > 0 && self.lost.get() > 0, "{} won, {} lost", self.won.get(), self.lost.get());
    }
}
