//! A table of records in many shards: by key, by list, by the time from which they may be removed.
//!
//! A shard holds a part of the records under one lock, so that the growth of a shard, or a purge step, blocks few
//! callers. Lock order: rows, then lists.
//!
//! The keys of a table's records by list, and the shards of a table, each with its own lock.

use std::borrow::Borrow;
use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, BinaryHeap};
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::{HashMap, HashSet, HashSetExt};

use crate::base::clock::Timestamp;
use crate::store;
use crate::store::{Insertion, Purge, Record, Replacement};

pub(super) struct Table<R: Record> {
    shards: Box<[Mutex<Shard<R>>]>,
    lists: Lists<R::Key>,
    /// The shard at which the next step of a purge begins.
    next_purged: AtomicUsize,
}

struct Shard<R: Record> {
    rows: HashSet<ByKey<R>>,
    /// Times not later than the records' own `purge_after`; a purge corrects those that are earlier. A row that became
    /// due sooner has two entries, and the later one finds no row.
    due: BinaryHeap<Reverse<(Timestamp, R::Key)>>,
}

/// A record, found by its key. Beside it in a map, the key would take as much again as the pointer, and its padding,
/// for each grant.
struct ByKey<R>(Arc<R>);

impl<R: Record> Borrow<[u8]> for ByKey<R> {
    fn borrow(&self) -> &[u8] {
        self.0.key().as_ref()
    }
}

impl<R: Record> PartialEq for ByKey<R> {
    fn eq(&self, other: &Self) -> bool {
        self.0.key() == other.0.key()
    }
}

impl<R: Record> Eq for ByKey<R> {}

impl<R: Record> Hash for ByKey<R> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // As a slice of bytes is hashed, by which it is found.
        self.0.key().as_ref().hash(state);
    }
}

impl<R: Record> Default for Table<R> {
    fn default() -> Self {
        Self { shards: shards(), lists: Lists::default(), next_purged: AtomicUsize::new(0) }
    }
}

impl<R: Record> Default for Shard<R> {
    fn default() -> Self {
        Self { rows: HashSet::new(), due: BinaryHeap::new() }
    }
}

impl<R: Record> fmt::Debug for Table<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").finish_non_exhaustive()
    }
}

impl<R: Record> Table<R> {
    pub(super) fn find(&self, key: &R::Key) -> Option<Arc<R>> {
        self.shard(key)?.find(key).cloned()
    }

    pub(super) fn insert(&self, record: Arc<R>) -> Insertion {
        let key = record.key();
        let Some(mut shard) = self.shard(key) else { return Insertion::Exists };
        if shard.find(key).is_some() {
            return Insertion::Exists;
        }
        record.lists().iter().for_each(|list| self.lists.insert(list, key.clone()));
        if let Some(purge_after) = record.purge_after() {
            shard.due.push(Reverse((purge_after, key.clone())));
        }
        shard.rows.insert(ByKey(record));
        Insertion::Inserted
    }

    pub(super) fn replace(&self, version: u32, record: Arc<R>) -> Replacement {
        let key = record.key();
        let Some(mut shard) = self.shard(key) else { return Replacement::Lost };
        let Some(row) = shard.find(key).filter(|row| row.version() == version) else { return Replacement::Lost };
        if R::TABLE.lists() == store::Lists::Many {
            row.lists().iter().for_each(|list| self.lists.remove(list, key));
            record.lists().iter().for_each(|list| self.lists.insert(list, key.clone()));
        }
        if let Some(purge_after) = record.purge_after().filter(|_| record.is_due_sooner()) {
            shard.due.push(Reverse((purge_after, key.clone())));
        }
        shard.rows.replace(ByKey(record));
        Replacement::Replaced
    }

    pub(super) fn confirm(&self, record: &R) -> Replacement {
        let is_same = self.find(record.key()).is_some_and(|found| *found == *record);
        if is_same { Replacement::Replaced } else { Replacement::Lost }
    }

    pub(super) fn list(&self, list: &str, after: Option<&R::Key>, limit: usize) -> Vec<Arc<R>> {
        let keys = self.lists.keys(list, after, limit);
        let rows = keys.iter().filter_map(|key| self.find(key));
        let mut records = Vec::with_capacity(keys.len());
        records.extend(rows.filter(|row| row.lists().iter().any(|own| own == list)));
        match keys.last() {
            // Some rows were removed in the meantime, or are on another list with the same hash.
            Some(last) if keys.len() == limit && records.len() < limit => {
                records.extend(self.list(list, Some(last), limit - records.len()));
            }
            Some(_) | None => {}
        }
        records
    }

    pub(super) fn purge(&self, now: Timestamp, limit: usize) -> Purge {
        let first = self.next_purged.load(Ordering::Relaxed);
        let mut removed = 0;
        let mut looked_at = 0;
        for (shard, number) in self.shards.iter().cycle().skip(first).zip(first..first + SHARDS) {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            while let Some(key) = shard.next_due(now) {
                if looked_at == limit {
                    self.next_purged.store(number % SHARDS, Ordering::Relaxed);
                    return Purge::new(removed);
                }
                looked_at += 1;
                shard.due.pop();
                removed += usize::from(self.purge_row(&mut shard, &key, now));
            }
        }
        Purge::new(removed).finished()
    }

    pub(super) fn len(&self) -> usize {
        let count = |shard: &Mutex<Shard<R>>| shard.lock().unwrap_or_else(PoisonError::into_inner).rows.len();
        self.shards.iter().map(count).sum()
    }

    fn purge_row(&self, shard: &mut Shard<R>, key: &R::Key, now: Timestamp) -> bool {
        let Some(row) = shard.find(key) else { return false };
        match row.purge_after() {
            Some(purge_after) if purge_after <= now => {}
            Some(purge_after) => {
                shard.due.push(Reverse((purge_after, key.clone())));
                return false;
            }
            None => return false,
        }
        row.lists().iter().for_each(|list| self.lists.remove(list, key));
        shard.rows.remove(key.as_ref());
        shard.shrink_when_sparse();
        true
    }

    fn shard(&self, key: &R::Key) -> Option<MutexGuard<'_, Shard<R>>> {
        lock(&self.shards, random_part(key.as_ref()))
    }
}

impl<R: Record> Shard<R> {
    fn find(&self, key: &R::Key) -> Option<&Arc<R>> {
        self.rows.get(key.as_ref()).map(|row| &row.0)
    }

    fn next_due(&self, now: Timestamp) -> Option<R::Key> {
        let Reverse((purge_after, key)) = self.due.peek()?;
        (*purge_after <= now).then(|| key.clone())
    }

    fn shrink_when_sparse(&mut self) {
        if let Some(room) = room_when_sparse(self.rows.len(), self.rows.capacity()) {
            self.rows.shrink_to(room);
            self.due.shrink_to(self.due.len() * 2);
        }
    }
}

/// The last bytes of a key, which are random in the ids and digests that the server makes. Short keys share a shard.
fn random_part(key: &[u8]) -> u64 {
    key.last_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

pub(super) struct Lists<K> {
    shards: Box<[Mutex<KeyShard<K>>]>,
    hasher: RandomState,
}

/// The keys of each list. The key of the map is the hash of the list's name, which takes less memory than the name. Two
/// lists may have the same hash, so a reader compares the lists of each record.
type KeyShard<K> = HashMap<u64, Keys<K>>;

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

    fn shard(&self, list: &str) -> Option<(MutexGuard<'_, KeyShard<K>>, u64)> {
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
    use std::borrow::Cow;

    use super::*;
    use crate::base::codec::DecodeError;
    use crate::model::record::Sealed;
    use crate::store::Columns;

    const DUE: Timestamp = Timestamp::from_seconds(1000);
    const NOT_DUE: Timestamp = Timestamp::from_seconds(1001);

    #[derive(Clone, Debug, PartialEq)]
    struct Row {
        key: [u8; 16],
        list: String,
        purge_after: Timestamp,
    }

    impl Row {
        fn new(key: [u8; 16], list: &str, purge_after: Timestamp) -> Arc<Self> {
            Arc::new(Self { key, list: list.to_owned(), purge_after })
        }
    }

    impl Sealed for Row {}

    impl Record for Row {
        type Key = [u8; 16];

        const TABLE: store::Table = store::Table::Grants;

        fn key(&self) -> &[u8; 16] {
            &self.key
        }

        fn version(&self) -> u32 {
            1
        }

        fn set_version(&mut self, _: u32) {
            unreachable!("a table writes what it gets")
        }

        fn lists(&self) -> Vec<Cow<'_, str>> {
            vec![self.list.as_str().into()]
        }

        fn purge_after(&self) -> Option<Timestamp> {
            Some(self.purge_after)
        }

        fn columns(&self) -> Columns {
            unreachable!("a table has no columns")
        }

        fn encode(&self) -> Vec<u8> {
            unreachable!("a table keeps no bytes")
        }

        fn decode(_: &[u8]) -> Result<Self, DecodeError> {
            unreachable!("a table keeps no bytes")
        }
    }

    /// Returns a key of that shard. Keys with different numbers are spread in it as random ones are.
    fn key(shard: u16, number: u32) -> [u8; 16] {
        let mut key = [0; 16];
        key[4..12].copy_from_slice(&(u64::from(number) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
        key[14..].copy_from_slice(&shard.to_be_bytes());
        key
    }

    fn keys(rows: &[Arc<Row>]) -> Vec<[u8; 16]> {
        rows.iter().map(|row| row.key).collect()
    }

    #[test]
    fn a_table_shows_nothing_of_what_is_in_it() {
        let table = Table::default();
        let _ = table.insert(Row::new(key(1, 1), "alice", DUE));
        assert_eq!(format!("{table:?}"), "Table { .. }");
    }

    #[test]
    fn rows_are_spread_over_all_shards_by_the_end_of_their_ids() {
        let (table, alice) = (Table::default(), "alice");
        for number in 0..4096 {
            let _ = table.insert(Row::new(key(number, number.into()), alice, DUE));
        }
        for (number, shard) in table.shards.iter().enumerate() {
            assert_eq!(shard.lock().unwrap().rows.len(), 64, "{number}");
        }
    }

    #[test]
    fn a_page_is_filled_though_rows_have_gone_since_its_keys_were_read() {
        let (table, alice) = (Table::default(), "alice");
        let (gone, first, second) = (key(3, 0), key(1, 1), key(2, 2));
        for key in [first, second] {
            let _ = table.insert(Row::new(key, alice, DUE));
        }
        table.lists.insert(alice, gone);
        // As if the two had the same hash.
        let bobs = key(4, 3);
        let _ = table.insert(Row::new(bobs, "bob", DUE));
        table.lists.insert(alice, bobs);
        let mut all = [gone, first, second];
        all.sort_unstable();
        let found: Vec<_> = all.into_iter().filter(|key| *key != gone).collect();
        for limit in 1..=3 {
            assert_eq!(keys(&table.list(alice, None, limit)), found[..limit.min(2)], "{limit}");
        }
    }

    #[test]
    fn a_purge_goes_on_where_the_last_one_stopped() {
        let (table, alice) = (Table::default(), "alice");
        for shard in [5, 60, 61] {
            let _ = table.insert(Row::new(key(shard, 0), alice, DUE));
        }
        assert_eq!(table.purge(DUE, 1), Purge::new(1));
        let _ = table.insert(Row::new(key(5, 1), alice, DUE));
        assert_eq!(table.purge(DUE, 1), Purge::new(1));
        assert!(table.find(&key(60, 0)).is_none(), "new rows in front do not keep those behind from being removed");
        assert_eq!(table.purge(DUE, 9), Purge::new(2).finished());
    }

    #[test]
    fn a_shard_gives_room_back_once_three_quarters_of_it_stand_empty() {
        let (table, alice) = (Table::default(), "alice");
        for number in 0..1000 {
            let purge_after = if number < 800 { DUE } else { NOT_DUE };
            let _ = table.insert(Row::new(key(7, number), alice, purge_after));
        }
        let room = || {
            let shard = table.shards[7].lock().unwrap();
            (shard.rows.len(), shard.rows.capacity(), shard.due.capacity())
        };
        let full = room();
        assert!(full.1 >= 1000 && full.2 >= 1000, "{full:?}");
        while room().0 > 200 {
            let before = room();
            let _ = table.purge(DUE, 1);
            let after = room();
            assert_eq!(after.0 + 1, before.0);
            assert!(after.1 <= after.0 * 4, "{before:?} {after:?}");
            // A removed row may leave a mark in the map, which counts as one row less of capacity.
            if after.1 < before.1 - 1 {
                // Twice what is left, and what the map rounds that up to.
                assert!(after.0 * 4 < before.1, "memory is released in large steps: {before:?} {after:?}");
                assert!((after.0 * 2..after.0 * 4).contains(&after.1), "{before:?} {after:?}");
                assert!((after.0 * 2..after.0 * 4).contains(&after.2), "{before:?} {after:?}");
            } else {
                assert_eq!(after.2, before.2);
            }
        }
        assert!(room().1 < full.1, "{full:?}");
    }

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
