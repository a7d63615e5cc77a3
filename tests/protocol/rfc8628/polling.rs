//! Section 3.4 and 3.5: what a poll is told before the user has decided.

use grantor::Decision;
use grantor::config::Profile;

use super::{
    DEVICE_CODE, approved, approved_device, ask_call, asked, confidential_form, decided, poll, poll_call, typed, world,
    world_with,
};
use support::intercepted::scripts::Calls;
use support::intercepted::{Failure, Fate, every, over_with};
use support::world::{Credentials, World, e400, e401, ok, pair};

fn over(world: &World, script: impl support::intercepted::Script) -> World {
    over_with(world, script, |builder| builder.throttle(support::attempts::Attempts::default()))
}

/// 8628-3.4-01
#[tokio::test]
async fn a_device_code_belongs_to_its_client() {
    let world = world().await;
    let other = world.register(confidential_form()).await;
    let fresh = asked(&world).await;
    let denied = asked(&world).await;
    decided(&world, &typed(&world, &denied.user_code).await, Decision::Deny).await;
    let approved_one = approved_device(&world).await;
    let redeemed = approved_device(&world).await;
    let first = pair(&poll(&world, &redeemed.device_code).await);
    let body = async |client: &Credentials, code: &str| {
        let response = poll_call(&world, client, code).send().await;
        e400(&response, "invalid_grant");
        response.body().to_vec()
    };
    let unknown = body(&world.client, "dc_garbage").await;
    let another = format!("dc_{}", &fresh.device_code[3..].chars().rev().collect::<String>());
    assert_eq!(body(&world.client, &another).await, unknown);
    for device in [&fresh, &denied, &approved_one, &redeemed] {
        assert_eq!(body(&other, &device.device_code).await, unknown);
    }
    // A foreign poll changed nothing.
    e400(&poll(&world, &fresh.device_code).await, "authorization_pending");
    e400(&poll(&world, &denied.device_code).await, "access_denied");
    ok(&poll(&world, &approved_one.device_code).await);
    assert_eq!(pair(&poll(&world, &redeemed.device_code).await), first);
    // What was withdrawn, and what was redeemed and has no grace left, reads the same.
    world.server.revoke_application(&world.alice, &world.client.client_id()).await.unwrap();
    assert_eq!(body(&world.client, &redeemed.device_code).await, unknown);
    let late = approved_device(&world).await;
    ok(&poll(&world, &late.device_code).await);
    world.advance(121);
    assert_eq!(body(&world.client, &late.device_code).await, unknown);
}

/// 8628-5.2-01
#[tokio::test]
async fn every_flip_of_a_device_code_is_another_code() {
    let world = world().await;
    let device = approved_device(&world).await;
    let code = device.device_code.as_bytes();
    for place in 0..code.len() {
        for bit in 0..7 {
            let mut other = code.to_vec();
            other[place] ^= 1 << bit;
            let Ok(text) = String::from_utf8(other) else { continue };
            e400(&poll(&world, &text).await, "invalid_grant");
        }
    }
    let web = world.register(support::world::form()).await;
    let authorization_code = world.code_for(&world.query_of(&web, &support::world::PKCE)).await;
    for other in [&authorization_code, "at_x", &device.user_code] {
        e400(&poll(&world, other).await, "invalid_grant");
    }
    let answer = pair(&poll(&world, &device.device_code).await);
    for other in [&answer.access, &answer.refresh] {
        e400(&poll(&world, other).await, "invalid_grant");
    }
}

/// 8628-3.4-01: the code of a device is no authorization code, although its client knows the secret.
#[tokio::test]
async fn a_device_code_is_not_exchanged_as_a_code() {
    let world = world_with(Profile::Platform, |_| ()).await;
    let mut both = super::device_form(support::world::public_form());
    both.grant_types = both.grant_types.with(grantor::client::GrantType::AuthorizationCode);
    both.redirect_uris = vec![support::world::REDIRECT_URI.into()];
    let client = world.register(both).await;
    let device = super::asked_by(&world, &client, &[]).await;
    let consent = typed(&world, &device.user_code).await;
    approved(&world, &consent).await;
    let secret = &device.device_code[25..];
    let id = &consent.ticket().expose()[3..25];
    let forged = format!("ac_{id}{secret}");
    for uri in ["", support::world::REDIRECT_URI] {
        let form = [("grant_type", "authorization_code"), ("code", &*forged), ("redirect_uri", uri)];
        e400(&world.token(&form).client(&client).send().await, "invalid_grant");
    }
    ok(&poll_call(&world, &client, &device.device_code).send().await);
}

/// 8628-3.5-01
#[tokio::test]
async fn polls_are_answered_by_the_state() {
    let world = world().await;
    let device = asked(&world).await;
    e400(&world.token(&[("grant_type", DEVICE_CODE)]).client(&world.client).send().await, "invalid_request");
    e400(&poll(&world, &device.device_code).await, "authorization_pending");
    let consent = typed(&world, &device.user_code).await;
    world.advance(5);
    e400(&poll(&world, &device.device_code).await, "authorization_pending");
    let broken = over(&world, every("device_requests.find", Fate::FailsBefore(Failure::Transient)));
    let response = poll(&broken, &device.device_code).await;
    assert_eq!((response.status(), response.header("Retry-After")), (503, Some("1")));
    decided(&world, &consent, Decision::Deny).await;
    e400(&poll(&world, &device.device_code).await, "access_denied");
    world.advance(600);
    e400(&poll(&world, &device.device_code).await, "access_denied");
    // A redeemed code is judged as such after the end too, within its grace and then as a replay.
    let device = asked(&world).await;
    let consent = typed(&world, &device.user_code).await;
    world.advance(585);
    approved(&world, &consent).await;
    world.advance(14);
    let first = pair(&poll(&world, &device.device_code).await);
    world.advance(10);
    assert_eq!(pair(&poll(&world, &device.device_code).await), first);
    world.advance(111);
    e400(&poll(&world, &device.device_code).await, "invalid_grant");
    assert!(!world.opens(&first.access).await);
    // The client is suspended.
    let registrar = world.server.registrar().unwrap();
    let device = asked(&world).await;
    registrar.suspend(&world.client.client_id()).await.unwrap();
    e401(&poll(&world, &device.device_code).await, "invalid_client");
}

/// 8628-3.5-02
#[tokio::test]
async fn a_device_that_polls_too_soon_is_told_to_slow_down() {
    let world = world().await;
    let device = asked(&world).await;
    for (pause, expected) in [
        (0, "authorization_pending"),
        (2, "slow_down"),
        (5, "authorization_pending"),
        (4, "authorization_pending"),
        (3, "slow_down"),
        (0, "slow_down"),
        (4, "authorization_pending"),
    ] {
        world.advance(pause);
        e400(&poll(&world, &device.device_code).await, expected);
    }
    approved(&world, &typed(&world, &device.user_code).await).await;
    world.advance(1);
    ok(&poll(&world, &device.device_code).await);
    // Other devices of the client are not slowed down.
    let [one, other] = [asked(&world).await, asked(&world).await];
    e400(&poll(&world, &one.device_code).await, "authorization_pending");
    e400(&poll(&world, &other.device_code).await, "authorization_pending");
}

/// 8628-3.5-03
#[tokio::test]
async fn a_poll_reads_one_record_and_writes_none() {
    let world = world().await;
    let device = asked(&world).await;
    let calls = Calls::recorded();
    let watched = over(&world, calls.clone());
    for _ in 0..1000 {
        poll(&watched, &device.device_code).await;
    }
    let made = calls.take();
    assert_eq!(made.iter().filter(|call| **call == "device_requests.find").count(), 1000);
    assert!(made.iter().all(|call| ["device_requests.find", "clients.find"].contains(call)));
    let consent = typed(&world, &device.user_code).await;
    poll(&watched, &device.device_code).await;
    assert_eq!(calls.take().iter().filter(|call| !call.starts_with("clients")).count(), 1, "typed, and undecided");
    decided(&world, &consent, Decision::Deny).await;
    poll(&watched, &device.device_code).await;
    assert_eq!(calls.take().iter().filter(|call| !call.starts_with("clients")).count(), 1, "denied");
    let device = approved_device(&world).await;
    ok(&poll(&watched, &device.device_code).await);
    let made: Vec<_> = calls.take().into_iter().filter(|call| !call.starts_with("clients")).collect();
    assert_eq!(made[..3], ["device_requests.find", "codes.find", "tokens.insert"], "{made:?}");
}

/// 8628-3.5-03: two processes serve the polls of a device.
#[tokio::test]
async fn another_process_answers_rightly_too() {
    let world = world().await;
    let other = over(&world, |_: &'static str| Fate::Done);
    let device = asked(&world).await;
    e400(&poll(&world, &device.device_code).await, "authorization_pending");
    e400(&poll(&other, &device.device_code).await, "authorization_pending");
    e400(&poll(&other, &device.device_code).await, "slow_down");
    approved(&other, &typed(&world, &device.user_code).await).await;
    let first = pair(&poll(&world, &device.device_code).await);
    assert_eq!(pair(&poll(&other, &device.device_code).await), first);
    assert_eq!(ask_call(&other, &world.client, &[]).send().await.status(), 200);
}
