//! Why a scope or a catalog is refused, and which scope a mistyped one is most similar to.

use crate::base::debug_as_text;
use crate::secret::CLIENT_SECRET_CHARACTERS;
use crate::text::TextError;

/// Why a requested scope is refused.
///
/// # Security
///
/// An unknown token of 32 bytes or more is never part of the error: it may be a secret in the wrong place.
#[derive(Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ScopeError {
    /// The value does not follow the grammar of RFC 6749 section 3.3.
    #[error("the scope is not a list of scope tokens with separators between them")]
    Malformed,
    /// A token names a scope that the catalog does not have.
    #[error("unknown scope{}", named(.token.as_deref(), .nearest.as_deref()))]
    Unknown {
        /// The token, if it has fewer than 32 bytes.
        token: Option<Box<str>>,
        /// The token of the catalog that is most similar, if one is similar enough.
        /// [`ScopeCatalog::parse`](crate::scope::ScopeCatalog::parse) searches for it; requests of clients do not cause
        /// a search.
        nearest: Option<Box<str>>,
    },
    /// A token requests a permission that its scope cannot be granted with.
    #[error("the scope {token:?} cannot be granted, only {accepted:?} can")]
    PermissionNotAllowed {
        /// The token.
        token: Box<str>,
        /// The one token that the scope can be granted with.
        accepted: Box<str>,
    },
}

debug_as_text!(ScopeError);

impl ScopeError {
    pub(super) fn unknown(token: &str) -> Self {
        let may_be_a_secret = token.len() >= *CLIENT_SECRET_CHARACTERS.start();
        Self::Unknown { token: (!may_be_a_secret).then(|| token.into()), nearest: None }
    }
}

/// Formats the end of an error text: ` "repo-cod:r"; did you mean "repo-code:r"?`
fn named(token: Option<&str>, nearest: Option<&str>) -> String {
    let token = token.map(|token| format!(" {token:?}"));
    let nearest = nearest.map(|nearest| format!("; did you mean {nearest:?}?"));
    token.unwrap_or_default() + nearest.as_deref().unwrap_or_default()
}

/// Why a catalog cannot be built.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScopeCatalogError {
    /// Two scopes share a token, for instance because a name appears twice.
    #[error("two scopes are written {token:?}: define each scope once, under a name of its own")]
    Ambiguous {
        /// The token.
        token: String,
    },
    /// There is no scope.
    #[error("a scope catalog needs at least one scope")]
    Empty,
    /// A name is empty or too long, or contains the separator or a character that is not allowed in a scope token.
    #[error(
        "{name:?} cannot be the name of a scope: use 1 to {MAX_NAME_BYTES} visible ASCII characters without \
         quotes, backslashes and the separator"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// The separator or a mark cannot be part of a scope parameter, or the marks cannot be distinguished.
    #[error(
        "the scope notation is ambiguous: the two marks must differ, the mark for read-write must not be \
         empty, and separator and marks must be visible ASCII characters without quotes and backslashes"
    )]
    Notation,
    /// A name ends in `:r` or `:rw`, which denote permissions.
    #[error(
        "the scope name {name:?} ends like a permission: leave out :r or :rw and set the Permissions of its definition"
    )]
    Suffix {
        /// The name.
        name: String,
    },
    /// The title, the description or the group of a scope has a character that could mislead its readers.
    #[error("a text of the scope {name:?} {error}")]
    Words {
        /// The name of the scope.
        name: String,
        /// The character.
        error: TextError,
    },
}

debug_as_text!(ScopeCatalogError);

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

/// The most bytes of the name of a scope.
pub(super) const MAX_NAME_BYTES: usize = 100;

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
