//! The keys of a table's records by list, and the shards of a table, each with its own lock.

use std::collections::BTreeSet;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, RandomState};
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;

pub(super) struct Lists<K> {
    shards: Box<[Mutex<Shard<K>>]>,
    hasher: RandomState,
}

/// The keys of each list. The key of the map is the hash of the list's name, which takes less memory than the name. Two
/// lists may have the same hash, so a reader compares the lists of each record.
type Shard<K> = HashMap<u64, Keys<K>>;

/// Most lists have one key, which is stored in the map itself.
enum Keys<K> {
    One(K),
    Many(BTreeSet<K>),
}

impl<K> Default for Lists<K> {
    fn default() -> Self {
        Self { shards: shards(), hasher: RandomState::new() }
    }
}

impl<K: Clone + Ord> Lists<K> {
    pub(super) fn insert(&self, list: &str, key: K) {
        let Some((mut shard, hash)) = self.shard(list) else { return };
        match shard.entry(hash) {
            Entry::Vacant(vacant) => _ = vacant.insert(Keys::One(key)),
            Entry::Occupied(mut keys) => keys.get_mut().insert(key),
        }
    }

    pub(super) fn remove(&self, list: &str, key: &K) {
        let Some((mut shard, hash)) = self.shard(list) else { return };
        let Some(keys) = shard.get_mut(&hash) else { return };
        if keys.remove(key) {
            shard.remove(&hash);
            if let Some(room) = room_when_sparse(shard.len(), shard.capacity()) {
                shard.shrink_to(room);
            }
        }
    }

    /// Returns the first keys after that one, in order. Some may be of another list with the same hash.
    pub(super) fn keys(&self, list: &str, after: Option<&K>, limit: usize) -> Vec<K> {
        let Some((shard, hash)) = self.shard(list) else { return Vec::new() };
        match shard.get(&hash) {
            None => Vec::new(),
            Some(Keys::One(key)) => [key].into_iter().filter(|key| after < Some(key)).take(limit).cloned().collect(),
            Some(Keys::Many(keys)) => {
                let start = after.map_or(Bound::Unbounded, Bound::Excluded);
                keys.range((start, Bound::Unbounded)).take(limit).cloned().collect()
            }
        }
    }

    fn shard(&self, list: &str) -> Option<(MutexGuard<'_, Shard<K>>, u64)> {
        let hash = self.hasher.hash_one(list);
        Some((lock(&self.shards, hash)?, hash))
    }
}

impl<K: Clone + Ord> Keys<K> {
    fn insert(&mut self, key: K) {
        match self {
            Self::One(only) if *only == key => {}
            Self::One(only) => *self = Self::Many(BTreeSet::from([only.clone(), key])),
            Self::Many(keys) => _ = keys.insert(key),
        }
    }

    /// Removes the key if it is there. Returns whether none is left.
    fn remove(&mut self, key: &K) -> bool {
        match self {
            Self::One(only) => only == key,
            Self::Many(keys) => {
                keys.remove(key);
                keys.is_empty()
            }
        }
    }
}

/// So many that threads rarely wait for each other.
pub(super) const SHARDS: usize = 64;

/// Creates all shards, empty.
pub(super) fn shards<T: Default>() -> Box<[Mutex<T>]> {
    (0..SHARDS).map(|_| Mutex::default()).collect()
}

/// Locks the shard that the low bits of a hash select.
pub(super) fn lock<T>(shards: &[Mutex<T>], hash: u64) -> Option<MutexGuard<'_, T>> {
    let shards_in_hash = u64::try_from(SHARDS).ok()?;
    let number = usize::try_from(hash % shards_in_hash).ok()?;
    Some(shards.get(number)?.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Returns the room to which a map shrinks once three quarters of it are unused.
pub(super) fn room_when_sparse(len: usize, capacity: usize) -> Option<usize> {
    (len * 4 < capacity).then_some(len * 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u8) -> [u8; 16] {
        [number; 16]
    }

    #[test]
    fn ids_come_in_order_and_in_pages() {
        let (lists, alice) = (Lists::<[u8; 16]>::default(), "alice");
        for number in [3, 1, 2, 3] {
            lists.insert(alice, id(number));
        }
        let all = [id(1), id(2), id(3)];
        for limit in 0..=4 {
            assert_eq!(lists.keys(alice, None, limit), all[..limit.min(3)], "{limit}");
            for after in 0..=4_u8 {
                let rest = &all[usize::from(after).min(3)..];
                let found = lists.keys(alice, Some(&id(after)), limit);
                assert_eq!(found, rest[..limit.min(rest.len())], "after {after} {limit}");
            }
        }
    }

    #[test]
    fn the_lowest_and_the_highest_id_are_found() {
        let (lists, alice) = (Lists::<[u8; 16]>::default(), "alice");
        for number in [0, u8::MAX] {
            lists.insert(alice, id(number));
        }
        assert_eq!(lists.keys(alice, None, 9), [id(0), id(u8::MAX)]);
        assert_eq!(lists.keys(alice, Some(&id(0)), 9), [id(u8::MAX)]);
        assert!(lists.keys(alice, Some(&id(u8::MAX)), 9).is_empty());
    }

    #[test]
    fn lists_of_one_shard_are_distinguished() {
        let lists = Lists::<[u8; 16]>::default();
        let all: Vec<_> = (0..20_000).map(|number: u32| number.to_string()).collect();
        for (list, number) in all.iter().zip((0..=u8::MAX).cycle()) {
            lists.insert(list, id(number));
        }
        for (list, number) in all.iter().zip((0..=u8::MAX).cycle()) {
            assert_eq!(lists.keys(list, None, 9), [id(number)]);
        }
    }

    #[test]
    fn what_was_removed_is_gone_and_nothing_else() {
        let (lists, alice) = (Lists::<[u8; 16]>::default(), "alice");
        lists.remove(alice, &id(1));
        lists.insert(alice, id(2));
        lists.remove(alice, &id(1));
        lists.remove("bob", &id(2));
        assert_eq!(lists.keys(alice, None, 9), [id(2)]);
        lists.insert(alice, id(1));
        lists.remove(alice, &id(2));
        assert_eq!(lists.keys(alice, None, 9), [id(1)]);
        lists.remove(alice, &id(1));
        assert!(lists.keys(alice, None, 9).is_empty());
        assert!(lists.shards.iter().all(|shard| shard.lock().unwrap().is_empty()));
    }
}
