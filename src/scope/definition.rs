//! The definition of one scope in a catalog, and how scopes are written in requests and responses.

use std::borrow::Cow;

use crate::scope::{Permission, is_token_character};

/// The definition of one scope of a [`ScopeCatalog`](crate::scope::ScopeCatalog), with the texts that a consent page
/// shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeDefinition {
    name: Cow<'static, str>,
    permissions: Permissions,
    title: Cow<'static, str>,
    description: Cow<'static, str>,
    group: Cow<'static, str>,
    /// For read-only access, or for a scope without a permission.
    read: Cow<'static, str>,
    /// For read-write access.
    write: Cow<'static, str>,
    is_for_devices: bool,
}

impl ScopeDefinition {
    /// Creates a definition from the name that clients send and the permissions that the scope can be granted with.
    ///
    /// The name is checked when the catalog is built.
    pub fn new(name: impl Into<Cow<'static, str>>, permissions: Permissions) -> Self {
        Self {
            name: name.into(),
            permissions,
            title: Cow::default(),
            description: Cow::default(),
            group: Cow::default(),
            read: Cow::default(),
            write: Cow::default(),
            is_for_devices: true,
        }
    }

    /// Creates the definition of a scope without a permission, which is granted as a whole.
    /// [`require_scope`](crate::ResourceServer::require_scope) checks for it.
    pub fn plain(name: impl Into<Cow<'static, str>>) -> Self {
        Self::new(name, Permissions::Plain)
    }

    /// Sets a few words that name the scope to a user.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<Cow<'static, str>>) -> Self {
        self.title = title.into();
        self
    }

    /// Sets the sentence that explains to a user what the scope covers.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<Cow<'static, str>>) -> Self {
        self.description = description.into();
        self
    }

    /// Sets the heading under which a consent page lists the scope.
    #[must_use]
    pub fn with_group(mut self, group: impl Into<Cow<'static, str>>) -> Self {
        self.group = group.into();
        self
    }

    /// Sets what a client may do with read-only and with read-write access, as a consent page lists it: a verb first,
    /// such as `Read your notes` and `Read, write and delete your notes`.
    ///
    /// Leave empty what the scope is never granted with. A scope without a permission has the first text.
    #[must_use]
    pub fn with_verbs(mut self, read: impl Into<Cow<'static, str>>, write: impl Into<Cow<'static, str>>) -> Self {
        (self.read, self.write) = (read.into(), write.into());
        self
    }

    /// Bars the scope from devices without a browser [RFC 8628]: they cannot ask for it. A user can be tricked into
    /// typing the code of an attacker's device, so bar the most sensitive scopes.
    #[must_use]
    pub fn not_for_devices(mut self) -> Self {
        self.is_for_devices = false;
        self
    }

    /// Returns whether devices without a browser may ask for the scope.
    pub fn is_for_devices(&self) -> bool {
        self.is_for_devices
    }

    /// Returns the name that clients send, without permission.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the permissions that the scope can be granted with.
    pub fn permissions(&self) -> Permissions {
        self.permissions
    }

    /// Returns a few words that name the scope to a user, or the name if none were set.
    pub fn title(&self) -> &str {
        if self.title.is_empty() { &self.name } else { &self.title }
    }

    /// Returns the sentence that explains to a user what the scope covers; empty if none was set.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns the heading under which a consent page lists the scope; empty if none was set.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// Returns what a client may do with that permission, or with a scope without a permission; `None` if that was not
    /// set.
    pub fn verbs(&self, permission: Option<Permission>) -> Option<&str> {
        let text = match permission {
            Some(Permission::ReadWrite) => &self.write,
            Some(Permission::Read) | None => &self.read,
        };
        Some(&**text).filter(|text| !text.is_empty())
    }

    /// Returns the texts that people read.
    pub(super) fn words(&self) -> [&str; 5] {
        [self.title(), &self.description, &self.group, &self.read, &self.write]
    }
}

/// The permissions that a scope can be granted with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Permissions {
    /// Only `name:r`.
    ReadOnly,
    /// Only `name:rw`.
    ReadWriteOnly,
    /// `name:r` or `name:rw`.
    ReadOnlyOrReadWrite,
    /// Only `name`, granted as a whole.
    Plain,
}

impl Permissions {
    /// Returns what the scope can be granted with, the lowest first; `None` is the scope as a whole.
    pub(super) const fn each(self) -> &'static [Option<Permission>] {
        match self {
            Self::ReadOnly => &[Some(Permission::Read)],
            Self::ReadWriteOnly => &[Some(Permission::ReadWrite)],
            Self::ReadOnlyOrReadWrite => &[Some(Permission::Read), Some(Permission::ReadWrite)],
            Self::Plain => &[None],
        }
    }

    /// Returns whether the scope can be granted with exactly `permission`; always `false` for a scope without a
    /// permission.
    pub fn allows(self, permission: Permission) -> bool {
        self.each().contains(&Some(permission))
    }

    /// Returns the lowest permission, which a bare name in a request means; `None` for a scope without a permission.
    pub fn least(self) -> Option<Permission> {
        self.each().first().copied().flatten()
    }

    /// Returns the highest permission; `None` for a scope without a permission.
    pub fn max(self) -> Option<Permission> {
        self.each().last().copied().flatten()
    }
}

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
    fn permissions_say_what_they_allow() {
        use Permission::{Read, ReadWrite};
        for (permissions, read, read_write, least, max) in [
            (Permissions::ReadOnly, true, false, Some(Read), Some(Read)),
            (Permissions::ReadWriteOnly, false, true, Some(ReadWrite), Some(ReadWrite)),
            (Permissions::ReadOnlyOrReadWrite, true, true, Some(Read), Some(ReadWrite)),
            (Permissions::Plain, false, false, None, None),
        ] {
            assert_eq!(permissions.allows(Read), read, "{permissions:?}");
            assert_eq!(permissions.allows(ReadWrite), read_write, "{permissions:?}");
            assert_eq!(permissions.least(), least, "{permissions:?}");
            assert_eq!(permissions.max(), max, "{permissions:?}");
        }
    }

    #[test]
    fn a_title_falls_back_to_the_name() {
        let bare = ScopeDefinition::new("files", Permissions::Plain);
        assert_eq!((bare.title(), bare.description(), bare.group()), ("files", "", ""));
        let full = bare.with_title("Your files").with_description("All of them.").with_group("Storage");
        assert_eq!((full.title(), full.description(), full.group()), ("Your files", "All of them.", "Storage"));
    }

    #[test]
    fn verbs_differ_by_permission() {
        let bare = ScopeDefinition::new("files", Permissions::ReadOnlyOrReadWrite);
        assert_eq!((bare.verbs(Some(Permission::Read)), bare.verbs(None)), (None, None));
        let full = bare.with_verbs("Read your files", "Read and change your files");
        assert_eq!(full.verbs(Some(Permission::Read)), Some("Read your files"));
        assert_eq!(full.verbs(Some(Permission::ReadWrite)), Some("Read and change your files"));
        let plain = ScopeDefinition::plain("orders").with_verbs("See your orders", "");
        assert_eq!((plain.verbs(None), plain.verbs(Some(Permission::ReadWrite))), (Some("See your orders"), None));
    }

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
