//! The statements on each table, all of the same shape.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::store::{Lists, Table};

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
    use rusqlite::Connection;

    use super::*;
    use crate::store::sqlite::schema;

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
        schema::migrate(&connection).unwrap();
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
