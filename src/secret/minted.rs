//! A newly generated secret: its text, for the one response that contains it, and its digest.

use zeroize::Zeroizing;

use crate::model::id::IdText;
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

    /// Returns the whole text.
    pub(crate) fn text(&self, prefix: &str, id: &IdText) -> String {
        let text = [prefix.as_bytes(), id.bytes(), self.secret.as_slice()].concat();
        // The text is ASCII.
        String::from_utf8(text).unwrap_or_default()
    }
}
