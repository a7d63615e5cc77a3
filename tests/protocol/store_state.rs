//! What an operator learns of a store that fails, hangs or takes no writes: one event when it stops to answer, and one
//! when it is back.

use std::future::pending;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use async_trait::async_trait;
use grantor::wire::Request;

use support::intercepted::{Failure, Fate, Script, over};
use support::world::{Recorder, World, ok};

/// Which calls fail, and which never end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Outage {
    #[default]
    None,
    Everything,
    Writes,
    Hangs,
    /// One call of two.
    EverySecond(bool),
}

#[derive(Clone, Default)]
struct Failing(Arc<Mutex<Outage>>);

impl Failing {
    fn set(&self, outage: Outage) {
        *self.0.lock().unwrap() = outage;
    }
}

#[async_trait]
impl Script for Failing {
    async fn before(&self, call: &'static str) -> Fate {
        let is_read = [".find", ".list", ".current"].iter().any(|method| call.ends_with(method));
        let outage = *self.0.lock().unwrap();
        let fails = match outage {
            Outage::None => false,
            Outage::Everything => true,
            Outage::Writes => !is_read,
            Outage::EverySecond(fails) => {
                self.set(Outage::EverySecond(!fails));
                fails
            }
            Outage::Hangs => pending().await,
        };
        if fails { Fate::FailsBefore(Failure::Transient) } else { Fate::Done }
    }
}

async fn failing() -> (World, Failing, String) {
    let world = World::platform().await;
    let token = world.pair().await.access;
    let failing = Failing::default();
    let world = over(&world, failing.clone());
    world.events.take();
    (world, failing, token)
}

/// The events about the state of the store since the last call.
fn states(events: &Recorder) -> Vec<String> {
    let state = |event: &String| event.starts_with("StoreUnavailable") || event.starts_with("StoreBack");
    events.take().into_iter().filter(state).collect()
}

#[tokio::test]
async fn an_outage_is_reported_once_and_its_end_too() {
    let (world, failing, token) = failing().await;
    failing.set(Outage::Everything);
    for second in 0..30 {
        for _ in 0..10 {
            assert!(!world.opens(&token).await);
        }
        let raised = states(&world.events);
        assert_eq!(raised.len(), usize::from(second == 1), "{second}: {raised:?}");
        assert!(raised.iter().all(|event| event.contains("\"read\"") && event.contains("db.internal")), "{raised:?}");
        world.advance(1);
    }
    failing.set(Outage::None);
    for _ in 0..10 {
        assert!(world.opens(&token).await);
    }
    assert_eq!(states(&world.events), ["StoreBack { operation: \"read\", seconds: 30 }"]);
    failing.set(Outage::Everything);
    for _ in 0..2 {
        assert!(!world.opens(&token).await);
        world.advance(1);
    }
    assert_eq!(states(&world.events).len(), 1, "the next outage is another one");
}

/// A row that is locked, or a query that is cancelled, is no outage: others get their answers.
#[tokio::test]
async fn calls_that_fail_between_others_are_no_outage() {
    let (world, failing, token) = failing().await;
    failing.set(Outage::EverySecond(false));
    for _ in 0..60 {
        world.opens(&token).await;
        world.advance(1);
    }
    assert_eq!(states(&world.events), [""; 0]);
}

#[tokio::test]
async fn a_hung_store_whose_callers_give_up_leaves_a_trace() {
    let (world, failing, token) = failing().await;
    failing.set(Outage::Hangs);
    let mut context = Context::from_waker(Waker::noop());
    for (seconds, raised) in [(0, 0), (5, 0), (5, 1), (5, 0)] {
        {
            let mut check = pin!(world.opens(&token));
            assert!(check.as_mut().poll(&mut context).is_pending());
            world.advance(seconds);
        }
        let states = states(&world.events);
        assert_eq!(states.len(), raised, "{states:?}");
        assert!(states.iter().all(|event| event.contains("no answer within 5 s")), "{states:?}");
    }
    failing.set(Outage::None);
    assert!(world.opens(&token).await);
    assert_eq!(states(&world.events).len(), 1);
}

#[tokio::test]
async fn a_store_that_takes_no_writes_is_reported_although_it_is_read() {
    let (world, failing, token) = failing().await;
    failing.set(Outage::Writes);
    for _ in 0..3 {
        assert!(world.opens(&token).await);
        let _ = world.server.confirm_clock().await;
        world.advance(1);
    }
    let raised = states(&world.events);
    assert_eq!(raised.len(), 1, "{raised:?}");
    assert!(raised[0].contains("\"write\""), "{raised:?}");
    failing.set(Outage::None);
    world.server.confirm_clock().await.unwrap();
    assert_eq!(states(&world.events), ["StoreBack { operation: \"write\", seconds: 3 }"]);
}

#[tokio::test]
async fn a_check_that_fails_or_refuses_says_why() {
    let (world, failing, token) = failing().await;
    failing.set(Outage::Everything);
    assert!(!world.opens(&token).await);
    assert!(world.events.saw("CheckFailed { reason: Store("));
    failing.set(Outage::None);
    assert!(world.server.resource().authenticate(&Request::new("GET")).await.is_err());
    assert_eq!(world.events.take(), ["CheckRefused { reason: NoAccessToken }"]);
    let two = Request::new("GET").header("Authorization", b"Bearer a b");
    assert!(world.server.resource().authenticate(&two).await.is_err());
    assert_eq!(world.events.take(), ["CheckRefused { reason: MalformedBearer }"]);
    assert!(world.opens(&token).await);
    assert_eq!(world.events.take(), [""; 0], "a check that succeeds raises nothing");
}

#[tokio::test]
async fn a_purge_says_what_it_removed() {
    let world = World::platform().await;
    world.code().await;
    let _ = world.purge(100).await;
    world.advance(86_400);
    world.events.take();
    let purge = world.purge(100).await;
    assert!(purge.removed() > 0 && purge.is_finished());
    let removed = purge.removed();
    assert_eq!(world.events.take(), [format!("Purged {{ rows: {removed}, seconds: 0, finished: true }}")]);
    ok(&world.exchange(&world.code().await).await);
}
