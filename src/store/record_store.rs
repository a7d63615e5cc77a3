//! The traits of stores: of records, and of clients; pages of a list, and the results of writes and purges.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::base::clock::Timestamp;
use crate::base::id::ClientId;
use crate::model::client::Client;
use crate::model::record::Record;
use crate::model::{Authorization, Grant};
use crate::store::error::StoreError;

/// What engines and stores of records have in common.
pub trait Store: fmt::Debug + Send + Sync + 'static {
    /// Returns whether a read returns only writes that no fail-over can undo; `false` by default.
    ///
    /// Return `true` only where a write becomes visible after it is durable, as in one process's memory or one file. If
    /// it is `false`, a write may be readable before its replicas have it. The server then
    /// [confirms](RecordStore::confirm) a row before it acknowledges anything that depends on having read it.
    fn reads_settled(&self) -> bool {
        false
    }
}

/// Keeps the records of one kind, such as `RecordStore<Grant>`.
///
/// A store of tokens is a `RecordStore<Grant>`, one of codes a `RecordStore<Authorization>`; both have a short name,
/// [`TokenStore`] and [`CodeStore`]. Implement the trait once for all kinds: `impl<R: Record> RecordStore<R> for …`.
///
/// # Contract
///
/// The rules are those of [`Engine`](crate::store::Engine#contract), for records instead of bytes. What they call `due`
/// is [`purge_after`](Record::purge_after), and a list returns only records that are on it. A page with an unreadable
/// record fails with [`StoreError::unreadable`], which has the record's key, so that the reader can continue after it.
/// A list must not omit the record, since that would deny that it exists. A purge removes it at its time like any
/// other.
///
/// # Examples
///
/// A database implements [`Engine`](crate::store::Engine) instead, which provides this trait. The following store keeps
/// the records of one kind. It follows every rule except the one on costs, since it has no index:
///
/// ```
/// use std::collections::BTreeMap;
/// use std::sync::{Arc, Mutex};
///
/// use grantor::store::{Insertion, Page, Purge, Record, RecordStore, Replacement, Store, StoreError};
/// use grantor::Timestamp;
///
/// #[derive(Debug)]
/// struct Simple<R: Record>(Mutex<BTreeMap<R::Key, Arc<R>>>);
///
/// impl<R: Record> Store for Simple<R> {
///     fn reads_settled(&self) -> bool {
///         true
///     }
/// }
///
/// #[async_trait::async_trait]
/// impl<R: Record> RecordStore<R> for Simple<R> {
///     async fn find(&self, key: &R::Key) -> Result<Option<Arc<R>>, StoreError> {
///         Ok(self.0.lock().unwrap().get(key).cloned())
///     }
///     async fn insert(&self, record: Arc<R>) -> Result<Insertion, StoreError> {
///         let mut rows = self.0.lock().unwrap();
///         if rows.contains_key(record.key()) {
///             return Ok(Insertion::Exists);
///         }
///         rows.insert(record.key().clone(), record);
///         Ok(Insertion::Inserted)
///     }
///     async fn replace(&self, version: u32, record: Arc<R>) -> Result<Replacement, StoreError> {
///         match self.0.lock().unwrap().get_mut(record.key()) {
///             Some(row) if row.version() == version => *row = record,
///             _ => return Ok(Replacement::Lost),
///         }
///         Ok(Replacement::Replaced)
///     }
///     async fn confirm(&self, record: Arc<R>) -> Result<Replacement, StoreError> {
///         let same = self.0.lock().unwrap().get(record.key()) == Some(&record);
///         Ok(if same { Replacement::Replaced } else { Replacement::Lost })
///     }
///     async fn list(&self, list: &str, page: Page<R::Key>) -> Result<Vec<Arc<R>>, StoreError> {
///         let rows = self.0.lock().unwrap();
///         let is_listed = |row: &&Arc<R>| row.lists().iter().any(|own| own == list) && page.admits(row.key());
///         Ok(rows.values().filter(is_listed).take(page.limit()).cloned().collect())
///     }
///     async fn purge(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
///         let mut rows = self.0.lock().unwrap();
///         let is_due = |row: &&Arc<R>| row.purge_after().is_some_and(|end| end <= now);
///         let due: Vec<_> = rows.values().filter(is_due).take(limit).map(|row| row.key().clone()).collect();
///         due.iter().for_each(|key| drop(rows.remove(key)));
///         let purge = Purge::new(due.len());
///         Ok(if due.len() < limit { purge.finished() } else { purge })
///     }
/// }
/// ```
#[async_trait]
pub trait RecordStore<R: Record>: Store {
    /// Returns the record with that key.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn find(&self, key: &R::Key) -> Result<Option<Arc<R>>, StoreError>;

    /// Adds a record if none has its key.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; the write may or may not have taken effect.
    async fn insert(&self, record: Arc<R>) -> Result<Insertion, StoreError>;

    /// Replaces the record with the same key, if the stored one has this `version`.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; the write may or may not have taken effect.
    async fn replace(&self, version: u32, record: Arc<R>) -> Result<Replacement, StoreError>;

    /// Writes a record again, unchanged and durably, if the stored one equals it; the version stays.
    ///
    /// Any number of callers succeed. [`Replacement::Lost`] means that the record is missing or differs. Where
    /// [`reads_settled`](Store::reads_settled) is `true`, the server calls it only after a token was signed, since
    /// another request may have changed the record meanwhile.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; the record is then not known to be durable.
    async fn confirm(&self, record: Arc<R>) -> Result<Replacement, StoreError>;

    /// Returns records that are on the list of that name, including expired and revoked ones, in ascending order of
    /// their keys.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn list(&self, list: &str, page: Page<R::Key>) -> Result<Vec<Arc<R>>, StoreError>;

    /// Removes records whose [`purge_after`](Record::purge_after) is not later than `now`, examining at most `limit`.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; what was removed before that stays removed.
    async fn purge(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError>;
}

/// Keeps authorization requests and their codes: another name for `RecordStore<Authorization>`.
pub trait CodeStore: RecordStore<Authorization> {}

impl<S: RecordStore<Authorization> + ?Sized> CodeStore for S {}

/// Keeps grants, with all their tokens: another name for `RecordStore<Grant>`.
pub trait TokenStore: RecordStore<Grant> {}

impl<S: RecordStore<Grant> + ?Sized> TokenStore for S {}

/// Looks up clients, as every request does.
///
/// # Contract
///
/// Each rule names the tests of `grantor::testing::client_store` that check it (feature `testing`). Every
/// [`Engine`](crate::store::Engine) follows them.
///
/// 1. `client` may answer from a cache. The age of its answers limits how late a suspension or a reduced scope takes
///    effect. Each answer is a complete client as it was once written.
///    Kit: `client_answers_what_was_written`.
/// 2. `current_client` returns the last acknowledged write, never from a cache or a replica. A store without a cache
///    need not implement it.
///    Kit: `current_client_answers_the_last_write`.
/// 3. A client is read back equal in every field. An unregistered id has no client.
///    Kit: `an_unknown_id_has_no_client`.
///
/// # Atomicity
///
/// None is required: the calls only read.
///
/// # Security
///
/// A stale `current_client` lets a user consent to what an administrator has just revoked. The `id` comes from a
/// request, and may be a secret in the wrong parameter: do not log it or put it into an error.
///
/// # Examples
///
/// A directory with a fixed list of clients:
///
/// ```
/// use std::collections::HashMap;
/// use std::sync::Arc;
///
/// use grantor::store::{ClientStore, StoreError};
/// use grantor::{Client, ClientId};
///
/// #[derive(Debug)]
/// struct Directory(HashMap<ClientId, Arc<Client>>);
///
/// #[async_trait::async_trait]
/// impl ClientStore for Directory {
///     async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
///         Ok(self.0.get(id).cloned())
///     }
/// }
/// ```
#[async_trait]
pub trait ClientStore: fmt::Debug + Send + Sync + 'static {
    /// Returns the client with that id, if there is one; the answer may be from a cache.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError>;

    /// Returns the client with that id in its current state; by default, what [`client`](Self::client) returns.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn current_client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.client(id).await
    }
}

/// The maximum number of items on a page.
const MAX_ITEMS: usize = 1000;

/// A part of a list: at most `limit` items whose ids come after a given one.
///
/// To read the next page, pass the id of the last item. A page that is not full is the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<Id> {
    after: Option<Id>,
    limit: usize,
}

impl<Id: Ord> Page<Id> {
    /// Returns a page of the first `limit` items. The limit is clamped to the range 1 to 1000.
    #[must_use]
    pub fn first(limit: usize) -> Self {
        Self { after: None, limit: limit.clamp(1, MAX_ITEMS) }
    }

    /// Returns a page of the first `limit` items after `id`. The limit is clamped as in [`first`](Self::first).
    #[must_use]
    pub fn after(id: Id, limit: usize) -> Self {
        Self { after: Some(id), limit: limit.clamp(1, MAX_ITEMS) }
    }

    pub(crate) fn with_limit(self, limit: usize) -> Self {
        Self { limit: limit.max(1), ..self }
    }

    /// Returns the id after which the page begins.
    #[must_use]
    pub const fn start(&self) -> Option<&Id> {
        self.after.as_ref()
    }

    /// Returns the maximum number of items.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// Returns whether an item with that id belongs on this page or a later one.
    #[must_use]
    pub fn admits(&self, id: &Id) -> bool {
        self.after.as_ref().is_none_or(|start| id > start)
    }
}

/// The result of one step of a purge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Purge {
    removed: usize,
    finished: bool,
}

impl Purge {
    /// Creates the result of a step that removed `removed` records and may have left some.
    pub const fn new(removed: usize) -> Self {
        Self { removed, finished: false }
    }

    /// Marks the purge as finished: nothing was left to remove.
    pub const fn finished(self) -> Self {
        Self { finished: true, ..self }
    }

    /// Returns the number of removed records.
    #[must_use]
    pub const fn removed(&self) -> usize {
        self.removed
    }

    /// Returns whether nothing was left to remove.
    #[must_use]
    pub const fn is_finished(&self) -> bool {
        self.finished
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        Self { removed: self.removed + other.removed, finished: self.finished && other.finished }
    }
}

/// The result of an `insert`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "a store has exactly these two answers")]
pub enum Insertion {
    /// The row was added, as durably as the store promises.
    Inserted,
    /// A row with that key already exists; nothing was written.
    Exists,
}

/// The result of a `replace` or a `confirm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "a store has exactly these two answers")]
pub enum Replacement {
    /// The row was replaced, as durably as the store promises.
    Replaced,
    /// The row has another version, or for a `confirm` other bytes, or is missing; nothing was written.
    Lost,
}
