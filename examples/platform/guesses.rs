//! What keeps passwords from being guessed: few checks at a time, and waits that grow.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use grantor::wire::Endpoint;
use grantor::{Attempt, Clock as _, SystemClock, Timestamp};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::known_browsers::KnownBrowser;

/// A check takes one core and 19 MiB.
const CHECKS_AT_ONCE: usize = 2;
/// Those of browsers that have signed in before, which no crowd of strangers keeps waiting.
const CHECKS_OF_KNOWN_AT_ONCE: usize = 1;
/// Checks that one guesser may have waiting and running; more would fill the queue for everybody.
const CHECKS_OF_ONE: u32 = 8;
/// Who waits longer for a turn is told to come back.
const LONGEST_QUEUE: Duration = Duration::from_secs(5);
/// Wrong passwords that cost no wait.
const FREE_FAILURES: u32 = 4;
const LONGEST_WAIT: u32 = 60;
/// Seconds without a failure after which everything is forgotten.
const MEMORY: u32 = 900;
const MOST_ENTRIES: usize = 10_000;

/// Counts wrong passwords by account and guesser together.
///
/// So a stranger elsewhere locks nobody out. Whoever shares the stranger's address (behind one NAT; behind a
/// proxy, which is everybody's address unless the service is told what the proxy says) waits along, in a
/// browser that has never signed in to the account. One that has is a guesser by itself.
#[derive(Debug)]
pub(crate) struct Guesses {
    turns: Semaphore,
    turns_of_known: Semaphore,
    under_way: Mutex<HashMap<Guesser, u32>>,
    keys: RandomState,
    failures: Mutex<HashMap<u64, Failures>>,
}

/// Who tries a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Guesser {
    Known(KnownBrowser),
    Network(Option<IpAddr>),
}

impl Guesser {
    /// One host has all addresses of its IPv6 network.
    pub(crate) fn of(known: Option<KnownBrowser>, peer: Option<IpAddr>) -> Self {
        let mut attempt = Attempt::new(Endpoint::Authorization);
        attempt.peer = peer;
        known.map_or_else(|| Self::Network(attempt.peer_network()), Self::Known)
    }
}

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    last: Timestamp,
}

impl Failures {
    /// 1, 2, 4, … seconds from the last failure on.
    fn wait(self, now: Timestamp) -> u32 {
        let Some(beyond) = self.count.checked_sub(FREE_FAILURES + 1) else { return 0 };
        let wait = 1_u32.checked_shl(beyond).unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT);
        wait.saturating_sub(now.seconds_since(self.last))
    }

    fn is_forgotten(self, now: Timestamp) -> bool {
        now.seconds_since(self.last) >= MEMORY
    }
}

impl Guesses {
    pub(crate) fn new() -> Self {
        Self {
            turns: Semaphore::new(CHECKS_AT_ONCE),
            turns_of_known: Semaphore::new(CHECKS_OF_KNOWN_AT_ONCE),
            under_way: Mutex::default(),
            keys: RandomState::new(),
            failures: Mutex::default(),
        }
    }

    /// Waits for a turn to check a password.
    ///
    /// Counts are looked at in the turn: of many guesses sent at once, the later ones meet the failures
    /// of the earlier ones.
    pub(crate) async fn turn(&self, account: &str, guesser: Guesser) -> Result<Turn<'_>, TooMany> {
        let key = self.keys.hash_one((account, guesser));
        let place = Place::take(&self.under_way, guesser)?;
        let turns = if matches!(guesser, Guesser::Known(_)) { &self.turns_of_known } else { &self.turns };
        let permit = timeout(LONGEST_QUEUE, turns.acquire()).await.map_err(|_| TooMany { seconds: 1 })?;
        let permit = permit.map_err(|_| TooMany { seconds: 1 })?;
        let now = SystemClock.now();
        let found = self.failures.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied();
        match found.map_or(0, |failures| failures.wait(now)) {
            0 => Ok(Turn { guesses: self, key, _permit: permit, _place: place }),
            seconds => Err(TooMany { seconds }),
        }
    }

    fn note(&self, key: u64, succeeded: bool) {
        let now = SystemClock.now();
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if succeeded {
            failures.remove(&key);
            return;
        }
        if failures.len() >= MOST_ENTRIES {
            failures.retain(|_, entry| !entry.is_forgotten(now));
        }
        // Whoever filled it on purpose paid a full check for every entry.
        if failures.len() >= MOST_ENTRIES {
            failures.clear();
        }
        let known = failures.get(&key).copied().filter(|entry| !entry.is_forgotten(now));
        let count = known.map_or(0, |entry| entry.count).saturating_add(1);
        failures.insert(key, Failures { count, last: now });
    }
}

/// The right to check one password now.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    guesses: &'a Guesses,
    key: u64,
    _permit: SemaphorePermit<'a>,
    _place: Place<'a>,
}

impl Turn<'_> {
    pub(crate) fn end(self, succeeded: bool) {
        self.guesses.note(self.key, succeeded);
    }
}

/// Too many tries; it goes on after these seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooMany {
    pub(crate) seconds: u32,
}

/// One of the checks that a guesser has under way; given back even if the browser hangs up.
#[derive(Debug)]
struct Place<'a> {
    under_way: &'a Mutex<HashMap<Guesser, u32>>,
    guesser: Guesser,
}

impl<'a> Place<'a> {
    fn take(under_way: &'a Mutex<HashMap<Guesser, u32>>, guesser: Guesser) -> Result<Self, TooMany> {
        let mut counts = under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(guesser).or_default();
        if *count >= CHECKS_OF_ONE {
            return Err(TooMany { seconds: 1 });
        }
        *count += 1;
        Ok(Self { under_way, guesser })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut counts = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.guesser) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.guesser);
            }
        }
    }
}
