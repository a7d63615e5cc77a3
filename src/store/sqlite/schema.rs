//! The tables of a file, and how a file of an earlier release gets them.

use rusqlite::Connection;

use crate::store::sqlite::error::{SqliteError, SqliteProblem};

/// "grnt": what tells a file of this crate from the database of another program.
const APPLICATION_ID: i64 = 0x6772_6e74;

/// What leads from each version to the next; the version of a file is the count of those it has seen.
///
/// A published one never changes. A release that adds one keeps the statements of the release before
/// working on the new tables, so that servers can be restarted one after the other.
const MIGRATIONS: &[&str] = &[include_str!("schema/1.sql")];

/// Tells whether the file may be touched at all: it is empty, or a store that this release knows.
pub(super) fn check(connection: &Connection) -> Result<(), SqliteError> {
    within(connection, "BEGIN", version).map(drop)
}

/// Brings the file to the newest version, all steps in one transaction.
pub(super) fn migrate(connection: &Connection) -> Result<(), SqliteError> {
    if within(connection, "BEGIN", version)? == known_version() {
        return Ok(());
    }
    // Another process may have been faster, so the version is read again under the lock.
    within(connection, "BEGIN IMMEDIATE", |connection| {
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

/// Looks and writes in one transaction, which ends in any case.
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
