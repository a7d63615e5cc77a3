//! What calls and rows cost.

use std::sync::{Arc, Mutex};

use grantor::store::redis::RedisOptions;
use grantor::store::{Grant, Insertion, RecordStore};
use grantor::testing::{engine, records};
use grantor::{RedisStore, Timestamp};

use crate::redis::raw::Raw;
use support_servers::servers::redis::Server;

const ROWS: u64 = 20_000;
/// Bytes of a grant with one pair, its two entries and its user's key: 790 were measured.
const MAX_BYTES: u64 = 800;

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn calls_take_as_many_commands_whatever_is_stored() {
    let server = Server::start();
    let store = RedisStore::connect(&server.address(), &RedisOptions::new()).await.unwrap();
    let raw = Mutex::new(Raw::to(&server));
    // Commands within scripts count too.
    let count = || {
        let info: String = raw.lock().unwrap().ask(&[b"INFO", b"stats"]);
        let line = info.lines().find_map(|line| line.strip_prefix("total_commands_processed:"));
        line.unwrap().trim().parse().unwrap()
    };
    engine::calls_cost_the_same(&store, count).await;
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_grant_takes_a_few_hundred_bytes() {
    let server = Server::start();
    let store = RedisStore::connect(&server.address(), &RedisOptions::new()).await.unwrap();
    let memory = || -> u64 { server.info("used_memory").unwrap().parse().unwrap() };
    let end = Timestamp::from_seconds(3_000_000_000);
    let before = memory();
    for _ in 0..ROWS {
        let grant = Arc::new(records::grant(&records::subject(), end));
        assert_eq!(RecordStore::<Grant>::insert(&store, grant).await.unwrap(), Insertion::Inserted);
    }
    let bytes = (memory() - before) / ROWS;
    println!("{bytes} bytes a grant, each of another user");
    assert!(bytes <= MAX_BYTES, "{bytes}");
}
