//! The use of an assertion is recorded once, even if the store fails or the request is dropped.

use futures::future::join_all;
use grantor::client::{AuthenticationMethod, AuthenticationMethods};
use grantor::config::Profile;
use grantor::wire::{Endpoint, Response};
use grantor::{Clock as _, Config};
use support::intercepted::scripts::{Calls, Yielding};
use support::intercepted::{Failure, Fate, over};
use support::keys::{Signer, unchanged};
use support::world::{Credentials, PKCE, Pair, VERIFIER, World, e401, form, ok, pair};

use crate::waiting::{Waiting, dropped_after};

const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

fn with_keys(config: &mut Config) {
    config.client_authentication.methods = AuthenticationMethods::SECRET.with(AuthenticationMethod::PrivateKeyJwt);
}

/// A world with a client that signs, and a grant of it.
struct Scene {
    world: World,
    client: Credentials,
    signer: Signer,
    pair: Pair,
}

impl Scene {
    async fn new() -> Self {
        let world = World::with(Profile::Platform, with_keys).await;
        let signer = Signer::es256();
        let mut form = form();
        form.authentication_methods = AuthenticationMethods::KEY;
        form.jwks = Some(signer.key_set());
        let client = world.register(form).await;
        let code = world.code_for(&world.query_of(&client, &PKCE)).await;
        let mut scene = Self {
            world,
            client,
            signer,
            pair: Pair { access: String::new(), refresh: String::new(), scope: String::new() },
        };
        let exchange = [("grant_type", "authorization_code"), ("code", &*code), ("code_verifier", VERIFIER)];
        scene.pair = pair(&send(&scene.world, &exchange, &scene.assertion()).await);
        scene
    }

    fn assertion(&self) -> String {
        let now = self.world.clock.now().seconds().into();
        self.signer.assertion(&self.client.id, self.world.server.issuer(), now, unchanged)
    }

    /// A refresh, over the store of that world.
    async fn refresh(&self, world: &World, assertion: &str) -> Response {
        send(world, &[("grant_type", "refresh_token"), ("refresh_token", &self.pair.refresh)], assertion).await
    }

    /// Whether the assertion was recorded. After this call, it is.
    async fn is_recorded(&self, assertion: &str) -> bool {
        let token = ("token", &*self.pair.access);
        let form = [token, ("client_assertion_type", JWT_BEARER), ("client_assertion", assertion)];
        let answer = self.world.post(Endpoint::Introspection, &form).send().await;
        let is_known = answer.status() == 401;
        assert!(is_known || String::from_utf8_lossy(answer.body()).contains("\"active\":true"));
        is_known
    }
}

async fn send(world: &World, form: &[(&str, &str)], assertion: &str) -> Response {
    let form = [form, &[("client_assertion_type", JWT_BEARER), ("client_assertion", assertion)]].concat();
    world.token(&form).send().await
}

/// 7523-3-07
#[tokio::test]
async fn a_failing_replay_store_consumes_nothing_else() {
    for (failure, status) in [(Failure::Transient, 503), (Failure::Permanent, 500)] {
        for (fate, is_recorded) in [(Fate::FailsBefore(failure), false), (Fate::FailsAfter(failure), true)] {
            let scene = Scene::new().await;
            let assertion = scene.assertion();
            scene.world.events.take();
            // The third call is the record of the assertion.
            let script = Calls::failing(2, fate);
            let response = scene.refresh(&over(&scene.world, script.clone()), &assertion).await;
            assert_eq!(response.status(), status, "{fate:?}");
            assert_eq!(script.take(), ["clients.find", "tokens.find", "replays.insert"], "{fate:?}");
            let events = scene.world.events.take();
            assert!(events.len() == 1 && events[0].starts_with("Refused"), "{events:?}");
            assert_eq!(scene.is_recorded(&assertion).await, is_recorded, "{fate:?}");
            // The client continues with a new assertion.
            ok(&scene.refresh(&scene.world, &scene.assertion()).await);
        }
    }
}

/// 7523-3-03
#[tokio::test]
async fn a_single_failure_makes_no_assertion_work_twice() {
    for fate in [Fate::FailsBefore(Failure::Transient), Fate::FailsAfter(Failure::Transient), Fate::Repeated] {
        for at in 0.. {
            let scene = Scene::new().await;
            let assertion = scene.assertion();
            let script = Calls::failing(at, fate);
            let response = scene.refresh(&over(&scene.world, script.clone()), &assertion).await;
            let case = format!("{fate:?} {at}: {response:?}");
            // A record that is sent twice counts as a second use.
            assert!(matches!(response.status(), 200 | 503) || fate == Fate::Repeated, "{case}");
            if response.status() == 200 {
                e401(&scene.refresh(&scene.world, &assertion).await, "invalid_client");
            }
            assert!(scene.world.opens(&scene.pair.access).await, "{case}");
            ok(&scene.refresh(&scene.world, &scene.assertion()).await);
            if script.met().is_none() {
                assert!(at > 3, "{case}");
                break;
            }
        }
    }
}

/// 7523-3-07
///
/// A request that is dropped between verification and record uses nothing up. One that is dropped later uses up its
/// assertion at most.
#[tokio::test]
async fn a_dropped_request_uses_up_its_assertion_at_most() {
    let mut seen = [false; 2];
    for polls in 1.. {
        let scene = Scene::new().await;
        let assertion = scene.assertion();
        let slow = over(&scene.world, Waiting);
        let is_done = dropped_after(polls, scene.refresh(&slow, &assertion)).await;
        seen[usize::from(scene.is_recorded(&assertion).await)] = true;
        assert!(scene.is_recorded(&assertion).await);
        assert!(scene.world.opens(&scene.pair.access).await);
        ok(&scene.refresh(&scene.world, &scene.assertion()).await);
        if is_done {
            break;
        }
    }
    assert_eq!(seen, [true, true]);
}

/// 7523-3-03
#[tokio::test]
async fn of_requests_that_wait_at_every_call_one_is_accepted() {
    let scene = Scene::new().await;
    let assertion = scene.assertion();
    let slow = over(&scene.world, Yielding);
    let answers = join_all((0..50).map(|_| scene.refresh(&slow, &assertion))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status() == 200).count(), 1);
    assert!(answers.iter().all(|answer| matches!(answer.status(), 200 | 401)));
}
