//! The fields of stored records: each type that a record may hold writes and reads itself, and [`fields`] lists those
//! of a record once.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::base::codec::{DecodeError, Reader, Writer};

/// A value with a stored form.
pub(crate) trait Codec: Sized {
    fn write(&self, writer: &mut Writer);

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;
}

/// An optional value. It is stored with a tag after the other fields, or not at all.
pub(crate) trait Tagged: Sized {
    fn write_tagged(&self, tag: u8, writer: &mut Writer);

    fn read_tagged(tag: u8, reader: &mut Reader<'_>) -> Result<Self, DecodeError>;
}

/// Encodes a record of that kind.
pub(crate) fn encode(kind: u8, record: &impl Codec) -> Vec<u8> {
    let mut writer = Writer::new(kind);
    record.write(&mut writer);
    writer.finish()
}

/// Decodes a record of that kind. Bytes that are left over are an error.
pub(crate) fn decode<T: Codec>(kind: u8, bytes: &[u8]) -> Result<T, DecodeError> {
    let mut reader = Reader::new(bytes, kind)?;
    let record = T::read(&mut reader)?;
    reader.finish()?;
    Ok(record)
}

/// Implements [`Codec`] for a struct: its fields in the order in which they are stored, then those with a tag. Fields
/// that are `elsewhere` are neither written nor read here, and are read as their default.
///
/// A field that is not listed does not compile.
macro_rules! fields {
    (
        $name:ident { $($field:ident),* $(,)? }
        $(tagged { $($tag:expr => $own:ident),* $(,)? })?
        $(elsewhere { $($other:ident),* $(,)? })?
    ) => {
        impl $crate::base::field::Codec for $name {
            fn write(&self, writer: &mut $crate::base::codec::Writer) {
                let Self { $($field,)* $($($own,)*)? $($($other: _,)*)? } = self;
                $($crate::base::field::Codec::write($field, writer);)*
                $($($crate::base::field::Tagged::write_tagged($own, $tag, writer);)*)?
            }

            fn read(
                reader: &mut $crate::base::codec::Reader<'_>,
            ) -> Result<Self, $crate::base::codec::DecodeError> {
                // The fields of a struct are evaluated in the order in which they stand here.
                Ok(Self {
                    $($field: $crate::base::field::Codec::read(reader)?,)*
                    $($($own: $crate::base::field::Tagged::read_tagged($tag, reader)?,)*)?
                    $($($other: Default::default(),)*)?
                })
            }
        }
    };
}

/// Implements [`Codec`] for an enum: one byte for the variant, then its fields. A number that is not listed was written
/// by a newer release; it must not be given to another variant.
macro_rules! variants {
    ($name:ident { $($tag:literal => $variant:ident $(($inner:ident))? $({ $($field:ident),* })?),* $(,)? }) => {
        impl $crate::base::field::Codec for $name {
            fn write(&self, writer: &mut $crate::base::codec::Writer) {
                match self {
                    $(Self::$variant $(($inner))? $({ $($field),* })? => {
                        writer.byte($tag);
                        $($crate::base::field::Codec::write($inner, writer);)?
                        $($($crate::base::field::Codec::write($field, writer);)*)?
                    })*
                }
            }

            fn read(
                reader: &mut $crate::base::codec::Reader<'_>,
            ) -> Result<Self, $crate::base::codec::DecodeError> {
                Ok(match reader.byte()? {
                    $($tag => Self::$variant
                        $(({ let $inner = $crate::base::field::Codec::read(reader)?; $inner }))?
                        $({ $($field: $crate::base::field::Codec::read(reader)?),* })?,)*
                    _ => return Err($crate::base::codec::DecodeError::UnknownLayout),
                })
            }
        }
    };
}

/// Implements [`Codec`] for types that consist of a fixed number of bytes: `from_bytes` and the given method.
macro_rules! arrays {
    ($($name:ident: $bytes:ident),*) => {
        $(impl $crate::base::field::Codec for $name {
            fn write(&self, writer: &mut $crate::base::codec::Writer) {
                writer.array(self.$bytes());
            }

            fn read(
                reader: &mut $crate::base::codec::Reader<'_>,
            ) -> Result<Self, $crate::base::codec::DecodeError> {
                reader.array().map(Self::from_bytes)
            }
        })*
    };
}

/// Implements [`Codec`] for types that consist of a text: `as_str`, and a function that returns an option.
macro_rules! texts {
    ($($name:ident: $read:expr),*) => {
        $(impl $crate::base::field::Codec for $name {
            fn write(&self, writer: &mut $crate::base::codec::Writer) {
                writer.text(self.as_str());
            }

            fn read(
                reader: &mut $crate::base::codec::Reader<'_>,
            ) -> Result<Self, $crate::base::codec::DecodeError> {
                let read: fn(&str) -> Option<Self> = $read;
                read(reader.text()?).ok_or($crate::base::codec::DecodeError::Malformed)
            }
        })*
    };
}

pub(crate) use {arrays, fields, texts, variants};

/// Implements [`Codec`] for one type by two expressions over the writer and the reader.
macro_rules! field {
    ($type:ty, |$value:ident, $writer:ident| $write:expr, |$reader:ident| $read:expr $(, $($parameters:tt)+)?) => {
        impl $(<$($parameters)+>)? Codec for $type {
            fn write(&self, $writer: &mut Writer) {
                let $value = self;
                $write;
            }

            fn read($reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                $read
            }
        }
    };
}

field!(bool, |own, writer| writer.flag(*own), |reader| reader.flag());
field!(u32, |own, writer| writer.number(*own), |reader| reader.number());
field!(NonZeroU32, |own, writer| writer.number(own.get()), |reader| {
    Self::new(reader.number()?).ok_or(DecodeError::Malformed)
});
field!(Timestamp, |own, writer| writer.time(*own), |reader| reader.time());
// Whole seconds; more than `u32::MAX` (136 years) are stored as `u32::MAX`.
field!(Duration, |own, writer| writer.number(u32::try_from(own.as_secs()).unwrap_or(u32::MAX)), |reader| reader
    .number()
    .map(|seconds| Self::from_secs(seconds.into())));
field!(Box<str>, |own, writer| writer.text(own), |reader| reader.text().map(Into::into));
field!(String, |own, writer| writer.text(own), |reader| reader.text().map(Into::into));
field!(Box<[u8]>, |own, writer| writer.bytes(own), |reader| reader.bytes().map(Into::into));
field!([u8; N], |own, writer| writer.array(own), |reader| reader.array(), const N: usize);
field!(IpAddr, |own, writer| writer.text(&own.to_string()), |reader| {
    reader.text()?.parse().map_err(|_| DecodeError::Malformed)
});
field!(Box<T>, |own, writer| T::write(own, writer), |reader| T::read(reader).map(Self::new), T: Codec);
field!(
    Option<T>,
    |own, writer| writer.optional(own.as_ref(), |writer, value| value.write(writer)),
    |reader| reader.optional(T::read),
    T: Codec
);
field!(Vec<T>, |own, writer| write_list(own, writer), |reader| reader.list(T::read), T: Codec);
field!(Box<[T]>, |own, writer| write_list(own, writer), |reader| reader.list(T::read).map(Into::into), T: Codec);
// A value that is there twice is an error.
field!(
    BTreeSet<T>,
    |own, writer| write_list(own, writer),
    |reader| {
        let list = reader.list(T::read)?;
        let count = list.len();
        let set = Self::from_iter(list);
        if set.len() == count { Ok(set) } else { Err(DecodeError::Malformed) }
    },
    T: Codec + Ord
);

/// Writes the count, and then each value.
pub(crate) fn write_list<'a, T: Codec + 'a>(
    list: impl IntoIterator<Item = &'a T, IntoIter: ExactSizeIterator>,
    writer: &mut Writer,
) {
    let list = list.into_iter();
    writer.count(list.len());
    list.for_each(|value| value.write(writer));
}

impl<T: Codec> Tagged for Option<T> {
    fn write_tagged(&self, tag: u8, writer: &mut Writer) {
        if let Some(value) = self {
            writer.tagged(tag, |writer| value.write(writer));
        }
    }

    fn read_tagged(tag: u8, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.tagged(tag, T::read)
    }
}

/// Stored if it is set.
impl Tagged for bool {
    fn write_tagged(&self, tag: u8, writer: &mut Writer) {
        if *self {
            writer.tagged(tag, |_| {});
        }
    }

    fn read_tagged(tag: u8, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(reader.tagged(tag, |_| Ok(()))?.is_some())
    }
}

/// Stored unless it is empty.
impl<T: Codec> Tagged for Vec<T> {
    fn write_tagged(&self, tag: u8, writer: &mut Writer) {
        if !self.is_empty() {
            writer.tagged(tag, |writer| self.write(writer));
        }
    }

    fn read_tagged(tag: u8, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.tagged(tag, Self::read).map(Option::unwrap_or_default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq)]
    struct Sample {
        count: u32,
        names: BTreeSet<Box<str>>,
        shape: Shape,
        note: Option<String>,
        cached: Option<u32>,
    }

    #[derive(Debug, Default, PartialEq)]
    enum Shape {
        #[default]
        Point,
        Line(u32),
        Square {
            side: u32,
            is_filled: bool,
        },
    }

    fields! { Sample { count, names, shape } tagged { 7 => note } elsewhere { cached } }
    variants! { Shape { 0 => Point, 1 => Line(length), 4 => Square { side, is_filled } } }

    const KIND: u8 = b'X';

    #[test]
    fn a_record_is_written_in_the_order_of_its_list() {
        let shape = Shape::Square { side: 5, is_filled: true };
        let names = [Box::from("a")].into();
        let sample = Sample { count: 2, names, shape, note: Some("n".to_owned()), cached: Some(1) };
        let bytes = encode(KIND, &sample);
        assert_eq!(bytes, b"X\x01\0\0\0\x02\0\0\0\x01\0\0\0\x01a\x04\0\0\0\x05\x01\x07\0\0\0\x05\0\0\0\x01n");
        assert_eq!(decode(KIND, &bytes), Ok(Sample { cached: None, ..sample }));
        for shape in [Shape::Point, Shape::Line(9)] {
            let sample = Sample { shape, ..Sample::default() };
            assert_eq!(decode(KIND, &encode(KIND, &sample)), Ok(sample));
        }
    }

    #[test]
    fn what_is_unknown_or_left_over_is_an_error() {
        let bytes = encode(KIND, &Sample::default());
        let last = bytes.len() - 1;
        let unknown = [&bytes[..last], &[2]].concat();
        assert_eq!(decode::<Sample>(KIND, &unknown), Err(DecodeError::UnknownLayout));
        assert_eq!(decode::<Sample>(KIND, &[&bytes[..], b"x"].concat()), Err(DecodeError::Malformed));
        let unknown = [&bytes[..], b"\x08\0\0\0\0"].concat();
        assert_eq!(decode::<Sample>(KIND, &unknown), Err(DecodeError::UnknownLayout));
        let twice = b"X\x01\0\0\0\0\0\0\0\x02\0\0\0\x01a\0\0\0\x01a\0";
        assert_eq!(decode::<Sample>(KIND, twice), Err(DecodeError::Malformed));
    }
}
