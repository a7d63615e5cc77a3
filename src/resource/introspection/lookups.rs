//! The answers that are kept, and the look-ups in progress.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use crate::base::clock::{Clock, Timestamp};
use crate::base::generations::{Generations, OnHeap};
use crate::error::failure::IntrospectionError;
use crate::fetch::flight::{Driven, Flight, Waiter};
use crate::hooks::TokenRefusal;
use crate::resource::facts::{BYTES_PER_ENTRY, TokenDigest, TokenFacts};
use crate::resource::introspection::messages::Answer;
use crate::resource::introspection::settings::IntrospectionSettings;

/// What a look-up came to. All checks that wait for it share it.
pub(super) type Outcome = Result<Answer, Failure>;

/// Why a look-up has no answer.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) error: Arc<IntrospectionError>,
    /// Whether a request was sent after the checks that wait for the look-up began. If not, it was the previous look-up
    /// that failed.
    pub(super) was_asked: bool,
}

impl Failure {
    pub(super) const fn of(error: Arc<IntrospectionError>) -> Self {
        Self { error, was_asked: true }
    }
}

/// How many checks may wait for one look-up.
const MAX_CHECKS: usize = 65_536;

/// The state that all clones of a client share.
pub(super) struct LookUps {
    /// The time when the clock was last read.
    last_seen: Timestamp,
    times_set_back: u64,
    described: Generations<TokenDigest, Kept>,
    /// When the request about each was sent.
    inactive: Generations<TokenDigest, Timestamp>,
    /// The look-ups of each token, in the order in which they began: at most one whose request was sent, and one that
    /// waits for its end.
    in_progress: HashMap<TokenDigest, Vec<LookUp>>,
}

/// A described token, and when the request for its description was sent.
struct Kept {
    facts: Arc<TokenFacts>,
    sent: Timestamp,
}

impl OnHeap for Kept {
    fn bytes_on_heap(&self) -> usize {
        self.facts.bytes()
    }
}

/// A look-up in progress, while a check waits for it.
struct LookUp {
    flight: Weak<Flight<Outcome>>,
    progress: Arc<Progress>,
}

/// When the request of a look-up was sent; empty before.
pub(super) type Progress = OnceLock<Sent>;

/// When a request was sent, and how often the clock had been set back before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    at: Timestamp,
    times_set_back: u64,
}

/// How a check gets its answer.
pub(super) enum Start {
    /// From an answer that is kept.
    Known(Answer),
    /// From a look-up that other checks may share.
    Waits(Waiter<Outcome>),
}

impl LookUps {
    pub(super) fn new(settings: &IntrospectionSettings) -> Self {
        let for_inactive = settings.max_entries / 8;
        Self {
            last_seen: Timestamp::from_seconds(0),
            times_set_back: 0,
            described: Generations::new(settings.max_entries - for_inactive, BYTES_PER_ENTRY),
            inactive: Generations::new(for_inactive, BYTES_PER_ENTRY),
            in_progress: HashMap::new(),
        }
    }

    /// Reads the clock. If it was set back, nothing that is kept has a known age any more.
    pub(super) fn now(&mut self, clock: &dyn Clock) -> Timestamp {
        let now = clock.now();
        if now < self.last_seen {
            self.times_set_back += 1;
            self.described.clear();
            self.inactive.clear();
        }
        self.last_seen = now;
        now
    }

    /// Begins a check: uses an answer that is kept, or joins a look-up, or starts one. `start` makes it, from its
    /// progress and the look-up whose end it must wait for.
    ///
    /// A look-up is joined if its request was not sent yet, or was sent no longer ago than the time to live. So a check
    /// sees every change that was acknowledged before it began, or that long before.
    pub(super) fn begin(
        &mut self,
        key: TokenDigest,
        now: Timestamp,
        settings: &IntrospectionSettings,
        start: impl FnOnce(Arc<Progress>, Option<Waiter<Outcome>>) -> Driven<Outcome>,
    ) -> Start {
        if let Some(answer) = self.known(&key, now, settings) {
            return Start::Known(answer);
        }
        let mut in_progress = self.in_progress.get(&key).into_iter().flatten().rev();
        let last = in_progress.find_map(|last| Some((last, last.flight.upgrade().and_then(Waiter::join)?)));
        let before = match last {
            Some((last, waiter)) if self.may_be_joined(last, settings.time_to_live, now) => {
                return Start::Waits(waiter);
            }
            last => last.map(|(_, waiter)| waiter),
        };
        let progress = Arc::new(Progress::new());
        let flight = Arc::new(Flight::with_max_tasks(start(Arc::clone(&progress), before), MAX_CHECKS));
        // Removes the look-ups that no check waits for any more. The others remove themselves at their end.
        self.in_progress.retain(|_, look_ups| {
            look_ups.retain(|look_up| look_up.flight.strong_count() > 0);
            !look_ups.is_empty()
        });
        let look_up = LookUp { flight: Arc::downgrade(&flight), progress };
        self.in_progress.entry(key).or_default().push(look_up);
        Start::Waits(Waiter::first(flight))
    }

    /// Marks the request of a look-up as sent. No check that begins from now on joins it, unless the time to live
    /// allows that.
    pub(super) fn mark_as_sent(&self, progress: &Progress, now: Timestamp) {
        progress.get_or_init(|| Sent { at: now, times_set_back: self.times_set_back });
    }

    /// Ends a look-up, and keeps its answer as long as the settings say. A failure is never kept.
    pub(super) fn end(
        &mut self,
        key: &TokenDigest,
        progress: &Arc<Progress>,
        outcome: &Outcome,
        settings: &IntrospectionSettings,
    ) {
        if let Some(look_ups) = self.in_progress.get_mut(key) {
            look_ups.retain(|look_up| !Arc::ptr_eq(&look_up.progress, progress));
            if look_ups.is_empty() {
                self.in_progress.remove(key);
            }
        }
        let (Ok(answer), Some(sent)) = (outcome, progress.get()) else { return };
        // It is newer than what is kept, because the look-ups of one token follow each other.
        self.described.remove(key);
        self.inactive.remove(key);
        if sent.times_set_back != self.times_set_back {
            return;
        }
        match answer {
            Answer::Described(facts) => {
                let is_kept = !settings.time_to_live.is_zero() || !settings.stale_if_error.is_zero();
                if is_kept && facts.expires.is_some() {
                    self.described.keep(*key, Kept { facts: Arc::clone(facts), sent: sent.at });
                }
            }
            Answer::Refused(TokenRefusal::Inactive) if !settings.inactive_time_to_live.is_zero() => {
                self.inactive.keep(*key, sent.at);
            }
            Answer::Refused(_) => {}
        }
    }

    /// Returns what is kept of a token, and may be used although the look-up failed. The token may have expired.
    pub(super) fn stale(
        &mut self,
        key: &TokenDigest,
        now: Timestamp,
        settings: &IntrospectionSettings,
    ) -> Option<Arc<TokenFacts>> {
        if settings.stale_if_error.is_zero() {
            return None;
        }
        let life = settings.time_to_live + settings.stale_if_error;
        let kept = self.described.find(key)?;
        (now < kept.sent.plus(life)).then(|| Arc::clone(&kept.facts))
    }

    fn known(&mut self, key: &TokenDigest, now: Timestamp, settings: &IntrospectionSettings) -> Option<Answer> {
        if let Some(kept) = self.described.find(key) {
            let is_fresh =
                now < kept.sent.plus(settings.time_to_live) && kept.facts.expires.is_some_and(|end| now < end);
            return is_fresh.then(|| Answer::Described(Arc::clone(&kept.facts)));
        }
        let sent = self.inactive.find(key)?;
        (now < sent.plus(settings.inactive_time_to_live)).then_some(Answer::Refused(TokenRefusal::Inactive))
    }

    /// Returns whether a check that begins now may use the answer of a look-up.
    fn may_be_joined(&self, look_up: &LookUp, time_to_live: Duration, now: Timestamp) -> bool {
        let is_young = |sent: &Sent| sent.times_set_back == self.times_set_back && now < sent.at.plus(time_to_live);
        look_up.progress.get().is_none_or(is_young)
    }

    /// How many look-ups are in progress.
    #[cfg(test)]
    pub(super) fn in_progress(&self) -> usize {
        self.in_progress.values().map(Vec::len).sum()
    }
}
