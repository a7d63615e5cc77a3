//! Which tokens are bound, and which requests need a proof [RFC 9449 section 5].

use grantor::client::{GrantType, GrantTypes};
use grantor::config::{DpopBoundTokens, Profile};
use grantor::scope::ResourceScope;
use grantor::store::Stores;
use grantor::wire::Endpoint;
use grantor::{ApplicationForm, ClientSecret, Config};
use support::directory::{Directory, client};
use support::keys::Signer;
use support::world::{Credentials, World, e400, e401, empty, form};

use super::{
    bound, bound_pair_of, call, edp, exchange_form, exchange_with, proof, proven, refresh_form, unbound, world,
    world_with,
};
use crate::interleaved::reconfigured;
use crate::rfc8414::metadata;

const MACHINE: [(&str, &str); 1] = [("grant_type", "client_credentials")];

/// A form for a client that acts for itself and for users.
pub(super) fn client_credentials_form() -> ApplicationForm {
    let mut form = form();
    form.grant_types = GrantTypes::default().with(GrantType::ClientCredentials);
    form.client_scopes = "repo-code:rw repo-issue:r".into();
    form.client_resources = Some(ResourceScope::All);
    form
}

/// 9449-5-01
#[tokio::test]
async fn a_proof_binds_the_tokens_of_every_grant() {
    let world = world_with(|config| config.client_credentials.on = true).await;
    let signer = Signer::es256();
    let first = bound_pair_of(&world, &world.client, &signer).await;
    bound(&proven(&world, &world.client, &refresh_form(&first.refresh), &signer).await);
    let machine = world.register(client_credentials_form()).await;
    let token = bound(&proven(&world, &machine, &MACHINE, &signer).await);
    assert_eq!(token.refresh, "");

    let first = unbound(&world.exchange(&world.code().await).await);
    let next = unbound(&world.refresh(&first.refresh).await);
    unbound(&world.token(&MACHINE).client(&machine).send().await);
    bound(&proven(&world, &world.client, &refresh_form(&next.refresh), &signer).await);
}

/// 9449-5-03, FAPI-5.3.2.1-04
#[tokio::test]
async fn where_all_tokens_are_bound_every_request_needs_a_proof() {
    let world = world_with(|config| {
        config.dpop.tokens = DpopBoundTokens::Required;
        config.client_credentials.on = true;
    })
    .await;
    let machine = world.register(client_credentials_form()).await;
    let signer = Signer::es256();
    let code = world.code().await;
    edp(&world.exchange(&code).await);
    let first = bound(&exchange_with(&world, &code, &proof(&world, &signer)).await);
    edp(&world.refresh(&first.refresh).await);
    bound(&proven(&world, &world.client, &refresh_form(&first.refresh), &signer).await);
    edp(&world.token(&MACHINE).client(&machine).send().await);
    bound(&proven(&world, &machine, &MACHINE, &signer).await);
}

/// 9449-5-03
#[tokio::test]
async fn a_proof_is_demanded_after_the_client_and_before_the_grant() {
    let world = world_with(|config| config.dpop.tokens = DpopBoundTokens::Required).await;
    let signer = Signer::es256();
    let missing = |secret: &str| world.token(&exchange_form("unknown")).basic(&world.client.id, secret);
    let bad = |secret: &str| missing(secret).header("DPoP", b"a.b.c");
    e401(&missing("wrong").send().await, "invalid_client");
    e401(&bad("wrong").send().await, "invalid_client");
    edp(&missing(&world.client.secret).send().await);
    edp(&bad(&world.client.secret).send().await);
    e400(&exchange_with(&world, "unknown", &proof(&world, &signer)).await, "invalid_grant");
    // The method and the form come first.
    let get = call(&world, &world.client, &[], "a.b.c").method("GET").send().await;
    assert_eq!(get.status(), 405);
    e400(&call(&world, &world.client, &[("code", "a"), ("code", "b")], "a.b.c").send().await, "invalid_request");
}

/// Replaces the world's clients with one that demands DPoP-bound tokens.
fn with_demanding_client(world: &mut World) {
    let secret = "a secret of forty-three characters, or more!";
    let client = client("demanding")
        .options(|own| own.requires_dpop_bound_tokens = true)
        .secret(&ClientSecret::new(secret))
        .unwrap();
    let stores = Stores::new(world.store.clone()).with_clients(Directory::of([client.build()]));
    world.server = world.builder(world.server.config().clone(), stores).build().unwrap();
    world.client = Credentials { id: "demanding".into(), secret: secret.into() };
}

/// 9449-5-03
#[tokio::test]
async fn a_client_that_demands_dpop_bound_tokens_gets_no_others() {
    let mut world = world().await;
    with_demanding_client(&mut world);
    let code = world.code().await;
    edp(&world.exchange(&code).await);
    let signer = Signer::es256();
    let first = bound(&proven(&world, &world.client, &exchange_form(&code), &signer).await);
    edp(&world.refresh(&first.refresh).await);
    bound(&proven(&world, &world.client, &refresh_form(&first.refresh), &signer).await);
}

/// 9449-5-03
#[tokio::test]
async fn a_grant_that_was_bound_stays_bound_whatever_the_settings() {
    let mut world = world().await;
    let signer = Signer::es256();
    let first = bound_pair_of(&world, &world.client, &signer).await;
    edp(&world.refresh(&first.refresh).await);
    reconfigured(&mut world, |config| config.dpop.tokens = DpopBoundTokens::Off);
    edp(&proven(&world, &world.client, &refresh_form(&first.refresh), &signer).await);
    reconfigured(&mut world, |config| config.dpop.tokens = DpopBoundTokens::Optional);
    bound(&proven(&world, &world.client, &refresh_form(&first.refresh), &signer).await);
}

/// 9449-5.1-01
#[tokio::test]
async fn metadata_lists_the_algorithms_of_proofs_where_they_are_read() {
    type Change = fn(&mut Config);
    let cases: [(Change, bool); 3] = [
        (|_| {}, false),
        (|config| config.dpop.tokens = DpopBoundTokens::Optional, true),
        (|config| config.dpop.tokens = DpopBoundTokens::Required, true),
    ];
    for (change, is_listed) in cases {
        let world = World::with(Profile::Strict, change).await;
        let listed = metadata(&world).await.get("dpop_signing_alg_values_supported").cloned();
        let expected = serde_json::json!(["ES256", "PS256", "EdDSA", "Ed25519"]);
        assert_eq!(listed, is_listed.then_some(expected));
    }
}

/// 9449-4.1-01, NEG-DPOP-01
#[tokio::test]
async fn revocation_and_introspection_read_no_proof() {
    let world = world_with(|config| config.dpop.tokens = DpopBoundTokens::Required).await;
    let first = bound_pair_of(&world, &world.client, &Signer::es256()).await;
    for header in [None, Some("a.b.c")] {
        for endpoint in [Endpoint::Introspection, Endpoint::Revocation] {
            let call = world.post(endpoint, &[("token", &first.access)]).client(&world.client);
            let call = match header {
                Some(header) => call.header("DPoP", header.as_bytes()).header("DPoP", b"another"),
                None => call,
            };
            let response = call.send().await;
            assert_eq!((response.status(), response.header("DPoP-Nonce")), (200, None));
        }
    }
    empty(&world.revoke(&first.refresh).await);
    e400(&proven(&world, &world.client, &refresh_form(&first.refresh), &Signer::es256()).await, "invalid_grant");
}
