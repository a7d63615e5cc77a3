//! What your service keeps with a grant.

use std::fmt;
use std::sync::Arc;

use crate::base::ValueError;
use crate::base::codec::{DecodeError, Reader, Writer};
use crate::base::field::Codec;

/// The most bytes that the data of a grant may have.
const MAX_BYTES: usize = 1024;

/// Data of your service that is kept with a grant, such as the tenant that the user chose: 1 to 1024 bytes.
///
/// The library never reads it, and shows it to nobody: `Debug` and events have its length alone. It is stored as given,
/// so encrypt what a copy of the database must not reveal: see [Data and claims of your
/// own](crate::guide::own_data).
#[derive(Clone, PartialEq, Eq)]
pub struct GrantData(Arc<[u8]>);

impl GrantData {
    /// Creates it from your service's bytes.
    ///
    /// # Errors
    ///
    /// [`ValueError`] if there are none, or more than 1024.
    pub fn new(bytes: impl AsRef<[u8]>) -> Result<Self, ValueError> {
        let bytes = bytes.as_ref();
        if bytes.is_empty() || bytes.len() > MAX_BYTES {
            return Err(ValueError("the data of a grant must have 1 to 1024 bytes"));
        }
        Ok(Self(bytes.into()))
    }

    /// Returns your service's bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for GrantData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GrantData({} bytes)", self.0.len())
    }
}

impl Codec for GrantData {
    fn write(&self, writer: &mut Writer) {
        writer.bytes(&self.0);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Self::new(reader.bytes()?).map_err(|_| DecodeError::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Subject;
    use crate::grant::fixtures::Line;
    use crate::interaction::SignedIn;

    /// OWN-01
    #[test]
    fn data_has_1_to_1024_bytes_and_shows_its_length() {
        assert!(GrantData::new([]).is_err() && GrantData::new([0; 1025]).is_err());
        assert_eq!(GrantData::new([0xff]).unwrap().as_bytes(), [0xff], "it need not be a text");
        let data = GrantData::new([b'x'; 1024]).unwrap();
        let shown = "GrantData(1024 bytes)";
        assert_eq!(format!("{data:?}"), shown);
        let user = format!("{:?}", SignedIn::new(Subject::new("alice").unwrap()).data(data.clone()));
        let line = Line::new();
        let terms = line.grant.terms.clone().with_data(Some(&data));
        let grant = format!("{:?}", crate::model::Grant { terms, ..line.grant });
        for text in [user, grant] {
            assert!(text.contains(shown) && !text.contains("xx") && !text.contains("120, 120"), "{text}");
        }
    }
}
