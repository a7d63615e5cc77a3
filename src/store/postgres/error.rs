//! What can go wrong with the database, and whether it may pass.

use std::error::Error;
use std::io;
use std::sync::Arc;

use tokio_postgres::error::SqlState;

use crate::store::StoreError;

/// Why a store on PostgreSQL could not be opened or prepared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresError {
    /// The connection string or a certificate cannot be read, or they contradict each other.
    #[error("the connection to the database is not configured well")]
    Configuration(#[source] Box<dyn Error + Send + Sync>),
    /// The name is empty, longer than 63 octets, reserved for the database, or holds a NUL.
    #[error("a schema cannot have this name")]
    SchemaName,
    /// The server did not answer in time, or is starting, stopping or full; it may pass.
    #[error("the database cannot be reached")]
    Unreachable(#[source] Box<dyn Error + Send + Sync>),
    /// The server does not let this user in: the password is wrong, or there is no such user.
    #[error("the database does not let this user in")]
    Refused(#[source] Box<dyn Error + Send + Sync>),
    /// The server's certificate names another host or leads to none of the authorities.
    #[error("the database's certificate cannot be trusted")]
    Untrusted(#[source] Box<dyn Error + Send + Sync>),
    /// The user lacks a right, such as to create the schema.
    #[error("the user of the database lacks a right")]
    NotPermitted(#[source] Box<dyn Error + Send + Sync>),
    /// The tables are not there: run [`PostgresStore::migrate`](crate::PostgresStore::migrate).
    #[error("the database has no tables of this store")]
    SchemaMissing,
    /// The tables are those of an earlier release: run
    /// [`PostgresStore::migrate`](crate::PostgresStore::migrate).
    #[error("the tables have version {found}, this release needs {needed}")]
    #[non_exhaustive]
    SchemaOutdated {
        /// The version found.
        found: u32,
        /// The version that this release needs.
        needed: u32,
    },
    /// The tables are those of a later release that this one cannot work with.
    #[error("the tables need a release that knows version {needed}, this one knows {known}")]
    #[non_exhaustive]
    SchemaTooNew {
        /// The least version that a release must know to work with the tables.
        needed: u32,
        /// The latest version that this release knows.
        known: u32,
    },
    /// Anything else that the database said.
    #[error("the database failed")]
    Database(#[source] Box<dyn Error + Send + Sync>),
}

impl PostgresError {
    /// Tells whether it is worth trying again without changing anything.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }
}

impl From<tokio_postgres::Error> for PostgresError {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.code() {
            Some(code) if code.code().starts_with("28") => Self::Refused(error.into()),
            Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => Self::NotPermitted(error.into()),
            Some(_) if !is_transient(&error) => Self::Database(error.into()),
            None if is_about_a_certificate(&error) => Self::Untrusted(error.into()),
            _ => Self::Unreachable(error.into()),
        }
    }
}

fn is_about_a_certificate(error: &tokio_postgres::Error) -> bool {
    let cause = error.source().and_then(|source| source.downcast_ref::<io::Error>()).and_then(io::Error::get_ref);
    let cause = cause.and_then(|cause| cause.downcast_ref::<rustls::Error>());
    matches!(cause, Some(rustls::Error::InvalidCertificate(_)))
}

/// A failure that many callers are told of.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    transient: bool,
    cause: Arc<dyn Error + Send + Sync>,
}

impl Failure {
    pub(super) fn new(trouble: Trouble) -> Self {
        Self { transient: true, cause: Arc::new(trouble) }
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        Self { transient: is_transient(&error), cause: Arc::new(error) }
    }
}

impl From<PostgresError> for Failure {
    fn from(error: PostgresError) -> Self {
        Self { transient: error.is_transient(), cause: Arc::new(error) }
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        if failure.transient { Self::transient(failure.cause) } else { Self::permanent(failure.cause) }
    }
}

/// Trouble that the store itself finds; all of it may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Trouble {
    #[error("too many calls wait for the database")]
    Full,
    #[error("the runtime that drives the connections has ended")]
    Ended,
    #[error("the connection was lost before the answer came")]
    Unanswered,
    #[error("the database did not answer in time")]
    TimedOut,
    #[error("the server gave up waiting for its standby")]
    NotReplicated,
    #[error("the two connections reached different servers")]
    TwoServers,
}

/// Errors that the statement itself did not cause. Whatever is no word of the server is a connection
/// that was lost.
fn is_transient(error: &tokio_postgres::Error) -> bool {
    let Some(code) = error.code() else { return true };
    // Connections, transactions, resources, the operator, the system under the server.
    ["08", "25", "40", "53", "57", "58"].iter().any(|class| code.code().starts_with(class))
        || is_locked(error)
        || is_late(code)
        || forgot_statements(code)
}

/// The server rolled the statement back because of others; it may be sent again.
pub(super) fn may_be_sent_again(error: &tokio_postgres::Error) -> bool {
    error
        .code()
        .is_some_and(|code| *code == SqlState::T_R_SERIALIZATION_FAILURE || *code == SqlState::T_R_DEADLOCK_DETECTED)
}

/// The server refused the whole statement because of one of its rows; the others may have more luck.
pub(super) fn may_be_split(error: &tokio_postgres::Error) -> bool {
    is_locked(error) || !is_transient(error)
}

/// Others have kept a row locked for longer than a statement waits.
pub(super) fn is_locked(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE)
}

/// Nothing good comes from this connection any more: it is lost, or leads to a server that cannot write.
pub(super) fn ends_connection(error: &tokio_postgres::Error) -> bool {
    error.code().is_none_or(|code| {
        ["08", "57P"].iter().any(|class| code.code().starts_with(class))
            || *code == SqlState::READ_ONLY_SQL_TRANSACTION
            || is_late(code)
            || forgot_statements(code)
    })
}

/// How a statement says that it reached the server too late, or that the server's clock was moved.
fn is_late(code: &SqlState) -> bool {
    *code == SqlState::DIVISION_BY_ZERO
}

/// Prepared statements are gone, or their tables were changed below them.
fn forgot_statements(code: &SqlState) -> bool {
    *code == SqlState::INVALID_SQL_STATEMENT_NAME || *code == SqlState::FEATURE_NOT_SUPPORTED
}
