//! Where registrations are written.

use std::sync::Arc;

use async_trait::async_trait;

use crate::client::application::{Application, ApplicationFilter, Logo, LogoSlot};
use crate::id::ClientId;
use crate::store::answer::{Insertion, Replacement};
use crate::store::client_store::ClientStore;
use crate::store::error::StoreError;
use crate::store::page::Page;
use crate::store::registration::Registration;

/// Keeps registrations: a [`ClientStore`] that can also be written.
///
/// # Contract
///
/// After each rule stand the tests of `grantor::testing::client_registry` that show it (feature `testing`).
///
/// 1. `insert` succeeds for exactly one of all callers with the same id; the others get `Exists` and
///    change nothing. Ids are equal when their octets are.
///    Kit: `insert_has_one_winner`, `insert_leaves_what_is_there`, `ids_are_told_apart`.
/// 2. `replace` succeeds for exactly one of all callers with the same expected version;
///    `Lost` if the row has another version or is missing, and then nothing changes.
///    Kit: `replace_has_one_winner`, `replace_of_a_missing_client_is_lost`,
///    `replace_of_another_version_is_lost`, `large_versions_are_compared`, `no_update_is_lost`.
/// 3. Client, application and logos of one registration change together or not at all.
///    Kit: `all_parts_change_together`, `readers_see_no_half_of_a_write`.
/// 4. What was acknowledged is found by every later call but `find`, also after a crash.
///    Kit: `acknowledged_writes_are_found`.
/// 5. `list` returns what [`Application::filters`] names, in the ascending order of ids, compared as
///    octets, at once after the write.
///    Kit: `lists_follow_every_move`, `a_list_is_of_one_owner`, `a_list_is_in_the_order_of_ids`,
///    `pages_hold_every_application_once`, `pages_miss_nothing_that_stays`.
/// 6. Application and logos come back equal in every field, whatever texts they hold.
///    Kit: `every_field_comes_back`, `the_largest_registration_comes_back`.
///
/// # Atomicity
///
/// One transaction over the rows of one client, or one row that holds all but the logos.
///
/// # Security
///
/// A lost update may undo a suspension.
#[async_trait]
pub trait ClientRegistry: ClientStore {
    /// Adds a registration under its client's id.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; the write may or may not have taken effect.
    async fn insert(&self, registration: Registration) -> Result<Insertion, StoreError>;

    /// Puts a registration in the place of the one that has `version`.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; the write may or may not have taken effect.
    async fn replace(&self, version: u32, registration: Registration) -> Result<Replacement, StoreError>;

    /// Returns the form and the review of that client.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn application(&self, id: &ClientId) -> Result<Option<Arc<Application>>, StoreError>;

    /// Returns a logo of that client.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn logo(&self, id: &ClientId, slot: LogoSlot) -> Result<Option<Arc<Logo>>, StoreError>;

    /// Returns applications that the filter names, ids ascending.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn list(&self, filter: &ApplicationFilter, page: Page<ClientId>)
    -> Result<Vec<Arc<Application>>, StoreError>;
}
