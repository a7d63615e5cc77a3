//! Servers that crash, restart and are replaced while callers write: what was acknowledged stays.

use std::time::Duration;

use grantor::store::postgres::PostgresOptions;
use grantor::store::{Grant, Insertion, RecordStore};
use grantor::testing::records;
use grantor::{PostgresStore, Timestamp};
use tokio::time::sleep;

use crate::postgres::confirm::impatient;
use crate::postgres::load::Load;
use crate::postgres::shared::options_on;
use support_servers::servers::postgres::{End, PostgresServer};

/// Half of them kill every process, half stop the server without a shutdown.
const ROUNDS: u32 = 100;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a PostgreSQL server"]
async fn a_server_that_is_killed_under_load_loses_nothing_that_was_acknowledged() {
    // A recovery begins with a sync of everything, which takes seconds if it is done file by file.
    let server = PostgresServer::start(&["recovery_init_sync_method=syncfs"]);
    let options = options_on(&server);
    PostgresStore::migrate(&options).await.unwrap();
    let stores = [PostgresStore::connect(&options).await.unwrap(), PostgresStore::connect(&options).await.unwrap()];
    let mut acknowledged = 0;
    for round in 0..ROUNDS {
        let mut load = Load::on(&stores, 8).await;
        load.until_acknowledged(1).await;
        // Somewhere in a statement, a commit, or a checkpoint.
        let spread = u64::from(round * 13 % 61);
        sleep(Duration::from_millis(10 + spread)).await;
        server.end(if round % 2 == 0 { End::Killed } else { End::Immediate });
        let before: usize = load.acknowledged().iter().sum();
        while load.refused() == 0 {
            sleep(Duration::from_millis(1)).await;
        }
        // Time enough for every caller to ask again and again.
        sleep(Duration::from_millis(15)).await;
        // Each caller may read one answer late, which the server sent while it was there.
        let late = load.acknowledged().iter().sum::<usize>() - before;
        assert!(late <= load.callers(), "a server that is not there acknowledges nothing: {late}");
        server.resume();
        load.until_acknowledged(20).await;
        load.end().await;
        load.nothing_is_lost(&stores[usize::try_from(round % 2).unwrap()]).await;
        acknowledged += load.acknowledged().iter().sum::<usize>();
    }
    assert!(acknowledged > usize::try_from(ROUNDS).unwrap() * 40);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a PostgreSQL server"]
async fn a_server_that_is_restarted_under_load_is_used_again() {
    let server = PostgresServer::start(&[]);
    let options = options_on(&server);
    PostgresStore::migrate(&options).await.unwrap();
    let stores = [PostgresStore::connect(&options).await.unwrap(), PostgresStore::connect(&options).await.unwrap()];
    let mut load = Load::on(&stores, 8).await;
    for _ in 0..3 {
        load.until_acknowledged(100).await;
        server.end(End::Fast);
        server.resume();
    }
    load.until_acknowledged(100).await;
    load.end().await;
    load.nothing_is_lost(&stores[0]).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts two PostgreSQL servers"]
async fn a_synchronous_standby_that_is_promoted_under_load_has_everything() {
    let primary = PostgresServer::start(&[]);
    let standby = primary.standby("second", &[]);
    let both = format!(
        "host=127.0.0.1,127.0.0.1 port={},{} user=postgres password='{}' dbname=postgres",
        standby.port(),
        primary.port(),
        support_servers::servers::postgres::PASSWORD
    );
    let options = PostgresOptions::new(&both).unwrap();
    PostgresStore::migrate(&options).await.unwrap();
    primary.set("synchronous_standby_names", "second").await;
    let stores = [PostgresStore::connect(&options).await.unwrap(), PostgresStore::connect(&options).await.unwrap()];
    let mut load = Load::on(&stores, 8).await;
    load.until_acknowledged(500).await;
    primary.end(End::Killed);
    standby.promote();
    load.until_acknowledged(500).await;
    load.end().await;
    load.nothing_is_lost(&stores[0]).await;
    load.nothing_is_lost(&stores[1]).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a PostgreSQL server"]
async fn a_commit_whose_wait_for_the_standby_was_cancelled_is_not_acknowledged() {
    let server = PostgresServer::start(&[]);
    let options = options_on(&server);
    PostgresStore::migrate(&options).await.unwrap();
    let store = PostgresStore::connect(&options).await.unwrap();
    server.set("synchronous_standby_names", "nobody").await;
    let admin = server.client().await;
    let (grant, error) = loop {
        let grant = std::sync::Arc::new(records::grant(&records::subject(), Timestamp::from_seconds(3_000_000_000)));
        let (answer, was_cancelled) = impatient(&admin, RecordStore::<Grant>::insert(&store, grant.clone())).await;
        if was_cancelled {
            break (grant, answer.unwrap_err());
        }
        // The server has not come to the new setting yet.
        assert_eq!(answer.unwrap(), Insertion::Inserted);
    };
    assert!(error.is_transient(), "{error:?}");
    // The primary alone has it.
    assert_eq!(RecordStore::<Grant>::find(&store, &grant.id()).await.unwrap(), Some(grant));
}
