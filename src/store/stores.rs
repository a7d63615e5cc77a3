//! The stores of one server, together.

use std::sync::Arc;

use crate::store::client_registry::ClientRegistry;
use crate::store::client_store::ClientStore;
use crate::store::code_store::CodeStore;
use crate::store::token_store::TokenStore;

/// The stores of one authorization server.
#[derive(Clone, Debug)]
pub struct Stores {
    pub(crate) clients: Arc<dyn ClientStore>,
    pub(crate) registry: Option<Arc<dyn ClientRegistry>>,
    pub(crate) codes: Arc<dyn CodeStore>,
    pub(crate) tokens: Arc<dyn TokenStore>,
}

impl Stores {
    /// Puts three stores together; without a registry, applications are administered elsewhere.
    #[must_use]
    pub fn new(clients: impl ClientStore, codes: impl CodeStore, tokens: impl TokenStore) -> Self {
        Self { clients: Arc::new(clients), registry: None, codes: Arc::new(codes), tokens: Arc::new(tokens) }
    }

    /// Sets where registrations are written; clients are still looked up in the store given before.
    #[must_use]
    pub fn with_registry(self, registry: impl ClientRegistry) -> Self {
        Self { registry: Some(Arc::new(registry)), ..self }
    }
}

impl<S: ClientRegistry + CodeStore + TokenStore> From<Arc<S>> for Stores {
    fn from(store: Arc<S>) -> Self {
        Self { clients: store.clone(), registry: Some(store.clone()), codes: store.clone(), tokens: store }
    }
}

impl<S: ClientRegistry + CodeStore + TokenStore> From<S> for Stores {
    fn from(store: S) -> Self {
        Arc::new(store).into()
    }
}
