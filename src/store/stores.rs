//! The stores of one server.

use std::sync::Arc;

use crate::model::application::Application;
use crate::model::record::{Record, Sealed, kinds};
use crate::model::{
    ApplicationLogo, Authorization, DeviceRequest, Grant, InitialToken, LastPurge, PushedRequest, Replay,
    UserCodeRecord,
};
use crate::store::record_store::{ClientStore, CodeStore, RecordStore, TokenStore};

/// Defines [`Stores`] with a store for every kind of record.
macro_rules! define_stores {
    ($($(#[$docs:meta])* $table:ident = $name:literal, $lists:ident, $field:ident: $record:ident;)*) => {
        /// The stores of one authorization server.
        ///
        /// A store of everything, such as [`MemoryStore`](crate::MemoryStore) or any [`Engine`](crate::store::Engine),
        /// converts into it. The methods replace one of the stores.
        #[derive(Clone, Debug)]
        pub struct Stores {
            pub(crate) clients: Arc<dyn ClientStore>,
            /// Whether clients are registered here, and not in a directory of the service.
            pub(crate) has_registry: bool,
            $(pub(crate) $field: Arc<dyn RecordStore<$record>>,)*
        }

        impl<S: ClientStore $(+ RecordStore<$record>)*> From<Arc<S>> for Stores {
            fn from(store: Arc<S>) -> Self {
                Self { clients: store.clone(), has_registry: true, $($field: store.clone(),)* }
            }
        }

        impl<S: ClientStore $(+ RecordStore<$record>)*> From<S> for Stores {
            fn from(store: S) -> Self {
                Arc::new(store).into()
            }
        }

        $(impl Sealed for $record {}

        impl Stored for $record {
            fn store(stores: &Stores) -> &dyn RecordStore<Self> {
                &*stores.$field
            }
        })*
    };
}

/// A kind of record that has its store in [`Stores`].
pub(crate) trait Stored: Record {
    fn store(stores: &Stores) -> &dyn RecordStore<Self>;
}

kinds!(define_stores);

impl Stores {
    /// Uses one store for everything.
    #[must_use]
    pub fn new(store: impl Into<Self>) -> Self {
        store.into()
    }

    /// Looks up clients in a directory of your own. There is no registry then: applications are administered elsewhere,
    /// and [`registrar`](crate::AuthorizationServer::registrar) returns `None`.
    #[must_use]
    pub fn with_clients(self, clients: impl ClientStore) -> Self {
        Self { clients: Arc::new(clients), has_registry: false, ..self }
    }

    /// Looks up and registers clients in another store, such as [`CachedClients`](crate::CachedClients).
    #[must_use]
    pub fn with_registry(self, registry: impl ClientStore + RecordStore<Application>) -> Self {
        let registry = Arc::new(registry);
        Self { clients: registry.clone(), has_registry: true, applications: registry, ..self }
    }

    /// Keeps authorization requests and their codes in another store.
    #[must_use]
    pub fn with_codes(self, codes: impl CodeStore) -> Self {
        Self { codes: Arc::new(codes), ..self }
    }

    /// Keeps grants in another store.
    #[must_use]
    pub fn with_tokens(self, tokens: impl TokenStore) -> Self {
        Self { tokens: Arc::new(tokens), ..self }
    }

    /// Keeps the identifiers that must not be used twice in another store.
    #[must_use]
    pub fn with_replays(self, replays: impl RecordStore<Replay>) -> Self {
        Self { replays: Arc::new(replays), ..self }
    }

    /// Keeps pushed authorization requests in another store.
    #[must_use]
    pub fn with_pushed_requests(self, pushed_requests: impl RecordStore<PushedRequest>) -> Self {
        Self { pushed_requests: Arc::new(pushed_requests), ..self }
    }
}
