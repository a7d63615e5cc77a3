//! Slow, frozen and overloaded servers: every call ends, with a transient error.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use grantor::store::postgres::PostgresProblem;
use grantor::store::{Grant, Insertion, Record, RecordStore, Replacement, StoreError};
use grantor::testing::records;
use grantor::wire::Endpoint;
use grantor::{PostgresStore, Timestamp};
use tokio::time::{Instant, sleep, timeout};

use crate::postgres::several_servers::world;
use crate::postgres::shared::{options, options_on, server};
use support::world::form;
use support_servers::servers::postgres::{End, PostgresServer};

const END: Timestamp = Timestamp::from_seconds(3_000_000_000);

fn grant() -> Arc<Grant> {
    Arc::new(records::grant(&records::subject(), END))
}

/// Waits until the store writes again, by itself.
async fn recovers_within(limit: Duration, store: &PostgresStore) {
    let writes = async {
        while RecordStore::<Grant>::insert(store, grant()).await.is_err() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(limit, writes).await.expect("the store recovers by itself");
}

fn may_pass<T: std::fmt::Debug>(answer: Result<T, StoreError>) {
    let error = answer.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
}

#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn a_queue_that_is_full_refuses_at_once_and_the_rest_is_done() {
    let options = options().schema("full").unwrap().queue_limit(4);
    PostgresStore::migrate(&options).await.unwrap();
    let store = PostgresStore::connect(&options).await.unwrap();
    let blocker = server().client().await;
    blocker.batch_execute("BEGIN; LOCK TABLE \"full\".grants").await.unwrap();
    let waiting: Vec<_> = (0..20)
        .map(|_| {
            tokio::spawn({
                let store = store.clone();
                async move { RecordStore::<Grant>::insert(&store, grant()).await }
            })
        })
        .collect();
    let reading: Vec<_> = (0..20)
        .map(|_| {
            tokio::spawn({
                let store = store.clone();
                async move { RecordStore::<Grant>::find(&store, &grant().id()).await }
            })
        })
        .collect();
    sleep(Duration::from_millis(300)).await;
    let refused = waiting.iter().filter(|call| call.is_finished()).count();
    assert!((12..20).contains(&refused), "{refused} of 20 were refused");
    assert_eq!(reading.iter().filter(|call| call.is_finished()).count(), 16);
    blocker.batch_execute("ROLLBACK").await.unwrap();
    let (mut done, mut full) = (0, 0);
    for call in waiting {
        match call.await.unwrap() {
            Ok(Insertion::Inserted) => done += 1,
            answer => {
                may_pass(answer);
                full += 1;
            }
        }
    }
    assert_eq!((done, full), (20 - refused, refused));
    for call in reading {
        if let Err(error) = call.await.unwrap() {
            assert!(error.is_transient());
        }
    }
    assert_eq!(RecordStore::<Grant>::insert(&store, grant()).await.unwrap(), Insertion::Inserted);
}

#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn a_cancelled_read_affects_no_other() {
    const READERS: usize = 40;
    let options = options().schema("left").unwrap().queue_limit(READERS);
    PostgresStore::migrate(&options).await.unwrap();
    let store = PostgresStore::connect(&options).await.unwrap();
    let grant = grant();
    assert_eq!(RecordStore::<Grant>::insert(&store, grant.clone()).await.unwrap(), Insertion::Inserted);
    let read = || {
        let (store, id) = (store.clone(), grant.id());
        tokio::spawn(async move { RecordStore::<Grant>::find(&store, &id).await })
    };
    let blocker = server().client().await;
    blocker.batch_execute("BEGIN; LOCK TABLE \"left\".grants").await.unwrap();
    let readers: Vec<_> = (0..READERS).map(|_| read()).collect();
    sleep(Duration::from_millis(200)).await;
    readers.iter().step_by(2).for_each(tokio::task::JoinHandle::abort);
    sleep(Duration::from_millis(100)).await;
    blocker.batch_execute("ROLLBACK").await.unwrap();
    for (number, reader) in readers.into_iter().enumerate() {
        match reader.await {
            Ok(found) => assert_eq!(found.unwrap(), Some(grant.clone())),
            Err(error) => assert!(error.is_cancelled() && number % 2 == 0),
        }
    }
    // All places are free again.
    for reader in (0..READERS).map(|_| read()).collect::<Vec<_>>() {
        assert_eq!(reader.await.unwrap().unwrap(), Some(grant.clone()));
    }
}

#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn a_row_that_an_operator_has_locked_stops_its_own_writers_alone() {
    let options = options().schema("locked").unwrap();
    PostgresStore::migrate(&options).await.unwrap();
    let store = PostgresStore::connect(&options).await.unwrap();
    let (locked, free): (Arc<Grant>, Vec<_>) = (grant(), (0..8).map(|_| grant()).collect());
    for grant in free.iter().chain([&locked]) {
        let _ = RecordStore::<Grant>::insert(&store, grant.clone()).await.unwrap();
    }
    let operator = server().client().await;
    let lock = "SELECT FROM locked.grants WHERE subject = $1 FOR UPDATE";
    operator.batch_execute("BEGIN").await.unwrap();
    operator.query(lock, &[&locked.subject().unwrap().as_str().as_bytes()]).await.unwrap();
    let replace = async |grant: &Arc<Grant>| {
        RecordStore::<Grant>::replace(&store, grant.version(), Arc::new(records::refreshed(grant, END))).await
    };
    let (stopped, others) = tokio::join!(replace(&locked), join_all(free.iter().map(replace)));
    may_pass(stopped);
    for answer in others {
        assert_eq!(answer.unwrap(), Replacement::Replaced);
    }
    operator.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(replace(&locked).await.unwrap(), Replacement::Replaced);
}

#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn a_statement_that_takes_too_long_is_ended_by_the_server() {
    let options = options().schema("slow").unwrap().statement_timeout(Duration::from_millis(300));
    PostgresStore::migrate(&options).await.unwrap();
    let store = PostgresStore::connect(&options).await.unwrap();
    let blocker = server().client().await;
    blocker.batch_execute("BEGIN; LOCK TABLE slow.grants").await.unwrap();
    let (start, id) = (Instant::now(), grant().id());
    let (read, written) =
        tokio::join!(RecordStore::<Grant>::find(&store, &id), RecordStore::<Grant>::insert(&store, grant()));
    may_pass(read);
    may_pass(written);
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    blocker.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(RecordStore::<Grant>::insert(&store, grant()).await.unwrap(), Insertion::Inserted);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a PostgreSQL server"]
async fn many_writers_of_a_locked_row_cost_the_others_a_wait_and_nothing_else() {
    let options = options().schema("stuck").unwrap();
    PostgresStore::migrate(&options).await.unwrap();
    let store = PostgresStore::connect(&options).await.unwrap();
    let (locked, free): (Arc<Grant>, Vec<_>) = (grant(), (0..8).map(|_| grant()).collect());
    for grant in free.iter().chain([&locked]) {
        let _ = RecordStore::<Grant>::insert(&store, grant.clone()).await.unwrap();
    }
    let operator = server().client().await;
    let lock = "SELECT FROM stuck.grants WHERE subject = $1 FOR UPDATE";
    operator.batch_execute("BEGIN").await.unwrap();
    operator.query(lock, &[&locked.subject().unwrap().as_str().as_bytes()]).await.unwrap();
    let next = Arc::new(records::refreshed(&locked, END));
    let stopped =
        join_all((0..24).map(|version| RecordStore::<Grant>::replace(&store, 1 + version % 12, next.clone())));
    let others = join_all(
        free.iter().map(|grant| RecordStore::<Grant>::replace(&store, 1, Arc::new(records::refreshed(grant, END)))),
    );
    let begun = Instant::now();
    let (stopped, others) = tokio::join!(stopped, others);
    // The wait of the first statement and, at most, the same again for the pieces.
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    for answer in others {
        assert_eq!(answer.unwrap(), Replacement::Replaced);
    }
    for (number, answer) in stopped.into_iter().enumerate() {
        match answer {
            // A replacement of another version than the row has is lost without a lock.
            Ok(answer) => assert!(answer == Replacement::Lost && number % 12 != 0, "{number}: {answer:?}"),
            Err(error) => assert!(error.is_transient(), "{number}: {error:?}"),
        }
    }
    operator.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(RecordStore::<Grant>::replace(&store, 1, next).await.unwrap(), Replacement::Replaced);
}

/// An unavailable standby keeps every commit waiting, and the waits of lost connections would fill the server.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a PostgreSQL server"]
async fn writes_that_wait_for_a_standby_leave_no_process_behind() {
    let server = PostgresServer::start(&[]);
    let options = options_on(&server).statement_timeout(Duration::from_millis(200));
    PostgresStore::migrate(&options).await.unwrap();
    let store = PostgresStore::connect(&options).await.unwrap();
    let operator = server.client().await;
    operator.batch_execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'").await.unwrap();
    operator.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    while RecordStore::<Grant>::insert(&store, grant()).await.is_ok() {
        sleep(Duration::from_millis(10)).await;
    }
    let end = Instant::now() + Duration::from_secs(8);
    while Instant::now() < end {
        may_pass(RecordStore::<Grant>::insert(&store, grant()).await);
        let left: i64 = operator.query_one(waiting, &[]).await.unwrap().get(0);
        assert!(left <= 2, "{left} processes wait");
    }
    operator.batch_execute("ALTER SYSTEM RESET synchronous_standby_names").await.unwrap();
    operator.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    recovers_within(Duration::from_secs(30), &store).await;
}

/// A frozen machine answers neither a statement nor its cancellation, and continues where it was.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a PostgreSQL server"]
async fn a_server_that_stands_still_holds_nobody_for_ever_and_writes_nothing_when_it_wakes() {
    let server = PostgresServer::start(&[]);
    let options = options_on(&server).statement_timeout(Duration::from_millis(300));
    PostgresStore::migrate(&options).await.unwrap();
    let store = PostgresStore::connect(&options).await.unwrap();
    let (inserted, found) = (grant(), grant());
    let id = found.id();
    let _ = RecordStore::<Grant>::insert(&store, found.clone()).await.unwrap();
    let next = Arc::new(records::refreshed(&found, END));
    server.freeze(true);
    let both = async {
        tokio::join!(
            RecordStore::<Grant>::insert(&store, inserted.clone()),
            RecordStore::<Grant>::replace(&store, 1, next),
            RecordStore::<Grant>::find(&store, &id)
        )
    };
    let (written, replaced, read) = timeout(Duration::from_secs(40), both).await.expect("all calls end");
    may_pass(written);
    may_pass(replaced);
    may_pass(read);
    sleep(Duration::from_secs(1)).await;
    server.freeze(false);
    recovers_within(Duration::from_secs(40), &store).await;
    // What was left in the sockets has been read by now: it was sent first.
    sleep(Duration::from_millis(500)).await;
    assert_eq!(RecordStore::<Grant>::find(&store, &inserted.id()).await.unwrap(), None);
    assert_eq!(RecordStore::<Grant>::find(&store, &found.id()).await.unwrap(), Some(found));
}

/// A caller that is gone leaves a write behind, which may or may not be done.
#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn callers_that_do_not_wait_for_an_answer_disturb_nobody() {
    let store = crate::postgres::shared::store().await;
    let grants: Vec<_> = (0..50).map(|_| grant()).collect();
    for grant in &grants {
        let id = grant.id();
        let mut calls = (RecordStore::<Grant>::insert(&store, grant.clone()), RecordStore::<Grant>::find(&store, &id));
        for _ in 0..2 {
            assert!(futures::poll!(&mut calls.0).is_pending());
            assert!(futures::poll!(&mut calls.1).is_pending());
        }
    }
    assert_eq!(RecordStore::<Grant>::insert(&store, grant()).await.unwrap(), Insertion::Inserted);
    for grant in grants {
        assert_eq!(
            RecordStore::<Grant>::find(&store, &grant.id()).await.unwrap().as_ref(),
            Some(&grant),
            "it was queued before"
        );
        let next = Arc::new(records::refreshed(&grant, END));
        assert_eq!(RecordStore::<Grant>::replace(&store, 1, next).await.unwrap(), Replacement::Replaced);
    }
}

#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn a_connection_that_was_cut_while_nobody_used_it_is_replaced_before_anybody_notices() {
    let options = options().schema("cut").unwrap();
    PostgresStore::migrate(&options).await.unwrap();
    let store = PostgresStore::connect(&options).await.unwrap();
    let operator = server().client().await;
    for _ in 0..5 {
        let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%\"cut\".%' AND pid <> \
                   pg_backend_pid()";
        assert_eq!(operator.query(cut, &[]).await.unwrap().len(), 2);
        sleep(Duration::from_millis(50)).await;
        assert_eq!(RecordStore::<Grant>::insert(&store, grant()).await.unwrap(), Insertion::Inserted);
        assert_eq!(RecordStore::<Grant>::find(&store, &grant().id()).await.unwrap(), None);
    }
}

#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn a_missing_table_is_no_trouble_that_passes() {
    let options = options().schema("gone").unwrap();
    PostgresStore::migrate(&options).await.unwrap();
    let store = PostgresStore::connect(&options).await.unwrap();
    server().client().await.batch_execute("DROP TABLE gone.grants").await.unwrap();
    assert!(!RecordStore::<Grant>::find(&store, &grant().id()).await.unwrap_err().is_transient());
    assert!(!RecordStore::<Grant>::insert(&store, grant()).await.unwrap_err().is_transient());
    let both =
        join_all([RecordStore::<Grant>::insert(&store, grant()), RecordStore::<Grant>::insert(&store, grant())]).await;
    assert!(both.into_iter().all(|answer| !answer.unwrap_err().is_transient()));
}

#[tokio::test]
#[ignore = "starts a PostgreSQL server"]
async fn a_primary_that_takes_no_writes_any_more_is_trouble_that_passes() {
    let options = options().schema("demoted").unwrap();
    PostgresStore::migrate(&options).await.unwrap();
    let store = PostgresStore::connect(&options).await.unwrap();
    let operator = server().client().await;
    operator.batch_execute("CREATE USER demoted SUPERUSER PASSWORD 'demoted'").await.unwrap();
    let connection = server()
        .connection()
        .replace("user=postgres", "user=demoted")
        .replace(support_servers::servers::postgres::PASSWORD, "demoted");
    let of_demoted = grantor::store::postgres::PostgresOptions::new(&connection).unwrap().schema("demoted").unwrap();
    let demoted = PostgresStore::connect(&of_demoted).await.unwrap();
    operator.batch_execute("ALTER USER demoted SET default_transaction_read_only = on").await.unwrap();
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'demoted'";
    operator.query(cut, &[]).await.unwrap();
    sleep(Duration::from_millis(100)).await;
    may_pass(demoted.insert(grant()).await);
    assert_eq!(RecordStore::<Grant>::insert(&store, grant()).await.unwrap(), Insertion::Inserted);
    operator.batch_execute("ALTER USER demoted RESET default_transaction_read_only").await.unwrap();
    recovers_within(Duration::from_secs(30), &demoted).await;
}

/// What a client of the authorization server sees of it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a PostgreSQL server"]
async fn an_outage_is_answered_with_503_and_takes_nothing_from_anybody() {
    let server = PostgresServer::start(&[]);
    let options = options_on(&server);
    PostgresStore::migrate(&options).await.unwrap();
    let mut world = world(PostgresStore::connect(&options).await.unwrap());
    world.client = world.register(form()).await;
    let pair = world.pair().await;
    let code = world.code().await;
    server.end(End::Immediate);
    sleep(Duration::from_millis(100)).await;
    for answer in [world.refresh(&pair.refresh).await, world.exchange(&code).await, world.revoke(&pair.refresh).await] {
        assert_eq!(answer.status(), 503);
        assert!(answer.header("Retry-After").is_some());
    }
    let form = [("token", pair.access.as_str())];
    assert_eq!(world.post(Endpoint::Introspection, &form).client(&world.client).send().await.status(), 503);
    server.resume();
    let refreshed = loop {
        let answer = world.refresh(&pair.refresh).await;
        if answer.status() != 503 {
            break support::world::pair(&answer);
        }
        sleep(Duration::from_millis(10)).await;
    };
    assert!(world.opens(&refreshed.access).await);
    assert_eq!(world.exchange(&code).await.status(), 200);
}

/// Whoever is signed in stays so: the checks of access tokens only read.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a PostgreSQL server"]
async fn a_primary_that_refuses_writes_still_has_its_tokens_checked() {
    let server = PostgresServer::start(&[]);
    let options = options_on(&server);
    PostgresStore::migrate(&options).await.unwrap();
    let mut world = world(PostgresStore::connect(&options).await.unwrap());
    world.client = world.register(form()).await;
    let pair = world.pair().await;
    let code = world.code().await;
    let admin = server.client().await;
    let set = async |value: &str| {
        admin.batch_execute(&format!("ALTER SYSTEM SET default_transaction_read_only = {value}")).await.unwrap();
        admin.batch_execute("SELECT pg_reload_conf()").await.unwrap();
        // The processes of the sessions read the settings a moment later.
        sleep(Duration::from_millis(500)).await;
    };
    set("on").await;
    let introspected = [("token", pair.access.as_str())];
    let mut refused = 0;
    let until = Instant::now() + Duration::from_secs(3);
    while Instant::now() < until {
        let exchange = world.exchange(&code).await;
        assert_eq!(exchange.status(), 503);
        assert!(exchange.header("Retry-After").is_some());
        refused += 1;
        assert!(world.opens(&pair.access).await, "after {refused} refused writes");
        let answer = world.post(Endpoint::Introspection, &introspected).client(&world.client).send().await;
        assert!(answer.body().starts_with(br#"{"active":true"#), "after {refused} refused writes");
    }
    assert_eq!(world.refresh(&pair.refresh).await.status(), 503);
    let restarted = PostgresStore::connect(&options).await.unwrap_err();
    assert!(restarted.problem() == PostgresProblem::ReadOnly && restarted.is_transient(), "{restarted:?}");
    set("off").await;
    let refreshed = timeout(Duration::from_secs(10), async {
        loop {
            let answer = world.refresh(&pair.refresh).await;
            if answer.status() != 503 {
                break support::world::pair(&answer);
            }
            assert!(world.opens(&pair.access).await);
            sleep(Duration::from_millis(10)).await;
        }
    });
    let refreshed = refreshed.await.expect("writes are found again");
    assert!(world.opens(&refreshed.access).await);
    assert_eq!(world.exchange(&code).await.status(), 200);
}

/// The futures need no runtime, and a runtime that has ended is no panic.
#[test]
#[ignore = "starts a PostgreSQL server"]
fn any_executor_may_poll_and_a_runtime_that_ended_is_an_error() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = runtime.block_on(crate::postgres::shared::store());
    let grant = grant();
    assert_eq!(
        futures::executor::block_on(RecordStore::<Grant>::insert(&store, grant.clone())).unwrap(),
        Insertion::Inserted
    );
    assert_eq!(
        futures::executor::block_on(RecordStore::<Grant>::find(&store, &grant.id())).unwrap(),
        Some(grant.clone())
    );
    runtime.shutdown_timeout(Duration::from_secs(5));
    may_pass(futures::executor::block_on(RecordStore::<Grant>::insert(&store, grant.clone())));
    may_pass(futures::executor::block_on(RecordStore::<Grant>::find(&store, &grant.id())));
}
