//! What malformed assertions make a server do, in numbers that need no clock.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use grantor::client::{AuthenticationMethod, AuthenticationMethods, ClientKeys};
use grantor::jose::JwkSet;
use grantor::store::Stores;
use grantor::testing::ManualClock;
use grantor::wire::{Body, Endpoint, Request};
use grantor::{AuthorizationServer, Client, ClientId, Config, MemoryStore, Timestamp};
use support::directory::Directory;
use support::keys::Signer;

use crate::operations::allocator;

/// Bytes of the longest assertion.
const LONGEST: usize = 8192;
/// Allocations that the parts of a token may take, however long they are.
const PARTS: u64 = 16;

fn server() -> AuthorizationServer {
    let mut config = Config::strict("https://auth.example");
    config.client_authentication.methods = AuthenticationMethods::KEY;
    let keys = JwkSet::parse(Signer::es256().key_set()).unwrap();
    let client = Client::builder(ClientId::new("client").unwrap())
        .authentication_methods(AuthenticationMethods::only(AuthenticationMethod::PrivateKeyJwt))
        .keys(ClientKeys::Set(keys))
        .build();
    let store = MemoryStore::new();
    let clients = Directory::of([client]);
    let stores = Stores::new(store).with_clients(clients);
    let clock = ManualClock::new(Timestamp::from_seconds(1_000_000_000));
    AuthorizationServer::builder(config, stores).clock(clock).build().unwrap()
}

/// How often a request with that assertion allocates.
fn allocations(server: &AuthorizationServer, assertion: &str) -> u64 {
    let kind = "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer";
    let form = format!("token=x&client_assertion_type={kind}&client_assertion={assertion}");
    let request = Request::new("POST").header("Content-Type", b"application/x-www-form-urlencoded");
    let request = request.body(Body::Bytes(form.as_bytes()));
    let before = allocator::calls();
    let Poll::Ready(response) =
        pin!(server.serve(Endpoint::Revocation, &request)).poll(&mut Context::from_waker(Waker::noop()))
    else {
        panic!("the memory store never waits");
    };
    let calls = allocator::calls() - before;
    assert_eq!(response.status(), 400);
    calls
}

/// 7515-3.1-01, NEG-JOSE-03: no allocation for each period, or for each level of nested lists.
#[test]
fn the_size_of_a_malformed_assertion_costs_no_allocations() {
    let server = server();
    let least = allocations(&server, "x");
    let deep = URL_SAFE_NO_PAD.encode("[".repeat(5000));
    for assertion in [
        ".".repeat(LONGEST),
        "A.".repeat(LONGEST / 2),
        "A".repeat(LONGEST),
        "A".repeat(LONGEST + 1),
        ".".repeat(16_000),
        format!("{deep}.AA.AA"),
        format!("{}.{deep}.AA", URL_SAFE_NO_PAD.encode(r#"{"alg":"ES256"}"#)),
    ] {
        let calls = allocations(&server, &assertion);
        assert!(calls <= least + PARTS, "{calls} for {} and {least} for x", &assertion[..20]);
    }
}
