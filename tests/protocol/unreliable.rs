//! A store of grants that fails on demand, whose reads are not settled, and that counts its writes.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use grantor::Timestamp;
use grantor::config::Profile;
use grantor::id::GrantId;
use grantor::store::{Grant, Insertion, Page, Purge, RecordStore, Replacement, Store, StoreError};

use crate::interleaved::serve_from;
use support::world::{AnyStore, World};

/// The calls that fail, always with a transient failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    Writes,
    Everything,
}

/// A store of grants that can be made to fail.
#[derive(Clone, Debug)]
pub(crate) struct Unreliable {
    inner: AnyStore,
    fault: Arc<Mutex<Fault>>,
    writes: Arc<AtomicUsize>,
    confirms: Arc<AtomicUsize>,
    reads_until_back: Arc<AtomicU8>,
}

impl Unreliable {
    /// A world whose grants are kept in such a store.
    pub(crate) async fn world(profile: Profile) -> (World, Self) {
        let mut world = World::with(profile, |_| {}).await;
        let store = Self {
            inner: world.store.clone(),
            fault: Arc::new(Mutex::new(Fault::None)),
            writes: Arc::default(),
            confirms: Arc::default(),
            reads_until_back: Arc::default(),
        };
        serve_from(&mut world, store.clone());
        (world, store)
    }

    pub(crate) fn fail(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }

    /// Makes the next reads fail, at most this many.
    pub(crate) fn fail_reads(&self, count: u8) {
        self.reads_until_back.store(count, Ordering::SeqCst);
    }

    /// Returns the number of writes since the last call.
    pub(crate) fn writes(&self) -> usize {
        self.writes.swap(0, Ordering::SeqCst)
    }

    /// Returns the numbers of writes and of confirmations since the last call.
    pub(crate) fn counted(&self) -> (usize, usize) {
        (self.writes(), self.confirms.swap(0, Ordering::SeqCst))
    }

    fn check_read(&self) -> Result<(), StoreError> {
        let missing = self.reads_until_back.load(Ordering::SeqCst);
        if missing > 0 {
            self.reads_until_back.store(missing - 1, Ordering::SeqCst);
            return Err(StoreError::transient("the read timed out"));
        }
        match *self.fault.lock().unwrap() {
            Fault::Everything => Err(StoreError::transient("the connection was lost")),
            Fault::None | Fault::Writes => Ok(()),
        }
    }

    fn check_write(&self) -> Result<(), StoreError> {
        match *self.fault.lock().unwrap() {
            Fault::None => Ok(()),
            Fault::Writes | Fault::Everything => Err(StoreError::transient("the connection was lost")),
        }
    }
}

impl Store for Unreliable {}

#[async_trait::async_trait]
impl RecordStore<Grant> for Unreliable {
    async fn find(&self, id: &GrantId) -> Result<Option<Arc<Grant>>, StoreError> {
        self.check_read()?;
        RecordStore::<Grant>::find(&self.inner, id).await
    }

    async fn insert(&self, record: Arc<Grant>) -> Result<Insertion, StoreError> {
        self.check_write()?;
        self.writes.fetch_add(1, Ordering::SeqCst);
        RecordStore::<Grant>::insert(&self.inner, record).await
    }

    async fn replace(&self, version: u32, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        self.check_write()?;
        self.writes.fetch_add(1, Ordering::SeqCst);
        RecordStore::<Grant>::replace(&self.inner, version, record).await
    }

    async fn confirm(&self, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        self.check_write()?;
        self.confirms.fetch_add(1, Ordering::SeqCst);
        RecordStore::<Grant>::confirm(&self.inner, record).await
    }

    async fn list(&self, list: &str, page: Page<GrantId>) -> Result<Vec<Arc<Grant>>, StoreError> {
        self.check_read()?;
        RecordStore::<Grant>::list(&self.inner, list, page).await
    }

    async fn purge(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        RecordStore::<Grant>::purge(&self.inner, now, limit).await
    }
}
