//! A whole service, where another server on the same Redis takes each step.

use grantor::application::LogoSlot;
use grantor::store::redis::RedisOptions;
use grantor::testing::SeededEntropy;
use grantor::{AuthorizationServer, Config, Consent, Decision, RedisStore};

use crate::redis::REPLICATED;
use support::jump;
use support::world::{ISSUER, PKCE, SESSION, World, code, e400, empty, form, logo, pair, text};
use support_servers::servers::redis::{Cluster, Server};

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn every_step_of_a_flow_may_be_taken_by_another_server() {
    let server = Server::durable();
    flow(async || RedisStore::connect(&server.address(), &RedisOptions::new()).await.unwrap()).await;
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_cluster_serves_the_same_flow_and_waits_for_replicas() {
    let cluster = Cluster::durable();
    let options = RedisOptions::new().wait(1, REPLICATED);
    flow(async || crate::redis::over(&cluster, &options).await).await;
}

async fn flow(open: impl AsyncFn() -> RedisStore) {
    let mut world = World::platform().await;
    let mut seed = 11;
    let mut next = async |world: &mut World| {
        seed += 1;
        let builder = AuthorizationServer::builder(Config::platform(ISSUER), open().await).clock(world.clock.clone());
        let builder = builder.entropy(SeededEntropy::new(seed)).events(world.events.clone());
        world.server = builder.build().unwrap();
    };
    next(&mut world).await;
    let client = world.register(form()).await;

    next(&mut world).await;
    let shown = world.server.registrar().unwrap().logo(&client.client_id(), LogoSlot::InForce).await;
    assert_eq!(shown.unwrap().as_deref(), Some(&logo()));
    let query = world.query_of(&client, &PKCE);
    let pending = world.authorize(&query).await.unwrap();
    let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();

    next(&mut world).await;
    let agree = Decision::Approve(Consent::to_everything());
    let decided = world.server.decide(handle.expose(), &world.alice, SESSION, &agree).await.unwrap();
    let code = text(&code(&decided), "code");

    next(&mut world).await;
    let first = pair(&world.exchange_as(&client, &code).await);

    next(&mut world).await;
    assert!(world.opens(&first.access).await);
    let second = pair(&world.refresh_as(&client, &first.refresh).await);
    assert_ne!(second, first);

    next(&mut world).await;
    assert!(world.opens(&first.access).await, "the old pair is in grace");
    assert!(world.opens(&second.access).await);
    assert_eq!(world.server.grants_of(&world.alice).await.unwrap().len(), 1);
    empty(&world.revoke_as(&client, &second.refresh).await);

    next(&mut world).await;
    assert!(!world.opens(&first.access).await && !world.opens(&second.access).await);
    e400(&world.refresh_as(&client, &second.refresh).await, "invalid_grant");
    assert!(world.server.grants_of(&world.alice).await.unwrap().is_empty());

    next(&mut world).await;
    let replayed = pair(&world.exchange_as(&client, &world.code_for(&query).await).await);
    assert!(world.opens(&replayed.access).await, "another grant of the same user");
    world.advance(400 * 24 * 3600);
    assert_eq!(world.purge(100).await.removed(), 4, "two authorizations, two grants");
}

/// CLK-01
#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_clock_jump_deletes_nothing_across_restarts() {
    let server = Server::durable();
    let mut seed = 100;
    jump::survives_restarts(World::platform().await, async |world: &mut World| {
        seed += 1;
        let store = RedisStore::connect(&server.address(), &RedisOptions::new()).await.unwrap();
        let builder = AuthorizationServer::builder(Config::platform(ISSUER), store).clock(world.clock.clone());
        world.server = builder.entropy(SeededEntropy::new(seed)).events(world.events.clone()).build().unwrap();
    })
    .await;
}
