//! What callers do with any store, and which grant each of them takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use grantor::id::GrantId;
use grantor::store::{Grant, Insertion, Record, RecordStore, Replacement, Replay};
use tokio::runtime::Runtime;

use super::callers::{Callers, Latencies};
use super::compare::{Purged, ROUNDS, add_rate, purge, rates};
use super::grants::{Grants, PURGE_AFTER, id, mixed};
use crate::measure::Contender;
use crate::options::Options;
use crate::report::Report;

/// Callers whose writes a store may answer together.
pub(crate) const MANY: u32 = 64;

/// A store with grants in it, and its callers.
pub(crate) struct Stored<S> {
    pub(crate) store: S,
    pub(crate) work: Work,
    pub(crate) runtime: Runtime,
    pub(crate) rounds: usize,
    calls: u32,
}

/// A round of calls, which returns how many there were.
pub(crate) type Round<S> = fn(&Stored<S>, Callers, &Latencies) -> u64;

impl<S: RecordStore<Grant> + Clone> Stored<S> {
    pub(crate) fn new(store: S, work: Work, runtime: Runtime, options: &Options) -> Self {
        let (rounds, calls) = if options.short { (1, 64) } else { (ROUNDS, 6_400) };
        Self { store, work, runtime, rounds, calls }
    }

    /// Returns `count` callers, which share the calls of a round.
    pub(crate) fn callers(&self, count: u32) -> Callers {
        Callers::sharing(count, if count == 1 { self.calls / 4 } else { self.calls })
    }

    pub(crate) fn refresh(&self, callers: Callers, latencies: &Latencies) -> u64 {
        callers.run(&self.runtime, latencies, |caller, _| {
            refresh(self.store.clone(), self.work.grants.clone(), self.work.any(caller, callers.count))
        })
    }

    pub(crate) fn insert(&self, callers: Callers, latencies: &Latencies) -> u64 {
        callers.run(&self.runtime, latencies, |_, _| {
            insert(self.store.clone(), self.work.grants.clone(), self.work.next())
        })
    }

    pub(crate) fn find(&self, callers: Callers, latencies: &Latencies) -> u64 {
        callers
            .run(&self.runtime, latencies, |caller, _| find(self.store.clone(), self.work.any(caller, callers.count)))
    }

    /// Microseconds a call with many callers, here and in another store, in turns.
    pub(crate) fn costs(&self, other: &Self, round: Round<S>) -> [f64; 2] {
        let [mut here, mut there] =
            [self, other].map(|stored| move || round(stored, stored.callers(MANY), &Latencies::default()));
        let rates = rates(
            self.rounds,
            &mut [Contender { name: "here", round: &mut here }, Contender { name: "there", round: &mut there }],
        );
        [rates[0], rates[1]].map(|rate| 1e6 / rate)
    }

    pub(crate) fn purge(&self, max: u64) -> Purged {
        purge(&self.runtime, &self.store, max.min(self.work.rows / 2))
    }
}

impl<S: RecordStore<Grant> + RecordStore<Replay> + Clone> Stored<S> {
    /// The record that an assertion or a proof was used, beside a new grant, with one caller and with many.
    pub(crate) fn add_uses(&self, name: &str, report: &mut Report) {
        for count in [1, MANY] {
            let callers = self.callers(count);
            let mut use_once = || {
                callers.run(&self.runtime, &Latencies::default(), |_, _| use_once(self.store.clone(), self.work.next()))
            };
            let mut insert = || self.insert(callers, &Latencies::default());
            let rates = rates(
                self.rounds,
                &mut [
                    Contender { name: "use", round: &mut use_once },
                    Contender { name: "new grant", round: &mut insert },
                ],
            );
            add_rate(report, &format!("{name}/use of a jti/{count} callers"), rates[0], ("new grant", rates[1]), None);
        }
    }
}

/// Grants that are there already, numbered from 0, and those that are added.
pub(crate) struct Work {
    pub(crate) grants: Arc<Grants>,
    pub(crate) rows: u64,
    turn: AtomicU64,
    added: AtomicU64,
}

impl Work {
    pub(crate) fn on(rows: u64) -> Self {
        Self { grants: Arc::new(Grants::new()), rows, turn: AtomicU64::new(0), added: AtomicU64::new(rows) }
    }

    /// A grant that no other caller uses at the same time.
    pub(crate) fn any(&self, caller: u32, callers: u32) -> u64 {
        let callers = u64::from(callers);
        let drawn = mixed(self.turn.fetch_add(1, Ordering::Relaxed));
        drawn % (self.rows / callers) * callers + u64::from(caller)
    }

    /// A grant that is not there yet.
    pub(crate) fn next(&self) -> u64 {
        self.added.fetch_add(1, Ordering::Relaxed)
    }
}

/// Finds a grant and puts its next version in its place, as a refresh does.
async fn refresh(store: impl RecordStore<Grant>, grants: Arc<Grants>, number: u64) {
    let found = store.find(&GrantId::from_bytes(id(number))).await.unwrap().unwrap();
    let next = grants.refreshed_grant(number, found.version() + 1);
    assert_eq!(store.replace(found.version(), next).await.unwrap(), Replacement::Replaced);
}

/// Adds a grant, as the exchange of a code does.
pub(crate) async fn insert(store: impl RecordStore<Grant>, grants: Arc<Grants>, number: u64) {
    assert_eq!(store.insert(grants.new_grant(number)).await.unwrap(), Insertion::Inserted);
}

/// Looks a grant up, as each check of an access token does.
async fn find(store: impl RecordStore<Grant>, number: u64) {
    let id = GrantId::from_bytes(id(number));
    assert_eq!(store.find(&id).await.unwrap().unwrap().id(), id);
}

/// Records that an identifier was used, as each assertion and each proof does.
async fn use_once(store: impl RecordStore<Replay>, number: u64) {
    let replay = Replay::new(&[&number.to_be_bytes()], PURGE_AFTER);
    assert_eq!(store.insert(Arc::new(replay)).await.unwrap(), Insertion::Inserted);
}
