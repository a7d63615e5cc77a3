//! The ids of a table's records by subject.
//!
//! Most subjects have one record of a kind, whose id lies in the index itself; some have a few, in a block of
//! their size; those with more have a tree, so that a page of a list costs what it returns.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard};

use crate::store::memory::shards::{lock, shards};
use crate::subject::Subject;

type Id = [u8; 16];

pub(super) struct Subjects {
    shards: Box<[Mutex<Shard>]>,
    hasher: RandomState,
}

/// Keyed by the half of a subject's hash that did not choose the shard, so that an entry is small. Subjects
/// that share it share an entry: the records tell whose they are.
type Shard = HashMap<u32, Ids, BuildHasherDefault<HalfHasher>>;

#[expect(clippy::box_collection, reason = "the rare case must not make the entries of all larger")]
enum Ids {
    One(Id),
    /// In their order.
    Few(Box<[Id]>),
    Many(Box<BTreeSet<Id>>),
}

/// The most ids that are copied to add one to them.
const FEW: usize = 8;

impl Default for Subjects {
    fn default() -> Self {
        Self { shards: shards(), hasher: RandomState::new() }
    }
}

impl Subjects {
    pub(super) fn insert(&self, subject: &Subject, id: Id) {
        if let Some((mut shard, half)) = self.shard(subject) {
            shard.entry(half).and_modify(|ids| ids.insert(id)).or_insert(Ids::One(id));
        }
    }

    pub(super) fn remove(&self, subject: &Subject, id: &Id) {
        let Some((mut shard, half)) = self.shard(subject) else { return };
        if shard.get_mut(&half).is_some_and(|ids| ids.removed_last(id)) {
            shard.remove(&half);
            // Room is given back once three quarters of it stand empty.
            if shard.len() * 4 < shard.capacity() {
                let room = shard.len() * 2;
                shard.shrink_to(room);
            }
        }
    }

    /// The first ids after that one, in their order; some may be of another subject with the same hash.
    pub(super) fn ids(&self, subject: &Subject, after: Option<&Id>, limit: usize) -> Vec<Id> {
        let Some((shard, half)) = self.shard(subject) else { return Vec::new() };
        let is_behind = |id: &&Id| after.is_none_or(|after| after < *id);
        match shard.get(&half) {
            None => Vec::new(),
            Some(Ids::One(id)) => [id].into_iter().filter(is_behind).take(limit).copied().collect(),
            Some(Ids::Few(ids)) => ids.iter().filter(is_behind).take(limit).copied().collect(),
            Some(Ids::Many(ids)) => {
                let start = after.map_or(Bound::Unbounded, |after| Bound::Excluded(*after));
                ids.range((start, Bound::Unbounded)).take(limit).copied().collect()
            }
        }
    }

    fn shard(&self, subject: &Subject) -> Option<(MutexGuard<'_, Shard>, u32)> {
        let hash = self.hasher.hash_one(subject);
        Some((lock(&self.shards, hash)?, upper_half(hash)))
    }
}

impl Ids {
    fn insert(&mut self, id: Id) {
        match self {
            Self::One(one) if *one == id => {}
            Self::One(one) => *self = Self::Few(Box::new([id.min(*one), id.max(*one)])),
            Self::Few(ids) => match ids.binary_search(&id) {
                Ok(_) => {}
                Err(place) if ids.len() < FEW => {
                    let (before, after) = ids.split_at_checked(place).unwrap_or((ids, &[]));
                    *ids = before.iter().chain([&id]).chain(after).copied().collect();
                }
                Err(_) => *self = Self::Many(Box::new(ids.iter().copied().chain([id]).collect())),
            },
            Self::Many(ids) => {
                ids.insert(id);
            }
        }
    }

    /// Removes the id and tells whether it was the last; then the entry goes.
    fn removed_last(&mut self, id: &Id) -> bool {
        match self {
            Self::One(one) => return one == id,
            Self::Few(ids) if ids.contains(id) => {
                let rest: Box<[Id]> = ids.iter().filter(|own| *own != id).copied().collect();
                *self = if let [one] = *rest { Self::One(one) } else { Self::Few(rest) };
            }
            Self::Few(_) => {}
            Self::Many(ids) => {
                ids.remove(id);
                // Not as soon as they are few: one that comes and goes is not to make and drop a tree.
                if ids.len() <= FEW / 2 {
                    *self = Self::Few(ids.iter().copied().collect());
                }
            }
        }
        false
    }
}

fn upper_half(hash: u64) -> u32 {
    u32::try_from(hash >> 32).unwrap_or_default()
}

/// Half a hash is a hash. It stands in both halves, since a map takes the place from the low bits and tells
/// entries apart by the high ones.
#[derive(Default)]
struct HalfHasher(u64);

impl Hasher for HalfHasher {
    fn write(&mut self, octets: &[u8]) {
        if let Some(octets) = octets.first_chunk() {
            let half = u64::from(u32::from_ne_bytes(*octets));
            self.0 = half << 32 | half;
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(name: impl Into<String>) -> Subject {
        Subject::new(name.into()).unwrap()
    }

    fn id(number: u8) -> Id {
        [number; 16]
    }

    #[test]
    fn subjects_that_share_a_shard_are_told_apart_by_the_other_half_of_their_hash() {
        let hasher = RandomState::new();
        let halves: BTreeSet<_> =
            (0..4096).map(|number| upper_half(hasher.hash_one(subject(number.to_string())))).collect();
        // One collision among them is as rare as one in five hundred; more do not happen.
        assert!(halves.len() > 4090, "{}", halves.len());
    }

    #[test]
    fn half_a_hash_is_spread_at_both_ends() {
        let random = RandomState::new();
        let halves: BTreeSet<_> = (0..4096).map(|number: u32| upper_half(random.hash_one(number))).collect();
        let hasher = BuildHasherDefault::<HalfHasher>::default();
        for bits in [0..10, 57..64] {
            let places: BTreeSet<_> =
                halves.iter().map(|half| (hasher.hash_one(half) >> bits.start) % (1 << bits.len())).collect();
            assert!(places.len() > (1 << bits.len()) * 9 / 10, "{bits:?}: {}", places.len());
        }
    }

    #[test]
    fn ids_come_in_order_and_in_pages_however_many_there_are() {
        let (subjects, alice) = (Subjects::default(), subject("alice"));
        // Through all kinds of an entry, and back.
        for count in (0..=12_u8).chain((0..12).rev()) {
            let all: Vec<Id> = (1..=count).map(id).collect();
            for number in 1..=13 {
                // Each twice, and those in the middle last: neither changes anything.
                let number = id(number * 5 % 14);
                for _ in 0..2 {
                    if all.contains(&number) {
                        subjects.insert(&alice, number);
                    } else {
                        subjects.remove(&alice, &number);
                    }
                }
            }
            for limit in 0..=13 {
                assert_eq!(subjects.ids(&alice, None, limit), all[..limit.min(all.len())], "{count} {limit}");
                for after in 0..=13_u8 {
                    let rest = &all[usize::from(after).min(all.len())..];
                    let found = subjects.ids(&alice, Some(&id(after)), limit);
                    assert_eq!(found, rest[..limit.min(rest.len())], "{count} after {after} {limit}");
                }
            }
        }
    }

    #[test]
    fn what_was_removed_is_gone_and_nothing_else() {
        let (subjects, alice) = (Subjects::default(), subject("alice"));
        subjects.remove(&alice, &id(1));
        subjects.insert(&alice, id(2));
        subjects.remove(&alice, &id(1));
        assert_eq!(subjects.ids(&alice, None, 9), [id(2)]);
        subjects.insert(&alice, id(2));
        subjects.insert(&alice, id(1));
        subjects.remove(&alice, &id(3));
        assert_eq!(subjects.ids(&alice, None, 9), [id(1), id(2)]);
        subjects.remove(&alice, &id(1));
        assert_eq!(subjects.ids(&alice, None, 9), [id(2)]);
        subjects.remove(&alice, &id(2));
        assert!(subjects.ids(&alice, None, 9).is_empty());
        assert!(subjects.shards.iter().all(|shard| shard.lock().unwrap().is_empty()));
    }

    #[test]
    fn room_is_given_back_when_subjects_go() {
        let subjects = Subjects::default();
        let room = || subjects.shards.iter().map(|shard| shard.lock().unwrap().capacity()).sum::<usize>();
        let all: Vec<_> = (0..20_000).map(|number: u32| subject(number.to_string())).collect();
        for subject in &all {
            subjects.insert(subject, id(1));
        }
        let full = room();
        assert!(full >= all.len());
        for subject in &all {
            subjects.remove(subject, &id(1));
        }
        assert_eq!(room(), 0);
    }
}
