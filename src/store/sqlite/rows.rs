//! The calls on rows: finding, inserting, replacing, confirming, listing and purging them.

use std::time::{Duration, Instant};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{OptionalExtension, Statement, params};

use crate::base::clock::Timestamp;
use crate::base::id::{ClientId, Subject};
use crate::store::sqlite::schema::Statements;
use crate::store::sqlite::session::Session;
use crate::store::{Columns, Insertion, List, Lists, Replacement, Row, Table, Write};

/// Rows that are examined together in a purge.
const PURGED_TOGETHER: usize = 250;
/// How long one step of a purge takes before other writes get their turn. They also wait for the rows in progress and
/// for the sync.
const PURGE_STEP: Duration = Duration::from_millis(5);

/// Reads the record of a row.
pub(super) fn find(session: &mut Session<'_>, table: Table, key: &[u8]) -> rusqlite::Result<Option<Vec<u8>>> {
    session.statement(&Statements::of(table).find)?.query_row([key], |row| row.get(0)).optional()
}

/// Reads rows of one list, keys ascending.
pub(super) fn list(session: &mut Session<'_>, list: &List, after: &[u8], limit: usize) -> rusqlite::Result<Vec<Row>> {
    let row = |row: &rusqlite::Row<'_>| Ok(Row::new(row.get::<_, Vec<u8>>(0)?, row.get::<_, Vec<u8>>(1)?));
    let statement = session.statement(&Statements::of(list.table).list)?;
    statement.query_map(params![text(&list.name), after, as_limit(limit)], row)?.collect()
}

/// Adds a row if none has its key.
pub(super) fn insert(session: &mut Session<'_>, write: &Write) -> rusqlite::Result<Insertion> {
    let is_inserted = write_all(session, write, |session| {
        let statement = session.statement(&Statements::of(write.table).insert)?;
        bind(statement, write)?;
        bind_origin(statement, write)?;
        statement.raw_execute()
    })?;
    Ok(if is_inserted { Insertion::Inserted } else { Insertion::Exists })
}

/// Replaces the row that has the key and the version.
pub(super) fn replace(session: &mut Session<'_>, version: u32, write: &Write) -> rusqlite::Result<Replacement> {
    let is_replaced = write_all(session, write, |session| {
        let statement = session.statement(&Statements::of(write.table).replace)?;
        bind(statement, write)?;
        statement.raw_bind_parameter(8, version)?;
        if write.table.lists() == Lists::Many {
            bind_origin(statement, write)?;
        }
        statement.raw_execute()
    })?;
    Ok(if is_replaced { Replacement::Replaced } else { Replacement::Lost })
}

/// Writes a row again if it is byte for byte this one.
///
/// An unchanged page adds nothing to the log: what a call finds is already on the disk.
pub(super) fn confirm(session: &mut Session<'_>, write: &Write) -> rusqlite::Result<Replacement> {
    let Write { table, key, version, record, .. } = write;
    let rows = session.statement(&Statements::of(*table).confirm)?.execute(params![key, version, record])?;
    Ok(if rows == 0 { Replacement::Lost } else { Replacement::Replaced })
}

/// The result of a step of a purge.
#[derive(Default)]
pub(super) struct Purged {
    pub(super) examined: usize,
    pub(super) removed: usize,
    pub(super) is_finished: bool,
}

/// Examines rows that the index says are due, at most `limit`, and removes those that are.
///
/// A time in the index may be earlier than `due`, so a row that it returns is either removed or moved in it. Records
/// are not read.
#[expect(clippy::disallowed_methods, reason = "the length of a step, which no test sets and no rule reads")]
pub(super) fn purge(session: &mut Session<'_>, table: Table, now: Timestamp, limit: usize) -> rusqlite::Result<Purged> {
    let begun = Instant::now();
    let Statements { remove_due, postpone, .. } = Statements::of(table);
    let mut purged = Purged::default();
    loop {
        let rows = PURGED_TOGETHER.min(limit - purged.examined);
        let mut on_first = |sql, rows| session.statement(sql)?.execute(params![now.seconds(), as_limit(rows)]);
        let removed = on_first(remove_due, rows)?;
        // The rows that were not removed are now the first ones.
        let moved = if removed < rows { on_first(postpone, rows - removed)? } else { 0 };
        purged.removed += removed;
        purged.examined += removed + moved;
        purged.is_finished = removed + moved < rows;
        if purged.is_finished || purged.examined == limit || begun.elapsed() >= PURGE_STEP {
            return Ok(purged);
        }
    }
}

/// Binds what [`Statements::insert`] and [`Statements::replace`] have in common.
fn bind(statement: &mut Statement<'_>, write: &Write) -> rusqlite::Result<()> {
    let Columns { state, ended, .. } = &write.columns;
    statement.raw_bind_parameter(1, &write.key)?;
    statement.raw_bind_parameter(2, write.version)?;
    statement.raw_bind_parameter(3, state)?;
    statement.raw_bind_parameter(4, ended.map(|ended| ended.at.seconds()))?;
    statement.raw_bind_parameter(5, ended.map(|ended| ended.why))?;
    statement.raw_bind_parameter(6, write.due.map(Timestamp::seconds))?;
    statement.raw_bind_parameter(7, &write.record)
}

/// Binds what never changes in most tables, so that a refresh does not copy it.
fn bind_origin(statement: &mut Statement<'_>, write: &Write) -> rusqlite::Result<()> {
    let Columns { client, subject, created, .. } = &write.columns;
    statement.raw_bind_parameter(9, client.as_ref().map(ClientId::as_str))?;
    statement.raw_bind_parameter(10, created.map(Timestamp::seconds))?;
    statement.raw_bind_parameter(11, subject.as_ref().map(Subject::as_str))
}

/// Writes a row, then its lists; returns whether the row was written.
fn write_all(
    session: &mut Session<'_>,
    write: &Write,
    row: impl FnOnce(&mut Session<'_>) -> rusqlite::Result<usize>,
) -> rusqlite::Result<bool> {
    let moves_lists = write.table.lists() == Lists::Many;
    if !moves_lists && !write.due_moved {
        return Ok(row(session)? > 0);
    }
    all_or_nothing(session, |session| {
        if row(session)? == 0 {
            return Ok(false);
        }
        if moves_lists {
            write_lists(session, write)?;
        }
        if write.due_moved {
            let due = write.due.map(Timestamp::seconds);
            session.statement(&Statements::of(write.table).hasten)?.execute(params![write.key, due])?;
        }
        Ok(true)
    })
}

fn write_lists(session: &mut Session<'_>, write: &Write) -> rusqlite::Result<()> {
    let Statements { clear_lists, add_list, .. } = Statements::of(write.table);
    session.statement(clear_lists)?.execute([&write.key])?;
    for name in &write.lists {
        session.statement(add_list)?.execute(params![text(name), write.key])?;
    }
    Ok(())
}

/// Undoes all statements if one fails, and keeps what others wrote in the same transaction.
fn all_or_nothing<T>(
    session: &mut Session<'_>,
    write: impl FnOnce(&mut Session<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    session.execute("SAVEPOINT one_write")?;
    let result = write(session);
    // An error that ends the whole transaction also ends the savepoint.
    if session.is_in_transaction() {
        if result.is_err() {
            session.execute("ROLLBACK TO one_write")?;
        }
        session.execute("RELEASE one_write")?;
    }
    result
}

/// Names of lists are text, so that operators can read them; SQLite compares them byte by byte, with any content.
fn text(name: &[u8]) -> ToSqlOutput<'_> {
    ToSqlOutput::Borrowed(ValueRef::Text(name))
}

fn as_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::store::sqlite::schema;

    fn file() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        schema::migrate(&connection).unwrap();
        connection
    }

    fn write(table: Table, version: u32) -> Write {
        Write {
            table,
            key: b"key".to_vec(),
            version,
            record: b"record".to_vec(),
            lists: Vec::new(),
            due: None,
            due_moved: false,
            columns: Columns::default(),
        }
    }

    fn listed(session: &mut Session<'_>, table: Table, name: &[u8]) -> Vec<Row> {
        list(session, &List::new(table, name), &[], 10).unwrap()
    }

    #[test]
    fn lists_go_with_their_row() {
        let connection = file();
        let session = &mut Session::new(&connection);
        let first = Write { lists: vec![b"a\0\xff".to_vec(), b"all".to_vec()], ..write(Table::Applications, 1) };
        assert_eq!(insert(session, &first), Ok(Insertion::Inserted));
        assert_eq!(listed(session, Table::Applications, b"a\0\xff"), [Row::new(*b"key", *b"record")]);
        assert_eq!(listed(session, Table::Applications, b"a"), []);
        let now = Timestamp::from_seconds(7);
        let purged = |session: &mut Session<'_>| purge(session, Table::Applications, now, 10).unwrap().removed;
        assert_eq!(purged(session), 0, "it has no due time");
        let lists = vec![b"all".to_vec()];
        let due = Write { due: Some(now), due_moved: true, lists, ..write(Table::Applications, 2) };
        assert_eq!(replace(session, 1, &due), Ok(Replacement::Replaced));
        assert_eq!(listed(session, Table::Applications, b"a\0\xff"), []);
        assert_eq!(listed(session, Table::Applications, b"all").len(), 1);
        assert_eq!(purged(session), 1);
        assert_eq!(listed(session, Table::Applications, b"all"), []);
    }

    #[test]
    fn a_row_is_confirmed_if_nothing_in_it_differs() {
        let connection = file();
        let session = &mut Session::new(&connection);
        let stored = write(Table::Grants, 3);
        assert_eq!(confirm(session, &stored), Ok(Replacement::Lost));
        assert_eq!(insert(session, &stored), Ok(Insertion::Inserted));
        let cases = [
            (stored.clone(), Replacement::Replaced),
            (stored.clone(), Replacement::Replaced),
            (Write { version: 2, ..stored.clone() }, Replacement::Lost),
            (Write { record: b"other".to_vec(), ..stored }, Replacement::Lost),
        ];
        for (number, (write, answer)) in cases.into_iter().enumerate() {
            assert_eq!(confirm(session, &write), Ok(answer), "case {number}");
        }
    }
}
