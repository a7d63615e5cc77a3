//! Protection against password guessing: few checks at a time, growing waits, and a limit for each address.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use argon2::Block;
use grantor::hooks::{Attempt, AttemptKind};
use grantor::wire::Endpoint;
use grantor::{Clock as _, SystemClock, Timestamp};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::timeout;

use crate::known_browsers::KnownBrowser;

/// A check takes one core and 19 MiB.
const CHECKS_AT_ONCE: usize = 2;
/// Checks for browsers that have signed in before, which do not wait for the checks of others.
const CHECKS_OF_KNOWN_AT_ONCE: usize = 1;
/// Checks that one guesser may have waiting and running. More would fill the queue for all users.
const CHECKS_OF_ONE: u32 = 8;
/// How long a check may wait for its turn. After that, the user is asked to try again later.
const LONGEST_QUEUE: Duration = Duration::from_secs(5);
/// Wrong passwords that cost no wait.
const FREE_FAILURES: u32 = 4;
const LONGEST_WAIT: u32 = 60;
/// Seconds without a failure after which all failures are forgotten.
const MEMORY: u32 = 900;
/// Checks that one address may make at once, for all accounts together. A check that succeeds does not count.
const CHECKS_OF_ADDRESS: u32 = 30;
/// Seconds after which an address may make one more check.
const SECONDS_A_CHECK: u32 = 10;
const MAX_ENTRIES: usize = 10_000;

/// Counts wrong passwords by account and guesser together, and checks by address.
///
/// So an attacker elsewhere cannot lock a user out. A user with the same address as the attacker must wait too: behind
/// one NAT, or behind a proxy, unless the service reads the client's address from the proxy's headers. A browser that
/// has signed in to the account before counts as a separate guesser.
#[derive(Debug)]
pub(crate) struct Guesses {
    turns: Arc<Semaphore>,
    turns_of_known: Arc<Semaphore>,
    under_way: Mutex<HashMap<Guesser, u32>>,
    keys: RandomState,
    counts: Mutex<Counts>,
    /// The memory for checks, one for each that runs at once.
    memories: Mutex<Vec<Vec<Block>>>,
    counts_loopback: bool,
}

#[derive(Debug, Default)]
struct Counts {
    failures: HashMap<u64, Failures>,
    checks: HashMap<u64, Checks>,
}

/// Who tries a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Guesser {
    Known(KnownBrowser),
    Network(Option<IpAddr>),
}

impl Guesser {
    /// All addresses of an IPv6 network count as one host.
    pub(crate) fn of(known: Option<KnownBrowser>, peer: Option<IpAddr>) -> Self {
        let mut attempt = Attempt::new(AttemptKind::Authentication, Endpoint::Authorization);
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

/// The checks of an address that still count, as of a time.
#[derive(Clone, Copy, Debug)]
struct Checks {
    count: u32,
    since: Timestamp,
}

impl Checks {
    /// Forgets one check every ten seconds.
    fn at(self, now: Timestamp) -> Self {
        let forgotten = now.seconds_since(self.since) / SECONDS_A_CHECK;
        match self.count.saturating_sub(forgotten) {
            0 => Self { count: 0, since: now },
            count => Self { count, since: self.since.plus(Duration::from_secs((forgotten * SECONDS_A_CHECK).into())) },
        }
    }

    fn wait(self, now: Timestamp) -> u32 {
        let Self { count, since } = self.at(now);
        if count < CHECKS_OF_ADDRESS { 0 } else { SECONDS_A_CHECK.saturating_sub(now.seconds_since(since)).max(1) }
    }
}

impl Guesses {
    /// Counts checks by address. Those over the loopback count only if `counts_loopback` is set.
    pub(crate) fn new(counts_loopback: bool) -> Self {
        Self {
            turns: Arc::new(Semaphore::new(CHECKS_AT_ONCE)),
            turns_of_known: Arc::new(Semaphore::new(CHECKS_OF_KNOWN_AT_ONCE)),
            under_way: Mutex::default(),
            keys: RandomState::new(),
            counts: Mutex::default(),
            memories: Mutex::default(),
            counts_loopback,
        }
    }

    /// Waits for a turn to check a password.
    ///
    /// Counts are read during the turn. So of many guesses sent at once, the later ones see the failures of the earlier
    /// ones.
    pub(crate) async fn turn(self: &Arc<Self>, account: &str, guesser: Guesser) -> Result<Turn, TooMany> {
        let place = Place::take(self, guesser)?;
        let turns = if matches!(guesser, Guesser::Known(_)) { &self.turns_of_known } else { &self.turns };
        let permit = timeout(LONGEST_QUEUE, turns.clone().acquire_owned()).await.map_err(|_| TooMany { seconds: 1 })?;
        let permit = permit.map_err(|_| TooMany { seconds: 1 })?;
        let turn = Turn {
            key: self.keys.hash_one((account, guesser)),
            address: self.counted(guesser).map(|address| self.keys.hash_one(address)),
            place,
            _permit: permit,
        };
        let (now, counts) = (SystemClock.now(), self.counts());
        let wait = counts.failures.get(&turn.key).map_or(0, |failures| failures.wait(now));
        let checks = turn.address.and_then(|address| counts.checks.get(&address));
        match wait.max(checks.map_or(0, |checks| checks.wait(now))) {
            0 => Ok(turn),
            seconds => Err(TooMany { seconds }),
        }
    }

    /// The address whose checks are counted.
    fn counted(&self, guesser: Guesser) -> Option<IpAddr> {
        let Guesser::Network(address) = guesser else { return None };
        address.filter(|address| self.counts_loopback || !address.is_loopback())
    }

    fn memories(&self) -> MutexGuard<'_, Vec<Vec<Block>>> {
        self.memories.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    /// Counts a check as a failure before it begins.
    fn begin(&mut self, key: u64, address: Option<u64>, now: Timestamp) {
        self.make_room(now);
        let known = self.failures.get(&key).copied().filter(|entry| !entry.is_forgotten(now));
        let count = known.map_or(0, |entry| entry.count).saturating_add(1);
        self.failures.insert(key, Failures { count, last: now });
        if let Some(address) = address {
            let checks = self.checks.get(&address).map_or(Checks { count: 0, since: now }, |checks| checks.at(now));
            self.checks.insert(address, Checks { count: checks.count + 1, ..checks });
        }
    }

    fn succeed(&mut self, key: u64, address: Option<u64>) {
        self.failures.remove(&key);
        if let Some(checks) = address.and_then(|address| self.checks.get_mut(&address)) {
            checks.count = checks.count.saturating_sub(1);
        }
    }

    /// Drops entries that no longer count, or else those that count least. Every entry has cost a check.
    fn make_room(&mut self, now: Timestamp) {
        if self.failures.len() >= MAX_ENTRIES {
            self.failures.retain(|_, entry| !entry.is_forgotten(now));
            let least = self.failures.iter().min_by_key(|(_, entry)| (entry.count, entry.last));
            let least = least.map(|(key, _)| *key).filter(|_| self.failures.len() >= MAX_ENTRIES);
            least.and_then(|key| self.failures.remove(&key));
        }
        if self.checks.len() >= MAX_ENTRIES {
            self.checks.retain(|_, entry| entry.at(now).count > 0);
            let least = self.checks.iter().min_by_key(|(_, entry)| entry.at(now).count);
            let least = least.map(|(key, _)| *key).filter(|_| self.checks.len() >= MAX_ENTRIES);
            least.and_then(|key| self.checks.remove(&key));
        }
    }
}

/// The right to check one password now.
#[derive(Debug)]
pub(crate) struct Turn {
    key: u64,
    address: Option<u64>,
    place: Place,
    _permit: OwnedSemaphorePermit,
}

impl Turn {
    /// Checks the password on a separate thread, which takes the turn. If the browser hangs up, the check continues,
    /// keeps its slot until it ends, and counts.
    pub(crate) async fn check(
        self,
        is_right: impl FnOnce(&mut Vec<Block>) -> bool + Send + 'static,
    ) -> Result<bool, JoinError> {
        let check = move || {
            // Moves the whole turn with its permit: a closure captures only the fields that it names.
            let turn = self;
            let guesses = &turn.place.guesses;
            guesses.counts().begin(turn.key, turn.address, SystemClock.now());
            let mut memory = guesses.memories().pop().unwrap_or_default();
            let is_right = is_right(&mut memory);
            guesses.memories().push(memory);
            if is_right {
                guesses.counts().succeed(turn.key, turn.address);
            }
            is_right
        };
        spawn_blocking(check).await
    }
}

/// Too many tries. The next one is possible after these seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooMany {
    pub(crate) seconds: u32,
}

/// One of the checks that a guesser has waiting or running.
#[derive(Debug)]
struct Place {
    guesses: Arc<Guesses>,
    guesser: Guesser,
}

impl Place {
    fn take(guesses: &Arc<Guesses>, guesser: Guesser) -> Result<Self, TooMany> {
        let mut counts = guesses.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(guesser).or_default();
        if *count >= CHECKS_OF_ONE {
            return Err(TooMany { seconds: 1 });
        }
        *count += 1;
        Ok(Self { guesses: guesses.clone(), guesser })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.guesses.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.guesser) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.guesser);
            }
        }
    }
}
