//! A wrapper for a store whose purge index lags.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::clock::Timestamp;
use crate::model::application::{Application, ApplicationFilter, Logo, LogoSlot};
use crate::model::client::Client;
use crate::model::id::{AuthorizationId, ClientId, GrantId, PushedRequestId};
use crate::model::subject::Subject;
use crate::model::{Authorization, Grant, LastPurge, PushedRequest, Replay};
use crate::store::{
    ClientRegistry, ClientStore, CodeStore, Insertion, Page, Purge, PurgeStore, PushedRequestStore, Registration,
    Replacement, ReplayStore, StoreError, TokenStore,
};

/// A store under test that settles before each step of a purge, so that a purge index may lag.
///
/// All other calls go straight to the store: a list that lags is broken. The macros create it from `store: …, another:
/// …, settle: …`; it is needed directly only for rules that are called separately.
///
/// # Examples
///
/// ```
/// use grantor::MemoryStore;
/// use grantor::testing::Settled;
///
/// // A real one waits until its purge index has all that was written before.
/// async fn settle(_store: MemoryStore) {}
///
/// let store = Settled::new(MemoryStore::new(), settle);
/// # let _ = store;
/// ```
#[derive(Clone)]
pub struct Settled<S, F> {
    store: S,
    settle: F,
}

impl<S, F> fmt::Debug for Settled<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settled").finish_non_exhaustive()
    }
}

impl<S: Clone, F: Fn(S) -> W, W: Future<Output = ()>> Settled<S, F> {
    /// Wraps a store; `settle` is given a clone, and returns when the purge index has all that was written before.
    pub const fn new(store: S, settle: F) -> Self {
        Self { store, settle }
    }
}

#[async_trait]
impl<S, F, W> TokenStore for Settled<S, F>
where
    S: TokenStore + Clone,
    F: Fn(S) -> W + Send + Sync + 'static,
    W: Future<Output = ()> + Send,
{
    fn reads_settled(&self) -> bool {
        self.store.reads_settled()
    }

    async fn find(&self, id: &GrantId) -> Result<Option<Arc<Grant>>, StoreError> {
        self.store.find(id).await
    }

    async fn insert(&self, record: Arc<Grant>) -> Result<Insertion, StoreError> {
        self.store.insert(record).await
    }

    async fn replace(&self, version: u32, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        self.store.replace(version, record).await
    }

    async fn confirm(&self, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        self.store.confirm(record).await
    }

    async fn grants_of(&self, subject: &Subject, page: Page<GrantId>) -> Result<Vec<Arc<Grant>>, StoreError> {
        self.store.grants_of(subject, page).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        (self.settle)(self.store.clone()).await;
        self.store.purge_expired(now, limit).await
    }
}

#[async_trait]
impl<S, F, W> CodeStore for Settled<S, F>
where
    S: CodeStore + Clone,
    F: Fn(S) -> W + Send + Sync + 'static,
    W: Future<Output = ()> + Send,
{
    fn reads_settled(&self) -> bool {
        self.store.reads_settled()
    }

    async fn find(&self, id: &AuthorizationId) -> Result<Option<Arc<Authorization>>, StoreError> {
        self.store.find(id).await
    }

    async fn insert(&self, record: Arc<Authorization>) -> Result<Insertion, StoreError> {
        self.store.insert(record).await
    }

    async fn replace(&self, version: u32, record: Arc<Authorization>) -> Result<Replacement, StoreError> {
        self.store.replace(version, record).await
    }

    async fn confirm(&self, record: Arc<Authorization>) -> Result<Replacement, StoreError> {
        self.store.confirm(record).await
    }

    async fn authorizations_of(
        &self,
        subject: &Subject,
        page: Page<AuthorizationId>,
    ) -> Result<Vec<Arc<Authorization>>, StoreError> {
        self.store.authorizations_of(subject, page).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        (self.settle)(self.store.clone()).await;
        self.store.purge_expired(now, limit).await
    }
}

#[async_trait]
impl<S, F, W> PushedRequestStore for Settled<S, F>
where
    S: PushedRequestStore + Clone,
    F: Fn(S) -> W + Send + Sync + 'static,
    W: Future<Output = ()> + Send,
{
    fn reads_settled(&self) -> bool {
        self.store.reads_settled()
    }

    async fn find(&self, id: &PushedRequestId) -> Result<Option<Arc<PushedRequest>>, StoreError> {
        self.store.find(id).await
    }

    async fn insert(&self, record: Arc<PushedRequest>) -> Result<Insertion, StoreError> {
        self.store.insert(record).await
    }

    async fn replace(&self, version: u32, record: Arc<PushedRequest>) -> Result<Replacement, StoreError> {
        self.store.replace(version, record).await
    }

    async fn confirm(&self, record: Arc<PushedRequest>) -> Result<Replacement, StoreError> {
        self.store.confirm(record).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        (self.settle)(self.store.clone()).await;
        self.store.purge_expired(now, limit).await
    }
}

#[async_trait]
impl<S, F, W> ReplayStore for Settled<S, F>
where
    S: ReplayStore + Clone,
    F: Fn(S) -> W + Send + Sync + 'static,
    W: Future<Output = ()> + Send,
{
    async fn insert(&self, record: Replay) -> Result<Insertion, StoreError> {
        self.store.insert(record).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        (self.settle)(self.store.clone()).await;
        self.store.purge_expired(now, limit).await
    }
}

#[async_trait]
impl<S, F> PurgeStore for Settled<S, F>
where
    S: PurgeStore,
    F: Send + Sync + 'static,
{
    fn reads_settled(&self) -> bool {
        self.store.reads_settled()
    }

    async fn find(&self) -> Result<Option<Arc<LastPurge>>, StoreError> {
        self.store.find().await
    }

    async fn insert(&self, record: LastPurge) -> Result<Insertion, StoreError> {
        self.store.insert(record).await
    }

    async fn replace(&self, version: u32, record: LastPurge) -> Result<Replacement, StoreError> {
        self.store.replace(version, record).await
    }

    async fn confirm(&self, record: LastPurge) -> Result<Replacement, StoreError> {
        self.store.confirm(record).await
    }
}

#[async_trait]
impl<S, F> ClientStore for Settled<S, F>
where
    S: ClientStore,
    F: Send + Sync + 'static,
{
    async fn find(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.store.find(id).await
    }

    async fn current(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.store.current(id).await
    }
}

#[async_trait]
impl<S, F> ClientRegistry for Settled<S, F>
where
    S: ClientRegistry,
    F: Send + Sync + 'static,
{
    fn reads_settled(&self) -> bool {
        self.store.reads_settled()
    }

    async fn insert(&self, registration: Registration) -> Result<Insertion, StoreError> {
        self.store.insert(registration).await
    }

    async fn replace(&self, version: u32, registration: Registration) -> Result<Replacement, StoreError> {
        self.store.replace(version, registration).await
    }

    async fn confirm(&self, registration: Registration) -> Result<Replacement, StoreError> {
        self.store.confirm(registration).await
    }

    async fn application(&self, id: &ClientId) -> Result<Option<Arc<Application>>, StoreError> {
        self.store.application(id).await
    }

    async fn logo(&self, id: &ClientId, slot: LogoSlot) -> Result<Option<Arc<Logo>>, StoreError> {
        self.store.logo(id, slot).await
    }

    async fn purge_deleted(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        self.store.purge_deleted(now, limit).await
    }

    async fn list(
        &self,
        filter: &ApplicationFilter,
        page: Page<ClientId>,
    ) -> Result<Vec<Arc<Application>>, StoreError> {
        self.store.list(filter, page).await
    }
}
