//! A connection with the statements it has prepared, and what is asked of it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rusqlite::{Connection, Statement};

/// One thing to read or to write.
pub(super) trait Call: Send + 'static {
    type Answer: Send + 'static;

    /// Whether it may change something.
    const WRITES: bool = true;

    /// Does it within the transaction that is open; it may be done again in another one.
    fn run(&self, session: &mut Session<'_>) -> rusqlite::Result<Self::Answer>;
}

pub(super) struct Session<'c> {
    connection: &'c Connection,
    statements: HashMap<&'static str, Statement<'c>>,
}

impl<'c> Session<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self { connection, statements: HashMap::new() }
    }

    /// Returns the statement, prepared once.
    pub(super) fn statement(&mut self, sql: &'static str) -> rusqlite::Result<&mut Statement<'c>> {
        match self.statements.entry(sql) {
            Entry::Occupied(prepared) => Ok(prepared.into_mut()),
            Entry::Vacant(place) => Ok(place.insert(self.connection.prepare(sql)?)),
        }
    }

    /// Runs a statement without parameters.
    pub(super) fn execute(&mut self, sql: &'static str) -> rusqlite::Result<()> {
        self.statement(sql)?.execute([]).map(drop)
    }

    pub(super) fn is_in_transaction(&self) -> bool {
        !self.connection.is_autocommit()
    }

    /// Ends a transaction that did not end well; where it ended by itself there is nothing to do.
    pub(super) fn roll_back(&mut self) {
        if self.is_in_transaction() {
            // If this fails too, the next transaction cannot begin and says so.
            let _ = self.execute("ROLLBACK");
        }
    }
}
