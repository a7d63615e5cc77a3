//! Deleted clients are removed at their time, and so are unused clients that registered themselves.

use crate::clock::Timestamp;
use crate::model::client::ClientState;
use crate::store::ClientRegistry;
use crate::testing::applications::{Applications, Whole, just_before};
use crate::testing::draw;
use crate::testing::records;
use crate::testing::rows::answer;

/// Rounds of a purge, each of up to 100 clients, until it finishes.
const ROUNDS: usize = 1000;

pub(in crate::testing) async fn removes_only_deleted_clients<S: ClientRegistry>(store: &S) {
    let store = &Applications(store);
    let owner = records::subject();
    let mut stay = Vec::new();
    for state in records::states().filter(|state| *state != ClientState::Deleted) {
        stay.push(store.begin(&records::in_state(&records::registration(&owner), state)).await.application);
    }
    let due = Timestamp::from_seconds(draw::now().seconds().saturating_add(7 * 24 * 3600));
    let first = records::registration(&owner);
    let mut deleted = records::in_state(&first, ClientState::Deleted);
    (deleted.application.owner, deleted.application.reserved_until) = (None, Some(due));
    store.begin(&first).await;
    store.advance(&Whole::first(&first), &deleted).await;
    let id = first.client.id();
    // Clients that registered themselves: one is due, the other was used and is due later.
    let [unused, used] = [(); 2].map(|()| records::registered_itself(records::registration(&owner), due));
    store.begin(&unused).await;
    let later = Timestamp::from_seconds(due.seconds() + 1);
    let noted = records::registered_itself(records::numbered(&used, 2), later);
    store.begin(&used).await;
    stay.push(store.advance(&Whole::first(&used), &noted).await.application);

    purge(store, Timestamp::from_seconds(due.seconds() - 1)).await;
    assert!(store.application(unused.client.id()).await.is_some(), "a client is removed a second before its time");
    assert!(store.application(id).await.is_some(), "a deleted client is removed a second before its time");
    purge(store, due).await;
    assert!(store.application(id).await.is_none(), "a deleted client is there after its time");
    assert!(store.application(unused.client.id()).await.is_none(), "a client is there after its time");
    for filter in unused.application.filters() {
        let listed = store.list(&filter, just_before(unused.client.id())).await;
        let is_listed = listed.iter().any(|own| own.id() == unused.client.id());
        assert!(!is_listed, "a client that was removed is on the list {}", filter.key());
    }
    for application in &stay {
        let is_there = store.application(application.id()).await.is_some();
        assert!(is_there, "a purge of deleted clients removed one that is {:?}", application.state());
    }
    // The id can be used again.
    store.begin(&first).await;
}

async fn purge<S: ClientRegistry>(store: &Applications<'_, S>, now: Timestamp) {
    for _ in 0..ROUNDS {
        if answer("purge_deleted", store.0.purge_deleted(now, 100).await).is_finished() {
            return;
        }
    }
}
