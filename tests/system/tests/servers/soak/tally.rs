//! What a load has seen of its server so far.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use crate::soak::histogram::Histogram;

/// Faults that are kept in words; more are only counted.
const FAULTS_IN_WORDS: usize = 20;

/// Shared by the connections of a load.
#[derive(Debug)]
pub(crate) struct Tally {
    length: Duration,
    seen: Mutex<Seen>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Answers as expected.
    pub(crate) requests: BTreeMap<&'static str, u64>,
    pub(crate) fault_count: u64,
    pub(crate) faults: Vec<String>,
    /// Flows that were given up because the load itself was late.
    pub(crate) given_up: u64,
    pub(crate) minutes: Vec<Histogram>,
    pub(crate) quarters: [Option<Histogram>; 4],
    /// Records that the server has made, by the second.
    pub(crate) records: Vec<u64>,
}

impl Tally {
    pub(crate) fn new(length: Duration) -> Self {
        Self { length, seen: Mutex::default() }
    }

    /// An answer that was expected, that long after it was due.
    pub(crate) fn add(&self, kind: &'static str, due: Duration, latency: Duration) {
        let minute = usize::try_from(due.as_secs() / 60).unwrap();
        let quarter = (due.as_millis() * 4 / self.length.as_millis()).min(3);
        let mut seen = self.seen();
        *seen.requests.entry(kind).or_default() += 1;
        while seen.minutes.len() <= minute {
            seen.minutes.push(Histogram::new());
        }
        seen.minutes[minute].add(latency);
        seen.quarters[usize::try_from(quarter).unwrap()].get_or_insert_with(Histogram::new).add(latency);
    }

    pub(crate) fn add_fault(&self, fault: String) {
        let mut seen = self.seen();
        seen.fault_count += 1;
        if seen.faults.len() < FAULTS_IN_WORDS {
            seen.faults.push(fault);
        }
    }

    pub(crate) fn add_given_up(&self) {
        self.seen().given_up += 1;
    }

    /// The server has one record more: a request that waits for its user, or a grant.
    pub(crate) fn add_record(&self, at: Duration) {
        let second = usize::try_from(at.as_secs()).unwrap();
        let mut seen = self.seen();
        if seen.records.len() <= second {
            seen.records.resize(second + 1, 0);
        }
        seen.records[second] += 1;
    }

    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }
}

impl Seen {
    pub(crate) fn request_count(&self) -> u64 {
        self.requests.values().sum()
    }

    /// Records made in the first `seconds`.
    pub(crate) fn records_until(&self, seconds: usize) -> u64 {
        self.records.iter().take(seconds).sum()
    }
}
