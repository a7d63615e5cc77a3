//! What is left of deleted clients goes at its time.

use crate::client::ClientState;
use crate::clock::Timestamp;
use crate::store::ClientRegistry;
use crate::testing::applications::{Applications, Whole};
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
    store.go_on(&Whole::first(&first), &deleted).await;
    let id = first.client.id();

    purge(store, Timestamp::from_seconds(due.seconds() - 1)).await;
    assert!(store.application(id).await.is_some(), "a deleted client is removed a second before its time");
    purge(store, due).await;
    assert!(store.application(id).await.is_none(), "a deleted client is there after its time");
    for application in &stay {
        let is_there = store.application(application.id()).await.is_some();
        assert!(is_there, "a purge of deleted clients removed one that is {:?}", application.state());
    }
    // The id can be given again.
    store.begin(&first).await;
}

async fn purge<S: ClientRegistry>(store: &Applications<'_, S>, now: Timestamp) {
    for _ in 0..ROUNDS {
        if answer("purge_deleted", store.0.purge_deleted(now, 100).await).is_finished() {
            return;
        }
    }
}
