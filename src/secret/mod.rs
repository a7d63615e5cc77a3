//! Codes, tokens and client secrets: their text, their digests, their comparison.
//!
//! Every handle, code and token is `prefix | id of its record (22 characters) | secret`. The store is
//! asked by the id; what proves anything is the secret, of which a record holds the digest alone.

pub(crate) mod derive;
mod digest;
pub(crate) mod minted;
pub(crate) mod opaque;
pub(crate) mod refresh;

use std::fmt;
use std::ops::RangeInclusive;

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::entropy::Entropy;
use crate::id::letters_and_digits;
pub(crate) use digest::{Digest, is_equal};

/// Defines a text that proves something: shown by `expose` alone, wiped when dropped.
macro_rules! secret_text {
    ($(#[$docs:meta])* $name:ident) => {
        $(#[$docs])*
        #[derive(Clone)]
        pub struct $name(String);

        impl Drop for $name {
            fn drop(&mut self) {
                self.0.zeroize();
            }
        }

        impl ZeroizeOnDrop for $name {}

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
    /// What brings the next pair of tokens [RFC 6749 section 1.5]: 110 characters after its prefix.
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
    }
}
