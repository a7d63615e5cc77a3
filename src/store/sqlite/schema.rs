//! The tables of a file, and the migrations from earlier releases.

use rusqlite::Connection;

use crate::store::sqlite::error::{SqliteError, SqliteProblem};

/// "grnt", which distinguishes a file of this crate from the database of another program.
const APPLICATION_ID: i64 = 0x6772_6e74;

/// The migrations from each version to the next. The version of a file is the number of those it has had.
///
/// A published migration never changes. After a new one, the statements of the previous release must still work, so
/// that servers can be restarted one after the other. If a migration must read records, make the elements functions of
/// the connection, which `migrate` calls in its transaction instead of running SQL. Such a function reads rows in
/// pages, since a table may be larger than the memory.
const MIGRATIONS: &[&str] = &[include_str!("schema/1.sql")];

/// What a file needs before it can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    Migration,
    Nothing,
}

/// Returns what the file needs. It is an error if the file is neither empty nor a store that this release knows.
pub(super) fn check(connection: &Connection) -> Result<Needs, SqliteError> {
    let found = within(connection, "BEGIN", version)?;
    Ok(if found == known_version() { Needs::Nothing } else { Needs::Migration })
}

/// Migrates the file to the newest version, all steps in one transaction.
pub(super) fn migrate(connection: &Connection) -> Result<(), SqliteError> {
    within(connection, "BEGIN IMMEDIATE", |connection| {
        // Another process may have been faster since the check.
        let seen = usize::try_from(version(connection)?).unwrap_or(MIGRATIONS.len());
        for step in MIGRATIONS.iter().skip(seen) {
            connection.execute_batch(step)?;
        }
        let newest = known_version();
        connection
            .execute_batch(&format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {newest}"))?;
        Ok(())
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
    let known = known_version();
    if found > known {
        return Err(SqliteProblem::Newer { found, known }.into());
    }
    Ok(found)
}

fn known_version() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
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
