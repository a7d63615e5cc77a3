//! The jobs for the writing connection, and the writes of one kind that become one statement with one commit.

use std::collections::HashSet;

use tokio::sync::oneshot;

use crate::base::clock::Timestamp;
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
    pub(super) limit: usize,
    pub(super) answer: Answer<Purged>,
}

/// The result of one statement of a purge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purged {
    pub(super) examined: usize,
    pub(super) removed: usize,
}

/// Inserts, replacements or confirmations of one table, ordered by key so that the batches of two servers lock
/// their rows in one order.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) table: Table,
    pub(super) action: Action,
    groups: Vec<Group>,
}

/// Equal writes. The one that came first is sent; the others are answered by its outcome.
#[derive(Debug)]
struct Group {
    sent: RowWrite,
    others: Vec<RowWrite>,
}

impl Batch {
    /// Returns one batch of all writes, or one batch for each write if lists move.
    pub(super) fn all(kind: (Table, Action), writes: Vec<RowWrite>) -> Vec<Self> {
        let batch = Self::new(kind, writes);
        if batch.table.lists() == Lists::Many { batch.split().collect() } else { vec![batch] }
    }

    fn new((table, action): (Table, Action), mut writes: Vec<RowWrite>) -> Self {
        writes.sort_by(|one, other| one.order().cmp(&other.order()));
        let mut groups: Vec<Group> = Vec::with_capacity(writes.len());
        for write in writes {
            match groups.last_mut() {
                Some(group) if group.sent.order() == write.order() => group.others.push(write),
                _ => groups.push(Group { sent: write, others: Vec::new() }),
            }
        }
        Self { table, action, groups }
    }

    /// Returns the writes that are sent.
    pub(super) fn sent(&self) -> Vec<&RowWrite> {
        self.groups.iter().map(|group| &group.sent).collect()
    }

    /// Returns the place of the insert of that key among those that are sent.
    pub(super) fn place_of(&self, key: &[u8]) -> Option<usize> {
        self.groups.binary_search_by(|group| group.sent.write.key.as_slice().cmp(key)).ok()
    }

    /// Returns the key of its first write. After a split, this is the key of all its writes.
    pub(super) fn first_key(&self) -> Option<Vec<u8>> {
        self.groups.first().map(|group| group.sent.write.key.clone())
    }

    /// Returns one batch for each write that is sent.
    pub(super) fn split(self) -> impl Iterator<Item = Self> {
        let Self { table, action, groups } = self;
        groups.into_iter().map(move |group| Self { table, action, groups: vec![group] })
    }

    /// Answers all callers, given the places of the applied writes among those that were sent.
    pub(super) fn answer(self, applied: &HashSet<usize>) {
        let all_win = self.action == Action::Confirm;
        for (place, Group { sent, others }) in self.groups.into_iter().enumerate() {
            let applied = applied.contains(&place);
            drop(sent.answer.send(Ok(applied)));
            others.into_iter().for_each(|other| drop(other.answer.send(Ok(applied && all_win))));
        }
    }

    pub(super) fn refuse(self, failure: &PostgresError) {
        let writes = self.groups.into_iter().flat_map(|Group { sent, others }| [sent].into_iter().chain(others));
        writes.for_each(|write| drop(write.answer.send(Err(failure.clone()))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Columns;

    type Asked = oneshot::Receiver<Result<bool, PostgresError>>;

    fn write(action: Action, key: u8, expected: u32, record: &[u8]) -> (RowWrite, Asked) {
        let (answer, asked) = oneshot::channel();
        let write = Write {
            table: Table::Grants,
            key: vec![key; 16],
            version: expected + 1,
            record: record.to_vec(),
            lists: Vec::new(),
            due: None,
            due_moved: false,
            columns: Columns::default(),
        };
        (RowWrite { action, expected, write, answer }, asked)
    }

    /// Returns what callers are answered if the write at that place among those sent is applied.
    fn answers<const N: usize>(action: Action, writes: [(u8, u32, &[u8]); N], applied: usize) -> (usize, [bool; N]) {
        let (writes, asked): (Vec<_>, Vec<_>) =
            writes.into_iter().map(|(key, expected, record)| write(action, key, expected, record)).unzip();
        let mut batches = Batch::all((Table::Grants, action), writes);
        assert_eq!(batches.len(), 1);
        let batch = batches.remove(0);
        let sent = batch.sent().len();
        batch.answer(&HashSet::from([applied]));
        let answers: Vec<_> = asked.into_iter().map(|mut asked| asked.try_recv().unwrap().unwrap()).collect();
        (sent, answers.try_into().unwrap())
    }

    #[test]
    fn one_of_equal_replacements_wins() {
        let writes = [(2, 1, b"a".as_slice()), (1, 1, b"b"), (2, 1, b"c"), (2, 2, b"d")];
        assert_eq!(answers(Action::Replace, writes, 1), (3, [true, false, false, false]));
    }

    #[test]
    fn one_of_equal_inserts_wins() {
        assert_eq!(answers(Action::Insert, [(1, 0, b"a".as_slice()), (1, 0, b"b")], 0), (1, [true, false]));
    }

    #[test]
    fn all_equal_confirmations_win() {
        let writes = [(1, 1, b"b".as_slice()), (1, 1, b"a"), (1, 1, b"b")];
        assert_eq!(answers(Action::Confirm, writes, 1), (2, [true, false, true]));
    }

    #[test]
    fn an_insert_is_placed_by_its_key() {
        let writes = [3, 1, 2].map(|key| write(Action::Insert, key, 0, b"").0);
        let batch = Batch::new((Table::Grants, Action::Insert), writes.into());
        assert_eq!((batch.place_of(&[2; 16]), batch.place_of(&[4; 16])), (Some(1), None));
    }
}
