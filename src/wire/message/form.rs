//! Messages as queries and form bodies [RFC 6749 appendix B].

use std::fmt;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};

/// An error in converting a message to a form, or a form to a message.
///
/// It names no part of the form, which may contain secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormError {
    /// A parameter is missing, repeated, or has a value that it must not have.
    #[error("the form is not the expected message")]
    Unreadable,
    /// The message cannot be written as a form.
    #[error("the message cannot be written as a form")]
    Unwritable,
}

/// Replaces a value that `Debug` must not show.
pub(super) struct Redacted;

impl fmt::Debug for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// Replaces an optional value that `Debug` must not show. It still shows whether there is a value.
pub(super) fn redacted<T>(value: Option<&T>) -> Option<Redacted> {
    value.map(|_| Redacted)
}

pub(super) fn write(message: &impl Serialize) -> Result<String, FormError> {
    serde_urlencoded::to_string(message).map_err(|_| FormError::Unwritable)
}

pub(super) fn read<T: DeserializeOwned>(form: &str) -> Result<T, FormError> {
    serde_urlencoded::from_str(form).map_err(|_| FormError::Unreadable)
}

/// Reads a parameter that may be absent.
///
/// > Parameters sent without a value MUST be treated as if they were omitted from the request.
/// > [RFC 6749 section 3.1]
pub(super) fn optional_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.is_empty()))
}

/// Reads a parameter that must have a value [RFC 6749 section 3.1].
pub(super) fn required_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Err(D::Error::custom("a required value is empty"));
    }
    Ok(text)
}
