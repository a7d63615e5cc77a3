//! A connection with its prepared statements.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

#[cfg(test)]
#[cfg(feature = "testing")]
use rusqlite::StatementStatus;
use rusqlite::{Connection, Statement};

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

    /// Returns how many rows all statements scanned or sorted because no index applied.
    #[cfg(all(test, feature = "testing"))]
    pub(super) fn walked(&self) -> u64 {
        let kinds = [StatementStatus::FullscanStep, StatementStatus::Sort, StatementStatus::AutoIndex];
        let walked = |statement: &Statement<'_>| kinds.map(|kind| u64::from(statement.get_status(kind).unsigned_abs()));
        self.statements.values().flat_map(walked).sum()
    }

    /// Runs a statement without parameters.
    pub(super) fn execute(&mut self, sql: &'static str) -> rusqlite::Result<()> {
        self.statement(sql)?.execute([]).map(drop)
    }

    pub(super) fn is_in_transaction(&self) -> bool {
        !self.connection.is_autocommit()
    }

    /// Ends a transaction that failed, unless it has already ended by itself.
    pub(super) fn roll_back(&mut self) {
        if self.is_in_transaction() {
            // If this fails too, the next transaction cannot begin and says so.
            let _ = self.execute("ROLLBACK");
        }
    }
}

// The kit measures the cost of calls in rows that are scanned because no index applies.
#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Mutex, MutexGuard};

    use super::*;
    use crate::base::clock::Timestamp;
    use crate::store::engine::Engine;
    use crate::store::sqlite::{rows, schema};
    use crate::store::{Insertion, List, Purge, Replacement, Row, StoreError, Table, Write};
    use crate::testing::engine::calls_cost_the_same;
    use futures::executor::block_on;

    /// The calls of a [`SqliteStore`](crate::SqliteStore) on one connection, counted.
    #[derive(Debug)]
    struct Counted {
        connection: Mutex<Connection>,
        walked: AtomicU64,
    }

    impl Counted {
        fn new() -> Self {
            let connection = Connection::open_in_memory().unwrap();
            schema::migrate(&connection).unwrap();
            Self { connection: Mutex::new(connection), walked: AtomicU64::new(0) }
        }

        fn connection(&self) -> MutexGuard<'_, Connection> {
            self.connection.lock().unwrap()
        }

        fn run<T>(&self, call: impl FnOnce(&mut Session<'_>) -> rusqlite::Result<T>) -> Result<T, StoreError> {
            let connection = self.connection();
            let mut session = Session::new(&connection);
            let answer = call(&mut session).unwrap();
            self.walked.fetch_add(session.walked(), Ordering::Relaxed);
            Ok(answer)
        }

        fn walked(&self) -> u64 {
            self.walked.load(Ordering::Relaxed)
        }
    }

    impl crate::store::Store for Counted {}

    impl Engine for Counted {
        async fn find(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
            self.run(|session| rows::find(session, table, key))
        }

        async fn insert(&self, write: Write) -> Result<Insertion, StoreError> {
            self.run(|session| rows::insert(session, &write))
        }

        async fn replace(&self, version: u32, write: Write) -> Result<Replacement, StoreError> {
            self.run(|session| rows::replace(session, version, &write))
        }

        async fn confirm(&self, write: Write) -> Result<Replacement, StoreError> {
            self.run(|session| rows::confirm(session, &write))
        }

        async fn list(&self, list: &List, after: Option<&[u8]>, limit: usize) -> Result<Vec<Row>, StoreError> {
            self.run(|session| rows::list(session, list, after.unwrap_or_default(), limit))
        }

        async fn purge(&self, table: Table, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
            let step = self.run(|session| rows::purge(session, table, now, limit))?;
            let purge = Purge::new(step.removed);
            Ok(if step.is_finished { purge.finished() } else { purge })
        }
    }

    #[test]
    fn calls_cost_the_same_whatever_is_stored() {
        let store = Counted::new();
        let walked = || store.walked();
        block_on(calls_cost_the_same(&store, walked));
        assert_eq!(walked(), 0);
        // This shows that SQLite counts them.
        let whole_table = "SELECT count(*) FROM grantor_grants WHERE version > 0";
        let count = store.run(|session| session.statement(whole_table)?.query_row([], |row| row.get::<_, u32>(0)));
        assert!(count.unwrap() > 100 && walked() > 100);
    }
}
