//! A bounded cache by text, whose entries expire.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::clock::Timestamp;

/// Drops the least recently used entry when it is full.
#[derive(Debug)]
pub(crate) struct Cache<V> {
    max: usize,
    entries: HashMap<Arc<str>, Entry<V>>,
    by_use: BTreeMap<u64, Arc<str>>,
    uses: u64,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    since: Timestamp,
    until: Timestamp,
    used: u64,
}

impl<V: Clone> Cache<V> {
    pub(crate) fn new(max: usize) -> Self {
        Self { max, entries: HashMap::new(), by_use: BTreeMap::new(), uses: 0 }
    }

    /// Returns the entry, unless it has expired. Setting the clock back does not make an entry valid for longer.
    pub(crate) fn find(&mut self, key: &str, now: Timestamp) -> Option<V> {
        let entry = self.entries.get(key)?;
        if now < entry.since || now >= entry.until {
            self.remove(key);
            return None;
        }
        let value = entry.value.clone();
        self.touch(key);
        Some(value)
    }

    pub(crate) fn keep(&mut self, key: &str, value: V, since: Timestamp, until: Timestamp) {
        self.remove(key);
        while self.entries.len() >= self.max {
            let Some((_, oldest)) = self.by_use.pop_first() else { break };
            self.entries.remove(&oldest);
        }
        self.entries.insert(key.into(), Entry { value, since, until, used: 0 });
        self.touch(key);
    }

    fn touch(&mut self, key: &str) {
        let Some((key, _)) = self.entries.get_key_value(key) else { return };
        let key = Arc::clone(key);
        self.uses += 1;
        if let Some(entry) = self.entries.get_mut(&key) {
            self.by_use.remove(&std::mem::replace(&mut entry.used, self.uses));
        }
        self.by_use.insert(self.uses, key);
    }

    fn remove(&mut self, key: &str) {
        if let Some(entry) = self.entries.remove(key) {
            self.by_use.remove(&entry.used);
        }
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
        assert_eq!((cache.entries.len(), cache.by_use.len()), (2, 2));
    }

    #[test]
    fn what_has_expired_is_not_found() {
        let mut cache = Cache::new(2);
        for (now, expected) in [(5, Some(1)), (9, Some(1)), (10, None), (4, None)] {
            cache.keep("a", 1, AT(5), AT(10));
            assert_eq!(cache.find("a", AT(now)), expected, "{now}");
        }
        assert_eq!((cache.entries.len(), cache.by_use.len()), (0, 0));
    }
}
