//! Rows that are written once more, so that what was read is as durable as a write.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use grantor::application::LogoSlot;
use grantor::store::postgres::PostgresOptions;
use grantor::store::{Engine, Grant, Insertion, Record, RecordStore, Replacement, Store, Table};
use grantor::testing::records;
use grantor::{Application, ClientId, PostgresStore, Timestamp};
use tokio::time::{sleep, timeout};
use tokio_postgres::Client;

use crate::postgres::shared::{options, server};
use support_servers::servers::postgres::{End, PASSWORD, PostgresServer};

const END: Timestamp = Timestamp::from_seconds(3_000_000_000);

async fn inserted(store: &PostgresStore) -> Arc<Grant> {
    let grant = Arc::new(records::grant(&records::subject(), END));
    assert_eq!(RecordStore::<Grant>::insert(store, grant.clone()).await.unwrap(), Insertion::Inserted);
    grant
}

/// Awaits a call, and cancels every wait for a standby meanwhile. Returns whether there was one.
pub(crate) async fn impatient<T>(admin: &Client, call: impl Future<Output = T>) -> (T, bool) {
    let cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    let mut was_cancelled = false;
    tokio::pin!(call);
    loop {
        tokio::select! {
            answer = &mut call => return (answer, was_cancelled),
            () = sleep(Duration::from_millis(5)) => {
                was_cancelled |= !admin.query(cancel, &[]).await.unwrap().is_empty();
            }
        }
    }
}

/// All callers whose row is the stored one succeed, even if they share a statement with callers of another row.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a PostgreSQL server"]
async fn every_caller_confirms_a_row_that_is_stored() {
    let options = options().schema("confirmed").unwrap();
    PostgresStore::migrate(&options).await.unwrap();
    let store = PostgresStore::connect(&options).await.unwrap();
    assert!(!store.reads_settled());
    let (stored, missing) = (inserted(&store).await, Arc::new(records::grant(&records::subject(), END)));
    // The same version, and other bytes.
    let other = Arc::new(records::grant(&records::subject(), END));
    let other = Arc::new(Grant::decode(&swapped(&other, &stored)).unwrap());
    assert_eq!((other.id(), other.version()), (stored.id(), stored.version()));
    let later = Arc::new(records::refreshed(&stored, END));
    let rows = [&stored, &missing, &other, &later];
    let answers =
        join_all(rows.iter().cycle().take(64).map(|row| RecordStore::<Grant>::confirm(&store, (*row).clone()))).await;
    for (row, answer) in rows.iter().cycle().zip(answers) {
        let expected = if Arc::ptr_eq(row, &stored) { Replacement::Replaced } else { Replacement::Lost };
        assert_eq!(answer.unwrap(), expected);
    }
    assert_eq!(RecordStore::<Grant>::find(&store, &stored.id()).await.unwrap(), Some(stored.clone()));
    assert_eq!(RecordStore::<Grant>::replace(&store, 1, later.clone()).await.unwrap(), Replacement::Replaced);
    assert_eq!(RecordStore::<Grant>::confirm(&store, stored).await.unwrap(), Replacement::Lost);
    assert_eq!(RecordStore::<Grant>::confirm(&store, later).await.unwrap(), Replacement::Replaced);
}

/// The bytes of a grant with the id of another: the id follows kind and layout.
fn swapped(grant: &Grant, with: &Grant) -> Vec<u8> {
    let mut bytes = grant.encode();
    bytes[2..18].copy_from_slice(with.id().as_bytes());
    bytes
}

#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn a_confirmation_is_a_write_that_changes_nothing() {
    let options = options().schema("rewritten").unwrap();
    PostgresStore::migrate(&options).await.unwrap();
    let store = PostgresStore::connect(&options).await.unwrap();
    let grant = inserted(&store).await;
    let admin = server().client().await;
    let (place, row) = ("SELECT ctid::text FROM rewritten.grants", "SELECT own::text FROM rewritten.grants AS own");
    let asked = async |sql| admin.query_one(sql, &[]).await.unwrap().get::<_, String>(0);
    let before = (asked(place).await, asked(row).await);
    assert_eq!(RecordStore::<Grant>::confirm(&store, grant).await.unwrap(), Replacement::Replaced);
    let after = (asked(place).await, asked(row).await);
    assert!(before.0 != after.0 && before.1 == after.1, "{before:?} {after:?}");
}

#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn an_application_is_confirmed_and_never_due() {
    let store = crate::postgres::shared::store().await;
    let mut world = crate::postgres::several_servers::world(store.clone());
    world.client = world.register(support::world::form()).await;
    let id = ClientId::new(world.client.id.as_str()).unwrap();
    let stored = RecordStore::<Application>::find(&store, &id).await.unwrap().unwrap();
    let other = Arc::new(records::application_under(&id, &records::subject()));
    let all = [&stored, &other].map(|own| RecordStore::<Application>::confirm(&store, own.clone()));
    let answers: Vec<_> = join_all(all).await.into_iter().map(|answer| answer.unwrap()).collect();
    assert_eq!(answers, [Replacement::Replaced, Replacement::Lost]);
    for table in [Table::Applications, Table::ApplicationLogos] {
        let purge = Engine::purge(&store, table, Timestamp::from_seconds(u32::MAX), 100).await.unwrap();
        assert_eq!((purge.removed(), purge.is_finished()), (0, true), "{table:?}");
    }
    assert!(world.server.registrar().unwrap().logo(&id, LogoSlot::InForce).await.unwrap().is_some());
}

/// A write can be read before the standby has it. It is acknowledged neither by itself nor by a confirmation.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts two PostgreSQL servers"]
async fn what_a_fail_over_undoes_was_never_confirmed() {
    let primary = PostgresServer::start(&[]);
    let standby = primary.standby("second", &[]);
    let (first, second) = (standby.port(), primary.port());
    let both =
        format!("host=127.0.0.1,127.0.0.1 port={first},{second} user=postgres password='{PASSWORD}' dbname=postgres");
    let options = PostgresOptions::new(&both).unwrap();
    PostgresStore::migrate(&options).await.unwrap();
    primary.set("synchronous_standby_names", "second").await;
    let store = PostgresStore::connect(&options).await.unwrap();
    let admin = primary.client().await;
    let grant = inserted(&store).await;
    assert_eq!(RecordStore::<Grant>::confirm(&store, grant.clone()).await.unwrap(), Replacement::Replaced);

    standby.end(End::Killed);
    let next = Arc::new(records::refreshed(&grant, END));
    let (replaced, was_cancelled) = impatient(&admin, RecordStore::<Grant>::replace(&store, 1, next.clone())).await;
    assert!(was_cancelled && replaced.unwrap_err().is_transient());
    assert_eq!(RecordStore::<Grant>::find(&store, &grant.id()).await.unwrap(), Some(next.clone()), "it can be read");
    for _ in 0..3 {
        let callers = join_all((0..4).map(|_| RecordStore::<Grant>::confirm(&store, next.clone())));
        let (confirmed, was_cancelled) = impatient(&admin, callers).await;
        assert!(was_cancelled && confirmed.into_iter().all(|answer| answer.unwrap_err().is_transient()));
    }

    primary.end(End::Killed);
    standby.resume();
    standby.promote();
    let again = async {
        loop {
            match RecordStore::<Grant>::confirm(&store, grant.clone()).await {
                Ok(answer) => break answer,
                Err(error) => assert!(error.is_transient(), "{error:?}"),
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    let answer = timeout(Duration::from_secs(60), again).await.expect("the store finds the new primary");
    assert_eq!(answer, Replacement::Replaced, "what was acknowledged is there");
    assert_eq!(RecordStore::<Grant>::confirm(&store, next).await.unwrap(), Replacement::Lost);
}
