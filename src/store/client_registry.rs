//! The store of registrations.

use std::sync::Arc;

use async_trait::async_trait;

use crate::clock::Timestamp;
use crate::model::application::{Application, ApplicationFilter, Logo, LogoSlot};
use crate::model::id::ClientId;
use crate::store::answer::{Insertion, Replacement};
use crate::store::client_store::ClientStore;
use crate::store::error::StoreError;
use crate::store::page::Page;
use crate::store::purge::Purge;
use crate::store::record_store::Store;
use crate::store::registration::Registration;

/// A [`ClientStore`] that can also be written.
///
/// # Contract
///
/// Each rule names the tests of `grantor::testing::client_registry` that check it (feature `testing`).
///
/// 1. Of all callers that `insert` the same id, exactly one succeeds. The others get `Exists` and change nothing. Ids
///    are compared as bytes.
///    Kit: `insert_has_one_winner`, `insert_leaves_what_is_there`, `ids_are_distinguished`.
/// 2. Of all callers that `replace` the same version, exactly one succeeds. If the row has another version or is
///    missing, the result is `Lost` and nothing changes.
///    Kit: `replace_has_one_winner`, `replace_of_a_missing_client_is_lost`,
///    `replace_of_another_version_is_lost`, `large_versions_are_compared`, `no_update_is_lost`.
/// 3. `confirm` writes a registration again if the stored one equals it: version, client, application, and the logos
///    that are put or cleared. Kept logos are not compared. Any number of callers succeed, and the version stays. If
///    the row is missing or differs, the result is `Lost` and nothing changes.
///    Kit: `a_confirm_leaves_what_is_there`, `a_confirm_of_another_registration_is_lost`,
///    `confirms_at_once_all_succeed`, `a_confirm_undoes_no_write`.
/// 4. Client, application and logos of one registration change together or not at all.
///    Kit: `all_parts_change_together`, `readers_see_no_half_of_a_write`.
/// 5. Every later call except `find` returns an acknowledged write, also after a crash.
///    Kit: `acknowledged_writes_are_found`.
/// 6. `list` returns an application under each of its [`Application::filters`], immediately after the write. Ids are in
///    ascending order, compared as bytes.
///    Kit: `lists_follow_every_move`, `a_list_is_of_one_owner`, `a_list_is_in_the_order_of_ids`,
///    `pages_hold_every_application_once`, `a_page_of_the_largest_applications_is_full`,
///    `pages_miss_nothing_that_stays`.
/// 7. Applications and logos are read back equal in every field, with any text.
///    Kit: `every_field_comes_back`, `the_largest_registration_comes_back`.
/// 8. Each call costs the same with a hundred and with a million applications. Only the applications of one filter are
///    examined.
///    Kit: `calls_cost_the_same`, for a store that can count the rows that its engine examined.
/// 9. `purge_deleted` removes only applications whose [`purge_after`](Application::purge_after) is not later than `now`,
///    and takes them off their lists. Applications without a `purge_after` stay, at any age. A later version may have
///    another time.
///    Kit: `only_deleted_clients_are_purged`.
///
/// # Atomicity
///
/// One transaction over the rows of one client, or one row that holds everything except the logos.
///
/// # Security
///
/// A lost update may undo a suspension.
#[async_trait]
pub trait ClientRegistry: ClientStore + Store {
    /// Adds a registration under its client's id.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; the write may or may not have taken effect.
    async fn insert(&self, registration: Registration) -> Result<Insertion, StoreError>;

    /// Replaces the registration of the same client, if the stored one has this `version`.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; the write may or may not have taken effect.
    async fn replace(&self, version: u32, registration: Registration) -> Result<Replacement, StoreError>;

    /// Writes a registration again, unchanged and durably, if the stored one equals it; the version stays.
    ///
    /// Logos that are [kept](crate::store::LogoWrite::Keep) are not compared.
    ///
    /// Any number of callers succeed. [`Replacement::Lost`] means that the row is missing or differs.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn confirm(&self, registration: Registration) -> Result<Replacement, StoreError>;

    /// Returns the application of that client.
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

    /// Removes clients whose [`purge_after`](Application::purge_after) is not later than `now`, examining at most
    /// `limit`.
    ///
    /// These are deleted clients, and clients that registered themselves and have not been used for a long time.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; what was removed before that stays removed.
    async fn purge_deleted(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError>;

    /// Returns applications that match the filter, in ascending order of their ids.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn list(&self, filter: &ApplicationFilter, page: Page<ClientId>)
    -> Result<Vec<Arc<Application>>, StoreError>;
}
