//! One file: making it, and opening connections whose settings durability rests on.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{self, Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::types::Value;
use rusqlite::{Connection, MAIN_DB, OpenFlags};

use crate::entropy::SystemEntropy;
use crate::id::letters_and_digits;
use crate::store::sqlite::error::{SqliteError, SqliteProblem};
use crate::store::sqlite::options::SqliteOptions;
use crate::store::sqlite::place::{self, Place};
use crate::store::sqlite::schema::{self, Needs};

/// Between two looks at a lock that another process has; SQLite's own waits grow so long that a busy
/// process leaves no other one in.
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);
/// The bytes to which the write-ahead log is cut after it has been larger.
const KEPT_OF_LOG: u32 = 64 << 20;

/// Whether a commit is on the disk when it is acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) enum Durability {
    Synced,
    /// For files that nobody opens again.
    None,
}

/// Where the file is and how it is opened.
#[derive(Clone, Debug)]
pub(super) struct Database {
    pub(super) path: PathBuf,
    pub(super) place: Place,
    busy_timeout: Duration,
    durability: Durability,
}

impl Database {
    /// Makes the file if there is none and that is allowed, and brings it to the newest schema.
    pub(super) fn prepare(path: &Path, durability: Durability, options: &SqliteOptions) -> Result<Self, SqliteError> {
        // An absolute path outlives a change of folder, and is never read as one of SQLite's special names.
        let path = path::absolute(path)?;
        if !options.must_exist {
            match create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) if place::is_missing(&error) => return Err(SqliteError::missing(&path)),
                created => created?,
            }
        }
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

    /// Opens a connection to the same file, with `cache` bytes for pages.
    pub(super) fn connect(&self, cache: usize) -> Result<Connection, SqliteError> {
        // A connection to what is left of a file would make a new log for it.
        self.place.check()?;
        let connection = self.open_unchecked()?;
        self.settle(&connection)?;
        connection.execute_batch(&format!("PRAGMA cache_size = -{}", cache / 1024))?;
        self.place.check()?;
        Ok(connection)
    }

    /// Syncs the log: a process that was killed between writing it and its sync has left commits that are found.
    pub(super) fn sync_log(&self) -> Result<(), SqliteError> {
        if matches!(self.durability, Durability::Synced) {
            OpenOptions::new().write(true).open(place::log_of(&self.path)?)?.sync_all()?;
        }
        Ok(())
    }

    fn open_unchecked(&self) -> Result<Connection, SqliteError> {
        if !self.path.try_exists()? {
            return Err(SqliteError::missing(&self.path));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(&self.path, flags)?;
        if connection.is_readonly(MAIN_DB)? {
            return Err(SqliteProblem::ReadOnly.into());
        }
        connection.busy_handler(Some(patience(self.busy_timeout)))?;
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
        // Checkpoints are made beside the writer, not by it in the middle of a commit.
        set(connection, "wal_autocheckpoint", "0")?;
        set(connection, "journal_size_limit", &KEPT_OF_LOG.to_string())?;
        // No function of this process is called by what somebody wrote into the schema.
        set(connection, "trusted_schema", "0")
    }

    /// Tries again while another connection is in the way, where SQLite itself gives up at once.
    fn patiently<T>(&self, attempt: impl Fn() -> Result<T, SqliteError>) -> Result<T, SqliteError> {
        let mut wait_on = patience(self.busy_timeout);
        let mut tries = 0;
        loop {
            match attempt() {
                Err(error) if error.problem() == SqliteProblem::Busy && wait_on(tries) => tries += 1,
                done => return done,
            }
        }
    }
}

/// Makes an empty file that its owner alone may read: it will hold who uses what.
pub(super) fn create(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// A folder that is removed with everything in it.
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

/// Answers whether to look at a lock once more, after a short wait.
fn patience(timeout: Duration) -> impl FnMut(i32) -> bool + Send + 'static {
    let mut since = None;
    #[expect(clippy::disallowed_methods, reason = "the length of a wait, which no test sets and no rule reads")]
    move |looks| {
        let now = Instant::now();
        if looks == 0 {
            since = None;
        }
        let waited = now.duration_since(*since.get_or_insert(now));
        if waited < timeout {
            thread::sleep(BETWEEN_LOOKS);
        }
        waited < timeout
    }
}

/// Sets it and reads it back: SQLite ignores what it cannot do.
fn set(connection: &Connection, setting: &'static str, value: &str) -> Result<(), SqliteError> {
    connection.execute_batch(&format!("PRAGMA {setting} = {value}"))?;
    let found = match connection.query_row(&format!("PRAGMA {setting}"), [], |row| row.get(0))? {
        Value::Integer(number) => number.to_string(),
        Value::Text(text) => text,
        Value::Null | Value::Real(_) | Value::Blob(_) => String::new(),
    };
    if found == value { Ok(()) } else { Err(SqliteProblem::Setting(setting).into()) }
}
