//! Devices without a browser [RFC 8628].

use grantor::authorization::TypedUserCode;
use grantor::client::{GrantType, GrantTypes};
use grantor::config::Profile;
use grantor::secret::DerivationKey;
use grantor::wire::message::DeviceAuthorizationResponse;
use grantor::wire::{Endpoint, Response};
use grantor::{ApplicationForm, AuthorizationError, Config, Subject};

use crate::attempts::Attempts;
use crate::world::{SESSION, With as _, World, config_of, public_form};

pub const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// The settings of a profile that serves devices. They need a throttle.
pub fn config(profile: Profile) -> Config {
    let mut config = config_of(profile);
    config.public_clients = true;
    config.devices.on = true;
    config.devices.verification_uri = "https://auth.example/device".into();
    config.refresh.derivation_keys = vec![DerivationKey::new([1; 32])];
    config
}

/// The same form for a client that works on devices alone.
pub fn on_devices(form: ApplicationForm) -> ApplicationForm {
    form.with(|form| {
        form.redirect_uris = Vec::new();
        form.grant_types = GrantTypes::NONE.with(GrantType::DeviceCode).with(GrantType::RefreshToken);
    })
}

/// A world that serves devices, whose client is a public one of devices.
pub async fn world(profile: Profile, change: impl FnOnce(&mut Config)) -> World {
    let mut config = config(profile);
    change(&mut config);
    let mut world = World::built(config, |builder| builder.throttle(Attempts::default())).await;
    world.client = world.register(on_devices(public_form())).await;
    world
}

/// The answer to a device of the world's client.
pub async fn ask(world: &World) -> Response {
    world.post(Endpoint::DeviceAuthorization, &[]).client(&world.client).send().await
}

/// The codes of a new device.
pub async fn asked(world: &World) -> DeviceAuthorizationResponse {
    let response = ask(world).await;
    assert_eq!(response.status(), 200, "{response:?}");
    serde_json::from_slice(response.body()).unwrap()
}

pub async fn poll(world: &World, device_code: &str) -> Response {
    let form = [("grant_type", DEVICE_CODE), ("device_code", device_code)];
    world.token(&form).client(&world.client).send().await
}

/// The ticket of the page that a user gets who types a code.
pub async fn typed_by(world: &World, user_code: &str, user: &Subject) -> Result<String, AuthorizationError> {
    let consent = world.server.enter_user_code(&TypedUserCode::new(user_code), user, SESSION).await?;
    Ok(consent.ticket().expose().to_owned())
}
