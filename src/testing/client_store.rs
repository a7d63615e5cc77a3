//! The rules of [`ClientStore`](crate::store::ClientStore#contract), one function each.
//!
//! They fill the store with applications. For a directory that cannot be written, look up its own clients instead.

use std::sync::Arc;

use crate::base::id::ClientId;
use crate::model::application::Application;
use crate::model::client::Client;
use crate::store::{ClientStore, RecordStore};
use crate::testing::at_once::{MEETINGS, at_once};
use crate::testing::calls::{CALLERS, add, answer, change, far, in_turn, replace};
use crate::testing::records;
use crate::testing::told::{cut, first_difference};

/// Rule 1: what `client` returns, however old, is a client as it was once written.
pub async fn client_answers_what_was_written<S>(store: &S)
where
    S: ClientStore + RecordStore<Application>,
{
    let mut application = Arc::new(records::application(&records::subject()));
    let id = application.id().clone();
    add(store, &application).await;
    let mut written = vec![application.client().clone()];
    for _ in 0..8 {
        let found = client(store, &id).await;
        let known = found.as_ref().is_some_and(|found| written.contains(found));
        assert!(known, "`client` returns {}, which was never written", cut(&found));
        let next = Arc::new(records::changed(&application));
        written.push(next.client().clone());
        let _ = replace(store, application.version(), &next).await;
        application = next;
    }
}

/// Rule 2: `current_client` returns the last acknowledged write, also just after a `client` of the previous one.
pub async fn current_client_answers_the_last_write<S>(store: &S, another: &S)
where
    S: ClientStore + RecordStore<Application>,
{
    for meeting in MEETINGS {
        let calls = in_turn(store, another).take(CALLERS).map(|handle| async move {
            let mut there = Arc::new(records::application(&records::subject()));
            add(handle, &there).await;
            for round in 0..6 {
                for reader in [store, another] {
                    // `client` may fill a cache, which `current_client` must not use.
                    let _ = client(reader, there.id()).await;
                    let current = current_client(reader, there.id()).await;
                    let is_last = current.as_ref() == Some(there.client());
                    let what = || difference(there.client(), current.as_ref());
                    assert!(is_last, "after a write `current_client` returns {}", what());
                }
                let next = Arc::new(records::changed(&there));
                let writer = if round % 2 == 0 { another } else { store };
                change(writer, &there, &next).await;
                there = next;
            }
        });
        at_once(meeting, calls).await;
    }
}

/// Rule 3: an unregistered id has no client.
pub async fn an_unknown_id_has_no_client(store: &impl ClientStore) {
    let id = records::application(&records::subject()).id().clone();
    assert!(client(store, &id).await.is_none(), "`client` of an unregistered id");
    assert!(current_client(store, &id).await.is_none(), "`current_client` of an unregistered id");
}

/// Rule 3: every field is read back equal in every state, with any text of any size.
pub async fn every_field_comes_back<S>(store: &S)
where
    S: ClientStore + RecordStore<Application>,
{
    let mut all = records::applications_of_every_kind(&records::subject(), far());
    all.push(records::huge_application(&records::long_subject()));
    for application in all.into_iter().map(Arc::new) {
        add(store, &application).await;
        assert_client(store, application.client()).await;
        // An id whose first look-up comes after a replace, so that no cache knows it.
        let plain = Arc::new(records::application(&records::subject()));
        add(store, &plain).await;
        let copy = Arc::new(records::under(&application, plain.id()));
        change(store, &plain, &copy).await;
        assert_client(store, copy.client()).await;
    }
}

async fn assert_client(store: &impl ClientStore, expected: &Arc<Client>) {
    let found = client(store, expected.id()).await;
    assert!(found.as_ref() == Some(expected), "`client` gives {}", difference(expected, found.as_ref()));
    let current = current_client(store, expected.id()).await;
    assert!(current.as_ref() == Some(expected), "`current_client` gives {}", difference(expected, current.as_ref()));
}

async fn client(store: &impl ClientStore, id: &ClientId) -> Option<Arc<Client>> {
    answer("client", store.client(id).await)
}

async fn current_client(store: &impl ClientStore, id: &ClientId) -> Option<Arc<Client>> {
    answer("current_client", store.current_client(id).await)
}

fn difference(expected: &Arc<Client>, found: Option<&Arc<Client>>) -> String {
    let Some(found) = found else { return format!("nothing, in place of {}", cut(expected)) };
    let place = first_difference(&expected.encode(), &found.encode());
    format!("{}, in place of {}; {place}", cut(found), cut(expected))
}
