//! A purge among writers, and among purges.

use crate::clock::Timestamp;
use crate::store::{Purge, Replacement};
use crate::testing::at_once::{MEETINGS, at_once, pause};
use crate::testing::records;
use crate::testing::rows::Rows;
use crate::testing::rules::{
    PATIENCE, add, assert_gone, assert_there, due, far, in_turn, listed, meetings, purge_all, purge_step,
};

/// Rows that writers and purges meet at.
const ROWS: usize = 10;
const PURGES: usize = 3;

/// A row is either saved by the writer who moves its end, who is told so, or gone.
pub(in crate::testing) async fn loses_no_write<R: Rows>(rows: &R, another: &R) {
    for meeting in meetings() {
        let (subject, end) = (records::subject(), due());
        let subject = &subject;
        let mut dead = Vec::new();
        for _ in 0..ROWS {
            let row = R::first(subject, end);
            add(rows, &row).await;
            dead.push(row);
        }
        let saved: Vec<_> = dead.iter().map(|row| R::next(row, far())).collect();
        let fresh: Vec<_> = dead.iter().map(|_| R::first(subject, far())).collect();
        let writers = dead.iter().zip(&saved).map(|(row, next)| Caller::Writer { version: R::version(row), next });
        let callers = writers.chain(fresh.iter().map(Caller::Newcomer)).chain((0..PURGES).map(|_| Caller::Purge(end)));
        let calls = in_turn(rows, another).zip(callers).map(|(handle, caller)| caller.call(handle));
        let answers = at_once(meeting, calls).await;
        purge_all(another, end, 100).await;
        for (row, answer) in saved.iter().zip(answers) {
            match answer {
                Some(Replacement::Replaced) => assert_there(rows, row, "saved from a purge").await,
                Some(Replacement::Lost) | None => assert_gone(rows, row, "lost to a purge").await,
            }
        }
        for row in &fresh {
            assert_there(rows, row, "inserted beside a purge").await;
        }
    }
}

enum Caller<'r, R: Rows> {
    Writer { version: u32, next: &'r std::sync::Arc<R::Row> },
    Newcomer(&'r std::sync::Arc<R::Row>),
    Purge(Timestamp),
}

impl<R: Rows> Caller<'_, R> {
    async fn call(self, rows: &R) -> Option<Replacement> {
        match self {
            Self::Writer { version, next } => {
                pause().await;
                return Some(rows.replace(version, next).await);
            }
            Self::Newcomer(row) => add(rows, row).await,
            Self::Purge(end) => drop(purge_with_pauses(rows, end, 3).await),
        }
        None
    }
}

pub(in crate::testing) async fn share_the_work<R: Rows>(rows: &R, another: &R) {
    const DEAD: usize = 40;
    for meeting in MEETINGS {
        let (subject, end) = (records::subject(), due());
        purge_all(rows, end, 1000).await;
        let stays = R::first(&subject, far());
        add(rows, &stays).await;
        for _ in 0..DEAD {
            add(rows, &R::first(&subject, end)).await;
        }
        let calls = in_turn(rows, another).take(PURGES + 1).map(|handle| purge_with_pauses(handle, end, 3));
        let mut removed: usize = at_once(meeting, calls).await.into_iter().sum();
        removed += purge_all(rows, end, 1000).await;
        assert_eq!(removed, DEAD, "purges at the same time remove each row once");
        let left = listed(rows, &subject).await;
        assert!(left == [stays], "purges at the same time leave {left:?}");
    }
}

async fn purge_with_pauses<R: Rows>(rows: &R, end: Timestamp, limit: usize) -> usize {
    let mut removed = 0;
    for _ in 0..PATIENCE {
        let step: Purge = purge_step(rows, end, limit).await;
        removed += step.removed();
        if step.is_finished() {
            break;
        }
        pause().await;
    }
    removed
}
