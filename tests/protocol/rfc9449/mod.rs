//! RFC 9449: tokens that are bound to a key of the client, and the proofs for them.

mod assertions;
pub(crate) mod at_resource;
mod code_binding;
mod introspection;
mod metadata;
mod nonces;
mod proofs;
mod pushed;
mod refresh;
mod resource;
mod token;

use grantor::Config;
use grantor::config::{DpopBoundTokens, Profile};
use grantor::store::{RecordStore, Replay};
use grantor::wire::message::TokenType;
use grantor::wire::{Endpoint, Response};

use support::intercepted::{Failure, Fate, Intercepted, every};
use support::keys::{Signer, unchanged};
use support::world::{Call, Credentials, Pair, VERIFIER, World, e400, ok, pair};

pub(crate) const TOKEN_URL: &str = "https://auth.example/oauth2/token";

/// A world in which tokens may be bound.
pub(crate) async fn world() -> World {
    world_with(|_| {}).await
}

pub(crate) async fn world_with(change: impl FnOnce(&mut Config)) -> World {
    World::with(Profile::Platform, |config| {
        config.dpop.tokens = DpopBoundTokens::Optional;
        change(config);
    })
    .await
}

/// A store of used identifiers that is down.
pub(crate) fn broken(world: &World) -> impl RecordStore<Replay> {
    Intercepted::new(world.store.clone(), every("replays.insert", Fate::FailsBefore(Failure::Transient)))
}

/// The seconds of the world's clock.
pub(crate) fn now(world: &World) -> u64 {
    grantor::Clock::now(&world.clock).seconds().into()
}

/// A valid proof for a token request now.
pub(crate) fn proof(world: &World, signer: &Signer) -> String {
    signer.proof("POST", TOKEN_URL, now(world), unchanged)
}

/// The form of an exchange.
pub(crate) fn exchange_form(code: &str) -> [(&str, &str); 3] {
    [("grant_type", "authorization_code"), ("code", code), ("code_verifier", VERIFIER)]
}

/// The form of a refresh.
pub(crate) fn refresh_form(token: &str) -> [(&str, &str); 2] {
    [("grant_type", "refresh_token"), ("refresh_token", token)]
}

/// A token request with that `DPoP` header.
pub(crate) fn call<'w>(world: &'w World, client: &Credentials, form: &[(&str, &str)], proof: &str) -> Call<'w> {
    world.post(Endpoint::Token, form).client(client).header("DPoP", proof.as_bytes())
}

/// The answer to a token request with a proof by that key.
pub(crate) async fn proven(world: &World, client: &Credentials, form: &[(&str, &str)], signer: &Signer) -> Response {
    call(world, client, form, &proof(world, signer)).send().await
}

/// The answer to the exchange of a code with that proof.
pub(crate) async fn exchange_with(world: &World, code: &str, proof: &str) -> Response {
    call(world, &world.client, &exchange_form(code), proof).send().await
}

/// The first pair of a grant of that client, bound to the key.
pub(crate) async fn bound_pair_of(world: &World, client: &Credentials, signer: &Signer) -> Pair {
    let code = world.code_for(&world.query_of(client, &support::world::PKCE)).await;
    bound(&proven(world, client, &exchange_form(&code), signer).await)
}

/// `OK` with DPoP-bound tokens.
#[track_caller]
pub(crate) fn bound(response: &Response) -> Pair {
    assert_eq!(ok(response).token_type, TokenType::Dpop);
    assert!(String::from_utf8_lossy(response.body()).contains(r#""token_type":"DPoP""#));
    pair(response)
}

/// `OK` with tokens that are not bound.
#[track_caller]
pub(crate) fn unbound(response: &Response) -> Pair {
    assert!(String::from_utf8_lossy(response.body()).contains(r#""token_type":"bearer""#));
    pair(response)
}

/// `EDP`
#[track_caller]
pub(crate) fn edp(response: &Response) {
    e400(response, "invalid_dpop_proof");
    assert_eq!(response.header("DPoP-Nonce"), None);
}
