//! What other callers wait for: the longest single step of the memory store while it grows and is cleaned up.
//!
//! The same grants are put into several stores, one after the other. The long steps of the store happen at the same
//! grants each time, but the machine interrupts the bench anywhere. So only the shortest time of each step counts.

use std::sync::Arc;
use std::time::Duration;

use grantor::store::{Grant, Insertion, Record, RecordStore};
use grantor::testing::records;
use grantor::{MemoryStore, Timestamp};

use crate::grants;
use crate::measure::timed;
use crate::options::{Options, label};
use crate::report::{Figure, Goal, Report, Unit};
use crate::texts::Texts;
use crate::world::{self, START, ready};

/// Grants that one call of a purge examines, as the operations guide recommends.
const PURGED_AT_ONCE: usize = 1000;
const FILLS: usize = 3;
const DUE: Timestamp = Timestamp::from_seconds(START);

/// Random ids, all to be removed at one time.
pub(crate) fn measure(options: &Options, report: &mut Report) {
    grants::release();
    let size = options.largest();
    let records = Texts::new((0..size).map(|number| records::grant(&world::subject(number), DUE).encode()));
    let (mut inserts, mut purges) = (Steps::default(), Steps::default());
    for _ in 0..if options.short { 1 } else { FILLS } {
        let store = MemoryStore::new();
        fill(&store, &records, &mut inserts);
        purge(&store, &mut purges);
    }
    let label = label(size);
    let ms = |id: String, time: Duration| Figure::new(id, time.as_secs_f64() * 1e3, Unit::Milliseconds);
    report.add(ms(format!("pauses/growth/longest insert to {label}"), inserts.longest()).goal(Goal::AtMost(5.0)));
    report.add(ms(format!("pauses/purge/longest batch at {label}"), purges.longest()).goal(Goal::AtMost(5.0)));
    let a_grant = purges.sum().as_nanos() as f64 / size as f64;
    report.add(Figure::new(format!("pauses/purge/a grant at {label}"), a_grant, Unit::Nanoseconds));
    report.remark(format!("pauses: a batch of the purge removes {PURGED_AT_ONCE} grants."));
}

fn fill(store: &MemoryStore, records: &Texts, inserts: &mut Steps) {
    for (number, record) in records.iter().enumerate() {
        let grant = Arc::new(Grant::decode(record).expect("a grant"));
        let (inserted, time) = timed(|| ready(RecordStore::<Grant>::insert(store, grant)));
        assert_eq!(inserted.expect("memory does not fail"), Insertion::Inserted);
        inserts.add(number, time);
    }
}

fn purge(store: &MemoryStore, purges: &mut Steps) {
    let mut left = store.grant_count();
    for number in 0.. {
        let (purge, time) = timed(|| ready(RecordStore::<Grant>::purge(store, DUE, PURGED_AT_ONCE)));
        let purge = purge.expect("memory does not fail");
        assert_eq!(purge.removed(), PURGED_AT_ONCE.min(left));
        purges.add(number, time);
        left -= purge.removed();
        if purge.is_finished() {
            break;
        }
    }
    assert_eq!((left, store.grant_count()), (0, 0));
}

/// The shortest time of each step.
#[derive(Default)]
struct Steps(Vec<Duration>);

impl Steps {
    fn add(&mut self, number: usize, time: Duration) {
        match self.0.get_mut(number) {
            Some(shortest) => *shortest = time.min(*shortest),
            None => self.0.push(time),
        }
    }

    fn longest(&self) -> Duration {
        self.0.iter().copied().max().unwrap_or_default()
    }

    fn sum(&self) -> Duration {
        self.0.iter().sum()
    }
}
