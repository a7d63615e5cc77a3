//! A database that is stuck: in a row, altogether, or for want of room. Nobody waits longer than for one call, and
//! whoever needs none of it does not wait at all.

use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use grantor::store::postgres::{PostgresError, PostgresProblem};
use grantor::store::{Grant, Record, RecordStore, Replacement};
use grantor::testing::records;
use grantor::wire::Endpoint;
use grantor::{PostgresStore, Timestamp};
use tokio::time::{Instant, sleep, timeout};

use crate::postgres::several_servers::world;
use crate::postgres::shared::{options, options_on, server};
use support::world::{form, pair};
use support_servers::servers::postgres::PostgresServer;

const END: Timestamp = Timestamp::from_seconds(3_000_000_000);

fn grant() -> Arc<Grant> {
    Arc::new(records::grant(&records::subject(), END))
}

/// Writes a row again and again. Returns after the first error that is not that of a locked row.
async fn written_on(store: PostgresStore, mut grant: Arc<Grant>, written: Arc<AtomicU32>) {
    loop {
        let next = Arc::new(records::refreshed(&grant, END));
        match RecordStore::<Grant>::replace(&store, grant.version(), next.clone()).await {
            Ok(Replacement::Replaced) => {
                written.fetch_add(1, Ordering::SeqCst);
                grant = next;
            }
            Ok(Replacement::Lost) => panic!("another wrote the row"),
            Err(error) => assert!(error.is_transient(), "{error:?}"),
        }
    }
}

/// The clients of a stuck grant retry, and all others are served as if it were not there.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a PostgreSQL server"]
async fn a_row_that_stays_locked_slows_no_other() {
    const CLIENTS: usize = 16;
    let options = options().schema("apart").unwrap();
    PostgresStore::migrate(&options).await.unwrap();
    let store = PostgresStore::connect(&options).await.unwrap();
    let locked = grant();
    let _ = store.insert(locked.clone()).await.unwrap();
    let operator = server().client().await;
    operator.batch_execute("BEGIN; SELECT FROM apart.grants FOR UPDATE").await.unwrap();
    let (free, stuck) = (Arc::<AtomicU32>::default(), Arc::<AtomicU32>::default());
    let mut clients = tokio::task::JoinSet::new();
    clients.spawn(written_on(store.clone(), locked, stuck.clone()));
    for _ in 0..CLIENTS {
        let own = grant();
        let _ = store.insert(own.clone()).await.unwrap();
        clients.spawn(written_on(store.clone(), own, free.clone()));
    }
    // The store finds out which row it is by one wait.
    sleep(Duration::from_secs(4)).await;
    let before = free.load(Ordering::SeqCst);
    sleep(Duration::from_secs(3)).await;
    let served = free.load(Ordering::SeqCst) - before;
    assert!(served > 150, "{served} answers in three seconds");
    assert_eq!(stuck.load(Ordering::SeqCst), 0);
    operator.batch_execute("ROLLBACK").await.unwrap();
    let freed = async {
        while stuck.load(Ordering::SeqCst) < 10 {
            assert!(clients.try_join_next().is_none());
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(5), freed).await.expect("the row is written again");
}

/// A caller that has waited for a frozen server does not wait for an attempt to reach it again as well.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a PostgreSQL server"]
async fn a_frozen_server_costs_a_caller_one_deadline() {
    let server = PostgresServer::start(&[]);
    let options = options_on(&server).statement_timeout(Duration::from_secs(2));
    PostgresStore::migrate(&options).await.unwrap();
    let store = PostgresStore::connect(&options).await.unwrap();
    let mut world = world(store.clone());
    world.client = world.register(form()).await;
    let (live, code) = (world.pair().await, world.code().await);
    server.freeze(true);
    let begun = Instant::now();
    let checked =
        async { (world.access(&live.access).await.map_err(|error| error.into_response().status()), begun.elapsed()) };
    let exchanged = async { (world.exchange(&code).await.status(), begun.elapsed()) };
    let inserted = async { (store.insert(grant()).await.map_err(|error| error.is_transient()), begun.elapsed()) };
    let (checked, exchanged, inserted) = tokio::join!(checked, exchanged, inserted);
    let begun = Instant::now();
    let (late, late_waited) = (world.refresh(&live.refresh).await.status(), begun.elapsed());
    // Before anything may panic: a frozen server cannot be ended.
    server.freeze(false);
    assert_eq!((checked.0.unwrap_err(), exchanged.0, inserted.0), (503, 503, Err(true)));
    // One and a half times the time that the server has for a statement.
    let waited = [checked.1, exchanged.1, inserted.1];
    assert!(waited.iter().all(|waited| *waited < Duration::from_secs(4)), "{waited:?}");
    // Those who come later are refused at once.
    assert!(late == 503 && late_waited < Duration::from_secs(1), "{late} after {late_waited:?}");
    let served = async {
        loop {
            let answer = world.refresh(&live.refresh).await;
            if answer.status() != 503 {
                break pair(&answer);
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    let next = timeout(Duration::from_secs(30), served).await.expect("the store recovers by itself");
    assert!(world.opens(&next.access).await);
    assert_eq!(world.exchange(&code).await.status(), 200);
}

/// As on a disk or in a quota that is full: what is there can be read, and the rest waits for an operator.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a PostgreSQL server"]
async fn a_server_without_room_is_answered_with_503() {
    let server = PostgresServer::start(&["autovacuum=off"]);
    let options = options_on(&server).schema("full").unwrap();
    PostgresStore::migrate(&options).await.unwrap();
    let store = PostgresStore::connect(&options).await.unwrap();
    let mut world = world(store.clone());
    world.client = world.register(form()).await;
    let live = world.pair().await;
    // A segment of the write-ahead log has 16 MiB, and the table of grants has more.
    let operator = server.client().await;
    let fill =
        "INSERT INTO \"full\".grants SELECT gen_random_uuid(), version, created, due, due_check, ended_at, client,
        'nobody', record, state, ended_why FROM \"full\".grants, generate_series(1, 80000)";
    operator.batch_execute(fill).await.unwrap();
    operator.batch_execute("CHECKPOINT").await.unwrap();
    let row = operator.query_one("SELECT pg_relation_size('\"full\".grants')", &[]).await.unwrap();
    assert!(row.get::<_, i64>(0) > 18 << 20);
    let own = "SELECT array_agg(pid) FROM pg_stat_activity WHERE application_name LIKE 'grantor-%'";
    let processes: Vec<i32> = operator.query_one(own, &[]).await.unwrap().get(0);
    server.limit_files(&processes, Some(17 << 20));

    // A few have room on the last page.
    let (code, refused) = loop {
        let code = world.code().await;
        let answer = world.exchange(&code).await;
        if answer.status() != 200 {
            break (code, answer);
        }
    };
    assert_eq!((refused.status(), refused.header("Retry-After")), (503, Some("1")));
    let error = RecordStore::<Grant>::insert(&store, grant()).await.unwrap_err();
    let problem = error.source().and_then(|source| source.downcast_ref::<PostgresError>()).map(PostgresError::problem);
    assert_eq!((error.is_transient(), problem), (true, Some(PostgresProblem::Full)), "{error:?}");
    assert!(world.opens(&live.access).await, "what is there is read");
    let introspected = [("token", live.access.as_str())];
    assert_eq!(world.post(Endpoint::Introspection, &introspected).client(&world.client).send().await.status(), 200);

    server.limit_files(&processes, None);
    assert_eq!(world.exchange(&code).await.status(), 200);
    assert!(world.opens(&pair(&world.refresh(&live.refresh).await).access).await);
}
