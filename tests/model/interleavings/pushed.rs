//! A pushed request is decided once, however many pages show it.

use grantor::config::Profile;
use grantor::config::PushedRequests;

use crate::interleavings::explore::{Scene, Waits, each, in_every_order_where, in_many_orders};
use support::intercepted::step::{Answer, Step};
use support::world::{Pair, SESSION, World};

/// A scene about pages for one pushed request, each with what its user answers.
async fn about_pages(decisions: Vec<fn(String) -> Step>) -> Scene {
    let world = World::with(Profile::Platform, |config| config.pushed_requests.mode = PushedRequests::Optional).await;
    let uri = world.push().await;
    let mut steps = Vec::new();
    for decision in decisions {
        let pending = world.authorize(&world.reference(&uri)).await.unwrap();
        let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
        steps.push(decision(handle.expose().to_owned()));
    }
    let pair = Pair { access: String::new(), refresh: String::new(), scope: String::new() };
    Scene { world, tasks: each(steps), pair, pairs_made: 1 }
}

/// One decision was taken, and there is a code if it was an approval.
async fn assert_one(scene: &Scene, answers: &[Vec<Answer>]) {
    let (good, others): (Vec<_>, Vec<_>) = answers.iter().flatten().partition(|answer| answer.is_good());
    assert_eq!(good.len(), 1, "{answers:?}");
    assert!(others.iter().all(|answer| (answer.status, answer.error.as_str()) == (400, "")), "{answers:?}");
    let codes = scene.world.server.authorizations_of(&scene.world.alice).await.unwrap().len();
    assert_eq!(codes, usize::from(!good[0].given.is_empty()), "{answers:?}");
}

/// 9126-4-03
#[test]
fn of_two_pages_one_is_answered() {
    type Decision = fn(String) -> Step;
    let cases: [(Decision, bool); 3] = [(Step::Agree, true), (Step::Agree, false), (Step::Deny, true)];
    for (second, reads_settled) in cases {
        let scene = async move || about_pages(vec![Step::Agree, second]).await;
        let (name, waits) = ("two pages of a pushed request", Waits::CodesAndTokens);
        in_every_order_where(reads_settled, name, waits, scene, async |scene, answers| {
            assert_one(scene, answers).await;
        });
    }
}

/// 9126-4-03
#[test]
fn of_many_pages_one_is_answered() {
    let scene = async || about_pages(vec![Step::Agree, Step::Deny, Step::Agree, Step::Agree]).await;
    in_many_orders("pages of a pushed request", scene, async |scene, answers| assert_one(scene, answers).await);
}
