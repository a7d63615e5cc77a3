//! The user on whose behalf an application acts.

use std::fmt;

use smol_str::SmolStr;

/// The embedder's name for one of its users, 1 to 255 octets of UTF-8, never shown to other users.
///
/// It is the `sub` of introspection [RFC 7662 section 2.2]. Take what never changes and is never
/// given to another user: a primary key, not an e-mail address. One of up to 23 octets needs no memory
/// of its own beside the record that names it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject(SmolStr);

/// Octets that a subject may have at most.
pub(crate) const SUBJECT_OCTETS: usize = 255;

impl Subject {
    /// Makes a subject from the embedder's text.
    ///
    /// # Errors
    ///
    /// [`SubjectError`] if the text is empty or longer than 255 octets.
    pub fn new(text: impl AsRef<str>) -> Result<Self, SubjectError> {
        let text = text.as_ref();
        if text.is_empty() || text.len() > SUBJECT_OCTETS {
            return Err(SubjectError);
        }
        Ok(Self(text.into()))
    }

    /// Returns the embedder's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

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

/// A text that cannot be a [`Subject`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a subject has 1 to 255 octets")]
#[non_exhaustive]
pub struct SubjectError;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_1_to_255_octets() {
        assert_eq!(Subject::new(""), Err(SubjectError));
        assert_eq!(Subject::new("\0 any \u{1f600}").unwrap().as_str(), "\0 any \u{1f600}");
        assert!(Subject::new("x".repeat(255)).is_ok());
        assert_eq!(Subject::new("x".repeat(256)), Err(SubjectError));
    }
}
