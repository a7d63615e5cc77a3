//! A store of the last purge with at most one fault.

use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use grantor::Timestamp;
use grantor::store::{Insertion, LastPurge, Purge, PurgeStore, Replacement, Replay, ReplayStore, StoreError};

use crate::broken_stores::Noticed::{self, AmongOthersBy, By};
use crate::broken_stores::wait;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    InsertOverwrites,
    InsertLooksThenWrites,
    ReplaceIgnoresTheVersion,
    ReplaceLooksThenWrites,
    ReplaceInserts,
    VersionsOnlyGrow,
    ConfirmWrites,
    ConfirmIgnoresTheTime,
    ConfirmRaisesTheVersion,
    ConfirmFails,
    TimesNeverGoBack,
    PurgeRemovesIt,
}

#[derive(Debug)]
pub(crate) struct Purges {
    fault: Fault,
    record: Mutex<Option<LastPurge>>,
}

impl Purges {
    pub(crate) fn with(fault: Fault) -> Self {
        Self { fault, record: Mutex::default() }
    }

    fn record(&self) -> MutexGuard<'_, Option<LastPurge>> {
        self.record.lock().unwrap()
    }
}

#[async_trait]
impl PurgeStore for Purges {
    async fn find(&self) -> Result<Option<Arc<LastPurge>>, StoreError> {
        Ok(self.record().map(Arc::new))
    }

    async fn insert(&self, record: LastPurge) -> Result<Insertion, StoreError> {
        let was_there = self.record().is_some();
        if self.fault == Fault::InsertLooksThenWrites {
            wait().await;
        }
        let mut stored = self.record();
        let is_there = match self.fault {
            Fault::InsertOverwrites => false,
            Fault::InsertLooksThenWrites => was_there,
            _ => stored.is_some(),
        };
        if is_there {
            return Ok(Insertion::Exists);
        }
        *stored = Some(record);
        Ok(Insertion::Inserted)
    }

    async fn replace(&self, version: u32, record: LastPurge) -> Result<Replacement, StoreError> {
        let fits = |stored: &Option<LastPurge>| match self.fault {
            Fault::ReplaceIgnoresTheVersion => stored.is_some(),
            Fault::ReplaceInserts => stored.is_none_or(|stored| stored.version() == version),
            Fault::VersionsOnlyGrow => {
                stored.is_some_and(|stored| stored.version() == version && version < record.version())
            }
            _ => stored.is_some_and(|stored| stored.version() == version),
        };
        let did_fit = fits(&self.record());
        if self.fault == Fault::ReplaceLooksThenWrites {
            wait().await;
        }
        let mut stored = self.record();
        let fits = if self.fault == Fault::ReplaceLooksThenWrites { did_fit } else { fits(&stored) };
        if !fits {
            return Ok(Replacement::Lost);
        }
        let earliest = stored.map_or(record.time(), |stored| stored.time());
        *stored = Some(match self.fault {
            Fault::TimesNeverGoBack => LastPurge::new(record.version(), record.time().max(earliest)),
            _ => record,
        });
        Ok(Replacement::Replaced)
    }

    async fn confirm(&self, record: LastPurge) -> Result<Replacement, StoreError> {
        let mut stored = self.record();
        let fits = match self.fault {
            Fault::ConfirmWrites => true,
            Fault::ConfirmIgnoresTheTime => stored.is_some_and(|stored| stored.version() == record.version()),
            Fault::ConfirmFails => false,
            _ => *stored == Some(record),
        };
        if !fits {
            return Ok(Replacement::Lost);
        }
        match self.fault {
            Fault::ConfirmWrites => *stored = Some(record),
            Fault::ConfirmRaisesTheVersion => *stored = Some(LastPurge::new(record.version() + 1, record.time())),
            _ => {}
        }
        Ok(Replacement::Replaced)
    }
}

/// Only its purge is called.
#[async_trait]
impl ReplayStore for Purges {
    async fn insert(&self, _: Replay) -> Result<Insertion, StoreError> {
        Ok(Insertion::Inserted)
    }

    async fn purge_expired(&self, now: Timestamp, _: usize) -> Result<Purge, StoreError> {
        let mut stored = self.record();
        if self.fault == Fault::PurgeRemovesIt && stored.is_some_and(|stored| stored.time() <= now) {
            *stored = None;
        }
        Ok(Purge::default().finished())
    }
}

/// Each fault, and the rules that notice it.
pub(crate) const FAULTS: [(Fault, Noticed); 12] = [
    (Fault::InsertOverwrites, By(&["insert_has_one_winner", "insert_leaves_what_is_there"])),
    (Fault::InsertLooksThenWrites, By(&["insert_has_one_winner"])),
    (Fault::ReplaceIgnoresTheVersion, By(&["replace_has_one_winner", "replace_of_another_version_is_lost"])),
    (Fault::ReplaceLooksThenWrites, By(&["replace_has_one_winner"])),
    (Fault::ReplaceInserts, By(&["replace_of_a_missing_record_is_lost"])),
    (Fault::VersionsOnlyGrow, By(&["acknowledged_writes_are_found"])),
    (Fault::ConfirmWrites, By(&["a_confirm_of_another_record_is_lost"])),
    (Fault::ConfirmIgnoresTheTime, By(&["a_confirm_of_another_record_is_lost"])),
    (Fault::ConfirmRaisesTheVersion, By(&["a_confirm_leaves_what_is_there"])),
    (Fault::ConfirmFails, By(&["a_confirm_leaves_what_is_there"])),
    (Fault::TimesNeverGoBack, AmongOthersBy(&["acknowledged_writes_are_found"])),
    (Fault::PurgeRemovesIt, By(&["a_purge_leaves_the_record"])),
];
