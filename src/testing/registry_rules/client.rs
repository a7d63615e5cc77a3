//! What every request reads of a client.

use crate::store::{ClientRegistry, Registration};
use crate::testing::applications::Applications;
use crate::testing::at_once::{MEETINGS, at_once};
use crate::testing::records;
use crate::testing::rules::{CALLERS, in_turn};

pub(in crate::testing) async fn find_answers_what_was_written<S: ClientRegistry>(store: &S) {
    let store = &Applications(store);
    let mut registration = records::registration(&records::subject());
    let id = registration.client.id().clone();
    store.begin(&registration).await;
    let mut written = vec![registration.client.clone()];
    for _ in 0..8 {
        let found = store.find(&id).await;
        let known = found.as_ref().is_some_and(|found| written.contains(found));
        assert!(known, "`find` gives {found:?}, which nobody wrote");
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
                    // What is found may be kept; what is current must not come from there.
                    let _ = reader.find(registration.client.id()).await;
                    let current = reader.current(registration.client.id()).await;
                    let is_last = current.as_ref() == Some(&there.client);
                    assert!(is_last, "{:?} was acknowledged, `current` gives {current:?}", there.client);
                }
                registration = records::changed(&registration);
                let writer = if round % 2 == 0 { another } else { store };
                there = writer.go_on(&there, &registration).await;
            }
        });
        at_once(meeting, calls).await;
    }
}

pub(in crate::testing) async fn of_an_unknown_id_is_none<S: ClientRegistry>(store: &S) {
    let store = &Applications(store);
    let id = records::registration(&records::subject()).client.id().clone();
    assert!(store.find(&id).await.is_none(), "`find` of an id that nobody registered");
    assert!(store.current(&id).await.is_none(), "`current` of an id that nobody registered");
}

pub(in crate::testing) async fn of_every_kind_comes_back<S: ClientRegistry>(store: &S) {
    let store = &Applications(store);
    let mut all = records::registrations_of_every_kind(&records::subject());
    all.push(records::huge_registration());
    for registration in all {
        let there = store.begin(&registration).await;
        assert_client(store, &there.client).await;
        // An id whose first look-up comes after a replace, so that no cache knows it.
        let plain = records::registration(&records::subject());
        let there = store.begin(&plain).await;
        let copy: Registration = records::under(&registration, plain.client.id());
        let there = store.go_on(&there, &copy).await;
        assert_client(store, &there.client).await;
    }
}

async fn assert_client<S: ClientRegistry>(store: &Applications<'_, S>, client: &std::sync::Arc<crate::client::Client>) {
    let found = store.find(client.id()).await;
    assert!(found.as_ref() == Some(client), "{client:?} was acknowledged, `find` gives {found:?}");
    let current = store.current(client.id()).await;
    assert!(current.as_ref() == Some(client), "{client:?} was acknowledged, `current` gives {current:?}");
}
