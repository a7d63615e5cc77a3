//! A newly generated secret: its text, for the one response that contains it, and its digest.

use serde::{Serialize, Serializer};
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
        let MintedText(parts) = self.in_message(prefix, id);
        parts.concat()
    }

    /// Returns the whole text for a message, without a copy of it.
    pub(crate) fn in_message<'a>(&'a self, prefix: &'a str, id: &'a IdText) -> MintedText<'a> {
        // It is ASCII.
        MintedText([prefix, id.as_str(), str::from_utf8(self.secret.as_slice()).unwrap_or_default()])
    }
}

/// The text of a secret, in its parts. Serialised, it is one text.
pub(crate) struct MintedText<'a>([&'a str; 3]);

impl Serialize for MintedText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [prefix, id, secret] = self.0;
        serializer.collect_str(&format_args!("{prefix}{id}{secret}"))
    }
}
