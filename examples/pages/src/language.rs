//! The language of a page, by what the browser prefers.

use crate::texts::Texts;

/// Returns the texts in the language that the header prefers [RFC 9110 section 12.5.4]; the first ones if it names none
/// of the languages.
pub(crate) fn choose<'t>(languages: &'t [Texts], header: &str) -> &'t Texts {
    let mut best: Option<(&Texts, f32)> = None;
    for range in header.split(',').take(32) {
        let mut pieces = range.split(';').map(str::trim);
        let tag = pieces.next().unwrap_or_default();
        let weight = pieces.find_map(|piece| piece.strip_prefix("q=")).map_or(Some(1.0), |weight| weight.parse().ok());
        let Some(weight) = weight.filter(|weight| (0.0..=1.0).contains(weight) && *weight > 0.0) else { continue };
        let primary = tag.split('-').next().unwrap_or_default();
        let Some(texts) = languages.iter().find(|texts| primary.eq_ignore_ascii_case(texts.language)) else { continue };
        if best.is_none_or(|(_, other)| weight > other) {
            best = Some((texts, weight));
        }
    }
    best.map_or_else(|| languages.first().unwrap_or(&Texts::ENGLISH), |(texts, _)| texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_language_that_is_there_is_chosen() {
        let languages = [Texts::ENGLISH, Texts::GERMAN];
        for (header, expected) in [
            ("", "en"),
            ("*", "en"),
            ("de", "de"),
            ("DE-at", "de"),
            ("fr-FR, de;q=0.8, en;q=0.7", "de"),
            ("en;q=0.5, de;q=0.9", "de"),
            ("en, de", "en"),
            ("de;q=0, en;q=0.1", "en"),
            ("fr", "en"),
            ("de;q=x, den", "en"),
            ("de;q=2", "en"),
            ("\u{fc};;,,=;q", "en"),
        ] {
            assert_eq!(choose(&languages, header).language, expected, "{header}");
        }
        let german_first = [Texts::GERMAN, Texts::ENGLISH];
        assert_eq!(choose(&german_first, "fr").language, "de");
    }
}
