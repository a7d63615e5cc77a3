//! Codes that are bound to a key by a pushed request [RFC 9449 section 10.1].

use grantor::Config;
use grantor::config::PushedRequests;
use grantor::config::{DpopBoundTokens, Profile};
use grantor::secret::NonceKey;
use grantor::wire::{Endpoint, Response};
use serde_json::Value;
use support::keys::{Signer, unchanged};
use support::world::{PKCE, World, e400};

use super::{TOKEN_URL, bound, edp, exchange_form, exchange_with, now, proof, proven, unbound, world_with};
use crate::interleaved::reconfigured;

const PUSH_URL: &str = "https://auth.example/oauth2/par";

async fn world() -> World {
    world_and(|_| {}).await
}

async fn world_and(change: impl FnOnce(&mut Config)) -> World {
    world_with(|config| {
        config.pushed_requests.mode = PushedRequests::Optional;
        change(config);
    })
    .await
}

/// The answer to a push with these parameters and that `DPoP` header.
async fn push(world: &World, more: &[(&str, &str)], proof: Option<&str>) -> Response {
    let client = &world.client;
    let own = [("response_type", "code"), ("client_id", client.id.as_str()), PKCE[0], PKCE[1]];
    let call = world.post(Endpoint::PushedAuthorization, &[&own, more].concat()).basic(&client.id, &client.secret);
    match proof {
        Some(proof) => call.header("DPoP", proof.as_bytes()).send().await,
        None => call.send().await,
    }
}

/// A valid proof for a push now.
fn proof_of_push(world: &World, signer: &Signer) -> String {
    signer.proof("POST", PUSH_URL, now(world), unchanged)
}

/// Asserts `P201` and returns the code of the request after its user has agreed.
async fn code_of(world: &World, pushed: &Response) -> String {
    assert_eq!(pushed.status(), 201, "{}", String::from_utf8_lossy(pushed.body()));
    let answer: Value = serde_json::from_slice(pushed.body()).unwrap();
    assert_eq!(answer.as_object().unwrap().len(), 2, "{answer}");
    world.code_for(&world.query(&[("request_uri", answer["request_uri"].as_str().unwrap())])).await
}

/// 9449-10.1-01, 9449-10-01, FAPI-5.3.2.1-12
#[tokio::test]
async fn a_proof_or_a_thumbprint_binds_the_code() {
    let world = world().await;
    let own = Signer::es256();
    let thumbprint = own.thumbprint();
    for (named, is_proven) in [(None, true), (Some(&*thumbprint), false), (Some(&*thumbprint), true)] {
        let more = named.map(|named| ("dpop_jkt", named));
        let proof_once = is_proven.then(|| proof_of_push(&world, &own));
        let pushed = push(&world, more.as_slice(), proof_once.as_deref()).await;
        let code = code_of(&world, &pushed).await;
        e400(&exchange_with(&world, &code, &proof(&world, &own.another())).await, "invalid_grant");
        edp(&world.exchange(&code).await);
        bound(&exchange_with(&world, &code, &proof(&world, &own)).await);
    }
    let unbound_code = code_of(&world, &push(&world, &[], None).await).await;
    unbound(&world.exchange(&unbound_code).await);
}

/// 9449-10.1-01, 9449-10-01
#[tokio::test]
async fn both_ways_have_to_agree() {
    let world = world().await;
    let own = Signer::es256();
    let other = own.another().thumbprint();
    let proven = proof_of_push(&world, &own);
    e400(&push(&world, &[("dpop_jkt", &other)], Some(&proven)).await, "invalid_request");
    for malformed in ["x", &other[1..], &format!("{other}A")] {
        e400(&push(&world, &[("dpop_jkt", malformed)], None).await, "invalid_request");
    }
    let twice = [("dpop_jkt", other.as_str()), ("dpop_jkt", other.as_str())];
    e400(&push(&world, &twice, None).await, "invalid_request");
}

/// 9449-10.1-01, 9449-11.1-01
#[tokio::test]
async fn a_proof_of_a_push_is_checked_as_at_the_token_endpoint() {
    let world = world().await;
    let own = Signer::es256();
    edp(&push(&world, &[], Some("a.b.c")).await);
    edp(&push(&world, &[], Some(&proof(&world, &own))).await);
    edp(&push(&world, &[], Some(&own.proof("POST", PUSH_URL, now(&world) - 60, unchanged))).await);
    let once = proof_of_push(&world, &own);
    let code = code_of(&world, &push(&world, &[], Some(&once)).await).await;
    edp(&push(&world, &[], Some(&once)).await);
    edp(&exchange_with(&world, &code, &once).await);
    bound(&exchange_with(&world, &code, &proof(&world, &own)).await);
}

/// 9449-10.1-01, 9449-8-01
#[tokio::test]
async fn nonces_are_those_of_the_token_endpoint() {
    let world = world_and(|config| config.dpop.nonce_keys = vec![NonceKey::new([1; 32])]).await;
    let own = Signer::es256();
    let demand = push(&world, &[], Some(&proof_of_push(&world, &own))).await;
    e400(&demand, "use_dpop_nonce");
    let nonce = demand.header("DPoP-Nonce").unwrap();
    let with_nonce = |url: &str| own.proof("POST", url, now(&world), |_, claims| claims["nonce"] = nonce.into());
    let pushed = push(&world, &[], Some(&with_nonce(PUSH_URL))).await;
    assert_eq!(pushed.headers().filter(|(name, _)| *name == "DPoP-Nonce").count(), 1);
    assert_eq!((pushed.header("DPoP-Nonce"), pushed.header("Cache-Control")), (Some(nonce), Some("no-store")));
    let code = code_of(&world, &pushed).await;
    bound(&exchange_with(&world, &code, &with_nonce(TOKEN_URL)).await);
    assert_eq!(push(&world, &[], None).await.header("DPoP-Nonce"), None);
}

/// 9449-10.1-01
#[tokio::test]
async fn a_push_needs_no_proof_where_tokens_do() {
    let world = world_and(|config| config.dpop.tokens = DpopBoundTokens::Required).await;
    let code = code_of(&world, &push(&world, &[], None).await).await;
    edp(&world.exchange(&code).await);
    bound(&proven(&world, &world.client, &exchange_form(&code), &Signer::es256()).await);
}

/// 9449-4.1-01
#[tokio::test]
async fn without_the_setting_neither_way_is_read() {
    let mut world =
        World::with(Profile::Platform, |config| config.pushed_requests.mode = PushedRequests::Optional).await;
    let twice = [("dpop_jkt", "malformed"), ("dpop_jkt", "malformed")];
    let code = code_of(&world, &push(&world, &twice, Some("a, b")).await).await;
    unbound(&world.exchange(&code).await);
    // A bound code stays bound.
    let own = Signer::es256();
    reconfigured(&mut world, |config| config.dpop.tokens = DpopBoundTokens::Optional);
    let pushed = push(&world, &[], Some(&proof_of_push(&world, &own))).await;
    reconfigured(&mut world, |config| config.dpop.tokens = DpopBoundTokens::Off);
    let code = code_of(&world, &pushed).await;
    edp(&world.exchange(&code).await);
}
