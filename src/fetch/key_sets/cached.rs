//! Fetched key sets and their cache. Concurrent requests share one fetch. There is a pause between two fetches of one
//! set, even if the first one failed.
//!
//! The cache entry of a key set says when the set may be fetched again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::base::clock::{Clock, Timestamp};
use crate::error::failure::KeySetError;
use crate::fetch::cache::Cache;
use crate::fetch::flight::{Driven, Flights};
use crate::fetch::in_vain;

/// Key sets by a text that names each.
#[derive(Debug)]
pub(crate) struct CachedSets<S> {
    clock: Arc<dyn Clock>,
    /// The time between two fetches of one set.
    pause: Duration,
    cache: Mutex<Cache<Arc<Entry<S>>>>,
    flights: Flights<Outcome<S>>,
}

impl<S: Send + Sync + 'static> CachedSets<S> {
    /// Creates a cache for so many sets.
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        pause: Duration,
        max_sets: usize,
        flights: Flights<Outcome<S>>,
    ) -> Arc<Self> {
        Arc::new(Self { clock, pause, cache: Mutex::new(Cache::new(max_sets)), flights })
    }

    /// Returns the cached set of that name while it is fresh, otherwise a fetched one. If the fetch fails, or if the
    /// pause has not ended, it returns the cached one as long as that is usable. It does the same if the fetch panics,
    /// or if too many others wait for it.
    pub(crate) async fn get<F>(self: &Arc<Self>, name: &str, need: Need, fetch: impl FnOnce() -> F) -> Outcome<S>
    where
        F: Future<Output = Result<Fetched<S>, KeySetError>> + Send + 'static,
    {
        if let Some(known) = self.fresh(name, need) {
            return Ok(known);
        }
        match self.flights.join(name, || self.start(name, need, fetch)) {
            Ok(waiter) => match waiter.await {
                Ok(outcome) => outcome,
                Err(why) => self.usable(name, need).ok_or_else(|| in_vain(why, KeySetError::Panicked)),
            },
            Err(known) => known,
        }
    }

    /// Returns a newer set than the given one, in which a key was not found. `None` if there is none: the given one was
    /// fetched within the pause.
    ///
    /// # Errors
    ///
    /// Why the set could not be fetched now, or within the pause. There may be a newer one.
    pub(crate) async fn newer<F>(
        self: &Arc<Self>,
        name: &str,
        than: &Arc<S>,
        fetch: impl FnOnce() -> F,
    ) -> Result<Option<Arc<S>>, Arc<KeySetError>>
    where
        F: Future<Output = Result<Fetched<S>, KeySetError>> + Send + 'static,
    {
        let found = self.get(name, Need::Newer, fetch).await?;
        if !Arc::ptr_eq(&found, than) {
            return Ok(Some(found));
        }
        let now = self.clock.now();
        match self.cache().find(name, now) {
            Some(entry) => entry.failure().map_or(Ok(None), Err),
            None => Err(Arc::new(KeySetError::Interrupted)),
        }
    }

    /// Makes sure that the set of that name is fetched again when the pause has ended, because its age is not known any
    /// more. Until then it can still be used.
    pub(crate) fn forget_age(&self, name: &str) {
        let now = self.clock.now();
        let mut cache = self.cache();
        if let Some(entry) = cache.find(name, now) {
            let entry = Arc::new(entry.of_unknown_age(self.pause));
            cache.keep(name, Arc::clone(&entry), entry.tried(), entry.end(self.pause));
        }
    }

    /// Returns a cached set that can be used without a fetch.
    fn fresh(&self, name: &str, need: Need) -> Option<Arc<S>> {
        let now = self.clock.now();
        let entry = self.cache().find(name, now)?;
        entry.fresh(need, now)
    }

    /// Returns a cached set that meets the need if it cannot be fetched again.
    fn usable(&self, name: &str, need: Need) -> Option<Arc<S>> {
        let now = self.clock.now();
        let entry = self.cache().find(name, now)?;
        entry.answer(now).ok().filter(|_| need == Need::Usable)
    }

    /// Starts a fetch if one is needed and allowed. Otherwise returns what is known.
    fn start<F>(
        self: &Arc<Self>,
        name: &str,
        need: Need,
        fetch: impl FnOnce() -> F,
    ) -> Result<Driven<Outcome<S>>, Outcome<S>>
    where
        F: Future<Output = Result<Fetched<S>, KeySetError>> + Send + 'static,
    {
        let now = self.clock.now();
        let mut cache = self.cache();
        let begun = match cache.find(name, now) {
            None => Entry::first(now),
            Some(entry) => {
                // It may have been fetched since this request read it.
                if let Some(fresh) = entry.fresh(need, now) {
                    return Err(Ok(fresh));
                }
                if !entry.may_be_fetched(now, self.pause) {
                    return Err(entry.answer(now));
                }
                entry.begun(now)
            }
        };
        // The fetch counts from its start, even if every request that waits for it is dropped.
        let until = begun.end(self.pause);
        cache.keep(name, Arc::new(begun), now, until);
        // Requests wait for the fetch, and they borrow the sets. The fetch itself must not keep them.
        let (sets, name, fetched) = (Arc::downgrade(self), Box::<str>::from(name), fetch());
        Ok(Box::pin(async move {
            let fetched = fetched.await;
            sets.upgrade().map_or_else(|| Err(Arc::new(KeySetError::Interrupted)), |sets| sets.end(&name, fetched))
        }))
    }

    /// Caches the result of a fetch. A failure keeps the previous set.
    fn end(&self, name: &str, fetched: Result<Fetched<S>, KeySetError>) -> Outcome<S> {
        let now = self.clock.now();
        let mut cache = self.cache();
        let entry = match fetched {
            Ok(fetched) => Entry::fetched(fetched, now),
            Err(failure) => Entry::failed(cache.find(name, now).as_deref(), failure, now),
        };
        let entry = Arc::new(entry);
        cache.keep(name, Arc::clone(&entry), now, entry.end(self.pause));
        entry.answer(now)
    }

    fn cache(&self) -> MutexGuard<'_, Cache<Arc<Entry<S>>>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A key set, or why there is none. All requests that wait for the same fetch share it.
pub(crate) type Outcome<S> = Result<Arc<S>, Arc<KeySetError>>;

/// A key set that was fetched, and how long it is used.
#[derive(Debug)]
pub(crate) struct Fetched<S> {
    pub(crate) set: S,
    /// Until then it is used without another fetch.
    pub(crate) fresh_until: Timestamp,
    /// Until then it is used if it cannot be fetched again.
    pub(crate) usable_until: Timestamp,
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
pub(super) struct Entry<S> {
    /// The key set that was fetched last.
    set: Option<Kept<S>>,
    /// When the last fetch began or ended.
    tried: Timestamp,
    /// Why the last fetch that ended has failed.
    failure: Option<Arc<KeySetError>>,
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

impl<S> Entry<S> {
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
    pub(super) fn failed(before: Option<&Self>, failure: KeySetError, now: Timestamp) -> Self {
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
    pub(super) fn answer(&self, now: Timestamp) -> Outcome<S> {
        match &self.set {
            Some(kept) if now < kept.usable_until => Ok(Arc::clone(&kept.set)),
            Some(_) | None => Err(self.why_not_newer()),
        }
    }

    /// Returns why the last fetch failed. `None` if the cached set is the newest.
    pub(super) fn failure(&self) -> Option<Arc<KeySetError>> {
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

    fn why_not_newer(&self) -> Arc<KeySetError> {
        self.failure.clone().unwrap_or_else(|| Arc::new(KeySetError::Interrupted))
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use futures::FutureExt;
    use futures::channel::oneshot;

    use super::*;
    use crate::base::clock::Timestamp;
    use crate::testing::ManualClock;
    use crate::wire::fetch::FetchErrorKind;

    type Result<T> = std::result::Result<T, KeySetError>;

    const AT: fn(u32) -> Timestamp = Timestamp::from_seconds;

    /// A set that is fresh until 50, and usable until 200. The idle task and two others may wait for a fetch.
    fn sets() -> (Arc<CachedSets<u8>>, ManualClock, Arc<u8>) {
        let clock = ManualClock::new(AT(0));
        let sets = CachedSets::new(Arc::new(clock.clone()), Duration::from_secs(10), 1, Flights::outlasting(3));
        let fetched = Fetched { set: 7, fresh_until: AT(50), usable_until: AT(200) };
        let set = sets.get("", Need::Usable, || ready(Ok(fetched))).now_or_never().unwrap().unwrap();
        (sets, clock, set)
    }

    /// 9068-4-01
    #[test]
    fn a_check_that_may_not_wait_gets_the_cached_set() {
        let (sets, clock, set) = sets();
        clock.set(AT(100));
        let mut waiting = [(); 2].map(|()| Box::pin(sets.get("", Need::Usable, pending::<Result<Fetched<u8>>>)));
        for check in &mut waiting {
            assert!(check.now_or_never().is_none());
        }
        let one_more = |need| sets.get("", need, pending::<Result<Fetched<u8>>>).now_or_never().unwrap();
        let refused = |need| {
            let error = one_more(need).unwrap_err();
            let KeySetError::Fetch(error) = &*error else { panic!("{error}") };
            error.kind()
        };
        assert!(Arc::ptr_eq(&one_more(Need::Usable).unwrap(), &set));
        assert_eq!(refused(Need::Newer), FetchErrorKind::TooManyRequests);
        clock.set(AT(200));
        assert_eq!(refused(Need::Usable), FetchErrorKind::TooManyRequests);
    }

    /// 9068-4-01
    #[test]
    fn after_a_panic_the_cached_set_is_used() {
        for (now, is_usable) in [(100, true), (200, false)] {
            let (sets, clock, set) = sets();
            clock.set(AT(now));
            let (sender, receiver) = oneshot::channel();
            let mut driver = Box::pin(
                sets.get("", Need::Usable, || receiver.map(|fetched| fetched.expect("a panic, as it is due"))),
            );
            let mut other = Box::pin(sets.get("", Need::Usable, pending::<Result<Fetched<u8>>>));
            assert!((&mut driver).now_or_never().is_none() && (&mut other).now_or_never().is_none());
            drop::<oneshot::Sender<Result<Fetched<u8>>>>(sender);
            assert!(catch_unwind(AssertUnwindSafe(|| (&mut driver).now_or_never())).is_err());
            match other.now_or_never().unwrap() {
                Ok(found) => assert!(is_usable && Arc::ptr_eq(&found, &set), "{now}"),
                Err(error) => assert!(!is_usable && matches!(*error, KeySetError::Panicked), "{now}: {error}"),
            }
        }
    }
}
