//! Serde for the fields of messages.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::secret::{AccessToken, ClientSecret, RefreshToken, RegistrationAccessToken};

/// Replaces a value that `Debug` must not show.
pub(super) struct Redacted;

impl fmt::Debug for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// A value that a message contains as text. The secret types do not implement serde themselves.
pub(super) trait FieldText: Sized {
    /// Creates the value from a text that is not empty; `None` if the text is not such a value.
    fn from_text(text: String) -> Option<Self>;
    fn text(&self) -> &str;
}

impl FieldText for String {
    fn from_text(text: String) -> Option<Self> {
        Some(text)
    }

    fn text(&self) -> &str {
        self
    }
}

macro_rules! secret_text {
    ($($secret:ident),+) => {
        $(impl FieldText for $secret {
            fn from_text(text: String) -> Option<Self> {
                Some(Self::new(text))
            }

            fn text(&self) -> &str {
                self.expose()
            }
        })+
    };
}

secret_text!(AccessToken, ClientSecret, RefreshToken, RegistrationAccessToken);

/// A field that must be present and not empty [RFC 6749 section 3.1].
pub(super) mod required {
    use super::*;

    pub(in crate::wire::message) fn serialize<S: Serializer>(
        value: &impl FieldText,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(value.text())
    }

    pub(in crate::wire::message) fn deserialize<'de, D: Deserializer<'de>, T: FieldText>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        optional::deserialize(deserializer)?.ok_or_else(|| D::Error::custom("a required value is empty"))
    }
}

/// A field that may be absent.
///
/// > Parameters sent without a value MUST be treated as if they were omitted from the request.
/// > [RFC 6749 section 3.1]
pub(super) mod optional {
    use super::*;

    pub(in crate::wire::message) fn serialize<S: Serializer>(
        value: &Option<impl FieldText>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().map(FieldText::text).serialize(serializer)
    }

    /// The error does not repeat the text, which may be a secret.
    pub(in crate::wire::message) fn deserialize<'de, D: Deserializer<'de>, T: FieldText>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?.filter(|text| !text.is_empty());
        let refused = || D::Error::custom("a value does not have the form it must have");
        text.map(|text| T::from_text(text).ok_or_else(refused)).transpose()
    }
}
