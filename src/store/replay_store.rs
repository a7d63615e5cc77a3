//! The store of identifiers that must not be used twice.

use std::fmt;

use async_trait::async_trait;

use crate::clock::Timestamp;
use crate::model::Replay;
use crate::store::answer::Insertion;
use crate::store::error::StoreError;
use crate::store::purge::Purge;

/// Keeps digests of identifiers that may be used once, such as the `jti` of a proof [RFC 9449 section 11.1].
///
/// # Contract
///
/// Each rule names the tests of `grantor::testing::replay_store` that check it (feature `testing`).
///
/// 1. Of all callers that `insert` the same digest, on any node, exactly one succeeds. The others get
///    [`Insertion::Exists`], which *is* the replay. Kit: `one_identifier_has_one_winner`, `identifiers_are_distinguished`.
/// 2. A record stays until its end, also after a crash if the store is durable.
///    Kit: `a_purge_waits_for_the_end_of_a_replay`, and `a_replay_does_not_expire_early`, for a store whose
///    engine removes records by its own clock.
/// 3. `purge_expired` removes only records whose end is not later than `now`, examines at most `limit`, and
///    never scans records that are not due. It is housekeeping: records may be left to the engine's own expiry, and the
///    index of the purge may lag. Kit: `a_purge_of_replays_is_bounded_and_finishes`.
///
/// # Atomicity
///
/// One insert by primary key.
///
/// # Security
///
/// A store that forgets a record early, or lets two callers win, accepts a stolen proof a second time.
/// After an error the identifier counts as used: the client sends another one.
#[async_trait]
pub trait ReplayStore: fmt::Debug + Send + Sync + 'static {
    /// Adds a record if there is none with its digest.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; the write may have been applied or not.
    async fn insert(&self, record: Replay) -> Result<Insertion, StoreError>;

    /// Removes records whose end is not later than `now`, examining at most `limit`.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; records removed before that stay removed.
    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError>;
}
