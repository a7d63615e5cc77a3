//! A bounded map, which finds, stores and makes room in constant time.

use std::collections::HashMap;
use std::hash::Hash;
use std::mem;

/// Entries in two generations. When the younger one is full it becomes the older one, whose entries are dropped. An
/// entry that is used moves to the younger one, so what is used often stays.
#[derive(Debug)]
pub(crate) struct Generations<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    /// The heap bytes of the younger generation.
    bytes: usize,
    /// The bounds of each generation.
    max: usize,
    max_bytes: usize,
}

/// What a value takes on the heap.
pub(crate) trait OnHeap {
    fn bytes_on_heap(&self) -> usize {
        0
    }
}

impl<K: Eq + Hash, V: OnHeap> Generations<K, V> {
    /// Creates a map for at most `max` entries. The sum of their sizes is at most `max` × `bytes_per_entry`.
    pub(crate) fn new(max: usize, bytes_per_entry: usize) -> Self {
        let max = max / 2;
        let max_bytes = max.saturating_mul(bytes_per_entry);
        Self { young: HashMap::new(), old: HashMap::new(), bytes: 0, max, max_bytes }
    }

    pub(crate) fn find(&mut self, key: &K) -> Option<&V> {
        if let Some((key, value)) = self.old.remove_entry(key) {
            self.add(key, value);
        }
        self.young.get(key)
    }

    /// Stores an entry, and makes room for it. One that is too large for the map is not stored.
    pub(crate) fn keep(&mut self, key: K, value: V) {
        self.remove(&key);
        if Self::bytes_of(&value) <= self.max_bytes {
            self.add(key, value);
        }
    }

    pub(crate) fn remove(&mut self, key: &K) {
        self.old.remove(key);
        if let Some(value) = self.young.remove(key) {
            self.bytes -= Self::bytes_of(&value);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.young = HashMap::new();
        self.old = HashMap::new();
        self.bytes = 0;
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// Adds an entry that is in neither generation.
    fn add(&mut self, key: K, value: V) {
        let bytes = Self::bytes_of(&value);
        if self.young.len() >= self.max || self.bytes + bytes > self.max_bytes {
            self.old = mem::take(&mut self.young);
            self.bytes = 0;
        }
        self.bytes += bytes;
        self.young.insert(key, value);
    }

    /// A table may have twice the room that it needs.
    fn bytes_of(value: &V) -> usize {
        value.bytes_on_heap() + 2 * size_of::<(K, V)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES_PER_ENTRY: usize = 1024;

    /// A number, and the bytes that it takes beside.
    #[derive(Debug, PartialEq)]
    struct Value(u32, usize);

    impl OnHeap for Value {
        fn bytes_on_heap(&self) -> usize {
            self.1
        }
    }

    fn new(max: usize) -> Generations<[u8; 32], Value> {
        Generations::new(max, BYTES_PER_ENTRY)
    }

    fn key(number: u32) -> [u8; 32] {
        let mut key = [0; 32];
        key[..4].copy_from_slice(&number.to_be_bytes());
        key
    }

    fn found(map: &mut Generations<[u8; 32], Value>, number: u32) -> Option<u32> {
        map.find(&key(number)).map(|value| value.0)
    }

    fn bytes(map: &Generations<[u8; 32], Value>) -> usize {
        let of =
            |entries: &HashMap<_, _>| entries.values().map(Generations::<[u8; 32], Value>::bytes_of).sum::<usize>();
        assert_eq!(of(&map.young), map.bytes);
        of(&map.young) + of(&map.old)
    }

    /// RSC-13
    #[test]
    fn a_million_tokens_stay_within_the_bounds() {
        let mut map = new(10_000);
        for number in 0..1_000_000 {
            map.keep(key(number), Value(number, usize::try_from(number % 2000).unwrap()));
            assert!(map.young.len() + map.old.len() <= 10_000);
        }
        assert!(bytes(&map) <= 10_000 * BYTES_PER_ENTRY);
        assert_eq!(found(&mut map, 999_999), Some(999_999));
        assert_eq!(found(&mut map, 0), None);
    }

    /// RSC-13
    #[test]
    fn what_is_used_stays() {
        let mut map = new(16);
        map.keep(key(0), Value(7, 0));
        for number in 1..1000 {
            map.keep(key(number), Value(0, 0));
            if number % 7 == 0 {
                assert_eq!(found(&mut map, 0), Some(7), "{number}");
            }
        }
        bytes(&map);
    }

    /// RSC-13
    #[test]
    fn a_value_is_replaced_and_removed_in_both_generations() {
        let mut map = new(4);
        for number in 0..3 {
            map.keep(key(number), Value(1, 100));
        }
        assert_eq!((map.young.len(), map.old.len()), (1, 2));
        map.keep(key(0), Value(2, 0));
        map.keep(key(0), Value(3, 0));
        assert_eq!(found(&mut map, 0), Some(3));
        map.remove(&key(0));
        map.remove(&key(1));
        assert_eq!([0, 1, 2].map(|number| found(&mut map, number)), [None, None, Some(1)]);
        bytes(&map);
        map.clear();
        assert_eq!((found(&mut map, 2), bytes(&map)), (None, 0));
    }

    /// RSC-13
    #[test]
    fn one_value_cannot_take_all_the_room() {
        let mut map = new(16);
        map.keep(key(0), Value(1, 0));
        map.keep(key(1), Value(1, 8 * BYTES_PER_ENTRY));
        assert_eq!([0, 1].map(|number| found(&mut map, number)), [Some(1), None]);
    }
}
