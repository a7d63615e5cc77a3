//! The two connections to one server, with their prepared statements.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use futures_util::future::join3;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};
use tokio_postgres::config::{LoadBalanceHosts, TargetSessionAttrs};
use tokio_postgres::error::{DbError, Severity, SqlState};
use tokio_postgres::types::Type;
use tokio_postgres::{AsyncMessage, Client, Row};

use crate::base::entropy::SystemEntropy;
use crate::base::id::letters_and_digits;
use crate::store::Table;
use crate::store::postgres::connector::{Messages, by_string, failed};
use crate::store::postgres::error::{PostgresError, PostgresProblem};
use crate::store::postgres::options::PostgresOptions;
use crate::store::postgres::statements::{Parameter, ReadStatements, Sent, WriteStatements, query};

/// A reading and a writing connection to the same server, so that the one finds what the other wrote. One writing
/// connection makes fewer commits than a pool, since all waiting writes become one statement.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) access: Access,
    pub(super) reader: Client,
    pub(super) reads: ReadStatements,
    pub(super) writer: Client,
    pub(super) writes: WriteStatements,
    pub(super) watch: Arc<Watch>,
    pub(super) settings: PostgresOptions,
    /// The rows that others kept locked for longer than a write waits.
    pub(super) locked: LockedRows,
    clock: ServerClock,
    /// Those of the server's processes that serve this store alone: none through a pooler.
    processes: Vec<Process>,
    /// Through a pooler: how long each transaction waits for locks, in milliseconds.
    lock_millis: Option<AtomicU64>,
    drivers: [Driver; 2],
}

/// What a primary must accept for a link to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    ReadWrite,
    /// The primary refuses writes for now. A standby refuses them too, but may return outdated rows.
    ReadOnly,
}

/// The rows that others kept locked for longer than a write waits, until they are free or were forgotten. Their writes
/// go apart, so that no other write waits for them again.
#[derive(Debug, Default)]
pub(super) struct LockedRows(Mutex<HashMap<(Table, Vec<u8>), Instant>>);

impl LockedRows {
    /// How long a row that nobody writes is remembered.
    const REMEMBERED: Duration = Duration::from_secs(60);
    /// The most rows that are remembered.
    const MAX: usize = 1000;

    pub(super) fn contains(&self, table: Table, key: &[u8]) -> bool {
        let rows = self.rows();
        // Nearly always there is none, and no key is copied.
        !rows.is_empty() && rows.contains_key(&(table, key.to_vec()))
    }

    pub(super) fn note(&self, table: Table, key: Vec<u8>) {
        let (mut rows, now) = (self.rows(), Instant::now());
        rows.retain(|_, since| now.duration_since(*since) < Self::REMEMBERED);
        if rows.len() < Self::MAX {
            rows.insert((table, key), now);
        }
    }

    pub(super) fn forget(&self, table: Table, key: Vec<u8>) {
        self.rows().remove(&(table, key));
    }

    fn rows(&self) -> MutexGuard<'_, HashMap<(Table, Vec<u8>), Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the connections have reported besides their answers.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Notified when a connection has ended or is no longer usable.
    pub(super) lost: Notify,
    /// Commits that the server reported without having waited for its standby.
    unreplicated: AtomicU64,
    /// Whether a call has waited in vain for any answer.
    is_silent: AtomicBool,
}

impl Watch {
    pub(super) fn unreplicated(&self) -> u64 {
        self.unreplicated.load(Ordering::SeqCst)
    }

    pub(super) fn note_silence(&self) {
        self.is_silent.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_silent(&self) -> bool {
        self.is_silent.load(Ordering::SeqCst)
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
    pub(super) async fn open(settings: &PostgresOptions, access: Access) -> Result<Self, PostgresError> {
        in_time(settings, Self::open_in_time(settings, access)).await
    }

    async fn open_in_time(settings: &PostgresOptions, access: Access) -> Result<Self, PostgresError> {
        let watch = Arc::<Watch>::default();
        let writing = Session::open(settings, access, &watch).await?;
        let reading = Session::open(settings, access, &watch).await?;
        if writing.server_started != reading.server_started {
            return Err(PostgresProblem::TwoServers.into());
        }
        settings.schema.check(&writing.client).await?;
        let lock_millis = || AtomicU64::new(milliseconds(settings.lock_timeout));
        Ok(Self {
            access,
            reads: ReadStatements::build(reading.unshared(), &settings.schema).await?,
            writes: WriteStatements::build(writing.unshared(), &settings.schema).await?,
            processes: [reading.process, writing.process].into_iter().flatten().collect(),
            lock_millis: writing.process.is_none().then(lock_millis),
            drivers: [reading.driver, writing.driver],
            settings: settings.clone(),
            locked: LockedRows::default(),
            reader: reading.client,
            writer: writing.client,
            clock: writing.clock,
            watch,
        })
    }

    pub(super) fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// Sends a statement of the writing connection. Through a pooler, it is a transaction with the settings of the
    /// store, since the session belongs to others too.
    pub(super) async fn write(
        &self,
        statement: &Sent,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        let sent = query(&self.writer, statement, parameters);
        let Some(lock_millis) = &self.lock_millis else { return sent.await };
        let lock_timeout = Duration::from_millis(lock_millis.load(Ordering::Relaxed));
        let begin =
            format!("BEGIN ISOLATION LEVEL READ COMMITTED; {}", set_for_transaction(&self.settings, lock_timeout));
        // Each is sent when it is first polled, so nothing comes between them, and one round trip is enough.
        let (begun, rows, committed) =
            join3(self.writer.batch_execute(&begin), sent, self.writer.batch_execute("COMMIT")).await;
        begun?;
        let rows = rows?;
        committed?;
        Ok(rows)
    }

    /// Ends those of the server's processes that a lost connection left behind. One that waits for a standby
    /// would keep its locks, and its place among the server's connections, until the standby is back.
    pub(super) async fn end(&self, left_behind: &[Process]) -> Result<(), tokio_postgres::Error> {
        let numbers: Vec<_> = left_behind.iter().map(|process| process.number).collect();
        let starts: Vec<_> = left_behind.iter().map(|process| process.started).collect();
        let typed: [(Parameter<'_>, Type); 2] = [(&numbers, Type::INT4_ARRAY), (&starts, Type::TIMESTAMPTZ_ARRAY)];
        self.reader.query_typed(END, &typed).await.map(drop)
    }

    /// Sets how long writes wait for rows that others have locked.
    pub(super) async fn wait_for_locks(&self, longest: Duration) -> Result<(), tokio_postgres::Error> {
        let longest = milliseconds(longest).max(1);
        let Some(lock_millis) = &self.lock_millis else {
            return self.writer.batch_execute(&format!("SET lock_timeout = {longest}")).await;
        };
        lock_millis.store(longest, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the time of the server's clock after which a write that is sent now must not be applied. Long before
    /// that, its caller was answered that the outcome is unknown.
    pub(super) fn latest(&self) -> SystemTime {
        self.clock.showed + self.clock.when.elapsed() + self.settings.statement_timeout * 3
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
    /// None if a pooler may use another process for each transaction.
    process: Option<Process>,
    driver: Driver,
}

impl Session {
    /// Connects for a migration.
    pub(super) async fn alone(settings: &PostgresOptions) -> Result<Self, PostgresError> {
        in_time(settings, Self::open(settings, Access::ReadWrite, &Arc::default())).await
    }

    async fn open(settings: &PostgresOptions, access: Access, watch: &Arc<Watch>) -> Result<Self, PostgresError> {
        let mark = letters_and_digits::<MARK>(&SystemEntropy);
        let (client, driver) = connect(settings, access, &mark, watch).await?;
        let row = client.query_typed_one(IDENTIFY, &[(&mark, Type::TEXT)]).await?;
        // A connector may ignore the attributes of the session in the connection string.
        let (is_standby, is_read_only): (bool, bool) = (row.try_get(5)?, row.try_get(6)?);
        if is_standby || is_read_only != (access == Access::ReadOnly) {
            return Err(PostgresProblem::ReadOnly.into());
        }
        let clock = ServerClock { showed: row.try_get(1)?, when: Instant::now() };
        let process = if row.try_get(2)? {
            client.batch_execute(&set_for_session(settings)).await?;
            client.batch_execute(PLANS).await?;
            Some(Process { number: row.try_get(3)?, started: row.try_get(4)? })
        } else {
            None
        };
        Ok(Self { client, server_started: row.try_get(0)?, clock, process, driver })
    }

    /// Returns the client if its session serves this store alone.
    fn unshared(&self) -> Option<&Client> {
        self.process.map(|_| &self.client)
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

/// How many random letters and digits end the application name of a connection.
const MARK: usize = 8;
/// How many characters of the configured application name come before them. PostgreSQL keeps 63 bytes of the whole.
const NAME: usize = 63 - 1 - MARK;

/// Parameter: the random end of the application name. Returns the server's start and clock; whether the session began
/// with the connection of this store; which of the server's processes it is, and when that started; whether the server
/// is a standby; whether it refuses writes.
///
/// In transaction mode, PgBouncer gives each transaction any of its sessions. A prepared statement may then be missing,
/// and a setting applies to other programs: without `synchronous_commit`, acknowledged writes could be lost. An option
/// of the store would be forgotten, so the store finds out.
///
/// A pooler opens sessions of its own, under a name that it may be configured with, and sets the names of its clients
/// later. The configured name alone proves nothing: the pooler's entry may have the same. A pooler that opens a session
/// under its client's name, and then shares it, would not be recognized.
const IDENTIFY: &str = "SELECT pg_postmaster_start_time(), clock_timestamp(),
    EXISTS (SELECT FROM pg_settings
        WHERE name = 'application_name' AND source = 'client' AND reset_val LIKE '%-' || $1),
    pg_backend_pid(), (SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()),
    pg_is_in_recovery(), current_setting('transaction_read_only') = 'on'";

/// Returns the statement that makes the settings for the session.
fn set_for_session(settings: &PostgresOptions) -> String {
    set(settings, settings.lock_timeout, "false")
}

/// Returns the statement that makes the settings for the transaction.
pub(super) fn set_for_transaction(settings: &PostgresOptions, lock_timeout: Duration) -> String {
    set(settings, lock_timeout, "true")
}

/// A server then answers a commit only when it is at least as durable as with `synchronous_commit=on`.
fn set(settings: &PostgresOptions, lock_timeout: Duration, is_local: &'static str) -> String {
    let statement = milliseconds(settings.statement_timeout);
    let lock = milliseconds(lock_timeout);
    format!(
        "SELECT set_config(name, value, {is_local}) FROM (VALUES
            ('statement_timeout', '{statement}'), ('idle_in_transaction_session_timeout', '{statement}'),
            ('lock_timeout', '{lock}'), ('default_transaction_isolation', 'read committed'),
            ('search_path', 'pg_catalog'), ('client_min_messages', 'warning'),
            ('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')
                THEN 'on' ELSE current_setting('synchronous_commit') END)
        ) AS own(name, value)"
    )
}

/// Makes every prepared statement find its rows by an index, whatever the table statistics are. A nested loop over an
/// array of keys also locks the rows in the order of the keys, so that the batches of two servers cannot deadlock; a
/// hash join, which the planner prefers on small tables, does not. Settings that a server does not know are left out.
const PLANS: &str = "SELECT set_config(name, value, false) FROM (VALUES
        ('enable_seqscan', 'off'), ('enable_bitmapscan', 'off'), ('enable_hashjoin', 'off'),
        ('enable_mergejoin', 'off'),
        ('jit', 'off'), ('plan_cache_mode', 'force_generic_plan')
    ) AS own(name, value) WHERE EXISTS (SELECT FROM pg_settings AS known WHERE known.name = own.name)";

fn milliseconds(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// The task that moves a connection's bytes; without it the connection is closed.
#[derive(Debug)]
struct Driver(AbortHandle);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Connects with an application name that ends in the mark.
async fn connect(
    settings: &PostgresOptions,
    access: Access,
    mark: &str,
    watch: &Arc<Watch>,
) -> Result<(Client, Driver), PostgresError> {
    let name = settings.config.get_application_name().unwrap_or_default();
    // PostgreSQL replaces all other characters, by up to four for each byte.
    let name: String = name.chars().map(|own| if matches!(own, ' '..='~') { own } else { '?' }).take(NAME).collect();
    let mut config = settings.config.clone();
    config.application_name(format!("{name}-{mark}"));
    if access == Access::ReadOnly {
        // Of several hosts, the first may always be a standby.
        config.target_session_attrs(TargetSessionAttrs::ReadOnly).load_balance_hosts(LoadBalanceHosts::Random);
    }
    let opened = match &settings.connector {
        Some(connector) => connector.connect(&config).await.map_err(failed)?,
        None => by_string(&config, settings.authorities.as_ref()).await?,
    };
    let (client, messages) = opened.split();
    let driver = tokio::spawn(drive(messages, watch.clone()));
    Ok((client, Driver(driver.abort_handle())))
}

async fn drive(mut messages: Messages, watch: Arc<Watch>) {
    while let Some(Ok(message)) = poll_fn(&mut messages).await {
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
