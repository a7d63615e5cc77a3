//! The jobs for the writing connection.

use tokio::sync::oneshot;

use crate::clock::Timestamp;
use crate::store::postgres::error::PostgresError;
use crate::store::{Lists, Table, Write};

/// A task for the writing connection, with the caller that waits for it.
#[derive(Debug)]
pub(super) enum Job {
    Write(Box<RowWrite>),
    Purge(PurgeStep),
}

impl Job {
    /// Answers the caller that nothing was done.
    pub(super) fn refuse(self, failure: &PostgresError) {
        match self {
            Self::Write(write) => drop(write.answer.send(Err(failure.clone()))),
            Self::Purge(step) => drop(step.answer.send(Err(failure.clone()))),
        }
    }
}

/// The channel for an answer. The caller may no longer wait for it.
pub(super) type Answer<T> = oneshot::Sender<Result<T, PostgresError>>;

/// How a row is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Action {
    Insert,
    Replace,
    Confirm,
}

impl Action {
    /// Every action.
    pub(super) const ALL: [Self; 3] = [Self::Insert, Self::Replace, Self::Confirm];

    /// Returns whether the row may be on other lists after the action.
    pub(super) const fn moves_lists(self, table: Table) -> bool {
        matches!(table.lists(), Lists::Many) && !matches!(self, Self::Confirm)
    }
}

/// The write of one row. The answer is whether it was applied.
#[derive(Debug)]
pub(super) struct RowWrite {
    pub(super) action: Action,
    /// The version that the row must have. It has no meaning for an insert, which sets 0.
    pub(super) expected: u32,
    pub(super) write: Write,
    pub(super) answer: Answer<bool>,
}

impl RowWrite {
    /// Returns what the writes of a batch are ordered by. Of equal inserts or replacements, one wins; equal
    /// confirmations all succeed.
    pub(super) fn order(&self) -> impl Ord + '_ {
        let compared = match self.action {
            Action::Insert | Action::Replace => None,
            Action::Confirm => Some(&self.write.record),
        };
        (&self.write.key, self.expected, compared)
    }
}

/// One short statement of a purge.
#[derive(Debug)]
pub(super) struct PurgeStep {
    pub(super) table: Table,
    pub(super) now: Timestamp,
    pub(super) limit: u32,
    pub(super) answer: Answer<Purged>,
}

/// The result of one statement of a purge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purged {
    pub(super) examined: usize,
    pub(super) removed: usize,
}
