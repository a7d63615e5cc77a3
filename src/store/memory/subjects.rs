//! The ids of a table's records by subject.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard};

use crate::model::subject::Subject;
use crate::store::memory::shards::{lock, shards};

pub(super) struct Subjects<K> {
    shards: Box<[Mutex<Shard<K>>]>,
    hasher: RandomState,
}

/// Ids by the hash of their subject, which takes less memory than its text. Subjects may have the same hash: the
/// records contain the subject itself. In a search, `None` sorts before every id.
type Shard<K> = BTreeSet<(u64, Option<K>)>;

impl<K> Default for Subjects<K> {
    fn default() -> Self {
        Self { shards: shards(), hasher: RandomState::new() }
    }
}

impl<K: Clone + Ord> Subjects<K> {
    pub(super) fn insert(&self, subject: &Subject, id: K) {
        if let Some((mut shard, hash)) = self.shard(subject) {
            shard.insert((hash, Some(id)));
        }
    }

    pub(super) fn remove(&self, subject: &Subject, id: &K) {
        if let Some((mut shard, hash)) = self.shard(subject) {
            shard.remove(&(hash, Some(id.clone())));
        }
    }

    /// Returns the first ids after that one, in order. Some may be of another subject with the same hash.
    pub(super) fn ids(&self, subject: &Subject, after: Option<&K>, limit: usize) -> Vec<K> {
        let Some((shard, hash)) = self.shard(subject) else { return Vec::new() };
        let start = Bound::Excluded((hash, after.cloned()));
        let of_subject = shard.range((start, Bound::Unbounded)).take_while(|(of, _)| *of == hash);
        of_subject.filter_map(|(_, id)| id.clone()).take(limit).collect()
    }

    fn shard(&self, subject: &Subject) -> Option<(MutexGuard<'_, Shard<K>>, u64)> {
        let hash = self.hasher.hash_one(subject);
        Some((lock(&self.shards, hash)?, hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(name: impl Into<String>) -> Subject {
        Subject::new(name.into()).unwrap()
    }

    fn id(number: u8) -> [u8; 16] {
        [number; 16]
    }

    #[test]
    fn ids_come_in_order_and_in_pages() {
        let (subjects, alice) = (Subjects::<[u8; 16]>::default(), subject("alice"));
        for number in [3, 1, 2, 3] {
            subjects.insert(&alice, id(number));
        }
        let all = [id(1), id(2), id(3)];
        for limit in 0..=4 {
            assert_eq!(subjects.ids(&alice, None, limit), all[..limit.min(3)], "{limit}");
            for after in 0..=4_u8 {
                let rest = &all[usize::from(after).min(3)..];
                let found = subjects.ids(&alice, Some(&id(after)), limit);
                assert_eq!(found, rest[..limit.min(rest.len())], "after {after} {limit}");
            }
        }
    }

    #[test]
    fn the_lowest_and_the_highest_id_are_found() {
        let (subjects, alice) = (Subjects::<[u8; 16]>::default(), subject("alice"));
        for number in [0, u8::MAX] {
            subjects.insert(&alice, id(number));
        }
        assert_eq!(subjects.ids(&alice, None, 9), [id(0), id(u8::MAX)]);
        assert_eq!(subjects.ids(&alice, Some(&id(0)), 9), [id(u8::MAX)]);
        assert!(subjects.ids(&alice, Some(&id(u8::MAX)), 9).is_empty());
    }

    #[test]
    fn subjects_of_one_shard_are_distinguished() {
        let subjects = Subjects::<[u8; 16]>::default();
        let all: Vec<_> = (0..20_000).map(|number: u32| subject(number.to_string())).collect();
        for (subject, number) in all.iter().zip((0..=u8::MAX).cycle()) {
            subjects.insert(subject, id(number));
        }
        for (subject, number) in all.iter().zip((0..=u8::MAX).cycle()) {
            assert_eq!(subjects.ids(subject, None, 9), [id(number)]);
        }
    }

    #[test]
    fn what_was_removed_is_gone_and_nothing_else() {
        let (subjects, alice) = (Subjects::<[u8; 16]>::default(), subject("alice"));
        subjects.remove(&alice, &id(1));
        subjects.insert(&alice, id(2));
        subjects.remove(&alice, &id(1));
        subjects.remove(&subject("bob"), &id(2));
        assert_eq!(subjects.ids(&alice, None, 9), [id(2)]);
        subjects.insert(&alice, id(1));
        subjects.remove(&alice, &id(2));
        assert_eq!(subjects.ids(&alice, None, 9), [id(1)]);
        subjects.remove(&alice, &id(1));
        assert!(subjects.ids(&alice, None, 9).is_empty());
        assert!(subjects.shards.iter().all(|shard| shard.lock().unwrap().is_empty()));
    }
}
