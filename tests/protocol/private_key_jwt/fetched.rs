//! Key sets by URL.

use std::time::Duration;

use futures::future::join_all;
use grantor::fetch::{FetchErrorKind, FetchResponse};
use grantor::wire::Endpoint;
use serde_json::json;

use super::{ID, KEYS_URL, OTHER, Scene, by_url, key_set};
use crate::cimd::web::json as answer;
use support::keys::Signer;
use support::world::ISSUER;

/// Asserts `503` at every endpoint, which does not count as failed authentication.
async fn is_unavailable(scene: &Scene) {
    for endpoint in [Endpoint::Token, Endpoint::Revocation, Endpoint::Introspection] {
        let response = scene.post(endpoint, &scene.good()).send().await;
        assert_eq!((response.status(), response.header("Retry-After")), (503, Some("1")));
        let body = String::from_utf8_lossy(response.body());
        assert!(body.contains("temporarily_unavailable"), "{body}");
    }
    let events = scene.world.events.take().join(" ");
    assert!(events.contains("KeysUnavailable") && !events.contains("AuthenticationFailed"), "{events}");
}

/// Returns an assertion with another `kid`, signed with a key that is not the client's.
fn forged(scene: &Scene, place: usize) -> String {
    scene.by(&scene.signer.another().named(&format!("forged-{place}")))
}

/// 7517-5-12
#[tokio::test]
async fn a_key_set_is_fetched_once_while_it_is_fresh() {
    let scene = Scene::by_url().await;
    for _ in 0..3 {
        assert!(scene.accepts(&scene.good()).await);
        scene.advance(1000);
    }
    scene.advance(599);
    assert!(scene.accepts(&scene.good()).await);
    assert_eq!(scene.web.take(), [KEYS_URL]);
    scene.advance(1);
    assert!(scene.accepts(&scene.good()).await);
    assert_eq!(scene.web.take(), [KEYS_URL]);
}

/// 7517-5-12: one more than may wait is answered with the old set, if there is one.
#[tokio::test]
async fn two_hundred_and_fifty_six_requests_share_one_fetch() {
    for (has_set, expected) in [(false, 503), (true, 200)] {
        let scene = Scene::by_url().await;
        if has_set {
            assert!(scene.accepts(&scene.good()).await);
            scene.advance(3600);
        }
        scene.web.take();
        scene.web.shut();
        let opened = async {
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            scene.web.open();
        };
        let requests = join_all((0..256).map(|_| async { scene.accepts(&scene.good()).await }));
        let late = scene.good();
        let late = scene.post(Endpoint::Revocation, &late).send();
        let (accepted, late, ()) = futures::join!(requests, late, opened);
        assert!(accepted.iter().all(|accepted| *accepted));
        assert_eq!(late.status(), expected, "too many wait, {has_set}");
        assert_eq!(scene.web.count(), 1);
    }
}

/// 7517-5-12
#[tokio::test]
async fn a_failure_leaves_the_old_set_until_it_is_stale() {
    let scene = Scene::by_url().await;
    assert!(scene.accepts(&scene.good()).await);
    let large = "x".repeat(70_000);
    for bad in [
        FetchResponse::new(404, ""),
        FetchResponse::new(500, key_set(&[&scene.signer]).to_string()),
        answer("{}"),
        answer("[]"),
        answer("not json"),
        answer(r#"{"keys": {}}"#),
        answer(json!({"keys": [], "pad": large}).to_string()),
        answer(json!({"keys": vec![json!({"kty": "x"}); 33]}).to_string()),
    ] {
        scene.advance(3600);
        scene.web.answer(KEYS_URL, bad);
        scene.web.take();
        for _ in 0..3 {
            assert!(scene.accepts(&scene.good()).await);
        }
        assert_eq!(scene.web.count(), 1, "one fetch in a pause");
    }
    scene.web.fail(KEYS_URL, FetchErrorKind::TimedOut);
    // The set was fetched at the start; 8 of 24 hours have passed.
    scene.advance(86_400 - 8 * 3600 - 1);
    assert!(scene.accepts(&scene.good()).await);
    scene.world.events.take();
    scene.advance(1);
    is_unavailable(&scene).await;
    scene.publish(&[&scene.signer]);
    scene.advance(60);
    assert!(scene.accepts(&scene.good()).await);
}

/// 7517-5-12
#[tokio::test]
async fn a_failure_is_no_empty_set_and_is_not_repeated_at_once() {
    let scene = Scene::by_url().await;
    scene.web.fail(KEYS_URL, FetchErrorKind::Connection);
    is_unavailable(&scene).await;
    assert_eq!(scene.web.count(), 1);
    scene.publish(&[&scene.signer]);
    scene.advance(59);
    is_unavailable(&scene).await;
    assert_eq!(scene.web.count(), 0);
    scene.advance(1);
    assert!(scene.accepts(&scene.good()).await);
    assert_eq!(scene.web.count(), 1);
}

/// 7517-5-12
#[tokio::test]
async fn an_empty_set_is_a_set() {
    let scene = Scene::by_url().await;
    scene.web.publish(KEYS_URL, json!({"keys": []}));
    assert!(!scene.accepts(&scene.good()).await);
    assert!(scene.reason().contains("no key of the client"));
}

/// 7517-5-12
#[tokio::test]
async fn only_https_is_fetched() {
    let scene = Scene::new().await;
    for url in ["http://app.example/keys.json", "keys.json", "", "ftp://app.example/keys.json"] {
        scene.directory.put(by_url(ID, url));
        is_unavailable(&scene).await;
    }
    assert_eq!(scene.web.count(), 0);
}

/// 7517-5-13
#[tokio::test]
async fn a_client_that_rotates_its_key_is_served_after_one_fetch() {
    let scene = Scene::by_url().await;
    assert!(scene.accepts(&scene.good()).await);
    let next = scene.signer.another().named("next");
    scene.publish(&[&scene.signer, &next]);
    scene.advance(60);
    scene.web.take();
    for _ in 0..5 {
        assert!(scene.accepts(&scene.by(&next)).await);
        assert!(scene.accepts(&scene.good()).await);
    }
    assert_eq!(scene.web.count(), 1);
    // The same without `kid`: no key of the cached set made the signature.
    let third = Signer::ed25519();
    scene.publish(&[&third]);
    scene.advance(60);
    for _ in 0..5 {
        assert!(scene.accepts(&scene.by(&third)).await);
    }
    assert_eq!(scene.web.count(), 1);
    assert!(!scene.accepts(&scene.good()).await, "the old key is gone");
}

/// 7517-5-13
#[tokio::test]
async fn forged_key_ids_lead_to_one_fetch_in_a_pause() {
    let scene = Scene::by_url().await;
    assert!(scene.accepts(&scene.good()).await);
    for is_failing in [false, true] {
        scene.advance(60);
        scene.web.take();
        if is_failing {
            scene.web.fail(KEYS_URL, FetchErrorKind::Connection);
        }
        let accepted = join_all((0..1000).map(|place| {
            let assertion = forged(&scene, place);
            let scene = &scene;
            async move { scene.accepts(&assertion).await }
        }));
        assert!(accepted.await.iter().all(|accepted| !accepted));
        assert_eq!(scene.web.count(), 1);
        assert!(scene.accepts(&scene.good()).await, "the key set stays");
        assert_eq!(scene.web.count(), 0);
    }
}

/// 7517-5-13
#[tokio::test]
async fn nothing_is_fetched_for_an_assertion_that_cannot_pass() {
    let scene = Scene::by_url().await;
    for claims in [
        json!({"aud": "https://other.example"}),
        json!({"aud": null}),
        json!({"iss": OTHER}),
        json!({"exp": 1}),
        json!({"exp": null}),
        json!({"jti": null}),
    ] {
        assert!(!scene.accepts(&scene.claiming(claims)).await);
    }
    for header in [json!({"alg": "HS256"}), json!({"typ": "dpop+jwt"}), json!({"crit": ["x"]}), json!({"kid": 7})] {
        assert!(!scene.accepts(&scene.headed(header)).await);
    }
    assert!(!scene.accepts("a.b.c").await);
    let basic = super::builder(ID).keys(grantor::client::ClientKeys::Url(KEYS_URL.into()));
    scene.directory.put(basic.authentication_methods(grantor::client::AuthenticationMethods::SECRET).build());
    assert!(!scene.accepts(&scene.good()).await);
    let other_algorithm =
        super::builder(ID).options(|own| own.signing_algorithm = Some(grantor::jose::SigningAlgorithm::Ps256));
    scene.directory.put(other_algorithm.keys(grantor::client::ClientKeys::Url(KEYS_URL.into())).build());
    assert!(!scene.accepts(&scene.good()).await);
    assert_eq!(scene.web.count(), 0);
}

/// 7517-5-13
#[tokio::test]
async fn a_wrong_signature_under_a_known_kid_leads_to_no_fetch() {
    let scene = Scene::by_url().await;
    assert!(scene.accepts(&scene.good()).await);
    scene.advance(60);
    scene.web.take();
    assert!(!scene.accepts(&scene.by(&scene.signer.another().named("one"))).await);
    assert_eq!(scene.web.count(), 0);
}

/// NEG-JOSE-04
#[tokio::test]
async fn forged_key_ids_of_one_client_hold_up_no_other() {
    let scene = Scene::by_url().await;
    let other_url = "https://other.example/keys.json";
    // Two clients even share a URL.
    for url in [other_url, KEYS_URL] {
        scene.directory.put(by_url(OTHER, url));
        let of_other = scene.signer.another().named("two");
        let by_other = |signer: &Signer| signer.assertion(OTHER, ISSUER, scene.now(), |_, _| {});
        scene.web.publish(url, key_set(&[&scene.signer, &of_other]));
        scene.advance(3600);
        assert!(scene.accepts(&scene.good()).await);
        assert!(scene.accepts(&by_other(&of_other)).await);
        scene.advance(60);
        scene.web.take();
        for place in 0..1000 {
            assert!(!scene.accepts(&forged(&scene, place)).await);
        }
        assert_eq!(scene.web.take(), [KEYS_URL]);
        // The other client rotates its key and is served at once.
        let next = Signer::ed25519().named("next");
        scene.web.publish(url, key_set(&[&scene.signer, &next]));
        assert!(scene.accepts(&by_other(&next)).await);
        assert_eq!(scene.web.take(), [url]);
        // So is the first client after the pause.
        let next = Signer::ps256().named("rotated");
        scene.publish(&[&scene.signer, &next]);
        scene.advance(60);
        assert!(scene.accepts(&scene.by(&next)).await);
        assert_eq!(scene.web.take(), [KEYS_URL]);
        scene.publish(&[&scene.signer]);
    }
}

/// 7517-5-13
#[tokio::test]
async fn a_dropped_request_does_not_end_the_pause() {
    let scene = Scene::by_url().await;
    assert!(scene.accepts(&scene.good()).await);
    scene.advance(60);
    scene.web.take();
    scene.web.shut();
    for place in 0..5 {
        let assertion = forged(&scene, place);
        let request = Box::pin(scene.accepts(&assertion));
        let waited = tokio::time::timeout(Duration::from_millis(20), request).await;
        // The first request waits for its fetch, and the fetch is dropped with the request.
        assert_eq!(waited.is_err(), place == 0);
    }
    assert_eq!(scene.web.count(), 1);
    scene.web.open();
    assert!(scene.accepts(&scene.good()).await);
    // After the very first fetch, the next request may retry at once.
    scene.directory.put(by_url(OTHER, "https://other.example/keys.json"));
    let of_other = scene.signer.another().named("two");
    scene.web.publish("https://other.example/keys.json", key_set(&[&of_other]));
    let by_other = || of_other.assertion(OTHER, ISSUER, scene.now(), |_, _| {});
    scene.web.shut();
    let (first, second) = (by_other(), by_other());
    assert!(tokio::time::timeout(Duration::from_millis(20), Box::pin(scene.accepts(&first))).await.is_err());
    scene.web.open();
    assert!(scene.accepts(&second).await);
}

/// 7517-5-13, NEG-JOSE-04
/// The pause also applies to a set that was never fetched, except for one retry.
#[tokio::test]
async fn dropped_requests_for_a_set_that_was_never_fetched_lead_to_two_fetches() {
    let scene = Scene::by_url().await;
    for _ in 0..2 {
        scene.web.shut();
        for place in 0..5 {
            let assertion = forged(&scene, place);
            let request = Box::pin(scene.post(Endpoint::Token, &assertion).send());
            let waited = tokio::time::timeout(Duration::from_millis(20), request).await;
            assert_eq!(waited.ok().map(|response| response.status()), (place >= 2).then_some(503));
        }
        assert_eq!(scene.web.take(), [KEYS_URL, KEYS_URL]);
        scene.web.open();
        is_unavailable(&scene).await;
        assert_eq!(scene.web.count(), 0);
        scene.advance(60);
    }
    assert!(scene.accepts(&scene.good()).await);
}

/// FAPI-5.4.2-01
#[tokio::test]
async fn keys_of_one_key_id_are_distinguished_by_their_kind() {
    let scene = Scene::by_url().await;
    let (ec, rsa) = (Signer::es256().named("same"), Signer::ps256().named("same"));
    scene.publish(&[&ec, &rsa, &Signer::ed25519().named("other")]);
    assert!(scene.accepts(&scene.by(&ec)).await);
    assert!(scene.accepts(&scene.by(&rsa)).await);
    assert!(!scene.accepts(&scene.by(&Signer::ed25519().named("same"))).await);
    // Two of one kind are both tried, within the four.
    let second = Signer::es256().another().named("same");
    scene.publish(&[&ec, &rsa, &second]);
    scene.advance(3600);
    assert!(scene.accepts(&scene.by(&ec)).await);
    assert!(scene.accepts(&scene.by(&second)).await);
    scene.publish(&[&ec, &ec, &ec, &ec, &second]);
    scene.advance(3600);
    assert!(!scene.accepts(&scene.by(&second)).await);
}

/// FAPI-5.4.2-01, 7517-4-01
///
/// Keys that are not public, or not for signatures, are left out. Each fetch raises one event about them.
#[tokio::test]
async fn keys_that_are_left_out_are_reported() {
    let scene = Scene::by_url().await;
    let with = |signer: &Signer, members| {
        let mut jwk = signer.jwk();
        super::set(&mut jwk, &members);
        jwk
    };
    let another = scene.signer.another().named("two");
    let set = json!({"keys": [
        scene.signer.jwk(),
        with(&another, json!({"d": "AAAA"})),
        with(&another, json!({"use": "enc", "kid": "three"})),
        {"kty": "oct", "k": "AAAA", "kid": "four"},
    ]});
    scene.web.publish(KEYS_URL, set);
    for _ in 0..2 {
        assert!(scene.accepts(&scene.good()).await);
    }
    let left_out =
        |events: Vec<String>| events.into_iter().filter(|event| event.starts_with("KeysLeftOut")).collect::<Vec<_>>();
    let events = left_out(scene.world.events.take());
    assert_eq!(events.len(), 1, "{events:?}");
    assert!(events[0].contains("keys: 3") && events[0].contains(ID), "{events:?}");
    assert!(!scene.accepts(&scene.by(&another)).await, "a private key is not a public one");
    scene.advance(3600);
    assert!(scene.accepts(&scene.good()).await);
    assert_eq!(left_out(scene.world.events.take()).len(), 1);
}

/// 7517-5-12
#[tokio::test]
async fn a_client_by_url_needs_a_fetcher() {
    let mut scene = Scene::new().await;
    let world = &scene.world;
    scene.directory.put(by_url(ID, KEYS_URL));
    let stores = grantor::store::Stores::new(world.store.clone()).with_clients(scene.directory.clone());
    scene.world.server = world.builder(world.server.config().clone(), stores).build().unwrap();
    is_unavailable(&scene).await;
}
