//! The errors of a Redis store.

use redis::{ErrorKind, ServerErrorKind};

use crate::base::debug_as_text;
use crate::store::StoreError;
use crate::store::error::Cause;

/// A failure of a [`RedisStore`](crate::RedisStore) or of its server.
///
/// It is the source of every [`StoreError`] of such a store, except for unreadable records.
#[derive(Clone, thiserror::Error)]
#[error("{problem}")]
pub struct RedisError {
    problem: RedisProblem,
    source: Option<Cause>,
}

debug_as_text!(RedisError);

/// The kinds of [`RedisError`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum RedisProblem {
    /// An address, or a certificate for it, cannot be read.
    #[error("the address or a certificate cannot be read")]
    Address,
    /// The clocks of the server and of this machine differ by more than ten minutes.
    #[error("the server's clock differs from this machine's by {seconds} seconds, at most 600 are allowed")]
    #[non_exhaustive]
    Clock {
        /// The difference.
        seconds: u32,
    },
    /// The server belongs to a cluster, but was connected to as a standalone server.
    #[error("the server belongs to a cluster; use RedisStore::connect_cluster")]
    Cluster,
    /// There is no connection to the server, or it was lost.
    #[error("there is no connection to the server")]
    Connection,
    /// The server rejected the credentials, or the user lacks a permission.
    #[error("the server rejected the credentials, or the user lacks a permission")]
    Denied,
    /// The server may evict keys when its memory is full, which would lose revocations.
    #[error("the server's eviction policy is {policy}, it must be noeviction")]
    #[non_exhaustive]
    Evicts {
        /// The policy that is set.
        policy: String,
    },
    /// The server's memory or disk is full.
    #[error("the server's memory or disk is full")]
    Full,
    /// The server is standalone, but was connected to as part of a cluster.
    #[error("the server belongs to no cluster; use RedisStore::connect")]
    NotACluster,
    /// The keys have a layout of a later release.
    #[error("the keys have layout {layout}, which a later release made")]
    #[non_exhaustive]
    Newer {
        /// The layout that they have.
        layout: u32,
    },
    /// The server keeps no append-only file. After a crash it would be empty, and its replicas would follow it.
    #[error(
        "the server keeps no append-only file, so a crash would lose what it acknowledged: set appendonly to yes, or \
         RedisOptions::accept_loss, which does not suffice with RedisOptions::wait"
    )]
    NoLog,
    /// Fewer replicas have the write than were requested.
    #[error("too few replicas have the write")]
    NotReplicated,
    /// Too many calls are already in progress.
    #[error("too many calls are waiting for the store")]
    QueueFull,
    /// The server refused the command, for example because the key holds another type.
    #[error("the server refused the command")]
    Refused,
    /// The server is a replica, perhaps since a recent fail-over.
    #[error("the server is a replica")]
    Replica,
    /// A setting cannot be used.
    #[error("the setting {0} cannot be used")]
    Setting(&'static str),
    /// The server did not answer in time.
    #[error("the server did not answer in time")]
    TimedOut,
    /// The write reached the server too late and was not applied.
    #[error("the write reached the server too late and was not applied")]
    TooLate,
    /// The server is older than this store requires.
    #[error("the server has version {version}, this store needs 7.0 or later")]
    #[non_exhaustive]
    TooOld {
        /// The version that the server reports.
        version: String,
    },
    /// A requirement cannot be checked: this user may not send a command, or its answer lacks the value.
    #[error(
        "{what} cannot be checked: the server does not let this user send {command}, or its answer lacks it; allow it \
         (ACL SETUSER user +{command}), or set RedisOptions::accept_unchecked if the server meets the requirement"
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
    /// Returns the kind of failure.
    #[must_use]
    pub const fn problem(&self) -> &RedisProblem {
        &self.problem
    }

    /// Returns whether the failure is transient: a retry may succeed.
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

    /// Returns whether the server does not know a script, and so has run none of it.
    pub(super) fn is_unknown_script(&self) -> bool {
        self.is_answer(ServerErrorKind::NoScript)
    }

    /// Returns whether this user may not send the command.
    pub(super) fn is_forbidden(&self) -> bool {
        self.is_answer(ServerErrorKind::NoPerm)
    }

    /// Returns whether the same command may succeed a little later, or at another server.
    pub(super) const fn may_be_sent_again(&self) -> bool {
        matches!(
            self.problem,
            RedisProblem::Connection | RedisProblem::Replica | RedisProblem::TimedOut | RedisProblem::Unavailable
        )
    }

    /// Returns whether the connection is no longer usable. A server that is no longer a primary may have passed its
    /// name to another.
    pub(super) fn ends_connection(&self) -> bool {
        self.problem == RedisProblem::Replica
            || self.is_answer(ServerErrorKind::MasterDown)
            || self.of_client().is_some_and(|error| error.is_unrecoverable_error() || error.is_io_error())
    }

    /// Returns whether the key holds a value of another type.
    pub(super) fn is_wrong_type(&self) -> bool {
        self.of_client().is_some_and(|error| error.code() == Some("WRONGTYPE"))
    }

    /// Returns the address that has a key, and whether the key is still migrating there.
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

impl From<RedisProblem> for RedisError {
    fn from(problem: RedisProblem) -> Self {
        Self { problem, source: None }
    }
}

impl From<redis::RedisError> for RedisError {
    fn from(error: redis::RedisError) -> Self {
        Self { problem: problem_of(&error), source: Some(Cause::new(error)) }
    }
}

impl From<redis::ParsingError> for RedisError {
    fn from(error: redis::ParsingError) -> Self {
        Self { problem: RedisProblem::Refused, source: Some(Cause::new(error)) }
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

/// Maps the error codes for which the client library has no name.
fn problem_of_code(code: Option<&str>) -> RedisProblem {
    match code {
        Some("MISCONF" | "OOM") => RedisProblem::Full,
        Some("NOREPLICAS") => RedisProblem::NotReplicated,
        Some("BUSY" | "UNBLOCKED") => RedisProblem::Unavailable,
        Some("NOAUTH" | "WRONGPASS") => RedisProblem::Denied,
        _ => RedisProblem::Refused,
    }
}
