//! A bounded cache with text keys and expiring entries. It holds fetched documents and key sets, and the clients whose
//! refused introspections were reported.

use std::collections::HashMap;

use crate::base::clock::Timestamp;

/// How many documents are cached, how many key sets of reviewed and of unreviewed clients, and how many clients that
/// asked about the tokens of others.
pub(crate) const MAX_CACHED: usize = 1000;

/// Drops the least recently used entry when it is full.
#[derive(Debug)]
pub(crate) struct Cache<V> {
    max: usize,
    entries: HashMap<Box<str>, Entry<V>>,
    uses: u64,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    since: Timestamp,
    until: Timestamp,
    /// The number of its last use.
    used: u64,
}

impl<V: Clone> Cache<V> {
    pub(crate) fn new(max: usize) -> Self {
        Self { max, entries: HashMap::new(), uses: 0 }
    }

    /// Returns the entry, unless it has expired. Setting the clock back does not make an entry valid for longer.
    pub(crate) fn find(&mut self, key: &str, now: Timestamp) -> Option<V> {
        let entry = self.entries.get_mut(key)?;
        if now < entry.since || now >= entry.until {
            self.entries.remove(key);
            return None;
        }
        self.uses += 1;
        entry.used = self.uses;
        Some(entry.value.clone())
    }

    /// Stores an entry. The least recently used one is found by a search of all, which is short beside a fetch.
    pub(crate) fn keep(&mut self, key: &str, value: V, since: Timestamp, until: Timestamp) {
        if self.entries.len() >= self.max && !self.entries.contains_key(key) {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
            oldest.and_then(|oldest| self.entries.remove(&oldest));
        }
        self.uses += 1;
        self.entries.insert(key.into(), Entry { value, since, until, used: self.uses });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(u32) -> Timestamp = Timestamp::from_seconds;

    #[test]
    fn what_was_used_least_recently_leaves_first() {
        let mut cache = Cache::new(2);
        cache.keep("a", 1, AT(0), AT(9));
        cache.keep("b", 2, AT(0), AT(9));
        assert_eq!(cache.find("a", AT(1)), Some(1));
        cache.keep("c", 3, AT(1), AT(9));
        let found = ["a", "b", "c"].map(|key| cache.find(key, AT(1)));
        assert_eq!(found, [Some(1), None, Some(3)]);
        cache.keep("c", 4, AT(1), AT(9));
        assert_eq!(["a", "c"].map(|key| cache.find(key, AT(1))), [Some(1), Some(4)]);
        assert_eq!(cache.entries.len(), 2);
    }

    #[test]
    fn what_has_expired_is_not_found() {
        let mut cache = Cache::new(2);
        for (now, expected) in [(5, Some(1)), (9, Some(1)), (10, None), (4, None)] {
            cache.keep("a", 1, AT(5), AT(10));
            assert_eq!(cache.find("a", AT(now)), expected, "{now}");
        }
        assert_eq!(cache.entries.len(), 0);
    }
}
