//! A store in a PostgreSQL database, which several servers may share.

mod columns;
mod connector;
mod error;
mod jobs;
mod keeper;
mod link;
mod options;
mod read;
mod schema;
mod statements;
mod write;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::base::clock::Timestamp;
use crate::store::postgres::jobs::{Action, Answer, Job, PurgeStep, RowWrite};
use crate::store::postgres::keeper::Keeper;
use crate::store::postgres::link::{Access, Link, Session, set_for_transaction};
use crate::store::postgres::read::Reads;
use crate::store::{Engine, Insertion, List, Purge, Replacement, Row, Store, StoreError, Table, Write};

pub use crate::store::postgres::connector::{PostgresConnection, PostgresConnector};
pub use crate::store::postgres::error::{PostgresError, PostgresProblem};
pub use crate::store::postgres::options::PostgresOptions;

/// How many rows one statement of a purge examines. Other writes wait no longer than one such statement.
const PURGE_STEP: usize = 100;
/// The time-out of a migration, which takes longer for larger tables.
const MIGRATION_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// A store in a PostgreSQL database, for one server or many.
///
/// It has two connections to one server, one for reads and one for writes. A read that comes while no other is in
/// progress is sent at once. Concurrent reads share statements. Waiting writes are sent as one statement with one
/// commit. A write is acknowledged when it is committed, with `synchronous_commit` at least `on`: it then survives a
/// crash of the server and, with a synchronous standby, the loss of the server. A write can be read as soon as its wait
/// for the standby is cancelled, so reads are not [settled](Store::reads_settled).
///
/// Every [`StoreError`] has a [`PostgresError`] as its source, except for an unreadable record.
///
/// While the primary refuses writes, as with `default_transaction_read_only`, reads go on: access tokens are checked,
/// and everything that writes fails with a transient error.
///
/// Lost connections are replaced automatically. In the meantime, calls fail with transient errors. If the connection is
/// lost before the answer to a write arrives, the write may have taken effect. It is never sent again, and fails with a
/// transient error too.
///
/// Connections are driven by tasks on the tokio runtime in which [`connect`](Self::connect) was called,
/// and that runtime must keep running. Any executor may poll the futures of the store. Clones share everything; the
/// connections are closed when the last clone is dropped.
///
/// # Examples
///
/// ```no_run
/// use grantor::{AuthorizationServer, Config, PostgresStore};
/// use grantor::store::postgres::PostgresOptions;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let options = PostgresOptions::new("host=db.internal user=grantor dbname=grantor")?;
/// PostgresStore::migrate(&options).await?;
/// let store = PostgresStore::connect(&options).await?;
/// let server = AuthorizationServer::new(Config::platform("https://auth.example"), store)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PostgresStore {
    jobs: mpsc::Sender<Job>,
    reads: Reads,
    options: Arc<PostgresOptions>,
}

impl PostgresStore {
    /// Connects and checks that the tables are those of this release.
    ///
    /// # Errors
    ///
    /// [`PostgresError`] if the database cannot be reached or used as it is. Only
    /// [`Unreachable`](PostgresProblem::Unreachable) and [`ReadOnly`](PostgresProblem::ReadOnly) are worth another
    /// attempt.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime with timers and I/O enabled.
    pub async fn connect(options: &PostgresOptions) -> Result<Self, PostgresError> {
        let link = Link::open(options, Access::ReadWrite).await?;
        Ok(Self::start(options, Some(link)))
    }

    /// Returns a store that connects in the background, for a service that starts before its database does.
    ///
    /// Until a server was reached and its tables were checked, every call fails: with a transient error while
    /// [`connect`](Self::connect) would be worth another attempt, and otherwise with a permanent one, such as for a
    /// wrong password or missing tables. The attempts go on, so the store works once the cause is gone.
    /// [`ready`](crate::AuthorizationServer::ready) returns the cause.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime with timers and I/O enabled.
    #[must_use]
    pub fn connect_lazily(options: &PostgresOptions) -> Self {
        Self::start(options, None)
    }

    fn start(options: &PostgresOptions, link: Option<Link>) -> Self {
        let (jobs, waiting) = mpsc::channel(options.queue_limit);
        let reading = Arc::new(Semaphore::new(options.queue_limit));
        let states = Keeper::start(options.clone(), waiting, link, reading.clone());
        let reads = Reads::start(states, reading, options);
        Self { jobs, reads, options: Arc::new(options.clone()) }
    }

    /// Creates the schema and its tables, or migrates them to this release's version. Does nothing if they have it.
    ///
    /// The user needs the privilege to create them; the user of [`connect`](Self::connect) does not. Any number of
    /// servers may call it at once.
    ///
    /// # Errors
    ///
    /// [`PostgresError`]: [`NotPermitted`](PostgresProblem::NotPermitted) without that privilege,
    /// [`SchemaTooNew`](PostgresProblem::SchemaTooNew) if a later release made the tables.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime with timers and I/O enabled.
    pub async fn migrate(options: &PostgresOptions) -> Result<(), PostgresError> {
        let mut settings = options.clone();
        settings.statement_timeout = MIGRATION_TIMEOUT;
        settings.lock_timeout = MIGRATION_TIMEOUT;
        let mut session = Session::alone(&settings).await?;
        let set = set_for_transaction(&settings, settings.lock_timeout);
        settings.schema.migrate(&mut session.client, &set).await
    }

    /// Returns the SQL that makes the schema and its tables in this release's version, for those who have migrations of
    /// their own. Run it once, in one transaction; [`migrate`](Self::migrate) then finds nothing to do.
    #[must_use]
    pub fn schema_sql(options: &PostgresOptions) -> String {
        options.schema.text()
    }

    /// Puts a job into the queue and waits until it is done.
    async fn done<T>(&self, job: impl FnOnce(Answer<T>) -> Job) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        self.jobs.try_send(job(answer)).map_err(|error| {
            let full = matches!(error, mpsc::error::TrySendError::Full(_));
            PostgresError::from(if full { PostgresProblem::QueueFull } else { PostgresProblem::Stopped })
        })?;
        Ok(answered.await.unwrap_or_else(|_| Err(PostgresProblem::Unanswered.into()))?)
    }

    /// Returns whether the write was applied.
    async fn applied(&self, action: Action, expected: u32, write: Write) -> Result<bool, StoreError> {
        self.done(|answer| Job::Write(Box::new(RowWrite { action, expected, write, answer }))).await
    }
}

impl fmt::Debug for PostgresStore {
    /// Leaves out the password and other parts of the connection string.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Store for PostgresStore {}

impl Engine for PostgresStore {
    async fn find(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.reads.find(table, key).await?)
    }

    async fn insert(&self, write: Write) -> Result<Insertion, StoreError> {
        let applied = self.applied(Action::Insert, 0, write).await?;
        Ok(if applied { Insertion::Inserted } else { Insertion::Exists })
    }

    async fn replace(&self, version: u32, write: Write) -> Result<Replacement, StoreError> {
        let applied = self.applied(Action::Replace, version, write).await?;
        Ok(if applied { Replacement::Replaced } else { Replacement::Lost })
    }

    /// Makes a separate commit, which waits for a synchronous standby like any other.
    async fn confirm(&self, write: Write) -> Result<Replacement, StoreError> {
        let applied = self.applied(Action::Confirm, write.version, write).await?;
        Ok(if applied { Replacement::Replaced } else { Replacement::Lost })
    }

    async fn list(&self, list: &List, after: Option<&[u8]>, limit: usize) -> Result<Vec<Row>, StoreError> {
        Ok(self.reads.list(list, after, limit).await?)
    }

    /// Purges in statements short enough that other writes hardly wait.
    async fn purge(&self, table: Table, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        let (mut left, mut removed) = (limit, 0);
        while left > 0 {
            let limit = left.min(PURGE_STEP);
            let step = self.done(|answer| Job::Purge(PurgeStep { table, now, limit, answer })).await?;
            removed += step.removed;
            left = left.saturating_sub(step.examined);
            if step.examined < limit {
                return Ok(Purge::new(removed).finished());
            }
        }
        Ok(Purge::new(removed))
    }
}
