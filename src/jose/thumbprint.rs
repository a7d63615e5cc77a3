//! The digest that identifies a key [RFC 7638].

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::base::debug_as_text;
use crate::base::field::arrays;
use crate::jose::base64url;

/// The length of a thumbprint in bytes: that of SHA-256.
const BYTES: usize = 32;

/// The SHA-256 thumbprint of a public key, `jkt` [RFC 7638, RFC 9449 section 6.1].
///
/// As text it has 43 characters of base64url; other encodings of the same bytes are refused. A comparison takes the
/// same time for all values.
#[derive(Clone, Copy)]
pub struct JwkThumbprint([u8; BYTES]);

impl JwkThumbprint {
    /// Hashes the required members of a key, in the form of [RFC 7638 section 3].
    pub(super) fn of(members: &[u8]) -> Self {
        Self(Sha256::digest(members).into())
    }

    pub(crate) const fn from_bytes(bytes: [u8; BYTES]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn bytes(&self) -> &[u8; BYTES] {
        &self.0
    }
}

arrays! { JwkThumbprint: bytes }

impl PartialEq for JwkThumbprint {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for JwkThumbprint {}

impl fmt::Display for JwkThumbprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base64url::encode(&self.0))
    }
}

impl fmt::Debug for JwkThumbprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for JwkThumbprint {
    type Err = JwkThumbprintError;

    /// Parses the 43 characters that [`Display`](fmt::Display) writes.
    ///
    /// # Errors
    ///
    /// [`JwkThumbprintError`] for any other text.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        base64url::decode(text).and_then(|bytes| bytes.try_into().ok()).map(Self).ok_or(JwkThumbprintError)
    }
}

/// The error of a string that is not a thumbprint.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a thumbprint must have 43 characters of canonical base64url")]
#[non_exhaustive]
pub struct JwkThumbprintError;

debug_as_text!(JwkThumbprintError);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_compared() {
        let own = JwkThumbprint::from_bytes([7; BYTES]);
        assert_eq!(own, JwkThumbprint::from_bytes([7; BYTES]));
        for place in 0..BYTES {
            let mut other = [7; BYTES];
            other[place] = 8;
            assert_ne!(own, JwkThumbprint::from_bytes(other), "{place}");
        }
    }
}
