//! SHA-256 of secrets [FIPS 180-4], and comparison in constant time.

use std::fmt;

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq;

use crate::base::field::arrays;

/// The length of a [`Digest`] in bytes.
const DIGEST_BYTES: usize = 32;

/// The SHA-256 of a secret, compared in constant time.
///
/// Secrets that the server generates have 256 random bits. A slow hash would not make them harder to guess.
#[derive(Clone, Copy)]
pub(crate) struct Digest([u8; DIGEST_BYTES]);

impl Digest {
    pub(crate) fn of(secret: &[u8]) -> Self {
        Self(Sha256::digest(secret).into())
    }

    pub(crate) const fn from_bytes(bytes: [u8; DIGEST_BYTES]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn bytes(&self) -> &[u8; DIGEST_BYTES] {
        &self.0
    }

    /// Returns its first `N` bytes.
    pub(crate) fn first_bytes<const N: usize>(&self) -> [u8; N] {
        const { assert!(N <= DIGEST_BYTES) };
        let mut first = [0; N];
        first.iter_mut().zip(self.0).for_each(|(to, from)| *to = from);
        first
    }
}

arrays! { Digest: bytes }

impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        is_equal(&self.0, &other.0)
    }
}

impl Eq for Digest {}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest([redacted])")
    }
}

/// Compares in a time that depends only on the length: it compares every byte before it decides.
pub(crate) fn is_equal<const N: usize>(one: &[u8; N], other: &[u8; N]) -> bool {
    let difference = one.iter().zip(other).fold(0, |difference, (one, other)| difference | (one ^ other));
    difference.ct_eq(&0).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_is_sha_256() {
        // FIPS 180-4: the one-block example.
        let digest = Digest::of(b"abc");
        assert_eq!(digest.bytes()[..4], [0xba, 0x78, 0x16, 0xbf]);
        assert_eq!(digest, Digest::of(b"abc"));
        assert_ne!(digest, Digest::of(b"abd"));
        assert_eq!(format!("{digest:?}"), "Digest([redacted])");
    }

    #[test]
    fn every_byte_counts_in_a_comparison() {
        let text = [7; 43];
        assert!(is_equal(&text, &text));
        for position in 0..text.len() {
            let mut other = text;
            other[position] ^= 0x80;
            assert!(!is_equal(&text, &other), "{position}");
        }
    }
}
