//! Language tags [RFC 5646].

/// Returns a language tag in its usual letter case; `None` if it is malformed. Whether its parts are registered is not
/// checked. A tag for private use alone is refused, since it names no language.
///
/// > \[ISO639-1\] recommends that language codes be written in lowercase ('mn' Mongolian). \[ISO15924\] recommends that
/// > script codes use lowercase with the initial letter capitalized ('Cyrl' Cyrillic). \[ISO3166-1\] recommends that
/// > country codes be capitalized ('MN' Mongolia).
///
/// [RFC 5646 section 2.1.1]
pub(crate) fn language_tag(text: &str) -> Option<String> {
    let mut subtags = text.split('-');
    let language = subtags.next().filter(|language| is_of(language, 2..=3, u8::is_ascii_alphabetic))?;
    let mut tag = language.to_ascii_lowercase();
    // What may still come: 0 after the language, then script, region, variants.
    let mut place = 0;
    let mut subtags = subtags.peekable();
    while let Some(subtag) = subtags.next_if(|subtag| subtag.len() > 1) {
        let is_letters = subtag.bytes().all(|byte| byte.is_ascii_alphabetic());
        let is_region = subtag.len() == 2 && is_letters || is_of(subtag, 3..=3, u8::is_ascii_digit);
        let begins_with_digit = subtag.bytes().next().is_some_and(|byte| byte.is_ascii_digit());
        let is_variant = is_of(subtag, 5..=8, u8::is_ascii_alphanumeric)
            || begins_with_digit && is_of(subtag, 4..=4, u8::is_ascii_alphanumeric);
        let (next, cased) = match subtag.len() {
            3 if is_letters && place == 0 => (0, subtag.to_ascii_lowercase()),
            4 if is_letters && place < 1 => {
                let (first, others) = subtag.split_at(1);
                (1, first.to_ascii_uppercase() + &others.to_ascii_lowercase())
            }
            _ if is_region && place < 2 => (2, subtag.to_ascii_uppercase()),
            _ if is_variant => (3, subtag.to_ascii_lowercase()),
            _ => return None,
        };
        place = next;
        tag = tag + "-" + &cased;
    }
    // Extensions and what is for private use: a letter or digit, and what belongs to it.
    let mut is_empty = false;
    let mut is_private = false;
    for subtag in subtags {
        let is_singleton = subtag.len() == 1 && !is_private;
        let is_well_formed = is_of(subtag, 1..=8, u8::is_ascii_alphanumeric);
        if !is_well_formed || is_singleton && is_empty {
            return None;
        }
        is_private |= is_singleton && subtag.eq_ignore_ascii_case("x");
        is_empty = is_singleton;
        tag = tag + "-" + &subtag.to_ascii_lowercase();
    }
    (!is_empty).then_some(tag)
}

/// Returns whether a text has so many of these bytes, and no others.
fn is_of(text: &str, lengths: std::ops::RangeInclusive<usize>, is_one: fn(&u8) -> bool) -> bool {
    lengths.contains(&text.len()) && text.as_bytes().iter().all(is_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OIDC-D-02, CLAIMS-04
    #[test]
    fn a_tag_is_written_in_its_usual_case() {
        for (text, expected) in [
            ("de", Some("de")),
            ("SE", Some("se")),
            ("zh-cn", Some("zh-CN")),
            ("ZH-hANS-cn", Some("zh-Hans-CN")),
            ("es-419", Some("es-419")),
            ("sl-Rozaj-1994", Some("sl-rozaj-1994")),
            ("zh-YUE-hk", Some("zh-yue-HK")),
            ("de-DE-u-CO-phonebk", Some("de-DE-u-co-phonebk")),
            ("en-x-a-b", Some("en-x-a-b")),
            ("de_DE", None),
            ("", None),
            ("d", None),
            ("x-own", None),
            ("de-", None),
            ("de--AT", None),
            ("xx-!!", None),
            ("de-u", None),
            ("de-u-x-a", None),
            ("de-DE-Latn", None),
            ("deutsch", None),
            ("de-\u{e9}", None),
        ] {
            assert_eq!(language_tag(text).as_deref(), expected, "{text:?}");
        }
    }
}
