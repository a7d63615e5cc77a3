//! The shards of a table, each with its own lock.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(super) const SHARDS: usize = 1024;
/// The same number, in the type of a hash.
const SHARDS_IN_HASH: u64 = 1024;

/// Creates all shards, empty.
pub(super) fn shards<T: Default>() -> Box<[Mutex<T>]> {
    (0..SHARDS).map(|_| Mutex::default()).collect()
}

/// Locks the shard that the low bits of a hash select.
pub(super) fn lock<T>(shards: &[Mutex<T>], hash: u64) -> Option<MutexGuard<'_, T>> {
    let number = usize::try_from(hash % SHARDS_IN_HASH).ok()?;
    Some(shards.get(number)?.lock().unwrap_or_else(PoisonError::into_inner))
}
