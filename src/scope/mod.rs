//! What an application may request: scopes with their permissions, the catalog that defines them, and the resources
//! that they reach.

mod catalog;
mod definition;
mod error;
mod identity;
mod resource;

pub use catalog::{ScopeCatalog, ScopeCatalogBuilder};
pub use definition::{Permissions, ScopeDefinition, ScopeNotation};
pub use error::{ScopeCatalogError, ScopeError};
pub use identity::IdentityScope;
pub(crate) use identity::{OPENID, is_standard_claim};
pub use resource::{Resource, ResourceList, ResourceScope, ResourceScopeError};

use std::fmt;
use std::sync::Arc;

use crate::base::field::texts;

texts! { ScopeSet: Self::read }

/// The permission of a scope; the later variant includes the earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a third permission would change what every stored scope means")]
pub enum Permission {
    /// Reading only, written `:r`.
    Read,
    /// Reading and writing, written `:rw`.
    ReadWrite,
}

/// One scope of a [`ScopeSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scope<'a> {
    name: &'a str,
    permission: Option<Permission>,
}

impl<'a> Scope<'a> {
    pub(crate) const fn new(name: &'a str, permission: Option<Permission>) -> Self {
        Self { name, permission }
    }

    /// Returns the name in the catalog, without permission.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// Returns the permission, or `None` for a scope without a permission, which is granted as a whole.
    pub fn permission(&self) -> Option<Permission> {
        self.permission
    }

    /// Returns whether this scope allows everything that `other` allows.
    ///
    /// Read-write includes read-only; a scope without a permission includes both.
    pub fn covers(&self, other: &Scope<'_>) -> bool {
        self.name == other.name && reaches(self.permission, other.permission)
    }

    fn from_token(token: &'a str) -> Self {
        if let Some(name) = token.strip_suffix(READ_WRITE_SUFFIX) {
            return Self { name, permission: Some(Permission::ReadWrite) };
        }
        if let Some(name) = token.strip_suffix(READ_SUFFIX) {
            return Self { name, permission: Some(Permission::Read) };
        }
        Self { name: token, permission: None }
    }

    fn suffix(&self) -> &'static str {
        match self.permission {
            None => "",
            Some(Permission::Read) => READ_SUFFIX,
            Some(Permission::ReadWrite) => READ_WRITE_SUFFIX,
        }
    }
}

impl fmt::Display for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        f.write_str(self.suffix())
    }
}

/// A set of requested, registered or granted scopes, as one canonical text [RFC 6749 section 3.3].
///
/// The text contains each scope once, in catalog order, separated by one space: `name:r`, `name:rw`, or `name` for a
/// scope without a permission. Two sets of one catalog are equal if they contain the same scopes, however they were
/// requested. A clone shares the text.
///
/// [`ScopeCatalog::parse`] creates a set from the text that a client sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ScopeSet(Arc<str>);

impl ScopeSet {
    /// Creates a set without scopes.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Reads a stored text; `None` if it is not a list of scope tokens.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let sound = text.is_empty() || text.split(' ').all(is_scope_token);
        sound.then(|| Self(text.into()))
    }

    #[cfg(test)]
    pub(crate) fn from_canonical(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// Returns whether the set contains no scope.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the canonical text, empty for the empty set.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the scopes in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = Scope<'_>> {
        self.0.split(' ').filter(|token| !token.is_empty()).map(Scope::from_token)
    }

    /// Returns whether the set allows `permission` under the scope `name`.
    ///
    /// Read-write includes read-only; a scope without a permission includes both.
    pub fn contains(&self, name: &str, permission: Permission) -> bool {
        self.holds(&Scope { name, permission: Some(permission) })
    }

    /// Returns whether the set contains the scope without a permission `name`, which has no permissions.
    ///
    /// A scope of that name with a permission is another one: [`contains`](Self::contains) checks it.
    pub fn contains_name(&self, name: &str) -> bool {
        self.holds(&Scope { name, permission: None })
    }

    /// Returns whether `bound` allows everything that this set allows.
    pub fn is_subset_of(&self, bound: &Self) -> bool {
        if self.0 == bound.0 {
            return true;
        }
        // Both texts are normally in the same order, so one pass through both is enough. Records from before a change
        // of the catalog may differ in order and need the full search.
        let mut ahead = bound.iter();
        self.iter().all(|asked| ahead.any(|held| held.covers(&asked))) || self.iter().all(|asked| bound.holds(&asked))
    }

    /// Returns what both sets allow, each scope at the lower of the two permissions, in this set's order.
    #[must_use]
    pub fn intersection(&self, bound: &Self) -> Self {
        // All grants of the full registration share its text, and the registration outlives them.
        if self.0 == bound.0 {
            return bound.clone();
        }
        if self.is_subset_of(bound) {
            return self.clone();
        }
        Self::from_scopes(self.iter().filter_map(|asked| {
            let held = bound.iter().find(|held| held.name == asked.name)?;
            Some(if held.covers(&asked) { asked } else { Scope { permission: held.permission, ..asked } })
        }))
    }

    fn holds(&self, asked: &Scope<'_>) -> bool {
        self.iter().any(|held| held.covers(asked))
    }

    /// Joins scopes that are already in catalog order and without duplicates.
    pub(crate) fn from_scopes<'s>(scopes: impl IntoIterator<Item = Scope<'s>>) -> Self {
        let mut text = String::new();
        for scope in scopes {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(scope.name);
            text.push_str(scope.suffix());
        }
        Self(text.into())
    }
}

impl fmt::Display for ScopeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns whether `text` is a `scope-token` [RFC 6749 appendix A.4].
pub(crate) fn is_scope_token(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_token_character)
}

pub(crate) fn is_token_character(character: char) -> bool {
    matches!(character, '\x21' | '\x23'..='\x5B' | '\x5D'..='\x7E')
}

fn reaches(held: Option<Permission>, asked: Option<Permission>) -> bool {
    match (held, asked) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(held), Some(asked)) => held >= asked,
    }
}

const READ_SUFFIX: &str = ":r";
const READ_WRITE_SUFFIX: &str = ":rw";

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> ScopeSet {
        ScopeSet::from_canonical(text)
    }

    #[test]
    fn canonical_text_splits_into_names_and_permissions() {
        let set = set("repo-pr:r repo-code:rw plain odd:x");
        let found: Vec<_> = set.iter().map(|scope| (scope.name(), scope.permission())).collect();
        assert_eq!(
            found,
            [
                ("repo-pr", Some(Permission::Read)),
                ("repo-code", Some(Permission::ReadWrite)),
                ("plain", None),
                ("odd:x", None),
            ]
        );
        let tokens: Vec<_> = set.iter().map(|scope| scope.to_string()).collect();
        assert_eq!(tokens.join(" "), set.to_string());
    }

    #[test]
    fn the_empty_set_holds_nothing_and_is_in_every_set() {
        let empty = ScopeSet::empty();
        assert!(empty.is_empty());
        assert_eq!(empty.as_str(), "");
        assert_eq!(empty.iter().count(), 0);
        assert!(empty.is_subset_of(&set("a:r")));
        assert!(!set("a:r").is_subset_of(&empty));
        assert!(set("a:r").intersection(&empty).is_empty());
    }

    #[test]
    fn read_write_contains_read_only_and_a_scope_without_permission_contains_both() {
        for (held, name, permission, expected) in [
            ("a:r", "a", Permission::Read, true),
            ("a:r", "a", Permission::ReadWrite, false),
            ("a:rw", "a", Permission::Read, true),
            ("a:rw", "a", Permission::ReadWrite, true),
            ("a", "a", Permission::Read, true),
            ("a", "a", Permission::ReadWrite, true),
            ("b:rw a:r", "a", Permission::Read, true),
            ("ab:rw", "a", Permission::Read, false),
            ("A:rw", "a", Permission::Read, false),
            ("", "a", Permission::Read, false),
            ("", "", Permission::Read, false),
        ] {
            assert_eq!(set(held).contains(name, permission), expected, "{held:?} {name:?} {permission:?}");
        }
    }

    #[test]
    fn subsets_are_found_in_any_order() {
        for (asked, bound, expected) in [
            ("a:r b:r", "a:r b:r", true),
            ("b:r", "a:r b:r c:r", true),
            ("a:r c:r", "a:r b:r c:r", true),
            ("a:r c:r", "a:rw b:r c", true),
            ("c:r a:r", "a:rw b:r c:r", true),
            ("a:rw", "a:r", false),
            ("a", "a:rw", false),
            ("a:r d:r", "a:r b:r c:r", false),
            ("a:r b:r", "a:r", false),
        ] {
            assert_eq!(set(asked).is_subset_of(&set(bound)), expected, "{asked:?} in {bound:?}");
        }
    }

    #[test]
    fn the_intersection_takes_the_lower_permission_in_the_order_of_the_first() {
        for (asked, bound, expected) in [
            ("a:rw b:rw", "a:r b:rw", "a:r b:rw"),
            ("a:r b:rw", "b:r a:rw", "a:r b:r"),
            ("a b:r", "a:rw", "a:rw"),
            ("a:rw", "a", "a:rw"),
            ("a:r b:r", "c:r", ""),
            ("c:r a:r", "a:r", "a:r"),
        ] {
            let both = set(asked).intersection(&set(bound));
            assert_eq!(both.as_str(), expected, "{asked:?} with {bound:?}");
            assert!(both.is_subset_of(&set(asked)) && both.is_subset_of(&set(bound)));
        }
    }

    #[test]
    fn the_intersection_with_a_wider_set_shares_the_text() {
        let asked = set("a:r");
        assert!(Arc::ptr_eq(&asked.intersection(&set("a:rw b:r")).0, &asked.0));
    }
}
