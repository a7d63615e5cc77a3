//! Nonces of the server [RFC 9449 section 8].

use grantor::Config;
use grantor::config::PushedRequests;
use grantor::config::{DpopBoundTokens, Profile};
use grantor::secret::NonceKey;
use grantor::wire::Cors;
use grantor::wire::{Endpoint, Request, Response};
use support::keys::Signer;
use support::world::{World, e400};

use super::{TOKEN_URL, bound, edp, exchange_form, exchange_with, now, proof, proven, unbound, world_with};
use crate::interleaved::reconfigured;

fn with_keys(keys: &[u8]) -> impl FnOnce(&mut Config) + '_ {
    |config| config.dpop.nonce_keys = keys.iter().map(|key| NonceKey::new([*key; 32])).collect()
}

fn with_nonce(world: &World, signer: &Signer, nonce: &str) -> String {
    signer.proof("POST", TOKEN_URL, now(world), |_, claims| claims["nonce"] = nonce.into())
}

/// `NONCE`: one `DPoP-Nonce` header.
#[track_caller]
fn nonce(response: &Response) -> String {
    let nonces: Vec<_> = response.headers().filter(|(name, _)| name.eq_ignore_ascii_case("DPoP-Nonce")).collect();
    assert_eq!(nonces.len(), 1, "{nonces:?}");
    let nonce = nonces[0].1;
    assert!(nonce.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e)), "{nonce}");
    assert_eq!(response.header("Cache-Control"), Some("no-store"));
    nonce.to_owned()
}

/// `E400(use_dpop_nonce)` with `NONCE`.
#[track_caller]
fn demanded(response: &Response) -> String {
    e400(response, "use_dpop_nonce");
    nonce(response)
}

/// 9449-8-01, FAPI-5.3.2.1-10
#[tokio::test]
async fn a_proof_needs_the_nonce_that_the_demand_hands_out() {
    let world = world_with(with_keys(&[1])).await;
    let signer = Signer::es256();
    let code = world.code().await;
    let first = demanded(&exchange_with(&world, &code, &proof(&world, &signer)).await);
    for made_up in ["made up", "", &first[1..]] {
        let again = demanded(&exchange_with(&world, &code, &with_nonce(&world, &signer, made_up)).await);
        assert_eq!(again, first);
    }
    let response = exchange_with(&world, &code, &with_nonce(&world, &signer, &first)).await;
    bound(&response);
    assert_eq!(nonce(&response), first);
}

/// 9449-8-01
#[tokio::test]
async fn a_demand_uses_nothing_up() {
    let world = world_with(with_keys(&[1])).await;
    let signer = Signer::es256();
    let code = world.code().await;
    let without =
        |world: &World| signer.proof("POST", TOKEN_URL, now(world), |_, claims| claims["jti"] = "the same".into());
    let first = demanded(&exchange_with(&world, &code, &without(&world)).await);
    demanded(&exchange_with(&world, &code, &without(&world)).await);
    let with = signer.proof("POST", TOKEN_URL, now(&world), |_, claims| {
        claims["jti"] = "the same".into();
        claims["nonce"] = first.clone().into();
    });
    bound(&exchange_with(&world, &code, &with).await);
}

/// 9449-8-01, 9449-4.3-05
#[tokio::test]
async fn a_client_whose_clock_is_wrong_is_served_with_a_nonce() {
    let world = world_with(with_keys(&[1])).await;
    let signer = Signer::es256();
    for shift in [-3600, 3600] {
        let iat = i64::try_from(now(&world)).unwrap() + shift;
        let off = |nonce: Option<&str>| {
            signer.proof("POST", TOKEN_URL, now(&world), |_, claims| {
                claims["iat"] = iat.into();
                if let Some(nonce) = nonce {
                    claims["nonce"] = nonce.into();
                }
            })
        };
        let code = world.code().await;
        let first = demanded(&exchange_with(&world, &code, &off(None)).await);
        bound(&exchange_with(&world, &code, &off(Some(&first))).await);
    }
}

/// 9449-8-02, 9449-11.1-02
#[tokio::test]
async fn a_nonce_is_good_for_one_to_two_periods() {
    let world = world_with(with_keys(&[1])).await;
    // Advances to the beginning of a period.
    world.advance(120 - now(&world) % 120);
    let signer = Signer::es256();
    let first = demanded(&proven(&world, &world.client, &exchange_form("x"), &signer).await);
    world.advance(119);
    let once = with_nonce(&world, &signer, &first);
    assert_eq!(nonce(&exchange_with(&world, &world.code().await, &once).await), first);
    world.advance(1);
    let response = exchange_with(&world, &world.code().await, &with_nonce(&world, &signer, &first)).await;
    bound(&response);
    let second = nonce(&response);
    assert_ne!(second, first);
    world.advance(119);
    bound(&exchange_with(&world, &world.code().await, &with_nonce(&world, &signer, &first)).await);
    let _ = world.purge(1000).await;
    edp(&exchange_with(&world, &world.code().await, &once).await);
    world.advance(1);
    let third = demanded(&exchange_with(&world, &world.code().await, &with_nonce(&world, &signer, &first)).await);
    assert_ne!(third, second);
    bound(&exchange_with(&world, &world.code().await, &with_nonce(&world, &signer, &second)).await);
}

/// 9449-8-02
#[tokio::test]
async fn keys_are_rotated_without_a_gap() {
    let mut world = world_with(with_keys(&[1])).await;
    let signer = Signer::es256();
    let old = demanded(&proven(&world, &world.client, &exchange_form("x"), &signer).await);
    // Another server with the key, then the key in second place.
    for keys in [&[1][..], &[2, 1]] {
        reconfigured(&mut world, with_keys(keys));
        bound(&exchange_with(&world, &world.code().await, &with_nonce(&world, &signer, &old)).await);
    }
    let new = nonce(&exchange_with(&world, &world.code().await, &with_nonce(&world, &signer, &old)).await);
    assert_ne!(new, old);
    reconfigured(&mut world, with_keys(&[2]));
    let code = world.code().await;
    assert_eq!(demanded(&exchange_with(&world, &code, &with_nonce(&world, &signer, &old)).await), new);
    bound(&exchange_with(&world, &code, &with_nonce(&world, &signer, &new)).await);
}

/// 9449-8-01
#[tokio::test]
async fn a_request_without_a_proof_gets_no_nonce() {
    let mut world = world_with(with_keys(&[1])).await;
    let response = world.exchange(&world.code().await).await;
    unbound(&response);
    assert_eq!(response.header("DPoP-Nonce"), None);
    reconfigured(&mut world, |config| config.dpop.nonce_keys = Vec::new());
    let made_up = with_nonce(&world, &Signer::es256(), "made up");
    let without_nonces = exchange_with(&world, &world.code().await, &made_up).await;
    bound(&without_nonces);
    assert_eq!(without_nonces.header("DPoP-Nonce"), None);
    reconfigured(&mut world, with_keys(&[1]));
    reconfigured(&mut world, |config| config.dpop.tokens = DpopBoundTokens::Required);
    edp(&world.exchange(&world.code().await).await);
    reconfigured(&mut world, |config| config.dpop.tokens = DpopBoundTokens::Off);
    let ignored = exchange_with(&world, &world.code().await, "a.b.c").await;
    unbound(&ignored);
    assert_eq!(ignored.header("DPoP-Nonce"), None);
}

/// 9449-8-01, CORS-04, CORS-05
#[tokio::test]
async fn pages_may_send_proofs_and_read_nonces_where_they_are_read() {
    for dpop_bound_tokens in [DpopBoundTokens::Off, DpopBoundTokens::Optional] {
        let world = World::with(Profile::Mcp, |config| {
            config.cors = Cors::AnyOrigin;
            config.dpop.tokens = dpop_bound_tokens;
            config.pushed_requests.mode = PushedRequests::Optional;
            with_keys(&[1])(config);
        })
        .await;
        let is_on = dpop_bound_tokens != DpopBoundTokens::Off;
        for (endpoint, reads) in [
            (Endpoint::Token, is_on),
            (Endpoint::PushedAuthorization, is_on),
            (Endpoint::Revocation, false),
            (Endpoint::Metadata, false),
        ] {
            let preflight = Request::new("OPTIONS").header("Origin", b"https://page.example");
            let preflight = preflight.header("Access-Control-Request-Method", b"POST");
            let response = world.server.serve(endpoint, &preflight).await;
            let allowed = response.header("Access-Control-Allow-Headers").unwrap();
            assert_eq!(allowed.split(", ").any(|name| name == "dpop"), reads, "{endpoint:?}: {allowed}");
            let request = Request::new("GET").header("Origin", b"https://page.example");
            let response = world.server.serve(endpoint, &request).await;
            let exposed = response.header("Access-Control-Expose-Headers").unwrap();
            assert_eq!(exposed.split(", ").any(|name| name == "DPoP-Nonce"), reads, "{endpoint:?}: {exposed}");
        }
    }
}
