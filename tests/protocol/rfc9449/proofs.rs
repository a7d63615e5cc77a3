//! What a proof is, and that it works once [RFC 9449 sections 4 and 11.1].

use std::sync::Arc;
use std::time::Duration;

use grantor::config::{DpopBoundTokens, Profile};
use grantor::store::Stores;
use grantor::{AuthorizationServer, ClientId};
use serde_json::{Value, json};
use support::keys::{Signer, encode, new_id, unchanged};
use support::world::{World, e400, ok};
use tokio::sync::Barrier;

use super::{
    TOKEN_URL, bound, broken, call, edp, exchange_form, exchange_with, now, proof, unbound, world, world_with,
};
use crate::interleaved::CALLERS;

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

/// 9449-4.3-01, 9449-4.3-02, 9449-4.3-03, 9449-4.3-05, FAPI-5.3.2.1-13
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
        claims["htu"] = "HTTPS://AUTH.example:443/oauth2/%74oken?x=1#y".into();
        claims["iat"] = (claims["iat"].as_u64().unwrap() + 10).into();
    });
    bound(&exchange_with(&world, &code, &kept).await);
}

/// NEG-JOSE-01, NEG-JOSE-02, NEG-JOSE-03
#[tokio::test]
async fn forged_signatures_and_giant_proofs_are_refused() {
    let world = world().await;
    let signer = Signer::es256();
    let good = proof(&world, &signer);
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let code = world.code().await;
    let zeros = encode([0; 64]);
    let deep = format!(r#"{{"typ":"dpop+jwt","alg":"ES256","jwk":{}1{}}}"#, "[".repeat(700), "]".repeat(700));
    // An HMAC with the public key as its secret, in every form that a verifier might use.
    let claims = || json!({"jti": new_id(), "htm": "POST", "htu": TOKEN_URL, "iat": now(&world)}).to_string();
    let public = signer.jwk();
    let x = public["x"].as_str().unwrap().to_owned();
    let keyed = [x, public.to_string(), String::new()].map(|key| {
        let header = json!({"typ": "dpop+jwt", "alg": "HS256", "jwk": public}).to_string();
        let signed = format!("{}.{}", encode(header), encode(claims()));
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key.as_bytes());
        format!("{signed}.{}", encode(ring::hmac::sign(&key, signed.as_bytes())))
    });
    let modulus = json!({"kty": "RSA", "n": encode(vec![0xff; 2000]), "e": "AQAB"});
    let giant = Signer::ps256().proof("POST", TOKEN_URL, now(&world), |header, _| header["jwk"] = modulus);
    for forged in [
        format!("{signed}.{zeros}"),
        format!("{signed}.{}", encode([7; 64])),
        format!("{signed}.{signature}AA"),
        format!("{signed}."),
        ".".repeat(4000),
        "a.".repeat(700),
        signer.sign(&deep, claims()),
        giant,
    ]
    .into_iter()
    .chain(keyed)
    {
        assert!(forged.len() <= 1 << 14, "{}", forged.len());
        edp(&exchange_with(&world, &code, &forged).await);
    }
    bound(&exchange_with(&world, &code, &good).await);
}

/// 7515-2-01
/// The key of a proof has one spelling; a proof with any other spelling is refused.
#[tokio::test]
async fn the_key_of_a_proof_has_one_spelling() {
    let world = world().await;
    let code = world.code().await;
    for signer in [Signer::es256(), Signer::ps256()] {
        for member in ["x", "y", "n", "e"] {
            let Some(text) = signer.jwk()[member].as_str().map(str::to_owned) else { continue };
            for bent in [
                format!("{text}="),
                format!("{text} "),
                format!("{text}A"),
                format!("{}A", &text[..text.len() / 4 * 4]),
            ] {
                let bend = |header: &mut Value, _: &mut Value| header["jwk"][member] = bent.as_str().into();
                edp(&exchange_with(&world, &code, &signer.proof("POST", TOKEN_URL, now(&world), bend)).await);
            }
        }
    }
    bound(&exchange_with(&world, &code, &proof(&world, &Signer::ps256())).await);
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

/// 9449-11.1-01
#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn of_many_copies_at_once_one_is_accepted() {
    let world = Arc::new(world_with(|config| config.client_credentials.on = true).await);
    let machine = world.register(super::token::client_credentials_form()).await;
    let once = proof(&world, &Signer::es256());
    let start = Arc::new(Barrier::new(CALLERS));
    let tasks = (0..CALLERS).map(|_| {
        let (world, start, machine, once) = (world.clone(), start.clone(), machine.clone(), once.clone());
        tokio::spawn(async move {
            start.wait().await;
            call(&world, &machine, &[("grant_type", "client_credentials")], &once).send().await.status()
        })
    });
    let statuses = futures::future::join_all(tasks).await;
    let accepted = statuses.into_iter().filter(|status| *status.as_ref().unwrap() == 200).count();
    assert_eq!(accepted, 1);
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

/// FAPI-5.3.2.1-13
#[tokio::test]
async fn settings_of_proofs_that_make_no_sense_are_refused() {
    let refused = |change: fn(&mut grantor::Config)| {
        let mut config = support::world::config_of(Profile::Platform);
        change(&mut config);
        AuthorizationServer::new(config, grantor::MemoryStore::new()).unwrap_err().field()
    };
    let small = |config: &mut grantor::Config| {
        config.dpop.tokens = DpopBoundTokens::Optional;
        config.limits.body_bytes = 4096;
    };
    assert_eq!(refused(small), "limits.body_bytes");
    assert_eq!(
        refused(|config| config.client_authentication.clock_skew = Duration::from_secs(61)),
        "client_authentication.clock_skew"
    );
    let mut config = grantor::Config::fapi(support::world::ISSUER);
    config.client_authentication.clock_skew = Duration::from_secs(9);
    assert_eq!(
        AuthorizationServer::new(config, grantor::MemoryStore::new()).unwrap_err().field(),
        "client_authentication.clock_skew"
    );
}

/// 9449-4.3-06
#[tokio::test]
async fn the_digest_of_an_access_token_is_ignored_here() {
    let world = world().await;
    let proof = Signer::es256().proof("POST", TOKEN_URL, now(&world), |_, claims| claims["ath"] = "x".into());
    let response = exchange_with(&world, &world.code().await, &proof).await;
    ok(&response);
    bound(&response);
}
