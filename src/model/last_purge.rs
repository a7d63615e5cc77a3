//! The newest time at which expired records were removed.

use crate::base::clock::Timestamp;
use crate::base::codec::kind;
use crate::base::field::fields;
use crate::model::record::{Columns, Record, Table, encoded_as};

/// The time of the last accepted purge. A store has at most one such record.
///
/// A purge at a much later time is refused: the clock may be wrong, and a purge cannot be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastPurge {
    version: u32,
    time: Timestamp,
}

impl LastPurge {
    /// The key of the only such record of a store.
    pub const KEY: [u8; 4] = *b"last";

    /// Creates the record.
    #[must_use]
    pub const fn new(version: u32, time: Timestamp) -> Self {
        Self { version, time }
    }

    /// Returns the time of the purge.
    #[must_use]
    pub const fn time(&self) -> Timestamp {
        self.time
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

fields! { LastPurge { version, time } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixtures::compared_layout;

    #[test]
    fn comes_back_equal() {
        let last = LastPurge::new(u32::MAX, Timestamp::from_seconds(7));
        let bytes = last.encode();
        assert_eq!(LastPurge::decode(&bytes), Ok(last));
        for cut in 0..bytes.len() {
            assert!(LastPurge::decode(&bytes[..cut]).is_err(), "cut to {cut}");
        }
    }

    /// Every later release reads what a release has written.
    #[test]
    fn layout_1_stays_as_it_is() {
        let record = LastPurge::new(3, Timestamp::from_seconds(7));
        let file = compared_layout("last_purge.1", &record.encode());
        assert_eq!(LastPurge::decode(&file), Ok(record));
    }
}
