//! Calls of a store under test, and what must be true after them. Each panics with a description.
//!
//! A store under test may hold other rows, so every rule reads only its own. Only a purge goes further: it removes all
//! rows that are due.

use std::iter;
use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::entropy::{Entropy, SystemEntropy};
use crate::base::subject::Subject;
use crate::store::{Insertion, Page, Purge, Record, RecordStore, Replacement, StoreError};
use crate::testing::at_once::{MEETINGS, Meeting, at_once};
use crate::testing::sample::Sample;
use crate::testing::told::{cut, difference};

/// How many calls meet.
pub(super) const CALLERS: usize = 12;
/// How often each kind of meeting takes place.
const ROUNDS: usize = 16;
/// More than any list of the kit holds.
pub(super) const ALL: usize = 10_000;
/// What an author must know whose list is a secondary index.
pub(super) const LISTS_DO_NOT_LAG: &str = "a purge index may lag, a list must not: a revocation would miss a grant";
/// Steps after which a purge should have finished.
const PATIENCE: usize = 10_000;

/// A time that no purge of the kit reaches, except those of the last purge, which has no end.
pub(super) const fn far() -> Timestamp {
    Timestamp::from_seconds(4_000_000_000)
}

/// Returns the time from which the rows of one purge may be removed, another one each time. It is after now, since a
/// store may remove past rows by the clock, and before [`far`].
pub(super) fn due() -> Timestamp {
    let mut bytes = [0; 4];
    SystemEntropy.fill(&mut bytes);
    Timestamp::from_seconds(3_000_000_000 + u32::from_be_bytes(bytes) % 900_000_000)
}

pub(super) const fn later(time: Timestamp, seconds: u32) -> Timestamp {
    Timestamp::from_seconds(time.seconds() + seconds)
}

pub(super) const fn earlier(time: Timestamp, seconds: u32) -> Timestamp {
    Timestamp::from_seconds(time.seconds() - seconds)
}

/// Returns each kind of meeting, many times.
pub(super) fn meetings() -> impl Iterator<Item = Meeting> {
    MEETINGS.into_iter().flat_map(|meeting| iter::repeat_n(meeting, ROUNDS))
}

/// Returns the two handles in turn.
pub(super) fn in_turn<'s, S: ?Sized>(store: &'s S, another: &'s S) -> impl Iterator<Item = &'s S> {
    [store, another].into_iter().cycle()
}

/// Returns the rows whose callers got that answer.
pub(super) fn with_answer<'r, R, A: PartialEq>(rows: &'r [R], answers: &[A], wanted: A) -> Vec<&'r R> {
    rows.iter().zip(answers).filter(|(_, answer)| **answer == wanted).map(|(row, _)| row).collect()
}

/// Sorts rows as a list does.
pub(super) fn sort<R: Record>(rows: &mut [Arc<R>]) {
    rows.sort_by(|one, other| one.key().cmp(other.key()));
}

pub(super) async fn find<R: Record>(store: &dyn RecordStore<R>, key: &R::Key) -> Option<Arc<R>> {
    answer("find", store.find(key).await)
}

pub(super) async fn insert<R: Record>(store: &dyn RecordStore<R>, row: &Arc<R>) -> Insertion {
    answer("insert", store.insert(row.clone()).await)
}

pub(super) async fn replace<R: Record>(store: &dyn RecordStore<R>, version: u32, row: &Arc<R>) -> Replacement {
    answer("replace", store.replace(version, row.clone()).await)
}

pub(super) async fn confirm<R: Record>(store: &dyn RecordStore<R>, row: &Arc<R>) -> Replacement {
    answer("confirm", store.confirm(row.clone()).await)
}

pub(super) async fn list<R: Sample>(store: &dyn RecordStore<R>, subject: &Subject, page: Page<R::Key>) -> Vec<Arc<R>> {
    answer("the list of a subject", store.list(&R::list_of(subject), page).await)
}

/// Inserts a row whose id is new.
pub(super) async fn add<R: Record>(store: &dyn RecordStore<R>, row: &Arc<R>) {
    assert_eq!(insert(store, row).await, Insertion::Inserted, "the only insert of {:?}", row.key());
}

/// Inserts rows whose ids are new, all at once: a store on a server needs as long for all as for one.
pub(super) async fn add_all<R: Record>(store: &dyn RecordStore<R>, rows: &[Arc<R>]) {
    at_once(Meeting::OneTask, rows.iter().map(|row| add(store, row))).await;
}

/// Looks rows up, all at once.
pub(super) async fn find_all<R: Record>(store: &dyn RecordStore<R>, rows: &[Arc<R>]) -> Vec<Option<Arc<R>>> {
    at_once(Meeting::OneTask, rows.iter().map(|row| find(store, row.key()))).await
}

/// Replaces a row that no other caller writes.
pub(super) async fn change<R: Record>(store: &dyn RecordStore<R>, from: &R, to: &Arc<R>) {
    let answer = replace(store, from.version(), to).await;
    assert_eq!(answer, Replacement::Replaced, "the only replace of version {} of {:?}", from.version(), from.key());
}

/// Returns all rows of that user.
pub(super) async fn listed<R: Sample>(store: &dyn RecordStore<R>, subject: &Subject) -> Vec<Arc<R>> {
    list(store, subject, Page::first(ALL)).await
}

/// Returns what is left of these rows: the list of their user, or each of them if rows of the kind are on no list.
pub(super) async fn left<R: Sample>(store: &dyn RecordStore<R>, subject: &Subject, of: &[Arc<R>]) -> Vec<Arc<R>> {
    if of.iter().any(|row| R::subject_of(row).is_some()) {
        return listed(store, subject).await;
    }
    find_all(store, of).await.into_iter().flatten().collect()
}

/// Returns what is on the list of the row's subject; nothing if it has none.
pub(super) async fn listed_beside<R: Sample>(store: &dyn RecordStore<R>, row: &R, limit: usize) -> Vec<Arc<R>> {
    match R::subject_of(row) {
        Some(subject) => list(store, subject, Page::first(limit)).await,
        None => Vec::new(),
    }
}

/// Fails unless the row is found, and listed, as it was written.
pub(super) async fn assert_there<R: Sample>(store: &dyn RecordStore<R>, row: &Arc<R>, when: &str) {
    let found = find(store, row.key()).await;
    assert!(found.as_ref() == Some(row), "{when}: `find` gives {}", difference(&**row, found.as_deref()));
    let listed = listed_beside(store, row, ALL).await;
    let own = listed.iter().find(|own| own.key() == row.key()).map(|own| &**own);
    let expected = R::subject_of(row).map(|_| &**row);
    let is_there = own == expected;
    assert!(is_there, "{when}: the list of its subject holds {}; {LISTS_DO_NOT_LAG}", difference(&**row, own));
}

/// Fails if the row is found or listed, in any version.
pub(super) async fn assert_gone<R: Sample>(store: &dyn RecordStore<R>, row: &R, when: &str) {
    let found = find(store, row.key()).await;
    assert!(found.is_none(), "{when}: there should be no row, `find` returns {}", cut(&found));
    let listed = listed_beside(store, row, ALL).await;
    assert!(listed.iter().all(|own| own.key() != row.key()), "{when}: there should be no row, it is still listed");
}

/// Purges in steps until it is finished, and returns the number of rows removed.
pub(super) async fn purge_all<R: Record>(store: &dyn RecordStore<R>, now: Timestamp, limit: usize) -> usize {
    let mut removed = 0;
    for _ in 0..PATIENCE {
        let step = purge_step(store, now, limit).await;
        removed += step.removed();
        if step.is_finished() {
            return removed;
        }
    }
    never_ends(PATIENCE)
}

pub(super) async fn purge_step<R: Record>(store: &dyn RecordStore<R>, now: Timestamp, limit: usize) -> Purge {
    let step = answer("purge", store.purge(now, limit).await);
    assert!(step.removed() <= limit, "a step of a purge with limit {limit} removed {} rows", step.removed());
    step
}

/// Returns an end at which nothing else is due, nor in the span after it.
pub(super) async fn emptied<R: Record>(store: &dyn RecordStore<R>, span: u32) -> Timestamp {
    let end = due();
    purge_all(store, later(end, span), 1000).await;
    end
}

#[expect(clippy::panic, reason = "a rule fails by panicking, as every test does")]
pub(super) fn never_ends(steps: usize) -> ! {
    panic!("a purge did not finish within {steps} steps")
}

/// Unwraps the answer of a store, which must not fail.
#[expect(clippy::panic, reason = "a rule fails by panicking, as every test does")]
#[track_caller]
pub(super) fn answer<T>(call: &str, answered: Result<T, StoreError>) -> T {
    match answered {
        Ok(answer) => answer,
        Err(error) => panic!("{call} failed where it should answer: {error:?}"),
    }
}
