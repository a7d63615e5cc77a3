//! What is remembered: small traits, their contract, and what travels through them.
//!
//! Every state change of a flow is one write of one row by its primary key. A store holds no rule of
//! OAuth: it finds, inserts and swaps records whose fields it need not understand.

pub(crate) mod cached;
pub(crate) mod memory;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
pub(crate) mod record;
#[cfg(feature = "redis")]
pub(crate) mod redis;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::client::Client;
use crate::client::application::{Application, ApplicationFilter, Logo, LogoSlot};
use crate::clock::Timestamp;
use crate::codec::DecodeError;
use crate::id::{AuthorizationId, ClientId, GrantId};
use crate::subject::Subject;

pub use crate::store::record::{Authorization, Grant, Revocation, RevocationReason};

/// Looks clients up; every request does.
///
/// # Contract
///
/// After each rule stand the tests of `grantor::testing::client_store` that show it (feature `testing`).
///
/// 1. `find` may answer from a cache. The age of what it answers bounds how late a suspension or a
///    narrowed scope is seen; it is a client as it was written once, in whole.
///    Kit: `find_answers_what_was_written`.
/// 2. `current` answers what the last acknowledged write left, from no cache and no replica.
///    Kit: `current_answers_the_last_write`.
/// 3. A client comes back equal in every field; an id that nobody registered has none.
///    Kit: `every_field_comes_back`, `an_unknown_id_has_no_client`.
///
/// # Atomicity
///
/// None is asked for: both only read.
///
/// # Security
///
/// A stale `current` lets a user consent to what an administrator has just withdrawn.
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
///     async fn find(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
///         Ok(self.0.get(id).cloned())
///     }
///
///     async fn current(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
///         self.find(id).await
///     }
/// }
/// ```
#[async_trait]
pub trait ClientStore: fmt::Debug + Send + Sync + 'static {
    /// Returns the client of that id, if there is one; the answer may be from a cache.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn find(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError>;

    /// Returns the client of that id as it is now.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn current(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError>;
}

/// Keeps registrations: a [`ClientStore`] that can also be written.
///
/// # Contract
///
/// After each rule stand the tests of `grantor::testing::client_registry` that show it (feature `testing`).
///
/// 1. `insert` succeeds for exactly one of all callers with the same id; the others get `Exists` and
///    change nothing. Ids are equal when their octets are.
///    Kit: `insert_has_one_winner`, `insert_leaves_what_is_there`, `ids_are_told_apart`.
/// 2. `replace` succeeds for exactly one of all callers with the same expected version;
///    `Lost` if the row has another version or is missing, and then nothing changes.
///    Kit: `replace_has_one_winner`, `replace_of_a_missing_client_is_lost`,
///    `replace_of_another_version_is_lost`, `large_versions_are_compared`, `no_update_is_lost`.
/// 3. Client, application and logos of one registration change together or not at all.
///    Kit: `all_parts_change_together`, `readers_see_no_half_of_a_write`.
/// 4. What was acknowledged is found by every later call but `find`, also after a crash.
///    Kit: `acknowledged_writes_are_found`.
/// 5. `list` returns what [`Application::filters`] names, in the ascending order of ids, compared as
///    octets, at once after the write.
///    Kit: `lists_follow_every_move`, `a_list_is_of_one_owner`, `a_list_is_in_the_order_of_ids`,
///    `pages_hold_every_application_once`, `pages_miss_nothing_that_stays`.
/// 6. Application and logos come back equal in every field, whatever texts they hold.
///    Kit: `every_field_comes_back`, `the_largest_registration_comes_back`.
///
/// # Atomicity
///
/// One transaction over the rows of one client, or one row that holds all but the logos.
///
/// # Security
///
/// A lost update may undo a suspension.
#[async_trait]
pub trait ClientRegistry: ClientStore {
    /// Adds a registration under its client's id.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; the write may or may not have taken effect.
    async fn insert(&self, registration: Registration) -> Result<Insertion, StoreError>;

    /// Puts a registration in the place of the one that has `version`.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; the write may or may not have taken effect.
    async fn replace(&self, version: u32, registration: Registration) -> Result<Replacement, StoreError>;

    /// Returns the form and the review of that client.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn application(&self, id: &ClientId) -> Result<Option<Arc<Application>>, StoreError>;

    /// Returns a logo of that client.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn logo(&self, id: &ClientId, slot: LogoSlot) -> Result<Option<Arc<Logo>>, StoreError>;

    /// Returns applications that the filter names, ids ascending.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn list(&self, filter: &ApplicationFilter, page: Page<ClientId>)
    -> Result<Vec<Arc<Application>>, StoreError>;
}

/// Keeps authorization requests and their codes.
///
/// # Contract
///
/// After each rule stand the tests of `grantor::testing::code_store` that show it (feature `testing`).
///
/// 1. `insert` succeeds for exactly one of all callers with the same id; the others get `Exists` and
///    change nothing.
///    Kit: `insert_has_one_winner`, `insert_leaves_the_row_that_is_there`, `ids_are_told_apart`.
/// 2. `replace` succeeds for exactly one of all callers with the same expected version; the others,
///    and all for a missing row, get `Lost` and change nothing.
///    Kit: `replace_has_one_winner`, `replace_of_a_missing_row_is_lost`,
///    `replace_of_another_version_is_lost`, `large_versions_are_compared`, `no_update_is_lost`.
/// 3. What was acknowledged is found by every later `find`, from every node, also after a crash if the
///    store is durable: `find` reads no replica that may lag.
///    Kit: `acknowledged_writes_are_found`, `losers_find_the_winner`, `readers_never_go_back`.
/// 4. A record comes back equal in every field, whatever octets it holds.
///    Kit: `every_field_comes_back`, `the_largest_record_comes_back`.
/// 5. An acknowledged authorization is in `authorizations_of` its subject at once. Subjects are equal
///    when their octets are, and ids are in the order of theirs.
///    Kit: `a_row_is_listed_at_once`, `rows_of_every_kind_are_listed`, `a_list_is_of_one_subject`,
///    `a_list_is_in_the_order_of_ids`, `pages_hold_every_row_once`,
///    `a_page_starts_after_an_id_that_is_gone`, `pages_miss_nothing_that_stays`.
/// 6. `purge_expired` removes only records whose [`purge_after`](Authorization::purge_after) is not
///    later than `now`, looks at no more than `limit` records, and goes on where it stopped when
///    called again. A removal is conditional on the version, so that it never loses a write.
///    Kit: `a_purge_waits_for_the_end`, `a_purge_follows_a_moved_end`,
///    `a_purge_takes_rows_of_every_kind`, `a_purge_is_bounded_and_finishes`,
///    `a_purge_steps_over_nothing_alive`, `a_purge_loses_no_write`, `purges_share_the_work`.
/// 7. `find`, `insert` and `replace` cost the same at a thousand and at a hundred million records.
///    Kit: `calls_cost_the_same`, for a store that counts its statements.
/// 8. A write is applied within an hour of its call or never. No test shows this.
///
/// # Atomicity
///
/// SQL: `INSERT … ON CONFLICT DO NOTHING` and `UPDATE … WHERE id = ? AND version = ?`, with the row
/// count as the answer. Key-value stores: one script per key, or the engine's own revision. Memory: a
/// lock held from comparison to write.
///
/// # Security
///
/// If two callers win, one consent becomes two codes. If an acknowledged write is not found, a code
/// that was spent may work again.
///
/// # Examples
///
/// See [`TokenStore`], whose shape is the same.
#[async_trait]
pub trait CodeStore: fmt::Debug + Send + Sync + 'static {
    /// Returns the authorization of that id.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn find(&self, id: &AuthorizationId) -> Result<Option<Arc<Authorization>>, StoreError>;

    /// Adds an authorization under its id.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; the write may or may not have taken effect.
    async fn insert(&self, record: Arc<Authorization>) -> Result<Insertion, StoreError>;

    /// Puts an authorization in the place of the one that has its id and `version`.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; the write may or may not have taken effect.
    async fn replace(&self, version: u32, record: Arc<Authorization>) -> Result<Replacement, StoreError>;

    /// Returns authorizations of that subject, ids ascending.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn authorizations_of(
        &self,
        subject: &Subject,
        page: Page<AuthorizationId>,
    ) -> Result<Vec<Arc<Authorization>>, StoreError>;

    /// Removes what may be removed at `now`, looking at no more than `limit` records.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; what was removed before that stays removed.
    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError>;
}

/// Keeps grants: all tokens that grew from one consent, in one record.
///
/// # Contract
///
/// After each rule stand the tests of `grantor::testing::token_store` that show it (feature `testing`).
///
/// 1. `insert` succeeds for exactly one of all callers with the same id; the others get `Exists` and
///    change nothing.
///    Kit: `insert_has_one_winner`, `insert_leaves_the_row_that_is_there`, `ids_are_told_apart`.
/// 2. `replace` succeeds for exactly one of all callers with the same expected version; the others,
///    and all for a missing row, get `Lost` and change nothing.
///    Kit: `replace_has_one_winner`, `replace_of_a_missing_row_is_lost`,
///    `replace_of_another_version_is_lost`, `large_versions_are_compared`, `no_update_is_lost`.
/// 3. What was acknowledged is found by every later `find`, from every node, also after a crash if the
///    store is durable: `find` reads no replica that may lag.
///    Kit: `acknowledged_writes_are_found`, `losers_find_the_winner`, `readers_never_go_back`.
/// 4. A record comes back equal in every field, whatever octets it holds.
///    Kit: `every_field_comes_back`, `the_largest_record_comes_back`.
/// 5. An acknowledged grant is in `grants_of` its subject at once. Subjects are equal when their octets
///    are, and ids are in the order of theirs. Where the list is a second key, its entry is written
///    first; entries without a row are dropped when they are older than an hour.
///    Kit: `a_row_is_listed_at_once`, `rows_of_every_kind_are_listed`, `a_list_is_of_one_subject`,
///    `a_list_is_in_the_order_of_ids`, `pages_hold_every_row_once`,
///    `a_page_starts_after_an_id_that_is_gone`, `pages_miss_nothing_that_stays`.
/// 6. `purge_expired` removes only records whose [`purge_after`](Grant::purge_after) is not later
///    than `now`, looks at no more than `limit` records, goes on where it stopped when called again,
///    and never walks over what is alive: the store keeps an index of `purge_after` that may be earlier
///    than the record's own and is moved when the purge meets the row, so that a refresh writes no
///    index. A removal is conditional on the version, so that it never loses a write.
///    Kit: `a_purge_waits_for_the_end`, `a_purge_follows_a_moved_end`,
///    `a_purge_takes_rows_of_every_kind`, `a_purge_is_bounded_and_finishes`,
///    `a_purge_steps_over_nothing_alive`, `a_purge_loses_no_write`, `purges_share_the_work`.
/// 7. `find`, `insert` and `replace` cost the same at a thousand and at a hundred million records.
///    Kit: `calls_cost_the_same`, for a store that counts its statements.
/// 8. A write is applied within an hour of its call or never. No test shows this.
///
/// # Atomicity
///
/// SQL: `INSERT … ON CONFLICT DO NOTHING` and `UPDATE … WHERE id = ? AND version = ?`, with the row
/// count as the answer. Key-value stores: one script per key, or the engine's own revision. Memory: a
/// lock held from comparison to write.
///
/// # Security
///
/// If two callers win an `insert`, one code gives two grants. If a `replace` overwrites what it did
/// not read, a refresh in flight undoes a revocation. If an acknowledged write is not found, a
/// revoked token works again.
///
/// # Examples
///
/// A whole store that keeps every rule but the costs, since it has no index: lists and purge look at every
/// row.
///
/// ```
/// use std::collections::BTreeMap;
/// use std::sync::{Arc, Mutex};
///
/// use grantor::store::{Grant, Insertion, Page, Purge, Replacement, StoreError, TokenStore};
/// use grantor::{GrantId, Subject, Timestamp};
///
/// #[derive(Debug, Default)]
/// struct Simple(Mutex<BTreeMap<GrantId, Arc<Grant>>>);
///
/// #[async_trait::async_trait]
/// impl TokenStore for Simple {
///     async fn find(&self, id: &GrantId) -> Result<Option<Arc<Grant>>, StoreError> {
///         Ok(self.0.lock().unwrap().get(id).cloned())
///     }
///     async fn insert(&self, record: Arc<Grant>) -> Result<Insertion, StoreError> {
///         let mut rows = self.0.lock().unwrap();
///         if rows.contains_key(&record.id()) {
///             return Ok(Insertion::Exists);
///         }
///         rows.insert(record.id(), record);
///         Ok(Insertion::Inserted)
///     }
///     async fn replace(&self, version: u32, record: Arc<Grant>) -> Result<Replacement, StoreError> {
///         match self.0.lock().unwrap().get_mut(&record.id()) {
///             Some(row) if row.version() == version => *row = record,
///             _ => return Ok(Replacement::Lost),
///         }
///         Ok(Replacement::Replaced)
///     }
///     async fn grants_of(&self, subject: &Subject, page: Page<GrantId>) -> Result<Vec<Arc<Grant>>, StoreError> {
///         let rows = self.0.lock().unwrap();
///         let of_subject = rows.values().filter(|grant| grant.subject() == subject && page.admits(&grant.id()));
///         Ok(of_subject.take(page.limit()).cloned().collect())
///     }
///     async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
///         let mut rows = self.0.lock().unwrap();
///         let due = rows.values().filter(|grant| grant.purge_after() <= now).take(limit);
///         let due: Vec<_> = due.map(|grant| grant.id()).collect();
///         due.iter().for_each(|id| drop(rows.remove(id)));
///         let purge = Purge::new(due.len());
///         Ok(if due.len() < limit { purge.finished() } else { purge })
///     }
/// }
/// ```
#[async_trait]
pub trait TokenStore: fmt::Debug + Send + Sync + 'static {
    /// Returns the grant of that id.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn find(&self, id: &GrantId) -> Result<Option<Arc<Grant>>, StoreError>;

    /// Adds a grant under its id.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; the write may or may not have taken effect.
    async fn insert(&self, record: Arc<Grant>) -> Result<Insertion, StoreError>;

    /// Puts a grant in the place of the one that has its id and `version`.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; the write may or may not have taken effect.
    async fn replace(&self, version: u32, record: Arc<Grant>) -> Result<Replacement, StoreError>;

    /// Returns grants of that subject, revoked ones too, ids ascending.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn grants_of(&self, subject: &Subject, page: Page<GrantId>) -> Result<Vec<Arc<Grant>>, StoreError>;

    /// Removes what may be removed at `now`, looking at no more than `limit` records.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; what was removed before that stays removed.
    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError>;
}

/// The stores of one authorization server.
#[derive(Clone, Debug)]
pub struct Stores {
    pub(crate) clients: Arc<dyn ClientStore>,
    pub(crate) registry: Option<Arc<dyn ClientRegistry>>,
    pub(crate) codes: Arc<dyn CodeStore>,
    pub(crate) tokens: Arc<dyn TokenStore>,
}

impl Stores {
    /// Puts three stores together; without a registry, applications are administered elsewhere.
    #[must_use]
    pub fn new(clients: impl ClientStore, codes: impl CodeStore, tokens: impl TokenStore) -> Self {
        Self { clients: Arc::new(clients), registry: None, codes: Arc::new(codes), tokens: Arc::new(tokens) }
    }

    /// Sets where registrations are written; clients are still looked up in the store given before.
    #[must_use]
    pub fn with_registry(self, registry: impl ClientRegistry) -> Self {
        Self { registry: Some(Arc::new(registry)), ..self }
    }
}

impl<S: ClientRegistry + CodeStore + TokenStore> From<Arc<S>> for Stores {
    fn from(store: Arc<S>) -> Self {
        Self { clients: store.clone(), registry: Some(store.clone()), codes: store.clone(), tokens: store }
    }
}

impl<S: ClientRegistry + CodeStore + TokenStore> From<S> for Stores {
    fn from(store: S) -> Self {
        Arc::new(store).into()
    }
}

/// What is written of one application.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Registration {
    /// What every request reads; its id is the key, its version the number of this state.
    pub client: Client,
    /// The form and its review.
    pub application: Application,
    /// What happens to the logo in force.
    pub logo: LogoWrite,
    /// What happens to the logo that is proposed.
    pub proposed_logo: LogoWrite,
}

impl Registration {
    /// A write that leaves both logos as they are.
    #[must_use]
    pub const fn new(client: Client, application: Application) -> Self {
        Self { client, application, logo: LogoWrite::Keep, proposed_logo: LogoWrite::Keep }
    }
}

/// What a write does to one logo.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LogoWrite {
    /// Leaves it as it is.
    Keep,
    /// Removes it.
    Clear,
    /// Puts this one in its place.
    Put(Arc<Logo>),
}

/// The answer of an `insert`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "a store has these two answers, whatever comes")]
pub enum Insertion {
    /// The row was added, as durably as the store promises.
    Inserted,
    /// There was a row of that id already; nothing was written.
    Exists,
}

/// The answer of a `replace`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "a store has these two answers, whatever comes")]
pub enum Replacement {
    /// The row was replaced, as durably as the store promises.
    Replaced,
    /// The row has another version or is missing; nothing was written.
    Lost,
}

/// A part of a list: at most `limit` items whose ids come after a given one.
///
/// Whoever reads on gives the id of the last item that came; a list ends with a page that is not full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<Id> {
    after: Option<Id>,
    limit: usize,
}

impl<Id: Ord> Page<Id> {
    /// Returns the first `limit` items, at least one.
    #[must_use]
    pub fn first(limit: usize) -> Self {
        Self { after: None, limit: limit.max(1) }
    }

    /// Returns the first `limit` items after `id`, at least one.
    #[must_use]
    pub fn after(id: Id, limit: usize) -> Self {
        Self { after: Some(id), limit: limit.max(1) }
    }

    /// Returns the id after which the page begins.
    #[must_use]
    pub const fn start(&self) -> Option<&Id> {
        self.after.as_ref()
    }

    /// Returns the most items that may come.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// Tells whether an item of that id belongs on this page or a later one.
    #[must_use]
    pub fn admits(&self, id: &Id) -> bool {
        self.after.as_ref().is_none_or(|start| id > start)
    }
}

/// What one step of a purge did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Purge {
    removed: usize,
    finished: bool,
}

impl Purge {
    /// A step that removed so many records and may have left some.
    pub const fn new(removed: usize) -> Self {
        Self { removed, finished: false }
    }

    /// Says that nothing was left to remove.
    pub const fn finished(self) -> Self {
        Self { finished: true, ..self }
    }

    /// Returns the count of records removed.
    #[must_use]
    pub const fn removed(&self) -> usize {
        self.removed
    }

    /// Tells whether nothing was left to remove.
    #[must_use]
    pub const fn is_finished(&self) -> bool {
        self.finished
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        Self { removed: self.removed + other.removed, finished: self.finished && other.finished }
    }
}

/// A failure of the store itself; what was asked for may or may not have taken effect.
///
/// It is answered with 503, or 500 if it will not pass, and never takes anything from anybody.
#[derive(Debug, thiserror::Error)]
#[error("the store failed")]
pub struct StoreError {
    transient: bool,
    source: Box<dyn Error + Send + Sync>,
}

impl StoreError {
    /// A failure that may pass: a lost connection, a full queue, a time-out.
    pub fn transient(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { transient: true, source: source.into() }
    }

    /// A failure that stays until somebody acts: a missing table, a record that cannot be read.
    pub fn permanent(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { transient: false, source: source.into() }
    }

    /// Tells whether the failure may pass by itself.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        self.transient
    }
}

impl From<DecodeError> for StoreError {
    fn from(error: DecodeError) -> Self {
        Self::permanent(error)
    }
}
