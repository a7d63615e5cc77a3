//! SQLite driven directly through rusqlite: the statements of the store, many in one transaction, in one thread.

use std::cell::RefCell;
use std::path::Path;

use rusqlite::{Connection, Statement, params};

use super::grants::{Grants, PURGE_AFTER, id, subject, version};

const FIND: &str = "SELECT record FROM grantor_grants WHERE key = ?1";
const REPLACE: &str = "UPDATE grantor_grants SET version = ?3, state = ?4, ended_at = ?5, ended_why = ?6, due = ?7,
    record = ?8 WHERE key = ?1 AND version = ?2";
const INSERT: &str = "INSERT INTO grantor_grants
    (key, version, client, created, state, ended_at, ended_why, due, due_check, record, subject)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?10) ON CONFLICT (key) DO NOTHING";
const CREATED: u32 = 1_700_000_000;
const STATE: &str = "granted";

/// A connection with the settings that the store uses.
pub(crate) struct RawSqlite {
    connection: &'static Connection,
    find: RefCell<Statement<'static>>,
    replace: RefCell<Statement<'static>>,
    insert: RefCell<Statement<'static>>,
}

impl RawSqlite {
    pub(crate) fn open(path: &Path) -> Self {
        // Statements borrow their connection; a bench opens few.
        let connection = Box::leak(Box::new(Connection::open(path).unwrap()));
        let settings = "PRAGMA journal_mode = wal; PRAGMA synchronous = full; PRAGMA cache_size = -16384;
            PRAGMA wal_autocheckpoint = 4096";
        connection.execute_batch(settings).unwrap();
        let statement = |sql| RefCell::new(connection.prepare(sql).unwrap());
        Self { connection, find: statement(FIND), replace: statement(REPLACE), insert: statement(INSERT) }
    }

    /// Adds grants to a file that no other connection has open, without waiting for the disk.
    pub(crate) fn fill(path: &Path, grants: &Grants, rows: u64) {
        let connection = Connection::open(path).unwrap();
        connection.execute_batch("PRAGMA journal_mode = off; PRAGMA synchronous = off; BEGIN").unwrap();
        let mut insert = connection.prepare(INSERT).unwrap();
        (0..rows).for_each(|number| add(&mut insert, grants, number));
        connection.execute_batch("COMMIT").unwrap();
    }

    /// The keys of all grants.
    pub(crate) fn keys(&self) -> Vec<Vec<u8>> {
        let mut keys = self.connection.prepare("SELECT key FROM grantor_grants").unwrap();
        keys.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    /// Reads the record of a grant.
    pub(crate) fn find(&self, key: &[u8]) -> Vec<u8> {
        self.find.borrow_mut().query_row([key], |row| row.get(0)).unwrap()
    }

    /// Adds grants, all in one transaction.
    pub(crate) fn insert(&self, grants: &Grants, numbers: impl Iterator<Item = u64>) {
        self.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        let mut insert = self.insert.borrow_mut();
        numbers.for_each(|number| add(&mut insert, grants, number));
        self.connection.execute_batch("COMMIT").unwrap();
    }

    /// Reads grants and replaces them, all in one transaction.
    pub(crate) fn refresh(&self, grants: &Grants, numbers: impl Iterator<Item = u64>) {
        self.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        let (mut find, mut replace) = (self.find.borrow_mut(), self.replace.borrow_mut());
        for number in numbers {
            let id = id(number);
            let found: Vec<u8> = find.query_row([&id], |row| row.get(0)).unwrap();
            let version = version(&found);
            let bytes = grants.refreshed_bytes(number, version + 1);
            let (end, none) = (PURGE_AFTER.seconds(), None::<u32>);
            let row = params![&id, version, version + 1, STATE, none, none, end, bytes];
            assert_eq!(replace.execute(row).unwrap(), 1);
        }
        self.connection.execute_batch("COMMIT").unwrap();
    }

    /// Moves everything into the file, so that the log is empty.
    pub(crate) fn empty_log(&self) {
        let mut checkpoint = self.connection.prepare("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        let busy: i64 = checkpoint.query_row([], |row| row.get(0)).unwrap();
        assert_eq!(busy, 0);
    }

    /// The bytes that are in the log.
    pub(crate) fn log_bytes(&self) -> usize {
        let number = |pragma, column| -> i64 { self.connection.query_row(pragma, [], |row| row.get(column)).unwrap() };
        let bytes = number("PRAGMA wal_checkpoint(NOOP)", 1) * (number("PRAGMA page_size", 0) + 24);
        bytes as usize
    }
}

fn add(insert: &mut Statement<'_>, grants: &Grants, number: u64) {
    let none = None::<u32>;
    let (client, end) = (grants.client(), PURGE_AFTER.seconds());
    let bytes = grants.new_bytes(number);
    let row = params![&id(number), 1, client, CREATED, STATE, none, none, end, bytes, subject(number)];
    assert_eq!(insert.execute(row).unwrap(), 1);
}
