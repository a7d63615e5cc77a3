//! The shards of a table, each with its own lock.

use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;

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

/// Releases memory once three quarters of it are unused. Returns whether it did.
pub(super) fn shrink_when_sparse<K: Eq + Hash, V>(rows: &mut HashMap<K, V>) -> bool {
    let is_sparse = rows.len() * 4 < rows.capacity();
    if is_sparse {
        rows.shrink_to(rows.len() * 2);
    }
    is_sparse
}
