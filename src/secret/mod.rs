//! Codes, tokens and client secrets: their text, their digests, their comparison.
//!
//! Every handle, code and token is `prefix | id of its record (22 characters) | secret`. The store is
//! asked by the id; what proves anything is the secret, of which a record holds the digest alone.

pub(crate) mod minted;
pub(crate) mod opaque;
pub(crate) mod refresh;

use std::fmt;
use std::ops::RangeInclusive;

use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::entropy::Entropy;
use crate::id::letters_and_digits;

/// Defines a text that proves something: shown by `expose` alone, wiped when dropped.
macro_rules! secret_text {
    ($(#[$docs:meta])* $name:ident) => {
        $(#[$docs])*
        #[derive(Clone, Zeroize, ZeroizeOnDrop)]
        pub struct $name(String);

        impl $name {
            /// Takes over a secret text.
            #[must_use]
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// Returns the text; never log it.
            #[must_use]
            pub fn expose(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "([redacted])"))
            }
        }
    };
}

secret_text! {
    /// What the consent page's form carries to name the authorization request it decides: 65 characters
    /// after its prefix.
    AuthorizationHandle
}
secret_text! {
    /// What the client exchanges for tokens, once [RFC 6749 section 1.3.1]: 65 characters after its
    /// prefix.
    AuthorizationCode
}
secret_text! {
    /// What opens the resources [RFC 6749 section 1.4]: 65 characters after its prefix.
    AccessToken
}
secret_text! {
    /// What brings the next pair of tokens [RFC 6749 section 1.5]: 102 characters after its prefix.
    RefreshToken
}
secret_text! {
    /// What a confidential client proves itself with [RFC 6749 section 2.3.1]: 43 letters and digits,
    /// 256 random bits, made by the server.
    ClientSecret
}

impl ClientSecret {
    pub(crate) fn generate(entropy: &dyn Entropy) -> Self {
        Self(letters_and_digits::<43>(entropy))
    }
}

/// Characters of a client secret that is taken over; no secret of the server's own is shorter either.
pub(crate) const CLIENT_SECRET_CHARACTERS: RangeInclusive<usize> = 32..=255;

/// Octets of a [`Digest`].
pub(crate) const DIGEST_OCTETS: usize = 32;

/// The SHA-256 of a secret, compared in constant time.
///
/// Secrets made by the server have 256 random bits: no slow hash could make them harder to guess.
#[derive(Clone, Copy)]
pub(crate) struct Digest([u8; DIGEST_OCTETS]);

impl Digest {
    pub(crate) fn of(secret: &[u8]) -> Self {
        Self(Sha256::digest(secret).into())
    }

    pub(crate) const fn from_octets(octets: [u8; DIGEST_OCTETS]) -> Self {
        Self(octets)
    }

    pub(crate) const fn octets(&self) -> &[u8; DIGEST_OCTETS] {
        &self.0
    }
}

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

/// Compares in a time that depends on the length alone; eight octets at a time, because single ones cost as
/// much as half a hash.
pub(crate) fn is_equal<const N: usize>(one: &[u8; N], other: &[u8; N]) -> bool {
    let ((one, one_rest), (other, other_rest)) = (one.as_chunks(), other.as_chunks());
    let words = one.iter().zip(other).map(|(one, other)| u64::from_ne_bytes(*one).ct_eq(&u64::from_ne_bytes(*other)));
    (words.fold(Choice::from(1), |equal, same| equal & same) & one_rest.ct_eq(other_rest)).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::SystemEntropy;

    #[test]
    fn debug_shows_no_secret() {
        let secret = ClientSecret::generate(&SystemEntropy);
        assert_eq!(secret.expose().len(), 43);
        assert!(secret.expose().bytes().all(|octet| octet.is_ascii_alphanumeric()));
        assert_eq!(format!("{secret:?}"), "ClientSecret([redacted])");
        assert_eq!(format!("{:?}", Digest::of(b"x")), "Digest([redacted])");
    }

    #[test]
    fn digest_is_sha_256() {
        // FIPS 180-4: the one-block example.
        let digest = Digest::of(b"abc");
        assert_eq!(digest.octets()[..4], [0xba, 0x78, 0x16, 0xbf]);
        assert_eq!(digest, Digest::of(b"abc"));
        assert_ne!(digest, Digest::of(b"abd"));
    }

    #[test]
    fn every_octet_counts_in_a_comparison() {
        let text = [7; 43];
        assert!(is_equal(&text, &text));
        for position in 0..text.len() {
            let mut other = text;
            other[position] ^= 0x80;
            assert!(!is_equal(&text, &other), "{position}");
        }
    }
}
