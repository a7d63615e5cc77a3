//! Decisions and codes: each works once.

use grantor::Approval;
use grantor::client::AskConsent;
use grantor::id::GrantId;

use crate::interleavings::explore::{
    Move, Scene, Waits, decide_silently, each, in_every_order, in_every_order_where, in_many_orders,
};
use support::intercepted::step::{Answer, Step};
use support::world::{Pair, World, form};

/// A scene about a code that was just issued.
async fn about_a_code(others: impl AsyncFn(&World, &str) -> Vec<Step>) -> Scene {
    let world = World::platform().await;
    let code = world.code().await;
    let mut steps = vec![Step::Exchange(code.clone())];
    steps.extend(others(&world, &code).await);
    Scene { world, tasks: each(steps), pair: no_pair(), pairs_made: 1 }
}

fn no_pair() -> Pair {
    Pair { access: String::new(), refresh: String::new(), scope: String::new() }
}

/// A scene about a request that is shown to its user.
async fn about_a_request(steps: impl Fn(String) -> Vec<Step>) -> Scene {
    let world = World::platform().await;
    let handle = Step::Hold.run(&world).await.good().given;
    Scene { world, tasks: each(steps(handle)), pair: no_pair(), pairs_made: 1 }
}

#[test]
fn two_exchanges_give_one_pair_which_the_replay_takes_back() {
    in_every_order(
        "exchange, exchange",
        Waits::CodesAndTokens,
        async || about_a_code(async |_, code| vec![Step::Exchange(code.to_owned())]).await,
        async |scene, answers| {
            let given: Vec<_> = answers.iter().flatten().filter_map(|answer| answer.pair.as_ref()).collect();
            assert_eq!(given.len(), 1, "a code is redeemed once: {answers:?}");
            let refused = answers.iter().flatten().filter(|answer| answer.error == "invalid_grant");
            assert_eq!(refused.count(), 1, "{answers:?}");
            assert!(scene.world.is_dead(given[0]).await, "a replay revokes everything: {answers:?}");
            assert_eq!(scene.world.live_grants().await, 0);
        },
    );
}

#[test]
fn a_replay_ends_what_a_refresh_brings_meanwhile() {
    in_every_order(
        "replay, refresh",
        Waits::CodesAndTokens,
        async || {
            let world = World::platform().await;
            let code = world.code().await;
            let pair = Step::Exchange(code.clone()).run(&world).await.pair();
            let tasks = each([Step::Exchange(code), Step::Refresh(pair.refresh.clone())]);
            Scene { world, tasks, pair, pairs_made: 1 }
        },
        async |scene, answers| {
            assert_eq!(answers[0][0].error, "invalid_grant", "{answers:?}");
            for pair in answers[1][0].pair.iter().chain([&scene.pair]) {
                assert!(scene.world.is_dead(pair).await, "{answers:?}");
            }
            assert!(answers[1][0].is_good() || answers[1][0].error == "invalid_grant", "{answers:?}");
        },
    );
}

/// A way to withdraw the grant of a code, and where its tasks may change.
type Withdrawal = (Waits, fn(&str) -> Step);

#[test]
fn a_grant_that_is_withdrawn_beats_an_exchange() {
    withdrawals_beat_an_exchange(&[(Waits::CodesAndTokens, |code| Step::WithdrawGrant(id_in(code)))]);
}

#[test]
#[ignore = "tries three more ways to withdraw"]
fn whatever_is_withdrawn_beats_an_exchange() {
    withdrawals_beat_an_exchange(&[
        (Waits::CodesAndTokens, |_| Step::WithdrawSubject),
        (Waits::CodesAndTokens, |_| Step::WithdrawApplication),
        (Waits::All, |_| Step::WithdrawClient),
    ]);
}

fn withdrawals_beat_an_exchange(ways: &[Withdrawal]) {
    for (waits, taking) in ways.iter().copied() {
        let scene = async move || about_a_code(async |_, code| vec![taking(code)]).await;
        in_every_order("exchange, withdrawal", waits, scene, async |scene, answers| {
            assert!(answers[1][0].is_good(), "{answers:?}");
            match &answers[0][0].pair {
                Some(pair) => assert!(scene.world.is_dead(pair).await, "{answers:?}"),
                None => assert_eq!(answers[0][0].error, "invalid_grant", "{answers:?}"),
            }
            let [Move::Take(exchange)] = scene.tasks[0].as_slice() else { unreachable!() };
            assert_eq!(exchange.run(&scene.world).await.error, "invalid_grant", "the code is dead: {answers:?}");
            assert_eq!(scene.world.live_grants().await, 0);
        });
    }
}

#[test]
fn a_suspension_leaves_no_exchange_a_token_that_opens() {
    in_every_order(
        "exchange, suspension",
        Waits::All,
        async || about_a_code(async |_, _| vec![Step::Suspend]).await,
        async |scene, answers| {
            let (exchanged, suspended) = (&answers[0][0], &answers[1][0]);
            assert!(suspended.is_good(), "{answers:?}");
            if let Some(pair) = &exchanged.pair {
                assert!(!scene.world.opens(&pair.access).await, "{answers:?}");
                Step::Resume.run(&scene.world).await.good();
                assert!(scene.is_live(pair).await, "what was acknowledged is not lost: {answers:?}");
            } else {
                assert_eq!((exchanged.status, exchanged.error.as_str()), (401, "invalid_client"));
            }
        },
    );
}

/// How many of the decisions were taken; the others report that the request is decided.
fn taken(answers: &[Vec<Answer>]) -> usize {
    let (good, others): (Vec<_>, Vec<_>) = answers.iter().flatten().partition(|answer| answer.is_good());
    assert!(others.iter().all(|answer| (answer.status, answer.error.as_str()) == (400, "")), "{answers:?}");
    good.len()
}

/// How many events with that name there were, and how many of a decision.
fn decided(events: &[String]) -> usize {
    let names = ["CodeIssued", "Denied"];
    events.iter().filter(|event| names.iter().any(|name| event.starts_with(name))).count()
}

/// The same decision gets the same response both times; of two decisions, one is taken.
#[test]
fn a_request_is_decided_once() {
    for second in [Step::Agree, Step::Deny] {
        let scene = async move || about_a_request(|handle| vec![Step::Agree(handle.clone()), second(handle)]).await;
        in_every_order("decision, decision", Waits::CodesAndTokens, scene, async |scene, answers| {
            let [Move::Take(second)] = scene.tasks[1].as_slice() else { unreachable!() };
            let good = if matches!(second, Step::Agree(_)) { 2 } else { 1 };
            assert_eq!(taken(answers), good, "{answers:?}");
            let events = scene.world.events.take();
            assert_eq!(decided(&events), 1, "{answers:?} {events:?}");
            let mut codes: Vec<_> = answers.iter().flatten().map(|answer| answer.given.clone()).collect();
            codes.retain(|code| !code.is_empty());
            codes.dedup();
            assert!(codes.len() <= 1, "{answers:?}");
            for code in codes {
                let pair = Step::Exchange(code).run(&scene.world).await.pair();
                assert!(scene.is_live(&pair).await, "what was acknowledged is not lost: {answers:?}");
            }
        });
    }
}

/// The browser sends the same answer twice, and the client exchanges whatever code it gets, as often as it gets it: one
/// exchange succeeds, and its grant stays.
#[test]
fn two_answers_and_two_exchanges_make_one_grant_that_lives() {
    for reads_settled in [true, false] {
        let scene = async move || {
            let world = World::platform().await;
            let handle = Step::Hold.run(&world).await.good().given;
            let click = || vec![Step::Agree(handle.clone()).into(), Move::ExchangeGiven];
            Scene { world, tasks: vec![click(), click()], pair: no_pair(), pairs_made: 0 }
        };
        let (name, waits) = ("two answers with their exchanges", Waits::CodesAndTokens);
        in_every_order_where(reads_settled, name, waits, scene, async |scene, answers| {
            let pairs: Vec<_> = answers.iter().flatten().filter_map(|answer| answer.pair.clone()).collect();
            let [pair] = pairs.as_slice() else { panic!("{answers:?}") };
            assert!(scene.is_live(pair).await, "{answers:?}");
            assert_eq!(scene.world.live_grants().await, 1, "{answers:?}");
            assert!(!scene.world.events.saw("CodeReplayed"), "{answers:?}");
        });
    }
}

/// The same beside a withdrawal: nothing that was given before it works after it.
#[test]
fn a_withdrawal_beats_two_answers_and_two_exchanges() {
    let ways: [fn(&str) -> Step; 3] =
        [|_| Step::WithdrawSubject, |_| Step::WithdrawApplication, |handle| Step::WithdrawGrant(id_in(handle))];
    for taking in ways {
        let scene = async move || {
            let world = World::platform().await;
            let handle = Step::Hold.run(&world).await.good().given;
            let click = || vec![Step::Agree(handle.clone()).into(), Move::ExchangeGiven];
            let tasks = vec![click(), click(), vec![taking(&handle).into()]];
            Scene { world, tasks, pair: no_pair(), pairs_made: 0 }
        };
        in_many_orders("two answers with their exchanges, withdrawal", scene, async |scene, answers| {
            assert!(answers[2][0].is_good(), "{answers:?}");
            assert!(answers.iter().flatten().filter(|answer| answer.pair.is_some()).count() <= 1, "{answers:?}");
            assert_eq!(scene.world.live_grants().await, 0, "{answers:?}");
            assert!(!scene.world.events.saw("CodeReplayed"), "{answers:?}");
        });
    }
}

#[test]
fn what_is_withdrawn_beats_a_decision() {
    let ways: [fn(&str) -> Step; 3] =
        [|_| Step::WithdrawSubject, |_| Step::WithdrawApplication, |handle| Step::WithdrawGrant(id_in(handle))];
    for taking in ways {
        let scene = async move || {
            about_a_request(|handle| {
                let taking = taking(&handle);
                vec![Step::Agree(handle), taking]
            })
            .await
        };
        in_every_order("decision, withdrawal", Waits::CodesAndTokens, scene, async |scene, answers| {
            assert!(answers[1][0].is_good(), "{answers:?}");
            if answers[0][0].is_good() {
                let code = answers[0][0].given.clone();
                assert_eq!(Step::Exchange(code).run(&scene.world).await.error, "invalid_grant", "{answers:?}");
            }
            assert_eq!(scene.world.live_grants().await, 0);
        });
    }
}

/// A decision without a page, by a remembered consent, beside a withdrawal of what it was given for.
async fn about_a_remembered_consent(taking: Step) -> Scene {
    let mut world = World::strict().await;
    world.client = world.register_as(form(), Approval::default().ask_consent(AskConsent::Once)).await;
    let pair = world.pair().await;
    // Without the code, the withdrawal meets the grant alone.
    world.advance(86_400);
    Step::Purge.run(&world).await.good();
    Scene { world, tasks: vec![vec![Move::DecideSilently], vec![taking.into()]], pair, pairs_made: 1 }
}

/// The consent gave no code that outlasts the withdrawal.
async fn assert_forgotten(scene: &Scene, answers: &[Vec<Answer>]) {
    assert!(answers[1][0].is_good(), "{answers:?}");
    let code = answers[0][0].given.clone();
    if !code.is_empty() {
        assert_eq!(Step::Exchange(code).run(&scene.world).await.error, "invalid_grant", "{answers:?}");
    }
    assert_eq!(scene.world.live_grants().await, 0, "{answers:?}");
    assert_eq!(decide_silently(&scene.world).await.good().given, "", "{answers:?}");
}

#[test]
fn what_is_withdrawn_beats_a_remembered_consent() {
    for taking in [Step::WithdrawApplication, Step::WithdrawClient] {
        let scene = async move || about_a_remembered_consent(taking.clone()).await;
        in_many_orders("decision without a page, withdrawal", scene, async |scene, answers| {
            assert_forgotten(scene, answers).await;
        });
    }
}

#[test]
#[ignore = "tries 19 158 schedules"]
fn whatever_the_order_a_remembered_consent_ends_with_its_grant() {
    let scene = async || about_a_remembered_consent(Step::WithdrawApplication).await;
    let (name, waits) = ("decision without a page, withdrawal", Waits::CodesAndTokens);
    in_every_order(name, waits, scene, async |scene, answers| assert_forgotten(scene, answers).await);
}

/// If a request is ended while another one takes over its record, the withdrawal ends nothing newer, and what was
/// approved of the old one is dead.
#[test]
fn a_request_that_takes_a_record_over_meets_a_decision_and_a_withdrawal() {
    for is_withdrawn in [true, false] {
        let scene = async move || {
            let other = if is_withdrawn { Step::WithdrawApplication } else { Step::Hold };
            let world = World::platform().await;
            let handle = Step::Hold.run(&world).await.good().given;
            // The next request takes the first one's record.
            for _ in 1..10 {
                world.advance(1);
                Step::Hold.run(&world).await.good();
            }
            Scene { world, tasks: each([Step::Agree(handle), Step::Hold, other]), pair: no_pair(), pairs_made: 1 }
        };
        in_many_orders("decision, hold, another", scene, async |scene, answers| {
            assert!(answers[1][0].is_good() && answers[2][0].is_good(), "{answers:?}");
            let was_withdrawn = answers[2][0].given.is_empty();
            if answers[0][0].is_good() {
                let exchanged = Step::Exchange(answers[0][0].given.clone()).run(&scene.world).await;
                assert_eq!(exchanged.is_good(), !was_withdrawn, "{answers:?}");
            }
            let later = [&answers[1][0].given, &answers[2][0].given].into_iter().filter(|handle| !handle.is_empty());
            let mut alive = 0;
            for handle in later {
                alive += usize::from(Step::Agree(handle.clone()).run(&scene.world).await.is_good());
            }
            assert!(alive > 0 || was_withdrawn, "{answers:?}");
        });
    }
}

/// Where a handle and a code have the id of their record.
fn id_in(secret: &str) -> GrantId {
    secret[3..25].parse().unwrap()
}
