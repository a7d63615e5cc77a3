//! The order of checks if a client authenticates with one key and proves another one.

use grantor::client::{AuthenticationMethod, AuthenticationMethods, ClientKeys};
use grantor::jose::JwkSet;
use grantor::secret::NonceKey;
use grantor::store::Stores;
use grantor::wire::Response;
use support::directory::{Directory, client};
use support::keys::{Signer, unchanged};
use support::world::{Credentials, ISSUER, World, e400};

use super::{TOKEN_URL, bound, edp, exchange_form, now, proof, world_with};

const CLIENT: &str = "keyed";

/// A world with nonces and one client, which authenticates with a key.
async fn world() -> World {
    let mut world = world_with(|config| {
        config.client_authentication.methods = AuthenticationMethods::SECRET.with(AuthenticationMethod::PrivateKeyJwt);
        config.dpop.nonce_keys = vec![NonceKey::new([1; 32])];
    })
    .await;
    let client = client(CLIENT)
        .authentication_methods(AuthenticationMethods::KEY)
        .keys(ClientKeys::Set(JwkSet::parse(Signer::ps256().key_set()).unwrap()))
        .build();
    let stores = Stores::new(world.store.clone()).with_clients(Directory::of([client]));
    world.server = world.builder(world.server.config().clone(), stores).build().unwrap();
    world.client = Credentials { id: CLIENT.into(), secret: String::new() };
    world
}

fn assertion(world: &World) -> String {
    Signer::ps256().assertion(CLIENT, ISSUER, now(world), unchanged)
}

async fn send(world: &World, code: &str, assertion: &str, proof: &str) -> Response {
    let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    let call = world.token(&exchange_form(code)).field("client_assertion_type", kind);
    call.field("client_assertion", assertion).header("DPoP", proof.as_bytes()).send().await
}

async fn nonce(world: &World) -> String {
    let demand = send(world, "x", &assertion(world), &proof(world, &Signer::es256())).await;
    e400(&demand, "use_dpop_nonce");
    demand.header("DPoP-Nonce").unwrap().to_owned()
}

fn with_nonce(world: &World, nonce: &str) -> String {
    Signer::es256().proof("POST", TOKEN_URL, now(world), |_, claims| claims["nonce"] = nonce.into())
}

/// Asserts `EIC`: Basic is offered, and the request has no `Authorization` line.
#[track_caller]
fn eic(response: &Response) {
    assert!(matches!(response.status(), 400 | 401), "{}", response.status());
    assert!(String::from_utf8_lossy(response.body()).contains("invalid_client"), "{response:?}");
}

/// 7523-3-07, NEG-7523-01, 9449-8-01
#[tokio::test]
async fn a_demand_for_a_nonce_leaves_the_assertion_good() {
    let world = world().await;
    let (code, once) = (world.code().await, assertion(&world));
    let demand = send(&world, &code, &once, &proof(&world, &Signer::es256())).await;
    e400(&demand, "use_dpop_nonce");
    let nonce = demand.header("DPoP-Nonce").unwrap();
    bound(&send(&world, &code, &once, &with_nonce(&world, nonce)).await);
    eic(&send(&world, &world.code().await, &once, &with_nonce(&world, nonce)).await);
}

/// 9449-5-03
#[tokio::test]
async fn the_client_is_judged_before_its_proof() {
    let world = world().await;
    let nonce = nonce(&world).await;
    let (code, once) = (world.code().await, assertion(&world));
    let forged = Signer::ps256().another().assertion(CLIENT, ISSUER, now(&world), unchanged);
    eic(&send(&world, &code, &forged, "a.b.c").await);
    edp(&send(&world, &code, &once, "a.b.c").await);
    bound(&send(&world, &code, &once, &with_nonce(&world, &nonce)).await);
}

/// 7523-3-03, 9449-11.1-01
#[tokio::test]
async fn the_assertion_is_recorded_before_the_proof() {
    let world = world().await;
    let nonce = nonce(&world).await;
    let (code, first) = (world.code().await, assertion(&world));
    let once = with_nonce(&world, &nonce);
    bound(&send(&world, &code, &first, &once).await);
    // Copies of both fail the client authentication; a copied proof uses up the assertion sent with it.
    let code = world.code().await;
    eic(&send(&world, &code, &first, &once).await);
    let second = assertion(&world);
    edp(&send(&world, &code, &second, &once).await);
    let fresh = with_nonce(&world, &nonce);
    eic(&send(&world, &code, &second, &fresh).await);
    bound(&send(&world, &code, &assertion(&world), &fresh).await);
}
