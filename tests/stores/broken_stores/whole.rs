//! A store of all kinds of records with at most one fault.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use grantor::store::{Insertion, Page, Purge, Record, RecordStore, Replacement, Store, StoreError, Table};
use grantor::{MemoryStore, Timestamp};

use crate::broken_stores::Noticed::{self, By};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    KindsShareTheirKeys,
    PurgeRemovesTheLastPurge,
    LargeLogosAreRefused,
    LogosStayForEver,
    InitialTokensAreForgotten,
    LargeDeviceRequestsAreForgotten,
    UserCodesAreInsertedAgain,
}

#[derive(Debug)]
pub(crate) struct Whole {
    fault: Fault,
    store: MemoryStore,
    /// The table in which each key was first inserted.
    keys: Mutex<BTreeMap<Vec<u8>, Table>>,
    /// Tables whose records a purge has removed.
    removed: Mutex<Vec<Table>>,
}

impl Whole {
    pub(crate) fn with(fault: Fault) -> Self {
        Self { fault, store: MemoryStore::new(), keys: Mutex::default(), removed: Mutex::default() }
    }
}

impl Store for Whole {}

#[async_trait]
impl<R: Record> RecordStore<R> for Whole
where
    MemoryStore: RecordStore<R>,
{
    async fn find(&self, key: &R::Key) -> Result<Option<Arc<R>>, StoreError> {
        let is_forgotten = self.fault == Fault::InitialTokensAreForgotten && R::TABLE == Table::InitialTokens;
        if is_forgotten || self.removed.lock().unwrap().contains(&R::TABLE) {
            return Ok(None);
        }
        let found = RecordStore::<R>::find(&self.store, key).await?;
        let forgets = self.fault == Fault::LargeDeviceRequestsAreForgotten && R::TABLE == Table::DeviceRequests;
        Ok(found.filter(|found| !forgets || found.encode().len() < 600))
    }

    async fn insert(&self, record: Arc<R>) -> Result<Insertion, StoreError> {
        let first = *self.keys.lock().unwrap().entry(record.key().as_ref().to_vec()).or_insert(R::TABLE);
        if self.fault == Fault::KindsShareTheirKeys && first != R::TABLE {
            return Ok(Insertion::Exists);
        }
        if self.fault == Fault::LargeLogosAreRefused && record.encode().len() > 1 << 16 {
            return Err(StoreError::permanent("the value is too large"));
        }
        let inserted = RecordStore::<R>::insert(&self.store, record).await?;
        let is_again = self.fault == Fault::UserCodesAreInsertedAgain && R::TABLE == Table::UserCodes;
        Ok(if is_again { Insertion::Inserted } else { inserted })
    }

    async fn replace(&self, version: u32, record: Arc<R>) -> Result<Replacement, StoreError> {
        RecordStore::<R>::replace(&self.store, version, record).await
    }

    async fn confirm(&self, record: Arc<R>) -> Result<Replacement, StoreError> {
        RecordStore::<R>::confirm(&self.store, record).await
    }

    async fn list(&self, list: &str, page: Page<R::Key>) -> Result<Vec<Arc<R>>, StoreError> {
        RecordStore::<R>::list(&self.store, list, page).await
    }

    async fn purge(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        if self.fault == Fault::PurgeRemovesTheLastPurge && R::TABLE == Table::LastPurge {
            self.removed.lock().unwrap().push(R::TABLE);
        }
        if self.fault == Fault::LogosStayForEver && R::TABLE == Table::ApplicationLogos {
            return Ok(Purge::default().finished());
        }
        RecordStore::<R>::purge(&self.store, now, limit).await
    }
}

/// Each fault, and the rules that notice it.
pub(crate) const FAULTS: [(Fault, Noticed); 7] = [
    (Fault::KindsShareTheirKeys, By(&["kinds_are_distinguished"])),
    (Fault::LargeLogosAreRefused, By(&["logos_come_back"])),
    (Fault::LogosStayForEver, By(&["a_logo_that_stays_may_be_removed_later"])),
    (Fault::InitialTokensAreForgotten, By(&["initial_tokens_come_back"])),
    (Fault::LargeDeviceRequestsAreForgotten, By(&["device_requests_come_back"])),
    (Fault::UserCodesAreInsertedAgain, By(&["user_codes_come_back"])),
    (Fault::PurgeRemovesTheLastPurge, By(&["a_purge_leaves_the_last_purge"])),
];
