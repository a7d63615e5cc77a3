//! Clients that authenticate with a key: what a form may contain, what follows from it, and how keys are replaced.

mod form;
mod rotation;
mod secret;

use grantor::client::{AuthenticationMethod, AuthenticationMethods};
use grantor::config::Profile;
use grantor::wire::{Endpoint, Response};
use grantor::{ApplicationForm, Clock, Config, RegistrarError};

use support::keys::{Signer, unchanged};
use support::world::{Credentials, PKCE, VERIFIER, World, form, text};

/// Offers authentication by key in addition to secrets.
pub(crate) fn with_keys(config: &mut Config) {
    config.client_authentication.methods = AuthenticationMethods::SECRET.with(AuthenticationMethod::PrivateKeyJwt);
}

async fn world() -> World {
    World::with(Profile::Strict, with_keys).await
}

/// Returns a valid form of a client with that key.
pub(crate) fn key_form(signer: &Signer) -> ApplicationForm {
    let mut form = form();
    form.authentication_methods = AuthenticationMethods::KEY;
    form.jwks = Some(signer.key_set());
    form
}

/// An exchange of a new code by a client that signs with that key.
async fn exchanged(world: &World, client: &Credentials, signer: &Signer) -> Response {
    let query = world.query_of(client, &PKCE);
    let code = text(&support::world::code(&world.approve(&query).await), "code");
    exchange_by_key(world, &client.id, signer, &code).await
}

pub(crate) async fn exchange_by_key(world: &World, client: &str, signer: &Signer, code: &str) -> Response {
    let form = [("grant_type", "authorization_code"), ("code", code), ("code_verifier", VERIFIER)];
    by_key(world, Endpoint::Token, client, signer, &form).await
}

pub(crate) async fn refresh_by_key(world: &World, client: &str, signer: &Signer, token: &str) -> Response {
    let form = [("grant_type", "refresh_token"), ("refresh_token", token)];
    by_key(world, Endpoint::Token, client, signer, &form).await
}

/// A request of a client that signs an assertion with that key.
pub(crate) async fn by_key(
    world: &World,
    endpoint: Endpoint,
    client: &str,
    signer: &Signer,
    form: &[(&str, &str)],
) -> Response {
    let assertion = assertion(world, client, signer);
    let more = [("client_assertion_type", JWT_BEARER), ("client_assertion", &assertion)];
    world.post(endpoint, &[form, &more].concat()).send().await
}

pub(crate) const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// A fresh assertion of that client.
pub(crate) fn assertion(world: &World, client: &str, signer: &Signer) -> String {
    let now = u64::from(world.clock.now().seconds());
    signer.assertion(client, world.server.issuer(), now, unchanged)
}

/// The text of a refusal.
#[track_caller]
pub(crate) fn refusal<T>(outcome: Result<T, RegistrarError>) -> String {
    match outcome {
        Ok(_) => "accepted".to_owned(),
        Err(error @ RegistrarError::Invalid(_)) => error.to_string(),
        Err(error) => panic!("{error:?}"),
    }
}
