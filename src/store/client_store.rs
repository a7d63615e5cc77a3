//! Where clients are looked up.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::client::Client;
use crate::id::ClientId;
use crate::store::error::StoreError;

/// Looks clients up; every request does.
///
/// # Contract
///
/// After each rule stand the tests of `grantor::testing::client_store` that show it (feature `testing`).
///
/// 1. `find` may answer from a cache. The age of what it answers bounds how late a suspension or a
///    narrowed scope is seen; it is a client as it was written once, in whole.
///    Kit: `find_answers_what_was_written`.
/// 2. `current` answers what the last acknowledged write left, from no cache and no replica.
///    Kit: `current_answers_the_last_write`.
///    A client whose long list of resources was replaced has the one before among its
///    [former ones](crate::ClientBuilder::former_resources). Without it, earlier consents cover no named resource.
/// 3. A client comes back equal in every field; an id that nobody registered has none.
///    Kit: `every_field_comes_back`, `an_unknown_id_has_no_client`.
///
/// # Atomicity
///
/// None is asked for: both only read.
///
/// # Security
///
/// A stale `current` lets a user consent to what an administrator has just withdrawn. The `id` is what a
/// request claims, at times a secret in the wrong place: neither log it nor put it into an error.
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
///     async fn find(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
///         Ok(self.0.get(id).cloned())
///     }
///
///     async fn current(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
///         self.find(id).await
///     }
/// }
/// ```
#[async_trait]
pub trait ClientStore: fmt::Debug + Send + Sync + 'static {
    /// Returns the client of that id, if there is one; the answer may be from a cache.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn find(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError>;

    /// Returns the client of that id as it is now.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn current(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError>;
}
