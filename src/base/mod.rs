//! What all other modules are built on: time, randomness, ids, the encodings of records and JSON, and how errors are
//! printed.

pub(crate) mod clock;
pub(crate) mod codec;
pub(crate) mod entropy;
pub(crate) mod field;
pub(crate) mod generations;
pub(crate) mod id;
pub(crate) mod json;
pub(crate) mod measure;

use std::error::Error;

/// Implements `Debug` for an error as its text and the texts of its causes. A program whose `main` returns an error
/// prints it with `Debug`. Errors that are only causes of others, and kinds of errors, print the names of their
/// variants, which tests compare.
macro_rules! debug_as_text {
    ($error:ident) => {
        impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&crate::base::with_causes(self))
            }
        }
    };
}
pub(crate) use debug_as_text;

/// Why a text or a number is not a value of its type, such as an id, a subject or a code verifier.
///
/// It states what would be accepted, and contains nothing of the refused value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{0}")]
pub struct ValueError(pub(crate) &'static str);

debug_as_text!(ValueError);

/// Returns the text of an error, then that of each cause which the texts before it do not contain:
/// `the store failed: the disk is full`.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut written = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !written.contains(&text) {
            written = written + ": " + &text;
        }
        source = cause.source();
    }
    written
}

/// base64url without padding [RFC 7515 section 2]. Each value has exactly one encoding.
pub(crate) mod base64url {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    pub(crate) fn encode(bytes: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Decodes the output of [`encode`]. Padding, white space, other alphabets, and unused bits that are not zero are
    /// refused.
    pub(crate) fn decode(text: impl AsRef<[u8]>) -> Option<Vec<u8>> {
        URL_SAFE_NO_PAD.decode(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use crate::store::StoreError;

    #[test]
    fn an_error_is_printed_with_its_causes_and_repeats_none() {
        let disk = std::io::Error::other("the disk is full");
        let inner = StoreError::permanent(StoreError::transient(disk));
        assert_eq!(format!("{inner:?}"), "the store failed: the disk is full");
    }
}
