//! What the rules need to know of a kind of record, so that they are written once.

use std::fmt::{self, Display};
use std::str::FromStr;
use std::sync::Arc;

use crate::clock::Timestamp;
use crate::model::application::{Application, ApplicationFilter};
use crate::model::client::ClientState;
use crate::model::id::{AuthorizationId, ClientId, GrantId, PushedRequestId};
use crate::model::subject::Subject;
use crate::store::{
    Authorization, Grant, Insertion, Page, Purge, PushedRequest, Record, RecordStore, Replacement, RevocationReason,
    StoreError,
};
use crate::testing::draw::sound;
use crate::testing::records;

/// The rows of one kind in a store under test. A failure of the store in a call fails the rule.
#[derive(Debug)]
pub(super) struct Rows<'s, R: Record>(pub(super) &'s dyn RecordStore<R>);

impl<R: Sample> Rows<'_, R> {
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
        self.0.list(&R::list_of(subject), page).await
    }

    pub(super) async fn list(&self, subject: &Subject, page: Page<R::Key>) -> Vec<Arc<R>> {
        answer("the list of a subject", self.try_list(subject, page).await)
    }

    pub(super) async fn purge(&self, now: Timestamp, limit: usize) -> Purge {
        answer("purge", self.0.purge(now, limit).await)
    }
}

/// A kind of record of which the kit makes samples.
pub(super) trait Sample: Record {
    fn id(row: &Self) -> Self::Key {
        row.key().clone()
    }

    /// The user on whose list the row is.
    fn subject_of(row: &Self) -> Option<&Subject>;

    /// The name of the list of that user.
    fn list_of(subject: &Subject) -> String {
        subject.as_str().to_owned()
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
    /// The bytes that the id was made from.
    fn bytes(id: &Self::Key) -> [u8; 16];
    /// The row under the id that is made from these bytes.
    fn under(row: &Self, bytes: [u8; 16]) -> Arc<Self>;
    /// The row under an id whose text differs only in the case of its letters.
    fn in_other_case(row: &Self) -> Arc<Self>;
    /// The row with that version.
    fn numbered(row: &Self, version: u32) -> Arc<Self>;
    fn without_subject(row: &Self) -> Arc<Self>;

    fn of_every_kind(subject: &Subject, purge_after: Timestamp) -> Vec<Self>;
    fn huge(subject: &Subject, purge_after: Timestamp) -> Arc<Self>;
}

impl Sample for Application {
    fn subject_of(row: &Self) -> Option<&Subject> {
        row.owner().filter(|_| row.state() != ClientState::Deleted)
    }

    fn list_of(subject: &Subject) -> String {
        ApplicationFilter::OwnedBy(subject.clone()).key()
    }

    fn first(subject: &Subject, purge_after: Timestamp) -> Arc<Self> {
        let row = records::registered_itself(records::application(subject), purge_after);
        Arc::new(Self { owner: Some(subject.clone()), ..row })
    }

    fn rival(row: &Self, subject: &Subject, purge_after: Timestamp) -> Arc<Self> {
        Arc::new(records::under(&Self::first(subject, purge_after), row.id()))
    }

    fn next(row: &Self, purge_after: Timestamp) -> Arc<Self> {
        let next = records::approved(row);
        Arc::new(Self { owner: row.owner.clone(), ..records::registered_itself(next, purge_after) })
    }

    fn ended(row: &Self) -> Arc<Self> {
        Arc::new(records::in_state(row, ClientState::Rejected))
    }

    fn ended_sooner(row: &Self, purge_after: Timestamp) -> Option<Arc<Self>> {
        Some(Self::next(row, purge_after))
    }

    fn bytes(id: &ClientId) -> [u8; 16] {
        let digit =
            |place: usize| id.as_str().chars().nth(place).and_then(|digit| digit.to_digit(16)).unwrap_or_default();
        std::array::from_fn(|place| u8::try_from(digit(2 * place) * 16 + digit(2 * place + 1)).unwrap_or_default())
    }

    fn under(row: &Self, bytes: [u8; 16]) -> Arc<Self> {
        Arc::new(records::under(row, &records::id_of(bytes)))
    }

    fn in_other_case(row: &Self) -> Arc<Self> {
        let id = sound(ClientId::new(row.id().as_str().to_ascii_uppercase()));
        Arc::new(records::under(row, &id))
    }

    fn numbered(row: &Self, version: u32) -> Arc<Self> {
        Arc::new(records::numbered(row, version))
    }

    fn without_subject(row: &Self) -> Arc<Self> {
        Arc::new(Self { owner: None, ..row.clone() })
    }

    fn of_every_kind(subject: &Subject, purge_after: Timestamp) -> Vec<Self> {
        records::applications_of_every_kind(subject, purge_after)
    }

    fn huge(subject: &Subject, _: Timestamp) -> Arc<Self> {
        Arc::new(records::huge_application(subject))
    }
}

impl Sample for Authorization {
    fn subject_of(row: &Self) -> Option<&Subject> {
        row.subject()
    }

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

    fn bytes(id: &AuthorizationId) -> [u8; 16] {
        *id.as_bytes()
    }

    fn in_other_case(row: &Self) -> Arc<Self> {
        Self::under(row, Self::bytes(&in_other_case(row.id)))
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
    fn subject_of(row: &Self) -> Option<&Subject> {
        row.subject()
    }

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

    fn bytes(id: &GrantId) -> [u8; 16] {
        *id.as_bytes()
    }

    fn in_other_case(row: &Self) -> Arc<Self> {
        Self::under(row, Self::bytes(&in_other_case(row.id)))
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
    fn subject_of(_: &Self) -> Option<&Subject> {
        None
    }

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

    fn bytes(id: &PushedRequestId) -> [u8; 16] {
        *id.as_bytes()
    }

    fn in_other_case(row: &Self) -> Arc<Self> {
        Self::under(row, Self::bytes(&in_other_case(row.id)))
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

/// Returns the id whose text has lower-case letters for upper-case ones, and the reverse.
fn in_other_case<Id: Display + FromStr<Err: fmt::Debug>>(id: Id) -> Id {
    let text = id.to_string();
    let swapped = |letter: char| match letter.is_lowercase() {
        true => letter.to_ascii_uppercase(),
        false => letter.to_ascii_lowercase(),
    };
    // The last character holds only two bits: in the other case it would not be an id.
    let all_but_last = text.chars().take(21).map(swapped);
    sound(all_but_last.chain(text.chars().skip(21)).collect::<String>().parse())
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
