//! Texts and links that users see: misleading ones are refused [RFC 7591 section 5], and which names look alike.

use std::collections::BTreeSet;
use std::fmt;

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory as _};
use unicode_security::skeleton;

use crate::model::application::field::Problem;
use crate::model::redirect_uri::{WebAddressError, check_web_address};
use crate::secret::Digest;
use crate::text::{LineError, check_lines, check_shown_line, is_blank};

/// Checks a name: characters are Unicode scalar values, nothing is normalized.
pub(crate) fn name(text: &str, limit: usize) -> Result<String, Problem> {
    check_shown_line(text, limit).map_err(|error| of_line(error, limit))?;
    Ok(text.into())
}

/// Checks a text of several lines, each ended by U+000A alone. An empty text counts as none.
pub(crate) fn plain_text(text: &str, limit: usize) -> Result<Option<String>, Problem> {
    check_length(text, limit)?;
    check_lines(text).map_err(Problem::Text)?;
    Ok((!text.is_empty()).then(|| text.into()))
}

/// Checks the address of a website, which is kept as submitted. Only its host must be ASCII.
pub(crate) fn website(text: &str, limit: usize) -> Result<String, Problem> {
    let problem = |error| match error {
        WebAddressError::Line(error) => of_line(error, limit),
        WebAddressError::NotAWebAddress => Problem::NotAWebAddress,
        WebAddressError::UserInfo => Problem::UserInfo,
        WebAddressError::HostNotAscii { a_label } => Problem::HostNotAscii { a_label },
    };
    check_web_address(text, limit).map_err(problem)?;
    Ok(text.into())
}

fn of_line(error: LineError, limit: usize) -> Problem {
    match error {
        LineError::Missing => Problem::Missing,
        LineError::TooManyCharacters => Problem::TooManyCharacters { limit },
        LineError::Blank => Problem::Blank,
        LineError::Text(error) => Problem::Text(error),
    }
}

fn check_length(text: &str, limit: usize) -> Result<(), Problem> {
    match text.chars().nth(limit) {
        Some(_) => Err(Problem::TooManyCharacters { limit }),
        None => Ok(()),
    }
}

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

    /// SVC-2.1-01, D-24
    #[test]
    fn names_are_visible_text_of_bounded_length() {
        use Problem::{Blank, Missing, TooManyCharacters};
        let too_long = || Err(TooManyCharacters { limit: 50 });
        for (text, expected) in [
            (String::new(), Err(Missing)),
            ("x".repeat(50), Ok(())),
            ("x".repeat(51), too_long()),
            ("\u{1f600}".repeat(50), Ok(())),
            ("\u{1f600}".repeat(51), too_long()),
            // Counted without normalization: e and a combining accent are two.
            ("e\u{301}".repeat(25), Ok(())),
            (format!("{}e", "e\u{301}".repeat(25)), too_long()),
            ("\u{7801}\u{4e91}".to_owned(), Ok(())),
            ("\u{5d0}\u{5d1}".to_owned(), Ok(())),
            ("  \u{3000}\u{a0}".to_owned(), Err(Blank)),
            ("\u{2800}".to_owned(), Err(Blank)),
            ("\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f466}".to_owned(), Ok(())),
        ] {
            let checked = name(&text, 50);
            assert!(checked.as_ref().is_ok_and(|kept| **kept == *text) || checked.is_err());
            assert_eq!(checked.map(drop), expected, "{text:?}");
        }
        for text in ["a\0", "a\nb", "a\u{202e}b", " x ", "a\u{200b}b"] {
            assert!(matches!(name(text, 50), Err(Problem::Text(_))), "{text:?}");
        }
    }

    /// SVC-2.1-03
    #[test]
    fn descriptions_have_lines_and_no_other_control_character() {
        for (text, expected) in [
            (String::new(), Ok(None)),
            ("\u{1f600}".repeat(350), Ok(Some(()))),
            ("\u{1f600}".repeat(351), Err(Problem::TooManyCharacters { limit: 350 })),
            ("a\n\nb".to_owned(), Ok(Some(()))),
        ] {
            assert_eq!(plain_text(&text, 350).map(|kept| kept.map(drop)), expected, "{text:?}");
        }
        for text in ["a\r\nb", "a\tb", "a\u{2029}b", "a\n\u{202e}b", "a\n b"] {
            assert!(matches!(plain_text(text, 350), Err(Problem::Text(_))), "{text:?}");
        }
    }

    #[test]
    fn websites_are_absolute_web_addresses() {
        use Problem::{HostNotAscii, Missing, NotAWebAddress, TooManyCharacters, UserInfo};
        let a_label = |host: &str| Err(HostNotAscii { a_label: host.into() });
        let long = |characters: usize| format!("https://a.example/{}", "\u{1f600}".repeat(characters - 18));
        for (text, expected) in [
            (String::new(), Err(Missing)),
            (long(128), Ok(())),
            (long(129), Err(TooManyCharacters { limit: 128 })),
            ("http://a.example".to_owned(), Ok(())),
            ("HTTPS://A.example:8443/x?y=@#z".to_owned(), Ok(())),
            ("https://b\u{fc}cher.example/".to_owned(), a_label("xn--bcher-kva.example")),
            ("https://p\u{430}ypal.example:8443/x".to_owned(), a_label("xn--pypal-4ve.example")),
            ("https://xn--bcher-kva.example/".to_owned(), Ok(())),
            ("https://xn--zzzzzzzzz99999.example/".to_owned(), Err(NotAWebAddress)),
            ("https://b\u{fc}_cher.example/".to_owned(), Err(NotAWebAddress)),
            ("https://[2001:db8::7]:8443/".to_owned(), Ok(())),
            ("https://a.example:/".to_owned(), Err(NotAWebAddress)),
            ("https://a.example#x".to_owned(), Ok(())),
            ("https://a.example/\u{7801}".to_owned(), Ok(())),
            ("a.example".to_owned(), Err(NotAWebAddress)),
            ("//a.example".to_owned(), Err(NotAWebAddress)),
            ("https:a.example".to_owned(), Err(NotAWebAddress)),
            ("https:/a.example".to_owned(), Err(NotAWebAddress)),
            ("https://".to_owned(), Err(NotAWebAddress)),
            ("https:///a.example".to_owned(), Err(NotAWebAddress)),
            ("https://?a".to_owned(), Err(NotAWebAddress)),
            ("https://a b.example".to_owned(), Err(NotAWebAddress)),
            ("https://a.example/ b".to_owned(), Err(NotAWebAddress)),
            ("https://a.example\\b".to_owned(), Err(NotAWebAddress)),
            ("https://a.example:70000".to_owned(), Err(NotAWebAddress)),
            ("ftp://a.example".to_owned(), Err(NotAWebAddress)),
            ("javascript://a.example/%0aalert(1)".to_owned(), Err(NotAWebAddress)),
            ("data:text/html,x".to_owned(), Err(NotAWebAddress)),
            ("https://user@a.example".to_owned(), Err(UserInfo)),
            ("https://@a.example".to_owned(), Err(UserInfo)),
            ("https://a.example:x@evil.example".to_owned(), Err(UserInfo)),
        ] {
            assert_eq!(website(&text, 128).map(drop), expected, "{text:?}");
        }
        for text in
            ["https://a.example/\n", "https://a.example/\u{202e}", "https://a\u{200b}b.example", " https://a.example"]
        {
            assert!(matches!(website(text, 128), Err(Problem::Text(_))), "{text:?}");
        }
    }

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
