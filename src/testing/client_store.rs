//! The rules of [`ClientStore`](crate::store::ClientStore#contract), one function each, for a directory of clients.
//!
//! Those that write are given a function that stores a client, or replaces the one with its id.

use std::sync::Arc;

use crate::base::id::ClientId;
use crate::model::client::Client;
use crate::store::ClientStore;
use crate::testing::rows::{answer, unique};

/// Rule 1: what `client` returns, however old, is a client as it was once written.
pub async fn client_answers_what_was_written<S, F>(store: &S, write: impl Fn(Arc<Client>) -> F)
where
    S: ClientStore,
    F: Future<Output = ()>,
{
    let id = new_id();
    let mut written = Vec::new();
    for _ in 0..8 {
        let next = client_under(&id);
        written.push(next.clone());
        write(next).await;
        let found = answer("client", store.client(&id).await);
        let is_known = found.as_ref().is_some_and(|found| written.contains(found));
        assert!(is_known, "`client` returns {found:?}, which was never written");
    }
}

/// Rule 2: `current_client` returns the last acknowledged write, also just after a `client` of the previous one.
pub async fn current_client_answers_the_last_write<S, F>(store: &S, another: &S, write: impl Fn(Arc<Client>) -> F)
where
    S: ClientStore,
    F: Future<Output = ()>,
{
    let id = new_id();
    for _ in 0..8 {
        let last = client_under(&id);
        write(last.clone()).await;
        for reader in [store, another] {
            // `client` may fill a cache, which `current_client` must not use.
            let _ = answer("client", reader.client(&id).await);
            let current = answer("current_client", reader.current_client(&id).await);
            assert!(current.as_ref() == Some(&last), "after a write `current_client` returns {current:?}");
        }
    }
}

/// Rule 3: an unregistered id has no client.
pub async fn an_unknown_id_has_no_client(store: &impl ClientStore) {
    let id = new_id();
    let found = answer("client", store.client(&id).await);
    assert!(found.is_none(), "`client` of an unregistered id returns {found:?}");
    let current = answer("current_client", store.current_client(&id).await);
    assert!(current.is_none(), "`current_client` of an unregistered id returns {current:?}");
}

fn new_id() -> ClientId {
    ClientId::new(unique()).unwrap_or_else(|_| unreachable!("letters and digits are a client id"))
}

/// Returns a client that differs from all others.
fn client_under(id: &ClientId) -> Arc<Client> {
    Arc::new(Client::builder(id.clone()).name(unique()).build())
}
