//! The errors of a SQLite store.

use std::path::Path;
use std::{fmt, io};

use rusqlite::ErrorCode;

use crate::base::debug_as_text;
use crate::store::StoreError;
use crate::store::error::Cause;

/// A failure of a [`SqliteStore`](crate::SqliteStore) or of its file.
///
/// It is the source of every [`StoreError`] of such a store, except for unreadable records.
#[derive(Clone, thiserror::Error)]
pub struct SqliteError {
    problem: SqliteProblem,
    /// The file or folder and what is wrong with it, once it is known which one it is.
    text: Option<Box<str>>,
    source: Option<Cause>,
}

debug_as_text!(SqliteError);

/// The kinds of [`SqliteError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum SqliteProblem {
    /// Another process or connection held the file for longer than the busy time-out.
    #[error("another connection has locked the file")]
    Busy,
    /// The file is damaged, or is not a SQLite database.
    #[error("the file is damaged, or is not a SQLite database")]
    Damaged,
    /// A backup was to be written to a path where a file exists.
    #[error("a file of that name already exists")]
    Exists,
    /// The file is a copy that [`backup`](crate::SqliteStore::backup) made, and the `-wal` beside it belongs to the
    /// file that was there before. Nothing was changed.
    #[error(
        "the file is a copy, and the -wal beside it belongs to the file that was there before: stop every process, and \
         remove the -wal and the -shm"
    )]
    ForeignLog,
    /// The disk or the memory is full.
    #[error("the disk or the memory is full")]
    Full,
    /// The operating system failed to open, read or write the file.
    #[error("the file could not be opened, read or written")]
    Io,
    /// The path is SQLite's name for a database in memory, `:memory:`.
    #[error("a file is needed; use MemoryStore, or for tests SqliteStore::temporary")]
    Memory,
    /// There is no file at the path, or no folder for it.
    #[error("there is no such file or folder")]
    Missing,
    /// The file was written by a newer release, whose schema this one does not know.
    #[error("the file has schema {found}, this release knows only {known}")]
    Newer {
        /// The schema of the file.
        found: i64,
        /// The newest schema that this release knows.
        known: i64,
    },
    /// The file is a SQLite database, but not a store of this crate.
    #[error("the file is a database of another program")]
    NotAStore,
    /// A call panicked. Nothing of it is stored, and the store still works.
    #[error("the call panicked")]
    Panicked,
    /// Too many calls are already waiting.
    #[error("too many calls are waiting for the store")]
    QueueFull,
    /// The process may not open or write the file, or write in its folder.
    #[error("this process may not open or write the file, or write in its folder")]
    ReadOnly,
    /// The file was removed, renamed or replaced while the store had it open, or its log was.
    ///
    /// A write that fails with it may be in the original file.
    #[error("the path leads to another file than the one that was opened")]
    Replaced,
    /// SQLite refused a statement, for example because a record is too large.
    #[error("SQLite refused the statement")]
    Refused,
    /// A setting that durability depends on is not available for this file, for example on a network file system.
    #[error("the setting {0} is not available for this file")]
    Setting(&'static str),
    /// The store's threads have ended.
    #[error("the store has stopped")]
    Stopped,
}

impl SqliteError {
    /// Names the file, unless the text names one already.
    pub(super) fn of(self, path: &Path) -> Self {
        let met = self.source.as_deref().map(|source| format!(": {source}")).unwrap_or_default();
        let text = format!("{path:?}: {}{met}", self.problem);
        self.or_text(text)
    }

    /// Sets the text, unless there is one already.
    pub(super) fn or_text(self, text: String) -> Self {
        Self { text: self.text.or_else(|| Some(text.into())), ..self }
    }

    /// Sets the kind of failure, once more is known about it.
    pub(super) fn with_problem(self, problem: SqliteProblem) -> Self {
        Self { problem, ..self }
    }

    /// Returns the kind of failure.
    #[must_use]
    pub const fn problem(&self) -> SqliteProblem {
        self.problem
    }

    /// Returns whether the failure is transient: a retry may succeed.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self.problem, SqliteProblem::Busy | SqliteProblem::Full | SqliteProblem::Io | SqliteProblem::QueueFull)
    }
}

impl fmt::Display for SqliteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Some(text) => f.write_str(text),
            None => self.problem.fmt(f),
        }
    }
}

impl From<SqliteProblem> for SqliteError {
    fn from(problem: SqliteProblem) -> Self {
        Self { problem, text: None, source: None }
    }
}

impl From<rusqlite::Error> for SqliteError {
    fn from(error: rusqlite::Error) -> Self {
        let problem = error.sqlite_error_code().map_or(SqliteProblem::Refused, problem_of);
        Self { problem, text: None, source: Some(Cause::new(error)) }
    }
}

impl From<io::Error> for SqliteError {
    fn from(error: io::Error) -> Self {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "a foreign enum that grows, most of which a store need not distinguish"
        )]
        let problem = match error.kind() {
            io::ErrorKind::AlreadyExists => SqliteProblem::Exists,
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => SqliteProblem::Missing,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => SqliteProblem::ReadOnly,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => SqliteProblem::Full,
            _ => SqliteProblem::Io,
        };
        Self { problem, text: None, source: Some(Cause::new(error)) }
    }
}

impl From<SqliteError> for StoreError {
    fn from(error: SqliteError) -> Self {
        if error.is_transient() { Self::transient(error) } else { Self::permanent(error) }
    }
}

fn problem_of(code: ErrorCode) -> SqliteProblem {
    #[expect(clippy::wildcard_enum_match_arm, reason = "a foreign enum, the rest of which are mistakes in a statement")]
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed => {
            SqliteProblem::Busy
        }
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => SqliteProblem::Damaged,
        ErrorCode::DiskFull | ErrorCode::OutOfMemory => SqliteProblem::Full,
        ErrorCode::SystemIoFailure | ErrorCode::CannotOpen => SqliteProblem::Io,
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => SqliteProblem::ReadOnly,
        _ => SqliteProblem::Refused,
    }
}
