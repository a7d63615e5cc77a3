//! The rules of the contracts. Each panics with a description if it is broken.
//!
//! A store under test may hold other rows, so every rule reads only its own. Only a purge goes further: it removes all
//! rows that are due.

pub(super) mod client;
pub(super) mod confirm;
pub(super) mod cost;
pub(super) mod expiry;
pub(super) mod fields;
pub(super) mod found;
pub(super) mod insert;
pub(super) mod list;
pub(super) mod moves;
pub(super) mod page;
pub(super) mod purge;
pub(super) mod purge_race;
pub(super) mod replace;
pub(super) mod replay;
pub(super) mod unreadable;

use std::iter;
use std::sync::Arc;

use crate::clock::Timestamp;
use crate::model::subject::Subject;
use crate::secret::entropy::{Entropy, SystemEntropy};
use crate::store::{Insertion, Page, Purge, Replacement};
use crate::testing::at_once::{MEETINGS, Meeting};
use crate::testing::rows::{Rows, Sample};
use crate::testing::told::{cut, difference};

/// How many calls meet.
pub(super) const CALLERS: usize = 12;
/// How often each kind of meeting takes place.
const ROUNDS: usize = 16;
/// More than any list of the kit holds.
const ALL: usize = 10_000;
/// What an author must know whose list is a secondary index.
const LISTS_DO_NOT_LAG: &str = "a purge index may lag, a list must not: a revocation would miss a grant";
/// Steps after which a purge should have finished.
const PATIENCE: usize = 10_000;

/// A time that no purge of the kit reaches.
pub(super) const fn far() -> Timestamp {
    Timestamp::from_seconds(4_000_000_000)
}

/// Returns the time from which the rows of one purge may be removed, another one each time. It is after now, since a
/// store may remove past rows by the clock, and before [`far`].
fn due() -> Timestamp {
    let mut bytes = [0; 4];
    SystemEntropy.fill(&mut bytes);
    Timestamp::from_seconds(3_000_000_000 + u32::from_be_bytes(bytes) % 900_000_000)
}

const fn later(time: Timestamp, seconds: u32) -> Timestamp {
    Timestamp::from_seconds(time.seconds() + seconds)
}

const fn earlier(time: Timestamp, seconds: u32) -> Timestamp {
    Timestamp::from_seconds(time.seconds() - seconds)
}

/// Returns each kind of meeting, many times.
pub(super) fn meetings() -> impl Iterator<Item = Meeting> {
    MEETINGS.into_iter().flat_map(|meeting| iter::repeat_n(meeting, ROUNDS))
}

/// Returns the two handles in turn.
pub(super) fn in_turn<'s, R>(rows: &'s R, another: &'s R) -> impl Iterator<Item = &'s R> {
    [rows, another].into_iter().cycle()
}

/// Returns the rows whose callers got that answer.
pub(super) fn with_answer<'r, R, A: PartialEq>(rows: &'r [R], answers: &[A], wanted: A) -> Vec<&'r R> {
    rows.iter().zip(answers).filter(|(_, answer)| **answer == wanted).map(|(row, _)| row).collect()
}

/// Inserts a row whose id is new.
async fn add<R: Sample>(rows: &Rows<'_, R>, row: &Arc<R>) {
    assert_eq!(rows.insert(row).await, Insertion::Inserted, "the only insert of {:?}", R::id(row));
}

/// Replaces a row that no other caller writes.
async fn change<R: Sample>(rows: &Rows<'_, R>, from: &R, to: &Arc<R>) {
    let answer = rows.replace(from.version(), to).await;
    assert_eq!(answer, Replacement::Replaced, "the only replace of version {} of {:?}", from.version(), R::id(from));
}

/// Returns all rows of that user.
async fn listed<R: Sample>(rows: &Rows<'_, R>, subject: &Subject) -> Vec<Arc<R>> {
    rows.list(subject, Page::first(ALL)).await
}

/// Returns what is left of these rows: the list of their user, or each of them if rows of the kind are on no list.
async fn left<R: Sample>(rows: &Rows<'_, R>, subject: &Subject, of: &[Arc<R>]) -> Vec<Arc<R>> {
    if of.iter().any(|row| R::subject_of(row).is_some()) {
        return listed(rows, subject).await;
    }
    let mut left = Vec::new();
    for row in of {
        left.extend(rows.find(R::id(row)).await);
    }
    left
}

/// Returns what is on the list of the row's subject; nothing if it has none.
async fn listed_beside<R: Sample>(rows: &Rows<'_, R>, row: &R, limit: usize) -> Vec<Arc<R>> {
    match R::subject_of(row) {
        Some(subject) => rows.list(subject, Page::first(limit)).await,
        None => Vec::new(),
    }
}

/// Fails unless the row is found, and listed, as it was written.
async fn assert_there<R: Sample>(rows: &Rows<'_, R>, row: &Arc<R>, when: &str) {
    let found = rows.find(R::id(row)).await;
    assert!(found.as_ref() == Some(row), "{when}: `find` gives {}", difference(&**row, found.as_deref()));
    let listed = listed_beside(rows, row, ALL).await;
    let own = listed.iter().find(|own| R::id(own) == R::id(row)).map(|own| &**own);
    let expected = R::subject_of(row).map(|_| &**row);
    let is_there = own == expected;
    assert!(is_there, "{when}: the list of its subject holds {}; {LISTS_DO_NOT_LAG}", difference(&**row, own));
}

/// Fails if the row is found or listed, in any version.
async fn assert_gone<R: Sample>(rows: &Rows<'_, R>, row: &R, when: &str) {
    let found = rows.find(R::id(row)).await;
    assert!(found.is_none(), "{when}: there should be no row, `find` returns {}", cut(&found));
    let listed = listed_beside(rows, row, ALL).await;
    assert!(listed.iter().all(|own| R::id(own) != R::id(row)), "{when}: there should be no row, it is still listed");
}

/// Purges in steps until it is finished, and returns the number of rows removed.
async fn purge_all<R: Sample>(rows: &Rows<'_, R>, now: Timestamp, limit: usize) -> usize {
    let mut removed = 0;
    for _ in 0..PATIENCE {
        let step = purge_step(rows, now, limit).await;
        removed += step.removed();
        if step.is_finished() {
            return removed;
        }
    }
    never_ends(PATIENCE)
}

async fn purge_step<R: Sample>(rows: &Rows<'_, R>, now: Timestamp, limit: usize) -> Purge {
    let step = rows.purge(now, limit).await;
    assert!(step.removed() <= limit, "a step of a purge with limit {limit} removed {} rows", step.removed());
    step
}

#[expect(clippy::panic, reason = "a rule fails by panicking, as every test does")]
fn never_ends(steps: usize) -> ! {
    panic!("a purge did not finish within {steps} steps")
}
