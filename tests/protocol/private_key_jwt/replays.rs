//! An assertion is used once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use grantor::Timestamp;
use grantor::store::Stores;
use grantor::testing::SeededEntropy;
use grantor::wire::Endpoint;
use serde_json::json;

use super::{OTHER, Scene, asserted};
use support::attempts::{Attempts, Noted};
use support::intercepted::{Failure, Fate, Intercepted, Script};
use support::world::{ISSUER, PKCE, VERIFIER, World, e401, ok};

/// 7523-3-03, NEG-7523-01
#[tokio::test]
async fn an_assertion_works_once() {
    let scene = Scene::new().await;
    let first = scene.good();
    assert!(scene.accepts(&first).await);
    scene.world.events.take();
    assert!(!scene.accepts(&first).await);
    assert!(scene.reason().contains("used before"));
    let code = scene.world.code_for(&scene.world.query(&PKCE)).await;
    let exchange = [("grant_type", "authorization_code"), ("code", &*code), ("code_verifier", VERIFIER)];
    e401(&asserted(scene.world.token(&exchange), &first).send().await, "invalid_client");
    let again = scene.post(Endpoint::Introspection, &first).send().await;
    assert_eq!((again.status(), scene.post(Endpoint::Introspection, &first).send().await), (401, again));
    ok(&asserted(scene.world.token(&exchange), &scene.good()).send().await);
    // Its identifier is used up, regardless of what else the assertion contains.
    let id = |jti: &str| scene.claiming(json!({"jti": jti, "exp": scene.now() + 500}));
    assert!(scene.accepts(&id("7")).await);
    assert!(!scene.accepts(&scene.claiming(json!({"jti": "7"}))).await);
    assert!(scene.accepts(&id("07")).await);
    let of_other = scene.signer.another().named("two").assertion(OTHER, ISSUER, scene.now(), |_, claims| {
        claims["jti"] = json!("7");
    });
    assert!(scene.accepts(&of_other).await, "each client has its own identifiers");
}

/// 7523-3-03
#[tokio::test]
async fn the_record_lasts_as_long_as_the_assertion() {
    let scene = Scene::new().await;
    let assertion = scene.good();
    assert!(scene.accepts(&assertion).await);
    // 60 s of life and 30 s of skew.
    scene.advance(89);
    let _ = scene.world.purge(100).await;
    assert!(!scene.accepts(&assertion).await);
    assert!(scene.world.events.take().join(" ").contains("used before"));
    scene.advance(1);
    let _ = scene.world.purge(100).await;
    assert!(!scene.accepts(&assertion).await);
    assert!(scene.reason().contains("expired"));
}

/// 7523-3-03
///
/// The clocks of servers may differ by a minute: a record that one server purges has expired for all.
#[tokio::test]
async fn a_purge_by_a_fast_clock_frees_no_assertion() {
    let scene = Scene::new().await;
    let assertion = scene.good();
    assert!(scene.accepts(&assertion).await);
    scene.advance(89 + 60);
    let _ = scene.world.purge(100).await;
    scene.world.clock.set(Timestamp::from_seconds(support::world::START + 89));
    scene.world.events.take();
    assert!(!scene.accepts(&assertion).await);
    assert!(scene.reason().contains("used before"));
}

/// 7523-3-03
#[tokio::test]
async fn an_identifier_has_1_to_256_bytes() {
    let scene = Scene::new().await;
    for (jti, is_accepted) in [
        (json!("x".repeat(256)), true),
        (json!("x".repeat(257)), false),
        (json!("\u{e4}".repeat(128)), true),
        (json!("\u{e4}".repeat(129)), false),
        (json!("\u{0}"), true),
        (json!(""), false),
        (json!(7), false),
    ] {
        assert_eq!(scene.accepts(&scene.claiming(json!({"jti": jti}))).await, is_accepted, "{jti}");
    }
}

/// A replay store that can be made to fail, and counts its calls.
#[derive(Clone, Default)]
struct Failing {
    fails: Arc<AtomicBool>,
    inserts: Arc<AtomicUsize>,
}

#[async_trait]
impl Script for Failing {
    async fn before(&self, call: &'static str) -> Fate {
        assert_eq!(call, "replays.insert");
        self.inserts.fetch_add(1, Ordering::SeqCst);
        if self.fails.load(Ordering::SeqCst) { Fate::FailsBefore(Failure::Transient) } else { Fate::Done }
    }
}

/// The scene on a replay store that can fail.
async fn failing() -> (Scene, Failing) {
    let mut scene = Scene::new().await;
    let failing = Failing::default();
    let world = &scene.world;
    let replays = Intercepted::new(world.store.clone(), failing.clone());
    let stores = Stores::new(world.store.clone()).with_clients(scene.directory.clone()).with_replays(replays);
    let builder = world.builder(world.server.config().clone(), stores);
    scene.world.server = builder.entropy(SeededEntropy::new(9)).build().unwrap();
    (scene, failing)
}

/// 7523-3-07, NEG-7523-01
#[tokio::test]
async fn a_failing_replay_store_refuses() {
    let (scene, replays) = failing().await;
    replays.fails.store(true, Ordering::SeqCst);
    let assertion = scene.good();
    let code = scene.world.code_for(&scene.world.query(&PKCE)).await;
    let exchange = [("grant_type", "authorization_code"), ("code", &*code), ("code_verifier", VERIFIER)];
    for call in [asserted(scene.world.token(&exchange), &assertion), scene.post(Endpoint::Introspection, &assertion)] {
        let response = call.send().await;
        assert_eq!((response.status(), response.header("Retry-After")), (503, Some("1")));
        assert!(!String::from_utf8_lossy(response.body()).contains("invalid_client"));
    }
    let events = scene.world.events.take().join(" ");
    assert!(events.contains("Refused") && !events.contains("AuthenticationFailed"), "{events}");
    replays.fails.store(false, Ordering::SeqCst);
    assert!(scene.accepts(&assertion).await);
}

/// 7523-3-07
#[tokio::test]
async fn a_refused_assertion_uses_up_nothing() {
    let (scene, replays) = failing().await;
    let jti = json!({"jti": "one"});
    let wrong = scene.of(&scene.signer.another().named("one"), |_, claims| super::set(claims, &jti));
    assert!(!scene.accepts(&wrong).await);
    for claims in [json!({"aud": "x"}), json!({"exp": 1}), json!({"iss": OTHER}), json!({"sub": OTHER})] {
        let claims = [jti.clone(), claims].into_iter().fold(json!({}), |mut all, some| {
            super::set(&mut all, &some);
            all
        });
        assert!(!scene.accepts(&scene.claiming(claims)).await);
    }
    assert_eq!(replays.inserts.load(Ordering::SeqCst), 0);
    assert!(scene.accepts(&scene.claiming(jti)).await);
    assert_eq!(replays.inserts.load(Ordering::SeqCst), 1);
}

/// 7523-3-03, 9449-11.1-01
///
/// Otherwise anyone with a client could fill the store with requests that are refused.
#[tokio::test]
async fn a_request_that_is_refused_records_nothing() {
    let (scene, replays) = failing().await;
    let code = scene.world.code_for(&scene.world.query(&PKCE)).await;
    let exchange = |verifier| [("grant_type", "authorization_code"), ("code", &*code), ("code_verifier", verifier)];
    let assertion = scene.good();
    let other = "another-verifier-of-43-characters-or-more-0123456789";
    for form in [
        &[("grant_type", "refresh_token"), ("refresh_token", "x")][..],
        &[("grant_type", "unknown")],
        &[("grant_type", "authorization_code"), ("code", "x"), ("code_verifier", VERIFIER)],
        &exchange(other),
    ] {
        let answer = asserted(scene.world.token(form), &assertion).send().await;
        assert_eq!(answer.status(), 400, "{form:?}");
    }
    let unknown = World::strict().await.pair().await.access;
    for (endpoint, form, status) in [
        (Endpoint::Revocation, &[][..], 400),
        (Endpoint::Revocation, &[("token", "x")], 200),
        (Endpoint::Revocation, &[("token", &*unknown)], 200),
        (Endpoint::Introspection, &[], 400),
    ] {
        let answer = asserted(scene.world.post(endpoint, form), &assertion).send().await;
        assert_eq!(answer.status(), status, "{endpoint:?} {form:?}");
    }
    assert_eq!(replays.inserts.load(Ordering::SeqCst), 0);
    ok(&asserted(scene.world.token(&exchange(VERIFIER)), &assertion).send().await);
    assert_eq!(replays.inserts.load(Ordering::SeqCst), 1);
    // It revokes nothing either: whoever captured the whole request cannot end the grant with it.
    e401(&asserted(scene.world.token(&exchange(VERIFIER)), &assertion).send().await, "invalid_client");
    assert!(!scene.world.events.take().iter().any(|event| event.starts_with("CodeReplayed")));
}

/// 7523-3-03
///
/// The throttle is informed of a success only after the assertion was recorded, so a captured one gains nothing.
#[tokio::test]
async fn the_throttle_counts_a_second_use_as_a_failure() {
    let attempts = Attempts::default();
    let taken = || {
        let calls = attempts.take();
        assert!(calls.iter().all(|call| call.noted == Noted::Checked || call.client.as_deref() == Some(super::ID)));
        assert!(calls.iter().all(|call| call.network.as_deref() == Some("192.0.2.1")), "{calls:?}");
        [Noted::Checked, Noted::Failed, Noted::Authenticated]
            .map(|noted| calls.iter().filter(|call| call.noted == noted).count())
    };
    let config = Scene::new().await.world.server.config().clone();
    let scene = Scene::built(config, |builder| builder.throttle(attempts.clone())).await;
    let assertion = scene.good();
    assert!(scene.accepts(&assertion).await);
    assert_eq!(taken(), [1, 0, 1]);
    assert!(!scene.accepts(&assertion).await);
    assert_eq!(taken(), [1, 1, 0]);
    assert!(!scene.accepts(&scene.claiming(json!({"aud": "x"}))).await);
    assert_eq!(taken(), [1, 1, 0]);
}
