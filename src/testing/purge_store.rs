//! The rules of [`PurgeStore`](crate::store::PurgeStore#contract), one function each.
//!
//! A store has one such record, so each rule needs its own new store.

use crate::store::{PurgeStore, ReplayStore};
use crate::testing::rules::last_purge;

/// Rule 1: of many callers that insert the record, one gets `Inserted`.
pub async fn insert_has_one_winner<S: PurgeStore>(store: &S, another: &S) {
    last_purge::insert_has_one_winner(store, another).await;
}

/// Rule 1: an insert changes nothing if there is a record.
pub async fn insert_leaves_what_is_there(store: &impl PurgeStore) {
    last_purge::insert_leaves_what_is_there(store).await;
}

/// Rule 2: of many callers that replace one version, one gets `Replaced`.
pub async fn replace_has_one_winner<S: PurgeStore>(store: &S, another: &S) {
    last_purge::replace_has_one_winner(store, another).await;
}

/// Rule 2: a replace writes nothing if there is no record.
pub async fn replace_of_a_missing_record_is_lost(store: &impl PurgeStore) {
    last_purge::replace_of_a_missing_record_is_lost(store).await;
}

/// Rule 2: a replace of a version that is not stored changes nothing.
pub async fn replace_of_another_version_is_lost(store: &impl PurgeStore) {
    last_purge::replace_of_another_version_is_lost(store).await;
}

/// Rule 3: a confirmed record stays as it is, any number of times.
pub async fn a_confirm_leaves_what_is_there(store: &impl PurgeStore) {
    last_purge::confirm_leaves_what_is_there(store).await;
}

/// Rule 3: a confirm of a missing record, another version or another time changes nothing.
pub async fn a_confirm_of_another_record_is_lost(store: &impl PurgeStore) {
    last_purge::confirm_of_another_record_is_lost(store).await;
}

/// Rule 4: each state of the record, with any time, is found through every handle.
pub async fn acknowledged_writes_are_found<S: PurgeStore>(store: &S, another: &S) {
    last_purge::acknowledged_writes_are_found(store, another).await;
}

/// Rule 5: no purge removes the record. The store must also be a [`ReplayStore`].
pub async fn a_purge_leaves_the_record<S: PurgeStore + ReplayStore>(store: &S) {
    last_purge::purge_leaves_the_record(store).await;
}
