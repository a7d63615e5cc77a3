//! The definition of one scope in a catalog.

use std::borrow::Cow;

use crate::scope::Permission;

/// The definition of one scope of a [`ScopeCatalog`](crate::scope::ScopeCatalog), with the texts that a consent page
/// shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeDefinition {
    name: Cow<'static, str>,
    permissions: Permissions,
    title: Cow<'static, str>,
    description: Cow<'static, str>,
    group: Cow<'static, str>,
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
        }
    }

    /// Creates the definition of a scope without a permission, which is granted as a whole.
    /// [`require_scope`](crate::AuthorizationServer::require_scope) checks for it.
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

    /// Returns whether the scope can be granted with exactly `permission`; always `false` for a scope without a permission.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
