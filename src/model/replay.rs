//! An identifier that must not be used twice.

use crate::base::clock::Timestamp;
use crate::base::codec::kind;
use crate::base::field::fields;
use crate::model::record::{Columns, Record, Table, encoded_as};
use crate::secret::Digest;

/// The maximum length in bytes of the `jti` of an assertion or a proof.
pub(crate) const MAX_JTI_BYTES: usize = 256;

/// The digest of an identifier that may be used once, and the time until which it is remembered
/// [RFC 9449 section 11.1].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replay {
    digest: Digest,
    end: Timestamp,
}

impl Replay {
    /// Creates the record of an identifier from its parts, such as issuer and `jti`. It is remembered until `end`.
    ///
    /// Only a digest is kept. Parts are hashed with their lengths, so no two lists of parts share a digest.
    #[must_use]
    pub fn new(parts: &[&[u8]], end: Timestamp) -> Self {
        let mut message = Vec::with_capacity(parts.iter().map(|part| part.len() + 8).sum());
        for part in parts {
            message.extend_from_slice(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            message.extend_from_slice(part);
        }
        Self { digest: Digest::of(&message), end }
    }

    /// Returns the digest, the key of the record.
    #[must_use]
    pub const fn digest(&self) -> &[u8; 32] {
        self.digest.bytes()
    }

    /// Returns the time from which the record may be removed.
    #[must_use]
    pub const fn end(&self) -> Timestamp {
        self.end
    }
}

/// It is inserted and never replaced.
impl Record for Replay {
    type Key = [u8; 32];

    const TABLE: Table = Table::Replays;

    fn key(&self) -> &[u8; 32] {
        self.digest()
    }

    fn version(&self) -> u32 {
        1
    }

    fn set_version(&mut self, _: u32) {}

    fn purge_after(&self) -> Option<Timestamp> {
        Some(self.end)
    }

    fn columns(&self) -> Columns {
        Columns { state: "used", ..Columns::default() }
    }

    encoded_as!(kind::REPLAY);
}

fields! { Replay { digest, end } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixtures::compared_layout;

    #[test]
    fn comes_back_equal() {
        let replay = Replay::new(&[b"client", b"jti"], Timestamp::from_seconds(7));
        let bytes = replay.encode();
        assert_eq!(Replay::decode(&bytes), Ok(replay));
        for cut in 0..bytes.len() {
            assert!(Replay::decode(&bytes[..cut]).is_err(), "cut to {cut}");
        }
    }

    /// Every later release reads what a release has written.
    #[test]
    fn layout_1_stays_as_it_is() {
        let record = Replay::new(&[b"client", b"jti"], Timestamp::from_seconds(7));
        let file = compared_layout("replay.1", &record.encode());
        assert_eq!(Replay::decode(&file), Ok(record));
    }

    #[test]
    fn parts_are_distinguished_by_their_lengths() {
        let digest = |parts: &[&[u8]]| *Replay::new(parts, Timestamp::default()).digest();
        assert_ne!(digest(&[b"a", b"bc"]), digest(&[b"ab", b"c"]));
        assert_ne!(digest(&[b"abc"]), digest(&[b"abc", b""]));
    }
}
