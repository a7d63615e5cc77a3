//! Devices with a key: DPoP-bound tokens, and clients that authenticate with one.

use grantor::config::{DpopBoundTokens, Profile};

use super::{approved, approved_device, asked, poll_call, typed, world_with};
use crate::rfc9449::{TOKEN_URL, bound, now};
use support::intercepted::over_with;
use support::intercepted::scripts::Calls;
use support::keys::{Signer, unchanged};
use support::world::{World, e400};

async fn with_proofs() -> World {
    world_with(Profile::Strict, |config| config.dpop.tokens = DpopBoundTokens::Optional).await
}

fn proof(world: &World, signer: &Signer) -> String {
    signer.proof("POST", TOKEN_URL, now(world), unchanged)
}

/// DEV-06
#[tokio::test]
async fn the_redeeming_poll_binds_the_first_pair() {
    let world = with_proofs().await;
    let device = approved_device(&world).await;
    let (own, other) = (Signer::es256(), Signer::fresh());
    let polled = async |signer: &Signer| {
        let proof = proof(&world, signer);
        poll_call(&world, &world.client, &device.device_code).header("DPoP", proof.as_bytes()).send().await
    };
    let first = bound(&polled(&own).await);
    assert_eq!(bound(&polled(&own).await), first);
    world.events.take();
    e400(&polled(&other).await, "invalid_grant");
    assert!(world.events.saw("AnotherDpopKey"));
    e400(&poll_call(&world, &world.client, &device.device_code).send().await, "invalid_dpop_proof");
    world.advance(200);
    e400(&polled(&other).await, "invalid_grant");
    assert_eq!(world.server.grants_of(&world.alice).await.unwrap().len(), 1, "nothing was revoked");
}

/// DEV-06
#[tokio::test]
async fn a_pending_poll_records_no_proof() {
    let world = with_proofs().await;
    let device = asked(&world).await;
    let calls = Calls::recorded();
    let watched = over_with(&world, calls.clone(), |builder| builder.throttle(support::attempts::Attempts::default()));
    let signer = Signer::es256();
    for _ in 0..100 {
        let proof = proof(&world, &signer);
        let response =
            poll_call(&watched, &world.client, &device.device_code).header("DPoP", proof.as_bytes()).send().await;
        assert_eq!(response.status(), 400);
    }
    assert!(!calls.take().contains(&"replays.insert"));
    // A bad proof is refused before the state is told.
    let bad = poll_call(&watched, &world.client, &device.device_code).header("DPoP", b"no proof").send().await;
    e400(&bad, "invalid_dpop_proof");
    approved(&world, &typed(&world, &device.user_code).await).await;
    let used = proof(&world, &signer);
    bound(&poll_call(&watched, &world.client, &device.device_code).header("DPoP", used.as_bytes()).send().await);
    assert!(calls.take().contains(&"replays.insert"));
    let again = poll_call(&watched, &world.client, &device.device_code).header("DPoP", used.as_bytes()).send().await;
    e400(&again, "invalid_dpop_proof");
}
