//! The store of authorization requests and their codes.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::clock::Timestamp;
use crate::model::Authorization;
use crate::model::id::AuthorizationId;
use crate::model::subject::Subject;
use crate::store::answer::{Insertion, Replacement};
use crate::store::error::StoreError;
use crate::store::page::Page;
use crate::store::purge::Purge;

/// Keeps authorization requests and their codes.
#[doc = ""]
#[doc = include_str!("record_contract.md")]
///
/// # Security
///
/// If two callers win, one consent becomes two codes. If an acknowledged write is not found, a used code may work
/// again.
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
    /// If it is `false`, the server [confirms](Self::confirm) a row before it acknowledges anything that depends on
    /// having read it.
    fn reads_settled(&self) -> bool {
        false
    }

    /// Returns the authorization with that id.
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

    /// Replaces the authorization with the same id, if the stored one has this `version`.
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

    /// Returns authorizations of that subject, in ascending order of their ids.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn authorizations_of(
        &self,
        subject: &Subject,
        page: Page<AuthorizationId>,
    ) -> Result<Vec<Arc<Authorization>>, StoreError>;

    /// Removes authorizations whose [`purge_after`](Authorization::purge_after) is not later than `now`, examining at
    /// most `limit`.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; what was removed before that stays removed.
    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError>;
}
