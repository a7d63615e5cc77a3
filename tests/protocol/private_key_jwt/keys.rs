//! Which key of the client verifies the signature.

use grantor::jose::SigningAlgorithm;
use serde_json::{Value, json};

use super::{ID, Scene, builder, by_value, key_set, with_set};
use support::keys::Signer;

/// A public key with members set; null leaves one out.
fn jwk(signer: &Signer, members: Value) -> Value {
    let mut jwk = signer.jwk();
    super::set(&mut jwk, &members);
    jwk
}

/// 7517-4.5-01
#[tokio::test]
async fn the_key_is_the_one_that_kid_names() {
    let scene = Scene::new().await;
    let (one, two) = (scene.signer.clone(), scene.signer.another().named("two"));
    scene.directory.put(by_value(ID, &[&one, &two]));
    assert!(scene.accepts(&scene.by(&one)).await);
    assert!(scene.accepts(&scene.by(&two)).await);
    for kid in [json!("two"), json!("unknown"), json!("One"), json!("on"), json!(""), json!(1), json!(["one"])] {
        assert!(!scene.accepts(&scene.headed(json!({"kid": kid}))).await, "{kid}");
    }
    assert!(!scene.accepts(&scene.headed(json!({"kid": "x".repeat(257)}))).await);
    let long = one.clone().named(&"x".repeat(256));
    scene.directory.put(by_value(ID, &[&long]));
    assert!(scene.accepts(&scene.by(&long)).await);
}

/// 8725-3.1-01
///
/// An RSA key without `alg` is for PS256.
#[tokio::test]
async fn the_algorithm_is_that_of_the_key() {
    let scene = Scene::with(|config| config.client_authentication.rs256 = true).await;
    let headed = |signer: &Signer, alg: &str| scene.of(signer, |header, _| header["alg"] = json!(alg));
    for (key, signer, alg, is_accepted) in [
        (jwk(&Signer::ps256(), json!({"alg": "PS256"})), Signer::rs256(), "RS256", false),
        (jwk(&Signer::rs256(), json!({"alg": "RS256"})), Signer::rs256(), "RS256", true),
        (jwk(&Signer::rs256(), json!({"alg": null})), Signer::rs256(), "RS256", false),
        (jwk(&Signer::rs256(), json!({"alg": null})), Signer::ps256(), "PS256", true),
    ] {
        scene.directory.put(with_set(builder(ID), &json!({"keys": [key]})));
        assert_eq!(scene.accepts(&headed(&signer, alg)).await, is_accepted, "{key} {alg}");
    }
}

/// 7517-4.5-01
#[tokio::test]
async fn the_key_of_another_client_verifies_nothing() {
    let scene = Scene::new().await;
    let of_other = scene.signer.another().named("two");
    assert!(!scene.accepts(&scene.by(&of_other)).await, "the other client has it");
    assert!(!scene.accepts(&scene.by(&scene.signer.another())).await);
    assert!(!scene.accepts(&scene.by(&scene.signer.another().named("one"))).await);
}

/// 7517-4.5-01
#[tokio::test]
async fn four_keys_are_tried_without_kid() {
    let scene = Scene::new().await;
    let (one, two) = (Signer::es256(), Signer::es256().another());
    // Signatures are made without a `kid`; the keys of the set may have one.
    let set = |places: &[&Signer]| {
        let named = |(place, signer): (usize, &&Signer)| jwk(signer, json!({"kid": place.to_string()}));
        json!({"keys": places.iter().enumerate().map(named).collect::<Vec<_>>()})
    };
    for (places, is_accepted) in [
        (vec![&one, &two], true),
        (vec![&two, &two, &two, &one], true),
        (vec![&two, &two, &two, &two, &one], false),
        (vec![&two, &two], false),
    ] {
        scene.directory.put(with_set(builder(ID), &set(&places)));
        assert_eq!(scene.accepts(&scene.by(&one)).await, is_accepted, "{}", places.len());
    }
    // Keys that do not fit are not counted.
    let others = [Signer::ps256(), Signer::ed25519(), Signer::ps256().another(), Signer::ed25519().another()];
    let mut keys = set(&others.iter().chain([&two, &one]).collect::<Vec<_>>());
    scene.directory.put(with_set(builder(ID), &keys));
    assert!(scene.accepts(&scene.by(&one)).await);
    // With a `kid`, a set may have any number of keys.
    let named = |place: u8| jwk(if place == 31 { &one } else { &two }, json!({"kid": place.to_string()}));
    keys = json!({"keys": (0..32).map(named).collect::<Vec<_>>()});
    scene.directory.put(with_set(builder(ID), &keys));
    assert!(scene.accepts(&scene.by(&one.named("31"))).await);
}

/// 7591-2-20, 8725-3.1-01
#[tokio::test]
async fn a_registered_algorithm_is_the_only_one() {
    let scene = Scene::with(|config| config.client_authentication.rs256 = true).await;
    let signers = [Signer::es256(), Signer::ps256(), Signer::ed25519()];
    let set = json!({"keys": signers.iter().map(|signer| jwk(signer, json!({"alg": null}))).collect::<Vec<_>>()});
    for registered in
        [SigningAlgorithm::Es256, SigningAlgorithm::Ps256, SigningAlgorithm::EdDsa, SigningAlgorithm::Rs256]
    {
        scene.directory.put(with_set(builder(ID).options(|own| own.signing_algorithm = Some(registered)), &set));
        for signer in Signer::all() {
            let is_accepted = signer.algorithm() == registered.as_str();
            assert_eq!(scene.accepts(&scene.by(&signer)).await, is_accepted, "{registered} {}", signer.algorithm());
        }
    }
}

/// 7518-3.1-01
#[tokio::test]
async fn rs256_needs_the_option() {
    for is_on in [false, true] {
        let scene = Scene::with(|config| config.client_authentication.rs256 = is_on).await;
        let key = jwk(&Signer::rs256(), json!({"alg": "RS256"}));
        scene.directory.put(with_set(
            builder(ID).options(|own| own.signing_algorithm = Some(SigningAlgorithm::Rs256)),
            &json!({"keys": [key]}),
        ));
        assert_eq!(scene.accepts(&scene.by(&Signer::rs256())).await, is_on);
    }
    assert!(grantor::Config::mcp(support::world::ISSUER).client_authentication.rs256);
    assert!(!grantor::Config::fapi(support::world::ISSUER).client_authentication.rs256);
}

/// 7515-4.1-01
#[tokio::test]
async fn the_header_chooses_no_key() {
    let scene = Scene::by_url().await;
    let foreign = scene.signer.another();
    let elsewhere = json!({
        "foo": {"bar": [1]},
        "jwk": foreign.jwk(),
        "jku": "https://evil.example/keys",
        "x5u": "https://evil.example/chain",
        "x5c": ["MIIB"],
        "x5t": "AAAA",
    });
    scene.web.publish("https://evil.example/keys", key_set(&[&foreign]));
    assert!(scene.accepts(&scene.headed(json!({"foo": 1}))).await);
    assert!(scene.accepts(&scene.headed(elsewhere.clone())).await);
    let own = |kid: Value| {
        scene.of(&foreign, |header, _| {
            super::set(header, &elsewhere);
            super::set(header, &json!({"kid": kid}));
        })
    };
    for kid in [json!(null), json!("one"), json!("two")] {
        assert!(!scene.accepts(&own(kid)).await);
    }
    assert_eq!(scene.web.take(), [super::KEYS_URL], "nothing else was fetched");
}
