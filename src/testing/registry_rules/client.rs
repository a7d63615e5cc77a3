//! What every request reads of a client.

use std::sync::Arc;

use crate::model::client::Client;
use crate::store::ClientRegistry;
use crate::testing::applications::Applications;
use crate::testing::at_once::{MEETINGS, at_once};
use crate::testing::records;
use crate::testing::rules::{CALLERS, in_turn};
use crate::testing::told::{cut, first_difference};

pub(in crate::testing) async fn find_answers_what_was_written<S: ClientRegistry>(store: &S) {
    let store = &Applications(store);
    let mut registration = records::registration(&records::subject());
    let id = registration.client.id().clone();
    store.begin(&registration).await;
    let mut written = vec![registration.client.clone()];
    for _ in 0..8 {
        let found = store.find(&id).await;
        let known = found.as_ref().is_some_and(|found| written.contains(found));
        assert!(known, "`find` returns {}, which was never written", cut(&found));
        let before = registration.client.version();
        registration = records::changed(&registration);
        written.push(registration.client.clone());
        let _ = store.replace(before, &registration).await;
    }
}

pub(in crate::testing) async fn current_answers_the_last_write<S: ClientRegistry>(store: &S, another: &S) {
    let (store, another) = (&Applications(store), &Applications(another));
    for meeting in MEETINGS {
        let calls = in_turn(store, another).take(CALLERS).map(|handle| async {
            let mut registration = records::registration(&records::subject());
            let mut there = handle.begin(&registration).await;
            for round in 0..6 {
                for reader in [store, another] {
                    // `find` may fill a cache, which `current` must not use.
                    let _ = reader.find(registration.client.id()).await;
                    let current = reader.current(registration.client.id()).await;
                    let is_last = current.as_ref() == Some(&there.client);
                    let what = || difference(&there.client, current.as_ref());
                    assert!(is_last, "after a write `current` returns {}", what());
                }
                registration = records::changed(&registration);
                let writer = if round % 2 == 0 { another } else { store };
                there = writer.advance(&there, &registration).await;
            }
        });
        at_once(meeting, calls).await;
    }
}

pub(in crate::testing) async fn of_an_unknown_id_is_none<S: ClientRegistry>(store: &S) {
    let store = &Applications(store);
    let id = records::registration(&records::subject()).client.id().clone();
    assert!(store.find(&id).await.is_none(), "`find` of an unregistered id");
    assert!(store.current(&id).await.is_none(), "`current` of an unregistered id");
}

pub(in crate::testing) async fn of_every_kind_comes_back<S: ClientRegistry>(store: &S) {
    let store = &Applications(store);
    let mut all = records::registrations_of_every_kind(&records::subject());
    all.push(records::huge_registration(&records::long_subject()));
    for registration in all {
        let there = store.begin(&registration).await;
        assert_client(store, &there.client).await;
        // An id whose first look-up comes after a replace, so that no cache knows it.
        let plain = records::registration(&records::subject());
        let there = store.begin(&plain).await;
        let copy = records::under(&registration, plain.client.id());
        let there = store.advance(&there, &copy).await;
        assert_client(store, &there.client).await;
    }
}

async fn assert_client<S: ClientRegistry>(store: &Applications<'_, S>, client: &Arc<Client>) {
    let found = store.find(client.id()).await;
    assert!(found.as_ref() == Some(client), "`find` gives {}", difference(client, found.as_ref()));
    let current = store.current(client.id()).await;
    assert!(current.as_ref() == Some(client), "`current` gives {}", difference(client, current.as_ref()));
}

fn difference(expected: &Arc<Client>, found: Option<&Arc<Client>>) -> String {
    let Some(found) = found else { return format!("nothing, in place of {}", cut(expected)) };
    let place = first_difference(&expected.encode(), &found.encode());
    format!("{}, in place of {}; {place}", cut(found), cut(expected))
}
