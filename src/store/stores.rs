//! The stores of one server.

use std::sync::Arc;

use crate::store::client_registry::ClientRegistry;
use crate::store::client_store::ClientStore;
use crate::store::code_store::CodeStore;
use crate::store::error::StoreError;
use crate::store::purge_store::PurgeStore;
use crate::store::pushed_request_store::PushedRequestStore;
use crate::store::replay_store::ReplayStore;
use crate::store::token_store::TokenStore;

/// The stores of one authorization server.
#[derive(Clone, Debug)]
pub struct Stores {
    pub(crate) clients: Arc<dyn ClientStore>,
    pub(crate) registry: Option<Arc<dyn ClientRegistry>>,
    pub(crate) codes: Arc<dyn CodeStore>,
    pub(crate) tokens: Arc<dyn TokenStore>,
    pub(crate) purges: Arc<dyn PurgeStore>,
    pub(crate) replays: Option<Arc<dyn ReplayStore>>,
    pub(crate) pushed_requests: Option<Arc<dyn PushedRequestStore>>,
}

impl Stores {
    /// Combines stores. Without a registry, applications are administered elsewhere.
    ///
    /// `purges` keeps the time of the last purge. Pass the store of the tokens, or another one that is as durable.
    #[must_use]
    pub fn new(
        clients: impl ClientStore,
        codes: impl CodeStore,
        tokens: impl TokenStore,
        purges: impl PurgeStore,
    ) -> Self {
        Self {
            clients: Arc::new(clients),
            registry: None,
            codes: Arc::new(codes),
            tokens: Arc::new(tokens),
            purges: Arc::new(purges),
            replays: None,
            pushed_requests: None,
        }
    }

    /// Sets the store of registrations. Clients are still looked up in the store passed to [`new`](Self::new).
    #[must_use]
    pub fn with_registry(self, registry: impl ClientRegistry) -> Self {
        Self { registry: Some(Arc::new(registry)), ..self }
    }

    /// Sets the store of identifiers that must not be used twice.
    #[must_use]
    pub fn with_replays(self, replays: impl ReplayStore) -> Self {
        Self { replays: Some(Arc::new(replays)), ..self }
    }

    /// Sets the store of pushed authorization requests, which
    /// [`Config::pushed_requests`](crate::Config::pushed_requests) needs.
    #[must_use]
    pub fn with_pushed_requests(self, pushed_requests: impl PushedRequestStore) -> Self {
        Self { pushed_requests: Some(Arc::new(pushed_requests)), ..self }
    }
}

impl Stores {
    /// Returns the store of registrations.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if there is no registry. This cannot happen, since a registrar exists only with one.
    pub(crate) fn registry(&self) -> Result<&dyn ClientRegistry, StoreError> {
        self.registry.as_deref().ok_or_else(|| StoreError::permanent("there is no registry"))
    }

    /// Returns the store of pushed requests.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if there is no such store, and a consent request of an earlier setting needs it. Without a store, no
    /// server accepts pushed requests.
    pub(crate) fn pushed_requests(&self) -> Result<&dyn PushedRequestStore, StoreError> {
        self.pushed_requests.as_deref().ok_or_else(|| StoreError::permanent("there is no store of pushed requests"))
    }
}

impl<S: ClientRegistry + CodeStore + TokenStore + ReplayStore + PurgeStore + PushedRequestStore> From<Arc<S>>
    for Stores
{
    fn from(store: Arc<S>) -> Self {
        Self {
            clients: store.clone(),
            registry: Some(store.clone()),
            codes: store.clone(),
            tokens: store.clone(),
            purges: store.clone(),
            replays: Some(store.clone()),
            pushed_requests: Some(store),
        }
    }
}

impl<S: ClientRegistry + CodeStore + TokenStore + ReplayStore + PurgeStore + PushedRequestStore> From<S> for Stores {
    fn from(store: S) -> Self {
        Arc::new(store).into()
    }
}
