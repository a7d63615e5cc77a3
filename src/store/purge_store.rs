//! The store of the time of the last purge.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::model::LastPurge;
use crate::store::answer::{Insertion, Replacement};
use crate::store::error::StoreError;

/// Keeps the time of the last purge, so that a clock that jumps forward removes nothing.
///
/// It is one record. Keep it where the grants are, so that both are restored from one backup.
///
/// # Contract
///
/// Each rule names the tests of `grantor::testing::purge_store` that check it (feature `testing`).
///
/// 1. Of all callers that `insert` while there is no record, exactly one succeeds. The others get [`Insertion::Exists`]
///    and change nothing. Kit: `insert_has_one_winner`, `insert_leaves_what_is_there`.
/// 2. Of all callers that `replace` the same version, exactly one succeeds. The others get [`Replacement::Lost`] and
///    change nothing. So do all callers while there is no record. Versions are random, so a new one may be lower. Kit:
///    `replace_has_one_winner`,
///    `replace_of_a_missing_record_is_lost`, `replace_of_another_version_is_lost`.
/// 3. `confirm` writes the record again, durably, if the stored one equals it. Any number of callers succeed. If the
///    record is missing or differs, the result is `Lost` and nothing changes. Kit: `a_confirm_leaves_what_is_there`,
///    `a_confirm_of_another_record_is_lost`.
/// 4. Every later `find`, on every node, returns an acknowledged write; if the store is durable, also after a crash.
///    Kit: `acknowledged_writes_are_found`.
/// 5. No purge removes the record, at any time. Kit: `a_purge_leaves_the_record`.
///
/// # Atomicity
///
/// As for the other stores: `INSERT … ON CONFLICT DO NOTHING` and `UPDATE … WHERE key = ? AND version = ?`.
///
/// # Security
///
/// A store that loses the record, or moves it to a later time by itself, lets one purge under a wrong clock delete
/// live grants.
#[async_trait]
pub trait PurgeStore: fmt::Debug + Send + Sync + 'static {
    /// Returns whether a read returns only writes that no fail-over can undo; `false` by default.
    fn reads_settled(&self) -> bool {
        false
    }

    /// Returns the record.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn find(&self) -> Result<Option<Arc<LastPurge>>, StoreError>;

    /// Adds the record if there is none.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; the write may have been applied or not.
    async fn insert(&self, record: LastPurge) -> Result<Insertion, StoreError>;

    /// Replaces the record, if the stored one has this `version`.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; the write may have been applied or not.
    async fn replace(&self, version: u32, record: LastPurge) -> Result<Replacement, StoreError>;

    /// Writes the record again, unchanged and durably, if the stored one equals it.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; the record is then not known to be durable.
    async fn confirm(&self, record: LastPurge) -> Result<Replacement, StoreError>;
}
