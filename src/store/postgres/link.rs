//! The two connections to one server, with their prepared statements.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, Semaphore};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};
use tokio_postgres::error::{DbError, Severity, SqlState};
use tokio_postgres::tls::NoTls;
use tokio_postgres::{AsyncMessage, Client, Connection};

use crate::store::postgres::error::{PostgresError, PostgresProblem};
use crate::store::postgres::options::PostgresOptions;
use crate::store::postgres::statements::{Reads, Writes};

/// A reading and a writing connection to the same server, so that the one finds what the other wrote.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) reader: Client,
    pub(super) reads: Reads,
    /// One permit for each read that may wait.
    pub(super) places: Semaphore,
    pub(super) writer: Client,
    pub(super) writes: Writes,
    pub(super) watch: Arc<Watch>,
    queue_limit: usize,
    lateness: Duration,
    /// How long a statement waits for a row that others have locked.
    pub(super) lock_timeout: Duration,
    clock: ServerClock,
    processes: [Process; 2],
    drivers: [Driver; 2],
}

/// What the connections have reported besides their answers.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Notified when a connection has ended or is no longer usable.
    pub(super) lost: Notify,
    /// Commits that the server reported without having waited for its standby.
    unreplicated: AtomicU64,
}

impl Watch {
    pub(super) fn unreplicated(&self) -> u64 {
        self.unreplicated.load(Ordering::SeqCst)
    }
}

/// The server's process for a connection. Numbers of processes recur, start times do not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Process {
    number: i32,
    started: SystemTime,
}

#[derive(Clone, Copy, Debug)]
struct ServerClock {
    showed: SystemTime,
    when: Instant,
}

impl Link {
    /// Connects, checks the schema, and prepares all statements, within the time for it.
    pub(super) async fn open(settings: &PostgresOptions) -> Result<Self, PostgresError> {
        in_time(settings, Self::open_in_time(settings)).await
    }

    async fn open_in_time(settings: &PostgresOptions) -> Result<Self, PostgresError> {
        let watch = Arc::<Watch>::default();
        let writing = Session::open(settings, &watch).await?;
        let reading = Session::open(settings, &watch).await?;
        if writing.server_started != reading.server_started {
            return Err(PostgresProblem::TwoServers.into());
        }
        settings.schema.check(&writing.client).await?;
        Ok(Self {
            reads: Reads::prepare(&reading.client, &settings.schema).await?,
            writes: Writes::prepare(&writing.client, &settings.schema).await?,
            processes: [reading.process, writing.process],
            drivers: [reading.driver, writing.driver],
            places: Semaphore::new(settings.queue_limit),
            queue_limit: settings.queue_limit,
            lateness: settings.statement_timeout * 3,
            lock_timeout: settings.lock_timeout,
            reader: reading.client,
            writer: writing.client,
            clock: writing.clock,
            watch,
        })
    }

    pub(super) const fn processes(&self) -> [Process; 2] {
        self.processes
    }

    /// Ends those of the server's processes that a lost connection left behind. One that waits for a standby
    /// would keep its locks, and its place among the server's connections, until the standby is back.
    pub(super) async fn end(&self, left_behind: &[Process]) -> Result<(), tokio_postgres::Error> {
        let numbers: Vec<_> = left_behind.iter().map(|process| process.number).collect();
        let starts: Vec<_> = left_behind.iter().map(|process| process.started).collect();
        self.reader.query(END, &[&numbers, &starts]).await.map(drop)
    }

    /// Sets how long writes wait for rows that others have locked.
    pub(super) async fn wait_for_locks(&self, longest: Duration) -> Result<(), tokio_postgres::Error> {
        let milliseconds = longest.max(Duration::from_millis(1)).as_millis().to_string();
        self.writer.query("SELECT set_config('lock_timeout', $1, false)", &[&milliseconds]).await.map(drop)
    }

    /// Returns the time of the server's clock after which a write that is sent now must not be applied. Long before
    /// that, its caller was answered that the outcome is unknown.
    pub(super) fn latest(&self) -> SystemTime {
        self.clock.showed + self.clock.when.elapsed() + self.lateness
    }

    /// Returns whether a caller waits for an answer to a read.
    pub(super) fn is_reading(&self) -> bool {
        self.places.available_permits() < self.queue_limit
    }

    /// Closes both connections, even if they wait for answers.
    pub(super) fn cut(&self) {
        self.drivers.iter().for_each(|driver| driver.0.abort());
    }
}

/// A connection that was set up for this store.
pub(super) struct Session {
    pub(super) client: Client,
    server_started: SystemTime,
    clock: ServerClock,
    process: Process,
    driver: Driver,
}

impl Session {
    /// Connects for a migration.
    pub(super) async fn alone(settings: &PostgresOptions) -> Result<Self, PostgresError> {
        in_time(settings, Self::open(settings, &Arc::default())).await
    }

    async fn open(settings: &PostgresOptions, watch: &Arc<Watch>) -> Result<Self, PostgresError> {
        let (client, driver) = connect(settings, watch).await?;
        let (names, values) = session_settings(settings);
        client.query(SET, &[&names, &values]).await?;
        let row = client.query_one(IDENTIFY, &[]).await?;
        let clock = ServerClock { showed: row.try_get(1)?, when: Instant::now() };
        let process = Process { number: row.try_get(3)?, started: row.try_get(4)? };
        Ok(Self { client, server_started: row.try_get(0)?, clock, process, driver })
    }
}

async fn in_time<T>(
    settings: &PostgresOptions,
    opening: impl Future<Output = Result<T, PostgresError>> + Send,
) -> Result<T, PostgresError> {
    let opened = timeout(settings.connect_timeout, opening).await;
    opened.unwrap_or_else(|_| Err(PostgresProblem::TimedOut.into()))
}

const END: &str = "SELECT pg_terminate_backend(own.pid) FROM pg_stat_activity AS own
    JOIN unnest($1::int4[], $2::timestamptz[]) AS old(pid, started)
    ON own.pid = old.pid AND own.backend_start = old.started";

/// Settings that a server does not know are left out.
const SET: &str = "SELECT set_config(name, value, false) FROM unnest($1::text[], $2::text[]) AS own(name, value)
    WHERE EXISTS (SELECT FROM pg_catalog.pg_settings AS known WHERE known.name = own.name)";

/// Makes the server answer a commit only when it is at least as durable as with `on`. Also returns which of the
/// server's processes this is.
const IDENTIFY: &str = "SELECT pg_postmaster_start_time(), clock_timestamp(), set_config('synchronous_commit',
    CASE WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN 'on'
    ELSE current_setting('synchronous_commit') END, false), pg_backend_pid(),
    (SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid())";

fn session_settings(settings: &PostgresOptions) -> (Vec<&'static str>, Vec<String>) {
    let milliseconds = |span: Duration| span.as_millis().to_string();
    let bounded = [
        ("statement_timeout", milliseconds(settings.statement_timeout)),
        ("lock_timeout", milliseconds(settings.lock_timeout)),
        ("idle_in_transaction_session_timeout", milliseconds(settings.statement_timeout)),
    ];
    let fixed = [
        ("default_transaction_isolation", "read committed"),
        ("search_path", "pg_catalog"),
        ("client_min_messages", "warning"),
        // Every statement finds its rows by an index, whatever the table statistics are.
        ("enable_seqscan", "off"),
        ("enable_bitmapscan", "off"),
        ("enable_hashjoin", "off"),
        ("enable_mergejoin", "off"),
        ("jit", "off"),
        ("plan_cache_mode", "force_generic_plan"),
    ];
    let fixed = fixed.map(|(name, value)| (name, value.to_owned()));
    bounded.into_iter().chain(fixed).unzip()
}

/// The task that moves a connection's bytes; without it the connection is closed.
#[derive(Debug)]
struct Driver(AbortHandle);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn connect(settings: &PostgresOptions, watch: &Arc<Watch>) -> Result<(Client, Driver), PostgresError> {
    let watch = watch.clone();
    let (client, driver) = match &settings.tls {
        Some(tls) => {
            let (client, connection) = settings.config.connect(tls.clone()).await?;
            (client, tokio::spawn(drive(connection, watch)))
        }
        None => {
            let (client, connection) = settings.config.connect(NoTls).await?;
            (client, tokio::spawn(drive(connection, watch)))
        }
    };
    Ok((client, Driver(driver.abort_handle())))
}

async fn drive<S, T>(mut connection: Connection<S, T>, watch: Arc<Watch>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notice(notice) = message
            && may_say_unreplicated(&notice)
        {
            watch.unreplicated.fetch_add(1, Ordering::SeqCst);
        }
    }
    watch.lost.notify_one();
}

/// Returns whether a notice may mean that the wait for the standby was cancelled. The server then acknowledges the
/// commit with a warning that has this code and no other mark.
fn may_say_unreplicated(notice: &DbError) -> bool {
    *notice.code() == SqlState::WARNING && notice.parsed_severity() == Some(Severity::Warning)
}
