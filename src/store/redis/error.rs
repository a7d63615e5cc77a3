//! What may be wrong with a server.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use redis::{ErrorKind, ServerErrorKind};

use crate::store::StoreError;

/// A failure of a [`RedisStore`](crate::RedisStore) or of its server.
///
/// It is the source of every [`StoreError`] of such a store that is not a record that cannot be read.
#[derive(Clone, Debug)]
pub struct RedisError {
    problem: RedisProblem,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// The kinds of [`RedisError`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum RedisProblem {
    /// An address, or a certificate for it, cannot be read.
    #[error("the address or a certificate cannot be read")]
    Address,
    /// The clocks of the server and of this machine are further apart than a store can bear.
    #[error("the server's clock is {seconds} seconds from this machine's")]
    #[non_exhaustive]
    Clock {
        /// The difference.
        seconds: u32,
    },
    /// The server belongs to a cluster and was connected as if it stood alone.
    #[error("the server belongs to a cluster")]
    Cluster,
    /// No connection, or it was lost.
    #[error("there is no connection to the server")]
    Connection,
    /// The server wants other credentials, or does not let this user do that.
    #[error("the server does not let this user in, or not do that")]
    Denied,
    /// The server may evict keys when its memory is full, which would lose revocations.
    #[error("the server's eviction policy is {policy}, it has to be noeviction")]
    #[non_exhaustive]
    Evicts {
        /// The policy that is set.
        policy: String,
    },
    /// The server's memory or disk is full.
    #[error("the server's memory or disk is full")]
    Full,
    /// The server stands alone and was connected as one of a cluster.
    #[error("the server belongs to no cluster")]
    NotACluster,
    /// The keys have a layout of a later release.
    #[error("the keys have layout {layout}, which a later release made")]
    #[non_exhaustive]
    Newer {
        /// The layout that they have.
        layout: u32,
    },
    /// The server keeps no append-only file, without which one that starts again has lost what replicas have,
    /// and they follow it.
    #[error("the server keeps no append-only file, which `wait` needs")]
    NoLog,
    /// Fewer replicas have the write than were asked for.
    #[error("too few replicas have the write")]
    NotReplicated,
    /// Too many commands are under way already.
    #[error("too many calls are waiting for the store")]
    QueueFull,
    /// The server refused what it was asked, such as for a key that holds something else.
    #[error("the server refused the command")]
    Refused,
    /// The server is a replica, perhaps since a moment ago.
    #[error("the server is a replica")]
    Replica,
    /// A setting cannot be used.
    #[error("the setting {0} cannot be used")]
    Setting(&'static str),
    /// The server did not answer in time.
    #[error("the server did not answer in time")]
    TimedOut,
    /// The write reached the server so late that it was not applied.
    #[error("the write came too late")]
    TooLate,
    /// The server is older than what this store needs.
    #[error("the server has version {version}, 7.0 is the least")]
    #[non_exhaustive]
    TooOld {
        /// The version that it tells.
        version: String,
    },
    /// What has to hold of the server cannot be checked: this user may not send a command, or its answer lacks it.
    #[error(
        "{what} cannot be checked: the server does not let this user send {command}, or its answer lacks it; allow it \
         (ACL SETUSER user +{command}), or set RedisOptions::accept_unchecked if the server is known to be right"
    )]
    #[non_exhaustive]
    Unchecked {
        /// What cannot be checked.
        what: &'static str,
        /// The command whose answer states it.
        command: &'static str,
    },
    /// The server is starting, failing over, or busy.
    #[error("the server is not ready")]
    Unavailable,
}

impl RedisError {
    /// Returns what was wrong.
    #[must_use]
    pub const fn problem(&self) -> &RedisProblem {
        &self.problem
    }

    /// Tells whether the failure may pass by itself.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(
            self.problem,
            RedisProblem::Connection
                | RedisProblem::Full
                | RedisProblem::NotReplicated
                | RedisProblem::QueueFull
                | RedisProblem::Replica
                | RedisProblem::TimedOut
                | RedisProblem::TooLate
                | RedisProblem::Unavailable
        )
    }

    /// Tells whether the server does not know a script, and so has run none of it.
    pub(super) fn is_unknown_script(&self) -> bool {
        self.is_answer(ServerErrorKind::NoScript)
    }

    /// Tells whether this user may not send that command.
    pub(super) fn is_forbidden(&self) -> bool {
        self.is_answer(ServerErrorKind::NoPerm)
    }

    /// Tells whether the same command may fare better a little later, or at another server.
    pub(super) const fn may_be_sent_again(&self) -> bool {
        matches!(
            self.problem,
            RedisProblem::Connection | RedisProblem::Replica | RedisProblem::TimedOut | RedisProblem::Unavailable
        )
    }

    /// Tells whether the connection is of no more use: a server that is no primary any more may have handed its
    /// name on to another.
    pub(super) fn ends_connection(&self) -> bool {
        self.problem == RedisProblem::Replica
            || self.is_answer(ServerErrorKind::MasterDown)
            || self.of_client().is_some_and(|error| error.is_unrecoverable_error() || error.is_io_error())
    }

    /// Tells whether the key holds something of another type.
    pub(super) fn is_wrong_type(&self) -> bool {
        self.of_client().is_some_and(|error| error.code() == Some("WRONGTYPE"))
    }

    /// Returns the address at which a key is, and whether it is only on its way there.
    pub(super) fn redirection(&self) -> Option<(&str, bool)> {
        let (address, _) = self.of_client()?.redirect_node()?;
        Some((address, self.is_answer(ServerErrorKind::Ask)))
    }

    fn is_answer(&self, kind: ServerErrorKind) -> bool {
        self.of_client().is_some_and(|error| error.kind() == ErrorKind::Server(kind))
    }

    fn of_client(&self) -> Option<&redis::RedisError> {
        self.source.as_ref()?.downcast_ref()
    }
}

impl fmt::Display for RedisError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl Error for RedisError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| -> &(dyn Error + 'static) { source })
    }
}

impl From<RedisProblem> for RedisError {
    fn from(problem: RedisProblem) -> Self {
        Self { problem, source: None }
    }
}

impl From<redis::RedisError> for RedisError {
    fn from(error: redis::RedisError) -> Self {
        Self { problem: problem_of(&error), source: Some(Arc::new(error)) }
    }
}

impl From<redis::ParsingError> for RedisError {
    fn from(error: redis::ParsingError) -> Self {
        Self { problem: RedisProblem::Refused, source: Some(Arc::new(error)) }
    }
}

impl From<RedisError> for StoreError {
    fn from(error: RedisError) -> Self {
        if error.is_transient() { Self::transient(error) } else { Self::permanent(error) }
    }
}

fn problem_of(error: &redis::RedisError) -> RedisProblem {
    if error.is_timeout() {
        return RedisProblem::TimedOut;
    }
    #[expect(clippy::wildcard_enum_match_arm, reason = "a foreign enum, the rest of which are refusals")]
    match error.kind() {
        ErrorKind::AuthenticationFailed => RedisProblem::Denied,
        ErrorKind::Io | ErrorKind::Parse => RedisProblem::Connection,
        ErrorKind::InvalidClientConfig => RedisProblem::Address,
        ErrorKind::Server(kind) => problem_of_answer(kind, error.detail()),
        ErrorKind::Extension => problem_of_code(error.code()),
        _ => RedisProblem::Refused,
    }
}

fn problem_of_answer(kind: ServerErrorKind, detail: Option<&str>) -> RedisProblem {
    #[expect(clippy::wildcard_enum_match_arm, reason = "a foreign enum, the rest of which are refusals")]
    match kind {
        ServerErrorKind::Ask
        | ServerErrorKind::BusyLoading
        | ServerErrorKind::ClusterDown
        | ServerErrorKind::MasterDown
        | ServerErrorKind::Moved
        | ServerErrorKind::TryAgain => RedisProblem::Unavailable,
        ServerErrorKind::NoPerm => RedisProblem::Denied,
        ServerErrorKind::ReadOnly => RedisProblem::Replica,
        ServerErrorKind::ResponseError if detail.is_some_and(|detail| detail.starts_with("max number of clients")) => {
            RedisProblem::Unavailable
        }
        ServerErrorKind::ResponseError if detail.is_some_and(|detail| detail.contains("cluster support disabled")) => {
            RedisProblem::NotACluster
        }
        _ => RedisProblem::Refused,
    }
}

/// The words that an answer begins with and that the client's library has no name for.
fn problem_of_code(code: Option<&str>) -> RedisProblem {
    match code {
        Some("MISCONF" | "OOM") => RedisProblem::Full,
        Some("NOREPLICAS") => RedisProblem::NotReplicated,
        Some("BUSY" | "UNBLOCKED") => RedisProblem::Unavailable,
        Some("NOAUTH" | "WRONGPASS") => RedisProblem::Denied,
        _ => RedisProblem::Refused,
    }
}
