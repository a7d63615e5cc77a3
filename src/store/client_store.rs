//! The store of clients.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::base::id::ClientId;
use crate::model::client::Client;
use crate::store::error::StoreError;

/// Looks up clients, as every request does.
///
/// # Contract
///
/// Each rule names the tests of `grantor::testing::client_store` that check it (feature `testing`).
///
/// 1. `client` may answer from a cache. The age of its answers limits how late a suspension or a reduced scope takes
///    effect. Each answer is a complete client as it was once written.
///    Kit: `client_answers_what_was_written`.
/// 2. `current_client` returns the last acknowledged write, never from a cache or a replica. A store without a cache
///    need not implement it.
///    Kit: `current_client_answers_the_last_write`.
/// 3. A client is read back equal in every field. An unregistered id has no client.
///    Kit: `every_field_comes_back`, `an_unknown_id_has_no_client`.
///
/// # Atomicity
///
/// None is required: the calls only read.
///
/// # Security
///
/// A stale `current_client` lets a user consent to what an administrator has just revoked. The `id` comes from a
/// request, and may be a secret in the wrong parameter: do not log it or put it into an error.
///
/// # Examples
///
/// A directory with a fixed list of clients:
///
/// ```
/// use std::collections::HashMap;
/// use std::sync::Arc;
///
/// use grantor::store::{ClientStore, StoreError};
/// use grantor::{Client, ClientId};
///
/// #[derive(Debug)]
/// struct Directory(HashMap<ClientId, Arc<Client>>);
///
/// #[async_trait::async_trait]
/// impl ClientStore for Directory {
///     async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
///         Ok(self.0.get(id).cloned())
///     }
/// }
/// ```
#[async_trait]
pub trait ClientStore: fmt::Debug + Send + Sync + 'static {
    /// Returns the client with that id, if there is one; the answer may be from a cache.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError>;

    /// Returns the client with that id in its current state; by default, what [`client`](Self::client) returns.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn current_client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.client(id).await
    }
}
