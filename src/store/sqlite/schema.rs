//! The tables of a file.

use rusqlite::Connection;

use crate::store::sqlite::error::{SqliteError, SqliteProblem};
use crate::store::{Lists, Table};

/// "grnt", which distinguishes a file of this crate from the database of another program.
const APPLICATION_ID: i64 = 0x6772_6e74;

/// The version of the tables that this release makes and knows. A release that adds a table raises it.
///
/// The statements of the previous release must still work on the tables of this one, so that servers can be restarted
/// one after the other.
const VERSION: i64 = 1;

/// What a file needs before it can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    Migration,
    Nothing,
}

/// Returns what the file needs. It is an error if the file is neither empty nor a store that this release knows.
pub(super) fn check(connection: &Connection) -> Result<Needs, SqliteError> {
    let found = within(connection, "BEGIN", version)?;
    Ok(if found == VERSION { Needs::Nothing } else { Needs::Migration })
}

/// Creates the tables that are missing, all in one transaction.
pub(super) fn migrate(connection: &Connection) -> Result<(), SqliteError> {
    within(connection, "BEGIN IMMEDIATE", |connection| {
        // Another process may have been faster since the check.
        version(connection)?;
        let exists = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1";
        for table in Table::ALL {
            let name = format!("grantor_{}", table.as_str());
            if connection.query_row(exists, [name], |row| row.get::<_, i64>(0))? == 0 {
                connection.execute_batch(&text(table))?;
            }
        }
        let numbers = format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}");
        Ok(connection.execute_batch(&numbers)?)
    })
}

/// Calls `act` in one transaction, which ends in any case, so that all its statements see the same state.
fn within<T>(
    connection: &Connection,
    begin: &str,
    act: impl FnOnce(&Connection) -> Result<T, SqliteError>,
) -> Result<T, SqliteError> {
    connection.execute_batch(begin)?;
    let done = act(connection).and_then(|done| {
        connection.execute_batch("COMMIT")?;
        Ok(done)
    });
    if !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK")?;
    }
    done
}

fn version(connection: &Connection) -> Result<i64, SqliteError> {
    let one_number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let application = one_number("PRAGMA application_id")?;
    let found = one_number("PRAGMA user_version")?;
    if application != APPLICATION_ID {
        let is_empty = application == 0 && found == 0 && one_number("SELECT count(*) FROM sqlite_schema")? == 0;
        return if is_empty { Ok(0) } else { Err(SqliteProblem::NotAStore.into()) };
    }
    if found > VERSION {
        return Err(SqliteProblem::Newer { found, known: VERSION }.into());
    }
    Ok(found)
}

/// Returns the statements that create a table.
fn text(table: Table) -> String {
    let lists = match table.lists() {
        Lists::None => "",
        Lists::One => include_str!("one_list.sql"),
        Lists::Many => include_str!("many_lists.sql"),
    };
    [include_str!("table.sql"), lists].concat().replace("{table}", table.as_str())
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::store::sqlite::file::TemporaryFolder;

    fn open(folder: &TemporaryFolder) -> Connection {
        let connection = Connection::open(folder.file()).unwrap();
        connection.busy_timeout(Duration::from_secs(10)).unwrap();
        connection.execute_batch("PRAGMA synchronous = 0; PRAGMA journal_mode = wal").unwrap();
        connection
    }

    #[test]
    fn a_reader_during_a_migration_sees_all_tables_or_none() {
        const FILES: usize = 200;
        for _ in 0..FILES {
            let folder = TemporaryFolder::create().unwrap();
            let [makes, looks] = [(); 2].map(|()| open(&folder));
            let barrier = &Barrier::new(2);
            thread::scope(|scope| {
                scope.spawn(move || {
                    barrier.wait();
                    migrate(&makes).unwrap();
                });
                barrier.wait();
                while check(&looks).unwrap() == Needs::Migration {}
            });
        }
    }
}
