//! The tables of the database, and its statements.

use std::collections::BTreeMap;
use std::sync::LazyLock;

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

/// The SQL for the rows of one table, and for their lists.
#[derive(Default)]
pub(super) struct Statements {
    pub(super) find: String,
    pub(super) insert: String,
    pub(super) replace: String,
    pub(super) confirm: String,
    pub(super) list: String,
    pub(super) remove_due: String,
    /// Moves the row forward in the index of due times.
    pub(super) hasten: String,
    /// Moves rows only to a later time: those that are due by the index, but not by their own time.
    pub(super) postpone: String,
    pub(super) clear_lists: String,
    pub(super) add_list: String,
}

impl Statements {
    pub(super) fn of(table: Table) -> &'static Self {
        static ALL: LazyLock<BTreeMap<Table, Statements>> =
            LazyLock::new(|| Table::ALL.map(|table| (table, Statements::new(table))).into());
        static NONE: LazyLock<Statements> = LazyLock::new(Statements::default);
        ALL.get(&table).unwrap_or(&NONE)
    }

    fn new(of: Table) -> Self {
        let table = format!("grantor_{}", of.as_str());
        // What no later version changes is not written again, so that a refresh writes no index, not even an
        // operator's.
        let (list, more) = match of.lists() {
            Lists::None | Lists::One => {
                (format!("SELECT key, record FROM {table} WHERE subject = ?1 AND key > ?2 ORDER BY key LIMIT ?3"), "")
            }
            Lists::Many => (
                format!(
                    "SELECT key, record FROM {table}_lists JOIN {table} USING (key)
                     WHERE name = ?1 AND key > ?2 ORDER BY key LIMIT ?3"
                ),
                ", client = ?9, created = ?10, subject = ?11",
            ),
        };
        let due = format!("SELECT rowid FROM {table} WHERE due_check <= ?1 ORDER BY due_check, rowid LIMIT ?2");
        Self {
            find: format!("SELECT record FROM {table} WHERE key = ?1"),
            insert: format!(
                "INSERT INTO {table}
                 (key, version, client, created, state, ended_at, ended_why, due, due_check, record, subject)
                 VALUES (?1, ?2, ?9, ?10, ?3, ?4, ?5, ?6, ?6, ?7, ?11) ON CONFLICT (key) DO NOTHING"
            ),
            replace: format!(
                "UPDATE {table} SET version = ?2, state = ?3, ended_at = ?4, ended_why = ?5, due = ?6, record = ?7{more}
                 WHERE key = ?1 AND version = ?8"
            ),
            confirm: format!("UPDATE {table} SET version = version WHERE key = ?1 AND version = ?2 AND record = ?3"),
            list,
            remove_due: format!("DELETE FROM {table} WHERE rowid IN ({due}) AND due <= ?1"),
            hasten: format!(
                "UPDATE {table} SET due_check = ?2 WHERE key = ?1 AND (due_check IS NULL OR due_check > ?2)"
            ),
            postpone: format!("UPDATE {table} SET due_check = due WHERE rowid IN ({due})"),
            clear_lists: format!("DELETE FROM {table}_lists WHERE key = ?1"),
            add_list: format!("INSERT INTO {table}_lists (name, key) VALUES (?1, ?2)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;
    use std::time::Duration;

    use rusqlite::Connection;

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

    /// Returns one column of SQLite's answer to `EXPLAIN`.
    fn explained(connection: &Connection, sql: &str, column: usize) -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        let mut steps = statement.raw_query();
        let mut explained = Vec::new();
        while let Some(step) = steps.next().unwrap() {
            explained.push(step.get(column).unwrap());
        }
        explained
    }

    fn plan(connection: &Connection, sql: &str) -> String {
        explained(connection, &format!("EXPLAIN QUERY PLAN {sql}"), 3).join(";")
    }

    fn file() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection).unwrap();
        connection
    }

    /// Each statement finds its rows by an index and sorts nothing.
    #[test]
    fn what_a_statement_costs_does_not_depend_on_the_size_of_the_table() {
        let connection = file();
        for of in Table::ALL {
            let table = format!("grantor_{}", of.as_str());
            let Statements { find, replace, confirm, list, remove_due, postpone, .. } = Statements::of(of);
            let by_key = format!("SEARCH {table} USING INDEX sqlite_autoindex_{table}_1 (key=?)");
            for sql in [find, replace, confirm] {
                assert_eq!(plan(&connection, sql), by_key);
            }
            let due = format!(
                "SEARCH {table} USING INTEGER PRIMARY KEY (rowid=?);LIST SUBQUERY 1;\
                 SEARCH {table} USING COVERING INDEX {table}_by_due (due_check<?)"
            );
            for sql in [remove_due, postpone] {
                assert_eq!(plan(&connection, sql), due);
            }
            let listed = match of.lists() {
                Lists::None => continue,
                Lists::One => format!("SEARCH {table} USING INDEX {table}_of_subject (subject=? AND key>?)"),
                Lists::Many => format!(
                    "SEARCH {table}_lists USING PRIMARY KEY (name=? AND key>?);\
                     SEARCH {table} USING INDEX sqlite_autoindex_{table}_1 (key=?)"
                ),
            };
            assert_eq!(plan(&connection, list), listed);
        }
    }

    #[test]
    fn a_refresh_writes_no_index() {
        let connection = file();
        let writes_index = |table| {
            let steps = explained(&connection, &format!("EXPLAIN {}", Statements::of(table).replace), 1);
            steps.iter().any(|step| ["IdxInsert", "IdxDelete"].contains(&step.as_str()))
        };
        assert!(!Table::ALL.into_iter().any(writes_index));
    }

    #[test]
    fn lists_of_an_application_are_found_by_their_index() {
        let connection = file();
        assert_eq!(
            plan(&connection, &Statements::of(Table::Applications).clear_lists),
            "SEARCH grantor_applications_lists USING COVERING INDEX grantor_applications_lists_by_key (key=?)"
        );
    }
}
