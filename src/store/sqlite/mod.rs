//! Everything in one durable file.

mod backup;
mod checkpoint;
mod error;
mod file;
mod options;
mod place;
mod purge;
mod reader;
mod registry;
mod rows;
mod schema;
mod session;
mod worker;
mod writer;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use async_trait::async_trait;
use futures_channel::oneshot;

use crate::client::Client;
use crate::client::application::{Application, ApplicationFilter, Logo, LogoSlot};
use crate::clock::Timestamp;
use crate::id::{AuthorizationId, ClientId, GrantId};
use crate::store::record::{Authorization, Grant};
use crate::store::sqlite::checkpoint::Checkpoints;
use crate::store::sqlite::file::{Database, Durability, TemporaryFolder};
use crate::store::sqlite::purge::{PurgeStep, STEP};
use crate::store::sqlite::registry::{InsertRegistration, Listed, Look, Part, ReplaceRegistration};
use crate::store::sqlite::rows::{Find, Insert, List, Replace, Tabled};
use crate::store::sqlite::session::Session;
use crate::store::sqlite::worker::Worker;
use crate::store::{
    ClientRegistry, ClientStore, CodeStore, Insertion, Page, Purge, Registration, Replacement, StoreError, TokenStore,
};
use crate::subject::Subject;

pub use crate::store::sqlite::error::{SqliteError, SqliteProblem};
pub use crate::store::sqlite::options::SqliteOptions;

/// Octets of memory for the pages of the thread that reads: each commit makes it drop them, and the
/// operating system has them still.
const READER_CACHE: usize = 2 << 20;
/// The same for the thread that makes checkpoints, which keeps none.
const CHECKPOINT_CACHE: usize = 1 << 16;

/// A store in one SQLite file, durable when it answers.
///
/// One thread writes: all writes that wait share one transaction and one sync, and are answered when
/// it is on the disk. One thread reads. The futures run on any executor. Several processes may open
/// one file, on a local disk: a server and an administrator's command, or the old and the new server of
/// a restart.
///
/// Open it after the process has forked and has changed its root folder, if it does so: no thread outlives
/// a fork, and the path is looked at again and again.
///
/// Clones share everything. When the last one is dropped, that thread waits until what is queued is
/// written. A call for which there is no room in the queue is a transient error at once.
///
/// # Errors
///
/// Every [`StoreError`] of this store has a [`SqliteError`] as its source, or a
/// [`DecodeError`](crate::DecodeError).
///
/// # Security
///
/// A new file may be read and written by its owner alone, since it tells who uses what. It holds no code,
/// token or client secret, only digests.
///
/// Who can replace the file can undo revocations. A file that is removed or replaced while it is open is
/// noticed before the next answer, which is [`SqliteProblem::Replaced`] then.
///
/// # Examples
///
/// ```
/// use grantor::{AuthorizationServer, SqliteStore};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("grantor-doc-{}", std::process::id()));
/// # std::fs::create_dir(&folder)?;
/// # let path = folder.join("grantor.sqlite");
/// let store = SqliteStore::open(&path)?;
/// let server = AuthorizationServer::builder(store).issuer("https://auth.example").build()?;
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
    /// Opens the file, and makes it if there is none; its folder has to be there.
    ///
    /// It blocks while the file is opened and brought to this release's schema: call it when the server
    /// starts.
    ///
    /// # Errors
    ///
    /// [`SqliteError`], such as [`SqliteProblem::Newer`] for a file of a newer release and
    /// [`SqliteProblem::NotAStore`] for the database of another program. Such a file is left as it is.
    ///
    /// # Security
    ///
    /// A file that is there already is taken with the permissions that it has, and gives them to its log: a
    /// group may be meant to look into it. A link is followed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SqliteError> {
        Self::open_with(path, &SqliteOptions::new())
    }

    /// Opens the file as [`open`](Self::open) does, with other settings.
    ///
    /// # Errors
    ///
    /// [`SqliteError`], as of [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &SqliteOptions) -> Result<Self, SqliteError> {
        Self::start(Database::prepare(path.as_ref(), Durability::Synced, options)?, None, options)
    }

    /// Opens a new file in the folder for temporary files, which is removed with the store.
    ///
    /// For tests and trials: it works as any other, but waits for no disk.
    ///
    /// # Errors
    ///
    /// [`SqliteError`] if the file cannot be made.
    pub fn temporary() -> Result<Self, SqliteError> {
        let options = SqliteOptions::new();
        let folder = TemporaryFolder::create()?;
        let database = Database::prepare(&folder.file(), Durability::None, &options)?;
        Self::start(database, Some(folder), &options)
    }

    /// Writes a copy to `path`, which holds all that was acknowledged before the call; writing goes on
    /// meanwhile.
    ///
    /// The copy is a file like the original, for its owner alone: it can be opened as a store. It appears at
    /// `path` when it is complete; until then it is beside it, with `.partial` behind its name. Its file
    /// system has to know hard links.
    ///
    /// # Errors
    ///
    /// [`SqliteError`]: [`SqliteProblem::Exists`] if there is a file at `path`, or a partial one of a
    /// backup that was broken off.
    pub async fn backup(&self, path: impl Into<PathBuf> + Send) -> Result<(), SqliteError> {
        let path = path.into();
        let database = self.inner.database.clone();
        let (answer, answered) = oneshot::channel();
        let copy = move || drop(answer.send(backup::write(&database, &path)));
        thread::Builder::new().name("grantor-sqlite-backup".to_owned()).spawn(copy)?;
        answered.await.unwrap_or_else(|_| Err(SqliteProblem::Stopped.into()))
    }

    fn start(
        mut database: Database,
        folder: Option<TemporaryFolder>,
        options: &SqliteOptions,
    ) -> Result<Self, SqliteError> {
        let connection = database.connect(options.cache)?;
        database.place.add_log(&database.path)?;
        let [of_writer, of_reader] = [(); 2].map(|()| database.place.clone());
        let mut checkpoints = Checkpoints::start(database.connect(CHECKPOINT_CACHE)?)?;
        let writer = Worker::start("grantor-sqlite-writer", options.queue, move |jobs| {
            let mut session = Session::new(&connection);
            while let Some(group) = jobs.next_group() {
                writer::write(&mut session, group, &of_writer);
                checkpoints.after_commit(&mut session);
            }
        })?;
        let connection = database.connect(READER_CACHE)?;
        let reader = Worker::start("grantor-sqlite-reader", options.queue, move |jobs| {
            let mut session = Session::new(&connection);
            while let Some(group) = jobs.next_group() {
                reader::read(&mut session, group, &of_reader);
            }
        })?;
        Ok(Self { inner: Arc::new(Inner { writer, reader, database, _folder: folder }) })
    }

    async fn find_record<R: Tabled>(&self, id: &[u8; 16]) -> Result<Option<Arc<R>>, StoreError> {
        let octets = self.inner.reader.ask(Find { sql: &R::statements().find, id: *id }).await?;
        octets.map(|octets| read(id, &octets)).transpose()
    }

    async fn list_records<R: Tabled>(
        &self,
        subject: &Subject,
        after: Option<&[u8; 16]>,
        limit: usize,
    ) -> Result<Vec<Arc<R>>, StoreError> {
        let list = List { sql: &R::statements().list, subject: subject.clone(), after: after.copied(), limit };
        let rows = self.inner.reader.ask(list).await?;
        rows.iter().map(|(id, octets)| read(id, octets)).collect()
    }

    async fn insert_record<R: Tabled>(&self, record: Arc<R>) -> Result<Insertion, StoreError> {
        Ok(self.inner.writer.ask(Insert::new(record)).await?)
    }

    async fn replace_record<R: Tabled>(&self, version: u32, record: Arc<R>) -> Result<Replacement, StoreError> {
        Ok(self.inner.writer.ask(Replace::new(version, record)).await?)
    }

    async fn purge_records<R: Tabled>(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        let mut removed = 0;
        let mut left = limit;
        while left > 0 {
            let step = left.min(STEP);
            let purged = self.inner.writer.ask(PurgeStep::<R>::new(now, step)).await?;
            removed += purged.removed;
            if purged.looked_at < step {
                return Ok(Purge::new(removed).finished());
            }
            left -= step;
        }
        Ok(Purge::new(removed))
    }

    async fn look(&self, id: &ClientId, of: Part) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.inner.reader.ask(Look { id: id.clone(), of }).await?)
    }
}

fn read<R: Tabled>(id: &[u8; 16], octets: &[u8]) -> Result<Arc<R>, StoreError> {
    R::decode(octets).map(Arc::new).map_err(|error| StoreError::unreadable(id, error))
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.inner.database.path).finish_non_exhaustive()
    }
}

#[async_trait]
impl ClientStore for SqliteStore {
    async fn find(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.current(id).await
    }

    async fn current(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        let octets = self.look(id, Part::Client).await?;
        Ok(octets.map(|octets| Client::decode(&octets)).transpose()?.map(Arc::new))
    }
}

#[async_trait]
impl ClientRegistry for SqliteStore {
    async fn insert(&self, registration: Registration) -> Result<Insertion, StoreError> {
        Ok(self.inner.writer.ask(InsertRegistration(registration.into())).await?)
    }

    async fn replace(&self, version: u32, registration: Registration) -> Result<Replacement, StoreError> {
        Ok(self.inner.writer.ask(ReplaceRegistration { version, with: registration.into() }).await?)
    }

    async fn application(&self, id: &ClientId) -> Result<Option<Arc<Application>>, StoreError> {
        let octets = self.look(id, Part::Application).await?;
        Ok(octets.map(|octets| Application::decode(&octets)).transpose()?.map(Arc::new))
    }

    async fn logo(&self, id: &ClientId, slot: LogoSlot) -> Result<Option<Arc<Logo>>, StoreError> {
        let octets = self.look(id, Part::Logo(slot)).await?;
        Ok(octets.map(Logo::decode).transpose()?.map(Arc::new))
    }

    async fn list(
        &self,
        filter: &ApplicationFilter,
        page: Page<ClientId>,
    ) -> Result<Vec<Arc<Application>>, StoreError> {
        let listed = Listed { filter: filter.clone(), after: page.start().cloned(), limit: page.limit() };
        let rows = self.inner.reader.ask(listed).await?;
        rows.iter().map(|octets| Ok(Arc::new(Application::decode(octets)?))).collect()
    }
}

#[async_trait]
impl CodeStore for SqliteStore {
    async fn find(&self, id: &AuthorizationId) -> Result<Option<Arc<Authorization>>, StoreError> {
        self.find_record(id.octets()).await
    }

    async fn insert(&self, record: Arc<Authorization>) -> Result<Insertion, StoreError> {
        self.insert_record(record).await
    }

    async fn replace(&self, version: u32, record: Arc<Authorization>) -> Result<Replacement, StoreError> {
        self.replace_record(version, record).await
    }

    async fn authorizations_of(
        &self,
        subject: &Subject,
        page: Page<AuthorizationId>,
    ) -> Result<Vec<Arc<Authorization>>, StoreError> {
        self.list_records(subject, page.start().map(AuthorizationId::octets), page.limit()).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        self.purge_records::<Authorization>(now, limit).await
    }
}

#[async_trait]
impl TokenStore for SqliteStore {
    async fn find(&self, id: &GrantId) -> Result<Option<Arc<Grant>>, StoreError> {
        self.find_record(id.octets()).await
    }

    async fn insert(&self, record: Arc<Grant>) -> Result<Insertion, StoreError> {
        self.insert_record(record).await
    }

    async fn replace(&self, version: u32, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        self.replace_record(version, record).await
    }

    async fn grants_of(&self, subject: &Subject, page: Page<GrantId>) -> Result<Vec<Arc<Grant>>, StoreError> {
        self.list_records(subject, page.start().map(GrantId::octets), page.limit()).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        self.purge_records::<Grant>(now, limit).await
    }
}
