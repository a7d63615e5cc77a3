//! What a proof is, and that it works once [RFC 9449 sections 4 and 11.1].

use grantor::ClientId;
use grantor::config::{DpopBoundTokens, Profile};
use grantor::store::Stores;
use grantor::wire::Response;
use serde_json::{Value, json};
use support::keys::{Signer, unchanged};
use support::world::{World, e400};

use super::{TOKEN_URL, bound, broken, call, edp, exchange_form, exchange_with, now, proof, unbound, world};

type Change = fn(&mut Value, &mut Value);

/// 9449-4.1-01
#[tokio::test]
async fn there_is_one_header_with_one_proof() {
    let world = world().await;
    let signer = Signer::es256();
    let code = world.code().await;
    let one = || proof(&world, &signer);
    let long = signer.proof("POST", TOKEN_URL, now(&world), |_, claims| claims["pad"] = "x".repeat(4000).into());
    assert!(long.len() > 4096);
    for faulty in [format!("{}, {}", one(), one()), String::new(), long] {
        edp(&exchange_with(&world, &code, &faulty).await);
    }
    let twice = call(&world, &world.client, &exchange_form(&code), &one()).header("dpop", one().as_bytes());
    edp(&twice.send().await);
    let two_of_one = one();
    let twice = call(&world, &world.client, &exchange_form(&code), &two_of_one).header("DPoP", two_of_one.as_bytes());
    edp(&twice.send().await);
    let in_any_case = world.token(&exchange_form(&code)).client(&world.client).header("dPoP", one().as_bytes());
    bound(&in_any_case.send().await);
    unbound(&world.exchange(&world.code().await).await);
}

/// 9449-4.1-01
#[tokio::test]
async fn the_number_of_headers_is_checked_before_the_client() {
    let world = world().await;
    let twice = world.token(&exchange_form("x")).basic(&world.client.id, "wrong").header("DPoP", b"a");
    edp(&twice.header("DPoP", b"b").send().await);
    assert!(!world.events.saw("AuthenticationFailed"));
}

/// 9449-4.1-01
#[tokio::test]
async fn without_the_setting_the_header_is_not_read() {
    let world = World::with(Profile::Platform, |_| {}).await;
    let good = proof(&world, &Signer::es256());
    for header in [good.as_str(), "a, b", "", &"x".repeat(4097)] {
        let code = world.code().await;
        let call = call(&world, &world.client, &exchange_form(&code), header).header("DPoP", header.as_bytes());
        unbound(&call.send().await);
    }
}

/// 9449-4.3-01, 7518-3.1-01
#[tokio::test]
async fn every_listed_algorithm_signs_proofs() {
    let world = world().await;
    for signer in [Signer::es256(), Signer::ps256(), Signer::ed25519()] {
        bound(&exchange_with(&world, &world.code().await, &proof(&world, &signer)).await);
    }
    let renamed = |header: &mut Value, _: &mut Value| header["alg"] = "Ed25519".into();
    let renamed = Signer::ed25519().proof("POST", TOKEN_URL, now(&world), renamed);
    bound(&exchange_with(&world, &world.code().await, &renamed).await);
    edp(&exchange_with(&world, &world.code().await, &proof(&world, &Signer::rs256())).await);
}

/// 9449-4.3-01, 9449-4.3-02, 9449-4.3-03, 9449-4.3-05, FAPI-5.3.2.1-13, 9449-4.3-06
#[tokio::test]
async fn a_proof_with_any_fault_is_refused_and_costs_nothing() {
    let faults: [Change; 21] = [
        |header, _| header["typ"] = "JWT".into(),
        |header, _| drop(header.as_object_mut().unwrap().remove("typ")),
        |header, _| header["alg"] = "none".into(),
        |header, _| header["alg"] = "PS256".into(),
        |header, _| drop(header.as_object_mut().unwrap().remove("jwk")),
        |header, _| header["jwk"]["d"] = "AQ".into(),
        |header, _| header["jwk"] = Signer::es256().another().jwk(),
        |header, _| header["crit"] = json!(["exp"]),
        |_, claims| drop(claims.as_object_mut().unwrap().remove("jti")),
        |_, claims| claims["jti"] = "x".repeat(257).into(),
        |_, claims| drop(claims.as_object_mut().unwrap().remove("htm")),
        |_, claims| claims["htm"] = "PUT".into(),
        |_, claims| claims["htm"] = "post".into(),
        |_, claims| drop(claims.as_object_mut().unwrap().remove("htu")),
        |_, claims| claims["htu"] = "https://auth.example/oauth2/revoke".into(),
        |_, claims| claims["htu"] = "/oauth2/token".into(),
        |_, claims| claims["htu"] = "https://user@auth.example/oauth2/token".into(),
        |_, claims| drop(claims.as_object_mut().unwrap().remove("iat")),
        |_, claims| claims["iat"] = (claims["iat"].as_u64().unwrap() - 60).into(),
        |_, claims| claims["iat"] = (claims["iat"].as_u64().unwrap() + 61).into(),
        |_, claims| claims["exp"] = (claims["iat"].as_u64().unwrap() - 1).into(),
    ];
    let world = world().await;
    let signer = Signer::es256();
    let code = world.code().await;
    for (number, fault) in faults.into_iter().enumerate() {
        let faulty = signer.proof("POST", TOKEN_URL, now(&world), fault);
        let response = exchange_with(&world, &code, &faulty).await;
        assert_eq!(response.status(), 400, "{number}");
        edp(&response);
    }
    let kept = signer.proof("POST", TOKEN_URL, now(&world), |header, claims| {
        header["foo"] = "bar".into();
        claims["foo"] = json!([1, {"a": null}]);
        claims["ath"] = "x".into();
        claims["htu"] = "HTTPS://AUTH.example:443/oauth2/%74oken?x=1#y".into();
        claims["iat"] = (claims["iat"].as_u64().unwrap() + 10).into();
    });
    bound(&exchange_with(&world, &code, &kept).await);
}

/// 9449-4.3-01
#[tokio::test]
async fn an_error_says_what_is_wrong_with_the_proof() {
    let faults: [(Change, &str); 6] = [
        (|header, _| header["typ"] = "JWT".into(), "its typ is not dpop+jwt"),
        (|header, _| header["alg"] = "none".into(), "its alg is not accepted"),
        (|_, claims| drop(claims.as_object_mut().unwrap().remove("jti")), "jti is missing"),
        (|_, claims| claims["htm"] = "PUT".into(), "htm is not the method of the request"),
        (|_, claims| claims["htu"] = "/oauth2/token".into(), "htu is not the public URL of the request"),
        (|_, claims| claims["iat"] = (claims["iat"].as_u64().unwrap() - 60).into(), "iat is too old"),
    ];
    let world = world().await;
    let (signer, code) = (Signer::es256(), world.code().await);
    let description = |response: &Response| -> Value {
        edp(response);
        let mut body: Value = serde_json::from_slice(response.body()).unwrap();
        body["error_description"].take()
    };
    for (fault, expected) in faults {
        let faulty = signer.proof("POST", TOKEN_URL, now(&world), fault);
        let response = exchange_with(&world, &code, &faulty).await;
        assert_eq!(description(&response), format!("the DPoP proof was refused: {expected}"));
    }
    let twice = proof(&world, &signer);
    bound(&exchange_with(&world, &code, &twice).await);
    let again = exchange_with(&world, &world.code().await, &twice).await;
    assert_eq!(description(&again), "the DPoP proof was refused: it was used before");
}

/// 9449-4.3-04, NEG-DPOP-02
#[tokio::test]
async fn the_url_comes_from_the_settings_and_never_from_a_header() {
    let world = world().await;
    let code = world.code().await;
    let steered = Signer::es256().proof("POST", "https://evil.example/oauth2/token", now(&world), unchanged);
    let call = call(&world, &world.client, &exchange_form(&code), &steered).header("Host", b"evil.example");
    let call = call.header("Forwarded", b"host=evil.example").header("X-Forwarded-Host", b"evil.example");
    edp(&call.send().await);

    let mut config = support::world::config_at(Profile::Platform, "https://auth.example/tenant");
    config.dpop.tokens = DpopBoundTokens::Optional;
    let below_a_path = World::built(config, |builder| builder).await;
    edp(&exchange_with(&below_a_path, "unknown", &proof(&below_a_path, &Signer::es256())).await);
    let url = "https://auth.example/tenant/oauth2/token";
    let mounted = Signer::es256().proof("POST", url, now(&below_a_path), unchanged);
    e400(&exchange_with(&below_a_path, "unknown", &mounted).await, "invalid_grant");
}

/// 9449-11.1-01, NEG-JOSE-02
#[tokio::test]
async fn a_proof_works_once() {
    let world = world().await;
    let signer = Signer::es256();
    let named = |signer: &Signer, url: &str| {
        signer.proof("POST", url, now(&world), |_, claims| claims["jti"] = "the same".into())
    };
    let first = named(&signer, TOKEN_URL);
    bound(&exchange_with(&world, &world.code().await, &first).await);
    let code = world.code().await;
    edp(&exchange_with(&world, &code, &first).await);
    edp(&exchange_with(&world, &code, &named(&signer, "https://AUTH.example/oauth2/token")).await);
    edp(&exchange_with(&world, &code, &named(&signer, TOKEN_URL)).await);
    bound(&exchange_with(&world, &code, &named(&signer.another(), TOKEN_URL)).await);
}

/// 9449-11.1-01
#[tokio::test]
async fn a_request_that_is_refused_records_no_proof() {
    let world = world().await;
    let signer = Signer::es256();
    let once = proof(&world, &signer);
    e400(&exchange_with(&world, "unknown", &once).await, "invalid_grant");
    let garbage = [("grant_type", "refresh_token"), ("refresh_token", "rt_garbage")];
    e400(&call(&world, &world.client, &garbage, &once).send().await, "invalid_grant");
    let tokens = bound(&exchange_with(&world, &world.code().await, &once).await);
    edp(&exchange_with(&world, &world.code().await, &once).await);
    // A use in grace writes nothing else, and records the proof.
    let refresh = [("grant_type", "refresh_token"), ("refresh_token", &*tokens.refresh)];
    bound(&call(&world, &world.client, &refresh, &proof(&world, &signer)).send().await);
    let in_grace = proof(&world, &signer);
    bound(&call(&world, &world.client, &refresh, &in_grace).send().await);
    edp(&call(&world, &world.client, &refresh, &in_grace).send().await);
    // Whoever captured a whole request with a superseded token cannot end the grant with it.
    world.advance(301);
    let late = signer.proof("POST", TOKEN_URL, now(&world), |_, claims| claims["jti"] = "late".into());
    bound(&exchange_with(&world, &world.code().await, &late).await);
    edp(&call(&world, &world.client, &refresh, &late).send().await);
    assert!(!world.events.saw("RefreshTokenReused"));
}

/// 9449-11.1-02
#[tokio::test]
async fn a_copy_is_refused_to_its_last_second_and_across_purges() {
    let world = world().await;
    let signer = Signer::es256();
    let once = signer.proof("POST", TOKEN_URL, now(&world) + 30, unchanged);
    bound(&exchange_with(&world, &world.code().await, &once).await);
    world.advance(89);
    assert_eq!(world.purge(1000).await.removed(), 0);
    edp(&exchange_with(&world, &world.code().await, &once).await);
    let client = ClientId::new(&*world.client.id).unwrap();
    let refused = format!("Refused {{ endpoint: Token, client: Some({client:?}), redirect_uri: None");
    assert!(world.events.saw(&format!(r#"{refused}, reason: DpopProof("it was used"#)));
    world.advance(1);
    edp(&exchange_with(&world, &world.code().await, &once).await);
    assert!(
        world
            .events
            .saw(r#"Refused { endpoint: Token, client: None, redirect_uri: None, reason: DpopProof("iat is too"#)
    );
    // Another server's clock may be a minute behind.
    world.advance(59);
    assert_eq!(world.purge(1000).await.removed(), 0);
    world.advance(1);
    assert!(world.purge(1000).await.removed() > 0, "the record of the use has expired");
}

/// 9449-11.1-02
#[tokio::test]
async fn a_failing_replay_store_refuses_and_consumes_nothing() {
    let mut world = world().await;
    let code = world.code().await;
    let whole = world.server.clone();
    let config = world.server.config().clone();
    let stores = Stores::new(world.store.clone()).with_replays(broken(&world));
    world.server = world.builder(config, stores).build().unwrap();
    let once = proof(&world, &Signer::es256());
    let response = exchange_with(&world, &code, &once).await;
    assert_eq!((response.status(), response.header("Retry-After")), (503, Some("1")));
    unbound(&world.exchange(&world.code().await).await);
    world.server = whole;
    bound(&exchange_with(&world, &code, &once).await);
}
