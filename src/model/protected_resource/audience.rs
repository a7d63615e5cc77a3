//! The protected resources that tokens are for, as records store them.

use std::sync::Arc;

use crate::model::codec::{DecodeError, Reader, Writer};

/// The identifiers of the protected resources that a consent or a token is for [RFC 8707], as they were configured.
///
/// Unset in records that are older than the first protected resource of the server. A clone shares the list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Audience(Option<Arc<Box<[Box<str>]>>>);

impl Audience {
    /// No protected resource was configured.
    pub(crate) const UNSET: Self = Self(None);

    /// Creates an audience from distinct identifiers. An empty list is the same as unset.
    pub(crate) fn new<'i>(identifiers: impl IntoIterator<Item = &'i str>) -> Self {
        let list: Box<[Box<str>]> = identifiers.into_iter().map(Into::into).collect();
        if list.is_empty() { Self::UNSET } else { Self(Some(Arc::new(list))) }
    }

    pub(crate) const fn is_unset(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|list| list.iter()).map(AsRef::as_ref)
    }

    pub(crate) fn contains(&self, identifier: &str) -> bool {
        self.iter().any(|own| own == identifier)
    }

    fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |list| list.len())
    }
}

/// The unset audience, for borrowing.
pub(crate) static NO_AUDIENCE: Audience = Audience::UNSET;

/// The order has no meaning.
impl PartialEq for Audience {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(own), Some(others)) if Arc::ptr_eq(own, others) => true,
            (Some(_), Some(_)) => self.len() == other.len() && self.iter().all(|own| other.contains(own)),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }
}

impl Eq for Audience {}

pub(crate) fn write_audience(writer: &mut Writer, audience: &Audience) {
    writer.count(audience.len());
    audience.iter().for_each(|identifier| writer.text(identifier));
}

/// Reads a list that is not empty and has no duplicates.
pub(crate) fn read_audience(reader: &mut Reader<'_>) -> Result<Audience, DecodeError> {
    let list = reader.list(Reader::text)?;
    let repeats = list.iter().enumerate().any(|(place, own)| list.iter().take(place).any(|before| before == own));
    if list.is_empty() || repeats { Err(DecodeError::Malformed) } else { Ok(Audience::new(list)) }
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
    fn a_record_has_at_least_one_and_each_once() {
        let read = |list: &[&str]| {
            let mut writer = Writer::new(b'X');
            writer.count(list.len());
            list.iter().for_each(|text| writer.text(text));
            let bytes = writer.finish();
            read_audience(&mut Reader::new(&bytes, b'X').unwrap())
        };
        assert_eq!(read(&["a", "b"]), Ok(Audience::new(["a", "b"])));
        assert_eq!(read(&[]), Err(DecodeError::Malformed));
        assert_eq!(read(&["a", "b", "a"]), Err(DecodeError::Malformed));
    }
}
