//! Texts that people see: refuses misleading characters (UTS #39 section 5.4, UAX #31 section 2.3, RFC 7591 section 5).

mod a_label;
mod language;

pub(crate) use a_label::{a_label_host, is_a_label};
pub(crate) use language::language_tag;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::decompose_canonical;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeEmoji as _, UnicodeGeneralCategory as _};
use unicode_script::{Script, UnicodeScript as _};

/// A refused character of a text that people would see, its position, and why it is refused.
///
/// Its text has the code point as `U+200B`, never the character itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("has U+{:04X} as character {place}, which {fault}", u32::from(*.character))]
#[non_exhaustive]
pub struct TextError {
    /// The refused character.
    pub character: char,
    /// Its position in the text, counted from 1 in Unicode scalar values.
    pub place: usize,
    /// Why it is refused.
    pub fault: TextFault,
}

/// Why a character is refused at its position in a text that people see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum TextFault {
    /// It is a control character or an unusual line break.
    #[error("is a control character")]
    Control,
    /// It changes the direction of writing, which can make one text look like another.
    #[error("changes the direction of writing")]
    Direction,
    /// It is invisible: its property `Default_Ignorable_Code_Point` is set, and it is neither part of an emoji sequence
    /// nor a joiner between letters that need one.
    #[error("is invisible")]
    Invisible,
    /// It is for private use: each font shows it differently.
    #[error("is for private use")]
    PrivateUse,
    /// It is a code point that is never a character, such as U+FFFE.
    #[error("is not a character")]
    Noncharacter,
    /// It is the fifth nonspacing mark in a row (UTS #39 section 5.4).
    #[error("is one accent too many on the same letter")]
    TooManyMarks,
    /// It repeats the nonspacing mark before it (UTS #39 section 5.4).
    #[error("repeats an accent of the same letter")]
    RepeatedMark,
    /// It is a blank at the beginning or the end.
    #[error("is a blank at the beginning or the end")]
    OuterBlank,
    /// It is a blank after another blank.
    #[error("is a blank after another one")]
    DoubleBlank,
}

/// Why a text cannot be shown on one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineError {
    Missing,
    TooManyCharacters,
    Blank,
    Text(TextError),
}

/// Checks a text that is shown on one line: not empty, not too long, not blank, and without misleading characters.
pub(crate) fn check_shown_line(text: &str, limit: usize) -> Result<(), LineError> {
    if text.is_empty() {
        return Err(LineError::Missing);
    }
    if text.chars().nth(limit).is_some() {
        return Err(LineError::TooManyCharacters);
    }
    if text.chars().all(is_blank) {
        return Err(LineError::Blank);
    }
    check_line(text).map_err(LineError::Text)
}

/// Checks a text of one line.
pub(crate) fn check_line(text: &str) -> Result<(), TextError> {
    check(text, 0)
}

/// Checks a text of several lines, separated by U+000A alone.
pub(crate) fn check_lines(text: &str) -> Result<(), TextError> {
    let mut before = 0;
    for line in text.split('\n') {
        check(line, before)?;
        before += line.chars().count() + 1;
    }
    Ok(())
}

/// Returns whether a character is white space or the Braille pattern without dots, which looks the same.
pub(crate) fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == '\u{2800}'
}

/// Returns whether a character is invisible: it has the property `Default_Ignorable_Code_Point`, or marks an
/// interlinear annotation. The property is stable: no character can gain or lose it.
pub(crate) const fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Checks a line that follows `before` characters of the text.
fn check(line: &str, before: usize) -> Result<(), TextError> {
    let characters: Vec<char> = line.chars().collect();
    let mut rest = characters.as_slice();
    let mut marks = Vec::new();
    while let [character, after @ ..] = rest {
        let emoji = emoji_length(rest);
        if emoji > 1 {
            marks.clear();
            rest = rest.get(emoji..).unwrap_or_default();
            continue;
        }
        let place = characters.len() - rest.len();
        let behind = characters.get(..place).unwrap_or_default();
        let fault = fault_between(*character, behind, after).or_else(|| fault_of_marks(*character, &mut marks));
        if let Some(fault) = fault {
            return Err(TextError { character: *character, place: before + place + 1, fault });
        }
        rest = after;
    }
    Ok(())
}

/// Returns what is wrong with a character between these other characters.
fn fault_between(character: char, behind: &[char], after: &[char]) -> Option<TextFault> {
    if is_control(character) {
        return Some(TextFault::Control);
    }
    if character.is_ascii_graphic() {
        return None;
    }
    if is_blank(character) {
        let is_outer = behind.is_empty() || after.is_empty();
        let is_double = behind.last().is_some_and(|last| is_blank(*last));
        return if is_outer { Some(TextFault::OuterBlank) } else { is_double.then_some(TextFault::DoubleBlank) };
    }
    if changes_direction(character) {
        return Some(TextFault::Direction);
    }
    if is_invisible(character) {
        let is_needed = is_needed_joiner(character, behind, after)
            || is_joiner_of_chillu(character, behind)
            || is_of_ideograph(character, behind);
        return (!is_needed).then_some(TextFault::Invisible);
    }
    if is_noncharacter(character) {
        return Some(TextFault::Noncharacter);
    }
    (character.general_category() == GeneralCategory::PrivateUse).then_some(TextFault::PrivateUse)
}

/// > Forbid sequences of the same nonspacing mark. Forbid sequences of more than 4 nonspacing marks (gc=Mn or gc=Me).
///
/// (UTS #39 section 5.4), for text in NFD; `marks` is the sequence so far.
fn fault_of_marks(character: char, marks: &mut Vec<char>) -> Option<TextFault> {
    decompose_canonical(character, |part| {
        let category = part.general_category();
        if matches!(category, GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark) {
            marks.push(part);
        } else {
            marks.clear();
        }
    });
    if marks.len() > MAX_MARKS {
        return Some(TextFault::TooManyMarks);
    }
    let in_order: Vec<char> = marks.iter().copied().nfd().collect();
    let repeated = in_order.iter().zip(in_order.iter().skip(1)).any(|(mark, next)| mark == next);
    repeated.then_some(TextFault::RepeatedMark)
}

/// Returns whether a character has the category Cc, or is the line or paragraph separator.
fn is_control(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')
}

/// Returns whether a character has the property `Bidi_Control`.
const fn changes_direction(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns whether a character has the property `Noncharacter_Code_Point`.
fn is_noncharacter(character: char) -> bool {
    matches!(character, '\u{fdd0}'..='\u{fdef}') || u32::from(character) & 0xfffe == 0xfffe
}

/// Returns whether a character is U+200C or U+200D between letters of one script that needs them; marks may be between.
fn is_needed_joiner(character: char, behind: &[char], after: &[char]) -> bool {
    let script = letter(behind.iter().rev()).map(|letter| letter.script());
    matches!(character, '\u{200c}' | '\u{200d}')
        && script.is_some_and(|script| WITH_JOINERS.contains(&script))
        && script == letter(after.iter()).map(|letter| letter.script())
}

/// Returns whether a character is U+200D at the end of a Malayalam chillu, a consonant without its vowel, which ends
/// words: before it are the letter and U+0D4D. Since Unicode 5.1 a chillu is also one letter, but many people type it
/// so.
fn is_joiner_of_chillu(character: char, behind: &[char]) -> bool {
    character == '\u{200d}' && matches!(behind, [.., letter, '\u{d4d}'] if CHILLU_LETTERS.contains(letter))
}

/// Returns whether a character chooses the variant of the ideograph before it, as in names of persons and places (UTS
/// #37). Keys of look-alikes leave it out.
fn is_of_ideograph(character: char, behind: &[char]) -> bool {
    let is_selector = matches!(character, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}');
    let is_ideograph =
        |own: &char| own.script() == Script::Han && own.general_category() == GeneralCategory::OtherLetter;
    is_selector && behind.last().is_some_and(is_ideograph)
}

/// Returns the next letter, skipping any marks.
fn letter<'c>(characters: impl Iterator<Item = &'c char>) -> Option<char> {
    let group = |character: &char| character.general_category_group();
    let mut unmarked = characters.copied().skip_while(|own| group(own) == GeneralCategoryGroup::Mark);
    unmarked.next().filter(|own| group(own) == GeneralCategoryGroup::Letter)
}

const MAX_MARKS: usize = 4;

/// The letters of which Malayalam has a chillu: NNA, NA, RA, LA, LLA and KA.
const CHILLU_LETTERS: [char; 6] = ['\u{d23}', '\u{d28}', '\u{d30}', '\u{d32}', '\u{d33}', '\u{d15}'];

/// Scripts in which a joiner changes the spelling: Arabic and those of India (UAX #31 section 2.3).
const WITH_JOINERS: [Script; 11] = [
    Script::Arabic,
    Script::Bengali,
    Script::Devanagari,
    Script::Gujarati,
    Script::Gurmukhi,
    Script::Kannada,
    Script::Malayalam,
    Script::Oriya,
    Script::Sinhala,
    Script::Tamil,
    Script::Telugu,
];

/// Returns the number of characters of the emoji at the beginning of a text; 0 if there is none.
fn emoji_length(text: &[char]) -> usize {
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

    fn refused(text: &str) -> Option<(u32, usize, TextFault)> {
        check_line(text).err().map(|error| (u32::from(error.character), error.place, error.fault))
    }

    #[test]
    fn what_misleads_is_refused_with_code_point_and_place() {
        use TextFault::{
            Control, Direction, DoubleBlank, Invisible, Noncharacter, OuterBlank, PrivateUse, RepeatedMark,
            TooManyMarks,
        };
        let many = format!("a{}", "\u{301}\u{300}".repeat(24));
        for (text, expected) in [
            ("Pay\u{200b}Pal", (0x200b, 4, Invisible)),
            ("Pay\u{ad}Pal", (0xad, 4, Invisible)),
            ("Pay\u{2060}Pal", (0x2060, 4, Invisible)),
            ("\u{3164}", (0x3164, 1, Invisible)),
            ("Demo\u{e0041}", (0xe0041, 5, Invisible)),
            ("a\u{fe0f}", (0xfe0f, 2, Invisible)),
            ("1\u{fe0f}", (0xfe0f, 2, Invisible)),
            ("\u{2764}\u{fe0e}", (0xfe0e, 2, Invisible)),
            ("a\u{200d}b", (0x200d, 2, Invisible)),
            ("\u{6a9}\u{200c}", (0x200c, 2, Invisible)),
            ("\u{6a9}\u{200c}\u{200c}\u{6a9}", (0x200c, 2, Invisible)),
            ("\u{6a9}\u{200c}a", (0x200c, 2, Invisible)),
            // Not a sequence of the Unicode data, so it looks as if there were no joiner.
            ("\u{1f600}\u{200d}\u{1f600}", (0x200d, 2, Invisible)),
            ("\u{1f3f4}\u{e0067}\u{e0062}\u{e007f}", (0xe0067, 2, Invisible)),
            // A letter without a chillu, and no letter.
            ("\u{d2e}\u{d4d}\u{200d}", (0x200d, 3, Invisible)),
            ("\u{d4d}\u{200d}", (0x200d, 2, Invisible)),
            ("\u{d28}\u{d4d}\u{200d}\u{200d}", (0x200d, 4, Invisible)),
            ("\u{845b}\u{e0100}\u{e0100}", (0xe0100, 3, Invisible)),
            ("a\u{e0100}", (0xe0100, 2, Invisible)),
            ("\u{e0100}", (0xe0100, 1, Invisible)),
            ("\u{fff9}", (0xfff9, 1, Invisible)),
            ("a\u{301}\u{300}\u{302}\u{303}\u{304}", (0x304, 6, TooManyMarks)),
            (&many, (0x301, 6, TooManyMarks)),
            // The letter contains two of the marks.
            ("\u{1ec7}\u{301}\u{300}\u{304}", (0x304, 4, TooManyMarks)),
            ("a\u{301}\u{301}", (0x301, 3, RepeatedMark)),
            ("\u{e1}\u{301}", (0x301, 2, RepeatedMark)),
            // In NFD the dot below comes first.
            ("a\u{301}\u{323}\u{301}", (0x301, 4, RepeatedMark)),
            ("a\u{e000}", (0xe000, 2, PrivateUse)),
            ("\u{10fffd}", (0x10_fffd, 1, PrivateUse)),
            ("\u{fdd0}", (0xfdd0, 1, Noncharacter)),
            ("\u{1fffe}", (0x1_fffe, 1, Noncharacter)),
            (" x", (0x20, 1, OuterBlank)),
            ("x\u{3000}", (0x3000, 2, OuterBlank)),
            ("x  y", (0x20, 3, DoubleBlank)),
            ("x \u{a0}y", (0xa0, 3, DoubleBlank)),
            ("x \u{2800} y", (0x2800, 3, DoubleBlank)),
            ("a\tb", (0x9, 2, Control)),
            ("a\u{2028}b", (0x2028, 2, Control)),
            ("a\u{202e}b", (0x202e, 2, Direction)),
            ("a\u{2066}b", (0x2066, 2, Direction)),
            ("a\u{200f}b", (0x200f, 2, Direction)),
            ("a\u{61c}b", (0x61c, 2, Direction)),
        ] {
            assert_eq!(refused(text), Some(expected), "{text:?}");
        }
        let error = check_line("Pay\u{200b}Pal").unwrap_err();
        assert_eq!(error.to_string(), "has U+200B as character 4, which is invisible");
    }

    #[test]
    fn texts_of_every_script_are_accepted() {
        for text in [
            "Tr\u{1ea5}n Vi\u{1ec7}t",
            "Tra\u{302}\u{301}n Vie\u{323}\u{302}t",
            "\u{5e9}\u{5b8}\u{5c1}\u{5dc}\u{5d5}\u{5b9}\u{5dd}",
            "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}",
            "\u{64a}\u{64e}\u{200c}\u{62a}",
            "\u{915}\u{94d}\u{200d}\u{937}",
            "\u{9b0}\u{200d}\u{9cd}\u{9af}",
            "\u{7801}\u{4e91} Cloud",
            "\u{d05}\u{d35}\u{d28}\u{d4d}\u{200d}",
            "\u{d05}\u{d35}\u{d33}\u{d4d}\u{200d} x",
            "\u{845b}\u{e0100}\u{57ce}\u{5e02}",
            "\u{8fbb}\u{e0101}",
            "\u{795e}\u{fe00}",
            "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}\u{200d}\u{1f466}",
            "\u{1f469}\u{1f3fd}\u{200d}\u{1f680} Demo",
            "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
            "\u{1f1e8}\u{1f1ed}",
            "1\u{fe0f}\u{20e3} First",
            "I \u{2764}\u{fe0f} it",
            "a b c",
            "",
        ] {
            assert_eq!(refused(text), None, "{text:?}");
        }
    }

    #[test]
    fn every_line_is_judged_and_places_count_from_the_beginning() {
        assert_eq!(check_lines("one\n\ntwo"), Ok(()));
        for (text, place) in [("one\n two", 5), ("one \ntwo", 4), ("one\n\ntw\u{200b}o", 8), ("one\r\ntwo", 4)] {
            assert_eq!(check_lines(text).unwrap_err().place, place, "{text:?}");
        }
    }

    /// The tables of the skeleton have the same property, from the current version of Unicode.
    #[test]
    fn what_is_invisible_is_what_unicode_says() {
        for character in '\0'..=char::MAX {
            let text = character.to_string();
            let ignorable = unicode_security::skeleton(&text).next().is_none();
            let annotation = matches!(character, '\u{fff9}'..='\u{fffb}');
            assert_eq!(is_invisible(character), ignorable || annotation, "{}", character.escape_unicode());
        }
    }

    #[test]
    fn every_emoji_of_the_unicode_data_is_whole() {
        let mut count = 0;
        for emoji in emojis::iter() {
            let toned = emoji.skin_tones().into_iter().flatten();
            for emoji in std::iter::once(emoji).chain(toned) {
                let characters: Vec<char> = emoji.as_str().chars().collect();
                let hidden = characters.iter().any(|own| is_invisible(*own));
                assert!(
                    !hidden || emoji_length(&characters) == characters.len(),
                    "{}",
                    emoji.as_str().escape_unicode()
                );
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
