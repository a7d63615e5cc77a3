//! The code that a user types, and the record that leads from it to the request of a device [RFC 8628 section 6.1].

use std::fmt;

use zeroize::Zeroizing;

use crate::base::clock::Timestamp;
use crate::base::codec::kind;
use crate::base::entropy::Entropy;
use crate::base::field::{arrays, fields};
use crate::base::id::DeviceRequestId;
use crate::model::RETAINED;
use crate::model::record::{Columns, Record, Table, encoded_as};
use crate::secret::derive::DerivationKey;

/// The maximum length in bytes of what a user may type.
const TYPED_BYTES: usize = 64;
/// How many characters of a code stand together.
const GROUP: usize = 4;

/// Which characters a user code has, and how many [RFC 8628 section 6.1].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UserCodeFormat {
    /// So many letters of `BCDFGHJKLMNPQRSTVWXZ`, which has no vowels, so that no words appear. 8 to 16 are accepted; 8
    /// letters are 34.5 random bits.
    Letters(u8),
    /// So many digits, for devices and users without Latin letters. 11 to 16 are accepted; 11 digits are 36.5 random
    /// bits.
    Digits(u8),
}

impl UserCodeFormat {
    const fn alphabet(self) -> &'static [u8] {
        match self {
            Self::Letters(_) => b"BCDFGHJKLMNPQRSTVWXZ",
            Self::Digits(_) => b"0123456789",
        }
    }

    fn length(self) -> usize {
        match self {
            Self::Letters(length) | Self::Digits(length) => length.into(),
        }
    }

    /// Returns how many codes of a client may be open at once: one of 25 600 000 possible ones. With 8 letters, these
    /// are 1000.
    pub(crate) fn most_open(self) -> u64 {
        let letters = u64::try_from(self.alphabet().len()).unwrap_or_default();
        let length = u32::try_from(self.length()).unwrap_or_default();
        letters.saturating_pow(length) / 25_600_000
    }

    /// Returns whether a code has at least 34 random bits, and is short enough to be typed.
    pub(crate) const fn is_accepted(self) -> bool {
        match self {
            Self::Letters(length) => 8 <= length && length <= 16,
            Self::Digits(length) => 11 <= length && length <= 16,
        }
    }
}

/// A user code without its hyphens.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct UserCode(Zeroizing<String>);

impl fmt::Debug for UserCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserCode([redacted])")
    }
}

impl UserCode {
    /// Draws a code. Each character is equally likely at each place: bytes that would favour some are dropped.
    pub(crate) fn random(format: UserCodeFormat, entropy: &dyn Entropy) -> Self {
        let alphabet = format.alphabet();
        let mut code = Zeroizing::new(String::with_capacity(format.length()));
        let mut bytes = Zeroizing::new([0; 32]);
        while code.len() < format.length() {
            entropy.fill(bytes.as_mut_slice());
            // The largest multiple of 20 and of 10 that bytes reach.
            let fair = bytes
                .iter()
                .map(|byte| usize::from(*byte))
                .filter(|byte| *byte < 256 / alphabet.len() * alphabet.len());
            let drawn = fair.filter_map(|byte| alphabet.get(byte % alphabet.len()).copied().map(char::from));
            let missing = format.length() - code.len();
            code.extend(drawn.take(missing));
        }
        Self(code)
    }

    /// Returns the code that consists of the first character, for a page that shows none of a device.
    pub(crate) fn sample(format: UserCodeFormat) -> Self {
        let first = format.alphabet().first().copied().map(char::from);
        Self(Zeroizing::new(first.into_iter().cycle().take(format.length()).collect()))
    }

    /// Reads what a user typed: case, blanks and hyphens do not matter. `None` if it cannot be a code.
    pub(crate) fn read(format: UserCodeFormat, typed: &str) -> Option<Self> {
        if typed.len() > TYPED_BYTES {
            return None;
        }
        let letters = typed.bytes().map(|byte| byte.to_ascii_uppercase());
        let code: String = letters.filter(|byte| format.alphabet().contains(byte)).map(char::from).collect();
        (code.len() == format.length()).then(|| Self(Zeroizing::new(code)))
    }

    /// Returns the code as devices show it, such as `WDJB-MJHT`.
    pub(crate) fn shown(&self) -> String {
        let groups: Vec<&str> = (0..self.0.len())
            .step_by(GROUP)
            .filter_map(|start| self.0.get(start..self.0.len().min(start + GROUP)))
            .collect();
        groups.join("-")
    }

    /// Returns the key of its record under a derivation key. The record ids in the store do not give the code away.
    pub(crate) fn key(&self, key: &DerivationKey) -> UserCodeKey {
        UserCodeKey(key.authenticate(b"user code", self.0.as_bytes()))
    }
}

/// The key of a [`UserCodeRecord`]: the code, authenticated with a derivation key. A plain digest would be no
/// protection, since there are only 2^34 codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserCodeKey([u8; Self::BYTES]);

impl UserCodeKey {
    pub(crate) const BYTES: usize = 32;

    pub(crate) const fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }
}

/// The bytes, which are the key of the record in a store.
impl AsRef<[u8]> for UserCodeKey {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Leads from a user code to the request of the device that shows it [RFC 8628 section 3.2]. It is inserted and never
/// replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserCodeRecord {
    pub(crate) key: UserCodeKey,
    /// The request. Its place may have another request by now, whose code differs.
    pub(crate) request: DeviceRequestId,
    pub(crate) end: Timestamp,
}

impl UserCodeRecord {
    /// Returns the request of the device.
    #[must_use]
    pub const fn request(&self) -> DeviceRequestId {
        self.request
    }

    /// Returns when the code expires.
    #[must_use]
    pub const fn ends(&self) -> Timestamp {
        self.end
    }
}

impl Record for UserCodeRecord {
    type Key = UserCodeKey;

    const TABLE: Table = Table::UserCodes;

    fn key(&self) -> &UserCodeKey {
        &self.key
    }

    fn version(&self) -> u32 {
        1
    }

    fn set_version(&mut self, _: u32) {}

    /// When it has expired on every server, whose clocks may differ.
    fn purge_after(&self) -> Option<Timestamp> {
        Some(self.end.plus(RETAINED))
    }

    fn columns(&self) -> Columns {
        Columns { state: "shown", ..Columns::default() }
    }

    encoded_as!(kind::USER_CODE);
}

fields! { UserCodeRecord { key, request, end } }
arrays! { UserCodeKey: bytes }

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::fixtures::compared_layout;
    use crate::secret::SystemEntropy;

    const LETTERS: UserCodeFormat = UserCodeFormat::Letters(8);

    fn read(typed: &str) -> Option<String> {
        UserCode::read(LETTERS, typed).map(|code| code.shown())
    }

    /// 8628-6.1-01
    #[test]
    fn every_character_is_as_likely_at_every_place() {
        for (format, groups) in [(LETTERS, "4 4"), (UserCodeFormat::Digits(11), "4 4 3")] {
            let mut counts = BTreeMap::<(usize, char), u32>::new();
            for _ in 0..100_000 {
                let code = UserCode::random(format, &SystemEntropy);
                code.0.chars().enumerate().for_each(|place| *counts.entry(place).or_default() += 1);
            }
            let letters = format.alphabet().len();
            assert_eq!(counts.len(), letters * format.length(), "every character stands at every place");
            let expected = 100_000.0 / f64::from(u32::try_from(letters).unwrap());
            // Seven standard deviations: one of 270 counts strays so far once in a thousand million runs.
            let most = 7.0 * expected.sqrt();
            assert!(counts.values().all(|count| (f64::from(*count) - expected).abs() < most), "{counts:?}");
            let shown = UserCode::random(format, &SystemEntropy).shown();
            let lengths: Vec<_> = shown.split('-').map(|group| group.len().to_string()).collect();
            assert_eq!(lengths.join(" "), groups);
        }
    }

    /// 8628-6.1-02
    #[test]
    fn what_people_type_is_read_as_the_code() {
        for typed in ["wdjb-mjht", " WDJB MJHT ", "WDJB\u{2014}MJHT", "WDJBMJHT", "wdjb.mjht\n", "aWeDiJoBu-MJHT"] {
            assert_eq!(read(typed).as_deref(), Some("WDJB-MJHT"), "{typed}");
        }
        let full_width = "\u{ff37}\u{ff24}\u{ff2a}\u{ff22}\u{ff2d}\u{ff2a}\u{ff28}\u{ff34}";
        let long = format!("WDJB-MJHT{}", " ".repeat(56));
        for other in ["", full_width, "WDJB-MJH", "WDJB-MJHTT", &long, "0000-0000"] {
            assert_eq!(read(other), None, "{other}");
        }
        assert_eq!(read(&long[..64]).as_deref(), Some("WDJB-MJHT"));
        assert!(UserCode::read(UserCodeFormat::Digits(11), "1234-5678-901").is_some());
        assert!(UserCode::read(UserCodeFormat::Digits(11), "WDJB-MJHT-WDJ").is_none());
    }

    /// 8628-6.1-03
    #[test]
    fn the_key_of_a_code_needs_the_derivation_key() {
        let code = UserCode::read(LETTERS, "WDJB-MJHT").unwrap();
        let [one, other] = [1, 2].map(|byte| code.key(&DerivationKey::new([byte; 32])));
        assert_ne!(one, other);
        assert_eq!(code.key(&DerivationKey::new([1; 32])), one);
        assert_ne!(UserCode::read(LETTERS, "WDJB-MJHW").unwrap().key(&DerivationKey::new([1; 32])), one);
        assert_eq!(format!("{code:?}"), "UserCode([redacted])");
    }

    fn record() -> UserCodeRecord {
        UserCodeRecord {
            key: UserCodeKey::from_bytes([7; 32]),
            request: DeviceRequestId::from_bytes([3; 16]),
            end: Timestamp::from_seconds(700),
        }
    }

    #[test]
    fn comes_back_equal() {
        let bytes = record().encode();
        assert_eq!(UserCodeRecord::decode(&bytes), Ok(record()));
        for cut in 0..bytes.len() {
            assert!(UserCodeRecord::decode(&bytes[..cut]).is_err(), "cut to {cut}");
        }
    }

    /// Every later release reads what a release has written.
    #[test]
    fn layout_1_stays_as_it_is() {
        let file = compared_layout("user_code.1", &record().encode());
        assert_eq!(UserCodeRecord::decode(&file), Ok(record()));
    }
}
