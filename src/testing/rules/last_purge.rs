//! The record of the last purge, of which a store has one.

use std::iter;

use crate::clock::Timestamp;
use crate::model::LastPurge;
use crate::store::{Insertion, PurgeStore, Replacement, ReplayStore};
use crate::testing::at_once::{Meeting, at_once};
use crate::testing::rows::answer;
use crate::testing::rules::{CALLERS, in_turn, meetings};

pub(in crate::testing) async fn insert_has_one_winner<S: PurgeStore>(store: &S, another: &S) {
    let rivals: Vec<_> = (1..=12).map(|seconds| record(1, seconds)).collect();
    let calls = in_turn(store, another).zip(&rivals).map(|(handle, rival)| insert(handle, *rival));
    let answers = at_once(Meeting::OneTask, calls).await;
    let mut winners = iter::zip(&rivals, &answers).filter(|(_, answer)| **answer == Insertion::Inserted);
    let winner = winners.next().map(|(rival, _)| *rival);
    assert!(winner.is_some() && winners.next().is_none(), "of {CALLERS} callers, {answers:?} inserted the record");
    for handle in [store, another] {
        assert_eq!(find(handle).await, winner, "the record of the winner");
    }
}

pub(in crate::testing) async fn insert_leaves_what_is_there<S: PurgeStore>(store: &S) {
    assert_eq!(find(store).await, None, "a store that is new");
    add(store, record(1, 100)).await;
    for rival in [record(1, 100), record(1, 200), record(7, 300)] {
        assert_eq!(insert(store, rival).await, Insertion::Exists, "an insert where a record is");
        assert_eq!(find(store).await, Some(record(1, 100)), "after an insert where a record is");
    }
}

pub(in crate::testing) async fn replace_has_one_winner<S: PurgeStore>(store: &S, another: &S) {
    add(store, record(1, 0)).await;
    for (version, meeting) in (1..).zip(meetings()) {
        let rivals: Vec<_> = (1..=12).map(|seconds| record(version + 1, seconds)).collect();
        let calls = in_turn(store, another).zip(&rivals).map(|(handle, rival)| replace(handle, version, *rival));
        let answers = at_once(meeting, calls).await;
        let mut winners = iter::zip(&rivals, &answers).filter(|(_, answer)| **answer == Replacement::Replaced);
        let winner = winners.next().map(|(rival, _)| *rival);
        assert!(winner.is_some() && winners.next().is_none(), "of {CALLERS} callers, {answers:?} replaced one version");
        for handle in [store, another] {
            assert_eq!(find(handle).await, winner, "the record of the winner");
        }
    }
}

pub(in crate::testing) async fn replace_of_a_missing_record_is_lost<S: PurgeStore>(store: &S) {
    for version in [0, 1, u32::MAX] {
        assert_eq!(replace(store, version, record(2, 100)).await, Replacement::Lost, "a replace of no record");
        assert_eq!(find(store).await, None, "after a replace of no record");
    }
}

pub(in crate::testing) async fn replace_of_another_version_is_lost<S: PurgeStore>(store: &S) {
    add(store, record(1, 100)).await;
    change(store, 1, record(2, 200)).await;
    for version in [0, 1, 3, 1 << 31, u32::MAX] {
        assert_eq!(replace(store, version, record(3, 300)).await, Replacement::Lost, "a replace of version {version}");
        assert_eq!(find(store).await, Some(record(2, 200)), "after a replace of another version");
    }
}

pub(in crate::testing) async fn confirm_leaves_what_is_there<S: PurgeStore>(store: &S) {
    add(store, record(1, 100)).await;
    for _ in 0..3 {
        assert_eq!(confirm(store, record(1, 100)).await, Replacement::Replaced, "a confirm of the record");
        assert_eq!(find(store).await, Some(record(1, 100)), "after a confirm");
    }
}

pub(in crate::testing) async fn confirm_of_another_record_is_lost<S: PurgeStore>(store: &S) {
    assert_eq!(confirm(store, record(1, 100)).await, Replacement::Lost, "a confirm of no record");
    assert_eq!(find(store).await, None, "after a confirm of no record");
    add(store, record(2, 200)).await;
    for other in [record(1, 200), record(3, 200), record(2, 201), record(1, 100)] {
        assert_eq!(confirm(store, other).await, Replacement::Lost, "a confirm of another record");
        assert_eq!(find(store).await, Some(record(2, 200)), "after a confirm of another record");
    }
}

/// Times go both ways: a clock that was confirmed by mistake is set back. So do versions, which the core draws at random.
pub(in crate::testing) async fn acknowledged_writes_are_found<S: PurgeStore>(store: &S, another: &S) {
    let states = [(1, 100), (2, 0), (3, u32::MAX), (1 << 31, 1), (u32::MAX, 300), (7, 400), (0, 500), (5, 600)];
    let mut version = None;
    for state in states.map(|(version, seconds)| record(version, seconds)) {
        match version.replace(state.version()) {
            None => add(store, state).await,
            Some(version) => change(store, version, state).await,
        }
        for handle in [store, another] {
            assert_eq!(find(handle).await, Some(state), "after an acknowledged write");
        }
    }
}

pub(in crate::testing) async fn purge_leaves_the_record<S: PurgeStore + ReplayStore>(store: &S) {
    add(store, record(1, 100)).await;
    change(store, 1, record(2, 200)).await;
    for now in [0, 201, 4_000_000_000, u32::MAX] {
        let step = store.purge_expired(Timestamp::from_seconds(now), 1000).await;
        let _ = answer("purge_expired", step);
        assert_eq!(find(store).await, Some(record(2, 200)), "after a purge at {now}");
    }
}

const fn record(version: u32, seconds: u32) -> LastPurge {
    LastPurge::new(version, Timestamp::from_seconds(seconds))
}

async fn add(store: &impl PurgeStore, record: LastPurge) {
    assert_eq!(insert(store, record).await, Insertion::Inserted, "the only insert, into a store that is new");
}

async fn change(store: &impl PurgeStore, version: u32, record: LastPurge) {
    assert_eq!(replace(store, version, record).await, Replacement::Replaced, "the only replace of version {version}");
}

async fn find(store: &impl PurgeStore) -> Option<LastPurge> {
    answer("find", store.find().await).map(|record| *record)
}

async fn insert(store: &impl PurgeStore, record: LastPurge) -> Insertion {
    answer("insert", store.insert(record).await)
}

async fn replace(store: &impl PurgeStore, version: u32, record: LastPurge) -> Replacement {
    answer("replace", store.replace(version, record).await)
}

async fn confirm(store: &impl PurgeStore, record: LastPurge) -> Replacement {
    answer("confirm", store.confirm(record).await)
}
