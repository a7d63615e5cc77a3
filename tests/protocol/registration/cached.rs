//! A server with a cache in front of its clients, and another one that changes them.

use std::time::Duration;

use grantor::client::Privileges;
use grantor::store::Stores;
use grantor::{CachedClients, ClientId, Consent, Decision, Registrar, Subject};

use crate::registration::registrar;
use support::world::{PKCE, Reviewer as _, SESSION, World, page};

const TIME_TO_LIVE: u64 = 10;

/// A world whose server caches clients for ten seconds, and the registrar of another server.
async fn cached() -> (World, Registrar, ClientId) {
    let mut world = World::platform().await;
    let elsewhere = registrar(&world);
    let store = world.store.clone();
    let clients = CachedClients::new(store.clone(), Duration::from_secs(TIME_TO_LIVE)).with_clock(world.clock.clone());
    let stores = Stores::new(store).with_registry(clients);
    world.server = world.builder(world.server.config().clone(), stores).build().unwrap();
    let id = world.client.client_id();
    (world, elsewhere, id)
}

/// ADM-16
#[tokio::test]
async fn a_step_is_seen_at_once_here_and_within_the_time_to_live_elsewhere() {
    let (world, elsewhere, id) = cached().await;
    let trusted = async || {
        let bad = world.query(&[PKCE[0], PKCE[1], ("scope", "nothing")]);
        !world.authorize(&bad).await.unwrap_err().needs_sign_in()
    };
    assert!(!trusted().await);
    let mut privileges = Privileges::default();
    privileges.trusted = true;
    let version = async || elsewhere.client(&id).await.unwrap().version();
    registrar(&world).set_privileges(&id, version().await, privileges).await.unwrap();
    assert!(trusted().await);

    elsewhere.set_privileges(&id, version().await, Privileges::default()).await.unwrap();
    world.advance(TIME_TO_LIVE - 1);
    assert!(trusted().await);
    world.advance(1);
    assert!(!trusted().await);

    let live = world.pair().await;
    elsewhere.delete(&id, version().await).await.unwrap();
    assert!(world.opens(&live.access).await);
    world.advance(TIME_TO_LIVE - 1);
    assert!(world.opens(&live.access).await);
    world.advance(1);
    assert!(!world.opens(&live.access).await);

    let other =
        elsewhere.submit(Subject::new("developer").unwrap(), support::world::form(), Some(support::world::logo()));
    let other = other.await.unwrap();
    elsewhere.approve_now(&other, grantor::Approval::default()).await.unwrap();
    let secret = elsewhere.claim_now(&other).await.unwrap().expose().to_owned();
    let client = support::world::Credentials { id: other.to_string(), secret };
    let live = world.pair_of(&client).await;
    let here = registrar(&world);
    here.delete(&other, here.client(&other).await.unwrap().version()).await.unwrap();
    assert!(!world.opens(&live.access).await);
}

/// ADM-16
#[tokio::test]
async fn nobody_is_asked_for_a_client_that_was_suspended_elsewhere() {
    let (world, elsewhere, id) = cached().await;
    let early = world.authorize(&world.query(&PKCE)).await.unwrap();
    let handle = world.server.hold(&early, &world.alice, SESSION).await.unwrap();
    elsewhere.suspend(&id).await.unwrap();
    // The check of the request may use the cache; the consent page and the decision do not.
    let late = world.authorize(&world.query(&PKCE)).await.unwrap();
    let agreed = Decision::Approve(Consent::to_everything());
    let decided = world.server.decide(handle.expose(), &world.alice, SESSION, &agreed).await;
    page(&decided.unwrap_err().response(Some(&world.alice)));
    let held = world.server.hold(&late, &world.alice, SESSION).await;
    page(&held.unwrap_err().response(Some(&world.alice)));
}
