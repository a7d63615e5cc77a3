//! The encoding of stored records: fixed-width numbers, and texts prefixed by their length.
//!
//! Every record begins with one byte for its kind and one for its layout, which is 1. Optional fields follow the
//! others, each with a tag and a length, in a fixed order. A record that needs none of them has none.
//!
//! A later release may add such a field. It reads every record that an earlier one wrote; an earlier one refuses a
//! field that it does not know. So a field is first read by all servers on one store, and written by the release after
//! that.

use crate::base::clock::Timestamp;
use crate::base::debug_as_text;

/// Bytes that are not a record, or a record of a layout that this release does not know.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end too early, are too long, or hold a value that no record has.
    #[error("the stored bytes are not a valid record")]
    Malformed,
    /// The record has a layout, or a value such as the name of a grant type, that this release does not know: a newer
    /// release wrote it.
    #[error("the stored record has a layout or a value that this release does not know")]
    UnknownLayout,
}

debug_as_text!(DecodeError);

/// Writes one record.
#[derive(Debug)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    /// Large enough for most records, so that their buffer is rarely reallocated.
    const ROOM: usize = 512;

    pub(crate) fn new(kind: u8) -> Self {
        let mut bytes = Vec::with_capacity(Self::ROOM);
        bytes.extend([kind, LAYOUT]);
        Self(bytes)
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub(crate) fn flag(&mut self, flag: bool) {
        self.byte(u8::from(flag));
    }

    pub(crate) fn number(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_be_bytes());
    }

    pub(crate) fn time(&mut self, time: Timestamp) {
        self.number(time.seconds());
    }

    /// Writes bytes whose count the reader knows.
    pub(crate) fn array(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Writes the count, at most 2^32 - 1, and the bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.array(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(crate) fn count(&mut self, count: usize) {
        // Everything that is counted is bounded far below 2^32 when it is created.
        self.number(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// Writes an optional field, after all other fields.
    pub(crate) fn tagged(&mut self, tag: u8, write: impl FnOnce(&mut Self)) {
        self.byte(tag);
        self.block(write);
    }

    /// Writes the number of bytes, and the bytes: fields that may be more in a later release. Optional ones come last,
    /// as in a record.
    pub(crate) fn block(&mut self, write: impl FnOnce(&mut Self)) {
        let mut block = Self(Vec::new());
        write(&mut block);
        self.bytes(&block.0);
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
}

/// The layout of every record.
const LAYOUT: u8 = 1;

/// The first bytes of all kinds of records, and of the three texts that are only digested.
pub(crate) mod kind {
    pub(crate) const AUTHORIZATION: u8 = b'A';
    pub(crate) const CLIENT: u8 = b'C';
    pub(crate) const GRANT: u8 = b'G';
    pub(crate) const INITIAL_TOKEN: u8 = b'I';
    pub(crate) const LAST_PURGE: u8 = b'L';
    /// The contents of a metadata document; only digested.
    pub(crate) const METADATA: u8 = b'M';
    /// What a user consents to; only digested.
    pub(crate) const CONSENT: u8 = b'N';
    /// What a remembered consent was given for; only digested.
    pub(crate) const CONSENT_TERMS: u8 = b'T';
    /// An image.
    pub(crate) const APPLICATION_LOGO: u8 = b'O';
    pub(crate) const APPLICATION: u8 = b'P';
    pub(crate) const DEVICE_REQUEST: u8 = b'D';
    pub(crate) const REPLAY: u8 = b'R';
    pub(crate) const PUSHED_REQUEST: u8 = b'U';
    pub(crate) const USER_CODE: u8 = b'V';
}

impl<'a> Reader<'a> {
    /// Checks the kind and the layout, and skips them.
    pub(crate) fn new(bytes: &'a [u8], kind: u8) -> Result<Self, DecodeError> {
        let mut reader = Self { rest: bytes };
        if reader.byte()? != kind {
            return Err(DecodeError::Malformed);
        }
        if reader.byte()? == LAYOUT { Ok(reader) } else { Err(DecodeError::UnknownLayout) }
    }

    /// Reads the optional field of that tag if it comes next.
    pub(crate) fn tagged<T>(
        &mut self,
        tag: u8,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        if self.rest.first() != Some(&tag) {
            return Ok(None);
        }
        self.byte()?;
        self.block(read).map(Some)
    }

    /// Reads a [block](Writer::block). An optional field in it that is not known is an error, as in a record.
    pub(crate) fn block<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let mut block = Self { rest: self.bytes()? };
        let value = read(&mut block)?;
        block.finish()?;
        Ok(value)
    }

    /// Finishes reading. Optional fields that are left over were written by a newer release. Other bytes are malformed.
    pub(crate) fn finish(mut self) -> Result<(), DecodeError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        while !self.rest.is_empty() {
            self.byte()?;
            self.bytes()?;
        }
        Err(DecodeError::UnknownLayout)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, DecodeError> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn flag(&mut self) -> Result<bool, DecodeError> {
        match self.byte()? {
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

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let count = self.count()?;
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or(DecodeError::Malformed)?;
        self.rest = rest;
        Ok(bytes)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, DecodeError> {
        std::str::from_utf8(self.bytes()?).map_err(|_| DecodeError::Malformed)
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

    /// Reads a count and as many values. A count larger than the number of bytes left is refused before memory is
    /// allocated for it.
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
mod tests {
    use super::*;

    #[test]
    fn reads_what_was_written_and_nothing_else() {
        let mut writer = Writer::new(b'X');
        writer.number(7);
        writer.text("scope");
        writer.optional(Some(&[1, 2][..]), Writer::bytes);
        writer.optional(None::<&str>, Writer::text);
        let bytes = writer.finish();
        let read = |bytes: &[u8]| -> Result<u32, DecodeError> {
            let mut reader = Reader::new(bytes, b'X')?;
            let number = reader.number()?;
            assert_eq!(reader.text()?, "scope");
            assert_eq!(reader.optional(Reader::bytes)?, Some(&[1, 2][..]));
            assert_eq!(reader.optional(Reader::text)?, None);
            reader.finish()?;
            Ok(number)
        };
        assert_eq!(read(&bytes), Ok(7));
        for cut in 0..bytes.len() {
            assert_eq!(read(&bytes[..cut]), Err(DecodeError::Malformed));
        }
        assert_eq!(read(&[&bytes[..], b"x"].concat()), Err(DecodeError::Malformed));
        assert_eq!(Reader::new(b"X\x02", b'X').unwrap_err(), DecodeError::UnknownLayout);
        assert_eq!(Reader::new(b"Y\x01", b'X').unwrap_err(), DecodeError::Malformed);
    }

    #[test]
    fn a_count_beyond_the_bytes_makes_no_room() {
        let mut reader = Reader { rest: &[0xff, 0xff, 0xff, 0xff, 0] };
        assert_eq!(reader.list(Reader::byte), Err(DecodeError::Malformed));
    }

    const NOTE: u8 = 1;

    fn write(number: u32, note: Option<&str>) -> Vec<u8> {
        let mut writer = Writer::new(b'E');
        writer.number(number);
        if let Some(note) = note {
            writer.tagged(NOTE, |writer| writer.text(note));
        }
        writer.finish()
    }

    fn read(bytes: &[u8], knows_note: bool) -> Result<(u32, Option<String>), DecodeError> {
        let mut reader = Reader::new(bytes, b'E')?;
        let number = reader.number()?;
        let read = |reader: &mut Reader<'_>| reader.text().map(str::to_owned);
        let note = if knows_note { reader.tagged(NOTE, read)? } else { None };
        reader.finish()?;
        Ok((number, note))
    }

    #[test]
    fn missing_optional_fields_are_read_unknown_ones_refused() {
        let (bare, full) = (write(7, None), write(7, Some("later")));
        for knows_note in [false, true] {
            assert_eq!(read(&bare, knows_note), Ok((7, None)));
        }
        assert_eq!(read(&full, true), Ok((7, Some("later".to_owned()))));
        assert_eq!(read(&full, false), Err(DecodeError::UnknownLayout));
        let unknown = [&full[..], &[9, 0, 0, 0, 0]].concat();
        assert_eq!(read(&unknown, true), Err(DecodeError::UnknownLayout));
        assert_eq!(read(&[&unknown[..], &[9]].concat(), true), Err(DecodeError::Malformed));
        for cut in bare.len() + 1..full.len() {
            assert_eq!(read(&full[..cut], true), Err(DecodeError::Malformed), "cut to {cut}");
            assert_eq!(read(&full[..cut], false), Err(DecodeError::Malformed), "cut to {cut}");
        }
    }
}
