//! What the rules need to know of a kind of record, so that they are written once.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::base::clock::Timestamp;
use crate::base::id::{AuthorizationId, ClientId, GrantId, PushedRequestId};
use crate::base::subject::Subject;
use crate::model::application::{Application, ApplicationFilter};
use crate::model::client::ClientState;
use crate::store::{Authorization, Grant, PushedRequest, Record, RevocationReason};
use crate::testing::draw::sound;
use crate::testing::records;

/// A kind of record of which the kit makes samples.
#[expect(unnameable_types, reason = "the kit makes the samples of all kinds itself")]
pub trait Sample: Record {
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
    fn rival(row: &Self, subject: &Subject, purge_after: Timestamp) -> Arc<Self> {
        Self::under(&Self::first(subject, purge_after), Self::bytes(row.key()))
    }

    /// The next version, another one each time.
    fn next(row: &Self, purge_after: Timestamp) -> Arc<Self>;

    /// The next version, revoked or denied.
    fn ended(row: &Self) -> Arc<Self>;

    /// The next version, which may be removed sooner than the row, if this kind has one.
    fn ended_sooner(_row: &Self, _purge_after: Timestamp) -> Option<Arc<Self>> {
        None
    }

    /// The bytes that the id was made from.
    fn bytes(id: &Self::Key) -> [u8; 16] {
        sound(id.as_ref().try_into())
    }

    /// The row under the id that is made from these bytes.
    fn under(row: &Self, bytes: [u8; 16]) -> Arc<Self>;

    /// The row under an id whose text differs only in the case of its letters.
    fn in_other_case(row: &Self) -> Arc<Self> {
        let mut text = URL_SAFE_NO_PAD.encode(Self::bytes(row.key())).into_bytes();
        // The last character holds only two bits: in the other case it would not be an id.
        let letters = text.iter_mut().take(21).filter(|letter| letter.is_ascii_alphabetic());
        letters.for_each(|letter| *letter ^= 0x20);
        let swapped = sound(URL_SAFE_NO_PAD.decode(text));
        Self::under(row, sound(swapped.try_into()))
    }

    /// The row with that version.
    fn numbered(row: &Self, version: u32) -> Arc<Self> {
        let mut row = row.clone();
        row.set_version(version);
        Arc::new(row)
    }

    /// The row on no list.
    fn without_subject(row: &Self) -> Arc<Self>;

    /// New rows in every state, with every choice of a field.
    fn of_every_kind(subject: &Subject, purge_after: Timestamp) -> Vec<Self>;

    /// A new row with every field as large as it may be.
    fn huge(subject: &Subject, purge_after: Timestamp) -> Arc<Self>;
}

impl Sample for Application {
    fn subject_of(row: &Self) -> Option<&Subject> {
        row.owner.as_ref().filter(|_| row.state() != ClientState::Deleted)
    }

    fn list_of(subject: &Subject) -> String {
        ApplicationFilter::OwnedBy(subject.clone()).key()
    }

    fn first(subject: &Subject, purge_after: Timestamp) -> Arc<Self> {
        let row = records::registered_itself(records::application(subject), purge_after);
        Arc::new(Self { owner: Some(subject.clone()), ..row })
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

    fn next(row: &Self, purge_after: Timestamp) -> Arc<Self> {
        Arc::new(records::with_code(row, purge_after))
    }

    fn ended(row: &Self) -> Arc<Self> {
        Arc::new(Self { version: row.version.saturating_add(1), ..row.denied() })
    }

    fn under(row: &Self, bytes: [u8; 16]) -> Arc<Self> {
        Arc::new(Self { id: AuthorizationId::from_bytes(bytes), ..row.clone() })
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

    fn next(row: &Self, purge_after: Timestamp) -> Arc<Self> {
        Arc::new(records::refreshed(row, purge_after))
    }

    fn ended(row: &Self) -> Arc<Self> {
        Arc::new(records::revoked(row, RevocationReason::RevokedByUser))
    }

    fn ended_sooner(row: &Self, purge_after: Timestamp) -> Option<Arc<Self>> {
        Some(Arc::new(records::revoked_until(row, RevocationReason::RevokedByUser, purge_after)))
    }

    fn under(row: &Self, bytes: [u8; 16]) -> Arc<Self> {
        Arc::new(Self { id: GrantId::from_bytes(bytes), ..row.clone() })
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

    fn next(row: &Self, purge_after: Timestamp) -> Arc<Self> {
        Arc::new(records::visited(row, purge_after))
    }

    fn ended(row: &Self) -> Arc<Self> {
        Arc::new(records::used(row))
    }

    fn under(row: &Self, bytes: [u8; 16]) -> Arc<Self> {
        Arc::new(Self { id: PushedRequestId::from_bytes(bytes), ..row.clone() })
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
