//! A store that fails, loses answers and repeats writes: nothing acknowledged is lost or doubled, a transient failure
//! revokes nothing, and a failure is reported as a failure.

mod fail_over;
mod registrations;
mod replicated;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use grantor::wire::Endpoint;

use crate::scene::{Kind, Scene, strict_public};
use support::intercepted::Fate::{Done, FailsAfter, FailsBefore, Repeated};
use support::intercepted::scripts::Calls;
use support::intercepted::step::{Answer, Step};
use support::intercepted::{Failure, Fate, Script, copy, over};
use support::world::{Pair, SESSION, World, empty};

/// Takes a step of each kind with a fault at each of its calls, each time in a new world: with
/// grace, without, and with access tokens that are JWTs.
async fn at_every_call(faults: impl Fn(usize) -> Calls, look: impl AsyncFn(Kind, &Scene, Answer, &str)) {
    for kind in Kind::ALL {
        at_every_call_of(kind, async || World::platform().await, &faults, &look).await;
    }
    for kind in Kind::WITHOUT_GRACE {
        at_every_call_of(kind, strict_public, &faults, &look).await;
    }
    for kind in Kind::OF_TOKENS {
        at_every_call_of(kind, async || World::with_jwts().await, &faults, &look).await;
    }
}

async fn at_every_call_of(
    kind: Kind,
    world: impl AsyncFn() -> World,
    faults: impl Fn(usize) -> Calls,
    look: impl AsyncFn(Kind, &Scene, Answer, &str),
) {
    for at in 0..200 {
        let scene = Scene::of(world().await, kind).await;
        scene.world.events.take();
        let script = faults(at);
        let answer = scene.step.run(&over(&scene.world, script.clone())).await;
        let Some(call) = script.met() else {
            assert!(at > 0, "{kind:?} made no call");
            return;
        };
        let case = format!("{kind:?}, {:?} at call {at}, {call}", script.fate());
        look(kind, &scene, answer, &case).await;
    }
}

#[tokio::test]
async fn a_single_failure_is_reported_as_a_failure_and_the_next_try_works() {
    for failure in [Failure::Transient, Failure::Permanent] {
        for fate in [FailsBefore(failure), FailsAfter(failure)] {
            at_every_call(
                |at| Calls::failing(at, fate),
                async |kind, scene, answer, case| {
                    let answer = if answer.is_good() {
                        answer
                    } else {
                        let expected =
                            if failure == Failure::Transient { Answer::is_transient } else { Answer::is_permanent };
                        assert!(expected(&answer), "{case}: {answer:?}");
                        // A write that took effect is found by the read that follows. The withdrawal of a code that
                        // was exchanged inserts nothing, since the grant has the place.
                        let is_write = case.ends_with("insert") || case.ends_with("replace");
                        let is_write = is_write && !(kind.withdraws_all() && case.ends_with("tokens.insert"));
                        assert!(!is_write || fate == FailsBefore(failure), "{case}: {answer:?}");
                        let again = scene.step.run(&scene.world).await;
                        assert!(again.is_good(), "{case}: {again:?}");
                        again
                    };
                    scene.holds(answer, case).await;
                },
            )
            .await;
        }
    }
}

#[tokio::test]
async fn a_write_that_is_sent_twice_counts_once() {
    at_every_call(
        |at| Calls::failing(at, Repeated),
        async |kind, scene, answer, case| {
            assert!(answer.is_good(), "{case}: {answer:?}");
            let events = scene.world.events.take();
            assert!(events.len() <= 1 || kind.withdraws_all(), "{case}: {events:?}");
            if kind == Kind::Refresh {
                assert!(events[0].starts_with("Refreshed {"), "{case}: {events:?}");
            }
            scene.holds(answer, case).await;
        },
    )
    .await;
}

#[tokio::test]
async fn a_store_that_is_away_takes_nothing_from_anybody() {
    at_every_call(
        |at| Calls::outage(at, FailsBefore(Failure::Transient)),
        async |kind, scene, answer, case| {
            // The list that enforces the limit of live grants is read once the client has its tokens.
            if kind == Kind::Exchange && case.ends_with("tokens.list") {
                assert!(answer.is_good(), "{case}: {answer:?}");
                return scene.holds(answer, case).await;
            }
            assert!(answer.is_transient(), "{case}: {answer:?}");
            if kind != Kind::Resume && !kind.withdraws_all() {
                assert!(scene.world.opens(&scene.pair.access).await, "{case}");
            }
            let again = scene.step.run(&scene.world).await;
            assert!(again.is_good(), "{case}: {again:?}");
            scene.holds(again, case).await;
        },
    )
    .await;
}

/// The write took effect, but its answer and the read after it were lost. What was asked for is done, or the next try
/// reports so.
#[tokio::test]
async fn a_store_that_goes_away_after_a_write_leaves_what_was_written() {
    let faults = |at| Calls::outage(at, FailsAfter(Failure::Transient));
    for kind in Kind::ALL {
        at_every_call_of(
            kind,
            async || World::platform().await,
            faults,
            async |kind, scene, answer, case| {
                assert!(answer.is_transient() || answer.is_good(), "{case}: {answer:?}");
                scene.again(kind, case).await;
            },
        )
        .await;
    }
}

/// The exchange was applied, the read after it failed as well, and the client got 503. Its next try is the second use
/// of a code, which revokes the grant.
#[tokio::test]
async fn an_exchange_whose_answer_and_look_are_lost_costs_a_new_sign_in() {
    let scene = Scene::new(Kind::Exchange).await;
    let script = outage_after(&scene, "tokens.insert").await;
    let answer = scene.step.run(&over(&scene.world, script)).await;
    assert_eq!((answer.status, answer.error.as_str()), (503, "temporarily_unavailable"));
    assert_eq!(scene.world.live_grants().await, 3);

    let again = scene.step.run(&scene.world).await;
    assert_eq!((again.status, again.error.as_str()), (400, "invalid_grant"));
    assert_eq!(scene.world.live_grants().await, 2);
    let signed_in_again = scene.world.pair().await;
    assert!(scene.world.opens(&signed_in_again.access).await);
}

/// The same at a refresh without grace. Within the grace, the next try returns the newest pair.
#[tokio::test]
async fn a_lost_refresh_without_grace_costs_a_sign_in() {
    for (world, has_grace) in [(strict_public().await, false), (World::platform().await, true)] {
        let scene = Scene::of(world, Kind::Refresh).await;
        let script = outage_after(&scene, "tokens.replace").await;
        let answer = scene.step.run(&over(&scene.world, script)).await;
        assert_eq!((answer.status, answer.error.as_str()), (503, "temporarily_unavailable"));

        let again = scene.step.run(&scene.world).await;
        if has_grace {
            assert!(scene.world.opens(&again.pair().access).await);
            assert_eq!(scene.world.live_grants().await, 2);
        } else {
            assert_eq!((again.status, again.error.as_str()), (400, "invalid_grant"));
            assert_eq!(scene.world.live_grants().await, 1);
            assert!(scene.world.opens(&scene.world.pair().await.access).await);
        }
    }
}

/// An exchange of unknown outcome finds that another one won. It cannot know whether its own client came first, so it
/// does not report a replay.
#[tokio::test]
async fn an_exchange_that_failed_does_not_take_what_another_was_given() {
    for fate in [FailsBefore(Failure::Transient), FailsAfter(Failure::Transient)] {
        let scene = Scene::new(Kind::Exchange).await;
        let (world, step) = (copy(&scene.world), scene.step.clone());
        let winner = Arc::new(Mutex::default());
        let script = Overtaken { world, step, winner: winner.clone(), fate };
        let answer = scene.step.run(&over(&scene.world, script)).await;
        assert_eq!((answer.status, answer.error.as_str()), (503, "temporarily_unavailable"));
        let given: Answer = winner.lock().unwrap().take().unwrap();
        let given = given.pair();
        assert!(scene.world.opens(&given.access).await);
        Step::Refresh(given.refresh).run(&scene.world).await.good();
        assert_eq!(scene.world.live_grants().await, 3);
    }
}

/// Another request takes the same step before the insert, which then has its fate.
struct Overtaken {
    world: World,
    step: Step,
    winner: Arc<Mutex<Option<Answer>>>,
    fate: Fate,
}

#[async_trait]
impl Script for Overtaken {
    async fn before(&self, call: &'static str) -> Fate {
        if call != "tokens.insert" {
            return Done;
        }
        let answer = self.step.run(&self.world).await;
        *self.winner.lock().unwrap() = Some(answer);
        self.fate
    }
}

/// A store that becomes unavailable with the scene's first call of that name, which is applied.
async fn outage_after(scene: &Scene, name: &str) -> Calls {
    // The same step in a separate world shows which call it is.
    let kind = if matches!(scene.step, Step::Exchange(_)) { Kind::Exchange } else { Kind::Refresh };
    let rehearsal = Scene::new(kind).await;
    let calls = Calls::recorded();
    rehearsal.step.run(&over(&rehearsal.world, calls.clone())).await.good();
    let at = calls.take().iter().position(|call| *call == name).unwrap();
    Calls::outage(at, FailsAfter(Failure::Transient))
}

/// CVE-2020-15223: an error of the store at revocation is 503 or 500, never 200 for a token that still works.
#[tokio::test]
async fn a_failed_revocation_is_not_acknowledged() {
    for (failure, status, error) in
        [(Failure::Transient, 503, "temporarily_unavailable"), (Failure::Permanent, 500, "server_error")]
    {
        for token in [|pair: &Pair| pair.access.clone(), |pair: &Pair| pair.refresh.clone()] {
            let world = World::platform().await;
            let first = world.pair().await;
            let mut failed = 0;
            for at in 0.. {
                let script = Calls::failing(at, FailsBefore(failure));
                let response = over(&world, script.clone()).revoke(&token(&first)).await;
                if script.met().is_none() {
                    empty(&response);
                    break;
                }
                assert_eq!(response.status(), status);
                assert_eq!(response.header("Retry-After").is_some(), status == 503);
                assert_eq!(Answer::from(response).error, error);
                assert!(world.opens(&first.access).await, "call {at}");
                failed += 1;
            }
            assert!(failed >= 3, "client, grant and write were to fail");
            assert!(!world.opens(&first.access).await);
        }
    }
}

/// A transient failure hides a replay only until the next try.
#[tokio::test]
async fn a_replay_during_a_failure_is_noticed_later() {
    theft_at_every_call(async |world| {
        let code = world.code().await;
        let pair = Step::Exchange(code.clone()).run(world).await.pair();
        (Step::Exchange(code), pair)
    })
    .await;
}

/// The use of a superseded refresh token after its grace, in the same way.
#[tokio::test]
async fn a_reuse_during_a_failure_is_noticed_later() {
    theft_at_every_call(async |world| {
        let first = world.pair().await;
        let pair = Step::Refresh(first.refresh.clone()).run(world).await.pair();
        world.advance(361);
        (Step::Refresh(first.refresh), pair)
    })
    .await;
}

/// Takes a step that must end a pair, with a fault at each of its calls.
async fn theft_at_every_call(prepare: impl AsyncFn(&World) -> (Step, Pair)) {
    for fate in [FailsBefore(Failure::Transient), FailsAfter(Failure::Transient), Repeated] {
        for at in 0..200 {
            let world = World::platform().await;
            let (step, pair) = prepare(&world).await;
            let script = Calls::failing(at, fate);
            let answer = step.run(&over(&world, script.clone())).await;
            let Some(call) = script.met() else { break };
            let refused = |answer: &Answer| (answer.status, answer.error.as_str()) == (400, "invalid_grant");
            let is_reported = answer.is_transient() && fate != Repeated;
            assert!(refused(&answer) || is_reported, "{fate:?} at {call}: {answer:?}");
            assert!(is_reported || !world.opens(&pair.access).await, "{fate:?} at {call}");
            assert!(refused(&step.run(&world).await), "{fate:?} at {call}");
            assert!(!world.opens(&pair.access).await, "{fate:?} at {call}");
        }
    }
}

/// The resource gets 503 without a challenge, so that no client discards its token.
#[tokio::test]
async fn a_failure_at_the_resource_is_no_challenge() {
    for (failure, status) in [(Failure::Transient, 503), (Failure::Permanent, 500)] {
        let world = World::platform().await;
        let first = world.pair().await;
        for at in 0..2 {
            let refused = over(&world, Calls::failing(at, FailsBefore(failure))).access(&first.access).await;
            let response = refused.expect_err("the store failed").into_response();
            assert_eq!(response.status(), status);
            assert_eq!(response.header("WWW-Authenticate"), None);
        }
        assert!(world.opens(&first.access).await);
        let script = Calls::failing(1, FailsBefore(failure));
        let post = over(&world, script);
        let response =
            post.post(Endpoint::Introspection, &[("token", &first.access)]).client(&world.client).send().await;
        assert_eq!(response.status(), status, "never reported as inactive");
    }
}

/// How many confirms a step sends, and then the same step again, where reads are not settled.
#[tokio::test]
async fn what_was_only_read_is_confirmed_once_and_nothing_where_reads_are_settled() {
    for reads_settled in [true, false] {
        for kind in Kind::ALL {
            let scene = Scene::new(kind).await;
            let calls = Calls::recorded().with_settled_reads(reads_settled);
            let world = over(&scene.world, calls.clone());
            let mut found = Vec::new();
            for _ in 0..2 {
                let _ = scene.step.run(&world).await;
                found.push(calls.take().iter().filter(|call| call.ends_with(".confirm")).count());
            }
            let expected = match kind {
                _ if reads_settled => [0, 0],
                // The first step writes. The second one finds the token in its grace; a grant that is revoked already
                // is confirmed.
                Kind::Refresh => [0, 1],
                // Each writes one more access token.
                Kind::ReduceInGrace => [0, 0],
                Kind::RevokeRefreshToken | Kind::RevokeAccessToken | Kind::WithdrawGrant => [0, 1],
                // The same answer again relies on the stored one.
                Kind::Deny => [0, 1],
                Kind::RefreshInGrace => [1, 1],
                // An approval relies on logos that are kept. The second step reports the state of the application.
                Kind::ApproveApplication | Kind::ApproveChange => [1, 2],
                Kind::RejectApplication => [0, 1],
                Kind::Suspend | Kind::Resume => [0, 1],
                // The clock has been confirmed in that second.
                Kind::Purge => [0, 1],
                // Two grants, and what replaced a code, are found by their codes and in their own list. The first time,
                // those found by their codes are written. There is a denied request, too.
                Kind::WithdrawApplication | Kind::WithdrawSubject => [3, 7],
                _ => [0, 0],
            };
            assert_eq!(found, expected, "{kind:?}, reads settled: {reads_settled}");
        }
    }
}

/// Fails one call of that name, by its number.
fn failing_once(name: &'static str, number: usize) -> impl Script {
    let seen = AtomicUsize::new(0);
    move |call: &'static str| {
        let is_it = call == name && seen.fetch_add(1, Ordering::SeqCst) + 1 == number;
        if is_it { FailsBefore(Failure::Permanent) } else { Done }
    }
}

/// What cannot be withdrawn keeps nothing else alive, and is reported.
#[tokio::test]
async fn a_failed_withdrawal_spares_nothing_else() {
    for (call, number) in [("tokens.replace", 1), ("tokens.find", 2), ("codes.replace", 1), ("codes.list", 1)] {
        let world = World::platform().await;
        let pairs = [world.pair().await, world.pair().await, world.pair().await];
        let pending = world.authorize(&world.query(&[])).await.unwrap();
        world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
        let failed = over(&world, failing_once(call, number)).server.revoke_subject(&world.alice).await;
        assert!(failed.is_err_and(|error| !error.is_transient()), "{call}");
        let mut alive = 0;
        for pair in &pairs {
            alive += usize::from(world.opens(&pair.access).await);
        }
        assert!(alive <= usize::from(call.starts_with("tokens")), "{alive} grants are alive after {call} failed");
        world.server.revoke_subject(&world.alice).await.unwrap();
        for pair in &pairs {
            assert!(!world.opens(&pair.access).await, "{call}");
        }
    }
}

/// A write whose answer was lost counts as a withdrawal, like one that was answered.
#[tokio::test]
async fn a_withdrawal_whose_answer_was_lost_is_counted() {
    let mut lost = Vec::new();
    for at in 0.. {
        let world = World::platform().await;
        world.pair().await;
        world.code().await;
        let pending = world.authorize(&world.query(&[])).await.unwrap();
        world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
        let faults = Calls::failing(at, FailsAfter(Failure::Transient));
        let counted = over(&world, faults.clone()).server.revoke_subject(&world.alice).await;
        let Some(call) = faults.met() else { break };
        // A call that only confirms may be reported as a failure.
        let Ok(count) = counted else { continue };
        assert_eq!(count, 3, "{call}");
        lost.push(call);
    }
    assert!(["tokens.insert", "tokens.replace", "codes.replace"].iter().all(|call| lost.contains(call)), "{lost:?}");
}

/// Codes and grants are in two stores. A failure of one does not delay the purge of the other.
#[tokio::test]
async fn a_failed_purge_of_one_kind_stops_no_other() {
    for (call, left) in [("codes.purge", (1, 0)), ("tokens.purge", (0, 1))] {
        let world = World::platform().await;
        world.pair().await;
        world.advance(15_552_000 + 3600 + 600);
        world.server.confirm_clock().await.unwrap();
        world.events.take();
        let failed = over(&world, failing_once(call, 1)).server.purge_expired(100).await;
        assert!(failed.is_err(), "{call}");
        let events = world.events.take();
        assert!(events.iter().any(|event| event.starts_with("PurgeFailed")), "{events:?}");
        assert_eq!((world.store.authorization_count().await, world.store.grant_count().await), left, "{call}");
    }
}
