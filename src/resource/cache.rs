//! A bounded cache by token, which finds, stores and makes room in constant time.

use std::collections::HashMap;
use std::mem;

/// The SHA-256 of a whole token.
pub(super) type TokenDigest = [u8; 32];

/// The bytes that entries take at most, on average.
const BYTES_PER_ENTRY: usize = 1024;

/// Entries in two generations. When the younger one is full it becomes the older one, whose entries are dropped. An
/// entry that is used moves to the younger one, so what is used often stays.
#[derive(Debug)]
pub(super) struct Cache<V> {
    young: Generation<V>,
    old: HashMap<TokenDigest, Entry<V>>,
    /// The bounds of each generation.
    max: usize,
    max_bytes: usize,
}

#[derive(Debug)]
struct Generation<V> {
    entries: HashMap<TokenDigest, Entry<V>>,
    bytes: usize,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    bytes: usize,
}

impl<V> Default for Generation<V> {
    fn default() -> Self {
        Self { entries: HashMap::new(), bytes: 0 }
    }
}

impl<V> Cache<V> {
    /// Creates a cache for so many entries.
    pub(super) fn new(max: usize) -> Self {
        let max = max / 2;
        Self { young: Generation::default(), old: HashMap::new(), max, max_bytes: max.saturating_mul(BYTES_PER_ENTRY) }
    }

    pub(super) fn find(&mut self, token: &TokenDigest) -> Option<&V> {
        if let Some(entry) = self.old.remove(token) {
            self.add(*token, entry);
        }
        self.young.entries.get(token).map(|entry| &entry.value)
    }

    /// Stores an entry whose value has so many bytes on the heap, and makes room for it.
    pub(super) fn keep(&mut self, token: TokenDigest, value: V, bytes: usize) {
        self.remove(&token);
        // A table may have twice the room that it needs.
        let bytes = bytes + 2 * size_of::<(TokenDigest, Entry<V>)>();
        if bytes <= self.max_bytes {
            self.add(token, Entry { value, bytes });
        }
    }

    pub(super) fn remove(&mut self, token: &TokenDigest) {
        self.old.remove(token);
        if let Some(entry) = self.young.entries.remove(token) {
            self.young.bytes -= entry.bytes;
        }
    }

    pub(super) fn clear(&mut self) {
        self.young = Generation::default();
        self.old = HashMap::new();
    }

    /// Adds an entry that is in neither generation.
    fn add(&mut self, token: TokenDigest, entry: Entry<V>) {
        if self.young.entries.len() >= self.max || self.young.bytes + entry.bytes > self.max_bytes {
            self.old = mem::take(&mut self.young).entries;
        }
        self.young.bytes += entry.bytes;
        self.young.entries.insert(token, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u32) -> TokenDigest {
        let mut key = [0; 32];
        key[..4].copy_from_slice(&number.to_be_bytes());
        key
    }

    fn bytes<V>(cache: &Cache<V>) -> usize {
        let all = cache.young.entries.values().chain(cache.old.values()).map(|entry| entry.bytes);
        assert_eq!(cache.young.entries.values().map(|entry| entry.bytes).sum::<usize>(), cache.young.bytes);
        all.sum()
    }

    /// RSC-13
    #[test]
    fn a_million_tokens_stay_within_the_bounds() {
        let mut cache = Cache::new(10_000);
        for number in 0..1_000_000 {
            cache.keep(key(number), number, usize::try_from(number % 2000).unwrap());
            assert!(cache.young.entries.len() + cache.old.len() <= 10_000);
        }
        assert!(bytes(&cache) <= 10_000 * BYTES_PER_ENTRY);
        assert_eq!(cache.find(&key(999_999)), Some(&999_999));
        assert_eq!(cache.find(&key(0)), None);
    }

    /// RSC-13
    #[test]
    fn what_is_used_stays() {
        let mut cache = Cache::new(16);
        cache.keep(key(0), 7, 0);
        for number in 1..1000 {
            cache.keep(key(number), 0, 0);
            if number % 7 == 0 {
                assert_eq!(cache.find(&key(0)), Some(&7), "{number}");
            }
        }
        bytes(&cache);
    }

    /// RSC-13
    #[test]
    fn a_value_is_replaced_and_removed_in_both_generations() {
        let mut cache = Cache::new(4);
        for number in 0..3 {
            cache.keep(key(number), 1, 100);
        }
        assert_eq!((cache.young.entries.len(), cache.old.len()), (1, 2));
        cache.keep(key(0), 2, 0);
        cache.keep(key(0), 3, 0);
        assert_eq!(cache.find(&key(0)), Some(&3));
        cache.remove(&key(0));
        cache.remove(&key(1));
        assert_eq!([0, 1, 2].map(|number| cache.find(&key(number)).copied()), [None, None, Some(1)]);
        bytes(&cache);
        cache.clear();
        assert_eq!((cache.find(&key(2)).copied(), bytes(&cache)), (None, 0));
    }

    /// RSC-13
    #[test]
    fn one_value_cannot_take_all_the_room() {
        let mut cache = Cache::new(16);
        cache.keep(key(0), 1, 0);
        cache.keep(key(1), 1, 8 * BYTES_PER_ENTRY);
        assert_eq!([0, 1].map(|number| cache.find(&key(number)).copied()), [Some(1), None]);
    }
}
