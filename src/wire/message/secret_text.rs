//! Secrets in messages: serde for single fields, so that the secret types themselves do not implement it.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

use crate::secret::pkce::CodeVerifier;
use crate::secret::{AccessToken, AuthorizationCode, ClientSecret, RefreshToken, RegistrationAccessToken};

/// A secret that a message contains as text.
pub(super) trait SecretText: Sized {
    /// Creates the secret from a text that is not empty; `None` if the text is not such a secret.
    fn from_text(text: String) -> Option<Self>;
    fn text(&self) -> &str;
}

impl SecretText for AccessToken {
    fn from_text(text: String) -> Option<Self> {
        Some(Self::new(text))
    }

    fn text(&self) -> &str {
        self.expose()
    }
}

impl SecretText for AuthorizationCode {
    fn from_text(text: String) -> Option<Self> {
        Some(Self::new(text))
    }

    fn text(&self) -> &str {
        self.expose()
    }
}

impl SecretText for ClientSecret {
    fn from_text(text: String) -> Option<Self> {
        Some(Self::new(text))
    }

    fn text(&self) -> &str {
        self.expose()
    }
}

impl SecretText for RegistrationAccessToken {
    fn from_text(text: String) -> Option<Self> {
        Some(Self::new(text))
    }

    fn text(&self) -> &str {
        self.expose()
    }
}

impl SecretText for CodeVerifier {
    fn from_text(text: String) -> Option<Self> {
        Self::new(text).ok()
    }

    fn text(&self) -> &str {
        self.expose()
    }
}

impl SecretText for RefreshToken {
    fn from_text(text: String) -> Option<Self> {
        Some(Self::new(text))
    }

    fn text(&self) -> &str {
        self.expose()
    }
}

/// A field that must be present and not empty.
pub(super) mod required {
    use super::*;

    pub(in crate::wire::message) fn serialize<S: Serializer>(
        secret: &impl SecretText,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(secret.text())
    }

    pub(in crate::wire::message) fn deserialize<'de, D: Deserializer<'de>, T: SecretText>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.is_empty() {
            return Err(D::Error::custom("a required value is empty"));
        }
        read(text)
    }
}

/// A field that may be absent; an empty one counts as absent [RFC 6749 section 3.1].
pub(super) mod optional {
    use super::*;

    pub(in crate::wire::message) fn serialize<S: Serializer>(
        secret: &Option<impl SecretText>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match secret {
            Some(secret) => serializer.serialize_some(secret.text()),
            None => serializer.serialize_none(),
        }
    }

    pub(in crate::wire::message) fn deserialize<'de, D: Deserializer<'de>, T: SecretText>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.filter(|text| !text.is_empty()).map(read).transpose()
    }
}

/// Creates the secret. The error does not repeat the text.
fn read<T: SecretText, E: Error>(text: String) -> Result<T, E> {
    T::from_text(text).ok_or_else(|| E::custom("a value does not have the form it must have"))
}
