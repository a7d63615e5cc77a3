//! The protected resources that tokens are for, as records store them.

use std::sync::Arc;

use crate::base::codec::{DecodeError, Reader, Writer};
use crate::base::field::{Field, Tagged};

/// The identifiers of the protected resources that a consent or a token is for [RFC 8707], as they were configured.
///
/// Unset in records that are older than the first protected resource of the server: they are for the default one, so
/// that no sign-in ends when resources are configured. If all resources are removed from the settings, a record with an
/// audience is refused. Otherwise a token for one API would be valid at all of them again. A clone shares the list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Audience(Option<Arc<Box<[Box<str>]>>>);

impl Audience {
    /// No protected resource was configured.
    pub(crate) const UNSET: Self = Self(None);

    /// Creates an audience from distinct identifiers. An empty list is the same as unset.
    pub(crate) fn new<'i>(identifiers: impl IntoIterator<Item = &'i str>) -> Self {
        let identifiers: Box<[Box<str>]> = identifiers.into_iter().map(Into::into).collect();
        if identifiers.is_empty() { Self::UNSET } else { Self(Some(Arc::new(identifiers))) }
    }

    pub(crate) const fn is_unset(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|identifiers| identifiers.iter()).map(AsRef::as_ref)
    }

    pub(crate) fn contains(&self, identifier: &str) -> bool {
        self.iter().any(|own| own == identifier)
    }

    /// Returns whether a consent for this audience includes one for the other.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.is_unset() == other.is_unset() && other.iter().all(|identifier| self.contains(identifier))
    }

    fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |identifiers| identifiers.len())
    }
}

/// The unset audience, for borrowing.
pub(crate) static NO_AUDIENCE: Audience = Audience::UNSET;

/// The order has no meaning.
impl PartialEq for Audience {
    fn eq(&self, other: &Self) -> bool {
        let is_same = || self.0.as_ref().zip(other.0.as_ref()).is_some_and(|(own, others)| Arc::ptr_eq(own, others));
        is_same() || self.len() == other.len() && self.iter().all(|own| other.contains(own))
    }
}

impl Eq for Audience {}

impl Audience {
    fn write_list(&self, writer: &mut Writer) {
        writer.count(self.len());
        self.iter().for_each(|identifier| writer.text(identifier));
    }

    /// Reads a list that is not empty and has no duplicates.
    fn read_list(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let list = reader.list(Reader::text)?;
        let repeats = list.iter().enumerate().any(|(place, own)| list.iter().take(place).any(|before| before == own));
        if list.is_empty() || repeats { Err(DecodeError::Malformed) } else { Ok(Self::new(list)) }
    }
}

/// The identifiers, if there are any, without the consent.
impl Field for Audience {
    fn write(&self, writer: &mut Writer) {
        writer.optional(Some(self).filter(|own| !own.is_unset()), |writer, own| own.write_list(writer));
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.optional(Self::read_list).map(Option::unwrap_or_default)
    }
}

impl Tagged for Audience {
    fn write_tagged(&self, tag: u8, writer: &mut Writer) {
        if !self.is_unset() {
            writer.tagged(tag, |writer| self.write_list(writer));
        }
    }

    fn read_tagged(tag: u8, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.tagged(tag, Self::read_list).map(Option::unwrap_or_default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audiences_are_equal_in_any_order() {
        let (a, ab, ba) = (Audience::new(["a"]), Audience::new(["a", "b"]), Audience::new(["b", "a"]));
        assert_eq!(ab, ba);
        assert_eq!(a, a.clone());
        assert_ne!(a, ab);
        assert_ne!(a, Audience::new(["b"]));
        assert_ne!(a, Audience::UNSET);
        assert_eq!(Audience::new([]), Audience::UNSET);
    }

    #[test]
    fn a_consent_includes_one_for_fewer_resources() {
        let (a, ab) = (Audience::new(["a"]), Audience::new(["a", "b"]));
        assert!(ab.covers(&a) && ab.covers(&ab) && Audience::UNSET.covers(&Audience::UNSET));
        assert!(!a.covers(&ab) && !Audience::UNSET.covers(&a) && !a.covers(&Audience::UNSET));
    }

    #[test]
    fn a_record_has_at_least_one_and_each_once() {
        let read = |list: &[&str]| {
            let mut writer = Writer::new(b'X');
            writer.count(list.len());
            list.iter().for_each(|text| writer.text(text));
            let bytes = writer.finish();
            Audience::read_list(&mut Reader::new(&bytes, b'X').unwrap())
        };
        assert_eq!(read(&["a", "b"]), Ok(Audience::new(["a", "b"])));
        assert_eq!(read(&[]), Err(DecodeError::Malformed));
        assert_eq!(read(&["a", "b", "a"]), Err(DecodeError::Malformed));
    }
}
