//! Texts and links that users are shown: what could mislead them is refused [RFC 7591 section 5].

use url::Url;

use crate::client::application::field::Problem;

/// Checks a name: characters are Unicode scalar values, nothing is normalized.
pub(crate) fn name(text: &str, limit: usize) -> Result<Box<str>, Problem> {
    shown_on_one_line(text, limit)?;
    if text.chars().all(|character| character.is_whitespace() || is_invisible(character)) {
        return Err(Problem::Blank);
    }
    Ok(text.into())
}

/// Checks a text of several lines, each ended by U+000A alone; an empty text is none.
pub(crate) fn plain_text(text: &str, limit: usize) -> Result<Option<Box<str>>, Problem> {
    check_length(text, limit)?;
    if text.chars().any(|character| character != '\n' && is_control(character)) {
        return Err(Problem::ControlCharacter);
    }
    if text.chars().any(changes_direction) {
        return Err(Problem::DirectionCharacter);
    }
    Ok((!text.is_empty()).then(|| text.into()))
}

/// Checks the address of a website, which is kept as it was submitted.
pub(crate) fn website(text: &str, limit: usize) -> Result<Box<str>, Problem> {
    shown_on_one_line(text, limit)?;
    // The URL library turns `\` into `/` and drops some characters that cannot be seen.
    if text.chars().any(|character| character.is_whitespace() || character == '\\' || is_invisible(character)) {
        return Err(Problem::NotAWebAddress);
    }
    let (scheme, rest) = text.split_once("://").ok_or(Problem::NotAWebAddress)?;
    if !scheme.eq_ignore_ascii_case("https") && !scheme.eq_ignore_ascii_case("http") {
        return Err(Problem::NotAWebAddress);
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // The library reads `https:///host` as `https://host`.
    if authority.is_empty() || Url::parse(text).is_err() {
        return Err(Problem::NotAWebAddress);
    }
    if authority.contains('@') {
        return Err(Problem::UserInfo);
    }
    Ok(text.into())
}

fn shown_on_one_line(text: &str, limit: usize) -> Result<(), Problem> {
    if text.is_empty() {
        return Err(Problem::Missing);
    }
    check_length(text, limit)?;
    if text.chars().any(is_control) {
        return Err(Problem::ControlCharacter);
    }
    if text.chars().any(changes_direction) {
        return Err(Problem::DirectionCharacter);
    }
    Ok(())
}

fn check_length(text: &str, limit: usize) -> Result<(), Problem> {
    match text.chars().nth(limit) {
        Some(_) => Err(Problem::TooManyCharacters { limit }),
        None => Ok(()),
    }
}

/// Cc, and the line and paragraph separators.
fn is_control(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')
}

/// The Unicode property `Bidi_Control`.
const fn changes_direction(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The Unicode property `Default_Ignorable_Code_Point`, the interlinear annotation marks and the
/// empty Braille pattern.
const fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SVC-2.1-01, D-24
    #[test]
    fn names_are_visible_text_of_bounded_length() {
        use Problem::{Blank, ControlCharacter, DirectionCharacter, Missing, TooManyCharacters};
        let too_long = Err(TooManyCharacters { limit: 50 });
        for (text, expected) in [
            (String::new(), Err(Missing)),
            ("x".repeat(50), Ok(())),
            ("x".repeat(51), too_long),
            ("\u{1f600}".repeat(50), Ok(())),
            ("\u{1f600}".repeat(51), too_long),
            // Counted as they come: e and a combining accent are two.
            ("e\u{301}".repeat(25), Ok(())),
            (format!("{}e", "e\u{301}".repeat(25)), too_long),
            (" x ".to_owned(), Ok(())),
            ("\u{7801}\u{4e91}".to_owned(), Ok(())),
            ("\u{5d0}\u{5d1}".to_owned(), Ok(())),
            ("a\0".to_owned(), Err(ControlCharacter)),
            ("a\nb".to_owned(), Err(ControlCharacter)),
            ("a\u{85}b".to_owned(), Err(ControlCharacter)),
            ("a\u{2028}b".to_owned(), Err(ControlCharacter)),
            ("a\u{202e}b".to_owned(), Err(DirectionCharacter)),
            ("a\u{2066}b".to_owned(), Err(DirectionCharacter)),
            ("a\u{200f}b".to_owned(), Err(DirectionCharacter)),
            ("a\u{61c}b".to_owned(), Err(DirectionCharacter)),
            ("  \u{3000}\u{a0}".to_owned(), Err(Blank)),
            ("\u{200b}\u{feff}\u{3164} \u{2800}".to_owned(), Err(Blank)),
            ("\u{e0041}".to_owned(), Err(Blank)),
            ("\u{1f468}\u{200d}\u{1f469}".to_owned(), Ok(())),
        ] {
            let checked = name(&text, 50);
            assert!(checked.as_ref().is_ok_and(|kept| **kept == *text) || checked.is_err());
            assert_eq!(checked.map(drop), expected, "{text:?}");
        }
    }

    /// SVC-2.1-03
    #[test]
    fn descriptions_have_lines_and_no_other_control_character() {
        for (text, expected) in [
            (String::new(), Ok(None)),
            ("\u{1f600}".repeat(350), Ok(Some(()))),
            ("\u{1f600}".repeat(351), Err(Problem::TooManyCharacters { limit: 350 })),
            ("a\nb".to_owned(), Ok(Some(()))),
            ("a\r\nb".to_owned(), Err(Problem::ControlCharacter)),
            ("a\tb".to_owned(), Err(Problem::ControlCharacter)),
            ("a\u{2029}b".to_owned(), Err(Problem::ControlCharacter)),
        ] {
            assert_eq!(plain_text(&text, 350).map(|kept| kept.map(drop)), expected, "{text:?}");
        }
    }

    /// SVC-2.1-04
    #[test]
    fn websites_are_absolute_web_addresses() {
        use Problem::{ControlCharacter, DirectionCharacter, Missing, NotAWebAddress, TooManyCharacters, UserInfo};
        let long = |characters: usize| format!("https://a.example/{}", "\u{1f600}".repeat(characters - 18));
        for (text, expected) in [
            (String::new(), Err(Missing)),
            (long(128), Ok(())),
            (long(129), Err(TooManyCharacters { limit: 128 })),
            ("http://a.example".to_owned(), Ok(())),
            ("HTTPS://A.example:8443/x?y=@#z".to_owned(), Ok(())),
            ("https://b\u{fc}cher.example/".to_owned(), Ok(())),
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
            (" https://a.example".to_owned(), Err(NotAWebAddress)),
            ("https://a.example\\b".to_owned(), Err(NotAWebAddress)),
            ("https://a\u{200b}b.example".to_owned(), Err(NotAWebAddress)),
            ("https://a.example:70000".to_owned(), Err(NotAWebAddress)),
            ("ftp://a.example".to_owned(), Err(NotAWebAddress)),
            ("javascript://a.example/%0aalert(1)".to_owned(), Err(NotAWebAddress)),
            ("data:text/html,x".to_owned(), Err(NotAWebAddress)),
            ("https://user@a.example".to_owned(), Err(UserInfo)),
            ("https://@a.example".to_owned(), Err(UserInfo)),
            ("https://a.example:x@evil.example".to_owned(), Err(UserInfo)),
            ("https://a.example/\n".to_owned(), Err(ControlCharacter)),
            ("https://a.example/\u{202e}".to_owned(), Err(DirectionCharacter)),
        ] {
            assert_eq!(website(&text, 128).map(drop), expected, "{text:?}");
        }
    }
}
