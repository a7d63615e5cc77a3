//! A server that is no longer a primary is no longer read, whichever call notices it first.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use grantor::store::redis::RedisOptions;
use grantor::store::{Grant, Insertion, RecordStore, Replacement, RevocationReason};
use grantor::testing::records;
use grantor::{RedisStore, Timestamp};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

use support_servers::servers::redis::{Server, until};

/// Without it no store waits for replicas.
const LOG: [&str; 2] = ["--appendonly", "yes"];

/// An address that moves from one server to another; connections that were made stay where they are.
struct MovedAddress {
    port: u16,
    server: Arc<AtomicU16>,
}

impl MovedAddress {
    async fn of(server: &Server) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let moved = Self { port: listener.local_addr().unwrap().port(), server: Arc::new(server.port().into()) };
        let server = moved.server.clone();
        tokio::spawn(async move {
            loop {
                let (mut near, _) = listener.accept().await.unwrap();
                let far = TcpStream::connect(("127.0.0.1", server.load(Ordering::Relaxed))).await;
                tokio::spawn(async move { copy_bidirectional(&mut near, &mut far.unwrap()).await });
            }
        });
        moved
    }

    fn move_to(&self, server: &Server) {
        self.server.store(server.port(), Ordering::Relaxed);
    }

    fn text(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

/// Two servers that have changed their roles while a store is connected.
struct Scene {
    store: RedisStore,
    row: Arc<Grant>,
    revoked: Arc<Grant>,
    old: Server,
    new: Server,
}

impl Scene {
    async fn new(options: &RedisOptions, more: &[&str]) -> Self {
        let old = Server::start_with(&[&LOG, more].concat());
        let follow = ["--replicaof", "127.0.0.1", &old.port().to_string()];
        let new = Server::start_with(&[&LOG[..], &follow].concat());
        let address = MovedAddress::of(&old).await;
        let store = RedisStore::connect(&address.text(), options).await.unwrap();
        let row = Arc::new(records::grant(&records::subject(), Timestamp::from_seconds(3_000_000_000)));
        assert_eq!(RecordStore::<Grant>::insert(&store, row.clone()).await.unwrap(), Insertion::Inserted);
        let keys = old.ask(&["DBSIZE"]);
        until(|| new.ask(&["DBSIZE"]) == keys, || "the replica has nothing".to_owned());
        new.ask(&["REPLICAOF", "NO", "ONE"]);
        address.move_to(&new);
        // Nothing answers at the address that it follows, so it stays as it is.
        old.ask(&["REPLICAOF", "127.0.0.1", "1"]);
        let revoked = Arc::new(records::revoked(&row, RevocationReason::RevokedByUser));
        Self { store, row, revoked, old, new }
    }

    async fn found(&self) -> Option<Arc<Grant>> {
        RecordStore::<Grant>::find(&self.store, &self.row.id()).await.unwrap()
    }
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn a_process_that_only_reads_notices() {
    for answers_when_stale in ["yes", "no"] {
        let more = ["--replica-serve-stale-data", answers_when_stale];
        let scene = Scene::new(&RedisOptions::new(), &more).await;
        let another = RedisStore::connect(&scene.new.address(), &RedisOptions::new()).await.unwrap();
        assert_eq!(another.replace(1, scene.revoked.clone()).await.unwrap(), Replacement::Replaced);
        assert_eq!(scene.old.info("role").as_deref(), Some("slave"));
        assert_eq!(scene.found().await, Some(scene.revoked.clone()), "stale data: {answers_when_stale}");
    }
}

#[tokio::test]
#[ignore = "starts Redis servers"]
async fn what_was_written_at_the_successor_is_read_there() {
    let options = RedisOptions::new().wait(0, Duration::from_secs(1));
    let scene = Scene::new(&options, &[]).await;
    assert_eq!(
        RecordStore::<Grant>::replace(&scene.store, 1, scene.revoked.clone()).await.unwrap(),
        Replacement::Replaced
    );
    assert_eq!(scene.found().await, Some(scene.revoked.clone()));
}
