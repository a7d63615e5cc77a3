//! The errors of a PostgreSQL store.

use std::error::Error;
use std::io;

use tokio_postgres::error::{DbError, SqlState};

use crate::base::debug_as_text;
use crate::store::StoreError;
use crate::store::error::Cause;

/// A failure of a [`PostgresStore`](crate::PostgresStore) or of its database.
///
/// It is the source of every [`StoreError`] of such a store, except for unreadable records.
#[derive(Clone, thiserror::Error)]
#[error("{problem}")]
pub struct PostgresError {
    problem: PostgresProblem,
    source: Option<Cause>,
}

debug_as_text!(PostgresError);

/// The kinds of [`PostgresError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresProblem {
    /// The connection string or a certificate is invalid, or they contradict each other.
    #[error("the connection string or a certificate is invalid")]
    Configuration,
    /// The server rolled the statement back several times because of concurrent transactions.
    #[error("the statement conflicted with concurrent transactions")]
    Contended,
    /// Any other error of the database.
    #[error("the database failed")]
    Database,
    /// The server cannot write: its disk is full, or a quota or limit of its user is reached.
    #[error("the disk of the database is full, or a quota of its user is reached")]
    Full,
    /// Another transaction kept a row locked for longer than a statement waits.
    #[error("another transaction keeps a row locked")]
    Locked,
    /// The user lacks a privilege, such as the one to create the schema.
    #[error("the user of the database lacks a privilege")]
    NotPermitted,
    /// The server stopped waiting for its standby: the write is committed, but a fail-over may lose it.
    #[error("the server stopped waiting for its standby")]
    NotReplicated,
    /// Too many calls are already waiting.
    #[error("too many calls are waiting for the database")]
    QueueFull,
    /// The primary refuses writes for now, or the server is a standby.
    #[error("the database refuses writes")]
    ReadOnly,
    /// The server rejected the login: the password is wrong, there is no such user, or `pg_hba.conf` does not admit it.
    #[error("the database rejected the login: the user, the password, or its rules in pg_hba.conf")]
    Refused,
    /// The tables are missing: run [`PostgresStore::migrate`](crate::PostgresStore::migrate).
    #[error("the tables of this store are missing; run PostgresStore::migrate")]
    SchemaMissing,
    /// The name is empty, longer than 63 bytes, reserved for the database, or holds a NUL.
    #[error("the schema name must have 1 to 63 bytes, contain no NUL, and not be reserved")]
    SchemaName,
    /// The tables are those of an earlier release: run
    /// [`PostgresStore::migrate`](crate::PostgresStore::migrate).
    #[error("the tables have version {found}, this release needs {needed}; run PostgresStore::migrate")]
    #[non_exhaustive]
    SchemaOutdated {
        /// The version found.
        found: u32,
        /// The version that this release needs.
        needed: u32,
    },
    /// The tables are those of a later release that this one cannot work with.
    #[error("the tables need a release that knows version {needed}, this one knows only {known}")]
    #[non_exhaustive]
    SchemaTooNew {
        /// The least version that a release must know to work with the tables.
        needed: u32,
        /// The latest version that this release knows.
        known: u32,
    },
    /// The runtime that drives the connections has ended.
    #[error("the runtime that drives the connections has ended")]
    Stopped,
    /// The server ended the statement because it took too long, or did not answer in time.
    #[error("the database did not answer in time")]
    TimedOut,
    /// The two connections reached different servers, as during a fail-over.
    #[error("the two connections reached different servers")]
    TwoServers,
    /// The connection was lost before the answer came: a write may have been done or not.
    #[error("the connection was lost before the answer came")]
    Unanswered,
    /// The server cannot be reached, or is starting, stopping or full.
    #[error("the database cannot be reached")]
    Unreachable,
    /// The server's certificate names another host, or no trusted authority issued it.
    #[error(
        "the database's certificate names another host than the connection string, or no trusted authority issued it: \
         PostgresOptions::root_certificates sets the authorities"
    )]
    Untrusted,
}

impl PostgresError {
    pub(super) fn new(problem: PostgresProblem, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { problem, source: Some(Cause::new(source)) }
    }

    /// Returns the kind of failure.
    #[must_use]
    pub const fn problem(&self) -> PostgresProblem {
        self.problem
    }

    /// Returns whether the failure is transient: a retry may succeed.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self.problem {
            PostgresProblem::Contended
            | PostgresProblem::Full
            | PostgresProblem::Locked
            | PostgresProblem::NotReplicated
            | PostgresProblem::QueueFull
            | PostgresProblem::ReadOnly
            | PostgresProblem::Stopped
            | PostgresProblem::TimedOut
            | PostgresProblem::TwoServers
            | PostgresProblem::Unanswered
            | PostgresProblem::Unreachable => true,
            PostgresProblem::Configuration
            | PostgresProblem::Database
            | PostgresProblem::NotPermitted
            | PostgresProblem::Refused
            | PostgresProblem::SchemaMissing
            | PostgresProblem::SchemaName
            | PostgresProblem::SchemaOutdated { .. }
            | PostgresProblem::SchemaTooNew { .. }
            | PostgresProblem::Untrusted => false,
        }
    }
}

impl From<PostgresProblem> for PostgresError {
    fn from(problem: PostgresProblem) -> Self {
        Self { problem, source: None }
    }
}

impl From<tokio_postgres::Error> for PostgresError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self { problem: problem_of(&error), source: Some(Cause::new(error)) }
    }
}

impl From<PostgresError> for StoreError {
    fn from(error: PostgresError) -> Self {
        if error.is_transient() { Self::transient(error) } else { Self::permanent(error) }
    }
}

/// Returns the problem of an error. One that the server did not report is about a connection that failed or was lost.
fn problem_of(error: &tokio_postgres::Error) -> PostgresProblem {
    let Some(code) = error.code() else {
        return if is_about_a_certificate(error) {
            PostgresProblem::Untrusted
        } else if is_about_writes(error) {
            PostgresProblem::ReadOnly
        } else {
            PostgresProblem::Unreachable
        };
    };
    if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        PostgresProblem::ReadOnly
    } else if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        PostgresProblem::NotPermitted
    } else if *code == SqlState::LOCK_NOT_AVAILABLE {
        PostgresProblem::Locked
    } else if *code == SqlState::QUERY_CANCELED || is_late(code) {
        PostgresProblem::TimedOut
    } else if forgot_statements(code) {
        PostgresProblem::Unreachable
    } else if is_full(error, code) {
        PostgresProblem::Full
    } else {
        // The class: authorization, transactions, or connections, resources, the operator, the operating system.
        match code.code().get(..2) {
            Some("28") => PostgresProblem::Refused,
            Some("40") => PostgresProblem::Contended,
            Some("08" | "25" | "53" | "57" | "58") => PostgresProblem::Unreachable,
            _ => PostgresProblem::Database,
        }
    }
}

fn io_error(error: &tokio_postgres::Error) -> Option<&io::Error> {
    error.source().and_then(|source| source.downcast_ref())
}

/// Returns whether the library refused a session because of its attributes. An error of the system has a number.
fn is_about_writes(error: &tokio_postgres::Error) -> bool {
    io_error(error)
        .is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none())
}

fn is_about_a_certificate(error: &tokio_postgres::Error) -> bool {
    let cause = io_error(error).and_then(io::Error::get_ref);
    let cause = cause.and_then(|cause| cause.downcast_ref::<rustls::Error>());
    matches!(cause, Some(rustls::Error::InvalidCertificate(_)))
}

/// Returns whether the server rolled the statement back because of others, so that it may be sent again.
pub(super) fn may_be_sent_again(error: &tokio_postgres::Error) -> bool {
    error
        .code()
        .is_some_and(|code| *code == SqlState::T_R_SERIALIZATION_FAILURE || *code == SqlState::T_R_DEADLOCK_DETECTED)
}

/// Returns whether the server may have refused the whole statement because of one row, so that the others may succeed.
pub(super) fn may_be_split(error: &PostgresError) -> bool {
    error.problem() == PostgresProblem::Locked || !error.is_transient()
}

/// Returns whether the connection is no longer usable: it is lost, or leads to a server that cannot write.
pub(super) fn ends_connection(error: &tokio_postgres::Error) -> bool {
    error.code().is_none_or(|code| {
        ["08", "57P"].iter().any(|class| code.code().starts_with(class))
            || *code == SqlState::READ_ONLY_SQL_TRANSACTION
            || is_late(code)
            || forgot_statements(code)
    })
}

/// Returns whether the server found no room for a page of a table. It has a code of its own for a full disk only. For a
/// quota or a limit of its user, only the function that failed shows what happened.
fn is_full(error: &tokio_postgres::Error, code: &SqlState) -> bool {
    let routine = error.as_db_error().and_then(DbError::routine);
    let is_of_pages = || routine.is_some_and(|name| matches!(name, "mdextend" | "mdzeroextend"));
    *code == SqlState::DISK_FULL || (*code == SqlState::INTERNAL_ERROR && is_of_pages())
}

/// Returns whether a statement reached the server too late, or the server's clock was changed.
fn is_late(code: &SqlState) -> bool {
    *code == SqlState::DIVISION_BY_ZERO
}

/// Returns whether prepared statements are gone, or their tables have changed.
fn forgot_statements(code: &SqlState) -> bool {
    *code == SqlState::INVALID_SQL_STATEMENT_NAME || *code == SqlState::FEATURE_NOT_SUPPORTED
}
