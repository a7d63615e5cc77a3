//! Servers that are killed, freeze or move slots during writes: what was acknowledged is found.

use std::time::Duration;

use grantor::RedisStore;
use grantor::store::redis::RedisOptions;
use grantor::store::{Grant, RecordStore};
use grantor::testing::records;

use crate::redis::load::{FAR, Load, in_the_end};
use support_servers::servers::redis::{Cluster, Server, until};

const ROUNDS: u64 = 30;
const FAIL_OVERS: usize = 3;
/// Writes that show that a server is in use again.
const MORE: usize = 100;
/// Look-ups of keys of which some are at every primary.
const LOOK_UPS: usize = 48;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts Redis servers"]
async fn a_durable_server_that_is_killed_loses_nothing_acknowledged() {
    let server = Server::durable();
    let options = RedisOptions::new().response_timeout(Duration::from_secs(1));
    let store = RedisStore::connect(&server.address(), &options).await.unwrap();
    let (mut writes, mut errors) = (0, 0);
    for round in 0..ROUNDS {
        let load = Load::start(&store).await;
        load.until_acknowledged(MORE).await;
        tokio::time::sleep(Duration::from_millis(round * 37 % 150)).await;
        server.kill();
        server.restart();
        load.until_acknowledged(MORE).await;
        let ledger = load.stop().await;
        ledger.assert_no_version_was_won_twice();
        assert_eq!(ledger.lost(&store).await, 0, "round {round}");
        writes += ledger.count();
        errors += ledger.errors();
    }
    println!("{ROUNDS} times killed: {writes} writes acknowledged, {errors} transient errors, none lost");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts Redis servers"]
async fn a_cluster_that_loses_primaries_keeps_what_a_replica_has() {
    let cluster = Cluster::durable();
    let options = RedisOptions::new().wait(1, Duration::from_secs(1)).response_timeout(Duration::from_secs(1));
    let store = crate::redis::over(&cluster, &options).await;
    let (mut writes, mut errors) = (0, 0);
    for round in 0..FAIL_OVERS {
        let load = Load::start(&store).await;
        load.until_acknowledged(MORE).await;
        let killed = cluster.primaries()[round % 3];
        // A replica that lags behind is what loses writes.
        let replica = cluster.replica_of(killed);
        replica.freeze();
        tokio::time::sleep(Duration::from_millis(200)).await;
        killed.kill();
        replica.thaw();
        until(|| cluster.primaries().len() == 3, || "no replica takes over".to_owned());
        load.until_acknowledged(10 * MORE).await;
        let ledger = load.stop().await;
        ledger.assert_no_version_was_won_twice();
        assert_eq!(ledger.lost(&store).await, 0, "round {round}");
        writes += ledger.count();
        errors += ledger.errors();
        killed.restart();
        cluster.until_it_is_whole();
    }
    println!("{FAIL_OVERS} primaries lost: {writes} writes acknowledged, {errors} transient errors, none lost");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts Redis servers"]
async fn a_primary_that_is_stuck_is_left_for_its_successor() {
    let cluster = Cluster::durable();
    let options = RedisOptions::new().wait(1, Duration::from_secs(1)).response_timeout(Duration::from_secs(1));
    let store = crate::redis::over(&cluster, &options).await;
    let load = Load::start(&store).await;
    load.until_acknowledged(MORE).await;
    let stuck = cluster.primaries()[0];
    let successor = cluster.replica_of(stuck);
    stuck.freeze();
    until(|| successor.info("role").as_deref() == Some("master"), || "no replica takes over".to_owned());
    load.until_acknowledged(10 * MORE).await;
    // The writes above may all be at the other primaries; the successor has no replica for which they could wait.
    for _ in 0..LOOK_UPS {
        let grant = records::grant(&records::subject(), FAR);
        assert_eq!(in_the_end(async || RecordStore::<Grant>::find(&store, &grant.id()).await).await, None);
    }
    stuck.thaw();
    cluster.until_it_is_whole();
    load.until_acknowledged(MORE).await;
    let ledger = load.stop().await;
    ledger.assert_no_version_was_won_twice();
    assert_eq!(ledger.lost(&store).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts Redis servers"]
async fn slots_that_move_take_their_rows_along() {
    let cluster = Cluster::start();
    let store = crate::redis::over(&cluster, &RedisOptions::new()).await;
    let load = Load::start(&store).await;
    load.until_acknowledged(MORE).await;
    let primaries = cluster.primaries();
    for (from, to) in [(0, 1), (1, 2)] {
        cluster.move_slots(primaries[from], primaries[to], 700);
    }
    load.until_acknowledged(10 * MORE).await;
    let ledger = load.stop().await;
    ledger.assert_no_version_was_won_twice();
    assert_eq!(ledger.lost(&store).await, 0);
    assert_eq!(ledger.errors(), 0, "a move causes no error");
}
