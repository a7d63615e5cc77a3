//! How scopes are written in requests and responses.

use std::borrow::Cow;

use crate::scope::{Permission, is_token_character};

/// How scope tokens are joined and how they show their permission.
///
/// The default is a space between tokens [RFC 6749 section 3.3] and the suffixes `:r` and `:rw`. The notation affects
/// only the wire form; the text of a [`ScopeSet`](crate::scope::ScopeSet) is always in the default notation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeNotation {
    separator: char,
    place: Place,
    read: Cow<'static, str>,
    read_write: Cow<'static, str>,
}

impl ScopeNotation {
    /// Creates a notation that marks the permission after the name, as in `name:r` and `name:rw`.
    ///
    /// The mark for read-only may be empty; the two marks must differ.
    pub fn suffixes(read: impl Into<Cow<'static, str>>, read_write: impl Into<Cow<'static, str>>) -> Self {
        Self { separator: ' ', place: Place::Behind, read: read.into(), read_write: read_write.into() }
    }

    /// Creates a notation that marks the permission before the name, as in `read:name` and `write:name`.
    ///
    /// The mark for read-only may be empty; the two marks must differ.
    pub fn prefixes(read: impl Into<Cow<'static, str>>, read_write: impl Into<Cow<'static, str>>) -> Self {
        Self { place: Place::Before, ..Self::suffixes(read, read_write) }
    }

    /// Sets the separator between two tokens: a space, or a character that no name and no mark contains.
    ///
    /// Any separator other than a space departs from RFC 6749 section 3.3, and clients must be written for it.
    #[must_use]
    pub fn with_separator(mut self, separator: char) -> Self {
        self.separator = separator;
        self
    }

    pub(super) fn separator(&self) -> char {
        self.separator
    }

    /// Returns whether separator and marks can be distinguished and are allowed in a scope parameter.
    pub(super) fn is_usable(&self) -> bool {
        let mut marks = self.read.chars().chain(self.read_write.chars());
        (self.separator == ' ' || is_token_character(self.separator))
            && marks.all(|mark| is_token_character(mark) && mark != self.separator)
            && !self.read_write.is_empty()
            && self.read != self.read_write
    }

    /// Formats one scope in this notation.
    pub(super) fn token(&self, name: &str, permission: Option<Permission>) -> String {
        let mark = match permission {
            None => "",
            Some(Permission::Read) => &self.read,
            Some(Permission::ReadWrite) => &self.read_write,
        };
        match self.place {
            Place::Before => format!("{mark}{name}"),
            Place::Behind => format!("{name}{mark}"),
        }
    }
}

impl Default for ScopeNotation {
    fn default() -> Self {
        Self::suffixes(crate::scope::READ_SUFFIX, crate::scope::READ_WRITE_SUFFIX)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Before,
    Behind,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::is_scope_token;

    #[test]
    fn scope_tokens_hold_the_characters_of_appendix_a() {
        for byte in 0..=u8::MAX {
            let expected = byte == 0x21 || (0x23..=0x5B).contains(&byte) || (0x5D..=0x7E).contains(&byte);
            assert_eq!(is_scope_token(&char::from(byte).to_string()), expected, "{byte:#04x}");
        }
        assert!(!is_scope_token(""));
        assert!(!is_scope_token("a b"));
        assert!(!is_scope_token("\u{20AC}"));
    }

    #[test]
    fn marks_stand_where_the_notation_puts_them() {
        let [read, both] = [Some(Permission::Read), Some(Permission::ReadWrite)];
        for (notation, expected) in [
            (ScopeNotation::default(), ["x:r", "x:rw", "x"]),
            (ScopeNotation::prefixes("read:", "write:"), ["read:x", "write:x", "x"]),
            (ScopeNotation::suffixes("", ".write"), ["x", "x.write", "x"]),
        ] {
            assert!(notation.is_usable(), "{notation:?}");
            assert_eq!([read, both, None].map(|permission| notation.token("x", permission)), expected);
        }
    }

    #[test]
    fn notations_that_cannot_be_read_back_are_not_usable() {
        for notation in [
            ScopeNotation::suffixes(":r", ":r"),
            ScopeNotation::suffixes(":r", ""),
            ScopeNotation::suffixes(" r", ":rw"),
            ScopeNotation::suffixes(":r", "\"rw"),
            ScopeNotation::default().with_separator(':'),
            ScopeNotation::default().with_separator('\t'),
            ScopeNotation::default().with_separator('"'),
            ScopeNotation::default().with_separator('\u{2028}'),
        ] {
            assert!(!notation.is_usable(), "{notation:?}");
        }
        assert!(ScopeNotation::default().with_separator(',').is_usable());
    }
}
