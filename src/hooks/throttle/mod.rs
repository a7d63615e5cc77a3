//! A throttle that counts in memory.
//!
//! Failures are counted when they are known. If each attempt reserved one, a client with ten requests in progress would
//! have to wait. With the debt, guesses in parallel are no more in an hour than guesses one after the other.
//!
//! One lock guards all buckets. A request holds it twice, for some hundred nanoseconds in all. With shards, each would
//! have an order of its own, and the fullest bucket of all would no longer be dropped first.

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
use crate::base::clock::{Clock, SystemClock, Timestamp};
use crate::base::measure;
use crate::hooks::{Attempt, AttemptKind, Credential, Throttle, ThrottleDecision, wide_network_of};

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
/// It uses token buckets; [`ThrottleLimits`] sets their rates:
///
/// * by network: every attempt without a signed-in user takes a token. That of a client that authenticates returns it;
/// * by claimed client and network together: only wrong secrets. It never counts by client alone, so an attacker in
///   another network cannot lock out an honest client;
/// * by network, and by user: wrong user codes. The first one of a user for a time is counted apart from the others of
///   its network, so a few accounts that guess do not lock out the users beside them;
/// * by user: requests that are held for a decision, and typed user codes;
/// * by network, and for IPv6 by the networks of 56 and 48 bits around it: devices that ask for access, and clients
///   that register themselves, each a record in the store. Registrations that web pages send are counted apart;
/// * by host, and by user or by network: fetched metadata documents, and key sets of unreviewed clients.
///
/// Users of one network wait for each other as little as possible. A secret that was right within the last hour passes
/// without being counted, and so does the id of a public client at the token and revocation endpoints, with whose codes
/// and tokens nothing can be guessed. An id that turns out to be of no such client is counted then.
///
/// A refused attempt takes nothing, so waiting always helps. `Retry-After` is the time until there are enough tokens:
/// at most an hour, with the default limits a few seconds. Concurrent attempts may fail together and put a bucket into
/// debt.
///
/// Clones share their counts. Each process counts separately: divide the limits by the number of processes, or
/// implement a throttle that counts in a shared store. A restart resets all counts. Without the address of the peer
/// only users are counted, and [`Event::PeerAddressMissing`](crate::Event::PeerAddressMissing) is raised.
///
/// # Security
///
/// It keeps at most 73 728 buckets, in less than 8 MiB. If there are more, the fullest is dropped first, so a flood
/// of new names and addresses does not lift the limits of a throttled caller. It keeps no address, client or user, only
/// hashes with a random key of this process. A clock that is set back refills nothing; a clock that is set forward at
/// most fills the buckets.
///
/// It depends on the addresses that it gets: behind a proxy, the adapter must pass the address that the proxy reports.
/// Otherwise all callers share one bucket.
#[derive(Clone)]
pub struct MemoryThrottle {
    clock: Arc<dyn Clock>,
    exempts_loopback: bool,
    hasher: RandomState,
    counts: Arc<Mutex<Counts>>,
}

/// What is counted beside the attempts of a network, the failures of a client and user codes. Every attempt of these
/// kinds takes a token.
struct Row {
    /// The bound, as it is called in [`ThrottleLimits`].
    name: &'static str,
    rate: fn(&ThrottleLimits) -> Rate,
    by: By,
    kinds: &'static [AttemptKind],
}

impl Row {
    const fn new(name: &'static str, rate: fn(&ThrottleLimits) -> Rate, by: By, kinds: &'static [AttemptKind]) -> Self {
        Self { name, rate, by, kinds }
    }
}

/// Whose attempts a row counts together.
#[derive(Clone, Copy)]
enum By {
    Host,
    Network,
    /// The first so many bits of an IPv6 address.
    Prefix(u8),
    User,
    /// No user causes the fetch of a key set.
    UserOrNetwork,
}

const FETCHES: &[AttemptKind] = &[AttemptKind::MetadataDocument, AttemptKind::KeySet];

const DEVICES: &[AttemptKind] = &[AttemptKind::DeviceRequest];
const REGISTRATIONS: &[AttemptKind] = &[AttemptKind::Registration];

static ROWS: [Row; 9] = [
    Row::new("device_requests", |limits| limits.device_requests, By::Network, DEVICES),
    Row::new("device_requests_of_56_bits", |limits| limits.device_requests.times(2), By::Prefix(56), DEVICES),
    Row::new("device_requests_of_48_bits", |limits| limits.device_requests.times(10), By::Prefix(48), DEVICES),
    Row::new(
        "consent_requests",
        |limits| limits.consent_requests,
        By::User,
        &[AttemptKind::ConsentRequest, AttemptKind::UserCode],
    ),
    Row::new("registrations", |limits| limits.registrations, By::Network, REGISTRATIONS),
    Row::new("registrations_of_56_bits", |limits| limits.registrations.times(2), By::Prefix(56), REGISTRATIONS),
    Row::new("registrations_of_48_bits", |limits| limits.registrations.times(10), By::Prefix(48), REGISTRATIONS),
    Row::new("document_fetches", |limits| limits.document_fetches, By::UserOrNetwork, FETCHES),
    Row::new("document_hosts", |limits| limits.document_hosts, By::Host, FETCHES),
];

/// The number of buckets by network. It is the largest, since every attempt needs one.
const NETWORKS: usize = 16_384;
/// The number of buckets of each [`Row`], of those by client and network, and of secrets that were right.
const OTHERS: usize = 4096;

/// How long a secret passes uncounted after it was right.
const PROVEN: Duration = Duration::from_secs(60 * 60);

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
            networks: Buckets::new(limits.network, NETWORKS),
            clients: Buckets::new(limits.client_failures, OTHERS),
            proven: Buckets::new(Rate::new(1, PROVEN), OTHERS),
            first_codes: Buckets::new(limits.first_user_codes_of_network, OTHERS),
            codes: Buckets::new(limits.user_codes_of_network, OTHERS),
            codes_of_users: Buckets::new(limits.user_codes_of_user, OTHERS),
            attempts: ROWS.each_ref().map(|row| (row, Buckets::new((row.rate)(&limits), OTHERS))),
        };
        Self {
            clock: Arc::new(SystemClock),
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

    /// Exempts requests from loopback addresses, such as tests and benchmarks, except the user codes that one user
    /// types.
    ///
    /// # Security
    ///
    /// Behind a proxy on the same machine, all requests come from the loopback unless the adapter passes the address
    /// that the proxy reports. If it does not, this switches the throttle off.
    #[must_use]
    pub const fn exempt_loopback(mut self) -> Self {
        self.exempts_loopback = true;
        self
    }

    fn keys(&self, attempt: &Attempt<'_>) -> Option<Keys> {
        let is_exempt = self.exempts_loopback && attempt.peer.is_some_and(|peer| peer.to_canonical().is_loopback());
        // Guesses of a user count from anywhere.
        if is_exempt && attempt.kind != AttemptKind::UserCode {
            return None;
        }
        let peer = attempt.peer.filter(|_| !is_exempt);
        let (kind, hasher) = (attempt.kind, &self.hasher);
        let hash = |network: IpAddr| hasher.hash_one((network, attempt.from_page));
        let network = attempt.peer_network().filter(|_| !is_exempt).map(hash);
        let (client, secret) = match attempt.credential {
            // The guesses of pages count apart, so that a page does not lock out the clients in its visitor's network.
            Credential::Secret(secret) => (attempt.client.zip(network), Some((attempt.client, secret))),
            Credential::None | Credential::ClientId | Credential::Assertion => (None, None),
        };
        let user = attempt.subject.map(|subject| hasher.hash_one(subject));
        let is_code = kind == AttemptKind::UserCode;
        let codes = user.filter(|_| is_code).map(|user| CodeKeys { user, network });
        let key = |row: &Row| match row.by {
            _ if !row.kinds.contains(&kind) => None,
            By::Host => attempt.host.map(|host| hasher.hash_one(host)),
            By::Network => network,
            By::Prefix(bits) => peer.and_then(|peer| wide_network_of(peer, bits)).map(hash),
            By::User => user,
            By::UserOrNetwork => user.or(network),
        };
        let attempts = ROWS.each_ref().map(key);
        let (client, secret) = (client.map(|key| hasher.hash_one(key)), secret.map(|key| hasher.hash_one(key)));
        // Each user has limits of their own, which nobody else in the network uses up.
        let network = network.filter(|_| user.is_none() && !attempt.guesses_nothing());
        Some(Keys { network, client, secret, codes, attempts })
    }

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
            self.counts().failed(&keys);
        }
    }

    async fn succeeded(&self, attempt: &Attempt<'_>) {
        if let Some(keys) = self.keys(attempt) {
            self.counts().succeeded(&keys);
        }
    }
}

/// The hashed keys that an attempt is counted by.
struct Keys {
    network: Option<u64>,
    /// The claimed client together with the network, if it presents a secret.
    client: Option<u64>,
    /// The claimed client together with the secret that it presents.
    secret: Option<u64>,
    /// Those of a user code.
    codes: Option<CodeKeys>,
    /// One for each of [`ROWS`].
    attempts: [Option<u64>; ROWS.len()],
}

/// Who types a user code, and where.
#[derive(Clone, Copy)]
struct CodeKeys {
    user: u64,
    network: Option<u64>,
}

struct Counts {
    /// The time at which the clock was last read.
    last_read: Option<Timestamp>,
    /// Elapsed microseconds. They never decrease, even if the clock is set back.
    now: u64,
    networks: Buckets,
    /// Only wrong secrets.
    clients: Buckets,
    /// The secrets that were right within the last hour: a bucket of one token, which is taken then.
    proven: Buckets,
    /// By network: the user codes of those whose own bucket is full.
    first_codes: Buckets,
    /// By network: the other user codes.
    codes: Buckets,
    codes_of_users: Buckets,
    attempts: [(&'static Row, Buckets); ROWS.len()],
}

impl Counts {
    fn advance(&mut self, read: Timestamp) {
        let passed = self.last_read.map_or(0, |last| read.seconds_since(last));
        self.now = self.now.saturating_add(u64::from(passed).saturating_mul(MICROSECONDS));
        if measure::is_on() && self.last_read != Some(read) {
            self.measure();
        }
        self.last_read = Some(read);
    }

    /// Counts the callers that are refused, once a second in which there are attempts.
    fn measure(&self) {
        for (bound, buckets) in [
            ("network", &self.networks),
            ("client_failures", &self.clients),
            ("first_user_codes_of_network", &self.first_codes),
            ("user_codes_of_network", &self.codes),
            ("user_codes_of_user", &self.codes_of_users),
        ] {
            measure::locked_out(bound, buckets.empty(self.now));
        }
        for (row, buckets) in &self.attempts {
            measure::locked_out(row.name, buckets.empty(self.now));
        }
    }

    /// Counts an attempt if all its buckets have a token, and returns 0. Otherwise returns the microseconds to wait.
    fn check(&mut self, keys: &Keys) -> u64 {
        let now = self.now;
        if self.is_proven(keys) {
            return 0;
        }
        let of_code = keys.codes.map_or(0, |CodeKeys { user, network }| {
            let of_network = if self.codes_of_users.is_full(user, now) { &self.first_codes } else { &self.codes };
            self.codes_of_users.wait(user, now).max(wait(of_network, network, now))
        });
        let both = wait(&self.networks, keys.network, now).max(wait(&self.clients, keys.client, now));
        let attempts = self.attempts.iter().zip(keys.attempts);
        let longest = attempts.map(|((_, buckets), key)| wait(buckets, key, now)).fold(both.max(of_code), u64::max);
        if longest == 0 {
            take(&mut self.networks, keys.network, 1, now);
            if let Some(CodeKeys { user, network }) = keys.codes {
                take(self.codes_of_network(user), network, 1, now);
                self.codes_of_users.take(user, 1, now);
            }
            for ((_, buckets), key) in self.attempts.iter_mut().zip(keys.attempts) {
                take(buckets, key, 1, now);
            }
        }
        longest
    }

    /// Returns the buckets by network that count the next code of that user.
    fn codes_of_network(&mut self, user: u64) -> &mut Buckets {
        if self.codes_of_users.is_full(user, self.now) { &mut self.first_codes } else { &mut self.codes }
    }

    fn is_proven(&self, keys: &Keys) -> bool {
        keys.secret.is_some_and(|secret| self.proven.wait(secret, self.now) > 0)
    }

    fn failed(&mut self, keys: &Keys) {
        take(&mut self.clients, keys.client, 1, self.now);
        // The client has another secret now.
        if let Some(secret) = keys.secret {
            self.proven.refund(secret, 1, self.now);
        }
    }

    fn succeeded(&mut self, keys: &Keys) {
        let took_nothing = self.is_proven(keys);
        take(&mut self.proven, keys.secret, 1, self.now);
        if took_nothing {
            return;
        }
        refund(&mut self.networks, keys.network, self.now);
        if let Some(CodeKeys { user, network }) = keys.codes {
            // A right code gives back its guess. The user's bucket is first: it is full again if that was the first
            // one.
            self.codes_of_users.refund(user, 1, self.now);
            let now = self.now;
            refund(self.codes_of_network(user), network, now);
        }
    }
}

fn wait(buckets: &Buckets, key: Option<u64>, now: u64) -> u64 {
    key.map_or(0, |key| buckets.wait(key, now))
}

fn refund(buckets: &mut Buckets, key: Option<u64>, now: u64) {
    if let Some(key) = key {
        buckets.refund(key, 1, now);
    }
}

fn take(buckets: &mut Buckets, key: Option<u64>, tokens: u32, now: u64) {
    if let Some(key) = key {
        buckets.take(key, tokens, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each kind is counted by its own rows, and by no other; authentications only by network and client.
    #[test]
    fn every_kind_of_attempt_has_its_rows() {
        let counted = |kind| ROWS.each_ref().map(|row| u8::from(row.kinds.contains(&kind)));
        for (kind, expected) in [
            (AttemptKind::Authentication, [0, 0, 0, 0, 0, 0, 0, 0, 0]),
            (AttemptKind::ConsentRequest, [0, 0, 0, 1, 0, 0, 0, 0, 0]),
            (AttemptKind::UserCode, [0, 0, 0, 1, 0, 0, 0, 0, 0]),
            (AttemptKind::DeviceRequest, [1, 1, 1, 0, 0, 0, 0, 0, 0]),
            (AttemptKind::Registration, [0, 0, 0, 0, 1, 1, 1, 0, 0]),
            (AttemptKind::MetadataDocument, [0, 0, 0, 0, 0, 0, 0, 1, 1]),
            (AttemptKind::KeySet, [0, 0, 0, 0, 0, 0, 0, 1, 1]),
        ] {
            assert_eq!(counted(kind), expected, "{kind:?}");
        }
    }

    /// Each rate is used by one row, and those of devices and registrations by wider networks too.
    #[test]
    fn every_row_has_its_own_rate() {
        let rate = |number| Rate::new(number, Duration::from_secs(1));
        let limits = ThrottleLimits {
            device_requests: rate(4),
            consent_requests: rate(5),
            registrations: rate(6),
            document_fetches: rate(7),
            document_hosts: rate(8),
            ..ThrottleLimits::default()
        };
        let wide = |own: u32| [rate(own), rate(own).times(2), rate(own).times(10)];
        let expected = [&wide(4)[..], &[rate(5)], &wide(6), &[7, 8].map(rate)].concat();
        assert_eq!(ROWS.each_ref().map(|row| (row.rate)(&limits)).to_vec(), expected);
    }
}
