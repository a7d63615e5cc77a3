//! The store through PgBouncer, which gives each transaction any of its connections.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use grantor::store::postgres::{PostgresError, PostgresProblem};
use grantor::store::{Grant, Insertion, Record, RecordStore, Replacement};
use grantor::testing::records;
use grantor::{PostgresStore, Timestamp};
use tokio::time::Instant;
use tokio_postgres::{Client, NoTls};

use crate::postgres::shared::{options_of, pooler, server};
use support_servers::servers::pgbouncer::PgBouncer;
use support_servers::servers::postgres::{End, PostgresServer};

const END: Timestamp = Timestamp::from_seconds(3_000_000_000);

fn grant() -> Arc<Grant> {
    Arc::new(records::grant(&records::subject(), END))
}

/// Four stores have eight connections, the pooler has three.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a PostgreSQL server"]
async fn stores_share_fewer_connections_than_they_have() {
    let options = options_of(&pooler().connection());
    join_all((0..4).map(|_| PostgresStore::migrate(&options))).await.into_iter().for_each(Result::unwrap);
    let stores = join_all((0..4).map(|_| PostgresStore::connect(&options))).await;
    let stores: Vec<_> = stores.into_iter().map(Result::unwrap).collect();
    let at_once = stores.iter().cycle().take(400).map(async |store| {
        let grant = grant();
        assert_eq!(store.insert(grant.clone()).await.unwrap(), Insertion::Inserted);
        for other in &stores {
            assert_eq!(RecordStore::<Grant>::find(other, &grant.id()).await.unwrap().as_ref(), Some(&grant));
        }
        let next = Arc::new(records::refreshed(&grant, END));
        let (one, two) = tokio::join!(
            stores[0].replace(grant.version(), next.clone()),
            stores[1].replace(grant.version(), Arc::new(records::refreshed(&grant, END)))
        );
        let won = [one, two].map(|answer| answer.unwrap() == Replacement::Replaced);
        assert!(won[0] != won[1], "one of two wins");
    });
    join_all(at_once).await;
    assert!(pooler().connections().await <= 3);
}

/// Others use the same sessions after the store.
#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn nothing_of_a_store_stays_in_the_sessions() {
    // With one connection, the session is the one that the store used.
    let own = PgBouncer::start(server(), 1);
    let (client, connection) = tokio_postgres::connect(&own.connection(), NoTls).await.unwrap();
    tokio::spawn(connection);
    a_store_leaves_nothing(&own, &client).await;
}

/// Its sessions begin under the name that the store is configured with.
#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn a_pooler_with_the_application_name_of_the_store_is_recognized() {
    let own = PgBouncer::start_with(server(), 1, "application_name=grantor");
    let (client, connection) = tokio_postgres::connect(&own.connection(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let name = "SELECT reset_val FROM pg_settings WHERE name = 'application_name'";
    assert_eq!(client.query_typed_one(name, &[]).await.unwrap().get::<_, &str>(0), "grantor");
    a_store_leaves_nothing(&own, &client).await;
}

/// Uses the pooler's only session, and compares it.
async fn a_store_leaves_nothing(own: &PgBouncer, client: &Client) {
    let options = options_of(&own.connection());
    let state = async || {
        let settings = "SELECT name, setting FROM pg_settings WHERE source = 'session' AND name <> 'application_name'
            UNION ALL SELECT 'statement', name FROM pg_prepared_statements ORDER BY 1, 2";
        let rows = client.query_typed(settings, &[]).await.unwrap();
        rows.iter().map(|row| (row.get(0), row.get(1))).collect::<Vec<(String, String)>>()
    };
    let before = state().await;
    PostgresStore::migrate(&options).await.unwrap();
    let store = PostgresStore::connect(&options).await.unwrap();
    let grants: Vec<_> = (0..8).map(|_| grant()).collect();
    for grant in join_all(grants.iter().map(|grant| RecordStore::<Grant>::insert(&store, grant.clone()))).await {
        assert_eq!(grant.unwrap(), Insertion::Inserted);
    }
    assert_eq!(state().await, before);
}

#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn a_locked_row_is_waited_for_no_longer_than_without_a_pooler() {
    let options = options_of(&pooler().connection()).schema("pooled").unwrap();
    PostgresStore::migrate(&options).await.unwrap();
    let store = PostgresStore::connect(&options).await.unwrap();
    let (locked, free) = (grant(), grant());
    for grant in [&locked, &free] {
        assert_eq!(store.insert(grant.clone()).await.unwrap(), Insertion::Inserted);
    }
    let operator = server().client().await;
    operator.batch_execute("BEGIN").await.unwrap();
    let lock = "SELECT FROM pooled.grants WHERE subject = $1 FOR UPDATE";
    operator.query(lock, &[&locked.subject().unwrap().as_str().as_bytes()]).await.unwrap();
    let start = Instant::now();
    let replace = |grant: &Arc<Grant>| store.replace(grant.version(), Arc::new(records::refreshed(grant, END)));
    let (stopped, other) = tokio::join!(replace(&locked), replace(&free));
    let error = stopped.unwrap_err();
    let problem = error.source().and_then(|source| source.downcast_ref()).map(PostgresError::problem);
    assert!(error.is_transient() && problem == Some(PostgresProblem::Locked), "{error:?}");
    assert_eq!(other.unwrap(), Replacement::Replaced);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    operator.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(replace(&locked).await.unwrap(), Replacement::Replaced);
}

/// The database's own setting acknowledges commits that a crash may lose.
#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn a_commit_through_a_pooler_waits_for_the_standby() {
    let server = PostgresServer::start(&["synchronous_commit=off"]);
    let own = PgBouncer::start(&server, 2);
    let options = options_of(&own.connection()).statement_timeout(Duration::from_millis(200));
    PostgresStore::migrate(&options).await.unwrap();
    let store = PostgresStore::connect(&options).await.unwrap();
    assert_eq!(store.insert(grant()).await.unwrap(), Insertion::Inserted);
    server.set("synchronous_standby_names", "nobody").await;
    let deadline = Instant::now() + Duration::from_secs(20);
    while store.insert(grant()).await.is_ok() {
        assert!(Instant::now() < deadline, "commits do not wait");
    }
    server.set("synchronous_standby_names", "").await;
}

#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn lost_sessions_of_a_pooler_are_errors_that_pass() {
    let server = PostgresServer::start(&[]);
    let own = PgBouncer::start(&server, 2);
    let options = options_of(&own.connection());
    PostgresStore::migrate(&options).await.unwrap();
    let store = PostgresStore::connect(&options).await.unwrap();
    for _ in 0..5 {
        server.end(End::Immediate);
        server.resume();
        let deadline = Instant::now() + Duration::from_secs(30);
        while let Err(error) = store.insert(grant()).await {
            assert!(error.is_transient(), "{error:?}");
            assert!(Instant::now() < deadline, "{error:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(RecordStore::<Grant>::find(&store, &grant().id()).await.unwrap(), None);
    }
    drop((store, own));
    assert_eq!(PostgresStore::connect(&options).await.unwrap_err().problem(), PostgresProblem::Unreachable);
}
