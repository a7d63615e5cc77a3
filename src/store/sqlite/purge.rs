//! Removing what is over, in steps that let other writes through.

use std::marker::PhantomData;
use std::time::{Duration, Instant};

use rusqlite::params;

use crate::clock::Timestamp;
use crate::store::sqlite::rows::{Statements, Tabled, as_limit};
use crate::store::sqlite::session::{Call, Session};

/// Rows that are looked at together.
const ROWS: usize = 250;
/// How long one step goes on, after which other writes get their turn: they wait that long, for the rows
/// that were begun, and for the sync.
const STEP: Duration = Duration::from_millis(5);
/// How long a row is left alone whose record this release cannot read.
const UNREADABLE: time::Duration = time::Duration::DAY;

/// Looks at rows that the index says are due, at most `limit`, and removes those that are.
pub(super) struct PurgeStep<R> {
    now: Timestamp,
    limit: usize,
    kind: PhantomData<fn() -> R>,
}

/// What a step found and did.
#[derive(Default)]
pub(super) struct Purged {
    pub(super) looked_at: usize,
    pub(super) removed: usize,
    pub(super) is_finished: bool,
}

impl<R> PurgeStep<R> {
    pub(super) const fn new(now: Timestamp, limit: usize) -> Self {
        Self { now, limit, kind: PhantomData }
    }
}

impl<R: Tabled> Call for PurgeStep<R> {
    type Answer = Purged;

    #[expect(clippy::disallowed_methods, reason = "the length of a step, which no test sets and no rule reads")]
    fn run(&self, session: &mut Session<'_>) -> rusqlite::Result<Purged> {
        let begun = Instant::now();
        let mut purged = Purged::default();
        loop {
            let rows = ROWS.min(self.limit - purged.looked_at);
            let due = self.due(rows, session)?;
            purged.looked_at += due.len();
            purged.removed += self.remove(&due, session)?;
            purged.is_finished = due.len() < rows;
            if purged.is_finished || purged.looked_at == self.limit || begun.elapsed() >= STEP {
                return Ok(purged);
            }
        }
    }
}

impl<R: Tabled> PurgeStep<R> {
    fn due(&self, rows: usize, session: &mut Session<'_>) -> rusqlite::Result<Vec<Due>> {
        let statement = session.statement(&R::statements().due)?;
        let due = statement.query_map(params![self.now.seconds(), as_limit(rows)], |row| {
            let record = R::decode(row.get_ref(2)?.as_blob()?);
            // A row that cannot be read is not lost, and must not stop the purge of those behind it.
            let purge_after = record.map_or_else(|_| self.now.plus(UNREADABLE), |record| record.purge_after());
            Ok(Due { row: row.get(0)?, version: row.get(1)?, purge_after })
        })?;
        due.collect()
    }

    /// Removes rows and answers how many; those whose time has been moved are due later.
    fn remove(&self, due: &[Due], session: &mut Session<'_>) -> rusqlite::Result<usize> {
        let Statements { postpone, remove, .. } = R::statements();
        let mut removed = 0;
        for Due { row, version, purge_after } in due {
            if *purge_after <= self.now {
                removed += session.statement(remove)?.execute(params![row, version])?;
            } else {
                session.statement(postpone)?.execute(params![row, purge_after.seconds()])?;
            }
        }
        Ok(removed)
    }
}

/// A row by its number, which is the same as long as the transaction lasts.
struct Due {
    row: i64,
    version: u32,
    purge_after: Timestamp,
}
