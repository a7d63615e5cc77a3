//! A throttle that counts in memory.

mod buckets;
mod limits;

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;

use self::buckets::Buckets;
pub use self::limits::{Rate, ThrottleLimits};
use crate::clock::{Clock, SystemClock, Timestamp};
use crate::hooks::{Attempt, AttemptKind, Throttle, ThrottleDecision};

/// A [`Throttle`] that counts in the memory of this process.
///
/// ```
/// use grantor::{AuthorizationServer, Config, MemoryStore, MemoryThrottle};
///
/// # fn main() -> Result<(), grantor::ConfigError> {
/// let server = AuthorizationServer::builder(Config::platform("https://auth.example"), MemoryStore::new())
///     .throttle(MemoryThrottle::new())
///     .build()?;
/// assert!(server.security_report().findings.iter().all(|finding| finding.setting != "throttle"));
/// # Ok(())
/// # }
/// ```
///
/// It counts with token buckets, whose sizes are in [`ThrottleLimits`]:
///
/// * by network: every attempt takes a token, a failed authentication 20 of them. A client that proves itself by its
///   secret gets its token back, so honest requests of a confidential client are not slowed down;
/// * by claimed client and network together: failed authentications alone. It never counts by client alone, so a
///   stranger in another network cannot lock an honest client out;
/// * by user: requests that are held for a decision;
/// * by network: clients that register themselves, each a record in the store;
/// * by user, and by host: metadata documents that are fetched; by host: key sets of clients that nobody has reviewed.
///
/// A refused attempt takes nothing. So waiting always helps, and `Retry-After` is the time until there is enough: at
/// most an hour, under the default limits some seconds. Attempts that are in progress together may fail together
/// and then owe what they took; a network owes at most one burst, since many may share it.
///
/// Clones share their counts. Each process counts alone: divide the limits by the number of processes, or count in a
/// store that they share. A restart forgets everything. Without the address of the peer only users are counted, and
/// [`Event::PeerAddressMissing`](crate::Event::PeerAddressMissing) is raised.
///
/// # Security
///
/// It keeps at most 106 496 buckets, in less than 13 MiB. If there are more, the fullest is dropped first, so a flood of
/// new names and addresses frees no one who is being slowed down. No address, client or user is kept, only hashes with a
/// key that this process draws at random. A clock that is set back refills nothing, and one that is set forward fills
/// the buckets at most.
///
/// It is only as good as the addresses that it gets: behind a proxy, the adapter has to pass the address that the proxy
/// vouches for. Otherwise all strangers share one bucket.
#[derive(Clone)]
pub struct MemoryThrottle {
    clock: Arc<dyn Clock>,
    failure_weight: u32,
    exempts_loopback: bool,
    hasher: RandomState,
    counts: Arc<Mutex<Counts>>,
}

/// Buckets by network: the most, since every attempt has one.
const NETWORKS: usize = 32_768;
/// Buckets by claimed client and network.
const CLIENTS: usize = 16_384;
/// Buckets by user.
const SUBJECTS: usize = 16_384;
/// Buckets of registrations by network.
const REGISTRATIONS: usize = 16_384;
/// The buckets of fetched documents by user.
const DOCUMENT_FETCHES: usize = 16_384;
/// The buckets of fetched documents and key sets by host.
const DOCUMENT_HOSTS: usize = 8192;

const MICROSECONDS: u64 = 1_000_000;

impl MemoryThrottle {
    /// Creates a throttle with the default limits and the clock of the operating system.
    #[must_use]
    pub fn new() -> Self {
        Self::with_limits(ThrottleLimits::default())
    }

    /// Creates a throttle with these limits.
    #[must_use]
    pub fn with_limits(limits: ThrottleLimits) -> Self {
        let counts = Counts {
            last_read: None,
            now: 0,
            // Many share a network: one of them must not keep the others out for long.
            networks: Buckets::owing_little(limits.network, NETWORKS),
            clients: Buckets::new(limits.client_failures, CLIENTS),
            subjects: Buckets::new(limits.held_requests, SUBJECTS),
            registrations: Buckets::new(limits.registrations, REGISTRATIONS),
            document_fetches: Buckets::new(limits.document_fetches, DOCUMENT_FETCHES),
            document_hosts: Buckets::new(limits.document_hosts, DOCUMENT_HOSTS),
        };
        Self {
            clock: Arc::new(SystemClock),
            failure_weight: limits.failure_weight,
            exempts_loopback: false,
            hasher: RandomState::new(),
            counts: Arc::new(Mutex::new(counts)),
        }
    }

    /// Sets the clock, for tests.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Counts nothing that comes from the machine itself, such as tests and benchmarks over the loopback.
    ///
    /// # Security
    ///
    /// Behind a proxy on the same machine everything comes from the loopback, unless the adapter passes the address
    /// that the proxy vouches for: then this switches the throttle off.
    #[must_use]
    pub const fn exempt_loopback(mut self) -> Self {
        self.exempts_loopback = true;
        self
    }

    fn keys(&self, attempt: &Attempt<'_>) -> Option<Keys> {
        if self.exempts_loopback && attempt.peer.is_some_and(|peer| peer.to_canonical().is_loopback()) {
            return None;
        }
        let network = attempt.peer_network();
        let (client, subject) = match attempt.kind {
            AttemptKind::Authentication => (attempt.client.zip(network), None),
            AttemptKind::HeldRequest => (None, attempt.subject),
            AttemptKind::Registration | AttemptKind::MetadataDocument | AttemptKind::KeySet => (None, None),
        };
        let is_fetched = matches!(attempt.kind, AttemptKind::MetadataDocument | AttemptKind::KeySet);
        let fetched = Some(attempt).filter(|_| is_fetched);
        let registers = attempt.kind == AttemptKind::Registration;
        Some(Keys {
            registration: network.filter(|_| registers).map(|network| self.hasher.hash_one(network)),
            network: network.map(|network: IpAddr| self.hasher.hash_one(network)),
            client: client.map(|client| self.hasher.hash_one(client)),
            subject: subject.map(|subject| self.hasher.hash_one(subject)),
            fetcher: fetched.and_then(|fetched| fetched.subject).map(|subject| self.hasher.hash_one(subject)),
            host: fetched.and_then(|fetched| fetched.host).map(|host| self.hasher.hash_one(host)),
        })
    }

    /// Returns the counts, at the present time. The clock is read under the lock: threads that read it in one order
    /// and counted in another would make it go back and forth.
    fn counts(&self) -> MutexGuard<'_, Counts> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.advance(self.clock.now());
        counts
    }
}

impl Default for MemoryThrottle {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryThrottle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryThrottle").field("exempts_loopback", &self.exempts_loopback).finish_non_exhaustive()
    }
}

#[async_trait]
impl Throttle for MemoryThrottle {
    async fn check(&self, attempt: &Attempt<'_>) -> ThrottleDecision {
        let Some(keys) = self.keys(attempt) else { return ThrottleDecision::Allow };
        match self.counts().check(&keys) {
            0 => ThrottleDecision::Allow,
            wait => ThrottleDecision::Refuse { retry_after: Duration::from_secs(wait.div_ceil(MICROSECONDS)) },
        }
    }

    async fn failed(&self, attempt: &Attempt<'_>) {
        if let Some(keys) = self.keys(attempt) {
            self.counts().failed(&keys, self.failure_weight);
        }
    }

    async fn authenticated(&self, attempt: &Attempt<'_>) {
        if let Some(keys) = self.keys(attempt) {
            self.counts().give_back(&keys);
        }
    }
}

/// What an attempt is counted by, hashed.
struct Keys {
    network: Option<u64>,
    /// The claimed client with its network.
    client: Option<u64>,
    subject: Option<u64>,
    /// The network, if a client registers itself.
    registration: Option<u64>,
    /// The user for whom a document is fetched.
    fetcher: Option<u64>,
    /// The host of the document.
    host: Option<u64>,
}

#[derive(Debug)]
struct Counts {
    /// What the clock showed when it was read last.
    last_read: Option<Timestamp>,
    /// Microseconds that passed. They only grow, whatever the clock does.
    now: u64,
    networks: Buckets,
    clients: Buckets,
    subjects: Buckets,
    registrations: Buckets,
    document_fetches: Buckets,
    document_hosts: Buckets,
}

impl Counts {
    fn advance(&mut self, read: Timestamp) {
        let passed = self.last_read.map_or(0, |last| read.seconds_since(last));
        self.now = self.now.saturating_add(u64::from(passed).saturating_mul(MICROSECONDS));
        self.last_read = Some(read);
    }

    /// Takes a token by network and by user, if all have one. Returns the microseconds to wait otherwise.
    fn check(&mut self, keys: &Keys) -> u64 {
        let now = self.now;
        let wait = |buckets: &Buckets, key: Option<u64>| key.map_or(0, |key| buckets.wait(key, now));
        let wait = wait(&self.networks, keys.network)
            .max(wait(&self.clients, keys.client))
            .max(wait(&self.subjects, keys.subject))
            .max(wait(&self.registrations, keys.registration))
            .max(wait(&self.document_fetches, keys.fetcher))
            .max(wait(&self.document_hosts, keys.host));
        if wait == 0 {
            take(&mut self.networks, keys.network, 1, now);
            take(&mut self.subjects, keys.subject, 1, now);
            take(&mut self.registrations, keys.registration, 1, now);
            take(&mut self.document_fetches, keys.fetcher, 1, now);
            take(&mut self.document_hosts, keys.host, 1, now);
        }
        wait
    }

    fn failed(&mut self, keys: &Keys, weight: u32) {
        // One was taken when the attempt began.
        take(&mut self.networks, keys.network, weight.saturating_sub(1), self.now);
        take(&mut self.clients, keys.client, 1, self.now);
    }

    fn give_back(&mut self, keys: &Keys) {
        if let Some(key) = keys.network {
            self.networks.give_back(key, 1, self.now);
        }
    }
}

fn take(buckets: &mut Buckets, key: Option<u64>, tokens: u32, now: u64) {
    if let Some(key) = key {
        buckets.take(key, tokens, now);
    }
}
