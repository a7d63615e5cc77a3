//! Names that look alike (UTS #39 section 4).
//!
//! An application is listed under the keys of its names, so finding a look-alike costs one read of a page for each key,
//! however many applications there are. A new version of Unicode may change a key: an application that was stored
//! before is found under its new keys from its next change on. A stored text is not checked again when it is read,
//! since a record must stay readable.

use std::collections::BTreeSet;
use std::fmt;

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory as _};
use unicode_security::skeleton;

use crate::secret::Digest;
use crate::text::is_blank;

/// A key that names with a similar appearance share.
///
/// A skeleton distinguishes case, and people do not. Case folded first misses "paypaI", whose last letter is a capital
/// I. Case folded afterwards misses "IBM" and "ibm", since the skeleton turns a capital I into an l. So there are two
/// keys.
///
/// A name has one key or two: the skeleton of the case-folded name, and the case-folded skeleton, both without blanks
/// and punctuation. Names look alike if they share a key. "PayPal" looks like "Pay-Pal", "paypaI" and the same in other
/// scripts; "corn" looks like "com"; "Bücher" does not look like "Bucher".
///
/// The skeleton is `internalSkeleton` of UTS #39 section 4: NFD, without invisible characters, each character replaced
/// by its prototype, and NFD again. Keys can change with the version of Unicode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LookAlikeKey([u8; 16]);

impl LookAlikeKey {
    /// Returns the keys of a name, one or two; none for a name of blanks and punctuation alone.
    pub fn of(name: &str) -> impl Iterator<Item = Self> {
        let folded: String = fold(name.chars()).collect();
        let texts = BTreeSet::from([bare(skeleton(&folded)), bare(fold(skeleton(name)))]);
        texts.into_iter().filter(|text| !text.is_empty()).map(|text| Self::digest(&text))
    }

    fn digest(text: &str) -> Self {
        Self(Digest::of(text.as_bytes()).first_bytes())
    }
}

impl fmt::Display for LookAlikeKey {
    /// Writes 32 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

/// Maps letters of either case to the same letter. It goes by way of capitals, because "ß" and "ſ" have no other lower
/// case.
fn fold(text: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    text.flat_map(char::to_uppercase).flat_map(char::to_lowercase)
}

fn bare(text: impl Iterator<Item = char>) -> String {
    text.filter(|own| !is_blank(*own) && own.general_category_group() != GeneralCategoryGroup::Punctuation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look_alike(one: &str, other: &str) -> bool {
        LookAlikeKey::of(one).any(|own| LookAlikeKey::of(other).any(|key| key == own))
    }

    #[test]
    fn names_are_compared_as_they_look() {
        for (one, other, alike) in [
            ("PayPal", "P\u{430}yP\u{430}l", true),
            ("PayPal", "paypaI", true),
            ("PayPal", "Pay-Pal", true),
            ("PayPal", "Pay Pal", true),
            ("PayPal", "PAYPAL", true),
            ("PayPal", "\u{ff30}\u{ff41}\u{ff59}\u{ff30}\u{ff41}\u{ff4c}", true),
            ("PayPal", "Pay\u{200b}Pal", true),
            ("IBM", "ibm", true),
            ("corn", "com", true),
            ("Stra\u{df}e", "STRASSE", true),
            ("B\u{fc}cher", "Bu\u{308}cher", true),
            ("B\u{fc}cher", "Bucher", false),
            ("PayPal", "PayPals", false),
            ("--", "...", false),
        ] {
            assert_eq!(look_alike(one, other), alike, "{one} {other}");
        }
        assert_eq!((LookAlikeKey::of("demo").count(), LookAlikeKey::of(" - ").count()), (1, 0));
    }

    #[test]
    fn wide_letters_look_like_the_others() {
        for letter in ('a'..='z').chain('A'..='Z').chain('0'..='9') {
            let wide = char::from_u32(u32::from(letter) + 0xfee0).unwrap();
            assert!(look_alike(&letter.to_string(), &wide.to_string()), "{letter}");
        }
    }
}
