//! What other callers wait for: the longest single step of the memory store while it grows and is cleaned up.
//!
//! An insert or a batch that the machine interrupts shows as a pause too. Every fill grows at the same
//! counts and the machine interrupts it elsewhere, so of several fills the one with the shortest longest
//! step is told.

use std::sync::Arc;
use std::time::Duration;

use grantor::store::{Insertion, TokenStore};
use grantor::testing::records;
use grantor::{MemoryStore, Timestamp};

use crate::measure::timed;
use crate::options::{Options, label};
use crate::report::{Figure, Goal, Report, Unit};
use crate::world::{self, START, ready};

/// Grants that one call of a purge looks at, as the guide for operating says.
const PURGED_AT_ONCE: usize = 1000;
const FILLS: usize = 3;

/// Random ids, all to be removed at one time.
pub(crate) fn measure(options: &Options, report: &mut Report) {
    let size = options.largest();
    let fills: Vec<_> = (0..if options.short { 1 } else { FILLS }).map(|_| Fill::new(size)).collect();
    let shortest = |step: fn(&Fill) -> Duration| fills.iter().map(step).min().unwrap_or_default();
    let insert = shortest(|fill| fill.longest_insert);
    let purge = shortest(|fill| fill.longest_purge);
    let size = label(size);
    let ms = |id: String, time: Duration| Figure::new(id, time.as_secs_f64() * 1e3, Unit::Milliseconds);
    report.add(ms(format!("pauses/growth/longest insert to {size}"), insert).goal(Goal::AtMost(5.0)));
    report.add(ms(format!("pauses/purge/longest batch at {size}"), purge).goal(Goal::AtMost(5.0)));
    let mean = shortest(|fill| fill.purge).as_nanos() as f64 / options.largest() as f64;
    report.add(Figure::new(format!("pauses/purge/a grant at {size}"), mean, Unit::Nanoseconds));
    let removed = fills.iter().min_by_key(|fill| fill.longest_purge).map_or(0, |fill| fill.removed_by_it);
    report.remark(format!("pauses: the longest batch of a purge removed {removed} grants."));
}

#[derive(Default)]
struct Fill {
    longest_insert: Duration,
    longest_purge: Duration,
    removed_by_it: usize,
    purge: Duration,
}

impl Fill {
    fn new(size: usize) -> Self {
        let store = MemoryStore::new();
        let mut fill = Self::default();
        let due = Timestamp::from_seconds(START);
        for number in 0..size {
            let grant = Arc::new(records::grant(&world::subject(number), due));
            let (inserted, time) = timed(|| ready(TokenStore::insert(&store, grant)));
            assert_eq!(inserted.expect("memory does not fail"), Insertion::Inserted);
            fill.longest_insert = fill.longest_insert.max(time);
        }
        while fill.purge(&store, due) {}
        assert_eq!(store.grant_count(), 0);
        fill
    }

    /// One call; tells whether there is more to do.
    fn purge(&mut self, store: &MemoryStore, due: Timestamp) -> bool {
        let (purge, time) = timed(|| ready(TokenStore::purge_expired(store, due, PURGED_AT_ONCE)));
        let purge = purge.expect("memory does not fail");
        self.purge += time;
        if time > self.longest_purge {
            (self.longest_purge, self.removed_by_it) = (time, purge.removed());
        }
        !purge.is_finished()
    }
}
