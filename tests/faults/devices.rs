//! A device's request while a call of the store fails, or the future of a step is dropped.

use std::sync::atomic::{AtomicUsize, Ordering};

use grantor::Subject;
use grantor::config::Profile;
use grantor::secret::{DerivationKey, Entropy};
use grantor::server::Builder;
use grantor::testing::SeededEntropy;
use grantor::wire::message::DeviceAuthorizationResponse;

use crate::FATES;
use crate::waiting::{Waiting, dropped_after};
use support::attempts::Attempts;
use support::devices::{asked, typed_by, world};
use support::intercepted::scripts::Calls;
use support::intercepted::step::{Answer, Step};
use support::intercepted::{Failure, Fate, Script, copy, over, over_with};
use support::world::{Pair, World};

/// What is done to a device's request, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    Ask,
    Type,
    /// The user gives the code back.
    Release,
    Approve,
    Deny,
    Redeem,
    /// The device has lost the answer.
    RedeemAgain,
}

const ALL: [Taken; 7] =
    [Taken::Ask, Taken::Type, Taken::Release, Taken::Approve, Taken::Deny, Taken::Redeem, Taken::RedeemAgain];

/// A device whose code was typed twice, so that its user has two pages, and what was done before the step.
struct Scene {
    world: World,
    device: DeviceAuthorizationResponse,
    tickets: [String; 2],
    step: Step,
    /// The tokens that the device was given before.
    pair: Option<Pair>,
}

impl Scene {
    async fn of(profile: Profile, taken: Taken) -> Self {
        let world = world(profile, |_| ()).await;
        let device = asked(&world).await;
        let mut tickets = [String::new(), String::new()];
        if !matches!(taken, Taken::Ask | Taken::Type) {
            for ticket in &mut tickets {
                *ticket = typed_by(&world, &device.user_code, &world.alice).await.unwrap();
            }
        }
        let agree = Step::Agree(tickets[0].clone());
        let poll = Step::Poll(device.device_code.clone());
        let mut pair = None;
        if matches!(taken, Taken::Redeem | Taken::RedeemAgain) {
            agree.run(&world).await.good();
        }
        if taken == Taken::RedeemAgain {
            pair = Some(poll.run(&world).await.pair());
        }
        let step = match taken {
            Taken::Ask => Step::AskForDevice,
            Taken::Type => Step::TypeUserCode(device.user_code.clone()),
            Taken::Release => Step::GiveUserCodeBack(tickets[0].clone()),
            Taken::Approve => agree,
            Taken::Deny => Step::Deny(tickets[0].clone()),
            Taken::Redeem | Taken::RedeemAgain => poll,
        };
        Self { world, device, tickets, step, pair }
    }

    async fn poll(&self) -> Answer {
        Step::Poll(self.device.device_code.clone()).run(&self.world).await
    }

    async fn grants_of(&self, user: &Subject) -> usize {
        self.world.server.grants_of(user).await.unwrap().len()
    }

    /// Takes the step again, after a first try that was not acknowledged. A code that was given back leads nowhere.
    async fn again(&self, taken: Taken, what: &str) -> Answer {
        let again = self.step.run(&self.world).await;
        let is_released = again.status == 400 && taken == Taken::Release;
        assert!(again.is_good() || is_released && again.error.is_empty(), "{what}: {again:?}");
        again
    }

    /// Asserts that what was acknowledged is there, and nothing else: one grant at most, and none after a refusal.
    async fn assert_sound(self, taken: Taken, done: Answer, what: &str) {
        match taken {
            Taken::Ask => self.assert_asked(&done, what).await,
            Taken::Type => {
                assert_eq!(self.poll().await.error, "authorization_pending", "{what}");
                self.assert_of(&self.world.alice, &done.given, what).await;
            }
            Taken::Release => self.assert_given_back(what).await,
            Taken::Approve => self.assert_one_pair(what).await,
            Taken::Deny => {
                assert_eq!(Step::Agree(self.tickets[1].clone()).run(&self.world).await.status, 400, "{what}");
                assert_eq!(self.poll().await.error, "access_denied", "{what}");
                assert_eq!(self.grants_of(&self.world.alice).await, 0, "{what}");
            }
            Taken::Redeem | Taken::RedeemAgain => {
                let given = done.pair();
                assert!(self.pair.as_ref().is_none_or(|before| *before == given), "{what}");
                assert_eq!(self.poll().await.pair(), given, "{what}");
                self.assert_one_pair(what).await;
            }
        }
    }

    /// Both codes that were given last belong together.
    async fn assert_asked(&self, done: &Answer, what: &str) {
        let (device_code, user_code) = done.given.split_once(' ').expect(what);
        let ticket = Step::TypeUserCode(user_code.to_owned()).run(&self.world).await.good().given;
        Step::Agree(ticket).run(&self.world).await.good();
        assert!(Step::Poll(device_code.to_owned()).run(&self.world).await.is_good(), "{what}");
        assert_eq!(self.poll().await.error, "authorization_pending", "{what}");
    }

    /// The code is that user's alone, who has this ticket.
    async fn assert_of(&self, user: &Subject, ticket: &str, what: &str) {
        let other = Subject::new("mallory").unwrap();
        let typed = Step::By(other, Step::TypeUserCode(self.device.user_code.clone()).into());
        assert_eq!(typed.run(&self.world).await.status, 400, "{what}");
        let agreed = Step::By(user.clone(), Step::Agree(ticket.to_owned()).into()).run(&self.world).await;
        assert!(agreed.is_good(), "{what}: {agreed:?}");
        assert!(self.poll().await.is_good(), "{what}");
        assert_eq!(self.grants_of(user).await, 1, "{what}");
    }

    /// After a release that stopped half-way, its user types the code once more to give it back.
    async fn assert_given_back(&self, what: &str) {
        assert_eq!(Step::Agree(self.tickets[0].clone()).run(&self.world).await.status, 400, "{what}");
        let bob = Subject::new("bob").unwrap();
        let typed = Step::By(bob.clone(), Step::TypeUserCode(self.device.user_code.clone()).into());
        let mut first = typed.run(&self.world).await;
        if !first.is_good() {
            let ticket = Step::TypeUserCode(self.device.user_code.clone()).run(&self.world).await.good().given;
            Step::GiveUserCodeBack(ticket).run(&self.world).await.good();
            first = typed.run(&self.world).await;
        }
        assert_eq!(Step::Agree(self.tickets[1].clone()).run(&self.world).await.status, 400, "{what}");
        self.assert_of(&bob, &first.good().given, what).await;
        assert_eq!(self.grants_of(&self.world.alice).await, 0, "{what}");
    }

    /// The other page decides nothing, and the device gets one pair however often it polls.
    async fn assert_one_pair(&self, what: &str) {
        for other in [Step::Agree(self.tickets[1].clone()), Step::Deny(self.tickets[1].clone())] {
            assert_eq!(other.run(&self.world).await.status, 400, "{what}");
        }
        let first = self.poll().await.pair();
        assert_eq!(self.poll().await.pair(), first, "{what}");
        assert_eq!(self.grants_of(&self.world.alice).await, 1, "{what}");
        assert!(self.world.opens(&first.access).await, "{what}");
        Step::Refresh(first.refresh).run(&self.world).await.good();
        let events = self.world.events.take();
        let count = |name: &str| events.iter().filter(|event| event.starts_with(name)).count();
        assert_eq!(count("CodeReplayed"), 0, "{what}: {events:?}");
        // None for a write whose answer was lost.
        assert!(count("Exchanged") <= 1 && count("DeviceApproved") <= 1, "{what}: {events:?}");
    }
}

/// Takes each step with a fault at each of its calls, and a second time where the first one was not acknowledged.
async fn at_every_call(script: impl Fn(usize) -> Calls, look: impl Fn(&Answer, &str)) {
    for taken in ALL {
        for call in 0.. {
            let scene = Scene::of(Profile::Mcp, taken).await;
            let script = script(call);
            let mut done = scene.step.run(&over(&scene.world, script.clone())).await;
            let Some(met) = script.met() else {
                assert!(call > 0, "{taken:?} calls the store");
                break;
            };
            let what = format!("{taken:?}, call {call}, {met}, {:?}: {done:?}", script.fate());
            look(&done, &what);
            if !done.is_good() {
                done = scene.again(taken, &what).await;
            }
            scene.assert_sound(taken, done, &what).await;
        }
    }
}

/// DEV-01
#[tokio::test]
async fn a_single_failure_is_reported_and_the_next_try_works() {
    for fate in FATES {
        at_every_call(
            |call| Calls::failing(call, fate),
            |done, what| {
                let is_reported = done.is_trouble() && fate != Fate::Repeated;
                assert!(done.is_good() || is_reported, "{what}");
            },
        )
        .await;
    }
}

/// DEV-01, 8628-3.4-02: an answer that is lost, and the read after it, cost nothing.
#[tokio::test]
async fn a_store_that_goes_away_after_a_write_leaves_what_was_written() {
    for fate in [Fate::FailsBefore(Failure::Transient), Fate::FailsAfter(Failure::Transient)] {
        at_every_call(
            |call| Calls::outage(call, fate),
            |done, what| assert!(done.is_good() || done.is_transient(), "{what}"),
        )
        .await;
    }
}

/// DEV-01
#[tokio::test]
async fn a_dropped_step_never_leaves_two_grants() {
    for taken in ALL {
        for polls in 1.. {
            let scene = Scene::of(Profile::Mcp, taken).await;
            let world = over(&scene.world, Waiting);
            let mut done = Answer::default();
            let is_complete = dropped_after(polls, async { done = scene.step.run(&world).await }).await;
            let what = format!("{taken:?}, dropped at wait {polls}");
            if !is_complete {
                done = scene.again(taken, &what).await;
            }
            scene.assert_sound(taken, done, &what).await;
            if is_complete {
                assert!(polls > 2, "{taken:?} waits for the store");
                break;
            }
        }
    }
}

/// Fails every call of that name before it is made.
fn without(name: &'static str) -> impl Script {
    move |call: &'static str| if call == name { Fate::FailsBefore(Failure::Transient) } else { Fate::Done }
}

/// 8628-5.5-01: the page of a code that was given back stays dead, even if its user types the code again.
#[tokio::test]
async fn the_page_of_a_code_that_was_given_back_is_dead() {
    let scene = Scene::of(Profile::Strict, Taken::Release).await;
    scene.step.run(&scene.world).await.good();
    let ticket = Step::TypeUserCode(scene.device.user_code.clone()).run(&scene.world).await.good().given;
    assert_eq!(Step::Agree(scene.tickets[0].clone()).run(&scene.world).await.status, 400);
    Step::Agree(ticket).run(&scene.world).await.good();
    assert!(scene.poll().await.is_good());
}

/// DEV-01: a decision that was claimed and not written is undecided. The form that claimed it finishes it.
#[tokio::test]
async fn the_form_that_claimed_a_decision_finishes_it() {
    for profile in [Profile::Strict, Profile::Platform, Profile::Mcp] {
        let scene = Scene::of(profile, Taken::Approve).await;
        let first = scene.step.run(&over(&scene.world, without("codes.replace"))).await;
        assert!(first.is_transient(), "{first:?}");
        assert_eq!(scene.poll().await.error, "authorization_pending");
        let other = scene.tickets[1].clone();
        for refused in [
            Step::Agree(other.clone()),
            Step::Deny(other.clone()),
            Step::GiveUserCodeBack(other),
            Step::TypeUserCode(scene.device.user_code.clone()),
        ] {
            assert_eq!(refused.run(&scene.world).await.status, 400, "{refused:?}");
        }
        scene.step.run(&scene.world).await.good();
        let pair = scene.poll().await.pair();
        assert_eq!(scene.poll().await.pair(), pair);
        assert_eq!(scene.grants_of(&scene.world.alice).await, 1);
    }
}

/// DEV-01: until then, the same form may also refuse. That is final.
#[tokio::test]
async fn the_form_that_claimed_a_decision_may_refuse_instead() {
    let scene = Scene::of(Profile::Strict, Taken::Approve).await;
    scene.step.run(&over(&scene.world, without("codes.replace"))).await;
    let [own, other] = scene.tickets.clone();
    Step::Deny(own.clone()).run(&scene.world).await.good();
    assert_eq!(scene.poll().await.error, "access_denied");
    for refused in [Step::Agree(own), Step::Agree(other)] {
        assert_eq!(refused.run(&scene.world).await.status, 400, "{refused:?}");
    }
    assert_eq!(scene.grants_of(&scene.world.alice).await, 0);
}

/// DEV-01: a denial that was claimed and not written is final: the device may have been refused already.
#[tokio::test]
async fn a_claimed_denial_is_final() {
    let scene = Scene::of(Profile::Strict, Taken::Deny).await;
    let first = scene.step.run(&over(&scene.world, without("codes.replace"))).await;
    assert!(first.is_transient(), "{first:?}");
    for ticket in scene.tickets.clone() {
        assert_eq!(Step::Agree(ticket).run(&scene.world).await.status, 400);
    }
    scene.step.run(&scene.world).await.good();
    assert_eq!(scene.poll().await.error, "access_denied");
}

/// DEV-01, DEV-02: a withdrawal between claim and decision ends both.
#[tokio::test]
async fn a_withdrawal_ends_what_was_claimed() {
    for withdrawal in [Step::WithdrawSubject, Step::WithdrawApplication] {
        let scene = Scene::of(Profile::Strict, Taken::Approve).await;
        scene.step.run(&over(&scene.world, without("codes.replace"))).await;
        withdrawal.run(&scene.world).await.good();
        assert_eq!(scene.step.run(&scene.world).await.status, 400, "{withdrawal:?}");
        assert_eq!(scene.poll().await.error, "access_denied", "{withdrawal:?}");
        assert_eq!(scene.grants_of(&scene.world.alice).await, 0, "{withdrawal:?}");
    }
}

/// DEV-02: a withdrawal that failed half-way is done by the next one. The device gets nothing afterwards.
#[tokio::test]
async fn a_withdrawal_that_failed_is_done_by_the_next_one() {
    for withdrawal in [Step::WithdrawSubject, Step::WithdrawApplication, Step::WithdrawClient] {
        for taken in [Taken::Approve, Taken::Redeem, Taken::RedeemAgain] {
            for fate in FATES {
                for call in 0.. {
                    let scene = Scene::of(Profile::Mcp, taken).await;
                    let script = Calls::failing(call, fate);
                    let first = withdrawal.run(&over(&scene.world, script.clone())).await;
                    let what = format!("{withdrawal:?}, {taken:?}, call {call}, {fate:?}: {first:?}");
                    if !first.is_good() {
                        assert!(first.is_trouble(), "{what}");
                        withdrawal.run(&scene.world).await.good();
                    }
                    // The epoch of a client ends no request that is still held.
                    let ends = taken != Taken::Approve || withdrawal_ends_pages(&withdrawal);
                    let refused = scene.poll().await.error;
                    assert!(["access_denied", "invalid_grant", "authorization_pending"].contains(&&*refused), "{what}");
                    let agreed = Step::Agree(scene.tickets[0].clone()).run(&scene.world).await;
                    assert!(!agreed.is_good() || !ends, "{what}: {agreed:?}");
                    assert!(scene.poll().await.pair.is_none(), "{what}");
                    assert_eq!(scene.grants_of(&scene.world.alice).await, 0, "{what}");
                    if script.met().is_none() {
                        break;
                    }
                }
            }
        }
    }
}

const fn withdrawal_ends_pages(withdrawal: &Step) -> bool {
    !matches!(withdrawal, Step::WithdrawClient)
}

/// NEG-07: a code that was redeemed is a replay after its grace, whatever fails. The next poll notices it.
#[tokio::test]
async fn a_replay_during_a_failure_is_seen_the_next_time() {
    for fate in FATES {
        for call in 0.. {
            let scene = Scene::of(Profile::Mcp, Taken::RedeemAgain).await;
            scene.world.advance(scene.world.server.config().refresh.grace.as_secs().max(60));
            let script = Calls::failing(call, fate);
            let answer = scene.step.run(&over(&scene.world, script.clone())).await;
            let Some(met) = script.met() else { break };
            let what = format!("{met}, {fate:?}: {answer:?}");
            assert!(answer.error == "invalid_grant" || answer.is_trouble() && fate != Fate::Repeated, "{what}");
            assert_eq!(scene.poll().await.error, "invalid_grant", "{what}");
            assert!(!scene.world.opens(&scene.pair.unwrap().access).await, "{what}");
        }
    }
}

/// Draws the same user code at some of its draws.
#[derive(Debug)]
struct SameCode {
    rest: SeededEntropy,
    /// Counts what is as long as a secret: a device's secret and its code in turn.
    drawn: AtomicUsize,
    same: &'static [usize],
}

impl SameCode {
    fn at(same: &'static [usize], seed: u64) -> Self {
        Self { rest: SeededEntropy::new(seed), drawn: AtomicUsize::new(0), same }
    }
}

impl Entropy for SameCode {
    fn fill(&self, bytes: &mut [u8]) {
        let is_code = bytes.len() == 32 && self.same.contains(&self.drawn.fetch_add(1, Ordering::SeqCst));
        if is_code { bytes.fill(7) } else { self.rest.fill(bytes) }
    }
}

/// 8628-6.1-03: while keys are rotated, a code that a server with another first key has given is drawn again. Each
/// server leads to the device that has it.
#[tokio::test]
async fn servers_with_other_first_keys_share_no_code() {
    for types_at_old in [true, false] {
        let world = world(Profile::Platform, |_| ()).await;
        let server = |keys: [u8; 2], seed: u64| {
            let mut config = world.server.config().clone();
            config.refresh.derivation_keys = keys.map(|key| DerivationKey::new([key; 32])).to_vec();
            let builder = world.builder(config, world.store.clone()).throttle(Attempts::default());
            World { server: builder.entropy(SameCode::at(&[1], seed)).build().unwrap(), ..copy(&world) }
        };
        let (old, new) = (server([1, 2], 3), server([2, 1], 4));
        let (first, second) = (asked(&old).await, asked(&new).await);
        assert_ne!(first.user_code, second.user_code);
        let server = if types_at_old { &old } else { &new };
        for device in [&second, &first] {
            let ticket = typed_by(server, &device.user_code, &world.alice).await.unwrap();
            Step::Agree(ticket).run(server).await.good();
            assert!(Step::Poll(device.device_code.clone()).run(server).await.is_good());
        }
    }
}

/// A request whose code was that of another one is stored again with new codes, which lead to its device, whatever
/// fails.
#[tokio::test]
async fn a_code_that_is_drawn_again_leads_to_its_device() {
    for fate in FATES {
        for call in 0.. {
            let world = world(Profile::Platform, |config| config.limits.device_requests = 1).await;
            let ask = async |script: Calls, seed| {
                let hooks = |builder: Builder| builder.throttle(Attempts::default()).entropy(SameCode::at(&[1], seed));
                Step::AskForDevice.run(&over_with(&world, script, hooks)).await
            };
            let user_code = |answer: &Answer| answer.given.split_once(' ').map(|(_, code)| code.to_owned());
            let first = ask(Calls::recorded(), 3).await.good();
            world.advance(1);
            let script = Calls::failing(call, fate);
            let second = ask(script.clone(), 4).await;
            let Some(met) = script.met() else { break };
            if !second.is_good() {
                continue;
            }
            let (device_code, _) = second.given.split_once(' ').unwrap();
            assert_ne!(user_code(&second), user_code(&first), "{met}, {fate:?}");
            let ticket = typed_by(&world, &user_code(&second).unwrap(), &world.alice).await;
            let ticket = ticket.unwrap_or_else(|error| panic!("{met}, {fate:?}: {error:?}"));
            Step::Agree(ticket).run(&world).await.good();
            assert!(Step::Poll(device_code.to_owned()).run(&world).await.is_good(), "{met}, {fate:?}");
        }
    }
}
