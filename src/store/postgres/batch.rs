//! Writes of one kind that become one statement with one commit.

use std::collections::HashSet;

use crate::store::postgres::columns::Id;
use crate::store::postgres::error::PostgresError;
use crate::store::postgres::job::RowWrite;
use crate::store::postgres::statements::Table;

/// Inserts, or replacements, of one table, ordered by id so that the batches of two servers lock their
/// rows in one order.
#[derive(Debug)]
pub(super) struct Batch {
    table: Table,
    replaces: bool,
    writes: Vec<RowWrite>,
}

impl Batch {
    /// Puts writes of one kind in order, if there are any. Those with the same id and expected version
    /// stay in the order in which they came: the first of them is sent, and whatever becomes of it, the
    /// others have lost.
    pub(super) fn new(mut writes: Vec<RowWrite>) -> Option<Self> {
        let first = writes.first()?;
        let (table, replaces) = (first.table, first.expected.is_some());
        writes.sort_by_key(key);
        Some(Self { table, replaces, writes })
    }

    pub(super) const fn table(&self) -> Table {
        self.table
    }

    pub(super) const fn replaces(&self) -> bool {
        self.replaces
    }

    /// The writes that are sent.
    pub(super) fn sent(&self) -> impl Iterator<Item = &RowWrite> {
        self.writes.chunk_by(|one, other| key(one) == key(other)).filter_map(<[RowWrite]>::first)
    }

    /// The id of its first write; of all, if it was split.
    pub(super) fn first_id(&self) -> Option<Id> {
        self.writes.first().map(|write| write.row.id)
    }

    /// One batch for each write that is sent, with those that lose to it.
    pub(super) fn split(self) -> Vec<Self> {
        let Self { table, replaces, writes } = self;
        let mut batches: Vec<Self> = Vec::new();
        for write in writes {
            match batches.last_mut() {
                Some(last) if last.writes.first().map(key) == Some(key(&write)) => last.writes.push(write),
                _ => batches.push(Self { table, replaces, writes: vec![write] }),
            }
        }
        batches
    }

    /// Tells everybody, of whom some may have gone.
    pub(super) fn answer(self, applied: &Applied) {
        let (mut place, mut before) = (0, None);
        for write in self.writes {
            let first = before.replace(key(&write)) != Some(key(&write));
            place += i64::from(first);
            drop(write.answer.send(Ok(first && applied.holds(place, write.row.id))));
        }
    }

    pub(super) fn refuse(self, failure: &PostgresError) {
        self.writes.into_iter().for_each(|write| drop(write.answer.send(Err(failure.clone()))));
    }
}

fn key(write: &RowWrite) -> (Id, Option<u32>) {
    (write.row.id, write.expected)
}

/// Which writes of those that were sent took effect.
#[derive(Debug)]
pub(super) enum Applied {
    /// The only one, or not.
    Only(bool),
    /// Inserts, by id.
    Ids(HashSet<Id>),
    /// Replacements, by their places among those sent, counted from 1.
    Places(HashSet<i64>),
}

impl Applied {
    fn holds(&self, place: i64, id: Id) -> bool {
        match self {
            Self::Only(applied) => *applied,
            Self::Ids(ids) => ids.contains(&id),
            Self::Places(places) => places.contains(&place),
        }
    }
}
