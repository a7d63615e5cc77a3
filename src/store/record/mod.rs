//! What is remembered of a consent and of all that grew from it: digests, never secrets.

mod authorization;
mod grant;
mod grant_encoding;
mod pairs;

use time::Duration;

use crate::clock::Timestamp;
use crate::codec::DecodeError;
use crate::id::ClientId;
use crate::subject::Subject;

pub use self::authorization::Authorization;
pub(crate) use self::authorization::{RETENTION, Stage};
pub use self::grant::{Grant, Revocation, RevocationReason};
pub(crate) use self::pairs::{Pairs, TokenPair};

/// The time within which a write is applied, counted from its call, or never.
pub(crate) const WRITE_BOUND: Duration = Duration::HOUR;

const _: () = assert!(
    RETENTION.whole_seconds() >= WRITE_BOUND.whole_seconds(),
    "an insert that comes late would bring back what was purged"
);

/// What stores know of a record, whichever of the two it is.
#[cfg_attr(
    not(feature = "postgres"),
    expect(
        dead_code,
        reason = "the stores that keep records as octets, and the one that copies fields, come with features"
    )
)]
pub(crate) trait Record: Sized + Send + Sync + 'static {
    fn key(&self) -> &[u8; 16];
    fn version(&self) -> u32;
    fn client(&self) -> &ClientId;
    fn subject(&self) -> &Subject;
    fn created(&self) -> Timestamp;
    fn revoked(&self) -> Option<Revocation>;
    fn purge_after(&self) -> Timestamp;
    fn encode(&self) -> Vec<u8>;
    fn decode(octets: &[u8]) -> Result<Self, DecodeError>;
}

impl Record for Authorization {
    fn key(&self) -> &[u8; 16] {
        self.id.octets()
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn client(&self) -> &ClientId {
        &self.client
    }

    fn subject(&self) -> &Subject {
        &self.subject
    }

    fn created(&self) -> Timestamp {
        self.created
    }

    fn revoked(&self) -> Option<Revocation> {
        None
    }

    fn purge_after(&self) -> Timestamp {
        self.purge_after()
    }

    fn encode(&self) -> Vec<u8> {
        self.encode()
    }

    fn decode(octets: &[u8]) -> Result<Self, DecodeError> {
        Self::decode(octets)
    }
}

impl Record for Grant {
    fn key(&self) -> &[u8; 16] {
        self.id.octets()
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn client(&self) -> &ClientId {
        &self.client
    }

    fn subject(&self) -> &Subject {
        &self.subject
    }

    fn created(&self) -> Timestamp {
        self.created
    }

    fn revoked(&self) -> Option<Revocation> {
        self.revoked
    }

    fn purge_after(&self) -> Timestamp {
        self.purge_after()
    }

    fn encode(&self) -> Vec<u8> {
        self.encode()
    }

    fn decode(octets: &[u8]) -> Result<Self, DecodeError> {
        Self::decode(octets)
    }
}
