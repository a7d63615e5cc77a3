//! The store of pushed authorization requests.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::clock::Timestamp;
use crate::model::PushedRequest;
use crate::model::id::PushedRequestId;
use crate::store::answer::{Insertion, Replacement};
use crate::store::error::StoreError;
use crate::store::purge::Purge;

/// Keeps pushed authorization requests [RFC 9126].
///
/// # Contract
///
/// Rules 1 to 5 and 7 to 9 of [`CodeStore`](crate::store::CodeStore) apply. Rule 6 does not: a pushed request is on no
/// list. The tests of `grantor::testing::pushed_request_store` check them (feature `testing`), under the names given
/// there.
///
/// Ids recur. The requests of a client are in at most 1000 slots, whose ids derive from the client id. A later request
/// of the client replaces the one in a slot. After a purge, a later request is inserted under the same id.
///
/// # Atomicity
///
/// As for [`CodeStore`](crate::store::CodeStore#atomicity).
///
/// # Security
///
/// If two concurrent replacements succeed, one pushed request can become two codes. If an acknowledged write is lost, a
/// request that was decided can be decided again.
#[async_trait]
pub trait PushedRequestStore: fmt::Debug + Send + Sync + 'static {
    /// Returns whether a read returns only writes that no fail-over can undo; `false` by default.
    ///
    /// If it is `false`, the server [confirms](Self::confirm) a row before it acknowledges anything that depends on
    /// having read it.
    fn reads_settled(&self) -> bool {
        false
    }

    /// Returns the request with that id.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn find(&self, id: &PushedRequestId) -> Result<Option<Arc<PushedRequest>>, StoreError>;

    /// Adds a request under its id.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; the write may have been applied or not.
    async fn insert(&self, record: Arc<PushedRequest>) -> Result<Insertion, StoreError>;

    /// Replaces the request with the same id, if the stored one has this `version`.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; the write may have been applied or not.
    async fn replace(&self, version: u32, record: Arc<PushedRequest>) -> Result<Replacement, StoreError>;

    /// Writes a request again, unchanged and durably, if the stored one equals it; the version stays.
    ///
    /// Any number of callers succeed. [`Replacement::Lost`] means that the row is missing or differs.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn confirm(&self, record: Arc<PushedRequest>) -> Result<Replacement, StoreError>;

    /// Removes requests whose [`purge_after`](PushedRequest::purge_after) is not later than `now`, examining at most
    /// `limit`.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; what was removed before that stays removed.
    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError>;
}
