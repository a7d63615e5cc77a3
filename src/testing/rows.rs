//! What the rules need to know of a kind of record, so that they are written once.

use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use crate::clock::Timestamp;
use crate::model::id::{AuthorizationId, GrantId, PushedRequestId};
use crate::model::subject::Subject;
use crate::store::{
    Authorization, Grant, Insertion, Page, Purge, PushedRequest, Record, RecordStore, Replacement, RevocationReason,
    StoreError,
};
use crate::testing::records;

/// The rows of one kind in a store under test. A failure of the store in a call fails the rule.
#[derive(Debug)]
pub(super) struct Rows<'s, R: Record>(pub(super) &'s dyn RecordStore<R>);

impl<R: Record> Rows<'_, R> {
    pub(super) async fn find(&self, key: R::Key) -> Option<Arc<R>> {
        answer("find", self.try_find(key).await)
    }

    pub(super) async fn try_find(&self, key: R::Key) -> Result<Option<Arc<R>>, StoreError> {
        self.0.find(&key).await
    }

    pub(super) async fn insert(&self, row: &Arc<R>) -> Insertion {
        answer("insert", self.0.insert(row.clone()).await)
    }

    pub(super) async fn replace(&self, version: u32, row: &Arc<R>) -> Replacement {
        answer("replace", self.0.replace(version, row.clone()).await)
    }

    pub(super) async fn confirm(&self, row: &Arc<R>) -> Replacement {
        answer("confirm", self.0.confirm(row.clone()).await)
    }

    pub(super) async fn try_list(&self, subject: &Subject, page: Page<R::Key>) -> Result<Vec<Arc<R>>, StoreError> {
        self.0.list(subject, page).await
    }

    pub(super) async fn list(&self, subject: &Subject, page: Page<R::Key>) -> Vec<Arc<R>> {
        answer("the list of a subject", self.try_list(subject, page).await)
    }

    pub(super) async fn purge(&self, now: Timestamp, limit: usize) -> Purge {
        answer("purge", self.0.purge(now, limit).await)
    }
}

/// A kind of record of which the kit makes samples.
pub(super) trait Sample: Record<Key: Copy + Display + FromStr<Err: std::fmt::Debug>> {
    fn id(row: &Self) -> Self::Key {
        *row.key()
    }

    /// A new row of version 1. The kit counts versions, so that its failures are readable; the core draws them at random,
    /// which `large_versions_are_compared` covers.
    fn first(subject: &Subject, purge_after: Timestamp) -> Arc<Self>;
    /// Another row of version 1 with the id of `row`.
    fn rival(row: &Self, subject: &Subject, purge_after: Timestamp) -> Arc<Self>;
    /// The next version, another one each time.
    fn next(row: &Self, purge_after: Timestamp) -> Arc<Self>;
    /// The next version, revoked or denied.
    fn ended(row: &Self) -> Arc<Self>;
    /// The next version, which may be removed sooner than the row, if this kind has one.
    fn ended_sooner(row: &Self, purge_after: Timestamp) -> Option<Arc<Self>>;
    fn bytes(id: Self::Key) -> [u8; 16];
    /// The row under an id of these bytes.
    fn under(row: &Self, bytes: [u8; 16]) -> Arc<Self>;
    /// The row with that version.
    fn numbered(row: &Self, version: u32) -> Arc<Self>;
    fn without_subject(row: &Self) -> Arc<Self>;

    fn of_every_kind(subject: &Subject, purge_after: Timestamp) -> Vec<Self>;
    fn huge(subject: &Subject, purge_after: Timestamp) -> Arc<Self>;
}

impl Sample for Authorization {
    fn first(subject: &Subject, purge_after: Timestamp) -> Arc<Self> {
        Arc::new(records::authorization(subject, purge_after))
    }

    fn rival(row: &Self, subject: &Subject, purge_after: Timestamp) -> Arc<Self> {
        Arc::new(Self { id: row.id, ..records::authorization(subject, purge_after) })
    }

    fn next(row: &Self, purge_after: Timestamp) -> Arc<Self> {
        Arc::new(records::with_code(row, purge_after))
    }

    fn ended(row: &Self) -> Arc<Self> {
        Arc::new(Self { version: row.version.saturating_add(1), ..row.denied() })
    }

    fn ended_sooner(_: &Self, _: Timestamp) -> Option<Arc<Self>> {
        None
    }

    fn bytes(id: AuthorizationId) -> [u8; 16] {
        *id.as_bytes()
    }

    fn under(row: &Self, bytes: [u8; 16]) -> Arc<Self> {
        Arc::new(Self { id: AuthorizationId::from_bytes(bytes), ..row.clone() })
    }

    fn numbered(row: &Self, version: u32) -> Arc<Self> {
        Arc::new(Self { version, ..row.clone() })
    }

    fn without_subject(row: &Self) -> Arc<Self> {
        Arc::new(Self { subject: None, ..row.clone() })
    }

    fn of_every_kind(subject: &Subject, purge_after: Timestamp) -> Vec<Self> {
        records::authorizations_of_every_kind(subject, purge_after)
    }

    fn huge(subject: &Subject, purge_after: Timestamp) -> Arc<Self> {
        Arc::new(records::huge_authorization(subject, purge_after))
    }
}

impl Sample for Grant {
    fn first(subject: &Subject, purge_after: Timestamp) -> Arc<Self> {
        Arc::new(records::grant(subject, purge_after))
    }

    fn rival(row: &Self, subject: &Subject, purge_after: Timestamp) -> Arc<Self> {
        Arc::new(Self { id: row.id, ..records::grant(subject, purge_after) })
    }

    fn next(row: &Self, purge_after: Timestamp) -> Arc<Self> {
        Arc::new(records::refreshed(row, purge_after))
    }

    fn ended(row: &Self) -> Arc<Self> {
        Arc::new(records::revoked(row, RevocationReason::RevokedByUser))
    }

    fn ended_sooner(row: &Self, purge_after: Timestamp) -> Option<Arc<Self>> {
        Some(Arc::new(records::revoked_until(row, RevocationReason::RevokedByUser, purge_after)))
    }

    fn bytes(id: GrantId) -> [u8; 16] {
        *id.as_bytes()
    }

    fn under(row: &Self, bytes: [u8; 16]) -> Arc<Self> {
        Arc::new(Self { id: GrantId::from_bytes(bytes), ..row.clone() })
    }

    fn numbered(row: &Self, version: u32) -> Arc<Self> {
        Arc::new(Self { version, ..row.clone() })
    }

    fn without_subject(row: &Self) -> Arc<Self> {
        Arc::new(Self { subject: None, ..row.clone() })
    }

    fn of_every_kind(subject: &Subject, purge_after: Timestamp) -> Vec<Self> {
        records::grants_of_every_kind(subject, purge_after)
    }

    fn huge(subject: &Subject, purge_after: Timestamp) -> Arc<Self> {
        Arc::new(records::huge_grant(subject, purge_after))
    }
}

/// Pushed requests have no subject, and are on no list.
impl Sample for PushedRequest {
    fn first(_: &Subject, purge_after: Timestamp) -> Arc<Self> {
        Arc::new(records::pushed_request(purge_after))
    }

    fn rival(row: &Self, _: &Subject, purge_after: Timestamp) -> Arc<Self> {
        Arc::new(Self { id: row.id, ..records::pushed_request(purge_after) })
    }

    fn next(row: &Self, purge_after: Timestamp) -> Arc<Self> {
        Arc::new(records::visited(row, purge_after))
    }

    fn ended(row: &Self) -> Arc<Self> {
        Arc::new(records::used(row))
    }

    fn ended_sooner(_: &Self, _: Timestamp) -> Option<Arc<Self>> {
        None
    }

    fn bytes(id: PushedRequestId) -> [u8; 16] {
        *id.as_bytes()
    }

    fn under(row: &Self, bytes: [u8; 16]) -> Arc<Self> {
        Arc::new(Self { id: PushedRequestId::from_bytes(bytes), ..row.clone() })
    }

    fn numbered(row: &Self, version: u32) -> Arc<Self> {
        Arc::new(Self { version, ..row.clone() })
    }

    fn without_subject(row: &Self) -> Arc<Self> {
        Arc::new(row.clone())
    }

    fn of_every_kind(_: &Subject, purge_after: Timestamp) -> Vec<Self> {
        records::pushed_requests_of_every_kind(purge_after)
    }

    fn huge(_: &Subject, purge_after: Timestamp) -> Arc<Self> {
        Arc::new(records::huge_pushed_request(purge_after))
    }
}

/// Unwraps the answer of a store, which must not fail.
#[expect(clippy::panic, reason = "a rule fails by panicking, as every test does")]
#[track_caller]
pub(super) fn answer<T>(call: &str, answered: Result<T, StoreError>) -> T {
    match answered {
        Ok(answer) => answer,
        Err(error) => panic!("{call} failed where it should answer: {error:?}"),
    }
}
