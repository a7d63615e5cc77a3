//! The store of grants, with all their tokens.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::clock::Timestamp;
use crate::model::Grant;
use crate::model::id::GrantId;
use crate::model::subject::Subject;
use crate::store::answer::{Insertion, Replacement};
use crate::store::error::StoreError;
use crate::store::page::Page;
use crate::store::purge::Purge;

/// Keeps grants: all tokens of one consent, in one record.
#[doc = ""]
#[doc = include_str!("record_contract.md")]
///
/// # Security
///
/// If two callers win an `insert`, one code gives two grants. If a `replace` overwrites a version that its caller did
/// not read, a concurrent refresh undoes a revocation. If an acknowledged write is not found, a revoked token works
/// again.
///
/// # Examples
///
/// A database implements [`Engine`](crate::store::Engine) instead, which provides this trait. The following store keeps
/// the records themselves. It follows every rule except the one on costs, since it has no index:
///
/// ```
/// use std::collections::BTreeMap;
/// use std::sync::{Arc, Mutex};
///
/// use grantor::store::{Grant, Insertion, Page, Purge, Replacement, StoreError, TokenStore};
/// use grantor::{Subject, Timestamp};
/// use grantor::id::GrantId;
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
///     async fn confirm(&self, record: Arc<Grant>) -> Result<Replacement, StoreError> {
///         let same = self.0.lock().unwrap().get(&record.id()) == Some(&record);
///         Ok(if same { Replacement::Replaced } else { Replacement::Lost })
///     }
///     async fn grants_of(&self, subject: &Subject, page: Page<GrantId>) -> Result<Vec<Arc<Grant>>, StoreError> {
///         let rows = self.0.lock().unwrap();
///         let of_subject = rows.values().filter(|grant| grant.subject() == Some(subject) && page.admits(&grant.id()));
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
///
/// [`StoreError::unreadable`]: crate::store::StoreError::unreadable
/// [`purge_after`]: Grant::purge_after
#[async_trait]
pub trait TokenStore: fmt::Debug + Send + Sync + 'static {
    /// Returns whether a read returns only writes that no fail-over can undo; `false` by default.
    ///
    /// If it is `false`, the server [confirms](Self::confirm) a row before it acknowledges anything that depends on
    /// having read it.
    fn reads_settled(&self) -> bool {
        false
    }

    /// Returns the grant with that id.
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

    /// Replaces the grant with the same id, if the stored one has this `version`.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; the write may or may not have taken effect.
    async fn replace(&self, version: u32, record: Arc<Grant>) -> Result<Replacement, StoreError>;

    /// Writes a grant again, unchanged and durably, if the stored one equals it; the version stays.
    ///
    /// Any number of callers succeed. [`Replacement::Lost`] means that the row is missing or differs.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn confirm(&self, record: Arc<Grant>) -> Result<Replacement, StoreError>;

    /// Returns grants of that subject, including revoked ones, in ascending order of their ids.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed.
    async fn grants_of(&self, subject: &Subject, page: Page<GrantId>) -> Result<Vec<Arc<Grant>>, StoreError>;

    /// Removes grants whose [`purge_after`](Grant::purge_after) is not later than `now`, examining at most `limit`.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store failed; what was removed before that stays removed.
    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError>;
}
