//! The user on whose behalf an application acts.

use std::fmt;

use smol_str::SmolStr;

use crate::base::ValueError;
use crate::base::field::texts;

/// Your service's name for one of its users, 1 to 255 bytes of UTF-8, never shown to other users.
///
/// It is the `sub` of introspection [RFC 7662 section 2.2]. Use a value that never changes and is never reused for
/// another user: a primary key, not an e-mail address. Up to 23 bytes need no separate allocation.
///
/// It is a text and not bytes: introspection shows it as a JSON string, in which two subjects must never look the same.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject(SmolStr);

/// The most bytes that a subject may have.
pub(crate) const SUBJECT_BYTES: usize = 255;

impl Subject {
    /// Creates a subject from your service's text.
    ///
    /// # Errors
    ///
    /// [`ValueError`] if the text is empty or longer than 255 bytes.
    pub fn new(text: impl AsRef<str>) -> Result<Self, ValueError> {
        let text = text.as_ref();
        if text.is_empty() || text.len() > SUBJECT_BYTES {
            return Err(NO_SUBJECT);
        }
        Ok(Self(text.into()))
    }

    /// Returns your service's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

texts! { Subject: |text| Self::new(text).ok() }

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

const NO_SUBJECT: ValueError = ValueError("a subject must have 1 to 255 bytes");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_1_to_255_bytes() {
        assert_eq!(Subject::new(""), Err(NO_SUBJECT));
        assert_eq!(Subject::new("\0 any \u{1f600}").unwrap().as_str(), "\0 any \u{1f600}");
        assert!(Subject::new("x".repeat(255)).is_ok());
        assert_eq!(Subject::new("x".repeat(256)), Err(NO_SUBJECT));
    }
}
