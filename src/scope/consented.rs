//! The resources of one consent, as its records store them.

use std::borrow::Cow;
use std::sync::Arc;

use crate::scope::resource::{ListDigest, MAX_RESOURCES, Resource, ResourceList, ResourceScope};

/// The maximum size of a list that is kept in the record: the bytes of its names, each with its length in 4 bytes. A
/// code takes at most 3 KiB: beside a redirect URI of 2048 bytes and all scopes of the platform, 256 bytes are left for
/// a list.
const SHORT_LIST_BYTES: usize = 256;

/// The resources that a user granted access to. A long list is stored once, in the row of its client, and records refer
/// to a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConsentedResources {
    /// All resources, the public ones, or a list of at most [`SHORT_LIST_BYTES`].
    InRecord(ResourceScope),
    /// A part of a longer list.
    PartOf(Arc<ListPart>),
}

/// Some resources of one list: a bit for each, in the order of the list, the lowest bit of a byte first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListPart {
    pub(crate) list: ListDigest,
    pub(crate) bits: Box<[u8]>,
}

impl ConsentedResources {
    /// No named resource.
    pub(crate) fn none() -> Self {
        Self::InRecord(ResourceScope::none())
    }

    /// Refers to the whole scope that a client is registered for.
    pub(crate) fn whole(registered: &ResourceScope) -> Self {
        match registered {
            ResourceScope::Specified(list) if !list.is_short() => Self::part_of(list, list),
            ResourceScope::All | ResourceScope::Public | ResourceScope::Specified(_) => {
                Self::InRecord(registered.clone())
            }
        }
    }

    /// Creates a reference to a scope; `None` if its list is long and none of `lists` contains all of it.
    pub(crate) fn new<'l>(scope: ResourceScope, mut lists: impl Iterator<Item = &'l ResourceList>) -> Option<Self> {
        match &scope {
            ResourceScope::Specified(chosen) if !chosen.is_short() => {
                let list = lists.find(|list| list.has_all_of(chosen))?;
                Some(Self::part_of(list, chosen))
            }
            ResourceScope::All | ResourceScope::Public | ResourceScope::Specified(_) => Some(Self::InRecord(scope)),
        }
    }

    fn part_of(list: &ResourceList, chosen: &ResourceList) -> Self {
        Self::PartOf(Arc::new(ListPart::new(list, chosen)))
    }

    /// Returns the digest of the list that is needed to read the consent; `None` if the record contains it in full.
    pub(crate) fn list(&self) -> Option<&ListDigest> {
        match self {
            Self::InRecord(_) => None,
            Self::PartOf(part) => Some(&part.list),
        }
    }

    /// Returns the scope, given the list that [`list`](Self::list) names. Without the list, the scope has no named
    /// resource.
    pub(crate) fn scope(&self, list: Option<&ResourceList>) -> Cow<'_, ResourceScope> {
        match (self, list) {
            (Self::InRecord(scope), _) => Cow::Borrowed(scope),
            (Self::PartOf(part), Some(list)) => Cow::Owned(ResourceScope::Specified(part.of(list))),
            (Self::PartOf(_), None) => Cow::Owned(ResourceScope::none()),
        }
    }

    /// Returns whether the scope reaches `resource`, given the list that [`list`](Self::list) names.
    pub(crate) fn permits(&self, list: Option<&ResourceList>, resource: Resource<'_>) -> bool {
        match (self, resource) {
            (Self::InRecord(scope), resource) => scope.permits(resource),
            (Self::PartOf(_), Resource::Account) => true,
            (Self::PartOf(part), Resource::Public(name) | Resource::Private(name)) => {
                list.and_then(|list| list.place(name)).is_some_and(|place| part.has(place))
            }
        }
    }
}

impl ListPart {
    /// The number of bytes that the bits of the longest list take.
    pub(crate) const MAX_BYTES: usize = MAX_RESOURCES.div_ceil(8);

    fn new(list: &ResourceList, chosen: &ResourceList) -> Self {
        let mut bits = vec![0_u8; list.len().div_ceil(8)];
        let mut chosen = chosen.iter().peekable();
        for (place, name) in list.iter().enumerate() {
            if chosen.next_if_eq(&name).is_some()
                && let Some(byte) = bits.get_mut(place / 8)
            {
                *byte |= 1 << (place % 8);
            }
        }
        Self { list: *list.digest(), bits: bits.into() }
    }

    fn has(&self, place: usize) -> bool {
        self.bits.get(place / 8).is_some_and(|byte| byte >> (place % 8) & 1 == 1)
    }

    fn of(&self, list: &ResourceList) -> ResourceList {
        if (0..list.len()).all(|place| self.has(place)) {
            return list.clone();
        }
        let chosen = list.iter().enumerate().filter(|(place, _)| self.has(*place));
        ResourceList::from_sorted(chosen.map(|(_, name)| name.into()).collect())
    }
}

impl ResourceList {
    /// Returns whether a record contains the list in full.
    pub(crate) fn is_short(&self) -> bool {
        self.stored_bytes() <= SHORT_LIST_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a list of names of four characters, which take 8 bytes each.
    fn list(numbers: impl IntoIterator<Item = usize>) -> ResourceList {
        let names = numbers.into_iter().map(|number| format!("{number:04}"));
        let ResourceScope::Specified(list) = ResourceScope::specified(names).unwrap() else { panic!() };
        list
    }

    fn scope(list: &ResourceList) -> ResourceScope {
        ResourceScope::Specified(list.clone())
    }

    #[test]
    fn a_list_is_referred_to_from_257_bytes_on() {
        let (short, long) = (list(0..32), list(0..33));
        assert_eq!((short.stored_bytes(), long.stored_bytes()), (256, 264));
        for scope in [ResourceScope::All, ResourceScope::Public, ResourceScope::none(), scope(&short)] {
            assert_eq!(ConsentedResources::whole(&scope), ConsentedResources::InRecord(scope.clone()));
            assert_eq!(ConsentedResources::new(scope.clone(), [].iter()), Some(ConsentedResources::InRecord(scope)));
        }
        let whole = ConsentedResources::whole(&scope(&long));
        assert_eq!(whole.list(), Some(long.digest()));
        assert_eq!(ConsentedResources::new(scope(&long), [].iter()), None);
        assert_eq!(ConsentedResources::new(scope(&long), [short, long].iter()), Some(whole));
    }

    #[test]
    fn a_part_reaches_the_chosen_resources_of_its_list_alone() {
        let all = list(0..100);
        for chosen in
            [list(0..100), list(0..99), list((0..100).step_by(2)), list(50..83), list([99].into_iter().chain(0..40))]
        {
            let kept = ConsentedResources::new(scope(&chosen), [all.clone()].iter()).unwrap();
            assert!(kept.list().is_some());
            assert_eq!(*kept.scope(Some(&all)), scope(&chosen));
            for number in 0..101 {
                let name = format!("{number:04}");
                for resource in [Resource::Public(&name), Resource::Private(&name)] {
                    assert_eq!(kept.permits(Some(&all), resource), chosen.contains(&name), "{name}");
                    assert!(!kept.permits(None, resource));
                }
            }
            assert!(kept.permits(Some(&all), Resource::Account) && kept.permits(None, Resource::Account));
            assert_eq!(*kept.scope(None), ResourceScope::none());
        }
    }

    /// Bytes in a database that no server wrote.
    #[test]
    fn bits_beyond_the_list_reach_nothing() {
        let all = list(0..33);
        let with = |bits: &[u8]| {
            let part = ListPart { list: *all.digest(), bits: bits.into() };
            ConsentedResources::PartOf(Arc::new(part)).scope(Some(&all)).into_owned()
        };
        assert_eq!(with(&[]), ResourceScope::none());
        assert_eq!(with(&[2]), scope(&list([1])));
        assert_eq!(with(&[0xff; 125]), scope(&all));
        assert_eq!(with(&[0, 0, 0, 0, 0xff]), scope(&list([32])));
    }

    #[test]
    fn a_list_is_identified_by_its_names_and_their_lengths() {
        let of = |names: &[&str]| {
            let ResourceScope::Specified(list) = ResourceScope::specified(names.iter().copied()).unwrap() else {
                panic!()
            };
            *list.digest()
        };
        assert_eq!(of(&["a", "b"]), of(&["b", "a", "a"]));
        for other in [&["ab"][..], &["a"], &["a", "b", "c"], &["a", "bc"]] {
            assert_ne!(of(&["a", "b"]), of(other), "{other:?}");
        }
    }
}
