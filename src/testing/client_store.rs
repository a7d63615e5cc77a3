//! The rules of [`ClientStore`](crate::store::ClientStore#contract), one function each.
//!
//! They fill the store through its registry. A directory that cannot be written has its own clients looked
//! up instead.

use crate::store::ClientRegistry;
use crate::testing::registry_rules::client;

/// Rule 1: what `find` answers, however old, is a client as it was written once.
pub async fn find_answers_what_was_written(store: &impl ClientRegistry) {
    client::find_answers_what_was_written(store).await;
}

/// Rule 2: `current` answers the last acknowledged write, also just after a `find` of the one before.
pub async fn current_answers_the_last_write<S: ClientRegistry>(store: &S, another: &S) {
    client::current_answers_the_last_write(store, another).await;
}

/// Rule 3: an id that nobody registered has no client.
pub async fn an_unknown_id_has_no_client(store: &impl ClientRegistry) {
    client::of_an_unknown_id_is_none(store).await;
}

/// Rule 3: every field comes back in every state, whatever text it holds and however large it is.
pub async fn every_field_comes_back(store: &impl ClientRegistry) {
    client::of_every_kind_comes_back(store).await;
}
