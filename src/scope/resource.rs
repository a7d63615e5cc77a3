//! Which of a user's resources a grant reaches.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::base::codec::{DecodeError, Reader, Writer};
use crate::base::debug_as_text;
use crate::base::field::{Codec, variants, write_list};
use crate::text::{TextError, check_line};

/// The user's resources that an application may access, in addition to what its scopes allow.
///
/// The registration sets the upper bound; the user's consent may reduce it.
///
/// Each record of a consent has its list of resources, so a grant can be read without its client, and the bounds on
/// records bound what one user can store. In a row of its own, a list would cost one more read at each check.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the service has exactly these three, and a page must distinguish them")]
pub enum ResourceScope {
    /// Every resource of the account.
    All,
    /// Every public resource of the account.
    Public,
    /// The listed resources.
    Specified(ResourceList),
}

impl ResourceScope {
    /// Creates a scope of the given resources, named as the service names them.
    ///
    /// The list is sorted, and a resource that is named twice counts once. Names are compared byte by byte. Users see
    /// them on the consent page, so characters that could mislead are refused.
    ///
    /// # Errors
    ///
    /// [`ResourceScopeError`] if there is no resource, if there are more than 100 resources or more than 4096 bytes in
    /// all, or if a name is empty, is longer than 255 bytes or has a character that could mislead.
    pub fn specified(items: impl IntoIterator<Item: Into<String>>) -> Result<Self, ResourceScopeError> {
        let list = ResourceList::listed(items, |name| check_line(name).map_err(ResourceScopeError::Text))?;
        Ok(Self::Specified(list))
    }

    /// Creates a scope that reaches no resource.
    pub(crate) fn none() -> Self {
        Self::Specified(ResourceList::from_sorted(Vec::new()))
    }

    /// Returns whether nothing is left of a list that was reduced.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Specified(list) if list.is_empty())
    }

    /// Returns whether the scope reaches `resource`.
    pub fn permits(&self, resource: Resource<'_>) -> bool {
        match (self, resource) {
            (_, Resource::Account) | (Self::All, _) | (Self::Public, Resource::Public(_)) => true,
            (Self::Public, Resource::Private(_)) => false,
            (Self::Specified(list), Resource::Public(name) | Resource::Private(name)) => list.contains(name),
        }
    }

    /// Returns whether `other` reaches nothing that this scope does not reach.
    ///
    /// This type does not know which of the listed resources are public, so [`Public`](Self::Public) covers no list,
    /// except one without resources.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, _) | (Self::Public, Self::Public) => true,
            (Self::Specified(held), Self::Specified(asked)) => held.has_all_of(asked),
            (Self::Public, Self::Specified(asked)) => asked.is_empty(),
            (Self::Public, Self::All) | (Self::Specified(_), Self::All | Self::Public) => false,
        }
    }

    /// Returns the part of this scope that is within a bound, for instance within a registration that was reduced
    /// after consent.
    ///
    /// The result reaches only resources that both of them reach. [`Public`](Self::Public) reduced to a list, or a
    /// list reduced to `Public`, leaves an empty list: this type does not know which of the listed resources are
    /// public.
    #[must_use]
    pub fn reduced_to(&self, bound: &Self) -> Self {
        match (self, bound) {
            (scope, Self::All) | (Self::All, scope) => scope.clone(),
            (Self::Public, Self::Public) => Self::Public,
            (Self::Specified(list), Self::Specified(bound)) => Self::Specified(list.shared_with(bound)),
            (Self::Public, Self::Specified(_)) | (Self::Specified(_), Self::Public) => Self::none(),
        }
    }

    /// Returns the word for the kind of scope: `all`, `public` or `specified`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Public => "public",
            Self::Specified(_) => "specified",
        }
    }
}

variants! { ResourceScope { 0 => All, 1 => Public, 2 => Specified(list) } }

impl Codec for ResourceList {
    fn write(&self, writer: &mut Writer) {
        write_list(&*self.0, writer);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Self::from_record(reader.list(Reader::text)?).map_err(|_| DecodeError::Malformed)
    }
}

/// The resources of a [`ResourceScope::Specified`], sorted and without duplicates.
///
/// [`ResourceScope::specified`] creates lists of 1 to 100 resources of 1 to 255 bytes each;
/// [`ResourceScope::reduced_to`] may leave none. A clone shares the content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResourceList(Arc<Vec<Box<str>>>);

impl ResourceList {
    fn listed(
        items: impl IntoIterator<Item: Into<String>>,
        judge: impl Fn(&str) -> Result<(), ResourceScopeError>,
    ) -> Result<Self, ResourceScopeError> {
        let mut resources = BTreeSet::new();
        let mut bytes = 0;
        for item in items {
            let name: String = item.into();
            if name.is_empty() || name.len() > MAX_NAME_BYTES {
                return Err(ResourceScopeError::Length);
            }
            judge(&name)?;
            let length = name.len();
            if resources.insert(name.into_boxed_str()) {
                bytes += length;
            }
            if resources.len() > MAX_RESOURCES || bytes > MAX_BYTES {
                return Err(ResourceScopeError::TooMany);
            }
        }
        if resources.is_empty() {
            return Err(ResourceScopeError::Empty);
        }
        Ok(Self::from_sorted(resources.into_iter().collect()))
    }

    /// Reads a stored list, which a reduction may have left empty. Its texts are not checked again: another version of
    /// Unicode may refuse them, and a record must stay readable.
    pub(crate) fn from_record(names: Vec<&str>) -> Result<Self, ResourceScopeError> {
        if names.is_empty() { Ok(Self::from_sorted(Vec::new())) } else { Self::listed(names, |_| Ok(())) }
    }

    /// Creates a list from names in ascending order, without duplicates.
    pub(super) fn from_sorted(sorted: Vec<Box<str>>) -> Self {
        Self(Arc::new(sorted))
    }

    /// Returns the resources in ascending order of their bytes.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(AsRef::as_ref)
    }

    /// Returns whether the list names `resource`, byte by byte.
    pub fn contains(&self, resource: &str) -> bool {
        self.0.binary_search_by(|item| item.as_ref().cmp(resource)).is_ok()
    }

    /// Returns the number of resources.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether no resource is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn has_all_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || other.iter().all(|resource| self.contains(resource))
    }

    fn shared_with(&self, bound: &Self) -> Self {
        if bound.has_all_of(self) {
            return self.clone();
        }
        let shared = self.0.iter().filter(|resource| bound.contains(resource));
        Self::from_sorted(shared.cloned().collect())
    }
}

/// The target of an API call, as your service's service knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Resource<'a> {
    /// The account itself, such as its profile or e-mail address, which every resource scope reaches.
    Account,
    /// A resource that everyone may see.
    Public(&'a str),
    /// A resource that only some users may see.
    Private(&'a str),
}

/// Why a list of resources is refused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ResourceScopeError {
    /// There is no resource.
    #[error("the list of resources is empty")]
    Empty,
    /// A name is empty or longer than 255 bytes.
    #[error("a resource name must have 1 to {MAX_NAME_BYTES} bytes")]
    Length,
    /// A name has a character that could mislead its readers.
    #[error("a resource name {0}")]
    Text(TextError),
    /// There are more than 100 resources, or more than 4096 bytes of names.
    #[error("a list may name at most {MAX_RESOURCES} resources, with {MAX_BYTES} bytes in all")]
    TooMany,
}

debug_as_text!(ResourceScopeError);

/// The maximum number of resources of a list: each consent names its own.
const MAX_RESOURCES: usize = 100;
const MAX_NAME_BYTES: usize = 255;
/// The maximum size of all names together: every request reads them with its client and its grant.
const MAX_BYTES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn specified(items: &[&str]) -> ResourceScope {
        ResourceScope::specified(items.iter().copied()).unwrap()
    }

    fn none_left() -> ResourceScope {
        specified(&["a"]).reduced_to(&specified(&["b"]))
    }

    #[test]
    fn lists_are_sorted_and_hold_each_resource_once() {
        let ResourceScope::Specified(list) = specified(&["b/x", "a", "b/x", "B"]) else { panic!() };
        assert_eq!(list.iter().collect::<Vec<_>>(), ["B", "a", "b/x"]);
        assert_eq!((list.len(), list.is_empty()), (3, false));
        assert!(list.contains("b/x") && !list.contains("b") && !list.contains("A"));
    }

    #[test]
    fn lists_keep_their_limits() {
        let longest = "\u{E9}".repeat(127) + "x";
        for (item, expected) in [
            (longest.as_str(), None),
            (&"x".repeat(256), Some(ResourceScopeError::Length)),
            (&"\u{E9}".repeat(128), Some(ResourceScopeError::Length)),
            ("", Some(ResourceScopeError::Length)),
        ] {
            assert_eq!(ResourceScope::specified([item]).err(), expected, "{item:?}");
        }
        for item in ["a\nb", "a\u{7f}", "a\u{85}", "a\u{202e}b", "a\u{200b}b", " a", "a\u{e000}"] {
            let refused = ResourceScope::specified([item]);
            assert!(matches!(refused, Err(ResourceScopeError::Text(_))), "{item:?}");
            // What is stored stays readable.
            assert!(ResourceList::from_record(vec![item]).is_ok(), "{item:?}");
        }
        let numbered = |count: usize| ResourceScope::specified((0..count).map(|number| number.to_string())).err();
        assert_eq!(numbered(0), Some(ResourceScopeError::Empty));
        assert_eq!(numbered(100), None);
        assert_eq!(numbered(101), Some(ResourceScopeError::TooMany));
        assert_eq!(ResourceScope::specified(vec!["same"; 2000]).err(), None);
        let long = |count: usize| ResourceScope::specified((0..count).map(|number| format!("{number:0>255}"))).err();
        assert_eq!(long(16), None);
        assert_eq!(long(17), Some(ResourceScopeError::TooMany));
    }

    #[test]
    fn each_scope_reaches_what_it_says() {
        for (scope, public, private) in [
            (ResourceScope::All, true, true),
            (ResourceScope::Public, true, false),
            (specified(&["r"]), true, true),
            (specified(&["s"]), false, false),
            (none_left(), false, false),
        ] {
            assert!(scope.permits(Resource::Account), "{scope:?}");
            assert_eq!(scope.permits(Resource::Public("r")), public, "{scope:?}");
            assert_eq!(scope.permits(Resource::Private("r")), private, "{scope:?}");
        }
    }

    #[test]
    fn a_scope_covers_what_asks_for_no_more() {
        for (held, asked, expected) in [
            (ResourceScope::All, ResourceScope::All, true),
            (ResourceScope::All, ResourceScope::Public, true),
            (ResourceScope::All, specified(&["a"]), true),
            (ResourceScope::Public, ResourceScope::All, false),
            (ResourceScope::Public, ResourceScope::Public, true),
            (ResourceScope::Public, specified(&["a"]), false),
            (ResourceScope::Public, none_left(), true),
            (specified(&["a"]), ResourceScope::All, false),
            (specified(&["a"]), ResourceScope::Public, false),
            (specified(&["a", "b"]), specified(&["b"]), true),
            (specified(&["b"]), specified(&["a", "b"]), false),
            (specified(&["b"]), none_left(), true),
        ] {
            assert_eq!(held.covers(&asked), expected, "{held:?} {asked:?}");
        }
    }

    #[test]
    fn reducing_leaves_what_both_reach() {
        for (scope, bound, expected) in [
            (ResourceScope::All, ResourceScope::All, ResourceScope::All),
            (ResourceScope::All, ResourceScope::Public, ResourceScope::Public),
            (ResourceScope::All, specified(&["a"]), specified(&["a"])),
            (ResourceScope::Public, ResourceScope::All, ResourceScope::Public),
            (ResourceScope::Public, ResourceScope::Public, ResourceScope::Public),
            (ResourceScope::Public, specified(&["a"]), none_left()),
            (specified(&["a"]), ResourceScope::All, specified(&["a"])),
            (specified(&["a"]), ResourceScope::Public, none_left()),
            (specified(&["a", "b", "c"]), specified(&["b", "c", "d"]), specified(&["b", "c"])),
            (specified(&["b"]), specified(&["a", "b"]), specified(&["b"])),
            (specified(&["a"]), specified(&["b"]), none_left()),
        ] {
            let left = scope.reduced_to(&bound);
            assert_eq!(left, expected, "{scope:?} under {bound:?}");
            assert!(scope.covers(&left) && bound.covers(&left), "{scope:?} under {bound:?}");
        }
    }

    #[test]
    fn each_scope_has_its_word() {
        let scopes = [ResourceScope::All, ResourceScope::Public, none_left()];
        assert_eq!(scopes.map(|scope| scope.as_str()), ["all", "public", "specified"]);
    }
}
