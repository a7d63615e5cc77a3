//! Used identifiers, by digest and by end.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Mutex, PoisonError};

use crate::clock::Timestamp;
use crate::model::Replay;
use crate::store::{Insertion, Purge};

#[derive(Debug, Default)]
pub(super) struct Replays(Mutex<Contents>);

#[derive(Debug, Default)]
struct Contents {
    used: HashSet<[u8; 32]>,
    due: BTreeSet<(Timestamp, [u8; 32])>,
}

impl Replays {
    pub(super) fn insert(&self, record: &Replay) -> Insertion {
        let mut contents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !contents.used.insert(*record.digest()) {
            return Insertion::Exists;
        }
        contents.due.insert((record.end(), *record.digest()));
        Insertion::Inserted
    }

    pub(super) fn purge_expired(&self, now: Timestamp, limit: usize) -> Purge {
        let mut contents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for removed in 0..limit {
            let Some(first) = contents.due.first().copied().filter(|(end, _)| *end <= now) else {
                return Purge::new(removed).finished();
            };
            contents.due.remove(&first);
            contents.used.remove(&first.1);
        }
        Purge::new(limit)
    }
}
