//! Creates a file, and opens connections with the settings that durability depends on.

use std::cell::Cell;
use std::fs;
use std::fs::OpenOptions;
use std::io;
use std::io::{Read, Seek, SeekFrom};
use std::path;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::types::Value;
use rusqlite::{Connection, MAIN_DB, OpenFlags};

use crate::base::entropy::SystemEntropy;
use crate::base::id::letters_and_digits;
use crate::store::sqlite::error::{SqliteError, SqliteProblem};
use crate::store::sqlite::options::SqliteOptions;
use crate::store::sqlite::place::Place;
use crate::store::sqlite::schema::Needs;
use crate::store::sqlite::{place, schema};

/// The pause between two attempts to get a lock. SQLite's own pauses grow so long that a busy process locks out all
/// others.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(1);
/// The size in bytes to which a larger write-ahead log is cut.
const KEPT_OF_LOG: u32 = 64 << 20;

/// Whether a commit is on the disk when it is acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) enum Durability {
    Synced,
    /// For files that are not opened again.
    None,
}

/// Where the file is and how it is opened.
#[derive(Clone, Debug)]
pub(super) struct Database {
    pub(super) path: PathBuf,
    pub(super) place: Place,
    pub(super) busy_timeout: Duration,
    durability: Durability,
}

impl Database {
    /// Creates the file if it is missing and the options allow it, and migrates it to the newest schema. The path must
    /// be [absolute].
    pub(super) fn prepare(path: &Path, durability: Durability, options: &SqliteOptions) -> Result<Self, SqliteError> {
        if !options.must_exist {
            match create(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => created?,
            }
        }
        if is_copy_beside_a_log(path)? {
            return Err(SqliteProblem::ForeignLog.into());
        }
        let path = path.to_owned();
        let mut database = Self { path, place: Place::default(), busy_timeout: options.busy_timeout, durability };
        let connection = database.open_unchecked()?;
        let needs = database.patiently(|| schema::check(&connection))?;
        database.settle(&connection)?;
        if needs == Needs::Migration {
            database.patiently(|| schema::migrate(&connection))?;
        }
        database.place = Place::of(&database.path)?;
        Ok(database)
    }

    /// Opens a connection to the same file, with `cache` bytes for pages. A thread that receives it calls
    /// [`wait_for_locks`] first.
    pub(super) fn connect(&self, cache: usize) -> Result<Connection, SqliteError> {
        // A connection would create a new log even if the file itself was removed.
        self.place.check()?;
        let connection = self.open_unchecked()?;
        self.settle(&connection)?;
        connection.execute_batch(&format!("PRAGMA cache_size = -{}", cache / 1024))?;
        self.place.check()?;
        Ok(connection)
    }

    /// Syncs the log. A process that was killed after a write to the log and before its sync has left commits that
    /// readers find.
    pub(super) fn sync_log(&self) -> Result<(), SqliteError> {
        if matches!(self.durability, Durability::Synced) {
            OpenOptions::new().write(true).open(place::log_of(&self.path)?)?.sync_all()?;
        }
        Ok(())
    }

    fn open_unchecked(&self) -> Result<Connection, SqliteError> {
        if !self.path.try_exists()? {
            return Err(SqliteProblem::Missing.into());
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(&self.path, flags)?;
        if connection.is_readonly(MAIN_DB)? {
            return Err(SqliteProblem::ReadOnly.into());
        }
        wait_for_locks(self.busy_timeout);
        let handler: fn(i32) -> bool = wait_once_more;
        // Since 0.41 it borrows the connection mutably.
        Connection::busy_handler(&mut connection, Some(handler))?;
        Ok(connection)
    }

    fn settle(&self, connection: &Connection) -> Result<(), SqliteError> {
        let synchronous = match self.durability {
            Durability::Synced => "2",
            Durability::None => "0",
        };
        self.patiently(|| set(connection, "journal_mode", "wal"))?;
        set(connection, "synchronous", synchronous)?;
        // On macOS a plain sync leaves the data in the cache of the disk.
        set(connection, "fullfsync", "1")?;
        set(connection, "checkpoint_fullfsync", "1")?;
        // A separate thread makes checkpoints, not the writer in the middle of a commit.
        set(connection, "wal_autocheckpoint", "0")?;
        set(connection, "journal_size_limit", &KEPT_OF_LOG.to_string())?;
        // What others wrote into the schema must not call functions of this process.
        set(connection, "trusted_schema", "0")
    }

    /// Retries while another connection holds a lock, where SQLite itself gives up at once.
    fn patiently<T>(&self, attempt: impl Fn() -> Result<T, SqliteError>) -> Result<T, SqliteError> {
        let mut patience = Patience::new(self.busy_timeout);
        let mut tries = 0;
        loop {
            match attempt() {
                Err(error) if error.problem() == SqliteProblem::Busy && patience.wait(tries) => tries += 1,
                done => return done,
            }
        }
    }
}

/// Returns whether the file is a copy without a log of its own, and a log lies beside it. That log belongs to the file
/// that was there before, and SQLite would apply it to the copy.
///
/// The log is read first: the file states that it has a log before that log has any content.
fn is_copy_beside_a_log(path: &Path) -> io::Result<bool> {
    /// Where the file states how it is read: 1 without a log, and 2 with one.
    const READ_VERSION: u64 = 19;
    let Ok(log) = place::log_of(path) else { return Ok(false) };
    if fs::metadata(log).map_or(true, |log| log.len() == 0) {
        return Ok(false);
    }
    let mut version = [0];
    let mut file = fs::File::open(path)?;
    file.seek(SeekFrom::Start(READ_VERSION))?;
    Ok(file.read(&mut version)? == 1 && version == [1])
}

/// Returns the absolute path, which stays valid after a change of the working directory, and is never one of SQLite's
/// special names.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, SqliteError> {
    if path.parent() == Some(Path::new("")) && path.to_string_lossy().ends_with(":memory:") {
        return Err(SqliteError::from(SqliteProblem::Memory).of(path));
    }
    path::absolute(path).map_err(|error| SqliteError::from(error).of(path))
}

/// Names what cannot be opened: the file, or the folder that it is in.
pub(super) fn explained(error: SqliteError, path: &Path) -> SqliteError {
    let Some(folder) = path.parent() else { return error.of(path) };
    let problem = error.problem();
    let is_refused = matches!(problem, SqliteProblem::Io | SqliteProblem::ReadOnly);
    if problem == SqliteProblem::Missing && folder.is_file() {
        error.or_text(format!("{folder:?} is a file, not a folder"))
    } else if problem == SqliteProblem::Missing && !folder.is_dir() {
        error.or_text(format!("there is no folder {folder:?}; create it first"))
    } else if problem == SqliteProblem::Missing {
        error.or_text(format!("there is no file {path:?}"))
    } else if is_refused && path.is_dir() {
        error.or_text(format!("{path:?} is a folder; name a file in it"))
    } else if is_refused && is_forbidden(folder) {
        let text = format!("this process may not create files in the folder {folder:?}, as SQLite must");
        error.with_problem(SqliteProblem::ReadOnly).or_text(text)
    } else if problem == SqliteProblem::ReadOnly {
        error.or_text(format!("this process may not read and write the file {path:?}"))
    } else {
        error.of(path)
    }
}

/// Returns whether this process may not create files in the folder, by trying to. Any other failure, such as too many
/// open files, says nothing about the folder.
fn is_forbidden(folder: &Path) -> bool {
    let probe = folder.join(format!("grantor-{}", letters_and_digits::<22>(&SystemEntropy)));
    let tried = create(&probe).and_then(|()| fs::remove_file(&probe));
    tried.is_err_and(|error| SqliteError::from(error).problem() == SqliteProblem::ReadOnly)
}

/// Creates an empty file that only its owner may read: it will contain who uses what.
pub(super) fn create(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// A folder that is removed with its contents when this is dropped.
#[derive(Debug)]
pub(super) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    pub(super) fn create() -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("grantor-{}", letters_and_digits::<22>(&SystemEntropy)));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    pub(super) fn file(&self) -> PathBuf {
        self.0.join("store.sqlite")
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // What cannot be removed is left to the operating system, which clears this folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}

thread_local! {
    /// The handler of locks is a plain function before rusqlite 0.41, so the thread keeps how long it waits.
    static PATIENCE: Cell<Patience> = const { Cell::new(Patience::new(Duration::ZERO)) };
}

/// Sets how long the connections of this thread wait for a lock.
pub(super) fn wait_for_locks(timeout: Duration) {
    PATIENCE.set(Patience::new(timeout));
}

/// Decides, after a short wait, whether SQLite tries a lock once more.
fn wait_once_more(tries: i32) -> bool {
    let mut patience = PATIENCE.get();
    let is_tried = patience.wait(tries);
    PATIENCE.set(patience);
    is_tried
}

/// How long to wait for a lock, and since when.
#[derive(Clone, Copy)]
struct Patience {
    timeout: Duration,
    since: Option<Instant>,
}

impl Patience {
    const fn new(timeout: Duration) -> Self {
        Self { timeout, since: None }
    }

    #[expect(clippy::disallowed_methods, reason = "the length of a wait, which no test sets and no rule reads")]
    fn wait(&mut self, tries: i32) -> bool {
        let now = Instant::now();
        if tries == 0 {
            self.since = None;
        }
        let waited = now.duration_since(*self.since.get_or_insert(now));
        if waited < self.timeout {
            thread::sleep(BETWEEN_ATTEMPTS);
        }
        waited < self.timeout
    }
}

/// Changes a setting and reads it back: SQLite ignores what it cannot do.
pub(super) fn set(connection: &Connection, setting: &'static str, value: &str) -> Result<(), SqliteError> {
    connection.execute_batch(&format!("PRAGMA {setting} = {value}"))?;
    let found = match connection.query_row(&format!("PRAGMA {setting}"), [], |row| row.get(0))? {
        Value::Integer(number) => number.to_string(),
        Value::Text(text) => text,
        Value::Null | Value::Real(_) | Value::Blob(_) => String::new(),
    };
    if found == value { Ok(()) } else { Err(SqliteProblem::Setting(setting).into()) }
}
