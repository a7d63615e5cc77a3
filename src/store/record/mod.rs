//! What is remembered of a consent and of all that grew from it: digests, never secrets.

mod authorization;
mod grant;
mod grant_encoding;
mod pairs;

use crate::clock::Timestamp;
use crate::codec::DecodeError;
use crate::subject::Subject;

pub use self::authorization::Authorization;
pub(crate) use self::authorization::{RETENTION, Stage};
pub use self::grant::{Grant, Revocation, RevocationReason};
pub(crate) use self::pairs::{Pairs, TokenPair};

/// What stores know of a record, whichever of the two it is.
#[cfg_attr(
    not(any(feature = "redis", feature = "sqlite")),
    expect(dead_code, reason = "the stores that keep records as octets come with features")
)]
pub(crate) trait Record: Sized + Send + Sync + 'static {
    fn key(&self) -> &[u8; 16];
    fn version(&self) -> u32;
    fn subject(&self) -> &Subject;
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

    fn subject(&self) -> &Subject {
        &self.subject
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

    fn subject(&self) -> &Subject {
        &self.subject
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
