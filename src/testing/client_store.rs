//! The rules of [`ClientStore`](crate::store::ClientStore#contract), one function each.
//!
//! They fill the store with applications. For a directory that cannot be written, look up its own clients instead.

use crate::model::application::Application;
use crate::store::{ClientStore, RecordStore};
use crate::testing::rules::client;

/// Rule 1: what `client` returns, however old, is a client as it was once written.
pub async fn client_answers_what_was_written<S: ClientStore + RecordStore<Application>>(store: &S) {
    client::is_one_that_was_written(store).await;
}

/// Rule 2: `current_client` returns the last acknowledged write, also just after a `client` of the previous one.
pub async fn current_client_answers_the_last_write<S: ClientStore + RecordStore<Application>>(store: &S, another: &S) {
    client::is_current(store, another).await;
}

/// Rule 3: an unregistered id has no client.
pub async fn an_unknown_id_has_no_client(store: &impl ClientStore) {
    client::of_an_unknown_id_is_none(store).await;
}

/// Rule 3: every field is read back equal in every state, with any text of any size.
pub async fn every_field_comes_back<S: ClientStore + RecordStore<Application>>(store: &S) {
    client::of_every_kind_comes_back(store).await;
}
