//! Rows: finding, inserting, replacing, confirming and listing them.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{OptionalExtension, Statement, params};

use crate::clock::Timestamp;
use crate::model::id::ClientId;
use crate::model::subject::Subject;
use crate::store::sqlite::session::{Call, Session};
use crate::store::sqlite::statements::Statements;
use crate::store::{Columns, Insertion, List, Lists, Replacement, Row, Table, Write};

/// Reads the record of a row.
pub(super) struct Find {
    pub(super) table: Table,
    pub(super) key: Vec<u8>,
}

impl Call for Find {
    type Answer = Option<Vec<u8>>;
    const WRITES: bool = false;

    fn run(&self, session: &mut Session<'_>) -> rusqlite::Result<Self::Answer> {
        session.statement(&Statements::of(self.table).find)?.query_row([&self.key], |row| row.get(0)).optional()
    }
}

/// Reads rows of one list, keys ascending.
pub(super) struct Page {
    pub(super) list: List,
    pub(super) after: Vec<u8>,
    pub(super) limit: usize,
}

impl Call for Page {
    type Answer = Vec<Row>;
    const WRITES: bool = false;

    fn run(&self, session: &mut Session<'_>) -> rusqlite::Result<Self::Answer> {
        let Self { list: List { table, name }, after, limit } = self;
        let row = |row: &rusqlite::Row<'_>| Ok(Row::new(row.get::<_, Vec<u8>>(0)?, row.get::<_, Vec<u8>>(1)?));
        let statement = session.statement(&Statements::of(*table).list)?;
        statement.query_map(params![text(name), after, as_limit(*limit)], row)?.collect()
    }
}

/// Adds a row if none has its key.
pub(super) struct Insert(pub(super) Write);

impl Call for Insert {
    type Answer = Insertion;

    fn run(&self, session: &mut Session<'_>) -> rusqlite::Result<Insertion> {
        let Self(write) = self;
        let is_inserted = write_all(session, write, |session| {
            let statement = session.statement(&Statements::of(write.table).insert)?;
            bind(statement, write)?;
            bind_origin(statement, write)?;
            statement.raw_execute()
        })?;
        Ok(if is_inserted { Insertion::Inserted } else { Insertion::Exists })
    }
}

/// Replaces the row that has the key and the version.
pub(super) struct Replace {
    pub(super) version: u32,
    pub(super) write: Write,
}

impl Call for Replace {
    type Answer = Replacement;

    fn run(&self, session: &mut Session<'_>) -> rusqlite::Result<Replacement> {
        let Self { version, write } = self;
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
}

/// Writes a row again if it is byte for byte this one.
///
/// An unchanged page adds nothing to the log: what a call finds is already on the disk.
pub(super) struct Confirm(pub(super) Write);

impl Call for Confirm {
    type Answer = Replacement;

    fn run(&self, session: &mut Session<'_>) -> rusqlite::Result<Replacement> {
        let Self(Write { table, key, version, record, .. }) = self;
        let rows = session.statement(&Statements::of(*table).confirm)?.execute(params![key, version, record])?;
        Ok(if rows == 0 { Replacement::Lost } else { Replacement::Replaced })
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

pub(super) fn as_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::store::sqlite::purge::PurgeStep;
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
        Page { list: List::new(table, name), after: Vec::new(), limit: 10 }.run(session).unwrap()
    }

    #[test]
    fn lists_go_with_their_row() {
        let connection = file();
        let session = &mut Session::new(&connection);
        let first = Write { lists: vec![b"a\0\xff".to_vec(), b"all".to_vec()], ..write(Table::Applications, 1) };
        assert_eq!(Insert(first).run(session), Ok(Insertion::Inserted));
        assert_eq!(listed(session, Table::Applications, b"a\0\xff"), [Row::new(*b"key", *b"record")]);
        assert_eq!(listed(session, Table::Applications, b"a"), []);
        let now = Timestamp::from_seconds(7);
        let purge = PurgeStep { table: Table::Applications, now, limit: 10 };
        assert_eq!(purge.run(session).unwrap().removed, 0, "it has no due time");
        let lists = vec![b"all".to_vec()];
        let due = Write { due: Some(now), due_moved: true, lists, ..write(Table::Applications, 2) };
        assert_eq!(Replace { version: 1, write: due }.run(session), Ok(Replacement::Replaced));
        assert_eq!(listed(session, Table::Applications, b"a\0\xff"), []);
        assert_eq!(listed(session, Table::Applications, b"all").len(), 1);
        assert_eq!(purge.run(session).unwrap().removed, 1);
        assert_eq!(listed(session, Table::Applications, b"all"), []);
    }

    #[test]
    fn a_row_is_confirmed_if_nothing_in_it_differs() {
        let connection = file();
        let session = &mut Session::new(&connection);
        let stored = write(Table::Grants, 3);
        assert_eq!(Confirm(stored.clone()).run(session), Ok(Replacement::Lost));
        assert_eq!(Insert(stored.clone()).run(session), Ok(Insertion::Inserted));
        let cases = [
            (stored.clone(), Replacement::Replaced),
            (stored.clone(), Replacement::Replaced),
            (Write { version: 2, ..stored.clone() }, Replacement::Lost),
            (Write { record: b"other".to_vec(), ..stored }, Replacement::Lost),
        ];
        for (number, (write, answer)) in cases.into_iter().enumerate() {
            assert_eq!(Confirm(write).run(session), Ok(answer), "case {number}");
        }
    }
}
