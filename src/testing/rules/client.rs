//! What every request reads of a client.

use std::sync::Arc;

use crate::model::application::Application;
use crate::model::client::Client;
use crate::model::id::ClientId;
use crate::store::{ClientStore, RecordStore};
use crate::testing::at_once::{MEETINGS, at_once};
use crate::testing::records;
use crate::testing::rows::{Rows, answer};
use crate::testing::rules::{CALLERS, add, change, far};
use crate::testing::told::{cut, first_difference};

pub(in crate::testing) async fn is_one_that_was_written<S>(store: &S)
where
    S: ClientStore + RecordStore<Application>,
{
    let rows = Rows::<Application>(store);
    let mut application = Arc::new(records::application(&records::subject()));
    let id = application.id().clone();
    add(&rows, &application).await;
    let mut written = vec![application.client().clone()];
    for _ in 0..8 {
        let found = client(store, &id).await;
        let known = found.as_ref().is_some_and(|found| written.contains(found));
        assert!(known, "`client` returns {}, which was never written", cut(&found));
        let next = Arc::new(records::changed(&application));
        written.push(next.client().clone());
        let _ = rows.replace(application.version(), &next).await;
        application = next;
    }
}

pub(in crate::testing) async fn is_current<S>(store: &S, another: &S)
where
    S: ClientStore + RecordStore<Application>,
{
    for meeting in MEETINGS {
        let calls = [store, another].into_iter().cycle().take(CALLERS).map(|handle| async move {
            let mut there = Arc::new(records::application(&records::subject()));
            add(&Rows::<Application>(handle), &there).await;
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
                change(&Rows::<Application>(writer), &there, &next).await;
                there = next;
            }
        });
        at_once(meeting, calls).await;
    }
}

pub(in crate::testing) async fn of_an_unknown_id_is_none(store: &impl ClientStore) {
    let id = records::application(&records::subject()).id().clone();
    assert!(client(store, &id).await.is_none(), "`client` of an unregistered id");
    assert!(current_client(store, &id).await.is_none(), "`current_client` of an unregistered id");
}

pub(in crate::testing) async fn of_every_kind_comes_back<S>(store: &S)
where
    S: ClientStore + RecordStore<Application>,
{
    let rows = Rows::<Application>(store);
    let mut all = records::applications_of_every_kind(&records::subject(), far());
    all.push(records::huge_application(&records::long_subject()));
    for application in all.into_iter().map(Arc::new) {
        add(&rows, &application).await;
        assert_client(store, application.client()).await;
        // An id whose first look-up comes after a replace, so that no cache knows it.
        let plain = Arc::new(records::application(&records::subject()));
        add(&rows, &plain).await;
        let copy = Arc::new(records::under(&application, plain.id()));
        change(&rows, &plain, &copy).await;
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
