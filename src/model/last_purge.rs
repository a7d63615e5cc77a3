//! The newest time at which expired records were removed, and by which issuer.

use crate::base::clock::Timestamp;
use crate::base::codec::kind;
use crate::base::field::fields;
use crate::model::record::{Columns, Record, Table, encoded_as};

/// The time of the last accepted purge. A store has at most one such record.
///
/// A purge at a much later time is refused: the clock may be wrong, and a purge cannot be undone. So is one by a server
/// with another issuer: no other record names its issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastPurge {
    version: u32,
    time: Timestamp,
    issuer: Option<Box<str>>,
}

impl LastPurge {
    /// The key of the only such record of a store.
    pub const KEY: [u8; 4] = *b"last";

    /// Creates the record.
    #[must_use]
    pub fn new(version: u32, time: Timestamp, issuer: &str) -> Self {
        Self { version, time, issuer: Some(issuer.into()) }
    }

    /// Returns the time of the purge.
    #[must_use]
    pub const fn time(&self) -> Timestamp {
        self.time
    }

    /// Returns the issuer of the server that purged.
    #[must_use]
    pub fn issuer(&self) -> Option<&str> {
        self.issuer.as_deref()
    }

    /// Returns whether both say the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.time == other.time && self.issuer == other.issuer
    }
}

/// It is never purged.
impl Record for LastPurge {
    type Key = [u8; 4];

    const TABLE: Table = Table::LastPurge;

    fn key(&self) -> &[u8; 4] {
        &Self::KEY
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn set_version(&mut self, version: u32) {
        self.version = version;
    }

    fn purge_after(&self) -> Option<Timestamp> {
        None
    }

    fn columns(&self) -> Columns {
        Columns { state: "purged", ..Columns::default() }
    }

    encoded_as!(kind::LAST_PURGE);
}

fields! { LastPurge { version, time } tagged { 1 => issuer } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixtures::compared_layout;

    #[test]
    fn comes_back_equal() {
        let last = LastPurge::new(u32::MAX, Timestamp::from_seconds(7), "https://auth.example");
        let bytes = last.encode();
        assert_eq!(LastPurge::decode(&bytes), Ok(last.clone()));
        let bare = LastPurge { issuer: None, ..last }.encode();
        for cut in (0..bytes.len()).filter(|cut| *cut != bare.len()) {
            assert!(LastPurge::decode(&bytes[..cut]).is_err(), "cut to {cut}");
        }
    }

    /// Every later release reads what a release has written.
    #[test]
    fn layout_1_stays_as_it_is() {
        let full = LastPurge::new(3, Timestamp::from_seconds(7), "https://auth.example");
        let bare = LastPurge { issuer: None, ..full };
        for (name, record) in [("last_purge.1", bare), ("last_purge.1.issuer", full)] {
            let file = compared_layout(name, &record.encode());
            assert_eq!(LastPurge::decode(&file), Ok(record));
        }
    }
}
