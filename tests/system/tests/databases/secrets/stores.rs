//! Everything that each store keeps: through its traits, and as the bytes behind it.

use std::fs;
use std::path::Path;

use grantor::SqliteStore;
use grantor::application::ApplicationFilter;
use grantor::application::LogoSlot;
use grantor::config::Profile;
use grantor::store::postgres::PostgresOptions;
use grantor::store::redis::RedisOptions;
use grantor::store::{Authorization, Grant, Page, Record, RecordStore};
use grantor::{MemoryStore, PostgresStore, RedisStore};

use crate::secrets::exposure::Exposure;
use crate::secrets::flow::run;
use crate::secrets::logs;
use support::folder::Folder;
use support::world::{AnyStore, World};
use support_servers::servers::postgres::PostgresServer;
use support_servers::servers::redis::Server;

const PROFILES: [Profile; 3] = [Profile::Platform, Profile::Strict, Profile::Mcp];

/// HTTP-04
#[tokio::test]
async fn no_secret_shows_anywhere() {
    for (seed, profile) in (10..).zip(PROFILES) {
        run(Store { any: AnyStore::over(MemoryStore::new()), place: Place::Memory }, profile, seed).await;
    }
}

/// HTTP-04
#[tokio::test]
async fn no_secret_is_in_the_files_of_sqlite() {
    for (seed, profile) in (20..).zip(PROFILES) {
        let folder = Folder::new("secrets");
        let any = AnyStore::over(SqliteStore::open(folder.file()).unwrap());
        run(Store { any, place: Place::Sqlite(folder) }, profile, seed).await;
    }
}

/// HTTP-04
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "starts a PostgreSQL server"]
async fn no_secret_is_in_the_tables_and_the_log_of_postgres() {
    // Every statement with its parameters is in the server's log.
    let server = PostgresServer::start(&["fsync=off", "log_statement=all", "log_min_messages=debug1"]);
    let options = PostgresOptions::new(&server.connection()).unwrap().schema("secrets").unwrap();
    PostgresStore::migrate(&options).await.unwrap();
    let any = AnyStore::over(PostgresStore::connect(&options).await.unwrap());
    run(Store { any, place: Place::Postgres(server) }, Profile::Platform, 30).await;
    assert!(logs::so_far().contains("tokio_postgres"), "the client's own lines are searched");
}

/// HTTP-04
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "starts a Redis server"]
async fn no_secret_is_in_the_files_of_redis() {
    // Every write is in the append-only file.
    let more = ["--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", "no"];
    let server = Server::start_with(&[&more[..], &["--loglevel", "debug"]].concat());
    let any = AnyStore::over(RedisStore::connect(&server.address(), &RedisOptions::new()).await.unwrap());
    run(Store { any, place: Place::Redis(server) }, Profile::Platform, 40).await;
}

/// A store, and where the bytes behind it are.
pub(crate) struct Store {
    any: AnyStore,
    place: Place,
}

enum Place {
    Memory,
    Sqlite(Folder),
    Postgres(PostgresServer),
    Redis(Server),
}

impl Store {
    pub(crate) fn any(&self) -> AnyStore {
        self.any.clone()
    }

    /// Everything that is stored right now.
    pub(crate) async fn dump(&self, world: &World, exposure: &mut Exposure) {
        records(world, exposure).await;
        exposure.debug("the store", &self.any);
        match &self.place {
            Place::Memory => {}
            Place::Sqlite(folder) => {
                let names = folder.names();
                assert!(["store.sqlite", "store.sqlite-wal"].iter().all(|name| names.contains(&(*name).into())));
                files(folder.path(), exposure);
            }
            Place::Postgres(server) => tables(server, exposure).await,
            Place::Redis(server) => files(Path::new(directory(server).trim()), exposure),
        }
    }

    /// What the server of the store logs about its statements.
    ///
    /// A client is looked up under the claimed id, whatever text that is.
    pub(crate) async fn statements(&self, exposure: &mut Exposure) {
        let Place::Postgres(server) = &self.place else { return };
        let row = server.client().await.query_one("SELECT pg_read_file('log.txt')", &[]).await.unwrap();
        let log: String = row.get(0);
        assert!(log.contains("INSERT INTO") && log.contains("arameters: $1"), "statements have their parameters");
        exposure.stored("the log of PostgreSQL", log.into_bytes());
    }

    /// What is left once the store is closed.
    pub(crate) async fn end(self, world: World, exposure: &mut Exposure) {
        drop((world, self.any));
        match self.place {
            Place::Sqlite(folder) => files(folder.path(), exposure),
            Place::Memory | Place::Postgres(_) | Place::Redis(_) => {}
        }
    }
}

/// All records, in both forms.
async fn records(world: &World, exposure: &mut Exposure) {
    let store = &world.store;
    for authorization in
        RecordStore::<Authorization>::list(store, world.alice.as_str(), Page::first(1_000)).await.unwrap()
    {
        exposure.stored("an authorization", authorization.encode());
        exposure.debug("Authorization", &authorization);
    }
    for grant in RecordStore::<Grant>::list(store, world.alice.as_str(), Page::first(1_000)).await.unwrap() {
        exposure.stored("a grant", grant.encode());
        exposure.debug("Grant", &grant);
    }
    let registrar = world.server.registrar().unwrap();
    let applications = registrar.list(&ApplicationFilter::All, Page::first(1_000)).await.unwrap();
    assert!(applications.len() >= 2);
    for application in applications {
        exposure.stored("an application", application.encode());
        exposure.debug("Application", &application);
        exposure.debug("Client", application.client());
        exposure.debug("Logo", &registrar.logo(application.id(), LogoSlot::InForce).await.unwrap());
    }
}

fn files(folder: &Path, exposure: &mut Exposure) {
    let all = bytes_below(folder, exposure);
    assert!(all.windows(5).any(|piece| piece == b"alice"), "the records of alice are found");
}

fn bytes_below(folder: &Path, exposure: &mut Exposure) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(bytes_below(&path, exposure));
        } else {
            let bytes = fs::read(&path).unwrap();
            all.extend_from_slice(&bytes);
            exposure.stored(&path.display().to_string(), bytes);
        }
    }
    all
}

async fn tables(server: &PostgresServer, exposure: &mut Exposure) {
    let client = server.client().await;
    let named = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'secrets'";
    let mut rows = String::new();
    for table in client.query(named, &[]).await.unwrap() {
        let table: String = table.get(0);
        for row in client.query(&format!("SELECT t::text FROM secrets.{table} t"), &[]).await.unwrap() {
            rows.push_str(row.get(0));
        }
    }
    assert!(rows.contains(r"\\x616c696365"), "the rows of alice are found: {rows}");
    exposure.stored("the tables of PostgreSQL", rows.into_bytes());
}

/// Where a Redis server has its files.
fn directory(server: &Server) -> String {
    let answer = server.ask(&["CONFIG", "GET", "dir"]);
    answer.lines().last().unwrap().to_owned()
}
