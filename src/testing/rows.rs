//! What the stores of records have in common, so that their rules are written once.

use std::fmt::{Debug, Display};
use std::future::Future;
use std::str::FromStr;
use std::sync::Arc;

use crate::clock::Timestamp;
use crate::model::Record;
use crate::model::id::{AuthorizationId, GrantId, PushedRequestId};
use crate::model::subject::Subject;
use crate::store::{
    Authorization, CodeStore, Grant, Insertion, Page, Purge, PushedRequest, PushedRequestStore, Replacement,
    RevocationReason, StoreError, TokenStore,
};
use crate::testing::records;

/// The authorizations of a store under test.
#[derive(Debug)]
pub(super) struct Codes<'s, S>(pub(super) &'s S);

/// The grants of a store under test.
#[derive(Debug)]
pub(super) struct Tokens<'s, S>(pub(super) &'s S);

/// The pushed requests of a store under test.
#[derive(Debug)]
pub(super) struct PushedRequests<'s, S>(pub(super) &'s S);

/// The answer of a store to a call for a list.
pub(super) type Listed<R> = Result<Vec<Arc<R>>, StoreError>;

/// One kind of rows in a store under test.
pub(super) trait Rows: Sync {
    type Id: Copy + Ord + Debug + Display + FromStr<Err: Debug> + Send + Sync;
    type Row: Record + PartialEq + Debug;

    fn try_find(&self, id: Self::Id) -> impl Future<Output = Result<Option<Arc<Self::Row>>, StoreError>> + Send;
    fn try_list(&self, subject: &Subject, page: Page<Self::Id>) -> impl Future<Output = Listed<Self::Row>> + Send;

    // A failure of the store in one of these fails the rule.

    fn find(&self, id: Self::Id) -> impl Future<Output = Option<Arc<Self::Row>>> + Send {
        async move { answer("find", self.try_find(id).await) }
    }

    fn insert(&self, row: &Arc<Self::Row>) -> impl Future<Output = Insertion> + Send;
    fn replace(&self, version: u32, row: &Arc<Self::Row>) -> impl Future<Output = Replacement> + Send;
    fn confirm(&self, row: &Arc<Self::Row>) -> impl Future<Output = Replacement> + Send;

    fn list(&self, subject: &Subject, page: Page<Self::Id>) -> impl Future<Output = Vec<Arc<Self::Row>>> + Send {
        async move { answer("the list of a subject", self.try_list(subject, page).await) }
    }

    fn purge(&self, now: Timestamp, limit: usize) -> impl Future<Output = Purge> + Send;

    fn id(row: &Self::Row) -> Self::Id;

    /// A new row of version 1. The kit counts versions, so that its failures are readable; the core draws them at random,
    /// which `large_versions_are_compared` covers.
    fn first(subject: &Subject, purge_after: Timestamp) -> Arc<Self::Row>;
    /// Another row of version 1 with the id of `row`.
    fn rival(row: &Self::Row, subject: &Subject, purge_after: Timestamp) -> Arc<Self::Row>;
    /// The next version, another one each time.
    fn next(row: &Self::Row, purge_after: Timestamp) -> Arc<Self::Row>;
    /// The next version, revoked or denied.
    fn ended(row: &Self::Row) -> Arc<Self::Row>;
    /// The next version, which may be removed sooner than the row, if this kind has one.
    fn ended_sooner(row: &Self::Row, purge_after: Timestamp) -> Option<Arc<Self::Row>>;
    fn bytes(id: Self::Id) -> [u8; 16];
    /// The row under an id of these bytes.
    fn under(row: &Self::Row, bytes: [u8; 16]) -> Arc<Self::Row>;
    /// The row with that version.
    fn numbered(row: &Self::Row, version: u32) -> Arc<Self::Row>;
    fn without_subject(row: &Self::Row) -> Arc<Self::Row>;

    fn of_every_kind(subject: &Subject, purge_after: Timestamp) -> Vec<Self::Row>;
    fn huge(subject: &Subject, purge_after: Timestamp) -> Arc<Self::Row>;
}

impl<S: CodeStore> Rows for Codes<'_, S> {
    type Id = AuthorizationId;
    type Row = Authorization;

    async fn try_find(&self, id: AuthorizationId) -> Result<Option<Arc<Authorization>>, StoreError> {
        self.0.find(&id).await
    }

    async fn try_list(&self, subject: &Subject, page: Page<AuthorizationId>) -> Listed<Authorization> {
        self.0.authorizations_of(subject, page).await
    }

    async fn insert(&self, row: &Arc<Authorization>) -> Insertion {
        answer("insert", self.0.insert(row.clone()).await)
    }

    async fn replace(&self, version: u32, row: &Arc<Authorization>) -> Replacement {
        answer("replace", self.0.replace(version, row.clone()).await)
    }

    async fn confirm(&self, row: &Arc<Authorization>) -> Replacement {
        answer("confirm", self.0.confirm(row.clone()).await)
    }

    async fn purge(&self, now: Timestamp, limit: usize) -> Purge {
        answer("purge_expired", self.0.purge_expired(now, limit).await)
    }

    fn id(row: &Authorization) -> AuthorizationId {
        row.id
    }

    fn first(subject: &Subject, purge_after: Timestamp) -> Arc<Authorization> {
        Arc::new(records::authorization(subject, purge_after))
    }

    fn rival(row: &Authorization, subject: &Subject, purge_after: Timestamp) -> Arc<Authorization> {
        Arc::new(Authorization { id: row.id, ..records::authorization(subject, purge_after) })
    }

    fn next(row: &Authorization, purge_after: Timestamp) -> Arc<Authorization> {
        Arc::new(records::with_code(row, purge_after))
    }

    fn ended(row: &Authorization) -> Arc<Authorization> {
        Arc::new(Authorization { version: row.version.saturating_add(1), ..row.denied() })
    }

    fn ended_sooner(_: &Authorization, _: Timestamp) -> Option<Arc<Authorization>> {
        None
    }

    fn bytes(id: AuthorizationId) -> [u8; 16] {
        *id.as_bytes()
    }

    fn under(row: &Authorization, bytes: [u8; 16]) -> Arc<Authorization> {
        Arc::new(Authorization { id: AuthorizationId::from_bytes(bytes), ..row.clone() })
    }

    fn numbered(row: &Authorization, version: u32) -> Arc<Authorization> {
        Arc::new(Authorization { version, ..row.clone() })
    }

    fn without_subject(row: &Authorization) -> Arc<Authorization> {
        Arc::new(Authorization { subject: None, ..row.clone() })
    }

    fn of_every_kind(subject: &Subject, purge_after: Timestamp) -> Vec<Authorization> {
        records::authorizations_of_every_kind(subject, purge_after)
    }

    fn huge(subject: &Subject, purge_after: Timestamp) -> Arc<Authorization> {
        Arc::new(records::huge_authorization(subject, purge_after))
    }
}

impl<S: TokenStore> Rows for Tokens<'_, S> {
    type Id = GrantId;
    type Row = Grant;

    async fn try_find(&self, id: GrantId) -> Result<Option<Arc<Grant>>, StoreError> {
        self.0.find(&id).await
    }

    async fn try_list(&self, subject: &Subject, page: Page<GrantId>) -> Listed<Grant> {
        self.0.grants_of(subject, page).await
    }

    async fn insert(&self, row: &Arc<Grant>) -> Insertion {
        answer("insert", self.0.insert(row.clone()).await)
    }

    async fn replace(&self, version: u32, row: &Arc<Grant>) -> Replacement {
        answer("replace", self.0.replace(version, row.clone()).await)
    }

    async fn confirm(&self, row: &Arc<Grant>) -> Replacement {
        answer("confirm", self.0.confirm(row.clone()).await)
    }

    async fn purge(&self, now: Timestamp, limit: usize) -> Purge {
        answer("purge_expired", self.0.purge_expired(now, limit).await)
    }

    fn id(row: &Grant) -> GrantId {
        row.id
    }

    fn first(subject: &Subject, purge_after: Timestamp) -> Arc<Grant> {
        Arc::new(records::grant(subject, purge_after))
    }

    fn rival(row: &Grant, subject: &Subject, purge_after: Timestamp) -> Arc<Grant> {
        Arc::new(Grant { id: row.id, ..records::grant(subject, purge_after) })
    }

    fn next(row: &Grant, purge_after: Timestamp) -> Arc<Grant> {
        Arc::new(records::refreshed(row, purge_after))
    }

    fn ended(row: &Grant) -> Arc<Grant> {
        Arc::new(records::revoked(row, RevocationReason::RevokedByUser))
    }

    fn ended_sooner(row: &Grant, purge_after: Timestamp) -> Option<Arc<Grant>> {
        Some(Arc::new(records::revoked_until(row, RevocationReason::RevokedByUser, purge_after)))
    }

    fn bytes(id: GrantId) -> [u8; 16] {
        *id.as_bytes()
    }

    fn under(row: &Grant, bytes: [u8; 16]) -> Arc<Grant> {
        Arc::new(Grant { id: GrantId::from_bytes(bytes), ..row.clone() })
    }

    fn numbered(row: &Grant, version: u32) -> Arc<Grant> {
        Arc::new(Grant { version, ..row.clone() })
    }

    fn without_subject(row: &Grant) -> Arc<Grant> {
        Arc::new(Grant { subject: None, ..row.clone() })
    }

    fn of_every_kind(subject: &Subject, purge_after: Timestamp) -> Vec<Grant> {
        records::grants_of_every_kind(subject, purge_after)
    }

    fn huge(subject: &Subject, purge_after: Timestamp) -> Arc<Grant> {
        Arc::new(records::huge_grant(subject, purge_after))
    }
}

/// Pushed requests have no subject, and are on no list.
impl<S: PushedRequestStore> Rows for PushedRequests<'_, S> {
    type Id = PushedRequestId;
    type Row = PushedRequest;

    async fn try_find(&self, id: PushedRequestId) -> Result<Option<Arc<PushedRequest>>, StoreError> {
        self.0.find(&id).await
    }

    async fn try_list(&self, _: &Subject, _: Page<PushedRequestId>) -> Listed<PushedRequest> {
        Ok(Vec::new())
    }

    async fn insert(&self, row: &Arc<PushedRequest>) -> Insertion {
        answer("insert", self.0.insert(row.clone()).await)
    }

    async fn replace(&self, version: u32, row: &Arc<PushedRequest>) -> Replacement {
        answer("replace", self.0.replace(version, row.clone()).await)
    }

    async fn confirm(&self, row: &Arc<PushedRequest>) -> Replacement {
        answer("confirm", self.0.confirm(row.clone()).await)
    }

    async fn purge(&self, now: Timestamp, limit: usize) -> Purge {
        answer("purge_expired", self.0.purge_expired(now, limit).await)
    }

    fn id(row: &PushedRequest) -> PushedRequestId {
        row.id
    }

    fn first(_: &Subject, purge_after: Timestamp) -> Arc<PushedRequest> {
        Arc::new(records::pushed_request(purge_after))
    }

    fn rival(row: &PushedRequest, _: &Subject, purge_after: Timestamp) -> Arc<PushedRequest> {
        Arc::new(PushedRequest { id: row.id, ..records::pushed_request(purge_after) })
    }

    fn next(row: &PushedRequest, purge_after: Timestamp) -> Arc<PushedRequest> {
        Arc::new(records::visited(row, purge_after))
    }

    fn ended(row: &PushedRequest) -> Arc<PushedRequest> {
        Arc::new(records::used(row))
    }

    fn ended_sooner(_: &PushedRequest, _: Timestamp) -> Option<Arc<PushedRequest>> {
        None
    }

    fn bytes(id: PushedRequestId) -> [u8; 16] {
        *id.as_bytes()
    }

    fn under(row: &PushedRequest, bytes: [u8; 16]) -> Arc<PushedRequest> {
        Arc::new(PushedRequest { id: PushedRequestId::from_bytes(bytes), ..row.clone() })
    }

    fn numbered(row: &PushedRequest, version: u32) -> Arc<PushedRequest> {
        Arc::new(PushedRequest { version, ..row.clone() })
    }

    fn without_subject(row: &PushedRequest) -> Arc<PushedRequest> {
        Arc::new(row.clone())
    }

    fn of_every_kind(_: &Subject, purge_after: Timestamp) -> Vec<PushedRequest> {
        records::pushed_requests_of_every_kind(purge_after)
    }

    fn huge(_: &Subject, purge_after: Timestamp) -> Arc<PushedRequest> {
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
