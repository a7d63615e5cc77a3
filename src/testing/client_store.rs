//! The rules of [`ClientStore`](crate::store::ClientStore#contract), one function each.
//!
//! They fill the store through its registry. For a directory that cannot be written, look up its own clients instead.

use crate::store::ClientRegistry;
use crate::testing::registry_rules::client;

/// Rule 1: what `find` returns, however old, is a client as it was once written.
pub async fn find_answers_what_was_written(store: &impl ClientRegistry) {
    client::find_answers_what_was_written(store).await;
}

/// Rule 2: `current` returns the last acknowledged write, also just after a `find` of the previous one.
pub async fn current_answers_the_last_write<S: ClientRegistry>(store: &S, another: &S) {
    client::current_answers_the_last_write(store, another).await;
}

/// Rule 3: an unregistered id has no client.
pub async fn an_unknown_id_has_no_client(store: &impl ClientRegistry) {
    client::of_an_unknown_id_is_none(store).await;
}

/// Rule 3: every field is read back equal in every state, with any text of any size.
pub async fn every_field_comes_back(store: &impl ClientRegistry) {
    client::of_every_kind_comes_back(store).await;
}
