//! A device's code belongs to one user, its request is decided once, and it gets one pair of tokens.

use grantor::Subject;
use grantor::config::Profile;

use crate::interleavings::explore::{Move, Scene, Waits, each, in_every_order_where, in_many_orders};
use support::devices::{asked, typed_by, world};
use support::intercepted::step::{Answer, Step};
use support::world::{Pair, World};

/// A device that asked, and the tickets of two pages that its user got for its code.
struct Device {
    world: World,
    device_code: String,
    user_code: String,
    tickets: Vec<String>,
}

impl Device {
    async fn asked() -> Self {
        let world = world(Profile::Mcp, |_| ()).await;
        let codes = asked(&world).await;
        Self { world, device_code: codes.device_code, user_code: codes.user_code, tickets: Vec::new() }
    }

    async fn typed() -> Self {
        let mut device = Self::asked().await;
        for _ in 0..2 {
            device.tickets.push(typed_by(&device.world, &device.user_code, &device.world.alice).await.unwrap());
        }
        device
    }

    async fn approved() -> Self {
        let device = Self::typed().await;
        Step::Agree(device.tickets[0].clone()).run(&device.world).await.good();
        device
    }

    /// The scene of these tasks. Its codes and the ticket of its other page are in the place of a pair.
    fn scene(mut self, tasks: Vec<Vec<Move>>) -> Scene {
        let other = self.tickets.pop().unwrap_or_default();
        let pair = Pair { access: self.device_code, refresh: other, scope: self.user_code };
        Scene { world: self.world, tasks, pair, pairs_made: 1 }
    }

    fn poll(&self) -> Step {
        Step::Poll(self.device_code.clone())
    }

    fn type_code(&self) -> Step {
        Step::TypeUserCode(self.user_code.clone())
    }
}

fn bob() -> Subject {
    Subject::new("bob").unwrap()
}

fn by_bob(step: Step) -> Step {
    Step::By(bob(), step.into())
}

/// A poll when all tasks have ended.
async fn poll(scene: &Scene) -> Answer {
    Step::Poll(scene.pair.access.clone()).run(&scene.world).await
}

fn type_code(scene: &Scene) -> Step {
    Step::TypeUserCode(scene.pair.scope.clone())
}

fn is_page(answer: &Answer) -> bool {
    (answer.status, answer.error.as_str()) == (400, "")
}

/// Whether a poll was answered that the user has not decided.
fn is_undecided(answer: &Answer) -> bool {
    ["authorization_pending", "slow_down"].contains(&answer.error.as_str())
}

/// All polls that gave tokens gave the same pair, the next one gives it as well, and it works.
async fn assert_one_pair(scene: &Scene, answers: &[Vec<Answer>]) {
    let pair = poll(scene).await.pair();
    assert!(answers.iter().flatten().filter_map(|answer| answer.pair.as_ref()).all(|own| *own == pair), "{answers:?}");
    assert!(scene.is_live(&pair).await, "{answers:?}");
    let events = scene.world.events.take();
    let count = |name: &str| events.iter().filter(|event| event.starts_with(name)).count();
    assert_eq!((count("Exchanged"), count("CodeReplayed")), (1, 0), "{events:?}");
}

/// No pair that was given works, and no poll gives one.
async fn assert_dead(scene: &Scene, answers: &[Vec<Answer>]) {
    let refused = poll(scene).await;
    assert!(["invalid_grant", "access_denied"].contains(&refused.error.as_str()), "{refused:?} after {answers:?}");
    for pair in answers.iter().flatten().filter_map(|answer| answer.pair.as_ref()) {
        assert!(scene.world.is_dead(pair).await, "{answers:?}");
    }
    assert_eq!(scene.world.live_grants().await, 0, "{answers:?}");
}

/// Runs every order over a store whose reads are not settled. Where nothing is confirmed, these are all orders.
fn explored<S, L>(name: &'static str, scene: S, look: L)
where
    S: AsyncFn() -> Scene + Send + Sync + 'static,
    L: AsyncFn(&Scene, &[Vec<Answer>]) + Send + Sync + 'static,
{
    explored_where(false, name, scene, look);
}

fn explored_where<S, L>(reads_settled: bool, name: &'static str, scene: S, look: L)
where
    S: AsyncFn() -> Scene + Send + Sync + 'static,
    L: AsyncFn(&Scene, &[Vec<Answer>]) + Send + Sync + 'static,
{
    in_every_order_where(reads_settled, name, Waits::CodesAndTokens, scene, async move |scene, answers| {
        look(scene, answers).await;
    });
}

/// Who takes a step.
type By = fn(Step) -> Step;

/// 8628-5.5-01
#[test]
fn of_two_users_who_type_a_code_one_has_it() {
    let scene = async || {
        let device = Device::asked().await;
        let tasks = each([device.type_code(), by_bob(device.type_code())]);
        device.scene(tasks)
    };
    in_many_orders("two users, one code", scene, async |scene, answers| {
        let [alice, bob] = [&answers[0][0], &answers[1][0]];
        assert!(alice.is_good() != bob.is_good(), "{answers:?}");
        assert!(alice.is_good() || is_page(alice), "{answers:?}");
        assert!(bob.is_good() || is_page(bob), "{answers:?}");
        let (own, other): (By, By) = if alice.is_good() { (|step| step, by_bob) } else { (by_bob, |step| step) };
        assert!(is_page(&other(type_code(scene)).run(&scene.world).await), "{answers:?}");
        assert!(is_undecided(&poll(scene).await), "{answers:?}");
        let ticket = if alice.is_good() { &alice.given } else { &bob.given };
        own(Step::Agree(ticket.clone())).run(&scene.world).await.good();
        assert_one_pair(scene, answers).await;
        assert_eq!(scene.world.live_grants().await, usize::from(alice.is_good()), "{answers:?}");
    });
}

/// DEV-01, NEG-08
#[test]
fn of_two_pages_of_a_device_one_is_answered() {
    two_pages(false);
}

#[test]
#[ignore = "tries as many orders again"]
fn of_two_pages_of_a_device_one_is_answered_where_reads_are_settled() {
    two_pages(true);
}

fn two_pages(reads_settled: bool) {
    // The same page twice, and two pages.
    for (first, second) in [(0, 0), (0, 1)] {
        for answer in [Step::Agree as fn(String) -> Step, Step::Deny] {
            let scene = async move || {
                let device = Device::typed().await;
                let tasks = each([Step::Agree(device.tickets[first].clone()), answer(device.tickets[second].clone())]);
                device.scene(tasks)
            };
            explored_where(reads_settled, "two pages of a device", scene, async |scene, answers| {
                let [first, second] = [&answers[0][0], &answers[1][0]];
                assert!([first, second].into_iter().all(|own| own.is_good() || is_page(own)), "{answers:?}");
                let [[Move::Take(one)], [Move::Take(step)]] = [&*scene.tasks[0], &*scene.tasks[1]] else {
                    unreachable!()
                };
                // The same answer to the same page is one answer.
                let is_same = format!("{one:?}") == format!("{step:?}");
                assert_eq!(first.is_good() == second.is_good(), is_same, "{answers:?}");
                assert!(first.is_good() || second.is_good(), "{answers:?}");
                if first.is_good() || matches!(step, Step::Agree(_)) {
                    assert_one_pair(scene, answers).await;
                } else {
                    assert_dead(scene, answers).await;
                }
            });
        }
    }
}

/// DEV-01, 8628-3.5-01
#[test]
fn a_poll_beside_a_decision_is_undecided_or_answered() {
    for answer in [Step::Agree as fn(String) -> Step, Step::Deny] {
        let scene = async move || {
            let device = Device::typed().await;
            let polls = vec![device.poll().into(), device.poll().into()];
            let tasks = vec![vec![answer(device.tickets[0].clone()).into()], polls];
            device.scene(tasks)
        };
        explored("decision, two polls", scene, async |scene, answers| {
            assert!(answers[0][0].is_good(), "{answers:?}");
            let [Move::Take(step)] = scene.tasks[0].as_slice() else { unreachable!() };
            let is_approved = matches!(step, Step::Agree(_));
            let is_answer = |own: &Answer| if is_approved { own.is_good() } else { own.error == "access_denied" };
            let [first, second] = [&answers[1][0], &answers[1][1]];
            assert!([first, second].into_iter().all(|own| is_answer(own) || is_undecided(own)), "{answers:?}");
            assert!(!is_answer(first) || is_answer(second), "what was decided stays decided: {answers:?}");
            if is_approved { assert_one_pair(scene, answers).await } else { assert_dead(scene, answers).await }
        });
    }
}

/// DEV-01, 8628-3.4-02
#[test]
#[ignore = "tries 7,000 orders"]
fn two_polls_get_one_pair() {
    for reads_settled in [true, false] {
        two_polls(reads_settled);
    }
}

fn two_polls(reads_settled: bool) {
    let scene = async || {
        let device = Device::approved().await;
        let tasks = each([device.poll(), device.poll()]);
        device.scene(tasks)
    };
    explored_where(reads_settled, "two polls", scene, async |scene, answers| {
        assert!(answers.iter().flatten().all(Answer::is_good), "{answers:?}");
        assert_one_pair(scene, answers).await;
    });
}

/// 8628-3.4-02
#[test]
fn of_many_polls_one_redeems_and_all_get_its_pair() {
    let scene = async || {
        let device = Device::approved().await;
        let tasks = each(vec![device.poll(); 5]);
        device.scene(tasks)
    };
    in_many_orders("5 polls", scene, async |scene, answers| {
        assert!(answers.iter().flatten().all(Answer::is_good), "{answers:?}");
        assert_one_pair(scene, answers).await;
    });
}

/// NEG-08
#[test]
fn a_late_answer_of_another_page_beside_a_poll_changes_nothing() {
    for answer in [Step::Agree as fn(String) -> Step, Step::Deny, Step::GiveUserCodeBack] {
        let scene = async move || {
            let device = Device::approved().await;
            let tasks = each([answer(device.tickets[1].clone()), device.poll()]);
            device.scene(tasks)
        };
        explored("late answer, poll", scene, async |scene, answers| {
            assert!(is_page(&answers[0][0]) && answers[1][0].is_good(), "{answers:?}");
            assert_one_pair(scene, answers).await;
        });
    }
}

/// 8628-5.5-01: a code that was given back was not approved. If both meet half-way, nobody gets anything.
#[test]
fn a_code_is_given_back_or_approved() {
    for (back, approved) in [(0, 0), (0, 1)] {
        let scene = async move || {
            let device = Device::typed().await;
            let back = Step::GiveUserCodeBack(device.tickets[back].clone());
            let tasks = each([back, Step::Agree(device.tickets[approved].clone())]);
            device.scene(tasks)
        };
        explored("given back, approved", scene, async |scene, answers| {
            let [back, agreed] = [&answers[0][0], &answers[1][0]];
            assert!([back, agreed].into_iter().all(|own| own.is_good() || is_page(own)), "{answers:?}");
            if agreed.is_good() {
                assert!(!back.is_good(), "{answers:?}");
                return assert_one_pair(scene, answers).await;
            }
            if !back.is_good() {
                return assert_dead(scene, answers).await;
            }
            assert!(is_undecided(&poll(scene).await), "{answers:?}");
            let ticket = by_bob(type_code(scene)).run(&scene.world).await.good().given;
            by_bob(Step::Agree(ticket)).run(&scene.world).await.good();
            assert_one_pair(scene, answers).await;
            assert_eq!(scene.world.live_grants().await, 0, "it is of the other user: {answers:?}");
        });
    }
}

/// 8628-5.5-01
#[test]
fn a_code_that_is_given_back_is_the_next_users() {
    let scene = async || {
        let device = Device::typed().await;
        let back = Step::GiveUserCodeBack(device.tickets[0].clone());
        let tasks = each([back, by_bob(device.type_code())]);
        device.scene(tasks)
    };
    explored("given back, typed", scene, async |scene, answers| {
        assert!(answers[0][0].is_good(), "{answers:?}");
        assert!(answers[1][0].is_good() || is_page(&answers[1][0]), "{answers:?}");
        let ticket = match &answers[1][0] {
            typed if typed.is_good() => typed.given.clone(),
            _ => by_bob(type_code(scene)).run(&scene.world).await.good().given,
        };
        by_bob(Step::Agree(ticket)).run(&scene.world).await.good();
        assert_one_pair(scene, answers).await;
        assert_eq!(scene.world.live_grants().await, 0, "{answers:?}");
    });
}

/// The ways in which what a device may have is withdrawn, by the ticket of its page.
const WITHDRAWALS: [fn(&str) -> Step; 3] = [
    |_| Step::WithdrawSubject,
    |_| Step::WithdrawApplication,
    |ticket| Step::WithdrawGrant(ticket[3..25].parse().unwrap()),
];

/// DEV-01, DEV-02: a poll that begins after the withdrawal has returned gets nothing.
#[test]
fn what_is_withdrawn_beats_an_approval() {
    for (number, taking) in WITHDRAWALS.into_iter().enumerate() {
        let scene = async move || {
            let device = Device::typed().await;
            let withdrawal = vec![taking(&device.tickets[0]).into(), device.poll().into()];
            let tasks = vec![vec![Step::Agree(device.tickets[0].clone()).into()], withdrawal];
            device.scene(tasks)
        };
        in_many_orders("approval, withdrawal and poll", scene, async move |scene, answers| {
            assert!(answers[1][0].is_good(), "{answers:?}");
            assert_eq!(answers[1][1].pair, None, "{answers:?}");
            if !is_undecided(&poll(scene).await) {
                return assert_dead(scene, answers).await;
            }
            // It was withdrawn before it was claimed: the user may type the code again.
            assert!(is_page(&answers[0][0]), "{answers:?}");
            let other = scene.pair.refresh.clone();
            // The other page was withdrawn as well, unless the grant alone was.
            assert_eq!(Step::Agree(other).run(&scene.world).await.is_good(), number == 2, "{answers:?}");
        });
    }
}

/// DEV-01, DEV-02
#[test]
fn what_is_withdrawn_beats_a_redemption() {
    for taking in WITHDRAWALS {
        let scene = async move || {
            let device = Device::approved().await;
            let withdrawal = vec![taking(&device.tickets[0]).into(), device.poll().into()];
            let tasks = vec![vec![device.poll().into()], withdrawal];
            device.scene(tasks)
        };
        in_many_orders("poll, withdrawal and poll", scene, async |scene, answers| {
            assert!(answers[1][0].is_good(), "{answers:?}");
            assert_eq!(answers[1][1].error, "invalid_grant", "{answers:?}");
            assert!(answers[0][0].is_good() || answers[0][0].error == "invalid_grant", "{answers:?}");
            assert_dead(scene, answers).await;
            assert!(!scene.world.events.saw("CodeReplayed"), "{answers:?}");
        });
    }
}

/// DEV-02: every order of the shortest withdrawal, over a store whose reads are settled.
#[test]
fn in_every_order_a_withdrawn_grant_beats_approval_and_redemption() {
    let (name, waits) = ("withdrawal of the grant", Waits::CodesAndTokens);
    for is_approved in [false, true] {
        let scene = async move || {
            let device = if is_approved { Device::approved().await } else { Device::typed().await };
            let ticket = device.tickets[0].clone();
            let step = if is_approved { device.poll() } else { Step::Agree(ticket.clone()) };
            let tasks = each([step, WITHDRAWALS[2](&ticket)]);
            device.scene(tasks)
        };
        in_every_order_where(true, name, waits, scene, async |scene, answers| {
            assert!(answers[1][0].is_good(), "{answers:?}");
            if is_undecided(&poll(scene).await) {
                return assert!(!answers[0][0].is_good(), "{answers:?}");
            }
            assert_dead(scene, answers).await;
        });
    }
}

/// DEV-02: a device that lost its answer polls again while its grant is withdrawn.
#[test]
fn what_is_withdrawn_beats_a_repeated_poll() {
    for taking in WITHDRAWALS {
        let scene = async move || {
            let device = Device::approved().await;
            device.poll().run(&device.world).await.good();
            let tasks = each([device.poll(), taking(&device.tickets[0])]);
            device.scene(tasks)
        };
        in_many_orders("repeated poll, withdrawal", scene, async |scene, answers| {
            assert!(answers[1][0].is_good(), "{answers:?}");
            assert_dead(scene, answers).await;
            assert!(!scene.world.events.saw("CodeReplayed"), "{answers:?}");
        });
    }
}

/// DEV-02: the client's epoch ends what a device was approved or given before.
#[test]
fn what_is_withdrawn_of_the_client_beats_a_redemption() {
    let scene = async || {
        let device = Device::approved().await;
        let tasks = vec![vec![device.poll().into()], vec![Step::WithdrawClient.into(), device.poll().into()]];
        device.scene(tasks)
    };
    in_many_orders("poll, withdrawal of the client and poll", scene, async |scene, answers| {
        assert!(answers[1][0].is_good(), "{answers:?}");
        assert_eq!(answers[1][1].error, "invalid_grant", "{answers:?}");
        assert_dead(scene, answers).await;
    });
}

/// DEV-01: all at once. Tokens that were given before the withdrawal are dead after it, and none are given later.
#[test]
fn after_a_withdrawal_among_decisions_and_polls_nothing_works() {
    for taking in WITHDRAWALS {
        let scene = async move || {
            let device = Device::typed().await;
            let [agree, deny] = [Step::Agree(device.tickets[0].clone()), Step::Deny(device.tickets[1].clone())];
            let polls = vec![device.poll().into(), Move::RefreshGiven, device.poll().into()];
            // The grant has the id of the page that was approved.
            let withdrawal = vec![taking(&device.tickets[0]).into(), device.poll().into()];
            let tasks = vec![vec![agree.into()], polls, withdrawal, vec![deny.into()]];
            device.scene(tasks)
        };
        in_many_orders("approval, denial, polls, withdrawal", scene, async |scene, answers| {
            assert!(answers[2][0].is_good(), "{answers:?}");
            assert_eq!(answers[2][1].pair, None, "{answers:?}");
            if is_undecided(&poll(scene).await) {
                assert!(!answers[0][0].is_good() && !answers[3][0].is_good(), "{answers:?}");
                return assert_eq!(scene.world.live_grants().await, 0, "{answers:?}");
            }
            assert_dead(scene, answers).await;
        });
    }
}

/// DEV-01: 32 decisions of one subject.
#[test]
fn of_many_decisions_one_is_taken() {
    let scene = async || {
        let device = Device::typed().await;
        let [one, other] = [device.tickets[0].clone(), device.tickets[1].clone()];
        let four = [Step::Agree(one.clone()), Step::Deny(other.clone()), Step::Agree(other), Step::Deny(one)];
        let tasks = each(four.into_iter().cycle().take(32));
        device.scene(tasks)
    };
    in_many_orders("32 decisions", scene, async |scene, answers| {
        let taken = |kind: fn(&Step) -> bool| {
            let all = scene.tasks.iter().zip(answers);
            let own = all.filter(|(task, own)| matches!(&task[0], Move::Take(step) if kind(step)) && own[0].is_good());
            own.count()
        };
        let (agreed, denied) =
            (taken(|step| matches!(step, Step::Agree(_))), taken(|step| matches!(step, Step::Deny(_))));
        assert!(answers.iter().flatten().all(|own| own.is_good() || is_page(own)), "{answers:?}");
        match (agreed, denied) {
            // The same answer to one page, sent again, is one approval.
            (1..=8, 0) => assert_one_pair(scene, answers).await,
            // Two refusals of one request count as one.
            (0, 1..) => assert_dead(scene, answers).await,
            other => panic!("{other:?}: {answers:?}"),
        }
    });
}

/// DEV-08: a request that nobody typed gives way, and one that was typed does not.
#[test]
fn a_request_gives_way_or_is_typed() {
    let scene = async || {
        let world = world(Profile::Mcp, |config| config.limits.device_requests = 1).await;
        let codes = asked(&world).await;
        let device = Device { world, device_code: codes.device_code, user_code: codes.user_code, tickets: Vec::new() };
        let tasks = each([device.type_code(), Step::AskForDevice]);
        device.scene(tasks)
    };
    in_many_orders("typed, replaced", scene, async |scene, answers| {
        let [typed, asked] = [&answers[0][0], &answers[1][0]];
        assert!(typed.is_good() != asked.is_good(), "{answers:?}");
        if typed.is_good() {
            assert_eq!(asked.status, 429, "{answers:?}");
            Step::Agree(typed.given.clone()).run(&scene.world).await.good();
            return assert_one_pair(scene, answers).await;
        }
        assert!(is_page(typed), "{answers:?}");
        assert_eq!(poll(scene).await.error, "invalid_grant", "{answers:?}");
        let (device_code, user_code) = asked.given.split_once(' ').unwrap();
        let ticket = Step::TypeUserCode(user_code.to_owned()).run(&scene.world).await.good().given;
        Step::Agree(ticket).run(&scene.world).await.good();
        Step::Poll(device_code.to_owned()).run(&scene.world).await.good();
    });
}
