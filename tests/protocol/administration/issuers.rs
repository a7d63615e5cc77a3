//! A store belongs to one issuer: two services on one store would accept each other's tokens.

use std::error::Error;

use futures::future::join_all;
use grantor::server::PurgeError;
use grantor::store::{LastPurge, RecordStore};
use grantor::{AuthorizationServer, Config, RegistrarError, Timestamp};

use support::world::{ISSUER, START, World};

const OTHER: &str = "https://other.example";

/// Returns a server on the store of the world.
fn server(world: &World, issuer: &str, former: &[&str]) -> AuthorizationServer {
    let mut config = Config::platform(issuer);
    config.former_issuers = former.iter().map(|&issuer| issuer.to_owned()).collect();
    world.builder(config, world.store.clone()).build().unwrap()
}

/// Starts as services do: registers a client, then purges.
async fn start(server: &AuthorizationServer) -> Result<(), String> {
    let client =
        server.own_client("own").name("Own").secret("32-characters-that-nobody-can-guess").scopes("repo-code:r");
    let ensured = client.redirect_uri("https://own.example/callback").ensure().await;
    let purged = server.purge_expired(100).await;
    match (ensured, purged) {
        (Ok(_), Ok(_)) => Ok(()),
        (Err(RegistrarError::OwnClient { error, .. }), Err(PurgeError::Store(purged))) => {
            let RegistrarError::Store(ensured) = *error else { panic!("{error}") };
            assert!(!ensured.is_transient() && !purged.is_transient());
            let sentence = ensured.source().unwrap().to_string();
            assert_eq!(sentence, purged.source().unwrap().to_string());
            Err(sentence)
        }
        (ensured, purged) => panic!("{ensured:?}, {purged:?}"),
    }
}

async fn stored(world: &World) -> LastPurge {
    let last = RecordStore::<LastPurge>::find(&world.store, &LastPurge::KEY).await.unwrap().unwrap();
    (*last).clone()
}

#[tokio::test]
async fn a_second_service_on_a_store_is_refused_at_its_start() {
    let world = World::platform().await;
    start(&world.server).await.unwrap();
    let before = stored(&world).await;
    assert_eq!(before.issuer(), Some(ISSUER));
    let other = server(&world, OTHER, &["https://third.example"]);
    for _ in 0..2 {
        world.advance(61);
        world.events.take();
        let refused = start(&other).await.unwrap_err();
        assert!(refused.contains(ISSUER) && refused.contains(OTHER) && refused.contains("former_issuers"), "{refused}");
        let events = world.events.take();
        assert!(matches!(&events[..], [event] if event.starts_with("PurgeFailed")), "{events:?}");
        assert!(!other.confirm_clock().await.unwrap_err().is_transient());
    }
    assert_eq!(stored(&world).await, before);
    start(&world.server).await.unwrap();
}

#[tokio::test]
async fn a_service_that_moves_lists_its_former_issuer() {
    let world = World::platform().await;
    start(&world.server).await.unwrap();
    let moved = server(&world, OTHER, &["https://third.example", ISSUER]);
    start(&moved).await.unwrap();
    assert_eq!(stored(&world).await.issuer(), Some(OTHER), "within the minute of the last purge");
    start(&moved).await.unwrap();
    let refused = start(&world.server).await.unwrap_err();
    assert!(refused.contains(ISSUER) && refused.contains(OTHER), "{refused}");
    let old_address = server(&world, ISSUER, &[OTHER]);
    start(&old_address).await.unwrap();
    // A server of one address whose clock is behind does not set the time back.
    world.advance(3600);
    start(&server(&world, OTHER, &[ISSUER])).await.unwrap();
    let newest = stored(&world).await.time();
    world.clock.set(Timestamp::from_seconds(START));
    start(&old_address).await.unwrap();
    assert_eq!((stored(&world).await.issuer(), stored(&world).await.time()), (Some(ISSUER), newest));
}

#[tokio::test]
async fn servers_of_one_issuer_start_at_once() {
    let world = World::platform().await;
    let servers: Vec<_> = (0..8).map(|_| server(&world, ISSUER, &[])).collect();
    let started = join_all(servers.iter().map(start)).await;
    assert!(started.iter().all(Result::is_ok), "{started:?}");
}

/// The first purge decides, and the others are refused.
#[tokio::test]
async fn of_two_services_that_start_at_once_one_has_the_store() {
    let world = World::platform().await;
    let servers = [server(&world, ISSUER, &[]), server(&world, OTHER, &[])];
    let purged = join_all(servers.iter().map(|server| server.purge_expired(100))).await;
    assert_eq!(purged.iter().filter(|purged| purged.is_ok()).count(), 1, "{purged:?}");
    let started = [start(&servers[0]).await.is_ok(), start(&servers[1]).await.is_ok()];
    assert_eq!(started.map(usize::from).iter().sum::<usize>(), 1);
}
