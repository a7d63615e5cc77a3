//! Removing rows that are due, in steps that let other writes through.
//!
//! A time in the index may be earlier than `due`, so a row that it returns is either removed or moved in it. Records
//! are not read.

use std::time::{Duration, Instant};

use rusqlite::params;

use crate::clock::Timestamp;
use crate::store::Table;
use crate::store::sqlite::rows::as_limit;
use crate::store::sqlite::session::{Call, Session};
use crate::store::sqlite::statements::Statements;

/// Rows that are examined together.
const ROWS: usize = 250;
/// How long one step takes before other writes get their turn. They also wait for the rows in progress and for the
/// sync.
const STEP: Duration = Duration::from_millis(5);

/// Examines rows that the index says are due, at most `limit`, and removes those that are.
pub(super) struct PurgeStep {
    pub(super) table: Table,
    pub(super) now: Timestamp,
    pub(super) limit: usize,
}

/// The result of a step.
#[derive(Default)]
pub(super) struct Purged {
    pub(super) examined: usize,
    pub(super) removed: usize,
    pub(super) is_finished: bool,
}

impl Call for PurgeStep {
    type Answer = Purged;

    #[expect(clippy::disallowed_methods, reason = "the length of a step, which no test sets and no rule reads")]
    fn run(&self, session: &mut Session<'_>) -> rusqlite::Result<Purged> {
        let begun = Instant::now();
        let Statements { remove_due, postpone, .. } = Statements::of(self.table);
        let mut purged = Purged::default();
        loop {
            let rows = ROWS.min(self.limit - purged.examined);
            let mut on_first = |sql, rows| session.statement(sql)?.execute(params![self.now.seconds(), as_limit(rows)]);
            let removed = on_first(remove_due, rows)?;
            // The rows that were not removed are now the first ones.
            let moved = if removed < rows { on_first(postpone, rows - removed)? } else { 0 };
            purged.removed += removed;
            purged.examined += removed + moved;
            purged.is_finished = removed + moved < rows;
            if purged.is_finished || purged.examined == self.limit || begun.elapsed() >= STEP {
                return Ok(purged);
            }
        }
    }
}
