//! The interface to a database, and the stores over it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::base::clock::Timestamp;
use crate::base::codec::DecodeError;
use crate::base::id::ClientId;
use crate::model::application::Application;
use crate::model::client::Client;
use crate::model::record::{Columns, Record, Table};
use crate::store::error::StoreError;
use crate::store::record_store::{ClientStore, Insertion, Page, Purge, RecordStore, Replacement, Store};

/// A database: bytes under a key with a version, listed in order, with a time from which they may be removed.
///
/// Every engine is a [`RecordStore`] of every kind of record, and a
/// [`ClientStore`]: these implementations encode, decode and report unreadable records for
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

#[async_trait]
impl<E: Engine, R: Record> RecordStore<R> for E {
    async fn find(&self, key: &R::Key) -> Result<Option<Arc<R>>, StoreError> {
        let bytes = Engine::find(self, R::TABLE, key.as_ref()).await?;
        bytes.map(|bytes| decoded(key.as_ref(), R::decode(&bytes))).transpose()
    }

    async fn insert(&self, record: Arc<R>) -> Result<Insertion, StoreError> {
        Engine::insert(self, write_of(&*record)).await
    }

    async fn replace(&self, version: u32, record: Arc<R>) -> Result<Replacement, StoreError> {
        Engine::replace(self, version, write_of(&*record)).await
    }

    async fn confirm(&self, record: Arc<R>) -> Result<Replacement, StoreError> {
        Engine::confirm(self, write_of(&*record)).await
    }

    /// Reads a page, and skips rows that have left the list.
    async fn list(&self, list: &str, page: Page<R::Key>) -> Result<Vec<Arc<R>>, StoreError> {
        let name = List::new(R::TABLE, list);
        let mut listed: Vec<Arc<R>> = Vec::new();
        let mut after = page.start().map(|key| key.as_ref().to_vec());
        loop {
            let wanted = page.limit() - listed.len();
            let rows = Engine::list(self, &name, after.as_deref(), wanted).await?;
            for row in &rows {
                let record: Arc<R> = decoded(row.key(), R::decode(row.bytes()))?;
                listed.extend(record.lists().iter().any(|own| own == list).then(|| record.clone()));
            }
            match rows.last() {
                Some(last) if rows.len() >= wanted && listed.len() < page.limit() => after = Some(last.key().to_vec()),
                _ => return Ok(listed),
            }
        }
    }

    async fn purge(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        Engine::purge(self, R::TABLE, now, limit).await
    }
}

fn write_of<R: Record>(record: &R) -> Write {
    Write {
        table: R::TABLE,
        key: record.key().as_ref().to_vec(),
        version: record.version(),
        record: record.encode(),
        lists: record.lists().into_iter().map(|list| list.into_owned().into_bytes()).collect(),
        due: record.purge_after(),
        due_moved: record.is_due_sooner(),
        columns: record.columns(),
    }
}

fn decoded<T>(key: &[u8], decoded: Result<T, DecodeError>) -> Result<Arc<T>, StoreError> {
    decoded.map(Arc::new).map_err(|error| StoreError::unreadable(key, error))
}

#[async_trait]
impl<E: Engine> ClientStore for E {
    async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        let key = id.as_ref();
        let bytes = Engine::find(self, Table::Applications, key).await?;
        bytes.map(|bytes| decoded(key, Application::decode_client(&bytes))).transpose()
    }
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use futures::executor::block_on;

    use super::*;
    use crate::model::Grant;
    use crate::store::memory::kit::Rows;
    use crate::testing::records;

    const END: Timestamp = Timestamp::from_seconds(3_000_000_000);

    /// Inserts so many grants of one user, and returns them in the order of their keys.
    fn grants(engine: &Rows, owner: &str, count: usize) -> Vec<Arc<Grant>> {
        let subject = crate::Subject::new(owner).unwrap();
        let mut grants: Vec<_> = (0..count).map(|_| Arc::new(records::grant(&subject, END))).collect();
        for grant in &grants {
            assert_eq!(block_on(RecordStore::insert(engine, grant.clone())).unwrap(), Insertion::Inserted);
        }
        grants.sort_by_key(|grant| grant.id());
        grants
    }

    #[test]
    fn a_page_names_what_cannot_be_read_and_the_list_goes_on_after_it() {
        let engine = Rows::default();
        let grants = grants(&engine, "alice", 6);
        let spoiled = [1, 2, 5].map(|place| grants[place].id());
        for id in &spoiled {
            let write = Write { version: 9, record: b"?".to_vec(), ..write_of(&*grants[1]) };
            let write = Write { key: id.as_bytes().to_vec(), ..write };
            let version = grants[1].version();
            assert_eq!(block_on(Engine::replace(&engine, version, write)).unwrap(), Replacement::Replaced);
            let error = block_on(RecordStore::<Grant>::find(&engine, id)).unwrap_err();
            assert_eq!(error.unreadable_key(), Some(&id.as_bytes()[..]));
        }
        let list = |page| {
            let found = block_on(RecordStore::<Grant>::list(&engine, "alice", page));
            found.map_err(|error| error.unreadable_key().map(<[u8]>::to_vec))
        };
        let mut page = Page::first(1);
        for grant in &grants {
            let is_spoiled = spoiled.contains(&grant.id());
            let key = grant.id().as_bytes().to_vec();
            assert_eq!(list(page), if is_spoiled { Err(Some(key)) } else { Ok(vec![grant.clone()]) });
            page = Page::after(grant.id(), 1);
        }
        assert_eq!(list(Page::first(10)), Err(Some(spoiled[0].as_bytes().to_vec())));
    }

    /// An engine may list a row that has left the list.
    #[test]
    fn a_page_is_filled_without_rows_that_are_not_on_the_list() {
        let engine = Rows::default();
        let own = grants(&engine, "alice", 4);
        for other in grants(&engine, "bob", 4) {
            let key = [&[0], &other.id().as_bytes()[1..]].concat();
            let write = Write { key, lists: vec![b"alice".to_vec()], ..write_of(&*other) };
            assert_eq!(block_on(Engine::insert(&engine, write)).unwrap(), Insertion::Inserted);
        }
        for limit in [1, 3, 4, 5] {
            let page = block_on(RecordStore::<Grant>::list(&engine, "alice", Page::first(limit))).unwrap();
            assert_eq!(page, own[..limit.min(4)], "{limit}");
        }
    }

    #[test]
    fn an_engine_has_the_client_of_each_application() {
        let engine = Rows::default();
        let application = Arc::new(records::application(&records::subject()));
        let client = |id: &ClientId| block_on(ClientStore::current_client(&engine, id)).unwrap();
        assert_eq!(client(application.id()), None);
        assert_eq!(block_on(RecordStore::insert(&engine, application.clone())).unwrap(), Insertion::Inserted);
        assert_eq!(client(application.id()), Some(application.client().clone()));
    }
}
