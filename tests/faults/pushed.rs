//! A pushed request while a call of the store fails, or the future of a step is dropped.

use grantor::config::Profile;
use grantor::config::PushedRequests;
use grantor::{AuthorizationError, Consent, Decision};

use crate::FATES;
use crate::waiting::{Waiting, dropped_after};
use support::intercepted::over;
use support::intercepted::scripts::Calls;
use support::intercepted::step::Answer;
use support::world::{PKCE, SESSION, World};

/// What is done to a pushed request, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    Push,
    /// A browser presents it before its user has signed in.
    Visit,
    Hold,
    Approve,
    Deny,
}

const ALL: [Taken; 5] = [Taken::Push, Taken::Visit, Taken::Hold, Taken::Approve, Taken::Deny];

/// A pushed request with two open pages.
struct Scene {
    world: World,
    uri: String,
    handles: [String; 2],
}

impl Scene {
    async fn new() -> Self {
        let world = World::with(Profile::Strict, |config| config.pushed_requests.mode = PushedRequests::Optional).await;
        let uri = world.push().await;
        let mut handles = [String::new(), String::new()];
        for handle in &mut handles {
            *handle = hold(&world, &uri).await.unwrap();
        }
        Self { world, uri, handles }
    }

    /// Takes the step on a world with this scene's store.
    async fn take(&self, taken: Taken, world: &World) -> Answer {
        let done = Answer { status: 200, ..Answer::default() };
        let made = |result: Result<String, AuthorizationError>| result.map_or_else(Answer::from, |_| done.clone());
        match taken {
            Taken::Push => {
                let answer = Answer::from(world.par(&world.client, &PKCE).send().await);
                if answer.status == 201 { done } else { answer }
            }
            Taken::Visit => made(world.visit(&world.reference(&self.uri), b"new", None).await.map(|_| String::new())),
            Taken::Hold => made(hold(world, &self.uri).await),
            Taken::Approve => decide(world, &self.handles[0], Decision::Approve(Consent::to_everything())).await,
            Taken::Deny => {
                let answer = decide(world, &self.handles[0], Decision::Deny).await;
                if answer.error == "access_denied" { done } else { answer }
            }
        }
    }

    async fn codes(&self) -> usize {
        self.world.server.authorizations_of(&self.world.alice).await.unwrap().len()
    }

    /// Asserts that nothing that happened, and no other page, makes a second code, or one after a refusal.
    async fn assert_sound(&self, taken: Taken, what: &str) {
        let before = self.codes().await;
        let other = decide(&self.world, &self.handles[1], Decision::Approve(Consent::to_everything())).await;
        let expected = match taken {
            Taken::Push | Taken::Visit | Taken::Hold => (0, true, 1),
            Taken::Approve => (1, false, 1),
            Taken::Deny => (0, false, 0),
        };
        assert_eq!((before, other.is_good(), self.codes().await), expected, "{what}: {other:?}");
    }
}

async fn hold(world: &World, uri: &str) -> Result<String, AuthorizationError> {
    let pending = world.visit(&world.reference(uri), SESSION, Some(&world.alice)).await?;
    Ok(world.server.hold(&pending, &world.alice, SESSION).await?.expose().to_owned())
}

async fn decide(world: &World, handle: &str, decision: Decision) -> Answer {
    match world.server.decide(handle, &world.alice, SESSION, &decision).await {
        Ok(response) => response.into(),
        Err(error) => error.into(),
    }
}

/// 9126-2.3-01, 9126-4-03
#[tokio::test]
async fn a_single_failure_is_reported_and_the_next_try_works() {
    for taken in ALL {
        for fate in FATES {
            for call in 0.. {
                let scene = Scene::new().await;
                let script = Calls::failing(call, fate);
                let first = scene.take(taken, &over(&scene.world, script.clone())).await;
                if script.met().is_none() {
                    assert!(call > 0, "{taken:?} calls the store");
                    break;
                }
                let what = format!("{taken:?}, call {call}, {fate:?}: {first:?}");
                assert!(first.is_good() || first.is_trouble(), "{what}");
                if !first.is_good() {
                    scene.take(taken, &scene.world).await.good();
                }
                scene.assert_sound(taken, &what).await;
            }
        }
    }
}

/// 9126-4-03: a dropped decision was taken or not; the same page has the code, or there is none.
#[tokio::test]
async fn a_dropped_step_never_leaves_two_codes() {
    for taken in ALL {
        for polls in 1.. {
            let scene = Scene::new().await;
            let world = over(&scene.world, Waiting);
            let is_complete = dropped_after(polls, scene.take(taken, &world)).await;
            let what = format!("{taken:?}, dropped at wait {polls}");
            if !is_complete {
                // A decision that was applied before the drop gets the same response.
                let again = scene.take(taken, &scene.world).await;
                assert!(again.is_good(), "{what}: {again:?}");
            }
            scene.assert_sound(taken, &what).await;
            if is_complete {
                assert!(polls > 2, "{taken:?} waits for the store");
                break;
            }
        }
    }
}
