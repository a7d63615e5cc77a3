//! Members that are killed or frozen while callers write: what was acknowledged stays, and the others go on.

use std::time::Duration;

use tokio::time::sleep;

use crate::etcd::store::EtcdStore;
use crate::postgres::load::Load;
use support_servers::servers::etcd::Etcd;

/// Writes that show that a store is in use again.
const MORE: usize = 50;

/// Two servers, each with the members in another order.
fn stores(cluster: &Etcd) -> [EtcdStore; 2] {
    let store = EtcdStore::new(&cluster.addresses(), "grantor");
    let another = store.at_another_member(&cluster.addresses());
    [store, another]
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts etcd servers"]
async fn a_follower_and_a_leader_that_are_killed_lose_nothing_acknowledged() {
    let cluster = Etcd::start();
    let stores = stores(&cluster);
    let mut load = Load::on(&stores, 8).await;
    let mut killed = Vec::new();
    for kills_leader in [false, true, false, true] {
        load.until_acknowledged(MORE).await;
        let leader = cluster.leader().expect("the cluster is whole");
        let member = if kills_leader { leader } else { (leader + 1) % 3 };
        cluster.kill(member);
        // Two of three members are enough.
        load.until_acknowledged(MORE).await;
        cluster.restart(member);
        killed.push(member);
    }
    load.until_acknowledged(MORE).await;
    load.end().await;
    load.nothing_is_lost(&stores[0]).await;
    load.nothing_is_lost(&stores[1]).await;
    println!("members {killed:?} killed: {:?} writes acknowledged, {} refused", load.acknowledged(), load.refused());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts etcd servers"]
async fn a_frozen_leader_is_left_for_its_successor() {
    let cluster = Etcd::start();
    let stores = stores(&cluster);
    let mut load = Load::on(&stores, 8).await;
    load.until_acknowledged(MORE).await;
    let leader = cluster.leader().expect("the cluster is whole");
    cluster.freeze(leader, true);
    load.until_acknowledged(MORE).await;
    cluster.freeze(leader, false);
    cluster.until_it_is_whole();
    load.until_acknowledged(MORE).await;
    load.end().await;
    load.nothing_is_lost(&stores[0]).await;
}

/// Without a majority nothing is acknowledged, and nothing that was is lost.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts etcd servers"]
async fn without_a_majority_nothing_is_acknowledged() {
    let cluster = Etcd::start();
    let stores = stores(&cluster);
    let mut load = Load::on(&stores, 8).await;
    load.until_acknowledged(MORE).await;
    cluster.kill(0);
    cluster.kill(1);
    // What was on its way is answered by then.
    sleep(Duration::from_secs(4)).await;
    let before: usize = load.acknowledged().iter().sum();
    sleep(Duration::from_secs(2)).await;
    assert_eq!(load.acknowledged().iter().sum::<usize>(), before);
    assert!(load.refused() > 0);
    cluster.restart_all(&[0, 1]);
    load.until_acknowledged(MORE).await;
    load.end().await;
    load.nothing_is_lost(&stores[1]).await;
}
