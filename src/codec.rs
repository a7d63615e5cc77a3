//! The octets of stored records: fixed-width numbers, texts with their length in front.
//!
//! Every record begins with the octet of its kind and the octet of its layout's version. A release
//! that changes a layout goes on reading the old version, and writes it until all servers on one store
//! read the new one, which takes two releases: the versions that are read and the one that is written are
//! separate constants.

use std::ops::RangeInclusive;

use crate::clock::Timestamp;

/// Octets that are no record, or a record of a version this release does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The octets end too early, go on too long, or hold a value that no record has.
    #[error("the stored octets are no such record")]
    Malformed,
    /// The record was written by a release that this one does not know.
    #[error("the stored record has an unknown version")]
    UnknownVersion,
}

/// Writes one record.
#[derive(Debug)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn new(kind: u8, version: u8) -> Self {
        Self(vec![kind, version])
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn octet(&mut self, octet: u8) {
        self.0.push(octet);
    }

    pub(crate) fn flag(&mut self, flag: bool) {
        self.octet(u8::from(flag));
    }

    pub(crate) fn number(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_be_bytes());
    }

    pub(crate) fn time(&mut self, time: Timestamp) {
        self.number(time.seconds());
    }

    /// Writes octets whose count the reader knows.
    pub(crate) fn array(&mut self, octets: &[u8]) {
        self.0.extend_from_slice(octets);
    }

    /// Writes the count, at most 2^32 - 1, and the octets.
    pub(crate) fn octets(&mut self, octets: &[u8]) {
        self.count(octets.len());
        self.array(octets);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.octets(text.as_bytes());
    }

    pub(crate) fn count(&mut self, count: usize) {
        // What is counted is bounded far below 2^32 where it is made.
        self.number(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// Writes whether there is a value, then the value.
    pub(crate) fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }
}

/// Reads one record.
#[derive(Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

/// The kinds of records, by their first octet.
pub(crate) mod kind {
    pub(crate) const AUTHORIZATION: u8 = b'A';
    pub(crate) const CLIENT: u8 = b'C';
    pub(crate) const GRANT: u8 = b'G';
    pub(crate) const APPLICATION: u8 = b'P';
}

impl<'a> Reader<'a> {
    /// Checks kind and version and stands behind them.
    pub(crate) fn new(octets: &'a [u8], kind: u8, versions: &RangeInclusive<u8>) -> Result<Self, DecodeError> {
        let mut reader = Self(octets);
        if reader.octet()? != kind {
            return Err(DecodeError::Malformed);
        }
        if !versions.contains(&reader.octet()?) {
            return Err(DecodeError::UnknownVersion);
        }
        Ok(reader)
    }

    /// Ends the reading: nothing may be left.
    pub(crate) fn finish(self) -> Result<(), DecodeError> {
        if self.0.is_empty() { Ok(()) } else { Err(DecodeError::Malformed) }
    }

    pub(crate) fn octet(&mut self) -> Result<u8, DecodeError> {
        self.array::<1>().map(|[octet]| octet)
    }

    pub(crate) fn flag(&mut self) -> Result<bool, DecodeError> {
        match self.octet()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(DecodeError::Malformed),
        }
    }

    pub(crate) fn number(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn time(&mut self) -> Result<Timestamp, DecodeError> {
        self.number().map(Timestamp::from_seconds)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (array, rest) = self.0.split_first_chunk().ok_or(DecodeError::Malformed)?;
        self.0 = rest;
        Ok(*array)
    }

    pub(crate) fn octets(&mut self) -> Result<&'a [u8], DecodeError> {
        let count = self.count()?;
        let (octets, rest) = self.0.split_at_checked(count).ok_or(DecodeError::Malformed)?;
        self.0 = rest;
        Ok(octets)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, DecodeError> {
        std::str::from_utf8(self.octets()?).map_err(|_| DecodeError::Malformed)
    }

    pub(crate) fn count(&mut self) -> Result<usize, DecodeError> {
        usize::try_from(self.number()?).map_err(|_| DecodeError::Malformed)
    }

    pub(crate) fn optional<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        if self.flag()? { read(self).map(Some) } else { Ok(None) }
    }

    /// Reads a count and as many values; a count beyond the octets left is refused before any room is
    /// made for it.
    pub(crate) fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let count = self.count()?;
        if count > self.0.len() {
            return Err(DecodeError::Malformed);
        }
        (0..count).map(|_| read(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_was_written_and_nothing_else() {
        let mut writer = Writer::new(b'X', 1);
        writer.number(7);
        writer.text("scope");
        writer.optional(Some(&[1, 2][..]), Writer::octets);
        writer.optional(None::<&str>, Writer::text);
        let octets = writer.finish();
        let read = |octets: &[u8]| -> Result<u32, DecodeError> {
            let mut reader = Reader::new(octets, b'X', &(1..=1))?;
            let number = reader.number()?;
            assert_eq!(reader.text()?, "scope");
            assert_eq!(reader.optional(Reader::octets)?, Some(&[1, 2][..]));
            assert_eq!(reader.optional(Reader::text)?, None);
            reader.finish()?;
            Ok(number)
        };
        assert_eq!(read(&octets), Ok(7));
        for cut in 0..octets.len() {
            assert_eq!(read(&octets[..cut]), Err(DecodeError::Malformed));
        }
        assert_eq!(read(&[&octets[..], b"x"].concat()), Err(DecodeError::Malformed));
        assert_eq!(Reader::new(b"X\x02", b'X', &(1..=1)).unwrap_err(), DecodeError::UnknownVersion);
        assert_eq!(Reader::new(b"Y\x01", b'X', &(1..=1)).unwrap_err(), DecodeError::Malformed);
    }

    #[test]
    fn a_count_beyond_the_octets_makes_no_room() {
        let mut reader = Reader(&[0xff, 0xff, 0xff, 0xff, 0]);
        assert_eq!(reader.list(Reader::octet), Err(DecodeError::Malformed));
    }
}
