//! Steps of a review: another try does the step again, or finds it done.

use grantor::Subject;
use grantor::client::ClientState;

use crate::cancellation::{Scene, at_every_await};
use support::intercepted::step::{Answer, Step};
use support::world::{Credentials, Reviewer as _, With as _, World, form, logo};

#[tokio::test]
async fn a_dropped_resumption_took_effect_or_can_be_asked_for_again() {
    let scene = async || {
        let prepare = async |world: &World, _: &_| {
            Step::Suspend.run(world).await.good();
            Step::Resume
        };
        Scene::new(prepare).await
    };
    at_every_await(scene, async |scene, answer| {
        let opens = scene.world.opens(&scene.pair.access).await;
        assert!(answer.is_none() || opens, "an acknowledged resumption is lost");
        // A second resumption is refused, because the application is in use already.
        assert_eq!(scene.step.run(&scene.world).await.is_good(), !opens);
        assert!(scene.world.opens(&scene.pair.access).await);
        scene.bystander_lives().await;
    })
    .await;
}

#[tokio::test]
async fn a_dropped_rejection_took_effect_or_can_be_given_again() {
    let scene = async || {
        let prepare = async |world: &World, _: &_| {
            let developer = Subject::new("developer").unwrap();
            let registrar = world.server.registrar().unwrap();
            Step::RejectApplication(registrar.submit(developer, form(), Some(logo())).await.unwrap())
        };
        Scene::new(prepare).await
    };
    at_every_await(scene, async |scene, answer| {
        let Step::RejectApplication(id) = &scene.step else { unreachable!() };
        let registrar = scene.world.server.registrar().unwrap();
        let state = async || registrar.client(id).await.unwrap().state();
        assert!(answer.is_none() || state().await == ClientState::Rejected, "an acknowledged rejection is lost");
        let is_open = state().await == ClientState::Pending;
        assert_eq!(scene.step.run(&scene.world).await.is_good(), is_open);
        assert_eq!(state().await, ClientState::Rejected);
        scene.bystander_lives().await;
    })
    .await;
}

#[tokio::test]
async fn a_dropped_retirement_of_a_secret_is_done_by_the_next_one() {
    let scene = async || {
        let prepare = async |world: &World, _: &_| {
            Step::RotateSecret.run(world).await.good();
            Step::RetireSecret
        };
        Scene::new(prepare).await
    };
    at_every_await(scene, async |scene, answer| {
        let with_the_old_one = async || Answer::from(scene.world.refresh(&scene.pair.refresh).await);
        assert!(answer.is_none() || with_the_old_one().await.status == 401, "an acknowledged retirement is lost");
        scene.step.run(&scene.world).await.good();
        assert_eq!(with_the_old_one().await.status, 401);
        let secret = Step::RotateSecret.run(&scene.world).await.good().given;
        let client = Credentials { secret, ..scene.world.client.clone() };
        Answer::from(scene.world.refresh_as(&client, &scene.bystander.refresh).await).good();
    })
    .await;
}

#[tokio::test]
async fn a_dropped_approval_of_a_change_took_effect_or_can_be_given_again() {
    let scene = async || {
        let prepare = async |world: &World, _: &_| {
            let smaller = form().with(|form| form.scopes = "repo-code:r".into());
            let registrar = world.server.registrar().unwrap();
            registrar.change_now(&world.client.client_id(), smaller, None).await.unwrap();
            Step::ApproveChange
        };
        Scene::new(prepare).await
    };
    at_every_await(scene, async |scene, answer| {
        let scopes = async || scene.world.access(&scene.pair.access).await.unwrap().scopes().to_string();
        let is_done = scopes().await == "repo-code:r";
        assert!(answer.is_none() || is_done, "an acknowledged approval is lost");
        assert_eq!(scene.step.run(&scene.world).await.is_good(), !is_done);
        assert_eq!(scopes().await, "repo-code:r");
        scene.bystander_lives().await;
    })
    .await;
}
