//! Exactly one of all callers writes.

use crate::model::application::{ApplicationFilter, LogoSlot};
use crate::model::client::ClientState;
use crate::store::{ClientRegistry, Insertion, Registration, Replacement};
use crate::testing::applications::{Applications, Whole};
use crate::testing::at_once::{MEETINGS, at_once, pause};
use crate::testing::records;
use crate::testing::rules::{CALLERS, in_turn, meetings, with_answer};
use crate::testing::told::cut;

/// How often each caller must win.
const WINS: usize = 4;
/// The most attempts of each caller. Each lost one is a win of another caller, so no more are needed.
const ATTEMPTS: usize = CALLERS * WINS;

pub(in crate::testing) async fn insert_has_one_winner<S: ClientRegistry>(store: &S, another: &S) {
    let (store, another) = (&Applications(store), &Applications(another));
    for meeting in meetings() {
        let first = records::registration(&records::subject());
        let id = first.client.id();
        let rivals: Vec<_> = (0..CALLERS).map(|_| records::registration_of(id.clone(), &records::subject())).collect();
        let calls = in_turn(store, another).zip(&rivals).map(|(handle, rival)| handle.insert(rival));
        let answers = at_once(meeting, calls).await;
        let winners = with_answer(&rivals, &answers, Insertion::Inserted);
        assert_eq!(winners.len(), 1, "of {CALLERS} callers that insert one id, one should get `Inserted`");
        for winner in &winners {
            store.assert_there(&Whole::first(winner), "after a race of inserts").await;
        }
        for loser in with_answer(&rivals, &answers, Insertion::Exists) {
            let owner = ApplicationFilter::OwnedBy(records::owner_of(&loser.application));
            let listed = another.listed(&owner).await;
            assert!(listed.is_empty(), "an insert that returned `Exists` left {} in a list", cut(&listed));
        }
    }
}

pub(in crate::testing) async fn insert_leaves_what_is_there<S: ClientRegistry>(store: &S) {
    let store = &Applications(store);
    let first = records::registration(&records::subject());
    let there = store.begin(&first).await;
    let rival = records::registration_of(first.client.id().clone(), &records::subject());
    for late in [&first, &rival, &records::approved(&first)] {
        assert_eq!(store.insert(late).await, Insertion::Exists, "a second insert of one id");
        store.assert_there(&there, "after a second insert of its id").await;
    }
    let owner = ApplicationFilter::OwnedBy(records::owner_of(&rival.application));
    let listed = store.listed(&owner).await;
    assert!(listed.is_empty(), "an insert that returned `Exists` left {} in a list", cut(&listed));
}

pub(in crate::testing) async fn tells_ids_apart<S: ClientRegistry>(store: &S) {
    let store = &Applications(store);
    let mut written = Vec::new();
    for id in records::similar_client_ids() {
        assert!(store.whole(&id).await.is_none(), "{id:?} is there before its insert");
        written.push(store.begin(&records::registration_of(id, &records::subject())).await);
    }
    for whole in &written {
        store.assert_there(whole, "beside others with similar ids").await;
    }
}

pub(in crate::testing) async fn replace_has_one_winner<S: ClientRegistry>(store: &S, another: &S) {
    let (store, another) = (&Applications(store), &Applications(another));
    for meeting in meetings() {
        let first = records::registration(&records::subject());
        let before = store.begin(&first).await;
        let version = first.client.version();
        let rivals: Vec<_> = (0..CALLERS).map(|_| records::with_new_logos(&records::changed(&first))).collect();
        let calls = in_turn(store, another).zip(&rivals).map(|(handle, rival)| handle.replace(version, rival));
        let answers = at_once(meeting, calls).await;
        let winners = with_answer(&rivals, &answers, Replacement::Replaced);
        assert_eq!(winners.len(), 1, "of {CALLERS} callers that replace one version, one should get `Replaced`");
        for winner in winners {
            another.assert_there(&before.followed_by(winner), "after a race of replaces").await;
        }
    }
}

pub(in crate::testing) async fn replace_of_a_missing_client_is_lost<S: ClientRegistry>(store: &S) {
    let store = &Applications(store);
    let registration = records::registration(&records::subject());
    let id = registration.client.id();
    for version in [0, 1, 2, u32::MAX] {
        let answer = store.replace(version, &registration).await;
        assert_eq!(answer, Replacement::Lost, "a replace of version {version} of no client");
        let found = store.whole(id).await;
        assert!(found.is_none(), "a replace of a missing client left {}", cut(&found));
        assert!(store.find(id).await.is_none(), "a replace of a missing client is found");
        assert!(store.logo(id, LogoSlot::InForce).await.is_none(), "a replace of a missing client left a logo");
        for filter in registration.application.filters() {
            let listed = store.listed(&filter).await;
            assert!(listed.iter().all(|own| own.id() != id), "a replace of a missing client is listed in {filter:?}");
        }
    }
}

pub(in crate::testing) async fn replace_of_another_version_is_lost<S: ClientRegistry>(store: &S) {
    let store = &Applications(store);
    let first = records::registration(&records::subject());
    let there = store.begin(&first).await;
    let next = records::with_new_logos(&records::approved(&first));
    for version in [0, 2, 3, 1 << 31, u32::MAX] {
        let answer = store.replace(version, &next).await;
        assert_eq!(answer, Replacement::Lost, "a replace of version {version}, not 1");
        store.assert_there(&there, "after a replace of another version").await;
    }
    let there = store.advance(&there, &next).await;
    let late = records::with_new_logos(&records::in_state(&first, ClientState::Rejected));
    for late in [&first, &late, &next] {
        let answer = store.replace(first.client.version(), late).await;
        assert_eq!(answer, Replacement::Lost, "a replace of an earlier version");
        store.assert_there(&there, "after a replace of an earlier version").await;
    }
}

pub(in crate::testing) async fn compares_large_versions<S: ClientRegistry>(store: &S) {
    let store = &Applications(store);
    let first = records::registration(&records::subject());
    let mut there = store.begin(&first).await;
    for to in [(1 << 31) - 1, 1 << 31, (1 << 31) + 1, u32::MAX - 1, u32::MAX] {
        let next = records::numbered(&first, to);
        let from = there.client.version();
        for version in [from ^ 1, from.wrapping_add(1 << 31), from / 2, 0] {
            let answer = store.replace(version, &next).await;
            assert_eq!(answer, Replacement::Lost, "a replace of version {version}, where {from} is stored");
        }
        there = store.advance(&there, &next).await;
        store.assert_there(&there, "under a large version").await;
    }
}

pub(in crate::testing) async fn loses_no_update<S: ClientRegistry>(store: &S, another: &S) {
    let (store, another) = (&Applications(store), &Applications(another));
    for meeting in MEETINGS {
        let first = &records::registration(&records::subject());
        store.begin(first).await;
        let calls = in_turn(store, another).take(CALLERS / 2).map(|handle| wins(handle, first));
        let mut versions: Vec<_> = at_once(meeting, calls).await.into_iter().flatten().collect();
        versions.sort_unstable();
        let mut expected = first.client.version();
        for version in versions {
            expected += 1;
            assert_eq!(version, expected, "every acknowledged version is won once, none is left out");
        }
        let found = another.current(first.client.id()).await;
        assert_eq!(found.map(|client| client.version()), Some(expected), "the last version that was won");
    }
}

async fn wins<S: ClientRegistry>(store: &Applications<'_, S>, first: &Registration) -> Vec<u32> {
    let mut won = Vec::new();
    for _ in 0..ATTEMPTS {
        let Some(client) = store.current(first.client.id()).await else { break };
        pause().await;
        let next = client.version() + 1;
        if store.replace(client.version(), &records::numbered(first, next)).await == Replacement::Replaced {
            won.push(next);
        }
        if won.len() == WINS {
            break;
        }
    }
    assert_eq!(won.len(), WINS, "a caller that reads again after every loss wins in the end");
    won
}
