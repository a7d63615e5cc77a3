//! The claims of a token [RFC 7519 section 4].

use std::collections::BTreeMap;

use crate::jose::JoseError;
use crate::wire::json::Json;

/// The claims of a token. They cannot be printed: together with the rest of the token they are a credential.
pub(crate) struct Claims(BTreeMap<String, Json>);

impl Claims {
    pub(super) const fn new(members: BTreeMap<String, Json>) -> Self {
        Self(members)
    }

    /// Returns the claim of that name as a string; `None` if it is missing.
    ///
    /// # Errors
    ///
    /// [`JoseError`] if it is not a string.
    pub(crate) fn text(&self, name: &'static str) -> Result<Option<&str>, JoseError> {
        self.read(name, Json::as_text)
    }

    /// Returns the claim of that name as a time, in seconds since 1970; `None` if it is missing. A fraction is dropped.
    ///
    /// # Errors
    ///
    /// [`JoseError`] if it is not a number from 0 to 2^53.
    pub(crate) fn time(&self, name: &'static str) -> Result<Option<u64>, JoseError> {
        self.read(name, Json::as_number)
    }

    /// Returns the values of `aud`, and whether they were in an array; `None` if it is missing.
    ///
    /// # Errors
    ///
    /// [`JoseError`] if it is neither a string nor an array of strings.
    pub(crate) fn audience(&self) -> Result<Option<(Vec<&str>, bool)>, JoseError> {
        self.read("aud", |audience| match audience.as_text() {
            Some(text) => Some((vec![text], false)),
            None => audience.as_texts().map(|texts| (texts, true)),
        })
    }

    fn read<'a, T>(&'a self, name: &'static str, read: impl Fn(&'a Json) -> Option<T>) -> Result<Option<T>, JoseError> {
        self.0.get(name).map(|value| read(value).ok_or(JoseError::Claim(name))).transpose()
    }
}
