//! The reference store: everything in the memory of one process.

mod clients;
mod shards;
mod subjects;
mod table;

use std::sync::Arc;

use async_trait::async_trait;

use crate::clock::Timestamp;
use crate::model::application::{Application, ApplicationFilter, Logo, LogoSlot};
use crate::model::client::Client;
use crate::model::id::ClientId;
use crate::model::subject::Subject;
use crate::model::{Authorization, Grant, LastPurge, PushedRequest, Replay};
use crate::store::memory::clients::Clients;
use crate::store::memory::table::Table;
use crate::store::{
    ClientRegistry, ClientStore, Insertion, Page, Purge, Record, RecordStore, Registration, Replacement, Store,
    StoreError, kinds,
};

/// A store in the memory of this process. Its contents are lost when the process ends.
///
/// Clones share their contents, so that a test can stop one server and start another on the same
/// store. Only [`purge_expired`](crate::AuthorizationServer::purge_expired) removes records; call it about once a
/// minute.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    clients: Arc<Clients>,
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

    /// Returns the number of pushed requests, including used and expired ones.
    #[must_use]
    pub fn pushed_request_count(&self) -> usize {
        self.tables.pushed_requests.len()
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

/// Implements the store of each kind of record by the table of that kind.
macro_rules! implement_stores {
    ($($field:ident: $record:ident,)*) => {
        $(#[async_trait]
        impl RecordStore<$record> for MemoryStore {
            async fn find(&self, key: &<$record as Record>::Key) -> Result<Option<Arc<$record>>, StoreError> {
                Ok(self.tables.$field.find(key))
            }

            async fn insert(&self, record: Arc<$record>) -> Result<Insertion, StoreError> {
                Ok(self.tables.$field.insert(record))
            }

            async fn replace(&self, version: u32, record: Arc<$record>) -> Result<Replacement, StoreError> {
                Ok(self.tables.$field.replace(version, record))
            }

            async fn confirm(&self, record: Arc<$record>) -> Result<Replacement, StoreError> {
                Ok(self.tables.$field.confirm(&record))
            }

            async fn list(
                &self,
                subject: &Subject,
                page: Page<<$record as Record>::Key>,
            ) -> Result<Vec<Arc<$record>>, StoreError> {
                Ok(self.tables.$field.list(subject, page.start(), page.limit()))
            }

            async fn purge(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
                Ok(self.tables.$field.purge(now, limit))
            }
        })*
    };
}

/// Defines the tables, one for each kind of record.
macro_rules! define_tables {
    ($($field:ident: $record:ident,)*) => {
        #[derive(Debug, Default)]
        struct Tables {
            $($field: Table<$record>,)*
        }
    };
}

kinds!(define_tables);
kinds!(implement_stores);

#[async_trait]
impl ClientStore for MemoryStore {
    async fn find(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        Ok(self.clients.find(id))
    }

    async fn current(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        Ok(self.clients.find(id))
    }
}

#[async_trait]
impl ClientRegistry for MemoryStore {
    async fn insert(&self, registration: Registration) -> Result<Insertion, StoreError> {
        Ok(self.clients.insert(registration))
    }

    async fn replace(&self, version: u32, registration: Registration) -> Result<Replacement, StoreError> {
        Ok(self.clients.replace(version, registration))
    }

    async fn confirm(&self, registration: Registration) -> Result<Replacement, StoreError> {
        Ok(self.clients.confirm(&registration))
    }

    async fn application(&self, id: &ClientId) -> Result<Option<Arc<Application>>, StoreError> {
        Ok(self.clients.application(id))
    }

    async fn logo(&self, id: &ClientId, slot: LogoSlot) -> Result<Option<Arc<Logo>>, StoreError> {
        Ok(self.clients.logo(id, slot))
    }

    async fn purge_deleted(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        Ok(self.clients.purge_deleted(now, limit))
    }

    async fn list(
        &self,
        filter: &ApplicationFilter,
        page: Page<ClientId>,
    ) -> Result<Vec<Arc<Application>>, StoreError> {
        Ok(self.clients.list(filter, &page))
    }
}
