//! The time of the last purge.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::model::LastPurge;
use crate::store::{Insertion, Replacement};

#[derive(Debug, Default)]
pub(super) struct Place(Mutex<Option<LastPurge>>);

impl Place {
    pub(super) fn find(&self) -> Option<Arc<LastPurge>> {
        self.record().map(Arc::new)
    }

    pub(super) fn insert(&self, record: LastPurge) -> Insertion {
        let mut stored = self.record();
        if stored.is_some() {
            return Insertion::Exists;
        }
        *stored = Some(record);
        Insertion::Inserted
    }

    pub(super) fn replace(&self, version: u32, record: LastPurge) -> Replacement {
        match &mut *self.record() {
            Some(stored) if stored.version() == version => *stored = record,
            Some(_) | None => return Replacement::Lost,
        }
        Replacement::Replaced
    }

    pub(super) fn confirm(&self, record: LastPurge) -> Replacement {
        if *self.record() == Some(record) { Replacement::Replaced } else { Replacement::Lost }
    }

    fn record(&self) -> MutexGuard<'_, Option<LastPurge>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
