//! The record that a DPoP proof was used: if the store fails there, the request is refused; if the request is dropped
//! there, neither code nor refresh token is lost [RFC 9449 section 11.1].

use grantor::Clock;
use grantor::config::{DpopBoundTokens, Profile};
use grantor::wire::Response;
use support::intercepted::{Failure, Fate, every, over};
use support::keys::{Signer, unchanged};
use support::world::{VERIFIER, World, e400, ok, pair};

use crate::waiting::{Waiting, dropped_after};

async fn world() -> World {
    World::with(Profile::Platform, |config| config.dpop.tokens = DpopBoundTokens::Optional).await
}

fn proof(world: &World) -> String {
    let url = format!("{}/oauth2/token", world.server.issuer());
    Signer::es256().proof("POST", &url, world.clock.now().seconds().into(), unchanged)
}

/// What a token request presents.
#[derive(Clone, Debug)]
enum Presented {
    Code(String),
    RefreshToken(String),
}

impl Presented {
    async fn both(world: &World) -> [Self; 2] {
        let first = pair(&Self::Code(world.code().await).send(world, &proof(world)).await);
        [Self::Code(world.code().await), Self::RefreshToken(first.refresh)]
    }

    async fn send(&self, world: &World, proof: &str) -> Response {
        let form = match self {
            Self::Code(code) => vec![("grant_type", "authorization_code"), ("code", code), ("code_verifier", VERIFIER)],
            Self::RefreshToken(token) => vec![("grant_type", "refresh_token"), ("refresh_token", token)],
        };
        world.token(&form).client(&world.client).header("DPoP", proof.as_bytes()).send().await
    }
}

/// 9449-11.1-02
#[tokio::test]
async fn a_record_that_fails_is_reported_as_a_failure_and_consumes_nothing() {
    for (failure, status) in [(Failure::Transient, 503), (Failure::Permanent, 500)] {
        for (fate, is_used) in [(Fate::FailsBefore(failure), false), (Fate::FailsAfter(failure), true)] {
            let world = world().await;
            for presented in Presented::both(&world).await {
                let proof_once = proof(&world);
                let response = presented.send(&over(&world, every("replays.insert", fate)), &proof_once).await;
                assert_eq!(response.status(), status, "{fate:?}: {presented:?}");
                if is_used {
                    e400(&presented.send(&world, &proof_once).await, "invalid_dpop_proof");
                }
                ok(&presented.send(&world, &proof(&world)).await);
            }
        }
    }
}

/// 9449-11.1-01
#[tokio::test]
async fn a_record_that_is_sent_twice_counts_as_used() {
    let world = world().await;
    for presented in Presented::both(&world).await {
        let response = presented.send(&over(&world, every("replays.insert", Fate::Repeated)), &proof(&world)).await;
        e400(&response, "invalid_dpop_proof");
        ok(&presented.send(&world, &proof(&world)).await);
    }
}

/// 9449-11.1-02
#[tokio::test]
async fn a_request_that_is_dropped_anywhere_can_be_sent_again_with_a_new_proof() {
    let world = world().await;
    for presented in Presented::both(&world).await {
        for waits in 1.. {
            // A dropped request may have spent its code, so each drop has a new one.
            let presented = match &presented {
                Presented::Code(_) => Presented::Code(world.code().await),
                Presented::RefreshToken(token) => Presented::RefreshToken(token.clone()),
            };
            let slow = over(&world, Waiting);
            let proof_once = proof(&world);
            let is_done = dropped_after(waits, presented.send(&slow, &proof_once)).await;
            if is_done {
                assert!(waits > 4, "the client, the record and the grant were awaited");
                break;
            }
            let again = presented.send(&world, &proof(&world)).await;
            match presented {
                Presented::RefreshToken(_) => drop(ok(&again)),
                Presented::Code(_) if again.status() == 200 => {}
                // The dropped request may have exchanged it.
                Presented::Code(_) => e400(&again, "invalid_grant"),
            }
        }
    }
}
