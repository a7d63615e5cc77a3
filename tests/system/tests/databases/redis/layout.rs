//! What is stored under which key: servers of two releases may run on one store, and a later one reads what this one
//! wrote.

use std::ops::Range;
use std::sync::Arc;

use grantor::application::ApplicationFilter;
use grantor::store::redis::{RedisOptions, RedisProblem};
use grantor::store::{
    Authorization, DeviceRequest, Grant, Insertion, Page, PushedRequest, Record, RecordStore, Replay, UserCodeRecord,
};
use grantor::testing::records;
use grantor::{Application, RedisStore, Subject, Timestamp};

use crate::redis::raw::Raw;
use support_servers::servers::redis::Server;

/// A grant, an authorization, an application and a replay, as a store of layout 1 wrote them.
const LAYOUT_1: &str = include_str!("layout_1.txt");
/// Where the number of a write lies in a row.
const NUMBER: Range<usize> = 4..12;
const END: Timestamp = Timestamp::from_seconds(3_000_000_000);

fn alice() -> Subject {
    Subject::new("alice").unwrap()
}

/// Returns all keys as the commands that make them, without what differs each time: numbers of writes, and
/// the times in entries.
fn contents(server: &Server) -> String {
    let mut raw = Raw::to(server);
    let mut lines = Vec::new();
    for key in raw.keys() {
        let name = key.as_bytes();
        let shown = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        match raw.ask::<String>(&[b"TYPE", name]).as_str() {
            "string" if key.ends_with(":layout") => {
                lines.push(format!("SET {key} {}", raw.ask::<String>(&[b"GET", name])))
            }
            "string" => {
                let mut row: Vec<u8> = raw.ask(&[b"GET", name]);
                row[NUMBER].fill(0);
                lines.push(format!("SET {key} 0x{}", shown(&row)));
                let expires: i64 = raw.ask(&[b"EXPIRETIME", name]);
                lines.extend((expires > 0).then(|| format!("EXPIREAT {key} {expires}")));
            }
            _ => {
                raw.age(&key, key.contains("-due:").then_some(0));
                let members: Vec<(Vec<u8>, u64)> = raw.ask(&[b"ZRANGE", name, b"0", b"-1", b"WITHSCORES"]);
                lines.extend(members.iter().map(|(member, score)| format!("ZADD {key} {score} 0x{}", shown(member))));
            }
        }
    }
    lines.join("\n") + "\n"
}

/// Makes keys by such commands.
fn fill(server: &Server, commands: &str) {
    let mut raw = Raw::to(server);
    let bytes = |word: &str| match word.strip_prefix("0x") {
        Some(digits) => {
            (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
        }
        None => word.as_bytes().to_vec(),
    };
    for line in commands.lines() {
        let words: Vec<_> = line.split(' ').map(bytes).collect();
        let _: redis::Value = raw.ask(&words.iter().map(Vec::as_slice).collect::<Vec<_>>());
    }
}

/// With `GRANTOR_WRITE_LAYOUTS` set, what a store writes now becomes the fixture, until a release has it.
#[tokio::test]
#[ignore = "starts Redis servers"]
async fn what_a_store_writes_is_read_by_another() {
    let (written, read) = (Server::start(), Server::start());
    let store = RedisStore::connect(&written.address(), &RedisOptions::new()).await.unwrap();
    let grant = Arc::new(records::grant(&alice(), END));
    let authorization = Arc::new(records::authorization(&alice(), END));
    let pushed = Arc::new(records::pushed_request(END));
    let device = Arc::new(records::device_request(END));
    let code = Arc::new(records::user_code(END));
    let replay = Arc::new(Replay::new(&[b"client", b"jti"], END));
    assert_eq!(RecordStore::<Grant>::insert(&store, grant.clone()).await.unwrap(), Insertion::Inserted);
    assert_eq!(RecordStore::<Authorization>::insert(&store, authorization).await.unwrap(), Insertion::Inserted);
    let application = Arc::new(records::application(&alice()));
    assert_eq!(RecordStore::insert(&store, application).await.unwrap(), Insertion::Inserted);
    assert_eq!(RecordStore::<Replay>::insert(&store, replay.clone()).await.unwrap(), Insertion::Inserted);
    if std::env::var_os("GRANTOR_WRITE_LAYOUTS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/databases/redis/layout_1.txt");
        std::fs::write(path, contents(&written)).unwrap();
    }
    assert_eq!(RecordStore::<PushedRequest>::insert(&store, pushed.clone()).await.unwrap(), Insertion::Inserted);
    assert_eq!(RecordStore::<DeviceRequest>::insert(&store, device.clone()).await.unwrap(), Insertion::Inserted);
    assert_eq!(RecordStore::<UserCodeRecord>::insert(&store, code.clone()).await.unwrap(), Insertion::Inserted);
    let commands = contents(&written);
    fill(&read, &commands);
    let another = RedisStore::connect(&read.address(), &RedisOptions::new()).await.unwrap();
    assert_eq!(RecordStore::<Grant>::list(&another, alice().as_str(), Page::first(10)).await.unwrap(), [grant]);
    assert_eq!(RecordStore::<PushedRequest>::find(&another, &pushed.id()).await.unwrap(), Some(pushed));
    assert_eq!(RecordStore::<DeviceRequest>::find(&another, &device.id()).await.unwrap(), Some(device));
    assert_eq!(RecordStore::<UserCodeRecord>::find(&another, code.key()).await.unwrap(), Some(code));
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn what_a_store_of_layout_1_wrote_is_read_and_written_the_same() {
    let (old, new) = (Server::start(), Server::start());
    fill(&old, LAYOUT_1);
    let store = RedisStore::connect(&old.address(), &RedisOptions::new()).await.unwrap();
    let grants = RecordStore::<Grant>::list(&store, alice().as_str(), Page::first(10)).await.unwrap();
    let authorizations = RecordStore::<Authorization>::list(&store, alice().as_str(), Page::first(10)).await.unwrap();
    let all = ApplicationFilter::All.key();
    let applications = RecordStore::<Application>::list(&store, &all, Page::first(10)).await.unwrap();
    assert_eq!((grants.len(), authorizations.len(), applications.len()), (1, 1, 1));
    let (grant, authorization, application) = (&grants[0], &authorizations[0], &applications[0]);
    assert_eq!((grant.version(), grant.purge_after()), (1, Some(END)));

    let another = RedisStore::connect(&new.address(), &RedisOptions::new()).await.unwrap();
    assert_eq!(RecordStore::<Grant>::insert(&another, grant.clone()).await.unwrap(), Insertion::Inserted);
    assert_eq!(
        RecordStore::<Authorization>::insert(&another, authorization.clone()).await.unwrap(),
        Insertion::Inserted
    );
    assert_eq!(RecordStore::insert(&another, application.clone()).await.unwrap(), Insertion::Inserted);
    let replay = Arc::new(Replay::new(&[b"client", b"jti"], END));
    assert_eq!(RecordStore::<Replay>::insert(&store, replay.clone()).await.unwrap(), Insertion::Exists);
    assert_eq!(RecordStore::<Replay>::insert(&another, replay.clone()).await.unwrap(), Insertion::Inserted);
    assert_eq!(contents(&new), LAYOUT_1);
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn keys_of_a_later_layout_are_refused() {
    let server = Server::start();
    let connect = async || RedisStore::connect(&server.address(), &RedisOptions::new()).await;
    connect().await.unwrap();
    assert_eq!(server.ask(&["GET", "grantor:layout"]), "1");
    connect().await.unwrap();
    server.ask(&["SET", "grantor:layout", "2"]);
    let refused = connect().await.unwrap_err();
    assert!(matches!(refused.problem(), RedisProblem::Newer { layout: 2, .. }), "{refused:?}");
    assert!(!refused.is_transient());
    RedisStore::connect(&server.address(), &RedisOptions::new().prefix("another")).await.unwrap();
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_server_that_takes_no_writes_is_connected_and_marked_later() {
    let server = Server::start();
    server.ask(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    let connect = async || RedisStore::connect(&server.address(), &RedisOptions::new()).await.unwrap();
    connect().await;
    assert_eq!(server.ask(&["EXISTS", "grantor:layout"]), "0");
    server.ask(&["CONFIG", "SET", "min-replicas-to-write", "0"]);
    connect().await;
    assert_eq!(server.ask(&["EXISTS", "grantor:layout"]), "1");
}
