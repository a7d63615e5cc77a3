//! One server for all tests that leave it running, each with its own schema.

use std::cell::RefCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use grantor::PostgresStore;
use grantor::store::postgres::PostgresOptions;

use support_servers::servers::pgbouncer::PgBouncer;
use support_servers::servers::postgres::PostgresServer;

/// Stopped with the process.
pub(crate) fn server() -> &'static PostgresServer {
    static SERVER: OnceLock<PostgresServer> = OnceLock::new();
    SERVER
        .get_or_init(|| PostgresServer::start(&["max_connections=400", "shared_preload_libraries=pg_stat_statements"]))
}

/// A pooler in front of it, with fewer connections than two stores have.
pub(crate) fn pooler() -> &'static PgBouncer {
    static POOLER: OnceLock<PgBouncer> = OnceLock::new();
    POOLER.get_or_init(|| PgBouncer::start(server(), 3))
}

/// Options with a new schema.
pub(crate) fn options() -> PostgresOptions {
    options_on(server())
}

pub(crate) fn options_on(server: &PostgresServer) -> PostgresOptions {
    options_of(&server.connection())
}

/// Options with a new schema for that connection string.
pub(crate) fn options_of(connection: &str) -> PostgresOptions {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let schema = format!("test {}", NUMBER.fetch_add(1, Ordering::SeqCst));
    PostgresOptions::new(connection).unwrap().schema(&schema).unwrap()
}

thread_local! {
    /// What the last store of this test was opened with.
    static LAST: RefCell<Option<PostgresOptions>> = const { RefCell::new(None) };
}

/// A store in a new schema.
pub(crate) async fn store() -> PostgresStore {
    store_of(options()).await
}

pub(crate) async fn store_of(options: PostgresOptions) -> PostgresStore {
    PostgresStore::migrate(&options).await.unwrap();
    let store = PostgresStore::connect(&options).await.unwrap();
    LAST.set(Some(options));
    store
}

/// What another server has that shares the database of this test's last store.
pub(crate) async fn another() -> PostgresStore {
    let options = LAST.with_borrow(|options| options.clone().unwrap());
    PostgresStore::connect(&options).await.unwrap()
}
