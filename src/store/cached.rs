//! Clients kept for a while in front of a store, because every request looks its client up.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use time::Duration;

use crate::client::Client;
use crate::client::application::{Application, ApplicationFilter, Logo, LogoSlot};
use crate::clock::{Clock, SystemClock, Timestamp};
use crate::id::ClientId;
use crate::store::{ClientRegistry, ClientStore, Insertion, Page, Registration, Replacement, StoreError};

/// A [`ClientStore`] that answers `find` from memory for a time, and asks another store otherwise.
///
/// What this process writes through it is seen at once; what others write, a suspension for instance,
/// within the time to live. `current` always asks the other store, so that no user consents to what was
/// withdrawn. Clients that do not exist are not remembered: a guesser of ids fills no memory. At most
/// 10 000 clients are kept; beyond that one makes room for another. Clones share their contents.
///
/// # Examples
///
/// ```
/// use grantor::store::Stores;
/// use grantor::{AuthorizationServer, CachedClients, MemoryStore};
/// use time::Duration;
///
/// # fn main() -> Result<(), grantor::ConfigError> {
/// let store = MemoryStore::new();
/// let clients = CachedClients::new(store.clone(), Duration::seconds(30));
/// let stores = Stores::new(clients.clone(), store.clone(), store).with_registry(clients);
/// let server = AuthorizationServer::builder(stores).issuer("https://auth.example").build()?;
/// # Ok(())
/// # }
/// ```
pub struct CachedClients<S> {
    store: Arc<S>,
    clock: Arc<dyn Clock>,
    time_to_live: Duration,
    clients: Arc<RwLock<HashMap<ClientId, Entry>>>,
}

#[derive(Clone)]
struct Entry {
    client: Arc<Client>,
    /// When the store was asked, not when it answered.
    asked: Timestamp,
}

impl<S: ClientStore> CachedClients<S> {
    /// Puts a cache in front of `store`; a client is asked for again when it is `time_to_live` old.
    ///
    /// Ages are counted in whole seconds. With a time to live of less than one second every `find` asks
    /// the store.
    #[must_use]
    pub fn new(store: S, time_to_live: Duration) -> Self {
        Self { store: Arc::new(store), clock: Arc::new(SystemClock), time_to_live, clients: Arc::default() }
    }

    /// Counts ages by another clock, in tests by one that stands still.
    #[must_use]
    pub fn with_clock(self, clock: impl Clock) -> Self {
        Self { clock: Arc::new(clock), ..self }
    }

    fn remembered(&self, id: &ClientId, now: Timestamp) -> Option<Arc<Client>> {
        let clients = self.clients.read().unwrap_or_else(PoisonError::into_inner);
        clients.get(id).filter(|entry| self.is_fresh(entry, now)).map(|entry| entry.client.clone())
    }

    /// A clock that was set back makes nothing younger.
    fn is_fresh(&self, entry: &Entry, now: Timestamp) -> bool {
        entry.asked <= now && now < entry.asked.plus(self.time_to_live)
    }

    /// Keeps what the store answered, unless something newer came meanwhile.
    fn remember(&self, client: Arc<Client>, asked: Timestamp) {
        let mut clients = self.clients.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = clients.get(client.id()) {
            // Fresh now, not when a slow answer was asked for.
            if client.version() < entry.client.version() && self.is_fresh(entry, self.clock.now()) {
                return;
            }
        } else if clients.len() >= MOST_CLIENTS {
            // Any one will do: what is asked for often is soon back.
            let one = clients.keys().next().cloned();
            one.map(|one| clients.remove(&one));
        }
        clients.insert(client.id().clone(), Entry { client, asked });
    }

    fn forget(&self, id: &ClientId) {
        self.clients.write().unwrap_or_else(PoisonError::into_inner).remove(id);
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
        let asked = self.clock.now();
        let client = self.store.current(id).await?;
        match &client {
            Some(client) => self.remember(client.clone(), asked),
            None => self.forget(id),
        }
        Ok(client)
    }
}

#[async_trait]
impl<S: ClientRegistry> ClientRegistry for CachedClients<S> {
    async fn insert(&self, registration: Registration) -> Result<Insertion, StoreError> {
        self.store.insert(registration).await
    }

    async fn replace(&self, version: u32, registration: Registration) -> Result<Replacement, StoreError> {
        let (client, asked) = (Arc::new(registration.client.clone()), self.clock.now());
        let answer = self.store.replace(version, registration).await;
        match &answer {
            Ok(Replacement::Replaced) => self.remember(client, asked),
            // Another wrote, or the write may have taken effect.
            Ok(Replacement::Lost) | Err(_) => self.forget(client.id()),
        }
        answer
    }

    async fn application(&self, id: &ClientId) -> Result<Option<Arc<Application>>, StoreError> {
        self.store.application(id).await
    }

    async fn logo(&self, id: &ClientId, slot: LogoSlot) -> Result<Option<Arc<Logo>>, StoreError> {
        self.store.logo(id, slot).await
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
        let (store, clock, clients) = (self.store.clone(), self.clock.clone(), self.clients.clone());
        Self { store, clock, time_to_live: self.time_to_live, clients }
    }
}

impl<S: fmt::Debug> fmt::Debug for CachedClients<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("CachedClients");
        shown.field("store", &self.store).field("time_to_live", &self.time_to_live).finish_non_exhaustive()
    }
}

/// Beyond so many, one makes room for another: some ten megabytes.
const MOST_CLIENTS: usize = 10_000;
