//! Removing what is over, in steps that let other writes through.

use std::marker::PhantomData;

use rusqlite::params;
use time::Duration;

use crate::clock::Timestamp;
use crate::store::sqlite::rows::{Statements, Tabled, as_limit};
use crate::store::sqlite::session::{Call, Session};

/// Rows that one step looks at, between two of which other writes get their turn.
pub(super) const STEP: usize = 250;
/// How long a row is left alone whose record this release cannot read.
const UNREADABLE: Duration = Duration::DAY;

/// Looks at rows that the index says are due, at most `limit`.
pub(super) struct PurgeStep<R> {
    now: Timestamp,
    limit: usize,
    kind: PhantomData<fn() -> R>,
}

/// What a step found and did.
pub(super) struct Purged {
    pub(super) looked_at: usize,
    pub(super) removed: usize,
}

impl<R> PurgeStep<R> {
    pub(super) const fn new(now: Timestamp, limit: usize) -> Self {
        Self { now, limit, kind: PhantomData }
    }
}

impl<R: Tabled> Call for PurgeStep<R> {
    type Answer = Purged;

    fn run(&self, session: &mut Session<'_>) -> rusqlite::Result<Purged> {
        let Statements { due, postpone, remove, .. } = R::statements();
        let statement = session.statement(due)?;
        let due = statement.query_map(params![self.now.seconds(), as_limit(self.limit)], |row| {
            let record = R::decode(row.get_ref(2)?.as_blob()?);
            // A row that cannot be read is not lost, and must not stop the purge of those behind it.
            let purge_after = record.map_or_else(|_| self.now.plus(UNREADABLE), |record| record.purge_after());
            Ok(Due { id: row.get(0)?, version: row.get(1)?, purge_after })
        })?;
        let due: Vec<_> = due.collect::<Result<_, _>>()?;
        let mut removed = 0;
        for row in &due {
            if row.purge_after <= self.now {
                removed += session.statement(remove)?.execute(params![row.id, row.version])?;
            } else {
                session.statement(postpone)?.execute(params![row.id, row.purge_after.seconds()])?;
            }
        }
        Ok(Purged { looked_at: due.len(), removed })
    }
}

struct Due {
    id: [u8; 16],
    version: u32,
    purge_after: Timestamp,
}
