//! A purge among writers, and among purges.

use std::slice::from_ref;
use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::store::{RecordStore, Replacement};
use crate::testing::at_once::{MEETINGS, at_once, pause};
use crate::testing::calls::{
    add, add_all, due, far, find_all, in_turn, left, meetings, never_ends, purge_all, purge_step, replace,
};
use crate::testing::records;
use crate::testing::sample::Sample;
use crate::testing::told::cut;

/// Rows that writers and purges meet at: more than the first steps of the purges take.
const ROWS: usize = 40;
/// Pauses of the writers, so that some write during each of the steps.
const PAUSES: [usize; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
const PURGES: usize = 3;
/// Rows that are inserted in the meantime.
const NEWCOMERS: usize = 10;
/// More steps than any purge needs.
const STEPS: usize = 500;

/// Rule 7: of a write and a purge that race for a row, one wins, and an acknowledged write stays.
///
/// A row is either kept by an acknowledged write that moves its end, or removed.
pub async fn a_purge_loses_no_write<R: Sample>(store: &dyn RecordStore<R>, another: &dyn RecordStore<R>) {
    for meeting in meetings() {
        let (subject, end) = (records::subject(), due());
        purge_all(store, end, 1000).await;
        let subject = &subject;
        let dead: Vec<_> = (0..ROWS).map(|_| R::first(subject, end)).collect();
        add_all(store, &dead).await;
        let saved: Vec<_> = dead.iter().map(|row| R::next(row, far())).collect();
        let fresh: Vec<_> = dead.iter().take(NEWCOMERS).map(|_| R::first(subject, far())).collect();
        let writes = dead.iter().zip(&saved).zip(PAUSES.into_iter().cycle());
        let writers = writes.map(|((row, next), pauses)| Caller::Writer { version: row.version(), next, pauses });
        let callers = writers.chain(fresh.iter().map(Caller::Newcomer)).chain((0..PURGES).map(|_| Caller::Purge(end)));
        let calls = in_turn(store, another).zip(callers).map(|(handle, caller)| caller.call(handle));
        let answers = at_once(meeting, calls).await;
        purge_all(another, end, 100).await;
        let all: Vec<_> = saved.iter().chain(&fresh).cloned().collect();
        let listed = left(store, subject, &all).await;
        let found = find_all(store, &all).await;
        for ((row, found), answer) in saved.iter().zip(&found).zip(answers) {
            let listed = listed.iter().find(|own| own.key() == row.key());
            let is_there = found.as_ref() == Some(row) && listed == Some(row);
            let is_gone = found.is_none() && listed.is_none();
            match answer {
                Some(Replacement::Replaced) => assert!(is_there, "a purge removed {}, a write that won", cut(row)),
                Some(Replacement::Lost) | None => assert!(is_gone, "a write that lost to a purge left {}", cut(row)),
            }
        }
        for (row, found) in fresh.iter().zip(found.iter().skip(ROWS)) {
            let is_there = found.as_ref() == Some(row) && listed.contains(row);
            assert!(is_there, "a purge removed {}, which was inserted beside it", cut(row));
        }
    }
}

enum Caller<'r, R: Sample> {
    Writer { version: u32, next: &'r Arc<R>, pauses: usize },
    Newcomer(&'r Arc<R>),
    Purge(Timestamp),
}

impl<R: Sample> Caller<'_, R> {
    async fn call(self, store: &dyn RecordStore<R>) -> Option<Replacement> {
        match self {
            Self::Writer { version, next, pauses } => {
                for _ in 0..pauses {
                    pause().await;
                }
                return Some(replace(store, version, next).await);
            }
            Self::Newcomer(row) => add(store, row).await,
            Self::Purge(end) => drop(purge_with_pauses(store, end).await),
        }
        None
    }
}

/// Rule 7: concurrent purges remove each row once, and count it once.
pub async fn purges_share_the_work<R: Sample>(store: &dyn RecordStore<R>, another: &dyn RecordStore<R>) {
    const DEAD: usize = 40;
    for meeting in MEETINGS {
        let (subject, end) = (records::subject(), due());
        purge_all(store, end, 1000).await;
        let stays = R::first(&subject, far());
        add(store, &stays).await;
        let dead: Vec<_> = (0..DEAD).map(|_| R::first(&subject, end)).collect();
        add_all(store, &dead).await;
        let calls = in_turn(store, another).take(PURGES + 1).map(|handle| purge_with_pauses(handle, end));
        let mut removed: usize = at_once(meeting, calls).await.into_iter().sum();
        removed += purge_all(store, end, 1000).await;
        assert_eq!(removed, DEAD, "concurrent purges remove each row once");
        let left = left(store, &subject, from_ref(&stays)).await;
        assert!(left == [stays], "concurrent purges leave {}", cut(&left));
    }
}

async fn purge_with_pauses<R: Sample>(store: &dyn RecordStore<R>, end: Timestamp) -> usize {
    let mut removed = 0;
    for _ in 0..STEPS {
        let step = purge_step(store, end, 3).await;
        removed += step.removed();
        if step.is_finished() {
            return removed;
        }
        pause().await;
    }
    never_ends(STEPS)
}
