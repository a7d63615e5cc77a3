//! The texts of failures: what differs, cut to a readable length.

use std::fmt::Debug;

use crate::store::Record;

/// How many characters of a value are printed.
const SHOWN: usize = 300;

/// Describes what was found in place of a row. The printed text of a record leaves fields out, so the bytes that a
/// store writes are compared.
pub(super) fn difference<R: Record + Debug>(expected: &R, found: Option<&R>) -> String {
    let Some(found) = found else { return format!("nothing, in place of {}", cut(expected)) };
    let place = first_difference(&expected.encode(), &found.encode());
    format!("{}, in place of {}; {place}", cut(found), cut(expected))
}

/// Describes where two encoded records differ.
pub(super) fn first_difference(expected: &[u8], found: &[u8]) -> String {
    let same = expected.iter().zip(found).take_while(|(one, other)| one == other).count();
    match (expected.get(same), found.get(same)) {
        (None, None) => format!("all {same} bytes of `encode()` are the same"),
        (expected, found) => {
            format!("byte {same} of `encode()` is {} in place of {}", byte(found), byte(expected))
        }
    }
}

fn byte(byte: Option<&u8>) -> String {
    byte.map_or_else(|| "missing".to_owned(), |byte| format!("{byte:#04x}"))
}

/// Returns the beginning of the printed text.
pub(super) fn cut(value: &(impl Debug + ?Sized)) -> String {
    let mut text = format!("{value:?}");
    if let Some((end, _)) = text.char_indices().nth(SHOWN) {
        let all = text.chars().count();
        text.truncate(end);
        text = format!("{text}... ({all} characters)");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::Timestamp;
    use crate::model::Authorization;
    use crate::secret::pkce::CodeChallenge;
    use crate::testing::records;

    #[test]
    fn a_field_that_is_not_printed_is_reported_by_its_place() {
        let one = records::authorization(&records::subject(), Timestamp::from_seconds(4_000_000_000));
        let challenge = b"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cA";
        let other = Authorization { challenge: Some(CodeChallenge::parse(challenge).unwrap()), ..one.clone() };
        let bytes = one.encode();
        let place = bytes.windows(43).position(|own| own == b"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM").unwrap();
        let text = difference(&one, Some(&other));
        assert!(text.ends_with(&format!("byte {} of `encode()` is 0x41 in place of 0x4d", place + 42)), "{text}");
        assert!(difference(&one, None).starts_with("nothing, in place of Authorization"));
        let text = first_difference(&bytes, &bytes[..bytes.len() - 1]);
        assert!(text.contains("is missing in place of"), "{text}");
    }

    #[test]
    fn a_large_value_is_cut() {
        let text = cut(&"\u{e9}".repeat(1000));
        assert_eq!(text.chars().count(), SHOWN + "... (1002 characters)".len());
        assert_eq!(cut(&"short"), "\"short\"");
    }
}
