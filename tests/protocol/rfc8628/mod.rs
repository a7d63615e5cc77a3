//! RFC 8628: devices without a browser.

mod asking;
mod ending;
mod guessing;
mod keys;
mod negative;
mod pages;
mod polling;
mod redeeming;
mod registering;
mod settings;
mod typing;

use std::sync::Arc;

use grantor::authorization::{DeviceConsent, TypedUserCode};
use grantor::client::{ClientType, GrantType, GrantTypes};
use grantor::config::Profile;
use grantor::id::DeviceRequestId;
use grantor::secret::DerivationKey;
use grantor::store::{DeviceRequest, RecordStore};
use grantor::wire::message::DeviceAuthorizationResponse;
use grantor::wire::{Endpoint, Response};
use grantor::{ApplicationForm, AuthorizationError, AuthorizationServer, Config, Consent, Decision, Subject};

use support::attempts::Attempts;
use support::world::{Call, Credentials, SESSION, World, config_of, form, public_form};

pub(crate) const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";
pub(crate) const PAGE: &str = "https://auth.example/device";

/// The settings of a profile that serves devices.
pub(crate) fn device_config(profile: Profile) -> Config {
    let mut config = config_of(profile);
    config.public_clients = true;
    config.devices.on = true;
    config.devices.verification_uri = PAGE.into();
    config.refresh.derivation_keys = vec![DerivationKey::new([1; 32])];
    config
}

/// A world that serves devices, whose client is a public one of devices.
pub(crate) async fn world() -> World {
    world_with(Profile::Strict, |_| ()).await
}

pub(crate) async fn world_with(profile: Profile, change: impl FnOnce(&mut Config)) -> World {
    let mut config = device_config(profile);
    change(&mut config);
    let mut world = World::built(config, |builder| builder.throttle(Attempts::default())).await;
    world.client = world.register(device_form(public_form())).await;
    world
}

/// The form of a client that works on devices alone.
pub(crate) fn device_form(mut form: ApplicationForm) -> ApplicationForm {
    form.redirect_uris = Vec::new();
    form.grant_types = GrantTypes::NONE.with(GrantType::DeviceCode).with(GrantType::RefreshToken);
    form
}

/// The same with a secret.
pub(crate) fn confidential_form() -> ApplicationForm {
    let mut form = device_form(form());
    form.client_type = ClientType::Confidential;
    form
}

/// The same world with a server of changed settings.
pub(crate) fn reconfigured(world: &mut World, change: impl FnOnce(&mut Config)) {
    let mut config = world.server.config().clone();
    change(&mut config);
    world.server = built(world, config);
}

fn built(world: &World, config: Config) -> AuthorizationServer {
    world.builder(config, world.store.clone()).throttle(Attempts::default()).build().unwrap()
}

pub(crate) fn ask_call<'w>(world: &'w World, client: &Credentials, form: &[(&str, &str)]) -> Call<'w> {
    world.post(Endpoint::DeviceAuthorization, form).client(client)
}

/// What a device of the world's client is told.
pub(crate) async fn asked(world: &World) -> DeviceAuthorizationResponse {
    asked_by(world, &world.client, &[]).await
}

pub(crate) async fn asked_by(
    world: &World,
    client: &Credentials,
    form: &[(&str, &str)],
) -> DeviceAuthorizationResponse {
    read(&ask_call(world, client, form).send().await)
}

/// `OK` for the device authorization endpoint.
#[track_caller]
pub(crate) fn read(response: &Response) -> DeviceAuthorizationResponse {
    assert_eq!(response.status(), 200, "{response:?}");
    assert_eq!(response.header("Content-Type"), Some("application/json;charset=UTF-8"));
    assert_eq!((response.header("Cache-Control"), response.header("Pragma")), (Some("no-store"), Some("no-cache")));
    serde_json::from_slice(response.body()).unwrap()
}

pub(crate) fn poll_call<'w>(world: &'w World, client: &Credentials, code: &str) -> Call<'w> {
    world.token(&[("grant_type", DEVICE_CODE), ("device_code", code)]).client(client)
}

pub(crate) async fn poll(world: &World, code: &str) -> Response {
    poll_call(world, &world.client, code).send().await
}

/// What that user sees who types a code in that session.
pub(crate) async fn typed_by(
    world: &World,
    code: &str,
    user: &Subject,
    session: &[u8],
) -> Result<DeviceConsent, AuthorizationError> {
    world.server.enter_user_code(&TypedUserCode::new(code).peer([198, 51, 100, 1].into()), user, session).await
}

/// What the world's user sees.
pub(crate) async fn typed(world: &World, code: &str) -> DeviceConsent {
    typed_by(world, code, &world.alice, SESSION).await.unwrap()
}

pub(crate) async fn decided_by(
    world: &World,
    consent: &DeviceConsent,
    user: &Subject,
    session: &[u8],
    decision: Decision,
) -> Response {
    match world.server.decide(consent.ticket().expose(), user, session, &decision).await {
        Ok(response) => response,
        Err(error) => error.response(Some(user)),
    }
}

pub(crate) async fn decided(world: &World, consent: &DeviceConsent, decision: Decision) -> Response {
    decided_by(world, consent, &world.alice, SESSION, decision).await
}

pub(crate) async fn approved(world: &World, consent: &DeviceConsent) -> Response {
    decided(world, consent, Decision::Approve(Consent::to_everything())).await
}

/// A device whose user has approved.
pub(crate) async fn approved_device(world: &World) -> DeviceAuthorizationResponse {
    let device = asked(world).await;
    approved_page(&approved(world, &typed(world, &device.user_code).await).await);
    device
}

/// The page that says that the device is connected.
#[track_caller]
pub(crate) fn approved_page(response: &Response) {
    assert_eq!(response.status(), 200, "{response:?}");
    assert!(String::from_utf8_lossy(response.body()).contains("Your device is connected"));
}

#[track_caller]
pub(crate) fn denied_page(response: &Response) {
    assert_eq!(response.status(), 200, "{response:?}");
    assert!(String::from_utf8_lossy(response.body()).contains("was not connected"));
}

/// Asserts an error page whose reason's text is this.
#[track_caller]
pub(crate) fn refused(result: Result<DeviceConsent, AuthorizationError>, reason: &str) {
    let error = result.expect_err(reason);
    assert_eq!(error.reason().to_string(), reason);
    support::world::page(&error.response(None));
}

pub(crate) const UNKNOWN: &str = "the user code is unknown";

pub(crate) fn bob() -> Subject {
    Subject::new("bob").unwrap()
}

/// The record that a device code names.
pub(crate) async fn stored(world: &World, device_code: &str) -> Option<Arc<DeviceRequest>> {
    let id: DeviceRequestId = device_code.strip_prefix("dc_").unwrap()[..22].parse().unwrap();
    RecordStore::<DeviceRequest>::find(&world.store, &id).await.unwrap()
}
