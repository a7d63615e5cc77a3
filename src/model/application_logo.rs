//! The logo of an application, which is a record of its own: most requests need none.

use crate::base::clock::Timestamp;
use crate::base::codec::{DecodeError, Reader, Writer, kind};
use crate::base::field::{Field, fields};
use crate::base::id::LogoId;
use crate::model::application::Logo;
use crate::model::kinds::Table;
use crate::model::record::{Columns, Record, encoded_as, key_and_version};

/// The logo of an application.
///
/// It is inserted before the [`Application`](crate::Application) that names it, and stays once that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplicationLogo {
    pub(crate) id: LogoId,
    pub(crate) version: u32,
    /// Set until an application names the logo, and once none does any more.
    pub(crate) end: Option<Timestamp>,
    pub(crate) logo: Logo,
}

impl ApplicationLogo {
    /// Returns the id of the logo, which its application names.
    #[must_use]
    pub const fn id(&self) -> &LogoId {
        &self.id
    }

    /// Returns the time from which a purge may remove the logo; `None` while an application names it.
    #[must_use]
    pub const fn end(&self) -> Option<Timestamp> {
        self.end
    }

    /// Returns the image.
    #[must_use]
    pub const fn logo(&self) -> &Logo {
        &self.logo
    }
}

impl Record for ApplicationLogo {
    const TABLE: Table = Table::ApplicationLogos;

    key_and_version!(LogoId);

    fn purge_after(&self) -> Option<Timestamp> {
        self.end
    }

    fn is_due_sooner(&self) -> bool {
        self.end.is_some()
    }

    fn columns(&self) -> Columns {
        Columns { state: if self.end.is_none() { "named" } else { "unnamed" }, ..Columns::default() }
    }

    encoded_as!(kind::APPLICATION_LOGO);
}

fields! { ApplicationLogo { id, version, end, logo } }

impl Field for Logo {
    fn write(&self, writer: &mut Writer) {
        writer.bytes(self.bytes());
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Self::decode(reader.bytes()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixtures::compared_layout;

    fn logo(end: Option<Timestamp>) -> ApplicationLogo {
        let logo = Logo::decode(*b"GIF89a\x01\0\x01\0\0\0\0").unwrap();
        ApplicationLogo { id: LogoId::from_bytes([7; 16]), version: 3, end, logo }
    }

    #[test]
    fn comes_back_equal() {
        for logo in [logo(None), logo(Some(Timestamp::from_seconds(7)))] {
            let bytes = logo.encode();
            assert_eq!(ApplicationLogo::decode(&bytes), Ok(logo));
            for cut in 0..bytes.len() {
                assert!(ApplicationLogo::decode(&bytes[..cut]).is_err(), "cut to {cut}");
            }
        }
    }

    /// Every later release reads what a release has written.
    #[test]
    fn layout_1_stays_as_it_is() {
        let record = logo(Some(Timestamp::from_seconds(7)));
        let file = compared_layout("application_logo.1", &record.encode());
        assert_eq!(ApplicationLogo::decode(&file), Ok(record));
    }
}
