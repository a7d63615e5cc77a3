//! The reference store: everything in the memory of one process.
//!
//! It waits for memory and for other cores, so what counts is how many places in memory an operation must fetch one
//! after the other. Profiles by time show that, and instruction counts do not. A list with one key has it in the table
//! of lists, and keys are hashed with `foldhash`, which is faster than the standard hash.

#[cfg(all(test, feature = "testing"))]
pub(crate) mod kit;
mod table;

use std::sync::Arc;

use async_trait::async_trait;

use crate::base::clock::Timestamp;
use crate::base::id::ClientId;
use crate::model::application::Application;
use crate::model::client::Client;
use crate::model::{
    ApplicationLogo, Authorization, DeviceRequest, Grant, InitialToken, LastPurge, PushedRequest, Replay,
    UserCodeRecord,
};
use crate::store::memory::table::Table;
use crate::store::{ClientStore, Insertion, Page, Purge, Record, RecordStore, Replacement, Store, StoreError, kinds};

/// A store in the memory of this process. Its contents are lost when the process ends.
///
/// Clones share their contents, so that a test can stop one server and start another on the same
/// store. Only [`purge_expired`](crate::AuthorizationServer::purge_expired) removes records; call it about once a
/// minute.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    tables: Arc<Tables>,
}

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of authorizations.
    #[must_use]
    pub fn authorization_count(&self) -> usize {
        self.tables.codes.len()
    }

    /// Returns the number of grants.
    #[must_use]
    pub fn grant_count(&self) -> usize {
        self.tables.tokens.len()
    }
}

impl Store for MemoryStore {
    fn reads_settled(&self) -> bool {
        true
    }
}

/// Defines the tables, one for each kind of record.
macro_rules! define_tables {
    ($($(#[$docs:meta])* $table:ident = $name:literal, $lists:ident, $field:ident: $record:ident;)*) => {
        #[derive(Debug, Default)]
        struct Tables {
            $($field: Table<$record>,)*
        }

        $(impl Kept for $record {
            fn table(tables: &Tables) -> &Table<Self> {
                &tables.$field
            }
        })*
    };
}

kinds!(define_tables);

/// A kind of record that has its table in [`Tables`].
trait Kept: Record {
    fn table(tables: &Tables) -> &Table<Self>;
}

#[async_trait]
impl<R: Kept> RecordStore<R> for MemoryStore {
    async fn find(&self, key: &R::Key) -> Result<Option<Arc<R>>, StoreError> {
        Ok(R::table(&self.tables).find(key))
    }

    async fn insert(&self, record: Arc<R>) -> Result<Insertion, StoreError> {
        Ok(R::table(&self.tables).insert(record))
    }

    async fn replace(&self, version: u32, record: Arc<R>) -> Result<Replacement, StoreError> {
        Ok(R::table(&self.tables).replace(version, record))
    }

    async fn confirm(&self, record: Arc<R>) -> Result<Replacement, StoreError> {
        Ok(R::table(&self.tables).confirm(&record))
    }

    async fn list(&self, list: &str, page: Page<R::Key>) -> Result<Vec<Arc<R>>, StoreError> {
        Ok(R::table(&self.tables).list(list, page.start(), page.limit()))
    }

    async fn purge(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        Ok(R::table(&self.tables).purge(now, limit))
    }
}

#[async_trait]
impl ClientStore for MemoryStore {
    async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        Ok(self.tables.applications.find(id).map(|application| application.client().clone()))
    }
}
