//! A cache of clients in front of a store, because every request looks up its client.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;

use crate::base::clock::{Clock, SystemClock, Timestamp};
use crate::base::id::ClientId;
use crate::model::application::Application;
use crate::model::client::Client;
use crate::store::{ClientStore, Insertion, Page, Purge, RecordStore, Replacement, Store, StoreError};

/// A [`ClientStore`] that caches what `client` of another store returns.
///
/// A write of this process through the cache is visible at once. A write of another process, such as a suspension, is
/// visible within the time to live. `current_client` always reads the other store, so that no user consents to what was
/// revoked. Missing clients are not cached, so guessed ids fill no memory. At most 10 000 clients are cached; beyond
/// that, a new one replaces another. Clones share their contents.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use grantor::store::Stores;
/// use grantor::{AuthorizationServer, CachedClients, Config, MemoryStore};
///
/// # fn main() -> Result<(), grantor::ConfigError> {
/// let store = MemoryStore::new();
/// let clients = CachedClients::new(store.clone(), Duration::from_secs(30));
/// let stores = Stores::new(store).with_registry(clients);
/// let server = AuthorizationServer::new(Config::platform("https://auth.example"), stores)?;
/// # Ok(())
/// # }
/// ```
pub struct CachedClients<S> {
    store: Arc<S>,
    clock: Arc<dyn Clock>,
    time_to_live: Duration,
    /// The count of calls to the store so far, which numbers them.
    calls: Arc<AtomicU64>,
    kept: Arc<RwLock<Kept>>,
}

#[derive(Default)]
struct Kept {
    clients: HashMap<ClientId, Entry>,
    /// Calls with a lower number may have missed a write.
    forgotten: u64,
}

#[derive(Clone)]
struct Entry {
    client: Arc<Client>,
    /// When the store was asked, not when it answered.
    asked: Timestamp,
    call: u64,
}

impl<S: ClientStore> CachedClients<S> {
    /// Creates a cache in front of `store`. A client is read again when it is `time_to_live` old.
    ///
    /// Ages are counted in whole seconds. With a time to live of less than one second, every look-up reads the store.
    #[must_use]
    pub fn new(store: S, time_to_live: Duration) -> Self {
        Self {
            store: Arc::new(store),
            clock: Arc::new(SystemClock),
            time_to_live,
            calls: Arc::default(),
            kept: Arc::default(),
        }
    }

    /// Sets the clock that measures ages, such as a manual one in tests.
    #[must_use]
    pub fn with_clock(self, clock: impl Clock) -> Self {
        Self { clock: Arc::new(clock), ..self }
    }
}

impl<S> CachedClients<S> {
    fn remembered(&self, id: &ClientId, now: Timestamp) -> Option<Arc<Client>> {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        kept.clients.get(id).filter(|entry| self.is_fresh(entry, now)).map(|entry| entry.client.clone())
    }

    /// An entry from the future is not fresh: the clock was set back.
    fn is_fresh(&self, entry: &Entry, now: Timestamp) -> bool {
        entry.asked <= now && now < entry.asked.plus(self.time_to_live)
    }

    fn next_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::SeqCst)
    }

    /// Caches what a read returned, unless a later read is cached, or the client was written since the read began.
    fn remember(&self, entry: Entry) {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if entry.call < kept.forgotten {
            return;
        }
        match kept.clients.get(entry.client.id()) {
            Some(known) if entry.call < known.call => return,
            Some(_) => {}
            None if kept.clients.len() >= MAX_CLIENTS => {
                // Any entry will do: one that is used often is soon cached again.
                let one = kept.clients.keys().next().cloned();
                one.iter().for_each(|one| drop(kept.clients.remove(one)));
            }
            None => {}
        }
        kept.clients.insert(entry.client.id().clone(), entry);
    }

    /// Removes a client that was or may have been written. Reads in progress may have missed the write: what they
    /// return is not cached.
    fn forget(&self, id: &ClientId) {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        kept.clients.remove(id);
        kept.forgotten = self.next_call();
    }

    /// Removes a client that is there no more. Look-ups of unknown ids keep no other client from being cached.
    fn forget_missing(&self, id: &ClientId) {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if kept.clients.remove(id).is_some() {
            kept.forgotten = self.next_call();
        }
    }
}

#[async_trait]
impl<S: ClientStore> ClientStore for CachedClients<S> {
    async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        match self.remembered(id, self.clock.now()) {
            Some(client) => Ok(Some(client)),
            None => self.current_client(id).await,
        }
    }

    async fn current_client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        let (call, asked) = (self.next_call(), self.clock.now());
        let client = self.store.current_client(id).await?;
        match &client {
            Some(client) => self.remember(Entry { client: client.clone(), asked, call }),
            None => self.forget_missing(id),
        }
        Ok(client)
    }
}

impl<S: Store> Store for CachedClients<S> {
    fn reads_settled(&self) -> bool {
        self.store.reads_settled()
    }
}

#[async_trait]
impl<S: RecordStore<Application>> RecordStore<Application> for CachedClients<S> {
    async fn find(&self, id: &ClientId) -> Result<Option<Arc<Application>>, StoreError> {
        self.store.find(id).await
    }

    async fn insert(&self, application: Arc<Application>) -> Result<Insertion, StoreError> {
        // The id may be that of a deleted client, which is still cached.
        let id = application.id().clone();
        let answer = self.store.insert(application).await;
        self.forget(&id);
        answer
    }

    async fn replace(&self, version: u32, application: Arc<Application>) -> Result<Replacement, StoreError> {
        let id = application.id().clone();
        let answer = self.store.replace(version, application).await;
        self.forget(&id);
        answer
    }

    async fn confirm(&self, application: Arc<Application>) -> Result<Replacement, StoreError> {
        self.store.confirm(application).await
    }

    async fn list(&self, list: &str, page: Page<ClientId>) -> Result<Vec<Arc<Application>>, StoreError> {
        self.store.list(list, page).await
    }

    async fn purge(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        self.store.purge(now, limit).await
    }
}

impl<S> Clone for CachedClients<S> {
    fn clone(&self) -> Self {
        let Self { store, clock, time_to_live, calls, kept } = self;
        let (store, clock, calls, kept) = (store.clone(), clock.clone(), calls.clone(), kept.clone());
        Self { store, clock, time_to_live: *time_to_live, calls, kept }
    }
}

impl<S: fmt::Debug> fmt::Debug for CachedClients<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("CachedClients");
        shown.field("store", &self.store).field("time_to_live", &self.time_to_live).finish_non_exhaustive()
    }
}

/// The most clients that are cached: some ten megabytes.
const MAX_CLIENTS: usize = 10_000;
