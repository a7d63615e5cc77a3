//! A secret that was just made: its text on the way to the one answer that carries it, and its digest.

use zeroize::Zeroizing;

use crate::id::{ID_CHARACTERS, ID_OCTETS, base64url};
use crate::secret::Digest;

/// The parts of a text `prefix | id | secret` with `N` characters of secret, and the digest that its record
/// keeps.
pub(crate) struct Minted<const N: usize> {
    id: [u8; ID_CHARACTERS],
    secret: Zeroizing<[u8; N]>,
    pub(crate) digest: Digest,
}

impl<const N: usize> Minted<N> {
    pub(super) fn new(id: &[u8; ID_OCTETS], secret: Zeroizing<[u8; N]>, digest: Digest) -> Self {
        Self { id: base64url(id), secret, digest }
    }

    /// Octets of the whole text.
    pub(crate) fn len(prefix: &str) -> usize {
        prefix.len() + ID_CHARACTERS + N
    }

    /// Writes the whole text.
    pub(crate) fn write(&self, prefix: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(prefix.as_bytes());
        out.extend_from_slice(&self.id);
        out.extend_from_slice(self.secret.as_slice());
    }

    /// Returns the whole text.
    pub(crate) fn text(&self, prefix: &str) -> String {
        let mut text = Vec::with_capacity(Self::len(prefix));
        self.write(prefix, &mut text);
        // All of it is ASCII.
        String::from_utf8(text).unwrap_or_default()
    }
}
