//! The cache entry of a key set, and when the set may be fetched again.

use std::sync::Arc;
use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::wire::fetch::FetchError;

/// A key set, or why there is none. All requests that wait for the same fetch share it.
pub(crate) type Outcome<S, E> = Result<Arc<S>, Arc<E>>;

/// A key set that was fetched, and how long it is used.
#[derive(Debug)]
pub(crate) struct Fetched<S> {
    pub(crate) set: S,
    /// Until then it is used without another fetch.
    pub(crate) fresh_until: Timestamp,
    /// Until then it is used if it cannot be fetched again.
    pub(crate) usable_until: Timestamp,
}

/// Why there is no key set.
pub(crate) trait Failure: From<FetchError> + Send + Sync + 'static {
    /// The requests that last fetched it were dropped.
    const INTERRUPTED: Self;
    /// The fetch panicked.
    const PANICKED: Self;
}

/// What a request needs from a key set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// A key set that is fresh, or that is fetched now.
    Usable,
    /// A key set that is newer than the cached one, which does not have the key.
    Newer,
}

/// The cached state of one key set.
#[derive(Debug)]
pub(super) struct Entry<S, E> {
    /// The key set that was fetched last.
    set: Option<Kept<S>>,
    /// When the last fetch began or ended.
    tried: Timestamp,
    /// Why the last fetch that ended has failed.
    failure: Option<Arc<E>>,
    /// Whether one fetch may begin within the pause: only the first fetch has begun, and it has not finished.
    may_retry: bool,
    /// Whether the last fetch that began has ended with the key set.
    is_newest: bool,
}

#[derive(Debug)]
struct Kept<S> {
    set: Arc<S>,
    fresh_until: Timestamp,
    usable_until: Timestamp,
}

/// A derived implementation would need a set that can be cloned.
impl<S> Clone for Kept<S> {
    fn clone(&self) -> Self {
        Self { set: Arc::clone(&self.set), ..*self }
    }
}

impl<S, E: Failure> Entry<S, E> {
    /// Returns the entry when the first fetch begins. A dropped request does not cause a pause for an honest client; a
    /// second one does.
    pub(super) const fn first(now: Timestamp) -> Self {
        Self { set: None, tried: now, failure: None, may_retry: true, is_newest: false }
    }

    pub(super) fn fetched(fetched: Fetched<S>, now: Timestamp) -> Self {
        let Fetched { set, fresh_until, usable_until } = fetched;
        let set = Some(Kept { set: Arc::new(set), fresh_until, usable_until });
        Self { set, tried: now, failure: None, may_retry: false, is_newest: true }
    }

    /// Returns the entry after a failed fetch. It keeps the previous key set.
    pub(super) fn failed(before: Option<&Self>, failure: E, now: Timestamp) -> Self {
        let set = before.and_then(|before| before.set.clone());
        Self { set, tried: now, failure: Some(Arc::new(failure)), may_retry: false, is_newest: false }
    }

    /// Returns the entry while the key set is fetched again.
    pub(super) fn begun(&self, now: Timestamp) -> Self {
        let (set, failure) = (self.set.clone(), self.failure.clone());
        Self { set, tried: now, failure, may_retry: false, is_newest: false }
    }

    /// Returns the entry for a key set of unknown age. The set is used until the pause ends, and no longer.
    pub(super) fn of_unknown_age(&self, pause: Duration) -> Self {
        let until = self.tried.plus(pause);
        let set = self.set.clone().map(|kept| Kept {
            fresh_until: Timestamp::default(),
            usable_until: kept.usable_until.min(until),
            ..kept
        });
        Self { set, failure: self.failure.clone(), is_newest: false, ..*self }
    }

    /// Returns the key set, if it meets the need of the request without a fetch.
    pub(super) fn fresh(&self, need: Need, now: Timestamp) -> Option<Arc<S>> {
        let kept = self.set.as_ref()?;
        (need == Need::Usable && now < kept.fresh_until).then(|| Arc::clone(&kept.set))
    }

    /// Returns whether the pause since the last fetch has ended, or does not apply yet.
    pub(super) fn may_be_fetched(&self, now: Timestamp, pause: Duration) -> bool {
        // If the clock was set back behind `tried`, the cache has dropped the entry: the pause does not last for years.
        self.may_retry || now >= self.tried.plus(pause)
    }

    /// Returns the result without another fetch.
    pub(super) fn answer(&self, now: Timestamp) -> Outcome<S, E> {
        match &self.set {
            Some(kept) if now < kept.usable_until => Ok(Arc::clone(&kept.set)),
            Some(_) | None => Err(self.why_not_newer()),
        }
    }

    /// Returns why the last fetch failed. `None` if the cached set is the newest.
    pub(super) fn failure(&self) -> Option<Arc<E>> {
        (!self.is_newest).then(|| self.why_not_newer())
    }

    /// Returns when the entry is no longer needed: its key set is not usable any more, and the pause has ended.
    pub(super) fn end(&self, pause: Duration) -> Timestamp {
        let pause = self.tried.plus(pause);
        self.set.as_ref().map_or(pause, |kept| kept.usable_until.max(pause))
    }

    /// Returns when the last fetch began or ended.
    pub(super) const fn tried(&self) -> Timestamp {
        self.tried
    }

    fn why_not_newer(&self) -> Arc<E> {
        self.failure.clone().unwrap_or_else(|| Arc::new(E::INTERRUPTED))
    }
}
