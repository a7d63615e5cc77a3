//! How a server is reached.

use std::fmt;
use std::time::Duration;

use crate::store::redis::check::Unchecked;

/// The longest time-out.
pub(super) const LONGEST_TIMEOUT: Duration = Duration::from_secs(60);
const LONGEST_QUEUE: usize = 65_536;

/// Settings with which a [`RedisStore`](crate::RedisStore) is connected; the defaults suit most servers.
#[derive(Clone)]
#[must_use]
pub struct RedisOptions {
    pub(super) prefix: String,
    pub(super) connect_timeout: Duration,
    pub(super) response_timeout: Duration,
    pub(super) queue_limit: usize,
    pub(super) wait: Option<Wait>,
    pub(super) unchecked: Unchecked,
    pub(super) root_certificates: Option<Vec<u8>>,
}

/// How many replicas must have a write before it is acknowledged, and how long that may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    pub(super) replicas: u32,
    pub(super) timeout: Duration,
}

impl RedisOptions {
    /// The defaults: keys that begin with `grantor:`, 5 seconds to connect and to answer, 1024 calls at a
    /// time, no waiting for replicas, and the certificates that the system trusts.
    pub fn new() -> Self {
        Self {
            prefix: "grantor".to_owned(),
            connect_timeout: Duration::from_secs(5),
            response_timeout: Duration::from_secs(5),
            queue_limit: 1024,
            wait: None,
            unchecked: Unchecked::Refused,
            root_certificates: None,
        }
    }

    /// Sets what every key begins with, before a colon: stores with different prefixes share a server.
    ///
    /// Braces are refused when the store connects: they would put all keys in one slot of a cluster. So are
    /// colons: the keys of one prefix could be those of another.
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), ..self }
    }

    /// Sets how long one attempt to connect may take, at most a minute.
    pub fn connect_timeout(self, timeout: Duration) -> Self {
        Self { connect_timeout: timeout.min(LONGEST_TIMEOUT), ..self }
    }

    /// Sets how long a command may take, with all that the client does to reach a server meanwhile, at most
    /// a minute; after that the call is a transient error.
    pub fn response_timeout(self, timeout: Duration) -> Self {
        Self { response_timeout: timeout.min(LONGEST_TIMEOUT), ..self }
    }

    /// Sets how many calls may be under way, 1 to 65536; one more is a transient error at once.
    pub fn queue_limit(self, calls: usize) -> Self {
        Self { queue_limit: calls.clamp(1, LONGEST_QUEUE), ..self }
    }

    /// Acknowledges a write only when so many replicas have it, and makes it a transient error if they do
    /// not within the time-out, at most a minute; the write may then have taken effect or not.
    ///
    /// # Security
    ///
    /// Without it, a primary that is lost takes with it what it had acknowledged and not yet sent to a
    /// replica: a code that was spent or a token that was revoked may work again. With as many replicas
    /// as each primary has, whichever of them takes over has every acknowledged write. A server that keeps no
    /// append-only file is refused then, with [`RedisProblem::NoLog`](crate::RedisProblem::NoLog): one that
    /// starts again is empty, and its replicas follow it.
    pub fn wait(self, replicas: u32, timeout: Duration) -> Self {
        Self { wait: Some(Wait { replicas, timeout: timeout.min(LONGEST_TIMEOUT) }), ..self }
    }

    /// Connects also to a server that does not let this user ask whether it may evict keys, keeps an append-only file,
    /// has a suitable release, and is still a primary. What it does state is checked in any case.
    ///
    /// Without it, such a server is refused with [`RedisProblem::Unchecked`](crate::RedisProblem::Unchecked). The commands
    /// are `INFO` and `ROLE`.
    ///
    /// # Security
    ///
    /// Check by other means that the eviction policy is `noeviction`: a server that evicts keys forgets revocations.
    pub fn accept_unchecked(self) -> Self {
        Self { unchecked: Unchecked::Accepted, ..self }
    }

    /// Trusts these certificates, in PEM, in place of those that the system trusts; for addresses that
    /// begin with `rediss:`. With any other address the store does not connect, nor with `#insecure`.
    pub fn root_certificates(self, pem: impl Into<Vec<u8>>) -> Self {
        Self { root_certificates: Some(pem.into()), ..self }
    }
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for RedisOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisOptions")
            .field("prefix", &self.prefix)
            .field("connect_timeout", &self.connect_timeout)
            .field("response_timeout", &self.response_timeout)
            .field("queue_limit", &self.queue_limit)
            .field("wait", &self.wait)
            .field("unchecked", &self.unchecked)
            .finish_non_exhaustive()
    }
}
