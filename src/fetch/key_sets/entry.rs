//! A fetched key set, its cache entry, and when it may be fetched again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::clock::Timestamp;
use crate::jose::{FetchedKeys, Jwk};
use crate::model::client::KeyFetchError;

/// How long a fetched key set is used without another fetch. A key that its client removed there is valid until then.
const FRESH: Duration = Duration::from_secs(3600);
/// How long a fetched key set is used if it cannot be fetched again, counted from its fetch.
const STALE: Duration = Duration::from_secs(86_400);
/// How long the server waits between two fetches of one client's keys.
const PAUSE: Duration = Duration::from_secs(60);

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

/// What a request needs from a key set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// A key set that is fresh, or that is fetched now.
    Usable,
    /// A key set that is newer than the cached one, which does not have the key.
    Newer,
}

/// The cached state of one key set.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The key set that was fetched last, and when.
    set: Option<(Arc<FetchedSet>, Timestamp)>,
    /// When the last fetch began or ended.
    tried: Timestamp,
    /// Why the last fetch failed.
    failure: Option<Arc<KeyFetchError>>,
    /// Whether one fetch may begin within the pause: only the first fetch has begun, and it has not finished.
    may_retry: bool,
}

impl Entry {
    /// Returns the entry when the first fetch begins. A dropped request does not cause a pause for an honest client; a
    /// second one does.
    pub(super) const fn first(now: Timestamp) -> Self {
        Self { set: None, tried: now, failure: None, may_retry: true }
    }

    pub(super) const fn fetched(set: Arc<FetchedSet>, now: Timestamp) -> Self {
        Self { set: Some((set, now)), tried: now, failure: None, may_retry: false }
    }

    /// Returns the entry after a failed fetch. It keeps the previous key set.
    pub(super) fn failed(before: Option<Self>, failure: Arc<KeyFetchError>, now: Timestamp) -> Self {
        Self { set: before.and_then(|before| before.set), tried: now, failure: Some(failure), may_retry: false }
    }

    /// Returns the entry while the key set is fetched again.
    pub(super) fn begun(self, now: Timestamp) -> Self {
        Self { tried: now, may_retry: false, ..self }
    }

    /// Returns the key set, if it meets the need of the request without a fetch.
    pub(super) fn fresh(&self, need: Need, now: Timestamp) -> Option<Arc<FetchedSet>> {
        match need {
            Need::Usable => self.set_within(FRESH, now),
            Need::Newer => None,
        }
    }

    /// Returns whether the pause since the last fetch has ended, or does not apply yet.
    pub(super) fn may_be_fetched(&self, now: Timestamp) -> bool {
        // If the clock was set back behind `tried`, the cache has dropped the entry: the pause does not last for years.
        self.may_retry || now >= self.tried.plus(PAUSE)
    }

    /// Returns the result without another fetch.
    pub(super) fn answer(&self, now: Timestamp) -> Outcome {
        match (self.set_within(STALE, now), &self.failure) {
            (Some(set), _) => Ok(set),
            (None, Some(failure)) => Err(Arc::clone(failure)),
            // The requests that last fetched it were dropped, and there is no set or it has become stale.
            (None, None) => Err(Arc::new(KeyFetchError::Interrupted)),
        }
    }

    /// Returns when the entry is no longer needed: its key set is stale, and the pause has ended.
    pub(super) fn end(&self) -> Timestamp {
        let pause = self.tried.plus(PAUSE);
        self.set.as_ref().map_or(pause, |(_, since)| since.plus(STALE).max(pause))
    }

    fn set_within(&self, life: Duration, now: Timestamp) -> Option<Arc<FetchedSet>> {
        let (set, since) = self.set.as_ref()?;
        (now < since.plus(life)).then(|| Arc::clone(set))
    }
}
