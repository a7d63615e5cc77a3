//! A wrapper for a store whose purge index lags.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::base::clock::Timestamp;
use crate::base::id::ClientId;
use crate::model::client::Client;
use crate::store::{ClientStore, Insertion, Page, Purge, Record, RecordStore, Replacement, Store, StoreError};

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

    /// Returns the store under test.
    pub const fn store(&self) -> &S {
        &self.store
    }
}

impl<S, F> Store for Settled<S, F>
where
    S: Store,
    F: Send + Sync + 'static,
{
    fn reads_settled(&self) -> bool {
        self.store.reads_settled()
    }
}

#[async_trait]
impl<R, S, F, W> RecordStore<R> for Settled<S, F>
where
    R: Record,
    S: RecordStore<R> + Clone,
    F: Fn(S) -> W + Send + Sync + 'static,
    W: Future<Output = ()> + Send,
{
    async fn find(&self, key: &R::Key) -> Result<Option<Arc<R>>, StoreError> {
        self.store.find(key).await
    }

    async fn insert(&self, record: Arc<R>) -> Result<Insertion, StoreError> {
        self.store.insert(record).await
    }

    async fn replace(&self, version: u32, record: Arc<R>) -> Result<Replacement, StoreError> {
        self.store.replace(version, record).await
    }

    async fn confirm(&self, record: Arc<R>) -> Result<Replacement, StoreError> {
        self.store.confirm(record).await
    }

    async fn list(&self, list: &str, page: Page<R::Key>) -> Result<Vec<Arc<R>>, StoreError> {
        self.store.list(list, page).await
    }

    async fn purge(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        (self.settle)(self.store.clone()).await;
        self.store.purge(now, limit).await
    }
}

#[async_trait]
impl<S, F> ClientStore for Settled<S, F>
where
    S: ClientStore,
    F: Send + Sync + 'static,
{
    async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.store.client(id).await
    }

    async fn current_client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.store.current_client(id).await
    }
}
