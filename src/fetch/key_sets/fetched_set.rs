//! A key set that was fetched.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::jose::{FetchedKeys, Jwk};
use crate::model::client::KeyFetchError;

/// A key set, or why there is none. All requests that wait for the same fetch share it.
pub(crate) type Outcome = Result<Arc<FetchedSet>, Arc<KeyFetchError>>;

/// A key set that was fetched.
#[derive(Debug)]
pub(crate) struct FetchedSet {
    keys: FetchedKeys,
    is_reported: AtomicBool,
}

impl FetchedSet {
    pub(super) const fn new(keys: FetchedKeys) -> Self {
        Self { keys, is_reported: AtomicBool::new(false) }
    }

    /// Returns the usable keys.
    pub(crate) fn keys(&self) -> &[Jwk] {
        self.keys.set.keys()
    }

    /// Returns how many keys of the set are not used. Later calls return 0, so that each fetch is reported once.
    pub(crate) fn newly_left_out(&self) -> usize {
        if self.keys.left_out == 0 || self.is_reported.swap(true, Ordering::Relaxed) { 0 } else { self.keys.left_out }
    }
}
