//! `SqliteStore`: refreshes, new grants, the purge, and what they cost in a larger file.

use std::fs;

use grantor::SqliteStore;
use tokio::runtime::Runtime;

use super::callers::Latencies;
use super::checks;
use super::compare::{add_growth, add_latencies, add_rate, rates};
use super::disk::{Disk, Folder};
use super::raw_sqlite::RawSqlite;
use super::work::{MANY, Round, Stored, Work};
use crate::measure::Contender;
use crate::options::Options;
use crate::report::{Figure, Goal, Report, Unit};

pub(crate) fn measure(options: &Options, report: &mut Report) {
    let rows = match (options.short, options.large) {
        (true, _) => [2_000, 1_000],
        (_, false) => [1_000_000, 10_000],
        (_, true) => [10_000_000, 10_000],
    };
    let bench = Bench::new(rows[0], options);
    let bytes = Figure::new("sqlite/bytes a grant with one pair", bench.bytes_of_a_row, Unit::Bytes);
    report.add(bytes.goal(Goal::AtMost(440.0)));
    bench.refreshes(1, (None, Some(0.33)), report);
    bench.refreshes(8, (None, None), report);
    bench.refreshes(MANY, (Some(0.8), Some(2.5)), report);
    bench.inserts(1, (None, Some(0.55)), report);
    bench.inserts(MANY, (Some(0.5), None), report);
    bench.stored.add_uses("sqlite", report);
    checks::measure(options, report);
    let small = Bench::new(rows[1], options);
    let (large, small) = (&bench.stored, &small.stored);
    add_growth(report, "sqlite/find/64 callers", large.costs(small, Stored::find), rows);
    add_growth(report, "sqlite/refresh/64 callers", large.costs(small, Stored::refresh), rows);
    let [large, small] = [large, small].map(|stored| stored.purge(50_000));
    let each = Figure::new("sqlite/purge/a grant", large.each, Unit::Microseconds);
    report.add(each.goal(Goal::AtMost(10.0)));
    let longest = Figure::new("sqlite/purge/longest call for 1000 grants", large.longest, Unit::Milliseconds);
    report.add(longest.goal(Goal::AtMost(20.0)));
    add_growth(report, "sqlite/purge/a grant", [large.each, small.each], rows);
}

/// The same rows in two files: one for the store, one for SQLite itself.
struct Bench {
    stored: Stored<SqliteStore>,
    raw: RawSqlite,
    bytes_of_a_row: f64,
    folder: Folder,
}

/// The goals of the ratios to the engine and to the disk.
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
        // Later writes in the background would slow down the syncs that are measured.
        [&own, &other].iter().for_each(|path| fs::File::open(path).unwrap().sync_all().unwrap());
        Self {
            stored: Stored::new(SqliteStore::open(&own).unwrap(), work, Runtime::new().unwrap(), options),
            raw: RawSqlite::open(&other),
            bytes_of_a_row: (full - empty) as f64 / rows as f64,
            folder,
        }
    }

    fn refreshes(&self, count: u32, goals: Goals, report: &mut Report) {
        let work = &self.stored.work;
        let raw = |callers| self.raw.refresh(&work.grants, (0..callers).map(|caller| work.any(caller, count)));
        let id = format!("sqlite/refresh/{count} callers");
        let latencies = self.compare(&id, count, goals, report, (Stored::refresh, &raw));
        add_latencies(report, &id, &latencies, (count == MANY).then_some(20.0));
    }

    fn inserts(&self, count: u32, goals: Goals, report: &mut Report) {
        let work = &self.stored.work;
        let raw = |callers| self.raw.insert(&work.grants, (0..callers).map(|_| work.next()));
        let id = format!("sqlite/new grant/{count} callers");
        let latencies = self.compare(&id, count, goals, report, (Stored::insert, &raw));
        add_latencies(report, &id, &latencies, None);
    }

    /// Compares the store with `count` callers, the engine with as many calls in each transaction, and the disk with
    /// the bytes of one call.
    fn compare(
        &self,
        id: &str,
        count: u32,
        goals: Goals,
        report: &mut Report,
        (own, raw): (Round<SqliteStore>, &dyn Fn(u32)),
    ) -> Latencies {
        let callers = self.stored.callers(count);
        let latencies = Latencies::default();
        self.raw.empty_log();
        raw(1);
        let mut disk = Disk::new(&self.folder.0, self.raw.log_bytes());
        let mut own = || own(&self.stored, callers, &latencies);
        let mut raw = || {
            (0..callers.calls).for_each(|_| raw(count));
            callers.all_calls()
        };
        let mut sync = || {
            let syncs = self.stored.callers(1);
            disk.sync(syncs.calls);
            syncs.all_calls()
        };
        let rates = rates(
            self.stored.rounds,
            &mut [
                Contender { name: "store", round: &mut own },
                Contender { name: "rusqlite", round: &mut raw },
                Contender { name: "disk", round: &mut sync },
            ],
        );
        add_rate(report, id, rates[0], ("rusqlite", rates[1]), goals.0);
        add_rate(report, &format!("{id}, against the disk"), rates[0], ("syncs of one", rates[2]), goals.1);
        latencies
    }
}
