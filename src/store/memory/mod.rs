//! The reference store: everything in the memory of one process.

mod clients;
mod last_purge;
mod replays;
mod shards;
mod subjects;
mod table;

use std::sync::Arc;

use async_trait::async_trait;

use crate::clock::Timestamp;
use crate::model::application::{Application, ApplicationFilter, Logo, LogoSlot};
use crate::model::client::Client;
use crate::model::id::{AuthorizationId, ClientId, GrantId, PushedRequestId};
use crate::model::subject::Subject;
use crate::model::{Authorization, Grant, LastPurge, PushedRequest, Replay};
use crate::store::memory::clients::Clients;
use crate::store::memory::last_purge::Place;
use crate::store::memory::replays::Replays;
use crate::store::memory::table::Table;
use crate::store::{
    ClientRegistry, ClientStore, CodeStore, Insertion, Page, Purge, PurgeStore, PushedRequestStore, Registration,
    Replacement, ReplayStore, StoreError, TokenStore,
};

/// A store in the memory of this process. Its contents are lost when the process ends.
///
/// Clones share their contents, so that a test can stop one server and start another on the same
/// store. Only [`purge_expired`](crate::AuthorizationServer::purge_expired) removes records; call it about once a
/// minute.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    clients: Arc<Clients>,
    codes: Arc<Table<Authorization>>,
    tokens: Arc<Table<Grant>>,
    pushed_requests: Arc<Table<PushedRequest>>,
    replays: Arc<Replays>,
    last_purge: Arc<Place>,
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
        self.codes.len()
    }

    /// Returns the number of pushed requests, including used and expired ones.
    #[must_use]
    pub fn pushed_request_count(&self) -> usize {
        self.pushed_requests.len()
    }

    /// Returns the number of grants.
    #[must_use]
    pub fn grant_count(&self) -> usize {
        self.tokens.len()
    }
}

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
    fn reads_settled(&self) -> bool {
        true
    }

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

#[async_trait]
impl CodeStore for MemoryStore {
    fn reads_settled(&self) -> bool {
        true
    }

    async fn find(&self, id: &AuthorizationId) -> Result<Option<Arc<Authorization>>, StoreError> {
        Ok(self.codes.find(id.as_bytes()))
    }

    async fn insert(&self, record: Arc<Authorization>) -> Result<Insertion, StoreError> {
        Ok(self.codes.insert(record))
    }

    async fn replace(&self, version: u32, record: Arc<Authorization>) -> Result<Replacement, StoreError> {
        Ok(self.codes.replace(version, record))
    }

    async fn confirm(&self, record: Arc<Authorization>) -> Result<Replacement, StoreError> {
        Ok(self.codes.confirm(&record))
    }

    async fn authorizations_of(
        &self,
        subject: &Subject,
        page: Page<AuthorizationId>,
    ) -> Result<Vec<Arc<Authorization>>, StoreError> {
        Ok(self.codes.list(subject, page.start().map(AuthorizationId::as_bytes), page.limit()))
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        Ok(self.codes.purge_expired(now, limit))
    }
}

#[async_trait]
impl TokenStore for MemoryStore {
    fn reads_settled(&self) -> bool {
        true
    }

    async fn find(&self, id: &GrantId) -> Result<Option<Arc<Grant>>, StoreError> {
        Ok(self.tokens.find(id.as_bytes()))
    }

    async fn insert(&self, record: Arc<Grant>) -> Result<Insertion, StoreError> {
        Ok(self.tokens.insert(record))
    }

    async fn replace(&self, version: u32, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        Ok(self.tokens.replace(version, record))
    }

    async fn confirm(&self, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        Ok(self.tokens.confirm(&record))
    }

    async fn grants_of(&self, subject: &Subject, page: Page<GrantId>) -> Result<Vec<Arc<Grant>>, StoreError> {
        Ok(self.tokens.list(subject, page.start().map(GrantId::as_bytes), page.limit()))
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        Ok(self.tokens.purge_expired(now, limit))
    }
}

#[async_trait]
impl PushedRequestStore for MemoryStore {
    fn reads_settled(&self) -> bool {
        true
    }

    async fn find(&self, id: &PushedRequestId) -> Result<Option<Arc<PushedRequest>>, StoreError> {
        Ok(self.pushed_requests.find(id.as_bytes()))
    }

    async fn insert(&self, record: Arc<PushedRequest>) -> Result<Insertion, StoreError> {
        Ok(self.pushed_requests.insert(record))
    }

    async fn replace(&self, version: u32, record: Arc<PushedRequest>) -> Result<Replacement, StoreError> {
        Ok(self.pushed_requests.replace(version, record))
    }

    async fn confirm(&self, record: Arc<PushedRequest>) -> Result<Replacement, StoreError> {
        Ok(self.pushed_requests.confirm(&record))
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        Ok(self.pushed_requests.purge_expired(now, limit))
    }
}

#[async_trait]
impl ReplayStore for MemoryStore {
    async fn insert(&self, record: Replay) -> Result<Insertion, StoreError> {
        Ok(self.replays.insert(&record))
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        Ok(self.replays.purge_expired(now, limit))
    }
}

#[async_trait]
impl PurgeStore for MemoryStore {
    fn reads_settled(&self) -> bool {
        true
    }

    async fn find(&self) -> Result<Option<Arc<LastPurge>>, StoreError> {
        Ok(self.last_purge.find())
    }

    async fn insert(&self, record: LastPurge) -> Result<Insertion, StoreError> {
        Ok(self.last_purge.insert(record))
    }

    async fn replace(&self, version: u32, record: LastPurge) -> Result<Replacement, StoreError> {
        Ok(self.last_purge.replace(version, record))
    }

    async fn confirm(&self, record: LastPurge) -> Result<Replacement, StoreError> {
        Ok(self.last_purge.confirm(record))
    }
}
