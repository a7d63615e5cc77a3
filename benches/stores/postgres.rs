//! `PostgresStore`, on a server that is started for it, beside a pool of plain connections and pgbench.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use grantor::PostgresStore;
use grantor::store::postgres::PostgresOptions;
use tokio::runtime::Runtime;

use super::callers::{Callers, Latencies};
use super::compare::{add_growth, add_latencies, add_rate, rates};
use super::processor::of_an_operation;
use super::raw_postgres::{Pool, look_ups};
use super::work::{MANY, Stored, Work, insert};
use crate::measure::Contender;
use crate::options::Options;
use crate::report::{Figure, Goal, Report, Unit};
use support_servers::servers::postgres::PostgresServer;

/// An idle connection reports its counts within ten seconds.
const REPORTED: Duration = Duration::from_secs(11);
/// Connections of the pool.
const POOL: u32 = 8;

pub(crate) fn measure(options: &Options, report: &mut Report) {
    if let Some(why) = skipped(options) {
        return report.remark(format!("PostgreSQL: {why}"));
    }
    let rows = match (options.short, options.large) {
        (true, _) => [1_000, 500],
        (_, false) => [200_000, 10_000],
        (_, true) => [10_000_000, 10_000],
    };
    let large = Bench::new(rows[0], options);
    let bytes = Figure::new("postgres/bytes a grant with one pair", large.bytes_of_a_row(), Unit::Bytes);
    report.add(bytes.goal(Goal::AtMost(620.0)));
    large.refreshes(1, None, report);
    large.refreshes(8, Some(0.85), report);
    large.refreshes(MANY, Some(3.0), report);
    large.heap_only(report);
    large.look_ups(report);
    if !options.short {
        large.statements(report);
    }
    large.stored.add_uses("postgres", report);
    let small = Bench::new(rows[1], options);
    let (large, small) = (&large.stored, &small.stored);
    add_growth(report, "postgres/find/64 callers", large.costs(small, Stored::find), rows);
    add_growth(report, "postgres/refresh/64 callers", large.costs(small, Stored::refresh), rows);
    let [large, small] = [large, small].map(|stored| stored.purge(20_000));
    report.add(Figure::new("postgres/purge/longest call for 1000 grants", large.longest, Unit::Milliseconds));
    add_growth(report, "postgres/purge/a grant", [large.each, small.each], rows);
}

/// A server with grants in it.
struct Bench {
    seconds: u32,
    stored: Stored<PostgresStore>,
    server: PostgresServer,
}

impl Bench {
    fn new(rows: u64, options: &Options) -> Self {
        // A quarter of the machine's memory, as the manual advises: of 24 GB where the table is that large.
        let server = start(if rows > 1_000_000 { "shared_buffers=6GB" } else { "shared_buffers=1GB" });
        let runtime = Runtime::new().unwrap();
        let store = runtime.block_on(connect(&server));
        let work = Work::on(rows);
        Callers::sharing(500, u32::try_from(rows).unwrap()).run(&runtime, &Latencies::default(), |caller, call| {
            insert(store.clone(), work.grants.clone(), u64::from(call) * 500 + u64::from(caller))
        });
        runtime.block_on(async {
            let client = server.client().await;
            for sql in ["VACUUM ANALYZE", "CHECKPOINT"] {
                client.batch_execute(sql).await.unwrap();
            }
        });
        Self { seconds: if options.short { 1 } else { 2 }, stored: Stored::new(store, work, runtime, options), server }
    }

    /// Heap and all indexes.
    fn bytes_of_a_row(&self) -> f64 {
        let size = "SELECT sum(pg_relation_size(oid))::bigint FROM pg_class
            WHERE relnamespace = 'grantor'::regnamespace AND relname LIKE 'grants%'";
        self.asked(size) as f64 / self.stored.work.rows as f64
    }

    /// The share of the store's own updates that wrote no index.
    fn heap_only(&self, report: &mut Report) {
        // A closed connection reports its counts at once, those of the pool too.
        thread::sleep(Duration::from_secs(1));
        let before = self.updates();
        let refreshed = (0..self.stored.rounds)
            .map(|_| self.stored.refresh(self.stored.callers(MANY), &Latencies::default()))
            .sum::<u64>();
        // An idle connection reports its counts within ten seconds.
        let since = (0..24).find_map(|_| {
            thread::sleep(Duration::from_millis(500));
            let [all, heap_only] = self.updates();
            let since = [all - before[0], heap_only - before[1]];
            (since[0] as u64 >= refreshed).then_some(since)
        });
        let Some([all, heap_only]) = since else {
            return report.remark("PostgreSQL: heap-only updates skipped, the server did not report all updates.");
        };
        let share = Figure::new("postgres/refresh/heap-only updates", heap_only as f64 / all as f64, Unit::Share);
        report.add(share.goal(Goal::AtLeast(0.95)));
    }

    /// All updates that the server has reported so far, and those of them that wrote no index.
    fn updates(&self) -> [i64; 2] {
        ["n_tup_upd", "n_tup_hot_upd"].map(|column| {
            self.asked(&format!("SELECT sum({column})::bigint FROM pg_stat_user_tables WHERE relname = 'grants'"))
        })
    }

    /// Statements for each find. Each is one transaction, which the server counts.
    fn statements(&self, report: &mut Report) {
        let counted = || {
            thread::sleep(REPORTED);
            self.asked("SELECT sum(xact_commit)::bigint FROM pg_stat_database")
        };
        let before = counted();
        let finds: u64 =
            (0..self.stored.rounds).map(|_| self.stored.find(self.stored.callers(MANY), &Latencies::default())).sum();
        let statements = (counted() - before) as f64 / finds as f64;
        let figure = Figure::new("postgres/find/64 callers, statements", statements, Unit::Calls);
        report.add(figure.goal(Goal::AtMost(0.25)));
    }

    fn asked(&self, sql: &str) -> i64 {
        self.stored.runtime.block_on(async { self.server.client().await.query_one(sql, &[]).await.unwrap().get(0) })
    }

    /// The store beside the pool, which has one connection for each of at most eight callers.
    fn refreshes(&self, count: u32, goal: Option<f64>, report: &mut Report) {
        let Stored { work, runtime, rounds, .. } = &self.stored;
        let (callers, pooled) = (self.stored.callers(count), self.stored.callers(count.min(POOL)));
        let pool = Pool::connect(runtime, &self.server, POOL);
        let latencies = Latencies::default();
        let mut own = || self.stored.refresh(callers, &latencies);
        let mut raw = || {
            pooled.run(runtime, &Latencies::default(), |caller, _| {
                pool.refresh(caller, work.grants.clone(), work.any(caller, pooled.count))
            })
        };
        let rates = rates(
            *rounds,
            &mut [Contender { name: "store", round: &mut own }, Contender { name: "pool", round: &mut raw }],
        );
        let id = format!("postgres/refresh/{count} callers");
        let beside = format!("pool of {}", pooled.count);
        add_rate(report, &id, rates[0], (&beside, rates[1]), goal);
        let mut own = || self.stored.refresh(callers, &Latencies::default());
        if let [Some(own), Some(raw)] =
            [&mut own as &mut dyn FnMut() -> u64, &mut raw].map(|round| of_an_operation(*rounds, round))
        {
            let figure = Figure::new(format!("{id}, processor time, server included"), own, Unit::Microseconds);
            report.add(figure.beside(beside, raw));
        }
        add_latencies(report, &id, &latencies, None);
    }

    fn look_ups(&self, report: &mut Report) {
        let Some(beside) = look_ups(&self.server, self.stored.work.rows, self.seconds) else {
            return report.remark("PostgreSQL: look-ups skipped, pgbench is not installed.");
        };
        let mut own = || self.stored.find(self.stored.callers(MANY), &Latencies::default());
        let own = rates(self.stored.rounds, &mut [Contender { name: "store", round: &mut own }])[0];
        add_rate(report, "postgres/find/64 callers", own, ("pgbench with 8 connections", beside), Some(0.85));
    }
}

/// Starts a server that makes few checkpoints.
pub(crate) fn start(buffers: &str) -> PostgresServer {
    PostgresServer::start(&[buffers, "max_wal_size=8GB", "checkpoint_timeout=30min"])
}

/// Creates the tables and connects.
pub(crate) async fn connect(server: &PostgresServer) -> PostgresStore {
    let options = PostgresOptions::new(&server.connection()).unwrap();
    PostgresStore::migrate(&options).await.unwrap();
    PostgresStore::connect(&options).await.unwrap()
}

/// Why this run has no figures of PostgreSQL, if so.
pub(crate) fn skipped(options: &Options) -> Option<&'static str> {
    if !options.starts_servers() {
        return Some("only with GRANTOR_BENCH_SERVERS=1 in the short form.");
    }
    (!is_installed()).then_some("skipped, its programs are not installed.")
}

/// Looks for the programs where the tests do.
fn is_installed() -> bool {
    let named = Command::new("pg_config").arg("--bindir").output().ok();
    let named = named.and_then(|output| String::from_utf8(output.stdout).ok()).map(|path| PathBuf::from(path.trim()));
    let versions = Path::new("/usr/lib/postgresql").read_dir().into_iter().flatten().flatten();
    let mut folders = versions.map(|version| version.path().join("bin")).chain(named);
    folders.any(|folder| folder.join("postgres").exists())
}
