//! Any number of grants: copies of one that a server made, with other ids and versions.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::executor::block_on;
use grantor::SqliteStore;
use grantor::id::GrantId;
use grantor::store::sqlite::{SqliteError, SqliteProblem};
use grantor::store::{Grant, Insertion, Record, RecordStore, Replacement, StoreError};
use rusqlite::Connection;

use support::world::World;

/// Where `Grant::encode` writes the id. The version follows, then the client with its length, and the epoch.
const ID: usize = 2;
const VERSION: usize = 18;
const CLIENT: usize = 22;

#[derive(Clone)]
pub(crate) struct Template(Vec<u8>);

impl Template {
    /// A grant with its first pair, of the user alice.
    pub(crate) fn new() -> Self {
        let world = block_on(World::platform());
        block_on(world.pair());
        Self(block_on(world.server.grants_of(&world.alice)).unwrap().remove(0).encode())
    }

    pub(crate) fn read(path: &Path) -> Self {
        Self(std::fs::read(path).unwrap())
    }

    pub(crate) fn write(&self, path: &Path) {
        std::fs::write(path, &self.0).unwrap();
    }

    pub(crate) fn grant(&self, id: GrantId, version: u32) -> Arc<Grant> {
        self.marked(id, version, 0)
    }

    /// A grant that differs in its epoch from others with its id and version.
    pub(crate) fn marked(&self, id: GrantId, version: u32, mark: u32) -> Arc<Grant> {
        let mut bytes = self.0.clone();
        bytes[ID..VERSION].copy_from_slice(id.as_bytes());
        bytes[VERSION..CLIENT].copy_from_slice(&version.to_be_bytes());
        let client = u32::from_be_bytes(bytes[CLIENT..CLIENT + 4].try_into().unwrap());
        let epoch = CLIENT + 4 + usize::try_from(client).unwrap();
        bytes[epoch..epoch + 4].copy_from_slice(&mark.to_be_bytes());
        Arc::new(Grant::decode(&bytes).unwrap())
    }
}

/// Ids that sort next to each other, like those of one moment.
pub(crate) fn id(number: u32) -> GrantId {
    let mut bytes = [7; 16];
    bytes[12..].copy_from_slice(&number.to_be_bytes());
    GrantId::from_bytes(bytes)
}

pub(crate) fn insert(store: &SqliteStore, grant: Arc<Grant>) -> Result<Insertion, StoreError> {
    block_on(RecordStore::<Grant>::insert(store, grant))
}

pub(crate) fn replace(store: &SqliteStore, version: u32, grant: Arc<Grant>) -> Result<Replacement, StoreError> {
    block_on(RecordStore::<Grant>::replace(store, version, grant))
}

pub(crate) fn find(store: &SqliteStore, id: GrantId) -> Option<Arc<Grant>> {
    block_on(RecordStore::<Grant>::find(store, &id)).unwrap()
}

/// Returns the problem in this store's error.
#[track_caller]
pub(crate) fn problem(error: &StoreError) -> SqliteProblem {
    let source = std::error::Error::source(error).expect("a store's error has a source");
    let error: &SqliteError = source.downcast_ref().expect("it is one of this store");
    // A host may look at the cause.
    if let Some(cause) = std::error::Error::source(error) {
        assert!(cause.is::<rusqlite::Error>() || cause.is::<std::io::Error>(), "{cause:?}");
    }
    error.problem()
}

/// Where a temporary store has its file.
pub(crate) fn path_of(store: &SqliteStore) -> PathBuf {
    format!("{store:?}").split('"').nth(1).unwrap().into()
}

/// A connection that is not the store's.
pub(crate) fn other_connection(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    connection
}

#[track_caller]
pub(crate) fn assert_sound(path: &Path) {
    let found: String = other_connection(path).query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(found, "ok");
}
