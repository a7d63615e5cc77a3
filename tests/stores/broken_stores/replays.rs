//! A store of replays with at most one fault.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use grantor::store::{Insertion, Page, Purge, RecordStore, Replacement, Replay, Store, StoreError};
use grantor::{Clock, SystemClock, Timestamp};

use crate::broken_stores::Noticed::{self, AmongOthersBy, By};
use crate::broken_stores::wait;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    InsertOverwrites,
    InsertLooksThenWrites,
    ExistsMovesTheEnd,
    DigestsOf16Bytes,
    DigestsInAnyCase,
    PurgeASecondEarly,
    PurgeASecondLate,
    PurgeRemovesNothing,
    PurgeIgnoresItsLimit,
    PurgeNeverFinishes,
    PurgeFinishesAtOnce,
    PurgeFinishesWhenItRemovedNothing,
    PurgeWalksOverTheLiving,
    ExpiresEarly,
}

#[derive(Debug)]
pub(crate) struct Replays {
    fault: Fault,
    ends: Mutex<BTreeMap<Vec<u8>, Timestamp>>,
}

impl Replays {
    pub(crate) fn with(fault: Fault) -> Self {
        Self { fault, ends: Mutex::default() }
    }

    fn ends(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, Timestamp>> {
        self.ends.lock().unwrap()
    }

    fn key(&self, replay: &Replay) -> Vec<u8> {
        match self.fault {
            Fault::DigestsOf16Bytes => replay.digest()[..16].to_vec(),
            Fault::DigestsInAnyCase => replay.digest().to_ascii_lowercase(),
            _ => replay.digest().to_vec(),
        }
    }

    fn is_known(&self, ends: &BTreeMap<Vec<u8>, Timestamp>, key: &[u8]) -> bool {
        ends.get(key).is_some_and(|end| {
            let soon = Timestamp::from_seconds(SystemClock.now().seconds() + 1);
            !(self.fault == Fault::ExpiresEarly && *end <= soon)
        })
    }
}

impl Store for Replays {}

#[async_trait]
impl RecordStore<Replay> for Replays {
    async fn find(&self, _: &[u8; 32]) -> Result<Option<Arc<Replay>>, StoreError> {
        unreachable!("the kit only inserts replays")
    }

    async fn replace(&self, _: u32, _: Arc<Replay>) -> Result<Replacement, StoreError> {
        unreachable!("the kit only inserts replays")
    }

    async fn confirm(&self, _: Arc<Replay>) -> Result<Replacement, StoreError> {
        unreachable!("the kit only inserts replays")
    }

    async fn list(&self, _: &str, _: Page<[u8; 32]>) -> Result<Vec<Arc<Replay>>, StoreError> {
        unreachable!("the kit only inserts replays")
    }

    async fn insert(&self, record: Arc<Replay>) -> Result<Insertion, StoreError> {
        let key = self.key(&record);
        let was_known = self.is_known(&self.ends(), &key);
        if self.fault == Fault::InsertLooksThenWrites {
            wait().await;
        }
        let mut ends = self.ends();
        let is_known = match self.fault {
            Fault::InsertOverwrites => false,
            Fault::InsertLooksThenWrites => was_known,
            _ => self.is_known(&ends, &key),
        };
        if !is_known || self.fault == Fault::ExistsMovesTheEnd {
            ends.insert(key, record.end());
        }
        Ok(if is_known { Insertion::Exists } else { Insertion::Inserted })
    }

    async fn purge(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        let mut ends = self.ends();
        let now = match self.fault {
            Fault::PurgeASecondEarly => Timestamp::from_seconds(now.seconds().saturating_add(1)),
            Fault::PurgeASecondLate => Timestamp::from_seconds(now.seconds().saturating_sub(1)),
            _ => now,
        };
        let limit = if self.fault == Fault::PurgeIgnoresItsLimit { usize::MAX } else { limit };
        let by_end: BTreeSet<_> = ends.iter().map(|(key, end)| (*end, key.clone())).collect();
        let due: Vec<_> = match self.fault {
            // In key order, so that each purge reads the same rows first.
            Fault::PurgeWalksOverTheLiving => {
                let first = ends.iter().take(limit);
                first.filter(|(_, end)| **end <= now).map(|(key, _)| key.clone()).collect()
            }
            Fault::PurgeRemovesNothing => Vec::new(),
            _ => by_end.into_iter().take_while(|(end, _)| *end <= now).take(limit).map(|(_, key)| key).collect(),
        };
        ends.retain(|key, _| !due.contains(key));
        let is_finished = match self.fault {
            Fault::PurgeNeverFinishes => false,
            Fault::PurgeFinishesAtOnce => true,
            Fault::PurgeFinishesWhenItRemovedNothing => due.is_empty(),
            _ => due.len() < limit,
        };
        let purge = Purge::new(due.len());
        Ok(if is_finished { purge.finished() } else { purge })
    }
}

/// Each fault, and the rules that notice it.
pub(crate) const FAULTS: [(Fault, Noticed); 13] = [
    (Fault::InsertOverwrites, AmongOthersBy(&["one_identifier_has_one_winner", "identifiers_are_distinguished"])),
    (Fault::InsertLooksThenWrites, By(&["one_identifier_has_one_winner"])),
    (Fault::ExistsMovesTheEnd, AmongOthersBy(&["a_purge_waits_for_the_end_of_a_replay"])),
    (Fault::DigestsOf16Bytes, By(&["identifiers_are_distinguished"])),
    (Fault::DigestsInAnyCase, By(&["identifiers_are_distinguished"])),
    (Fault::PurgeASecondEarly, AmongOthersBy(&["a_purge_waits_for_the_end_of_a_replay"])),
    (Fault::PurgeASecondLate, AmongOthersBy(&["a_purge_waits_for_the_end_of_a_replay"])),
    (Fault::PurgeRemovesNothing, AmongOthersBy(&["a_purge_waits_for_the_end_of_a_replay"])),
    (Fault::PurgeIgnoresItsLimit, By(&["a_purge_of_replays_is_bounded_and_finishes"])),
    (Fault::PurgeNeverFinishes, AmongOthersBy(&["a_purge_of_replays_is_bounded_and_finishes"])),
    (Fault::PurgeFinishesAtOnce, AmongOthersBy(&["a_purge_of_replays_is_bounded_and_finishes"])),
    (Fault::PurgeFinishesWhenItRemovedNothing, By(&["a_purge_of_replays_is_bounded_and_finishes"])),
    (Fault::PurgeWalksOverTheLiving, AmongOthersBy(&["a_purge_of_replays_is_bounded_and_finishes"])),
];
