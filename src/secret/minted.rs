//! A newly generated secret: its text, for the one response that contains it, and its digest.

use zeroize::Zeroizing;

use crate::model::id::{ID_CHARACTERS, IdText};
use crate::secret::Digest;

/// The secret part of a text `prefix | id | secret`, with `N` characters, and the digest that its record keeps.
#[derive(Clone)]
pub(crate) struct Minted<const N: usize> {
    secret: Zeroizing<[u8; N]>,
    pub(crate) digest: Digest,
}

impl<const N: usize> Minted<N> {
    #[inline]
    pub(super) fn new(secret: Zeroizing<[u8; N]>, digest: Digest) -> Self {
        Self { secret, digest }
    }

    /// Returns the length of the whole text in bytes.
    pub(crate) fn len(prefix: &str) -> usize {
        prefix.len() + ID_CHARACTERS + N
    }

    /// Writes the whole text.
    pub(crate) fn write(&self, prefix: &str, id: &IdText, out: &mut Vec<u8>) {
        out.extend_from_slice(prefix.as_bytes());
        out.extend_from_slice(id.bytes());
        out.extend_from_slice(self.secret.as_slice());
    }

    /// Returns the whole text.
    pub(crate) fn text(&self, prefix: &str, id: &IdText) -> String {
        let mut text = Vec::with_capacity(Self::len(prefix));
        self.write(prefix, id, &mut text);
        // The text is ASCII.
        String::from_utf8(text).unwrap_or_default()
    }
}
