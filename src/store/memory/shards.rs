//! The parts of a table, a lock each.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(super) const SHARDS: usize = 1024;
/// The same number, as hashes are counted.
const SHARDS_IN_HASH: u64 = 1024;

/// All parts, empty.
pub(super) fn shards<T: Default>() -> Box<[Mutex<T>]> {
    (0..SHARDS).map(|_| Mutex::default()).collect()
}

/// Locks the part that the low bits of a hash choose.
pub(super) fn lock<T>(shards: &[Mutex<T>], hash: u64) -> Option<MutexGuard<'_, T>> {
    let number = usize::try_from(hash % SHARDS_IN_HASH).ok()?;
    Some(shards.get(number)?.lock().unwrap_or_else(PoisonError::into_inner))
}
