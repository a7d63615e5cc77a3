//! A store beside its engine: the rounds and the rows of the table.

use grantor::store::{Grant, RecordStore};
use tokio::runtime::Runtime;

use super::callers::Latencies;
use super::grants::PURGE_AFTER;
use crate::measure::{Contender, interleaved, median, per_operation, percentile, timed};
use crate::options::label;
use crate::report::{Figure, Goal, Report, Unit};

/// Measured rounds of each contender.
pub(crate) const ROUNDS: usize = 5;
/// How many times the cost of a call may grow with the table.
const FLAT: f64 = 2.0;
/// Rows that one call of a purge examines.
const PURGED_AT_ONCE: usize = 1000;

/// Operations a second of each contender.
pub(crate) fn rates(rounds: usize, contenders: &mut [Contender<'_>]) -> Vec<f64> {
    interleaved(rounds, contenders).into_iter().map(|nanoseconds| 1e9 / nanoseconds).collect()
}

/// Adds a rate beside another one, and the goal of their ratio.
pub(crate) fn add_rate(report: &mut Report, id: &str, rate: f64, (name, beside): (&str, f64), goal: Option<f64>) {
    let figure = Figure::new(id, rate, Unit::PerSecond).beside(name, beside);
    report.add(match goal {
        Some(goal) => figure.goal(Goal::AtLeast(goal)),
        None => figure,
    });
}

/// Adds the median and the 99th percentile of the times of calls.
pub(crate) fn add_latencies(report: &mut Report, id: &str, latencies: &Latencies, goal: Option<f64>) {
    let took = latencies.take();
    report.add(Figure::new(format!("{id}, p50"), percentile(took.clone(), 0.5), Unit::Milliseconds));
    let slow = Figure::new(format!("{id}, p99"), percentile(took, 0.99), Unit::Milliseconds);
    report.add(match goal {
        Some(goal) => slow.goal(Goal::AtMost(goal)),
        None => slow,
    });
}

/// Adds the cost of an operation in a large table beside that in a small one.
pub(crate) fn add_growth(report: &mut Report, id: &str, [large, small]: [f64; 2], rows: [u64; 2]) {
    let [rows, few] = rows.map(|rows| label(usize::try_from(rows).unwrap()));
    let figure = Figure::new(format!("{id}/{rows}"), large, Unit::Microseconds).beside(format!("at {few}"), small);
    report.add(figure.goal(Goal::AtMost(FLAT)));
}

/// How long a purge took.
pub(crate) struct Purged {
    /// Microseconds a grant, in the middle of all calls.
    pub(crate) each: f64,
    /// Milliseconds of the longest call.
    pub(crate) longest: f64,
}

/// Removes `grants` grants, all of which are due.
pub(crate) fn purge(runtime: &Runtime, store: &impl RecordStore<Grant>, grants: u64) -> Purged {
    let (mut each, mut removed, mut longest) = (Vec::new(), 0, 0.0_f64);
    while removed < grants {
        let (purge, took) = timed(|| runtime.block_on(store.purge(PURGE_AFTER, PURGED_AT_ONCE)).unwrap());
        let gone = purge.removed() as u64;
        assert!(gone > 0);
        each.push(per_operation(took, gone) / 1e3);
        longest = longest.max(took.as_secs_f64() * 1e3);
        removed += gone;
    }
    Purged { each: median(each), longest }
}
