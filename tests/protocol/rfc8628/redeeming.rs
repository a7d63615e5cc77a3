//! Section 3.4: the first pair, and a device that polls again.

use grantor::client::{AskConsent, Privileges, RefreshRotation};
use grantor::config::{GraceEnd, Profile};

use super::{
    approved, approved_device, asked_by, confidential_form, device_config, poll, poll_call, typed, world, world_with,
};
use support::intercepted::over_with;
use support::intercepted::scripts::{Calls, Yielding};
use support::world::{Pair, Reviewer, World, e400, ok, pair};

/// 8628-3.4-02
#[tokio::test]
async fn parallel_polls_get_one_pair() {
    let world = world().await;
    let device = approved_device(&world).await;
    let slow = over_with(&world, Yielding, |builder| builder.throttle(support::attempts::Attempts::default()));
    let answers = futures::future::join_all((0..50).map(|_| poll(&slow, &device.device_code))).await;
    let pairs: Vec<Pair> = answers.iter().map(pair).collect();
    assert!(pairs.iter().all(|own| *own == pairs[0]));
    assert_eq!(world.server.grants_of(&world.alice).await.unwrap().len(), 1);
    assert_eq!(world.events.take().iter().filter(|event| event.starts_with("Exchanged")).count(), 1);
}

/// 8628-3.4-02, NEG-07
#[tokio::test]
async fn a_repeated_poll_in_grace_gets_the_same_pair() {
    for profile in [Profile::Strict, Profile::Platform, Profile::Mcp] {
        let world = world_with(profile, |_| ()).await;
        let grace = world.server.config().refresh.grace.as_secs();
        let device = approved_device(&world).await;
        let first = pair(&poll(&world, &device.device_code).await);
        world.advance(grace - 1);
        assert_eq!(pair(&poll(&world, &device.device_code).await), first);
        assert!(world.opens(&first.access).await);
        world.events.take();
        world.advance(1);
        e400(&poll(&world, &device.device_code).await, "invalid_grant");
        assert!(world.events.saw("CodeReplayed"), "{profile:?}");
        assert!(!world.opens(&first.access).await);
        e400(&world.refresh_as(&world.client, &first.refresh).await, "invalid_grant");
        assert!(world.server.grants_of(&world.alice).await.unwrap().is_empty());
    }
}

/// 8628-3.4-02
#[tokio::test]
async fn after_a_refresh_the_device_code_leads_to_the_newest_pair_unless_its_grace_has_ended() {
    for profile in [Profile::Mcp, Profile::Strict] {
        let world = world_with(profile, |_| ()).await;
        let ends = world.server.config().refresh.grace_end == GraceEnd::NextRefresh;
        let device = approved_device(&world).await;
        let first = pair(&poll(&world, &device.device_code).await);
        let second = pair(&world.refresh_as(&world.client, &first.refresh).await);
        let third = pair(&world.refresh_as(&world.client, &second.refresh).await);
        let response = poll(&world, &device.device_code).await;
        if ends {
            e400(&response, "invalid_grant");
            assert!(!world.opens(&third.access).await);
        } else {
            assert_eq!(pair(&response), third);
        }
    }
}

/// 8628-3.4-02: the polls of a device overlap, so a minute is granted in any case.
#[tokio::test]
async fn a_device_has_a_minute_without_a_grace_of_refresh_tokens() {
    let world = world_with(Profile::Platform, |config| {
        config.refresh.grace = std::time::Duration::ZERO;
        config.refresh.access_token_grace = std::time::Duration::ZERO;
    })
    .await;
    let device = approved_device(&world).await;
    let first = pair(&poll(&world, &device.device_code).await);
    world.advance(59);
    assert_eq!(pair(&poll(&world, &device.device_code).await), first);
    world.advance(1);
    e400(&poll(&world, &device.device_code).await, "invalid_grant");
}

/// 8628-3.4-02: the user's side of the request is kept for an hour, so the grace ends then. A purge in between changes
/// nothing.
#[tokio::test]
async fn a_device_has_an_hour_at_most() {
    let hours = |hours: u64| std::time::Duration::from_secs(hours * 3600);
    let world = world_with(Profile::Platform, |config| {
        config.tokens.access_lifetime = hours(4);
        config.refresh.access_token_grace = hours(2);
        config.refresh.grace = hours(2);
    })
    .await;
    let device = approved_device(&world).await;
    world.advance(500);
    let first = pair(&poll(&world, &device.device_code).await);
    world.advance(3599);
    let _ = world.purge(100).await;
    assert_eq!(pair(&poll(&world, &device.device_code).await), first);
    world.advance(1);
    e400(&poll(&world, &device.device_code).await, "invalid_grant");
}

/// 8628-3.4-02: the first pair is derived, so it is the same on every server of one store.
#[tokio::test]
async fn a_repeated_poll_without_refresh_gets_the_same_token() {
    let world = world().await;
    let mut own = confidential_form();
    own.grant_types = own.grant_types.without(grantor::client::GrantType::RefreshToken);
    let client = world.register(own).await;
    let device = asked_by(&world, &client, &[]).await;
    approved(&world, &typed(&world, &device.user_code).await).await;
    let first = ok(&poll_call(&world, &client, &device.device_code).send().await);
    assert!(first.refresh_token.is_none());
    let calls = Calls::recorded();
    let other = over_with(&world, calls, |builder| builder.throttle(support::attempts::Attempts::default()));
    let again = ok(&poll_call(&other, &client, &device.device_code).send().await);
    assert_eq!(again.access_token.expose(), first.access_token.expose());
    assert!(again.refresh_token.is_none());
}

/// 8628-5.6-01: the refresh tokens of a client with a secret rotate, and it may neither introspect nor keep them.
#[tokio::test]
async fn no_right_rests_on_the_secret_of_a_device() {
    let world = world().await;
    let client = world.register(confidential_form()).await;
    let device = asked_by(&world, &client, &[]).await;
    approved(&world, &typed(&world, &device.user_code).await).await;
    let first = pair(&poll_call(&world, &client, &device.device_code).send().await);
    let second = pair(&world.refresh_as(&client, &first.refresh).await);
    assert_ne!(first.refresh, second.refresh);
    let registrar = world.server.registrar().unwrap();
    let id = client.client_id();
    let changes: [fn(&mut Privileges); 4] = [
        |privileges| privileges.may_introspect = true,
        |privileges| privileges.refresh_rotation = Some(RefreshRotation::Keep),
        |privileges| privileges.ask_consent = AskConsent::Once,
        |privileges| privileges.ask_consent = AskConsent::Never,
    ];
    for change in changes {
        let mut privileges = Privileges::default();
        change(&mut privileges);
        registrar.set_privileges(&id, registrar.version_now(&id).await, privileges).await.unwrap_err();
    }
    let mut own = confidential_form();
    own.grant_types = own.grant_types.with(grantor::client::GrantType::ClientCredentials);
    own.client_scopes = "repo-code:r".into();
    own.client_resources = Some(grantor::scope::ResourceScope::All);
    let mut config = device_config(Profile::Strict);
    config.client_credentials.on = true;
    let other = World::built(config, |builder| builder.throttle(support::attempts::Attempts::default())).await;
    let registrar = other.server.registrar().unwrap();
    registrar.submit(other.alice.clone(), own, Some(support::world::logo())).await.unwrap_err();
}
