//! The newest time at which expired records were removed.

use std::ops::RangeInclusive;

use crate::clock::Timestamp;
use crate::codec::{DecodeError, Reader, Writer, kind};

/// The time of the last purge that was accepted. A store has at most one such record.
///
/// A purge at a time far beyond it is refused: the clock may be wrong, and what a purge removes is gone for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastPurge {
    version: u32,
    time: Timestamp,
}

impl LastPurge {
    /// The layout that is written, and those that are read.
    const WRITES: u8 = 1;
    const READS: RangeInclusive<u8> = 1..=1;

    /// Creates the record. The first one has version 1.
    #[must_use]
    pub const fn new(version: u32, time: Timestamp) -> Self {
        Self { version, time }
    }

    /// Returns the number of this state of the record, which grows by one with every change.
    #[must_use]
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// Returns the time of the purge.
    #[must_use]
    pub const fn time(&self) -> Timestamp {
        self.time
    }

    /// The next state, with another time.
    pub(crate) const fn moved_to(&self, time: Timestamp) -> Self {
        Self { version: self.version.saturating_add(1), time }
    }

    /// Writes the record as bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new(kind::LAST_PURGE, Self::WRITES);
        writer.number(self.version);
        writer.time(self.time);
        writer.finish()
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the bytes are no such record, or were written by an unknown release.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes, kind::LAST_PURGE, &Self::READS)?;
        let last = Self { version: reader.number()?, time: reader.time()? };
        reader.finish()?;
        Ok(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::layout;

    #[test]
    fn comes_back_equal() {
        let last = LastPurge::new(u32::MAX, Timestamp::from_seconds(7));
        let bytes = last.encode();
        assert_eq!(LastPurge::decode(&bytes), Ok(last));
        for cut in 0..bytes.len() {
            assert!(LastPurge::decode(&bytes[..cut]).is_err(), "cut to {cut}");
        }
    }

    /// What a release has written is read by every later one.
    #[test]
    fn layout_1_stays_as_it_is() {
        let record = LastPurge::new(3, Timestamp::from_seconds(7));
        let file = layout::compared("last_purge.1", &record.encode());
        assert_eq!(LastPurge::decode(&file), Ok(record));
    }
}
