//! The rules of [`ClientRegistry`](crate::store::ClientRegistry#contract), one function each.

use crate::store::ClientRegistry;
use crate::testing::registry_rules::confirm;
use crate::testing::registry_rules::cost;
use crate::testing::registry_rules::list;
use crate::testing::registry_rules::parts;
use crate::testing::registry_rules::purge;
use crate::testing::registry_rules::write;

/// Rule 1: of many callers that insert one id, one gets `Inserted`, and all stored parts are its own.
pub async fn insert_has_one_winner<S: ClientRegistry>(store: &S, another: &S) {
    write::insert_has_one_winner(store, another).await;
}

/// Rule 1: an insert of an existing id returns `Exists` and changes no part and no list.
pub async fn insert_leaves_what_is_there(store: &impl ClientRegistry) {
    write::insert_leaves_what_is_there(store).await;
}

/// Rule 1: client ids that differ in case or in blanks are different ids.
pub async fn ids_are_distinguished(store: &impl ClientRegistry) {
    write::tells_ids_apart(store).await;
}

/// Rule 2: of many callers that replace one version, one gets `Replaced`, and all stored parts are its own.
pub async fn replace_has_one_winner<S: ClientRegistry>(store: &S, another: &S) {
    write::replace_has_one_winner(store, another).await;
}

/// Rule 2: a replace of a missing client is `Lost` and leaves nothing, not even a logo.
pub async fn replace_of_a_missing_client_is_lost(store: &impl ClientRegistry) {
    write::replace_of_a_missing_client_is_lost(store).await;
}

/// Rule 2: a replace of any version but the client's own is `Lost` and changes no part and no list.
pub async fn replace_of_another_version_is_lost(store: &impl ClientRegistry) {
    write::replace_of_another_version_is_lost(store).await;
}

/// Rule 2: versions are compared up to the largest of 32 bits, without sign.
pub async fn large_versions_are_compared(store: &impl ClientRegistry) {
    write::compares_large_versions(store).await;
}

/// Rule 2: callers that read again after every loss win every version exactly once.
pub async fn no_update_is_lost<S: ClientRegistry>(store: &S, another: &S) {
    write::loses_no_update(store, another).await;
}

/// Rule 3: a registration that equals the stored one is confirmed, any number of times, and stays as it is.
pub async fn a_confirm_leaves_what_is_there(store: &impl ClientRegistry) {
    confirm::leaves_what_is_there(store).await;
}

/// Rule 3: a confirm of a missing client, of another version or of another part is `Lost` and changes nothing.
pub async fn a_confirm_of_another_registration_is_lost(store: &impl ClientRegistry) {
    confirm::of_another_registration_is_lost(store).await;
}

/// Rule 3: any number of callers confirm one registration at once, and none of them raises its version.
pub async fn confirms_at_once_all_succeed<S: ClientRegistry>(store: &S, another: &S) {
    confirm::all_succeed_at_once(store, another).await;
}

/// Rule 3: a confirm during a replace neither restores the old version nor stops the replace.
pub async fn a_confirm_undoes_no_write<S: ClientRegistry>(store: &S, another: &S) {
    confirm::undoes_no_write(store, another).await;
}

/// Rule 4: client, application and both logos are those of one write, with every change of each logo.
pub async fn all_parts_change_together(store: &impl ClientRegistry) {
    parts::change_together(store).await;
}

/// Rule 4: while versions are written, no reader finds a part that is older than one it has seen.
pub async fn readers_see_no_half_of_a_write<S: ClientRegistry>(store: &S, another: &S) {
    parts::are_never_seen_in_halves(store, another).await;
}

/// Rule 5: an acknowledged write is found by all callers at once, in all parts and lists.
pub async fn acknowledged_writes_are_found<S: ClientRegistry>(store: &S, another: &S) {
    parts::are_found_everywhere(store, another).await;
}

/// Rule 6: after every move, an application is listed as it is under its own filters and no other.
pub async fn lists_follow_every_move(store: &impl ClientRegistry) {
    list::follows_every_move(store).await;
}

/// Rule 6: owners that differ in case, blanks, normalization or length are different owners.
pub async fn a_list_is_of_one_owner(store: &impl ClientRegistry) {
    list::is_of_one_owner(store).await;
}

/// Rule 6: a list is in the ascending order of client ids, compared as bytes.
pub async fn a_list_is_in_the_order_of_ids(store: &impl ClientRegistry) {
    list::is_in_the_order_of_ids(store).await;
}

/// Rule 6: pages of any size hold every application once, and all but the last one are full.
pub async fn pages_hold_every_application_once(store: &impl ClientRegistry) {
    list::holds_every_application_once(store).await;
}

/// Rule 6: a page of the largest applications, more than a mebibyte together, is complete.
pub async fn a_page_of_the_largest_applications_is_full(store: &impl ClientRegistry) {
    list::of_the_largest_is_full(store).await;
}

/// Rule 6: while applications are added and removed, a reader of pages finds each that stays once.
pub async fn pages_miss_nothing_that_stays(store: &impl ClientRegistry) {
    list::misses_nothing_that_stays(store).await;
}

/// Rule 7: every field is read back equal in every state, with any text.
pub async fn every_field_comes_back(store: &impl ClientRegistry) {
    parts::of_every_kind_come_back(store).await;
}

/// Rule 7: the largest registration is read back equal, with two logos of a mebibyte.
pub async fn the_largest_registration_comes_back(store: &impl ClientRegistry) {
    parts::of_the_largest_size_come_back(store).await;
}

/// Rule 9: a deleted client is removed when its time has come, with all its parts; any other client stays.
pub async fn only_deleted_clients_are_purged(store: &impl ClientRegistry) {
    purge::removes_only_deleted_clients(store).await;
}

/// Rule 8: each call costs the same, however many applications there are.
///
/// `count` returns the cost so far, preferably in examined rows. Not every store can count, so the macro does not
/// include this rule.
pub async fn calls_cost_the_same(store: &impl ClientRegistry, count: impl Fn() -> u64 + Send + Sync) {
    cost::of_calls_stays_the_same(store, count).await;
}
