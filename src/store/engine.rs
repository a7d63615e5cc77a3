//! The interface to a database.

use std::fmt;

use crate::base::clock::Timestamp;
use crate::model::record::{Columns, Table};
use crate::store::error::StoreError;
use crate::store::page::{Insertion, Purge, Replacement};
use crate::store::record_store::Store;

/// A database: bytes under a key with a version, listed in order, with a time from which they may be removed.
///
/// Every engine is a [`RecordStore`](crate::store::RecordStore) of every kind of record, and a
/// [`ClientStore`](crate::store::ClientStore): these implementations encode, decode and report unreadable records for
/// all engines. The [guide](crate::guide::writing_a_store) has tables in SQL and two complete examples.
///
#[doc = include_str!("contract.md")]
///
/// # Security
///
/// If two callers win an `insert`, one code gives two grants, or a proof is accepted twice. If a `replace` overwrites a
/// version that its caller did not read, a concurrent refresh undoes a revocation. If an acknowledged write is not
/// found, a revoked token or a used code works again. If the record of the last purge is lost, or moved to a later
/// time, a purge under a wrong clock removes live grants.
pub trait Engine: Store {
    /// Returns the record of the row with that key, if the row exists.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the database failed.
    fn find(&self, table: Table, key: &[u8]) -> impl Future<Output = Result<Option<Vec<u8>>, StoreError>> + Send;

    /// Adds a row if none has its key.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the database failed; the write may have been applied or not.
    fn insert(&self, write: Write) -> impl Future<Output = Result<Insertion, StoreError>> + Send;

    /// Replaces the row with that key if it has `version`.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the database failed; the write may have been applied or not.
    fn replace(&self, version: u32, write: Write) -> impl Future<Output = Result<Replacement, StoreError>> + Send;

    /// Writes a row again, unchanged and durably, if it is byte for byte this one; the version stays.
    ///
    /// It compares the version and the record. Any number of callers succeed. [`Replacement::Lost`] means that the row
    /// is missing or differs; nothing is written then. Where [`reads_settled`](Store::reads_settled) is `true`, the
    /// core calls it only after a token was signed, since another request may have changed the row meanwhile.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the database failed; the row is then not known to be durable.
    fn confirm(&self, write: Write) -> impl Future<Output = Result<Replacement, StoreError>> + Send;

    /// Returns up to `limit` rows of a list in the order of their keys as bytes, starting after the key `after`.
    ///
    /// If there are fewer rows than `limit`, the list ends here. `limit` is at least 1.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the database failed.
    fn list(
        &self,
        list: &List,
        after: Option<&[u8]>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Row>, StoreError>> + Send;

    /// Removes rows that are due at `now`, examining at most `limit`; with a `limit` of 0 nothing is done.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the database failed; rows removed before that stay removed.
    fn purge(
        &self,
        table: Table,
        now: Timestamp,
        limit: usize,
    ) -> impl Future<Output = Result<Purge, StoreError>> + Send;
}

/// A row to be stored.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Write {
    /// The table that the row is in.
    pub table: Table,
    /// The primary key.
    pub key: Vec<u8>,
    /// The version that the row has after the write: any number of 32 bits. It may be lower than the one before, so
    /// compare it for equality only.
    pub version: u32,
    /// The bytes of the record.
    pub record: Vec<u8>,
    /// The names of all lists that the row is on after the write. A `replace` changes them only in a table whose rows
    /// are on [many](crate::store::Lists::Many).
    pub lists: Vec<Vec<u8>>,
    /// The time from which the row may be removed; `None` for rows that stay.
    pub due: Option<Timestamp>,
    /// Whether `due` may be much earlier than that of the row that is replaced, as for a revoked grant, or that row had
    /// none. A `replace` then moves the row forward in the purge index. If it is `false`, a `replace` need not change
    /// that index.
    pub due_moved: bool,
    /// Values for columns that operators query.
    pub columns: Columns,
}

impl fmt::Debug for Write {
    /// Leaves out the bytes of the row.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Write")
            .field("table", &self.table)
            .field("version", &self.version)
            .field("due", &self.due)
            .finish_non_exhaustive()
    }
}

/// A list of rows: those of one user, or the applications in one state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct List {
    /// The table whose rows are listed.
    pub table: Table,
    /// The name, one of [`Write::lists`]; at most 261 bytes of any value.
    pub name: Vec<u8>,
}

impl List {
    pub(crate) fn new(table: Table, name: impl Into<Vec<u8>>) -> Self {
        Self { table, name: name.into() }
    }
}

/// A row of a list.
#[derive(Clone, PartialEq, Eq)]
pub struct Row {
    key: Vec<u8>,
    bytes: Vec<u8>,
}

impl Row {
    /// Creates a row from its key and the bytes of its record.
    #[must_use]
    pub fn new(key: impl Into<Vec<u8>>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { key: key.into(), bytes: bytes.into() }
    }

    /// Returns the primary key.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Returns the bytes of the record.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for Row {
    /// Leaves out the bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row").field("key", &self.key).finish_non_exhaustive()
    }
}
