//! A store in one durable file, and consistent copies of that file while it is being written.

mod checkpoint;
mod error;
mod file;
mod options;
mod place;
mod rows;
mod schema;
mod session;
mod worker;

pub use crate::store::sqlite::error::{SqliteError, SqliteProblem};
pub use crate::store::sqlite::options::SqliteOptions;

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use futures_channel::oneshot;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use crate::base::clock::Timestamp;
use crate::store::sqlite::checkpoint::Checkpoints;
use crate::store::sqlite::file::{Database, Durability, TemporaryFolder};
use crate::store::sqlite::session::Session;
use crate::store::sqlite::worker::{Access, Worker};
use crate::store::{Engine, Insertion, List, Purge, Replacement, Row, Store, StoreError, Table, Write};

/// Bytes of memory for the pages of the reading thread. Each commit makes it drop them, but the operating system still
/// has them.
const READER_CACHE: usize = 2 << 20;
/// The same for the thread that makes checkpoints, which caches no pages.
const CHECKPOINT_CACHE: usize = 1 << 16;

/// A store in one SQLite file. Acknowledged writes are durable.
///
/// One thread writes: all waiting writes share one transaction and one sync, and are answered when the transaction is
/// on the disk. Another thread reads; the writing thread answers a read only if both are idle. The futures run on any
/// executor. Several processes may open the same file on a local disk, such as a server and an administrator's command,
/// or the old and the new server during a restart.
///
/// If the process forks or changes its root directory, open the store after that: threads do not survive a fork, and
/// the path is resolved repeatedly.
///
/// Clones share everything. The thread that drops the last one waits until all queued writes are done. If the queue is
/// full, a call fails at once with a transient error.
///
/// # Errors
///
/// Every [`StoreError`] of this store has a [`SqliteError`] as its source, or a
/// [`DecodeError`](crate::store::DecodeError).
///
/// # Security
///
/// Only its owner may read and write a new file, since it shows who uses what. It holds no code, token or client
/// secret, only digests.
///
/// Anyone who can replace the file can undo revocations. If the file is removed or replaced while it is open, the next
/// answer is [`SqliteProblem::Replaced`].
///
/// # Examples
///
/// ```
/// use grantor::{AuthorizationServer, Config, SqliteStore};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("grantor-doc-{}", std::process::id()));
/// # std::fs::create_dir(&folder)?;
/// # let path = folder.join("grantor.sqlite");
/// let store = SqliteStore::open(&path)?;
/// let server = AuthorizationServer::new(Config::platform("https://auth.example"), store)?;
/// # drop(server);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SqliteStore {
    inner: Arc<Inner>,
}

/// Dropped in this order: the threads end, then a temporary folder goes.
struct Inner {
    writer: Worker,
    reader: Worker,
    database: Database,
    _folder: Option<TemporaryFolder>,
}

impl SqliteStore {
    /// Opens the file, and creates it if it is missing. Its folder must exist.
    ///
    /// It blocks while the file is opened and migrated to this release's schema: call it when the server starts.
    ///
    /// # Errors
    ///
    /// [`SqliteError`], such as [`SqliteProblem::Newer`] for a file of a newer release and [`SqliteProblem::NotAStore`]
    /// for the database of another program. Such a file is left as it is. The text names the file, or the folder if
    /// that is missing or may not be written.
    ///
    /// # Security
    ///
    /// An existing file keeps its permissions, and its log gets the same ones: a group may be meant to read it. Links
    /// are followed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SqliteError> {
        Self::open_with(path, &SqliteOptions::new())
    }

    /// Opens the file as [`open`](Self::open) does, with other settings.
    ///
    /// # Errors
    ///
    /// [`SqliteError`], as of [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &SqliteOptions) -> Result<Self, SqliteError> {
        let path = file::absolute(path.as_ref())?;
        let database = Database::prepare(&path, Durability::Synced, options);
        let opened = database.and_then(|database| Self::start(database, None, options));
        opened.map_err(|error| file::explained(error, &path))
    }

    /// Opens a new temporary file, which is removed with the store.
    ///
    /// For tests and trials: it works like any other, but does not wait for the disk.
    ///
    /// # Errors
    ///
    /// [`SqliteError`] if the file cannot be created.
    pub fn temporary() -> Result<Self, SqliteError> {
        let options = SqliteOptions::new();
        let folder = TemporaryFolder::create().map_err(|error| SqliteError::from(error).of(&std::env::temp_dir()))?;
        let path = folder.file();
        let database = Database::prepare(&path, Durability::None, &options);
        let opened = database.and_then(|database| Self::start(database, Some(folder), &options));
        opened.map_err(|error| error.of(&path))
    }

    /// Writes a copy to `path` with all writes that were acknowledged before the call. Other writes continue in the
    /// meantime.
    ///
    /// The copy can be opened as a store; only its owner may read and write it. It appears at `path` when it is
    /// complete. Until then, it has the same name with `.partial` appended. The file system must support hard links.
    ///
    /// # Errors
    ///
    /// [`SqliteError`]: [`SqliteProblem::Exists`] if there is a file at `path`, or a partial one of an interrupted
    /// backup.
    pub async fn backup(&self, path: impl Into<PathBuf> + Send) -> Result<(), SqliteError> {
        let path = path.into();
        let database = self.inner.database.clone();
        let (answer, answered) = oneshot::channel();
        let copy = move || drop(answer.send(write_backup(&database, &path).map_err(|error| error.of(&path))));
        thread::Builder::new().name("grantor-sqlite-backup".to_owned()).spawn(copy)?;
        answered.await.unwrap_or_else(|_| Err(SqliteProblem::Stopped.into()))
    }

    async fn ask<T: Send + 'static>(
        &self,
        thread: &Worker,
        access: Access,
        call: impl Fn(&mut Session<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        thread.ask(access, call).await.map_err(|error| error.of(&self.inner.database.path).into())
    }

    fn start(
        mut database: Database,
        folder: Option<TemporaryFolder>,
        options: &SqliteOptions,
    ) -> Result<Self, SqliteError> {
        let connection = database.connect(options.cache)?;
        database.place.add_log(&database.path)?;
        database.sync_log()?;
        let [of_writer, of_reader] = [(); 2].map(|()| database.place.clone());
        let busy_timeout = database.busy_timeout;
        let mut checkpoints = Checkpoints::start(database.connect(CHECKPOINT_CACHE)?, busy_timeout)?;
        let writer = Worker::start("grantor-sqlite-writer", options.queue, move |jobs| {
            file::wait_for_locks(busy_timeout);
            let mut session = Session::new(&connection);
            while let Some(group) = jobs.next_group() {
                if worker::serve(&mut session, group, &of_writer) {
                    checkpoints.after_commit(&mut session);
                }
            }
        })?;
        let connection = database.connect(READER_CACHE)?;
        let reader = Worker::start("grantor-sqlite-reader", options.queue, move |jobs| {
            file::wait_for_locks(busy_timeout);
            let mut session = Session::new(&connection);
            while let Some(group) = jobs.next_group() {
                worker::read(&mut session, group, &of_reader);
            }
        })?;
        Ok(Self { inner: Arc::new(Inner { writer, reader, database, _folder: folder }) })
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.inner.database.path).finish_non_exhaustive()
    }
}

impl Store for SqliteStore {
    /// Returns `true`: readers find a commit only when it is on the disk.
    ///
    /// With a write-ahead log and [`synchronous = FULL`], SQLite first syncs the log and then writes the log's index,
    /// by which readers find a commit (`walFrames` in its `wal.c`). The index that is rebuilt after a process was
    /// killed may also lead to commits that were not synced; [`open`](Self::open) syncs the log before anything is
    /// read.
    ///
    /// [`synchronous = FULL`]: https://www.sqlite.org/pragma.html#pragma_synchronous
    fn reads_settled(&self) -> bool {
        true
    }
}

impl Engine for SqliteStore {
    async fn find(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let Inner { writer, reader, .. } = &*self.inner;
        // The order matters: what takes the writer must use it.
        let thread = if reader.is_idle() && writer.take_idle() { writer } else { reader };
        let key = key.to_vec();
        self.ask(thread, Access::Read, move |session| rows::find(session, table, &key)).await
    }

    async fn insert(&self, write: Write) -> Result<Insertion, StoreError> {
        self.ask(&self.inner.writer, Access::Write, move |session| rows::insert(session, &write)).await
    }

    async fn replace(&self, version: u32, write: Write) -> Result<Replacement, StoreError> {
        self.ask(&self.inner.writer, Access::Write, move |session| rows::replace(session, version, &write)).await
    }

    async fn confirm(&self, write: Write) -> Result<Replacement, StoreError> {
        self.ask(&self.inner.writer, Access::Write, move |session| rows::confirm(session, &write)).await
    }

    async fn list(&self, list: &List, after: Option<&[u8]>, limit: usize) -> Result<Vec<Row>, StoreError> {
        // The empty key comes before all others.
        let (list, after) = (list.clone(), after.unwrap_or_default().to_vec());
        self.ask(&self.inner.reader, Access::Read, move |session| rows::list(session, &list, &after, limit)).await
    }

    async fn purge(&self, table: Table, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        let mut removed = 0;
        let mut left = limit;
        while left > 0 {
            let step = self
                .ask(&self.inner.writer, Access::Write, move |session| rows::purge(session, table, now, left))
                .await?;
            removed += step.removed;
            if step.is_finished {
                return Ok(Purge::new(removed).finished());
            }
            left -= step.examined;
        }
        Ok(Purge::new(removed))
    }
}

/// Bytes of memory for the pages of the source, each of which is read once.
const CACHE: usize = 1 << 20;

/// Copies the current state to `path`, which appears when it is complete.
fn write_backup(database: &Database, path: &Path) -> Result<(), SqliteError> {
    let path = std::path::absolute(path)?;
    if path.try_exists()? {
        return Err(SqliteProblem::Exists.into());
    }
    let partial = partial(&path);
    file::create(&partial).map_err(|error| file::explained(error.into(), &partial))?;
    let written = copy(database, &partial).and_then(|()| finish(&partial, &path));
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    written
}

fn copy(database: &Database, to: &Path) -> Result<(), SqliteError> {
    let source = database.connect(CACHE).map_err(|error| error.of(&database.path))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut copy = Connection::open_with_flags(to, flags)?;
    // All pages in one step are one snapshot. With several steps, every write in between would restart the copy.
    let step = Backup::new(&source, &mut copy)?.step(-1)?;
    if step != StepResult::Done {
        return Err(SqliteProblem::Busy.into());
    }
    // A store's file always has a log. A copy has none, so one that is put beside the log of another file is
    // recognized.
    file::set(&copy, "journal_mode", "delete")?;
    copy.close().map_err(|(_, error)| error.into())
}

fn finish(partial: &Path, path: &Path) -> Result<(), SqliteError> {
    // `hard_link` fails if the target exists, while a rename would overwrite it.
    fs::hard_link(partial, path)?;
    fs::remove_file(partial)?;
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

fn partial(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".partial");
    name.into()
}
