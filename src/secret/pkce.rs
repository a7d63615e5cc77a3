//! Proof Key for Code Exchange, which binds a code to the program that requested it [RFC 7636].
//!
//! S256 is the only method: `plain` reveals the verifier to anyone who sees the authorization request.

use std::{fmt, str};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::base::ValueError;
use crate::base::field::texts;
use crate::base::id::write_base64url;
use crate::secret::{Digest, is_equal};

/// Characters of an S256 challenge: 32 bytes in base64url without padding.
const CHALLENGE_CHARACTERS: usize = 43;

/// The secret that a client keeps from its request to its exchange [RFC 7636 section 4.1].
///
/// It has 43 to 128 unreserved characters. Its `Debug` shows nothing, and it is wiped when dropped.
///
/// # Examples
///
/// ```
/// use grantor::secret::CodeVerifier;
///
/// let verifier = CodeVerifier::new("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")?;
/// assert_eq!(verifier.challenge().as_str(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
/// # Ok::<(), grantor::error::ValueError>(())
/// ```
#[derive(Clone)]
pub struct CodeVerifier(String);

impl Drop for CodeVerifier {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl ZeroizeOnDrop for CodeVerifier {}

impl CodeVerifier {
    /// The fewest characters a verifier may have.
    pub const MIN_CHARACTERS: usize = 43;
    /// The most characters a verifier may have.
    pub const MAX_CHARACTERS: usize = 128;

    /// Creates a verifier from its text [RFC 7636 section 4.1].
    ///
    /// # Errors
    ///
    /// [`ValueError`] unless it has 43 to 128 bytes, all of `A-Z a-z 0-9 - . _ ~`. The
    /// refused text is wiped.
    pub fn new(text: impl Into<String>) -> Result<Self, ValueError> {
        let verifier = Self(text.into());
        Self::check(verifier.0.as_bytes()).map(|()| verifier)
    }

    pub(crate) fn check(text: &[u8]) -> Result<(), ValueError> {
        if !(Self::MIN_CHARACTERS..=Self::MAX_CHARACTERS).contains(&text.len()) {
            return Err(VERIFIER_LENGTH);
        }
        if !text.iter().fold(true, |sound, byte| sound & is_unreserved(*byte)) {
            return Err(VERIFIER_CHARACTER);
        }
        Ok(())
    }

    /// Creates a verifier of 43 characters from 32 random bytes [RFC 7636 section 4.1].
    ///
    /// # Security
    ///
    /// The bytes must come from a cryptographic generator, fresh for every authorization request.
    #[must_use]
    pub fn from_random_bytes(bytes: &[u8; 32]) -> Self {
        Self(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Returns the text; never log it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Computes the challenge that goes into the authorization request [RFC 7636 section 4.2].
    #[must_use]
    pub fn challenge(&self) -> CodeChallenge {
        CodeChallenge::of(self.0.as_bytes())
    }
}

impl fmt::Debug for CodeVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CodeVerifier([redacted])")
    }
}

/// The S256 digest of a verifier, as the authorization request carries it [RFC 7636 section 4.2].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CodeChallenge([u8; CHALLENGE_CHARACTERS]);

texts! { CodeChallenge: |text| Self::parse(text.as_bytes()).ok() }

impl CodeChallenge {
    /// The method of every challenge; the name is case-sensitive [RFC 7636 section 4.3].
    pub const METHOD: &str = "S256";

    /// Reads a challenge from the bytes of the parameter, form-decoded [RFC 7636 section 4.2].
    ///
    /// # Errors
    ///
    /// [`ValueError`] unless it has 43 bytes, all in the base64url alphabet.
    pub fn parse(bytes: &[u8]) -> Result<Self, ValueError> {
        let Ok(text) = <[u8; CHALLENGE_CHARACTERS]>::try_from(bytes) else {
            return Err(CHALLENGE_LENGTH);
        };
        if !text.iter().copied().all(is_base64url) {
            return Err(CHALLENGE_CHARACTER);
        }
        Ok(Self(text))
    }

    fn of(verifier: &[u8]) -> Self {
        let mut text = [0; CHALLENGE_CHARACTERS];
        write_base64url(Digest::of(verifier).bytes(), &mut text);
        Self(text)
    }

    /// Returns the text, 43 characters of base64url.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // Both constructors produce only ASCII.
        str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Returns whether the received bytes are the verifier that this challenge was made from [RFC 7636 section 4.6].
    ///
    /// # Security
    ///
    /// The time taken depends on the length of the verifier, never on where the two texts differ.
    #[must_use]
    pub fn is_met_by(&self, verifier: &[u8]) -> bool {
        CodeVerifier::check(verifier).is_ok() && is_equal(&self.0, &Self::of(verifier).0)
    }
}

impl fmt::Debug for CodeChallenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CodeChallenge").field(&self.as_str()).finish()
    }
}

const VERIFIER_LENGTH: ValueError = ValueError("a code verifier has 43 to 128 characters");
const VERIFIER_CHARACTER: ValueError =
    ValueError("a code verifier has only letters, digits and the characters - . _ ~");
const CHALLENGE_LENGTH: ValueError = ValueError("an S256 code challenge has 43 characters");
const CHALLENGE_CHARACTER: ValueError =
    ValueError("an S256 code challenge has only letters, digits and the characters - _");

const fn is_unreserved(byte: u8) -> bool {
    is_base64url(byte) || matches!(byte, b'.' | b'~')
}

const fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7636 appendix B.
    const BYTES: [u8; 32] = [
        116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212, 37, 77, 105, 214, 191,
        240, 91, 88, 5, 88, 83, 132, 141, 121,
    ];
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    #[test]
    fn appendix_b_example_is_met() {
        let verifier = CodeVerifier::new(VERIFIER).unwrap();
        let challenge = CodeChallenge::parse(CHALLENGE.as_bytes()).unwrap();
        assert_eq!(CodeVerifier::from_random_bytes(&BYTES).expose(), VERIFIER);
        assert_eq!(verifier.challenge(), challenge);
        assert_eq!(challenge.as_str(), CHALLENGE);
        assert!(challenge.is_met_by(verifier.expose().as_bytes()));
    }

    #[test]
    fn another_verifier_does_not_meet_the_challenge() {
        let challenge = CodeChallenge::parse(CHALLENGE.as_bytes()).unwrap();
        for text in [VERIFIER.replace('d', "e"), VERIFIER.to_lowercase(), format!("{VERIFIER}A"), CHALLENGE.to_owned()]
        {
            assert!(!challenge.is_met_by(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn verifier_has_43_to_128_unreserved_characters() {
        let with = |character: &str| format!("{}{character}", "a".repeat(42));
        let cases = [
            (String::new(), Err(VERIFIER_LENGTH)),
            ("a".repeat(42), Err(VERIFIER_LENGTH)),
            ("a".repeat(43), Ok(())),
            ("a".repeat(128), Ok(())),
            ("a".repeat(129), Err(VERIFIER_LENGTH)),
            (with("-._~09AZ"), Ok(())),
            (with("+"), Err(VERIFIER_CHARACTER)),
            (with("/"), Err(VERIFIER_CHARACTER)),
            (with("="), Err(VERIFIER_CHARACTER)),
            (with(" "), Err(VERIFIER_CHARACTER)),
            (with("%"), Err(VERIFIER_CHARACTER)),
            (with("\0"), Err(VERIFIER_CHARACTER)),
            (with("\u{e9}"), Err(VERIFIER_CHARACTER)),
        ];
        for (text, expected) in cases {
            assert_eq!(CodeVerifier::new(text.as_str()).map(drop), expected, "{text:?}");
        }
    }

    #[test]
    fn challenge_has_43_base64url_characters() {
        let with = |byte: u8| [b"a".repeat(42), vec![byte]].concat();
        let cases = [
            (Vec::new(), Err(CHALLENGE_LENGTH)),
            (b"a".repeat(42), Err(CHALLENGE_LENGTH)),
            (b"a".repeat(43), Ok(())),
            (b"a".repeat(44), Err(CHALLENGE_LENGTH)),
            (format!("{CHALLENGE}=").into_bytes(), Err(CHALLENGE_LENGTH)),
            (with(b'-'), Ok(())),
            (with(b'_'), Ok(())),
            (with(b'='), Err(CHALLENGE_CHARACTER)),
            (with(b'+'), Err(CHALLENGE_CHARACTER)),
            (with(b'/'), Err(CHALLENGE_CHARACTER)),
            (with(b'.'), Err(CHALLENGE_CHARACTER)),
            (with(b'~'), Err(CHALLENGE_CHARACTER)),
            (with(0), Err(CHALLENGE_CHARACTER)),
            (with(0xff), Err(CHALLENGE_CHARACTER)),
        ];
        for (bytes, expected) in cases {
            assert_eq!(CodeChallenge::parse(&bytes).map(drop), expected, "{bytes:?}");
        }
    }

    #[test]
    fn debug_shows_the_challenge_but_no_verifier() {
        let verifier = CodeVerifier::new(VERIFIER).unwrap();
        assert_eq!(format!("{verifier:?}"), "CodeVerifier([redacted])");
        assert_eq!(format!("{:?}", verifier.challenge()), format!("CodeChallenge(\"{CHALLENGE}\")"));
    }
}
