//! `SqliteStore`: refreshes, new grants, the purge, and what they cost in a larger file.

use std::fs;
use std::path::{Path, PathBuf};

use grantor::SqliteStore;
use tokio::runtime::Runtime;

use super::callers::{Callers, Latencies};
use super::compare::{ROUNDS, add_growth, add_latencies, add_rate, purge, rates};
use super::disk::Disk;
use super::raw_sqlite::RawSqlite;
use super::work::{Work, find, insert, refresh};
use crate::measure::Contender;
use crate::options::Options;
use crate::report::{Figure, Goal, Report, Unit};

pub(crate) fn measure(options: &Options, report: &mut Report) {
    let rows = match (options.short, options.large) {
        (true, _) => (2_000, 1_000),
        (_, false) => (1_000_000, 10_000),
        (_, true) => (10_000_000, 10_000),
    };
    let bench = Bench::new(rows.0, options);
    let octets = Figure::new("sqlite/octets a grant with one pair", bench.octets_of_a_row, Unit::Octets);
    report.add(octets.goal(Goal::AtMost(420.0)));
    bench.refreshes(1, (None, Some(0.33)), report);
    bench.refreshes(8, (None, None), report);
    bench.refreshes(64, (Some(0.8), Some(2.5)), report);
    bench.inserts(1, (None, Some(0.55)), report);
    bench.inserts(64, (Some(0.5), None), report);
    let small = Bench::new(rows.1, options);
    add_growth(report, "sqlite/find/64 callers", (bench.find(), small.find()), rows);
    add_growth(report, "sqlite/refresh/64 callers", (bench.refresh(), small.refresh()), rows);
    let [large, small] = [&bench, &small].map(|bench| bench.purge());
    let each = Figure::new("sqlite/purge/a grant", large.each, Unit::Microseconds);
    report.add(each.goal(Goal::AtMost(10.0)));
    let longest = Figure::new("sqlite/purge/longest call for 1000 grants", large.longest, Unit::Milliseconds);
    report.add(longest.goal(Goal::AtMost(20.0)));
    add_growth(report, "sqlite/purge/a grant", (large.each, small.each), rows);
}

/// The same rows in two files: one for the store, one for SQLite itself.
struct Bench {
    rounds: usize,
    calls: u32,
    runtime: Runtime,
    work: Work,
    store: SqliteStore,
    raw: RawSqlite,
    octets_of_a_row: f64,
    folder: Folder,
}

/// What the ratios to the engine and to the disk are to be.
type Goals = (Option<f64>, Option<f64>);

impl Bench {
    fn new(rows: u64, options: &Options) -> Self {
        let folder = Folder::new(rows);
        let [own, other] = ["store", "raw"].map(|name| folder.0.join(name));
        let work = Work::on(rows);
        drop(SqliteStore::open(&own).unwrap());
        let empty = fs::metadata(&own).unwrap().len();
        RawSqlite::fill(&own, &work.grants, rows);
        let full = fs::metadata(&own).unwrap().len();
        fs::copy(&own, &other).unwrap();
        // What is written in the background later would be in the way of the syncs that are measured.
        [&own, &other].iter().for_each(|path| fs::File::open(path).unwrap().sync_all().unwrap());
        Self {
            rounds: if options.short { 1 } else { ROUNDS },
            calls: if options.short { 64 } else { 6_400 },
            runtime: Runtime::new().unwrap(),
            store: SqliteStore::open(&own).unwrap(),
            raw: RawSqlite::open(&other),
            octets_of_a_row: (full - empty) as f64 / rows as f64,
            work,
            folder,
        }
    }

    fn refreshes(&self, count: u32, goals: Goals, report: &mut Report) {
        let work = &self.work;
        self.compare(
            &format!("sqlite/refresh/{count} callers"),
            count,
            goals,
            report,
            &Kind {
                own: &|callers, latencies| {
                    callers.run(&self.runtime, latencies, |caller, _| {
                        refresh(self.store.clone(), work.grants.clone(), work.any(caller, count))
                    });
                },
                raw: &|callers| self.raw.refresh(&work.grants, (0..callers).map(|caller| work.any(caller, count))),
            },
        );
    }

    fn inserts(&self, count: u32, goals: Goals, report: &mut Report) {
        let work = &self.work;
        self.compare(
            &format!("sqlite/new grant/{count} callers"),
            count,
            goals,
            report,
            &Kind {
                own: &|callers, latencies| {
                    callers.run(&self.runtime, latencies, |_, _| {
                        insert(self.store.clone(), work.grants.clone(), work.next())
                    });
                },
                raw: &|callers| self.raw.insert(&work.grants, (0..callers).map(|_| work.next())),
            },
        );
    }

    /// The store with so many callers, the engine with as many in each transaction, and the disk with the
    /// octets of one call.
    fn compare(&self, id: &str, count: u32, goals: Goals, report: &mut Report, kind: &Kind<'_>) {
        let callers = Callers::sharing(count, if count == 1 { self.calls / 4 } else { self.calls });
        let latencies = Latencies::default();
        let syncs = self.calls / 4;
        self.raw.empty_log();
        (kind.raw)(1);
        let mut disk = Disk::new(&self.folder.0, self.raw.log_octets());
        let mut own = || {
            (kind.own)(callers, &latencies);
            callers.all_calls()
        };
        let mut raw = || {
            (0..callers.calls).for_each(|_| (kind.raw)(count));
            callers.all_calls()
        };
        let mut sync = || {
            disk.sync(syncs);
            u64::from(syncs)
        };
        let rates = rates(
            self.rounds,
            &mut [
                Contender { name: "store", round: &mut own },
                Contender { name: "rusqlite", round: &mut raw },
                Contender { name: "disk", round: &mut sync },
            ],
        );
        add_rate(report, id, rates[0], ("rusqlite", rates[1]), goals.0);
        add_rate(report, id, rates[0], ("syncs of one", rates[2]), goals.1);
        add_latencies(report, id, &latencies, (count == 64 && goals.1.is_some()).then_some(20.0));
    }

    /// Microseconds a look-up.
    fn find(&self) -> f64 {
        self.cost(&|callers| {
            callers.run(&self.runtime, &Latencies::default(), |caller, _| {
                find(self.store.clone(), self.work.any(caller, callers.count))
            });
        })
    }

    /// Microseconds a refresh.
    fn refresh(&self) -> f64 {
        self.cost(&|callers| {
            callers.run(&self.runtime, &Latencies::default(), |caller, _| {
                refresh(self.store.clone(), self.work.grants.clone(), self.work.any(caller, callers.count))
            });
        })
    }

    fn cost(&self, round: &dyn Fn(Callers)) -> f64 {
        let callers = Callers::sharing(64, self.calls);
        let mut round = || {
            round(callers);
            callers.all_calls()
        };
        1e6 / rates(self.rounds, &mut [Contender { name: "store", round: &mut round }])[0]
    }

    fn purge(&self) -> super::compare::Purged {
        purge(&self.runtime, &self.store, usize::try_from(self.work.rows / 2).unwrap().min(50_000))
    }
}

/// What is done by the store, and by the engine for so many callers at once.
struct Kind<'a> {
    own: &'a dyn Fn(Callers, &Latencies),
    raw: &'a dyn Fn(u32),
}

/// A folder that goes with the bench.
struct Folder(PathBuf);

impl Folder {
    fn new(rows: u64) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("stores-{}-{rows}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is left to whoever clears the build's folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}
