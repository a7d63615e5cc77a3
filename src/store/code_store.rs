//! Where authorization requests and their codes are kept.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::clock::Timestamp;
use crate::id::AuthorizationId;
use crate::record::Authorization;
use crate::store::answer::{Insertion, Replacement};
use crate::store::error::StoreError;
use crate::store::page::Page;
use crate::store::purge::Purge;
use crate::subject::Subject;

/// Keeps authorization requests and their codes.
#[doc = ""]
#[doc = include_str!("record_contract.md")]
///
/// # Security
///
/// If two callers win, one consent becomes two codes. If an acknowledged write is not found, a code
/// that was spent may work again.
///
/// # Examples
///
/// See [`TokenStore`](crate::store::TokenStore), whose shape is the same.
///
/// [`StoreError::unreadable`]: crate::store::StoreError::unreadable
/// [`purge_after`]: Authorization::purge_after
#[async_trait]
pub trait CodeStore: fmt::Debug + Send + Sync + 'static {
    /// Returns whether a read returns only writes that no fail-over can undo; `false` by default.
    ///
    /// Where it is `false`, a row is [confirmed](Self::confirm) before anything is acknowledged that rests on
    /// having read it.
    fn reads_settled(&self) -> bool {
        false
    }

    /// Returns the authorization of that id.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn find(&self, id: &AuthorizationId) -> Result<Option<Arc<Authorization>>, StoreError>;

    /// Adds an authorization under its id.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; the write may or may not have taken effect.
    async fn insert(&self, record: Arc<Authorization>) -> Result<Insertion, StoreError>;

    /// Puts an authorization in the place of the one that has its id and `version`.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; the write may or may not have taken effect.
    async fn replace(&self, version: u32, record: Arc<Authorization>) -> Result<Replacement, StoreError>;

    /// Writes an authorization again, unchanged and durably, if the stored one equals it; the version stays.
    ///
    /// Any number of callers succeed. [`Replacement::Lost`] means that the row is missing or differs.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn confirm(&self, record: Arc<Authorization>) -> Result<Replacement, StoreError>;

    /// Returns authorizations of that subject, ids ascending.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn authorizations_of(
        &self,
        subject: &Subject,
        page: Page<AuthorizationId>,
    ) -> Result<Vec<Arc<Authorization>>, StoreError>;

    /// Removes what may be removed at `now`, looking at no more than `limit` records.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; what was removed before that stays removed.
    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError>;
}
