//! A server that is down, stuck, full or without its scripts: failures that pass are transient, and the store recovers
//! by itself.

use std::sync::Arc;
use std::time::Duration;

use grantor::store::redis::{RedisError, RedisOptions, RedisProblem};
use grantor::store::{Grant, Insertion, Page, RecordStore, Replacement, Store, StoreError};
use grantor::testing::records;
use grantor::{RedisStore, Timestamp};

use crate::redis::REPLICATED;
use support_servers::servers::redis::{Server, until};

const FAR: Timestamp = Timestamp::from_seconds(3_000_000_000);

fn grant() -> Arc<Grant> {
    Arc::new(records::grant(&records::subject(), FAR))
}

/// Returns what was wrong, and whether it is transient.
fn problem<T: std::fmt::Debug>(answer: Result<T, StoreError>) -> (RedisProblem, bool) {
    let error = answer.expect_err("the call must fail");
    let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<RedisError>());
    (source.expect("the source is a RedisError").problem().clone(), error.is_transient())
}

/// Reads until the store answers again.
async fn until_it_answers(store: &RedisStore, grant: &Grant) -> Option<Arc<Grant>> {
    for _ in 0..1200 {
        match RecordStore::<Grant>::find(store, &grant.id()).await {
            Ok(found) => return found,
            Err(error) => assert!(error.is_transient(), "{error:?}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the store does not come back");
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_server_that_comes_back_is_used_again() {
    let server = Server::durable();
    let options = RedisOptions::new().response_timeout(Duration::from_millis(500));
    let store = RedisStore::connect(&server.address(), &options).await.unwrap();
    let row = grant();
    assert_eq!(store.insert(row.clone()).await.unwrap(), Insertion::Inserted);
    server.kill();
    for _ in 0..10 {
        assert!(RecordStore::<Grant>::find(&store, &row.id()).await.unwrap_err().is_transient());
    }
    server.restart();
    assert_eq!(until_it_answers(&store, &row).await, Some(row.clone()));
    assert_eq!(store.replace(1, Arc::new(records::refreshed(&row, FAR))).await.unwrap(), Replacement::Replaced);
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_server_that_is_stuck_is_not_waited_for() {
    let server = Server::start();
    let options = RedisOptions::new().response_timeout(Duration::from_millis(300)).queue_limit(2);
    let store = RedisStore::connect(&server.address(), &options).await.unwrap();
    let row = grant();
    assert_eq!(store.insert(row.clone()).await.unwrap(), Insertion::Inserted);
    server.freeze();
    let id = row.id();
    let last = async { problem(RecordStore::<Grant>::find(&store, &id).await) };
    let (first, second, third) =
        futures::future::join3(RecordStore::<Grant>::find(&store, &id), RecordStore::<Grant>::find(&store, &id), last)
            .await;
    assert_eq!(problem(first), (RedisProblem::TimedOut, true));
    assert_eq!(problem(second), (RedisProblem::TimedOut, true));
    assert_eq!(third, (RedisProblem::QueueFull, true), "there is room for two");
    server.thaw();
    assert_eq!(until_it_answers(&store, &row).await, Some(row));
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_call_takes_one_place_however_much_it_reads() {
    let server = Server::start();
    let store = RedisStore::connect(&server.address(), &RedisOptions::new().queue_limit(1)).await.unwrap();
    let subject = records::subject();
    for _ in 0..100 {
        let row = Arc::new(records::grant(&subject, FAR));
        assert_eq!(store.insert(row).await.unwrap(), Insertion::Inserted);
    }
    assert_eq!(RecordStore::<Grant>::list(&store, subject.as_str(), Page::first(1000)).await.unwrap().len(), 100);
    assert_eq!(RecordStore::<Grant>::purge(&store, FAR, 1000).await.unwrap().removed(), 100);
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_server_that_forgets_the_scripts_is_told_them_again() {
    let server = Server::start();
    let store = RedisStore::connect(&server.address(), &RedisOptions::new()).await.unwrap();
    for _ in 0..3 {
        let row = grant();
        assert_eq!(store.insert(row.clone()).await.unwrap(), Insertion::Inserted);
        server.ask(&["SCRIPT", "FLUSH"]);
        assert_eq!(store.replace(1, Arc::new(records::refreshed(&row, FAR))).await.unwrap(), Replacement::Replaced);
    }
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_server_that_is_full_or_alone_takes_no_writes_and_goes_on_later() {
    let server = Server::start();
    let store = RedisStore::connect(&server.address(), &RedisOptions::new()).await.unwrap();
    let row = grant();
    assert_eq!(store.insert(row.clone()).await.unwrap(), Insertion::Inserted);
    let next = Arc::new(records::refreshed(&row, FAR));

    server.ask(&["CONFIG", "SET", "maxmemory", "1mb"]);
    assert_eq!(problem(store.insert(grant()).await), (RedisProblem::Full, true));
    assert_eq!(problem(store.replace(1, next.clone()).await), (RedisProblem::Full, true));
    assert_eq!(RecordStore::<Grant>::find(&store, &row.id()).await.unwrap(), Some(row.clone()));
    server.ask(&["CONFIG", "SET", "maxmemory", "0"]);

    server.ask(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    assert_eq!(problem(store.replace(1, next.clone()).await), (RedisProblem::NotReplicated, true));
    server.ask(&["CONFIG", "SET", "min-replicas-to-write", "0"]);

    server.ask(&["REPLICAOF", "127.0.0.1", "1"]);
    assert_eq!(problem(store.replace(1, next.clone()).await), (RedisProblem::Replica, true));
    server.ask(&["REPLICAOF", "NO", "ONE"]);
    assert_eq!(store.replace(1, next).await.unwrap(), Replacement::Replaced);
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_key_that_holds_something_else_is_a_lasting_failure() {
    let server = Server::start();
    let store = RedisStore::connect(&server.address(), &RedisOptions::new()).await.unwrap();
    let row = grant();
    let key = format!("grantor:grants:{}", row.id());
    server.ask(&["RPUSH", &key, "something else"]);
    let error = RecordStore::<Grant>::find(&store, &row.id()).await.unwrap_err();
    assert_eq!((error.unreadable_key(), error.is_transient()), (Some(&row.id().as_bytes()[..]), false));
    assert_eq!(problem(store.insert(row.clone()).await), (RedisProblem::Refused, false));
    server.ask(&["DEL", &key]);
    for bytes in ["short", "a header of sixteen bytes and no record"] {
        server.ask(&["SET", &key, bytes]);
        let error = RecordStore::<Grant>::find(&store, &row.id()).await.unwrap_err();
        assert_eq!((error.unreadable_key(), error.is_transient()), (Some(&row.id().as_bytes()[..]), false), "{bytes}");
    }
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_write_waits_for_as_many_replicas_as_was_asked() {
    let server = Server::durable();
    let waiting_for = async |time| {
        let options = RedisOptions::new().wait(1, time);
        RedisStore::connect(&server.address(), &options).await.unwrap()
    };
    let store = waiting_for(REPLICATED).await;
    let in_vain = waiting_for(Duration::from_millis(300)).await;
    let row = grant();
    assert_eq!(problem(in_vain.insert(row.clone()).await), (RedisProblem::NotReplicated, true));

    let replica = Server::start_with(&["--replicaof", "127.0.0.1", &server.port().to_string()]);
    until(|| server.feeds_a_replica(), || "no replica".to_owned());
    assert_eq!(store.insert(row.clone()).await.unwrap(), Insertion::Inserted);
    let next = Arc::new(records::refreshed(&row, FAR));
    assert_eq!(store.replace(1, next.clone()).await.unwrap(), Replacement::Replaced);
    assert_eq!(store.replace(1, next.clone()).await.unwrap(), Replacement::Lost);

    // What is reported as failed may have taken effect; the caller reads it again.
    replica.freeze();
    let last = Arc::new(records::refreshed(&next, FAR));
    assert_eq!(problem(in_vain.replace(2, last.clone()).await), (RedisProblem::NotReplicated, true));
    assert_eq!(RecordStore::<Grant>::find(&store, &row.id()).await.unwrap(), Some(last));
    replica.thaw();
}

/// A row that the successor replica does not have is found, but not confirmed.
#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_confirm_waits_for_as_many_replicas() {
    let server = Server::durable();
    let port = server.port().to_string();
    let replica = Server::start_with(&["--replicaof", "127.0.0.1", &port, "--appendonly", "yes"]);
    until(|| server.feeds_a_replica(), || "no replica".to_owned());
    let options = RedisOptions::new();
    let waiting_for =
        async |time| RedisStore::connect(&server.address(), &options.clone().wait(1, time)).await.unwrap();
    let (store, in_vain) = (waiting_for(REPLICATED).await, waiting_for(Duration::from_millis(300)).await);
    let row = grant();
    assert_eq!(store.insert(row.clone()).await.unwrap(), Insertion::Inserted);

    replica.freeze();
    let next = Arc::new(records::refreshed(&row, FAR));
    assert_eq!(problem(in_vain.replace(1, next.clone()).await), (RedisProblem::NotReplicated, true));
    assert!(!store.reads_settled());
    assert_eq!(RecordStore::<Grant>::find(&store, &row.id()).await.unwrap(), Some(next.clone()));
    // The calls take turns on the connections, and WAIT covers only what its own connection has written.
    for _ in 0..10 {
        assert_eq!(problem(in_vain.confirm(next.clone()).await), (RedisProblem::NotReplicated, true));
    }
    replica.thaw();
    assert_eq!(store.confirm(next.clone()).await.unwrap(), Replacement::Replaced);
    assert_eq!(store.confirm(row.clone()).await.unwrap(), Replacement::Lost);

    server.kill();
    replica.ask(&["REPLICAOF", "NO", "ONE"]);
    let successor = RedisStore::connect(&replica.address(), &options).await.unwrap();
    assert_eq!(successor.find(&row.id()).await.unwrap(), Some(next));
}
