//! A newly generated secret: its text, for the one response that contains it, and its digest.

use zeroize::Zeroizing;

use crate::base::id::IdText;
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
        self.parts(prefix, id).concat()
    }

    /// Returns the parts of the text, so that it is written into a message without a copy.
    pub(crate) fn parts<'a>(&'a self, prefix: &'a str, id: &'a IdText) -> [&'a str; 3] {
        // It is ASCII.
        [prefix, id.as_str(), str::from_utf8(self.secret.as_slice()).unwrap_or_default()]
    }
}
