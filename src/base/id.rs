//! The ids of records, and the users on whose behalf applications act. They are not secret and grant no access.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use smol_str::SmolStr;

use crate::base::ValueError;
use crate::base::clock::Timestamp;
use crate::base::entropy::Entropy;
use crate::base::field::{arrays, texts};

/// Bytes of the ids that `record_id` defines.
pub(crate) const ID_BYTES: usize = 16;
/// Characters of these ids as text.
pub(crate) const ID_CHARACTERS: usize = 22;
/// Seconds of one time bucket, so that rows created together are stored together.
const BUCKET_SECONDS: u32 = 64;

/// Defines the id of one kind of record: 16 bytes, or 22 characters of base64url.
macro_rules! record_id {
    ($(#[$docs:meta])* $name:ident) => {
        $(#[$docs])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(RecordId);

        impl $name {
            /// Creates an id from the bytes that a store has kept.
            #[must_use]
            pub const fn from_bytes(bytes: [u8; ID_BYTES]) -> Self {
                Self(RecordId(bytes))
            }

            /// Returns the bytes, as a store keeps them. Lists are sorted by them.
            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; ID_BYTES] {
                &self.0.0
            }
        }

        /// The bytes, which are the key of the record in a store.
        impl AsRef<[u8]> for $name {
            fn as_ref(&self) -> &[u8] {
                self.as_bytes()
            }
        }

        arrays! { $name: as_bytes }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = ValueError;

            /// Parses the 22 characters that [`Display`](fmt::Display) writes.
            ///
            /// # Errors
            ///
            /// [`ValueError`](crate::error::ValueError) for any other text.
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                decode_id(text.as_bytes()).map(RecordId).map(Self).ok_or(NO_ID)
            }
        }
    };
}

record_id! {
    /// The id of an [`Authorization`](crate::store::Authorization): 16 bytes that sort by time.
    ///
    /// Four bytes count buckets of 64 seconds since 1970, big endian; twelve are random. As text it has 22 characters
    /// of base64url, and only the canonical form is accepted.
    AuthorizationId
}
record_id! {
    /// The id of a [`Grant`](crate::store::Grant): the 16 bytes of the authorization that it came from. The id of a
    /// grant for a client itself is derived from the client id instead, without a time.
    GrantId
}
record_id! {
    /// The id of an [`ApplicationLogo`](crate::store::ApplicationLogo): 16 bytes that sort by time.
    LogoId
}
record_id! {
    /// The id of a [`PushedRequest`](crate::store::PushedRequest): 16 bytes that are derived from the client id and the
    /// number of a place. It recurs when the place is used again.
    PushedRequestId
}

record_id! {
    /// The id of a [`DeviceRequest`](crate::store::DeviceRequest): 16 bytes that are derived from the client id and the
    /// number of a place. It recurs when the place is used again.
    DeviceRequestId
}

impl AuthorizationId {
    pub(crate) fn new(now: Timestamp, entropy: &dyn Entropy) -> Self {
        Self(RecordId::new(now, entropy))
    }

    /// The id that sorts before all ids created at that time or later.
    pub(crate) fn first_at(time: Timestamp) -> Self {
        Self(RecordId::first_at(time))
    }
}

impl LogoId {
    pub(crate) fn new(now: Timestamp, entropy: &dyn Entropy) -> Self {
        Self(RecordId::new(now, entropy))
    }
}

impl From<AuthorizationId> for GrantId {
    fn from(id: AuthorizationId) -> Self {
        Self(id.0)
    }
}

impl From<GrantId> for AuthorizationId {
    /// Returns the id of the authorization that the grant came from.
    fn from(id: GrantId) -> Self {
        Self(id.0)
    }
}

const NO_ID: ValueError = ValueError("an id must have 22 characters of canonical base64url");

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct RecordId([u8; ID_BYTES]);

impl RecordId {
    fn new(now: Timestamp, entropy: &dyn Entropy) -> Self {
        let Self(mut bytes) = Self::first_at(now);
        let (_, random) = bytes.split_at_mut(4);
        entropy.fill(random);
        Self(bytes)
    }

    fn first_at(time: Timestamp) -> Self {
        let mut bytes = [0; ID_BYTES];
        let (bucket, _) = bytes.split_at_mut(4);
        bucket.copy_from_slice(&(time.seconds() / BUCKET_SECONDS).to_be_bytes());
        Self(bytes)
    }

    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

/// The id of a registered application, as it appears on the wire [RFC 6749 section 2.2].
///
/// Ids made by the server are 22 letters and digits with 130 random bits: real clients disagree on how to encode
/// anything else in Basic. Ids imported from elsewhere may hold any of the characters 20 to 7E hex [RFC 6749 appendix
/// A.1]. The id of a client with a metadata document is the https URL of the document.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(SmolStr);

texts! { ClientId: |text| Self::new(text).ok() }

/// Characters of a client id that the server makes.
pub(crate) const MADE_CHARACTERS: usize = 22;

/// The most characters that a client id may have.
pub(crate) const CLIENT_ID_CHARACTERS: usize = 512;

impl ClientId {
    /// Creates a client id from a text.
    ///
    /// # Errors
    ///
    /// [`ValueError`] if it is empty, longer than 512 characters, or holds a character
    /// outside 20 to 7E hex.
    pub fn new(text: impl AsRef<str>) -> Result<Self, ValueError> {
        let text = text.as_ref();
        if !Self::is_well_formed(text.as_bytes()) {
            return Err(NO_CLIENT_ID);
        }
        Ok(Self(text.into()))
    }

    /// Returns the id as it appears on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn generate(entropy: &dyn Entropy) -> Self {
        Self(letters_and_digits::<MADE_CHARACTERS>(entropy).into())
    }

    /// Returns whether it has the form of the ids that the server makes.
    pub(crate) fn is_made_by_server(&self) -> bool {
        self.0.len() == MADE_CHARACTERS && self.0.bytes().all(|byte| byte.is_ascii_alphanumeric())
    }

    fn is_well_formed(bytes: &[u8]) -> bool {
        (1..=CLIENT_ID_CHARACTERS).contains(&bytes.len())
            && bytes.iter().fold(true, |sound, byte| sound & (0x20..=0x7e).contains(byte))
    }
}

/// The bytes, which are the key of the application in a store.
impl AsRef<[u8]> for ClientId {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

const NO_CLIENT_ID: ValueError =
    ValueError("a client id must have 1 to 512 characters, each a visible one of ASCII or a space");

/// An id as the base64url that precedes a secret.
pub(crate) struct IdText([u8; ID_CHARACTERS]);

impl IdText {
    pub(crate) fn of(id: &[u8; ID_BYTES]) -> Self {
        let mut text = [0; ID_CHARACTERS];
        write_base64url(id, &mut text);
        Self(text)
    }

    pub(crate) fn as_str(&self) -> &str {
        // It is ASCII.
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// Decodes an id from its 22 characters of base64url. Each id has exactly one text, since the four unused bits of the
/// last character must be zero [RFC 4648 section 3.5].
pub(crate) fn decode_id(text: &[u8]) -> Option<[u8; ID_BYTES]> {
    let mut id = [0; ID_BYTES];
    let written = URL_SAFE_NO_PAD.decode_slice(text, &mut id).ok()?;
    (written == ID_BYTES).then_some(id)
}

/// Encodes bytes as base64url. The result fills the text.
pub(crate) fn write_base64url(bytes: &[u8], text: &mut [u8]) {
    let written = URL_SAFE_NO_PAD.encode_slice(bytes, text);
    debug_assert_eq!(written, Ok(text.len()), "the length of the bytes decides that of their text");
}

/// Draws `N` letters and digits, each with the same chance: 5.95 random bits a character.
pub(crate) fn letters_and_digits<const N: usize>(entropy: &dyn Entropy) -> String {
    const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut text = String::with_capacity(N);
    let mut drawn = zeroize::Zeroizing::new([0; N]);
    while text.len() < N {
        entropy.fill(drawn.as_mut_slice());
        // 248 is the largest multiple of 62 in a byte. Larger values would favour some letters.
        let fair = drawn.iter().filter(|&&byte| byte < 248);
        let letters = fair.filter_map(|byte| ALPHABET.get(usize::from(byte % 62)));
        let missing = N - text.len();
        text.extend(letters.take(missing).map(|&letter| char::from(letter)));
    }
    text
}

/// Your service's name for one of its users, 1 to 255 bytes of UTF-8, never shown to other users.
///
/// It is the `sub` of introspection [RFC 7662 section 2.2]. Use a value that never changes and is never reused for
/// another user: a primary key, not an e-mail address. Up to 23 bytes need no separate allocation.
///
/// It is a text and not bytes: introspection shows it as a JSON string, in which two subjects must never look the same.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject(SmolStr);

/// The most bytes that a subject may have.
pub(crate) const SUBJECT_BYTES: usize = 255;

impl Subject {
    /// Creates a subject from your service's text.
    ///
    /// # Errors
    ///
    /// [`ValueError`] if the text is empty or longer than 255 bytes.
    pub fn new(text: impl AsRef<str>) -> Result<Self, ValueError> {
        let text = text.as_ref();
        if text.is_empty() || text.len() > SUBJECT_BYTES {
            return Err(NO_SUBJECT);
        }
        Ok(Self(text.into()))
    }

    /// Returns your service's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

texts! { Subject: |text| Self::new(text).ok() }

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

const NO_SUBJECT: ValueError = ValueError("a subject must have 1 to 255 bytes");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::entropy::SystemEntropy;

    #[test]
    fn ids_sort_by_time_and_have_one_text() {
        let early = AuthorizationId::new(Timestamp::from_seconds(1_000), &SystemEntropy);
        let late = AuthorizationId::new(Timestamp::from_seconds(1_064), &SystemEntropy);
        assert!(early < late);
        let text = early.to_string();
        assert_eq!(text.parse(), Ok(early));
        assert_eq!(text.len(), ID_CHARACTERS);
        // The last character carries two bits; the other four must be zero.
        let last = text.chars().last().unwrap();
        assert!("AQgw".contains(last), "{last}");
        for other in "BCDEFGHIJKLMNOPRSTUVWXYZ_-=. ".chars() {
            let altered = format!("{}{other}", &text[..ID_CHARACTERS - 1]);
            assert_eq!(altered.parse::<AuthorizationId>(), Err(NO_ID), "{altered}");
        }
        assert_eq!(GrantId::from(early).to_string(), text);
    }

    #[test]
    fn only_what_is_written_for_an_id_is_read() {
        let text = AuthorizationId::new(Timestamp::from_seconds(1_000), &SystemEntropy).to_string();
        for place in 0..ID_CHARACTERS {
            for byte in 0..=u8::MAX {
                let mut altered = text.clone().into_bytes();
                altered[place] = byte;
                let is_in_alphabet = byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
                let is_last = place == ID_CHARACTERS - 1;
                let is_written = if is_last { b"AQgw".contains(&byte) } else { is_in_alphabet };
                let read = decode_id(&altered).map(|id| IdText::of(&id));
                let expected = is_written.then_some(altered.as_slice());
                assert_eq!(read.as_ref().map(|read| read.as_str().as_bytes()), expected, "{place} {byte}");
            }
        }
        for length in 0..ID_CHARACTERS {
            assert_eq!(decode_id(&text.as_bytes()[..length]), None, "{length}");
        }
        for end in ["A", "=", "==", "AA", "AAAAAAAAAA"] {
            assert_eq!(decode_id(format!("{text}{end}").as_bytes()), None, "{end}");
        }
    }

    #[test]
    fn client_ids_are_visible_characters() {
        for bad in ["", "a\tb", "a\0", "\u{e9}", "\u{7f}"] {
            assert_eq!(ClientId::new(bad), Err(NO_CLIENT_ID), "{bad:?}");
        }
        assert!(ClientId::new("https://client.example/x y~").is_ok());
        assert!(ClientId::new("x".repeat(512)).is_ok());
        assert_eq!(ClientId::new("x".repeat(513)), Err(NO_CLIENT_ID));
    }

    #[test]
    fn drawn_texts_use_the_whole_alphabet() {
        let text = letters_and_digits::<43>(&SystemEntropy);
        assert_eq!(text.len(), 43);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..100 {
            seen.extend(letters_and_digits::<43>(&SystemEntropy).chars());
        }
        assert_eq!(seen.len(), 62);
    }

    #[test]
    fn holds_1_to_255_bytes() {
        assert_eq!(Subject::new(""), Err(NO_SUBJECT));
        assert_eq!(Subject::new("\0 any \u{1f600}").unwrap().as_str(), "\0 any \u{1f600}");
        assert!(Subject::new("x".repeat(255)).is_ok());
        assert_eq!(Subject::new("x".repeat(256)), Err(NO_SUBJECT));
    }
}
