//! Emoji that consist of several characters, some of them invisible (UTS #51). Tests compare the list with the data of
//! the crate `emojis`.

use unicode_properties::UnicodeEmoji as _;

/// Returns the number of characters of the emoji at the beginning of a text; 0 if there is none.
pub(super) fn length(text: &[char]) -> usize {
    match text {
        ['0'..='9' | '#' | '*', VARIATION, '\u{20e3}', ..] => 3,
        [BLACK_FLAG, rest @ ..] if subdivision(rest) > 0 => 1 + subdivision(rest),
        _ => joined(text),
    }
}

/// Returns the number of characters of a joined emoji, if the Unicode data contain it; otherwise that of the first
/// emoji.
fn joined(text: &[char]) -> usize {
    let Some((first, mut length)) = element(text) else { return 0 };
    let (mut longest, mut sequence) = (length, String::from(first));
    while let Some([JOINER, rest @ ..]) = text.get(length..)
        && let Some((next, more)) = element(rest)
    {
        sequence.push(next);
        length += 1 + more;
        if JOINED.lines().any(|own| own == sequence) {
            longest = length;
        }
    }
    longest
}

/// Returns one emoji and its number of characters, including its skin tone or variation selector.
fn element(text: &[char]) -> Option<(char, usize)> {
    let (first, rest) = text.split_first()?;
    if first.is_ascii() || !first.is_emoji_char() {
        return None;
    }
    let suffix = matches!(rest, [VARIATION | '\u{1f3fb}'..='\u{1f3ff}', ..]);
    Some((*first, 1 + usize::from(suffix)))
}

/// Returns how many tags form the flag of a region of a country. The Unicode data have three such flags.
fn subdivision(tags: &[char]) -> usize {
    SUBDIVISIONS.iter().find(|own| tags.starts_with(*own)).map_or(0, |own| own.len())
}

const BLACK_FLAG: char = '\u{1f3f4}';
const JOINER: char = '\u{200d}';
const VARIATION: char = '\u{fe0f}';

/// England, Scotland and Wales.
const SUBDIVISIONS: [[char; 6]; 3] = [
    ['\u{e0067}', '\u{e0062}', '\u{e0065}', '\u{e006e}', '\u{e0067}', '\u{e007f}'],
    ['\u{e0067}', '\u{e0062}', '\u{e0073}', '\u{e0063}', '\u{e0074}', '\u{e007f}'],
    ['\u{e0067}', '\u{e0062}', '\u{e0077}', '\u{e006c}', '\u{e0073}', '\u{e007f}'],
];

/// The sequences of `emoji-zwj-sequences.txt`, one per line, without joiners, variation selectors and skin tones.
const JOINED: &str = include_str!("joined_emoji.txt");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_emoji_of_the_unicode_data_is_whole() {
        let mut count = 0;
        for emoji in emojis::iter() {
            let toned = emoji.skin_tones().into_iter().flatten();
            for emoji in std::iter::once(emoji).chain(toned) {
                let characters: Vec<char> = emoji.as_str().chars().collect();
                let hidden = characters.iter().any(|own| crate::text::is_invisible(*own));
                assert!(!hidden || length(&characters) == characters.len(), "{}", emoji.as_str().escape_unicode());
                count += 1;
            }
        }
        assert!(count > 3700, "{count}");
    }

    #[test]
    fn every_sequence_of_the_list_is_an_emoji() {
        let known: Vec<String> = emojis::iter()
            .flat_map(|emoji| std::iter::once(emoji).chain(emoji.skin_tones().into_iter().flatten()))
            .map(|emoji| emoji.as_str().chars().filter(|own| !is_dropped(*own)).collect())
            .collect();
        let unknown: Vec<_> = JOINED.lines().filter(|own| !known.iter().any(|known| known == own)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    const fn is_dropped(character: char) -> bool {
        matches!(character, JOINER | VARIATION | '\u{1f3fb}'..='\u{1f3ff}')
    }
}
