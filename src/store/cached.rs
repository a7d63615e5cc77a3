//! A cache of clients in front of a store, because every request looks up its client.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;

use crate::clock::{Clock, SystemClock, Timestamp};
use crate::model::application::{Application, ApplicationFilter, Logo, LogoSlot};
use crate::model::client::Client;
use crate::model::id::ClientId;
use crate::store::{ClientRegistry, ClientStore, Insertion, Page, Purge, Registration, Replacement, Store, StoreError};

/// A [`ClientStore`] that caches what `find` of another store returns.
///
/// A write of this process through the cache is visible at once. A write of another process, such as a suspension, is
/// visible within the time to live. `current` always reads the other store, so that no user consents to what was
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
    /// Calls with a lower number may have read an older state than an entry that was removed since.
    forgotten: u64,
}

impl Kept {
    fn forget(&mut self, id: &ClientId) {
        if let Some(entry) = self.clients.remove(id) {
            self.forgotten = self.forgotten.max(entry.call);
        }
    }
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
    /// Ages are counted in whole seconds. With a time to live of less than one second, every `find` reads the store.
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

    /// Caches an answer of the store, unless a newer one is cached.
    fn remember(&self, entry: Entry) {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if entry.call < kept.forgotten {
            return;
        }
        if let Some(known) = kept.clients.get(entry.client.id()) {
            // The call began before that of the known entry, or the known entry is still fresh. Freshness is judged
            // now, not when a slow call began.
            let is_late = entry.call < known.call || self.is_fresh(known, self.clock.now());
            // Versions of clients are counted, so a lower one is an older state. Other versions have no order.
            if entry.client.version() < known.client.version() && is_late {
                return;
            }
        } else if kept.clients.len() >= MAX_CLIENTS {
            // Any entry will do: one that is used often is soon cached again.
            let one = kept.clients.keys().next().cloned();
            one.iter().for_each(|one| kept.forget(one));
        }
        kept.clients.insert(entry.client.id().clone(), entry);
    }

    fn forget(&self, id: &ClientId) {
        self.kept.write().unwrap_or_else(PoisonError::into_inner).forget(id);
    }
}

#[async_trait]
impl<S: ClientStore> ClientStore for CachedClients<S> {
    async fn find(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        match self.remembered(id, self.clock.now()) {
            Some(client) => Ok(Some(client)),
            None => self.current(id).await,
        }
    }

    async fn current(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        let (call, asked) = (self.next_call(), self.clock.now());
        let client = self.store.current(id).await?;
        match &client {
            Some(client) => self.remember(Entry { client: client.clone(), asked, call }),
            None => self.forget(id),
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
impl<S: ClientRegistry> ClientRegistry for CachedClients<S> {
    async fn insert(&self, registration: Registration) -> Result<Insertion, StoreError> {
        // The id may be that of a deleted client, which is still cached.
        let id = registration.client.id.clone();
        let answer = self.store.insert(registration).await;
        self.forget(&id);
        answer
    }

    async fn replace(&self, version: u32, registration: Registration) -> Result<Replacement, StoreError> {
        let (client, asked) = (Arc::new(registration.client.clone()), self.clock.now());
        let answer = self.store.replace(version, registration).await;
        match &answer {
            // A read that began before the end of the write may have missed it.
            Ok(Replacement::Replaced) => self.remember(Entry { client, asked, call: self.next_call() }),
            // Another caller wrote the client, or the write may have taken effect.
            Ok(Replacement::Lost) | Err(_) => self.forget(client.id()),
        }
        answer
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
