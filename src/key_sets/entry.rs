//! The cache entry of one key set, and when the set may be fetched again.

use std::sync::Arc;
use std::time::Duration;

use crate::client::KeyFetchError;
use crate::clock::Timestamp;
use crate::config;
use crate::key_sets::fetched_set::{FetchedSet, Outcome};

/// What a request needs of a key set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// A key set that is fresh, or is fetched now.
    Usable,
    /// A key set that is newer than the cached one, which does not have the key.
    Newer,
}

/// What is cached of one key set.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The key set that was fetched last, and when.
    set: Option<(Arc<FetchedSet>, Timestamp)>,
    /// When the last fetch began or ended.
    tried: Timestamp,
    /// Why the last fetch failed.
    failure: Option<Arc<KeyFetchError>>,
    /// Whether one fetch may begin within the pause: no other than the first one has begun, and it was not finished.
    may_retry: bool,
}

impl Entry {
    /// The first fetch begins. One request that is dropped costs an honest client no pause, and a second one does.
    pub(super) const fn first(now: Timestamp) -> Self {
        Self { set: None, tried: now, failure: None, may_retry: true }
    }

    pub(super) const fn fetched(set: Arc<FetchedSet>, now: Timestamp) -> Self {
        Self { set: Some((set, now)), tried: now, failure: None, may_retry: false }
    }

    /// The entry after a failed fetch. It keeps the key set that was there before.
    pub(super) fn failed(before: Option<Self>, failure: Arc<KeyFetchError>, now: Timestamp) -> Self {
        Self { set: before.and_then(|before| before.set), tried: now, failure: Some(failure), may_retry: false }
    }

    /// The entry while the key set is fetched again.
    pub(super) fn begun(self, now: Timestamp) -> Self {
        Self { tried: now, may_retry: false, ..self }
    }

    /// The key set, if it meets the need of the request without a fetch.
    pub(super) fn fresh(&self, need: Need, now: Timestamp, settings: &config::KeySets) -> Option<Arc<FetchedSet>> {
        match need {
            Need::Usable => self.set_within(settings.fresh, now),
            Need::Newer => None,
        }
    }

    /// Whether the pause since the last fetch is over, or does not count yet.
    pub(super) fn may_be_fetched(&self, now: Timestamp, settings: &config::KeySets) -> bool {
        // A clock that was set back ends the pause: it must not last for years.
        self.may_retry || now < self.tried || now >= self.tried.plus(settings.pause)
    }

    /// The answer without another fetch.
    pub(super) fn answer(&self, now: Timestamp, settings: &config::KeySets) -> Outcome {
        match (self.set_within(settings.stale, now), &self.failure) {
            (Some(set), _) => Ok(set),
            (None, Some(failure)) => Err(Arc::clone(failure)),
            // The requests that fetched it last were dropped, and there was no set, or it has become stale.
            (None, None) => Err(Arc::new(KeyFetchError::Interrupted)),
        }
    }

    /// When the entry is no longer needed: its key set is stale, and the pause has ended.
    pub(super) fn end(&self, settings: &config::KeySets) -> Timestamp {
        let pause = self.tried.plus(settings.pause);
        self.set.as_ref().map_or(pause, |(_, since)| since.plus(settings.stale).max(pause))
    }

    fn set_within(&self, life: Duration, now: Timestamp) -> Option<Arc<FetchedSet>> {
        let (set, since) = self.set.as_ref()?;
        (*since <= now && now < since.plus(life)).then(|| Arc::clone(set))
    }
}
