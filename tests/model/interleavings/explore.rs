//! Runs the tasks of a scene under one schedule after the other.

use std::env;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use grantor::authorization::NextStep;
use grantor::store::{Grant, RecordStore};
use shuttle::future::{block_on, spawn, yield_now};
use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner};

use support::intercepted::step::{Answer, Step, pending};
use support::intercepted::{Fate, Script, copy, over};
use support::world::{Pair, SESSION, World};

/// `all`, or a number of random schedules.
const VARIABLE: &str = "GRANTOR_SCHEDULES";
/// If two requests have more schedules than these, random ones follow, so that the first choices vary as well: in the
/// first schedules, only the last choices do.
const FIRST: usize = 150;
/// How many random ones follow.
const FOLLOWING: usize = 150;
/// Random schedules of each kind, where three and more requests meet; twice as many with `all`.
const DRAWN: usize = 150;
/// Random schedules are the same in each run.
const SEED: u64 = 7;
/// How many orders between calls a fault may need to show; most need one or two.
const DEPTH: usize = 3;
/// An unoptimised future of the server needs more than the default.
const STACK: usize = 1 << 20;

/// A world, what its tasks do one after the other, and the tokens that it is about.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) tasks: Vec<Vec<Move>>,
    pub(crate) pair: Pair,
    /// Pairs that the pair's grant has made before the tasks begin.
    pub(crate) pairs_made: usize,
}

/// What a task does.
#[derive(Clone, Debug)]
pub(crate) enum Move {
    Take(Step),
    /// A refresh with what the task was given last; with nothing, it does nothing.
    RefreshGiven,
    /// An exchange of the code that the task was given last; with nothing, it does nothing.
    ExchangeGiven,
    /// The request is decided without a page; nothing is given if the page is needed.
    DecideSilently,
    /// Seconds pass.
    Wait(u64),
}

impl From<Step> for Move {
    fn from(step: Step) -> Self {
        Self::Take(step)
    }
}

/// Tasks that take one step each.
pub(crate) fn each(steps: impl IntoIterator<Item = Step>) -> Vec<Vec<Move>> {
    steps.into_iter().map(|step| vec![step.into()]).collect()
}

impl Scene {
    /// Whether all that was given is on one line: the grant has made exactly the pairs of these refresh tokens, and
    /// each token works.
    pub(crate) async fn is_one_line(&self, answers: &Answers) -> bool {
        let mut given: Vec<_> = answers.iter().flatten().filter_map(|answer| answer.pair.as_ref()).collect();
        given.sort_unstable_by_key(|pair| (&pair.refresh, &pair.access));
        given.dedup();
        let made: std::collections::BTreeSet<_> = given.iter().map(|pair| &pair.refresh).collect();
        let made = made.into_iter().filter(|refresh| **refresh != self.pair.refresh).count();
        let grant = self.world.access(&self.pair.access).await.unwrap().grant().unwrap();
        let grant = RecordStore::<Grant>::find(&self.world.store, &grant).await.unwrap().unwrap();
        let mut is_one = usize::try_from(grant.pairs_made()).unwrap() == self.pairs_made + made;
        for pair in given {
            is_one &= self.is_live(pair).await;
        }
        is_one
    }

    /// Whether both tokens of the pair work.
    pub(crate) async fn is_live(&self, pair: &Pair) -> bool {
        self.world.opens(&pair.access).await && Step::Refresh(pair.refresh.clone()).run(&self.world).await.is_good()
    }
}

/// The answers of each task, in the order in which it got them.
pub(crate) type Answers = Vec<Vec<Answer>>;

/// Which calls wait for the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// Those to codes, tokens and pushed requests: no task of the scene changes a client, and one at most purges.
    CodesAndTokens,
    All,
}

/// Runs every schedule, or at most 300 of them if `GRANTOR_SCHEDULES` is not `all`. A call waits once, before its
/// effect. After it, a task touches nothing that others see until its next call, so a second wait would repeat the same
/// orders.
pub(crate) fn in_every_order<S, L>(name: &'static str, waits: Waits, scene: S, look: L)
where
    S: AsyncFn() -> Scene + Send + Sync + 'static,
    L: AsyncFn(&Scene, &Answers) + Send + Sync + 'static,
{
    in_every_order_where(true, name, waits, scene, look);
}

/// The same over a store whose reads are settled or not: then a read is confirmed before it is relied on.
pub(crate) fn in_every_order_where<S, L>(reads_settled: bool, name: &'static str, waits: Waits, scene: S, look: L)
where
    S: AsyncFn() -> Scene + Send + Sync + 'static,
    L: AsyncFn(&Scene, &Answers) + Send + Sync + 'static,
{
    let script = Yielding { waits, is_twice: false, reads_settled };
    let (scene, look) = (Arc::new(scene), Arc::new(look));
    let limit = (schedules().as_deref() != Some("all")).then_some(FIRST);
    let first = run(DfsScheduler::new(limit, false), script, &scene, &look);
    assert!(first > 1, "nothing met");
    let following = if limit == Some(first) {
        run(RandomScheduler::new_from_seed(SEED, FOLLOWING), script, &scene, &look)
    } else {
        0
    };
    println!("{name}: {first} schedules and {following} random ones, reads settled: {reads_settled}");
}

/// Runs many schedules: in some each choice is random, in others tasks have priorities, which change at random places.
pub(crate) fn in_many_orders<S, L>(name: &'static str, scene: S, look: L)
where
    S: AsyncFn() -> Scene + Send + Sync + 'static,
    L: AsyncFn(&Scene, &Answers) + Send + Sync + 'static,
{
    let script = Yielding { waits: Waits::All, is_twice: true, reads_settled: false };
    let repeated =
        |count| (RandomScheduler::new_from_seed(SEED, count), PctScheduler::new_from_seed(SEED, DEPTH, count));
    let (random, preempting) = match schedules().as_deref() {
        None => repeated(DRAWN),
        Some("all") => repeated(2 * DRAWN),
        Some(count) => {
            let count = count.parse().unwrap_or_else(|_| panic!("{VARIABLE} is {count:?}"));
            (RandomScheduler::new(count), PctScheduler::new(DEPTH, count))
        }
    };
    let (scene, look) = (Arc::new(scene), Arc::new(look));
    let drawn = run(random, script, &scene, &look);
    let preempted = run(preempting, script, &scene, &look);
    println!("{name}: {drawn} random schedules, {preempted} by priorities");
}

fn schedules() -> Option<String> {
    env::var(VARIABLE).ok()
}

fn run<S, L>(scheduler: impl Scheduler + 'static, script: Yielding, scene: &Arc<S>, look: &Arc<L>) -> usize
where
    S: AsyncFn() -> Scene + Send + Sync + 'static,
    L: AsyncFn(&Scene, &Answers) + Send + Sync + 'static,
{
    let mut config = Config::new();
    config.stack_size = STACK;
    let (scene, look) = (scene.clone(), look.clone());
    Runner::new(scheduler, config).run(move || block_on(once(script, &*scene, &*look)))
}

/// Runs one schedule: the world itself is made and checked without waiting.
async fn once(script: Yielding, scene: &impl AsyncFn() -> Scene, look: &impl AsyncFn(&Scene, &Answers)) {
    let scene = scene().await;
    let interleaved = Arc::new(over(&scene.world, script));
    let tasks = scene.tasks.iter().map(|moves| spawn(go(copy(&interleaved), moves.clone())));
    let mut answers = Answers::new();
    for task in tasks.collect::<Vec<_>>() {
        answers.push(task.await.unwrap());
    }
    look(&scene, &answers).await;
}

async fn go(world: World, moves: Vec<Move>) -> Vec<Answer> {
    let mut answers = Vec::new();
    for one in moves {
        match one {
            Move::Take(step) => answers.push(step.run(&world).await),
            Move::RefreshGiven => {
                if let Some(pair) = answers.iter().rev().find_map(|answer: &Answer| answer.pair.clone()) {
                    answers.push(Step::Refresh(pair.refresh).run(&world).await);
                }
            }
            Move::ExchangeGiven => {
                let code = answers.last().map(|answer| answer.given.clone()).filter(|code| !code.is_empty());
                if let Some(code) = code {
                    answers.push(Step::Exchange(code).run(&world).await);
                }
            }
            Move::DecideSilently => answers.push(decide_silently(&world).await),
            Move::Wait(seconds) => world.clock.advance(Duration::from_secs(seconds)),
        }
    }
    answers
}

pub(crate) async fn decide_silently(world: &World) -> Answer {
    let pending = pending(world).await.unwrap();
    match world.server.step(&pending, Some(&world.alice), SESSION).await.map(NextStep::response) {
        Ok(Some(response)) => response.into(),
        Ok(None) => Answer { status: 200, ..Answer::default() },
        Err(error) => error.into(),
    }
}

#[derive(Clone, Copy)]
struct Yielding {
    waits: Waits,
    is_twice: bool,
    reads_settled: bool,
}

impl fmt::Debug for Yielding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Yielding")
    }
}

#[async_trait]
impl Script for Yielding {
    async fn before(&self, call: &'static str) -> Fate {
        if self.waits == Waits::All || !call.starts_with("clients.") && !call.starts_with("purges.") {
            yield_now().await;
        }
        Fate::Done
    }

    async fn after(&self, _: &'static str) {
        if self.is_twice {
            yield_now().await;
        }
    }

    fn reads_settled(&self) -> bool {
        self.reads_settled
    }
}
