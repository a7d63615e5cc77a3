//! Codes, tokens and client secrets: their text, their digests, their comparison.
//!
//! Every handle, code and token is `prefix | id of its record (22 characters) | secret`. The store is
//! asked by the id; what proves anything is the secret, of which a record holds the digest alone.

pub(crate) mod derive;
mod digest;
pub(crate) mod minted;
pub(crate) mod nonce;
pub(crate) mod opaque;
pub(crate) mod refresh;

use std::fmt;
use std::ops::RangeInclusive;

use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::entropy::Entropy;
use crate::id::{ClientId, MADE_CHARACTERS, letters_and_digits};
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

secret_text! {
    /// A token that allows a request to register a client [RFC 7591 section 3]: 65 letters and digits after its prefix,
    /// with 256 random bits.
    InitialAccessToken
}
secret_text! {
    /// A token that allows a client to read, replace and delete its own registration [RFC 7592 section 3]: 43 letters
    /// and digits after its prefix, with 256 random bits.
    RegistrationAccessToken
}

impl InitialAccessToken {
    /// Generates the token with that id.
    pub(crate) fn generate(prefix: &str, id: &ClientId, entropy: &dyn Entropy) -> Self {
        Self(format!("{prefix}{id}{}", *Zeroizing::new(letters_and_digits::<SECRET_CHARACTERS>(entropy))))
    }

    /// Reads the id from a presented token; `None` if the text has another form.
    pub(crate) fn id(prefix: &str, text: &[u8]) -> Option<ClientId> {
        let (id, secret) = text.strip_prefix(prefix.as_bytes())?.split_at_checked(MADE_CHARACTERS)?;
        let id = ClientId::new(str::from_utf8(id).ok()?).ok()?;
        (id.is_made_by_server() && secret.len() == SECRET_CHARACTERS).then_some(id)
    }
}

impl RegistrationAccessToken {
    pub(crate) fn generate(prefix: &str, entropy: &dyn Entropy) -> Self {
        Self(format!("{prefix}{}", *Zeroizing::new(letters_and_digits::<SECRET_CHARACTERS>(entropy))))
    }
}

impl ClientSecret {
    pub(crate) fn generate(entropy: &dyn Entropy) -> Self {
        Self(letters_and_digits::<SECRET_CHARACTERS>(entropy))
    }
}

/// Letters and digits of a secret that the server makes: 256 random bits.
const SECRET_CHARACTERS: usize = 43;

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

    /// 7591-3-02, 7592-2-02
    #[test]
    fn tokens_of_registrations_have_256_bits_and_one_shape() {
        let id = ClientId::generate(&SystemEntropy);
        let token = InitialAccessToken::generate("ia_", &id, &SystemEntropy);
        let text = token.expose();
        assert_eq!(text.len(), 3 + 22 + 43);
        assert_eq!(InitialAccessToken::id("ia_", text.as_bytes()), Some(id.clone()));
        for other in
            [&text[1..], &text[..text.len() - 1], &format!("{text}x"), &text.replace(id.as_str(), &"-".repeat(22))]
        {
            assert_eq!(InitialAccessToken::id("ia_", other.as_bytes()), None, "{other}");
        }
        let token = RegistrationAccessToken::generate("ra_", &SystemEntropy);
        assert_eq!(token.expose().len(), 3 + 43);
        assert_eq!(format!("{token:?}"), "RegistrationAccessToken([redacted])");
    }
}
