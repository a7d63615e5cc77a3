//! The settings of a connection to Redis.

use std::fmt;
use std::time::Duration;

use crate::store::redis::check::{Log, Unchecked};

/// The longest time-out.
pub(super) const LONGEST_TIMEOUT: Duration = Duration::from_secs(60);
const LONGEST_QUEUE: usize = 65_536;

/// Settings for connecting a [`RedisStore`](crate::RedisStore). The defaults suit most servers.
#[derive(Clone)]
#[must_use]
pub struct RedisOptions {
    pub(super) prefix: String,
    pub(super) connect_timeout: Duration,
    pub(super) response_timeout: Duration,
    pub(super) queue_limit: usize,
    pub(super) wait: Option<Wait>,
    pub(super) log: Log,
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
    /// Creates the default settings: keys that begin with `grantor:`, 5 seconds to connect and to answer, 1024 calls at
    /// a time, no waiting for replicas, and the certificates that the system trusts.
    pub fn new() -> Self {
        Self {
            prefix: "grantor".to_owned(),
            connect_timeout: Duration::from_secs(5),
            response_timeout: Duration::from_secs(5),
            queue_limit: 1024,
            wait: None,
            log: Log::Needed,
            unchecked: Unchecked::Refused,
            root_certificates: None,
        }
    }

    /// Sets the prefix of every key, before a colon. Stores with different prefixes can share a server.
    ///
    /// The store does not connect if the prefix contains braces, which would put all keys into one slot of a cluster,
    /// or a colon, with which the keys of one prefix could be those of another.
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), ..self }
    }

    /// Sets how long one attempt to connect may take, at most a minute.
    pub fn connect_timeout(self, timeout: Duration) -> Self {
        Self { connect_timeout: timeout.min(LONGEST_TIMEOUT), ..self }
    }

    /// Sets how long a command may take, including reconnects and redirections, at most a minute. After that, the call
    /// fails with a transient error.
    pub fn response_timeout(self, timeout: Duration) -> Self {
        Self { response_timeout: timeout.min(LONGEST_TIMEOUT), ..self }
    }

    /// Sets how many calls may be in progress, 1 to 65536. Any further call fails at once with a transient error.
    pub fn queue_limit(self, calls: usize) -> Self {
        Self { queue_limit: calls.clamp(1, LONGEST_QUEUE), ..self }
    }

    /// Acknowledges a write only when this many replicas have it. If they do not have it within the time-out, at most a
    /// minute, the call fails with a transient error, and the write may or may not have taken effect.
    ///
    /// # Security
    ///
    /// Without it, the loss of a primary loses the writes that it had acknowledged but not yet sent to a replica: a
    /// used code or a revoked token may work again. If a write waits for all replicas of its primary, the one that
    /// takes over has every acknowledged write. A server without an append-only file is refused with it, even with
    /// [`accept_loss`](Self::accept_loss): after a restart it would be empty, and its replicas would follow it.
    pub fn wait(self, replicas: u32, timeout: Duration) -> Self {
        Self { wait: Some(Wait { replicas, timeout: timeout.min(LONGEST_TIMEOUT) }), ..self }
    }

    /// Accepts a server without an append-only file, such as one with the defaults of Redis. Without this, it is
    /// refused with [`RedisProblem::NoLog`](crate::store::redis::RedisProblem::NoLog).
    ///
    /// # Security
    ///
    /// When such a server crashes, everything since its last snapshot is lost: users are signed out, and what was
    /// revoked since may work again.
    pub fn accept_loss(self) -> Self {
        Self { log: Log::AsItIs, ..self }
    }

    /// Accepts a server that does not let this user check its eviction policy, append-only file, release or role. What
    /// the server does report is checked in any case.
    ///
    /// Without it, such a server is refused with
    /// [`RedisProblem::Unchecked`](crate::store::redis::RedisProblem::Unchecked). The commands are `INFO` and `ROLE`.
    ///
    /// # Security
    ///
    /// Check by other means that the eviction policy is `noeviction`: a server that evicts keys forgets revocations.
    pub fn accept_unchecked(self) -> Self {
        Self { unchecked: Unchecked::Accepted, ..self }
    }

    /// Trusts these certificates, in PEM, instead of those that the system trusts. The address must begin with
    /// `rediss:` and have no `#insecure`; otherwise the store does not connect.
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
            .field("log", &self.log)
            .field("unchecked", &self.unchecked)
            .finish_non_exhaustive()
    }
}
