//! Everything in a PostgreSQL database, which several servers may share.

mod batch;
mod columns;
mod error;
mod job;
mod keeper;
mod link;
mod options;
mod parameters;
mod query;
mod read;
mod registration;
mod schema;
mod statements;
mod tls;
mod write;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_postgres::Statement;

use crate::client::Client;
use crate::client::application::{Application, ApplicationFilter, Logo, LogoSlot};
use crate::clock::Timestamp;
use crate::id::{AuthorizationId, ClientId, GrantId};
use crate::store::postgres::columns::Id;
use crate::store::postgres::job::{Answer, Job, PurgeStep, RegistrationWrite, Row, RowWrite};
use crate::store::postgres::keeper::{Keeper, State};
use crate::store::postgres::link::{Link, Session};
use crate::store::postgres::parameters::Parameter;
use crate::store::postgres::read::{decoded, record, records, rows};
use crate::store::postgres::statements::{Reads, Table};
use crate::store::record::{Authorization, Grant};
use crate::store::{
    ClientRegistry, ClientStore, CodeStore, Insertion, Page, Purge, Registration, Replacement, StoreError, TokenStore,
};
use crate::subject::Subject;

pub use crate::store::postgres::error::{PostgresError, PostgresProblem};
pub use crate::store::postgres::options::PostgresOptions;

/// Rows that one statement of a purge looks at: other writes wait that long, no longer.
const PURGE_STEP: u32 = 100;
/// A migration may take as long as the tables are large.
const MIGRATION_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// A store in a PostgreSQL database, for one server or many.
///
/// It has two connections to one server. The reading one is shared by all callers, who do not wait for
/// each other's answers; what waits to be written is sent as one statement with one commit. A write is
/// answered when its commit is, with `synchronous_commit` at least `on`: what was acknowledged
/// survives a crash of the server, and the loss of it where a synchronous standby is configured.
///
/// Every [`StoreError`] has a [`PostgresError`] as its source, but for a record that cannot be read.
///
/// Lost connections are replaced by themselves. Meanwhile calls fail with errors that may pass; a
/// write whose connection was lost before the answer came may have taken effect, is never sent again,
/// and fails with such an error too.
///
/// Connections are driven by tasks on the tokio runtime in which [`connect`](Self::connect) was called,
/// and that runtime must go on running. The futures of the store themselves may be polled by any
/// executor. Clones share everything; the connections are closed when the last clone is dropped.
///
/// # Examples
///
/// ```no_run
/// use grantor::{AuthorizationServer, PostgresOptions, PostgresStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let options = PostgresOptions::new("host=db.internal user=grantor dbname=grantor")?;
/// PostgresStore::migrate(&options).await?;
/// let store = PostgresStore::connect(&options).await?;
/// let server = AuthorizationServer::builder(store).issuer("https://auth.example").build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PostgresStore {
    jobs: mpsc::Sender<Job>,
    states: watch::Receiver<State>,
    options: Arc<PostgresOptions>,
}

impl PostgresStore {
    /// Connects and checks that the tables are those of this release.
    ///
    /// # Errors
    ///
    /// [`PostgresError`] if the database cannot be reached or used as it is. Only
    /// [`Unreachable`](PostgresProblem::Unreachable) is worth another attempt.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with its timers and its sockets enabled.
    pub async fn connect(options: &PostgresOptions) -> Result<Self, PostgresError> {
        let settings = options.checked()?;
        let link = Link::open(&settings).await?;
        let (jobs, waiting) = mpsc::channel(settings.queue_limit);
        Ok(Self { jobs, states: Keeper::start(settings, waiting, link), options: Arc::new(options.clone()) })
    }

    /// Makes the schema and its tables, or brings them to this release's version; does nothing where
    /// they are.
    ///
    /// The user needs the right to create them, which that of [`connect`](Self::connect) does not. Any
    /// number of servers may call it at once.
    ///
    /// # Errors
    ///
    /// [`PostgresError`]: [`NotPermitted`](PostgresProblem::NotPermitted) without that right,
    /// [`SchemaTooNew`](PostgresProblem::SchemaTooNew) if a later release made the tables.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with its timers and its sockets enabled.
    pub async fn migrate(options: &PostgresOptions) -> Result<(), PostgresError> {
        let mut settings = options.checked()?;
        settings.statement_timeout = MIGRATION_TIMEOUT;
        settings.lock_timeout = MIGRATION_TIMEOUT;
        let mut session = Session::alone(&settings).await?;
        settings.schema.migrate(&mut session.client).await
    }

    async fn rows(
        &self,
        statement: fn(&Reads) -> &Statement,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<tokio_postgres::Row>, StoreError> {
        Ok(rows(&self.states, statement, parameters).await?)
    }

    async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        let rows = self.rows(|reads| &reads.client, &[&id.as_str()]).await?;
        Ok(decoded(&rows, Client::decode)?.pop())
    }

    /// Puts a job into the queue and waits until it is done.
    async fn done<T>(&self, job: impl FnOnce(Answer<T>) -> Job) -> Result<T, StoreError> {
        let (answer, told) = oneshot::channel();
        self.jobs.try_send(job(answer)).map_err(|error| {
            let full = matches!(error, mpsc::error::TrySendError::Full(_));
            PostgresError::from(if full { PostgresProblem::QueueFull } else { PostgresProblem::Stopped })
        })?;
        Ok(told.await.unwrap_or_else(|_| Err(PostgresProblem::Unanswered.into()))?)
    }

    async fn insert_row(&self, table: Table, row: Row) -> Result<Insertion, StoreError> {
        let done = self.done(|answer| Job::Row(RowWrite { table, expected: None, row, answer })).await?;
        Ok(if done { Insertion::Inserted } else { Insertion::Exists })
    }

    async fn replace_row(&self, table: Table, version: u32, row: Row) -> Result<Replacement, StoreError> {
        let done = self.done(|answer| Job::Row(RowWrite { table, expected: Some(version), row, answer })).await?;
        Ok(if done { Replacement::Replaced } else { Replacement::Lost })
    }

    async fn list_rows(
        &self,
        statement: fn(&Reads) -> &Statement,
        subject: &Subject,
        start: Option<Id>,
        limit: usize,
    ) -> Result<Vec<tokio_postgres::Row>, StoreError> {
        let Some(first) = start.map_or(Some(Id([0; 16])), Id::next) else { return Ok(Vec::new()) };
        self.rows(statement, &[&subject.as_str().as_bytes(), &first, &count(limit)]).await
    }

    /// Purges in statements short enough that other writes hardly wait.
    async fn purge(&self, table: Table, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        let (mut left, mut removed) = (limit, 0);
        while left > 0 {
            let limit = u32::try_from(left).unwrap_or(PURGE_STEP).min(PURGE_STEP);
            let step = self.done(|answer| Job::Purge(PurgeStep { table, now, limit, answer })).await?;
            removed += step.removed;
            left = left.saturating_sub(step.looked_at);
            if u32::try_from(step.looked_at).is_ok_and(|looked_at| looked_at < limit) {
                return Ok(Purge::new(removed).finished());
            }
        }
        Ok(Purge::new(removed))
    }
}

/// A count as a parameter of `LIMIT`.
fn count(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

impl fmt::Debug for PostgresStore {
    /// Leaves out the password and whatever else the connection string holds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("options", &self.options).finish_non_exhaustive()
    }
}

#[async_trait]
impl ClientStore for PostgresStore {
    async fn find(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.client(id).await
    }

    async fn current(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.client(id).await
    }
}

#[async_trait]
impl ClientRegistry for PostgresStore {
    async fn insert(&self, registration: Registration) -> Result<Insertion, StoreError> {
        let write = |answer| RegistrationWrite { expected: None, registration, answer };
        let done = self.done(|answer| Job::Registration(Box::new(write(answer)))).await?;
        Ok(if done { Insertion::Inserted } else { Insertion::Exists })
    }

    async fn replace(&self, version: u32, registration: Registration) -> Result<Replacement, StoreError> {
        let write = |answer| RegistrationWrite { expected: Some(version), registration, answer };
        let done = self.done(|answer| Job::Registration(Box::new(write(answer)))).await?;
        Ok(if done { Replacement::Replaced } else { Replacement::Lost })
    }

    async fn application(&self, id: &ClientId) -> Result<Option<Arc<Application>>, StoreError> {
        let rows = self.rows(|reads| &reads.application, &[&id.as_str()]).await?;
        Ok(decoded(&rows, Application::decode)?.pop())
    }

    async fn logo(&self, id: &ClientId, slot: LogoSlot) -> Result<Option<Arc<Logo>>, StoreError> {
        let statement: fn(&Reads) -> &Statement = match slot {
            LogoSlot::InForce => |reads| &reads.logo,
            LogoSlot::Proposed => |reads| &reads.proposed_logo,
        };
        let rows = self.rows(statement, &[&id.as_str()]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let octets: Option<Vec<u8>> = row.try_get(0).map_err(PostgresError::from)?;
        Ok(octets.map(Logo::decode).transpose()?.map(Arc::new))
    }

    async fn list(
        &self,
        filter: &ApplicationFilter,
        page: Page<ClientId>,
    ) -> Result<Vec<Arc<Application>>, StoreError> {
        let key = filter.key();
        let after = page.start().map_or("", ClientId::as_str);
        let parameters: [Parameter<'_>; 3] = [&key.as_bytes(), &after, &count(page.limit())];
        let rows = self.rows(|reads| &reads.applications, &parameters).await?;
        decoded(&rows, Application::decode)
    }
}

#[async_trait]
impl CodeStore for PostgresStore {
    async fn find(&self, id: &AuthorizationId) -> Result<Option<Arc<Authorization>>, StoreError> {
        let rows = self.rows(|reads| &reads.authorizations.find, &[&Id(*id.octets())]).await?;
        rows.first().map(|row| record(id.octets(), row)).transpose()
    }

    async fn insert(&self, record: Arc<Authorization>) -> Result<Insertion, StoreError> {
        self.insert_row(Table::Authorizations, Row::from(&record)).await
    }

    async fn replace(&self, version: u32, record: Arc<Authorization>) -> Result<Replacement, StoreError> {
        self.replace_row(Table::Authorizations, version, Row::from(&record)).await
    }

    async fn authorizations_of(
        &self,
        subject: &Subject,
        page: Page<AuthorizationId>,
    ) -> Result<Vec<Arc<Authorization>>, StoreError> {
        let start = page.start().map(|id| Id(*id.octets()));
        let rows = self.list_rows(|reads| &reads.authorizations.list, subject, start, page.limit()).await?;
        records(&rows)
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        self.purge(Table::Authorizations, now, limit).await
    }
}

#[async_trait]
impl TokenStore for PostgresStore {
    async fn find(&self, id: &GrantId) -> Result<Option<Arc<Grant>>, StoreError> {
        let rows = self.rows(|reads| &reads.grants.find, &[&Id(*id.octets())]).await?;
        rows.first().map(|row| record(id.octets(), row)).transpose()
    }

    async fn insert(&self, record: Arc<Grant>) -> Result<Insertion, StoreError> {
        self.insert_row(Table::Grants, Row::from(&record)).await
    }

    async fn replace(&self, version: u32, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        self.replace_row(Table::Grants, version, Row::from(&record)).await
    }

    async fn grants_of(&self, subject: &Subject, page: Page<GrantId>) -> Result<Vec<Arc<Grant>>, StoreError> {
        let start = page.start().map(|id| Id(*id.octets()));
        let rows = self.list_rows(|reads| &reads.grants.list, subject, start, page.limit()).await?;
        records(&rows)
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        self.purge(Table::Grants, now, limit).await
    }
}
