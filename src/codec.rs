//! The bytes of stored records: fixed-width numbers, texts with their length in front.
//!
//! Every record begins with the byte of its kind and the byte of its layout. A later layout adds fields at
//! the end, each with a tag and a length, so that `decode` of a newer release reads every layout that an
//! older one wrote. A release that changes a layout writes the old one until all servers on one store read the
//! new one, which takes two releases: the layouts that are read and the one that is written are separate
//! constants.

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
    /// Room for most records, so that their bytes are not copied again and again while they grow.
    const ROOM: usize = 512;

    pub(crate) fn new(kind: u8, version: u8) -> Self {
        let mut bytes = Vec::with_capacity(Self::ROOM);
        bytes.extend([kind, version]);
        Self(bytes)
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

    /// Writes a field that layouts before this one do not have, behind all others.
    pub(crate) fn tagged(&mut self, tag: u8, write: impl FnOnce(&mut Self)) {
        let mut field = Self(Vec::new());
        write(&mut field);
        self.octet(tag);
        self.octets(&field.0);
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
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    version: u8,
}

/// The kinds of records, by their first byte, and of the two texts that are only digested.
pub(crate) mod kind {
    pub(crate) const AUTHORIZATION: u8 = b'A';
    pub(crate) const CLIENT: u8 = b'C';
    pub(crate) const GRANT: u8 = b'G';
    pub(crate) const LAST_PURGE: u8 = b'L';
    /// What a metadata document says; digested.
    pub(crate) const METADATA: u8 = b'M';
    /// What a user consents to; digested.
    pub(crate) const CONSENT: u8 = b'N';
    pub(crate) const APPLICATION: u8 = b'P';
    pub(crate) const REPLAY: u8 = b'R';
    pub(crate) const PUSHED_REQUEST: u8 = b'U';
}

impl<'a> Reader<'a> {
    /// Checks kind and version and stands behind them.
    pub(crate) fn new(octets: &'a [u8], kind: u8, versions: &RangeInclusive<u8>) -> Result<Self, DecodeError> {
        let mut reader = Self { rest: octets, version: 0 };
        if reader.octet()? != kind {
            return Err(DecodeError::Malformed);
        }
        reader.version = reader.octet()?;
        if !versions.contains(&reader.version) {
            return Err(DecodeError::UnknownVersion);
        }
        Ok(reader)
    }

    /// Returns the layout that the record was written in.
    pub(crate) const fn version(&self) -> u8 {
        self.version
    }

    /// Reads the field of that tag if it comes next.
    pub(crate) fn tagged<T>(
        &mut self,
        tag: u8,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        if self.rest.first() != Some(&tag) {
            return Ok(None);
        }
        self.octet()?;
        let mut field = Self { rest: self.octets()?, version: self.version };
        let value = read(&mut field)?;
        field.finish()?;
        Ok(Some(value))
    }

    /// Ends the reading: nothing may be left.
    pub(crate) fn finish(self) -> Result<(), DecodeError> {
        if self.rest.is_empty() { Ok(()) } else { Err(DecodeError::Malformed) }
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
        let (array, rest) = self.rest.split_first_chunk().ok_or(DecodeError::Malformed)?;
        self.rest = rest;
        Ok(*array)
    }

    pub(crate) fn octets(&mut self) -> Result<&'a [u8], DecodeError> {
        let count = self.count()?;
        let (octets, rest) = self.rest.split_at_checked(count).ok_or(DecodeError::Malformed)?;
        self.rest = rest;
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
        if count > self.rest.len() {
            return Err(DecodeError::Malformed);
        }
        (0..count).map(|_| read(self)).collect()
    }
}

#[cfg(test)]
pub(crate) mod layout {
    //! One file of bytes for each layout of each kind, which every later release reads.

    use std::path::Path;
    use std::{env, fs};

    /// Compares a known record, as it is encoded now, with the file of its layout, and returns the file's bytes.
    ///
    /// `GRANTOR_WRITE_LAYOUTS=1 cargo test --all-features --lib layout_` writes the files anew. That is right until a release has
    /// written the layout; later changes need a layout of their own.
    pub(crate) fn compared(name: &str, encoded: &[u8]) -> Vec<u8> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/layouts").join(format!("{name}.bin"));
        if env::var_os("GRANTOR_WRITE_LAYOUTS").is_some() {
            fs::write(&path, encoded).unwrap();
        }
        let file = fs::read(&path).unwrap();
        assert_eq!(encoded.escape_ascii().to_string(), file.escape_ascii().to_string(), "{}", path.display());
        file
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
        let mut reader = Reader { rest: &[0xff, 0xff, 0xff, 0xff, 0], version: 1 };
        assert_eq!(reader.list(Reader::octet), Err(DecodeError::Malformed));
    }

    /// A record as three releases know it: the second reads what the third writes, and goes on writing layout 1.
    #[derive(Debug, PartialEq, Eq)]
    struct Evolving {
        number: u32,
        /// Since layout 2.
        note: Option<String>,
        read_from: u8,
    }

    const NOTE: u8 = 1;

    fn write(layout: u8, number: u32, note: Option<&str>) -> Vec<u8> {
        let mut writer = Writer::new(b'E', layout);
        writer.number(number);
        if let Some(note) = note {
            writer.tagged(NOTE, |writer| writer.text(note));
        }
        writer.finish()
    }

    fn read(bytes: &[u8], layouts: &RangeInclusive<u8>) -> Result<Evolving, DecodeError> {
        let mut reader = Reader::new(bytes, b'E', layouts)?;
        let (number, read_from) = (reader.number()?, reader.version());
        let note = reader.tagged(NOTE, |reader| reader.text().map(str::to_owned))?;
        reader.finish()?;
        Ok(Evolving { number, note, read_from })
    }

    #[test]
    fn a_newer_release_reads_every_older_layout() {
        let (old, bare, full) = (write(1, 7, None), write(2, 7, None), write(2, 7, Some("later")));
        let evolving = |note: Option<&str>, read_from| Evolving { number: 7, note: note.map(str::to_owned), read_from };
        assert_eq!(read(&old, &(1..=2)), Ok(evolving(None, 1)));
        assert_eq!(read(&bare, &(1..=2)), Ok(evolving(None, 2)));
        assert_eq!(read(&full, &(1..=2)), Ok(evolving(Some("later"), 2)));
        assert_eq!(read(&full, &(1..=1)), Err(DecodeError::UnknownVersion), "an older release says so");
        for cut in old.len() + 1..full.len() {
            assert_eq!(read(&full[..cut], &(1..=2)), Err(DecodeError::Malformed), "cut to {cut}");
        }
        let unknown = [&bare[..], &[9, 0, 0, 0, 0]].concat();
        assert_eq!(read(&unknown, &(1..=2)), Err(DecodeError::Malformed), "no tag of a known layout is skipped");
    }
}
