//! How a failure is told: what differs, and no more of it than can be read.

use std::fmt::Debug;

use crate::record::Record;

/// Characters of a value that are printed.
const SHOWN: usize = 300;

/// What was found in place of a row. What is printed of a record leaves fields out, so it is told apart by
/// what a store writes of it.
pub(super) fn difference<R: Record + Debug>(expected: &R, found: Option<&R>) -> String {
    let Some(found) = found else { return format!("nothing, in place of {}", cut(expected)) };
    let place = first_difference(&expected.encode(), &found.encode());
    format!("{}, in place of {}; {place}", cut(found), cut(expected))
}

/// Where two encoded records part.
pub(super) fn first_difference(expected: &[u8], found: &[u8]) -> String {
    let same = expected.iter().zip(found).take_while(|(one, other)| one == other).count();
    match (expected.get(same), found.get(same)) {
        (None, None) => format!("all {same} octets of `encode()` are the same"),
        (expected, found) => {
            format!("octet {same} of `encode()` is {} in place of {}", octet(found), octet(expected))
        }
    }
}

fn octet(octet: Option<&u8>) -> String {
    octet.map_or_else(|| "missing".to_owned(), |octet| format!("{octet:#04x}"))
}

/// The beginning of what would be printed.
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
    use crate::clock::Timestamp;
    use crate::pkce::CodeChallenge;
    use crate::record::Authorization;
    use crate::testing::records;

    #[test]
    fn a_field_that_is_not_printed_is_told_by_its_place() {
        let one = records::authorization(&records::subject(), Timestamp::from_seconds(4_000_000_000));
        let challenge = b"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cA";
        let other = Authorization { challenge: Some(CodeChallenge::parse(challenge).unwrap()), ..one.clone() };
        let octets = one.encode();
        let place = octets.windows(43).position(|own| own == b"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM").unwrap();
        let told = difference(&one, Some(&other));
        assert!(told.ends_with(&format!("octet {} of `encode()` is 0x41 in place of 0x4d", place + 42)), "{told}");
        assert!(difference(&one, None).starts_with("nothing, in place of Authorization"));
        let told = first_difference(&octets, &octets[..octets.len() - 1]);
        assert!(told.contains("is missing in place of"), "{told}");
    }

    #[test]
    fn a_large_value_is_cut() {
        let told = cut(&"\u{e9}".repeat(1000));
        assert_eq!(told.chars().count(), SHOWN + "... (1002 characters)".len());
        assert_eq!(cut(&"short"), "\"short\"");
    }
}
