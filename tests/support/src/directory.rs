//! A directory with your service's own clients.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use grantor::client::ClientBuilder;
use grantor::redirect_uri::{RedirectUriPolicy, RegisteredRedirectUri};
use grantor::scope::{ResourceScope, ScopeCatalog};
use grantor::store::{ClientStore, StoreError};
use grantor::{Client, ClientId};

use crate::world::{REDIRECT_URI, SCOPES};

/// A client like that of the world, without credentials.
pub fn client(id: &str) -> ClientBuilder {
    Client::builder(ClientId::new(id).unwrap())
        .scopes(ScopeCatalog::platform().parse(SCOPES.as_bytes()).unwrap())
        .resource_scope(ResourceScope::All)
        .redirect_uri(RegisteredRedirectUri::parse(REDIRECT_URI, &RedirectUriPolicy::default()).unwrap())
}

/// Clones share their clients.
#[derive(Clone, Debug, Default)]
pub struct Directory(Arc<Mutex<HashMap<ClientId, Arc<Client>>>>);

impl Directory {
    pub fn of(clients: impl IntoIterator<Item = Client>) -> Self {
        let directory = Self::default();
        clients.into_iter().for_each(|client| directory.put(client));
        directory
    }

    /// Adds a client, or replaces the one with its id.
    pub fn put(&self, client: Client) {
        self.0.lock().unwrap().insert(client.id().clone(), Arc::new(client));
    }
}

#[async_trait]
impl ClientStore for Directory {
    async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        Ok(self.0.lock().unwrap().get(id).cloned())
    }
}
