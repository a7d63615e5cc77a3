//! A line that was bound to a key never gives an unbound token, whatever its client sends [RFC 9449 section 5].

use grantor::Clock;
use grantor::client::RefreshRotation;
use grantor::config::{DpopBoundTokens, Profile};
use grantor::wire::Response;
use grantor::wire::message::TokenType;
use proptest::prelude::*;

use crate::properties::cases::{block_on, check, holds};
use support::keys::{Signer, unchanged};
use support::world::{Credentials, PKCE, VERIFIER, World, pair, public_form};

const CASES: u32 = 150;

/// One token request: which of the refresh tokens so far it presents, by which of three keys, and how long after the
/// last.
#[derive(Clone, Debug)]
struct Request {
    token: prop::sample::Index,
    key: Option<usize>,
    wait: u64,
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let wait = prop_oneof![Just(0), Just(10), Just(400), Just(20_000)];
    let request = (any::<prop::sample::Index>(), prop::option::of(0..3_usize), wait);
    prop::collection::vec(request.prop_map(|(token, key, wait)| Request { token, key, wait }), 1..12)
}

fn signers() -> [Signer; 3] {
    [Signer::es256(), Signer::ed25519(), Signer::es256().another()]
}

async fn send(world: &World, client: &Credentials, form: &[(&str, &str)], key: Option<usize>) -> Response {
    let call = world.token(form).client(client);
    let Some(key) = key else { return call.send().await };
    let url = format!("{}/oauth2/token", world.server.issuer());
    let proof = signers()[key].proof("POST", &url, world.clock.now().seconds().into(), unchanged);
    call.header("DPoP", proof.as_bytes()).send().await
}

fn is_bound(response: &Response) -> bool {
    serde_json::from_slice::<grantor::wire::message::TokenResponse>(response.body()).unwrap().token_type
        == TokenType::Dpop
}

/// Plays the requests, and checks each answer.
async fn play(
    is_public: bool,
    rotation: RefreshRotation,
    first: Option<usize>,
    requests: Vec<Request>,
) -> Result<(), String> {
    let world = World::with(Profile::Platform, |config| {
        config.dpop.tokens = DpopBoundTokens::Optional;
        config.refresh.rotation = rotation;
    })
    .await;
    let client = if is_public { world.register(public_form()).await } else { world.client.clone() };
    let code = world.code_for(&world.query_of(&client, &PKCE)).await;
    let form = [("grant_type", "authorization_code"), ("code", code.as_str()), ("code_verifier", VERIFIER)];
    let response = send(&world, &client, &form, first).await;
    assert_eq!(is_bound(&response), first.is_some());
    let mut tokens = vec![pair(&response).refresh];
    let mut bound = first;
    for Request { token, key, wait } in requests {
        world.advance(wait);
        let presented = token.get(&tokens).clone();
        let is_newest = tokens.last() == Some(&presented);
        let form = [("grant_type", "refresh_token"), ("refresh_token", presented.as_str())];
        let response = send(&world, &client, &form, key).await;
        if response.status() != 200 {
            continue;
        }
        let what = || format!("{key:?} after {bound:?}");
        holds(is_bound(&response) == key.is_some(), || {
            format!("the token has not the key of the request: {}", what())
        })?;
        holds(bound.is_none() || key.is_some(), || format!("a bound grant gave an unbound token: {}", what()))?;
        holds(!is_public || bound.is_none() || bound == key, || {
            format!("a public client changed its key: {}", what())
        })?;
        // A superseded token binds nothing.
        if is_newest {
            bound = key.or(bound);
        }
        tokens.push(pair(&response).refresh);
    }
    Ok(())
}

/// 9449-5-02, 9449-5-03
#[test]
fn a_bound_grant_never_gives_an_unbound_token() {
    let cases = (any::<bool>(), any::<bool>(), prop::option::of(0..3_usize), requests());
    check(CASES, &cases, |(is_public, keeps, first, requests)| {
        let rotation = if keeps { RefreshRotation::Keep } else { RefreshRotation::Rotate };
        block_on(play(is_public, rotation, first, requests))
    });
}
