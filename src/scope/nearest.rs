//! Finds the known text that is most similar to a mistyped one.

/// Returns the known text with the smallest edit distance, if that is small for its length. Of several, it returns the
/// first.
pub(super) fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // No name is longer. This bounds the work for any input.
    if typed.len() > LONGEST {
        return None;
    }
    let near = known.into_iter().map(|text| (distance(typed, text), text));
    let (edits, text) = near.min_by_key(|(edits, _)| *edits)?;
    (edits <= typed.len() / 4).then_some(text)
}

/// Returns how many bytes must be inserted, removed or changed (Levenshtein distance).
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (above, byte) in one.bytes().enumerate() {
        let mut left = above + 1;
        // The cell above and to the left.
        let mut corner = above;
        for (cell, second) in row.iter_mut().skip(1).zip(other.bytes()) {
            let changed = corner + usize::from(byte != second);
            corner = *cell;
            left = changed.min(*cell + 1).min(left + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = above + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

const LONGEST: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_edits() {
        for (one, other, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("repo-cod:r", "repo-code:r", 1),
            ("kitten", "sitting", 3),
            ("ab", "ba", 2),
            ("flaw", "lawn", 2),
        ] {
            assert_eq!(distance(one, other), expected, "{one:?} {other:?}");
            assert_eq!(distance(other, one), expected, "{other:?} {one:?}");
        }
    }

    #[test]
    fn the_nearest_is_near_and_the_first() {
        let known = ["repo-code:r", "repo-code:rw", "repo-pr:r"];
        for (typed, expected) in [
            ("repo-cod:r", Some("repo-code:r")),
            ("repo-code:w", Some("repo-code:r")),
            ("repo_pr:r", Some("repo-pr:r")),
            ("openid", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(nearest(typed, known), expected, "{typed:?}");
        }
        assert_eq!(nearest(&"x".repeat(129), known), None);
        assert_eq!(nearest("a", []), None);
    }
}
