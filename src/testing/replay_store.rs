//! The rules of [`RecordStore`](crate::store::RecordStore#contract) for [`Replay`], one function each.

use std::time::Duration;

use crate::store::{RecordStore, Replay};
use crate::testing::rules::expiry;
use crate::testing::rules::replay;

/// Rule 1: of many callers that insert one digest, with any end, one gets `Inserted`.
pub async fn one_identifier_has_one_winner<S: RecordStore<Replay>>(store: &S, another: &S) {
    replay::has_one_winner(store, another).await;
}

/// Rule 1: digests that differ in a single bit are different identifiers.
pub async fn identifiers_are_distinguished(store: &impl RecordStore<Replay>) {
    replay::tells_identifiers_apart(store).await;
}

/// Rule 7: an identifier is known until a second before its end, and free after a purge at its end.
pub async fn a_purge_waits_for_the_end_of_a_replay(store: &impl RecordStore<Replay>) {
    replay::purge_waits_for_the_end(store).await;
}

/// Rule 7: if the engine removes records by its own clock, it removes none before its end.
///
/// It takes three seconds and calls `sleep` of the runtime, so the macro does not include this rule.
pub async fn a_replay_does_not_expire_early<F: Future<Output = ()> + Send>(
    store: &impl RecordStore<Replay>,
    sleep: impl Fn(Duration) -> F + Send + Sync,
) {
    expiry::of_a_replay_is_not_early(store, sleep).await;
}

/// Rule 7: a step removes no more than its limit, and repeated steps remove all that is due and nothing else.
pub async fn a_purge_of_replays_is_bounded_and_finishes(store: &impl RecordStore<Replay>) {
    replay::purge_is_bounded_and_finishes(store).await;
}
