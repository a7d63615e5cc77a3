//! A store whose purge sees a write only when its index has caught up, like a store behind a change stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use futures::executor::block_on;
use grantor::id::GrantId;
use grantor::store::{Grant, Insertion, Page, Purge, RecordStore, Replacement, Store, StoreError};
use grantor::testing::{Settled, records};
use grantor::{MemoryStore, Timestamp};

#[derive(Clone, Debug, Default)]
struct Lagging {
    store: MemoryStore,
    is_behind: Arc<AtomicBool>,
}

impl Lagging {
    async fn settle(self) {
        self.is_behind.store(false, Ordering::SeqCst);
    }
}

impl Store for Lagging {}

#[async_trait]
impl RecordStore<Grant> for Lagging {
    async fn find(&self, id: &GrantId) -> Result<Option<Arc<Grant>>, StoreError> {
        RecordStore::<Grant>::find(&self.store, id).await
    }

    async fn insert(&self, record: Arc<Grant>) -> Result<Insertion, StoreError> {
        self.is_behind.store(true, Ordering::SeqCst);
        RecordStore::<Grant>::insert(&self.store, record).await
    }

    async fn replace(&self, version: u32, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        self.is_behind.store(true, Ordering::SeqCst);
        RecordStore::<Grant>::replace(&self.store, version, record).await
    }

    async fn confirm(&self, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        RecordStore::<Grant>::confirm(&self.store, record).await
    }

    async fn list(&self, list: &str, page: Page<GrantId>) -> Result<Vec<Arc<Grant>>, StoreError> {
        RecordStore::<Grant>::list(&self.store, list, page).await
    }

    async fn purge(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        if self.is_behind.load(Ordering::SeqCst) {
            return Ok(Purge::new(0).finished());
        }
        RecordStore::<Grant>::purge(&self.store, now, limit).await
    }
}

grantor::token_store_tests! {
    #[tokio::test] => store: Lagging::default(), another: store.clone(), settle: Lagging::settle
}

#[tokio::test]
#[should_panic(expected = "the row is due")]
async fn without_the_wait_a_purge_that_lags_fails() {
    grantor::testing::record_store::a_purge_waits_for_the_end::<Grant>(&Lagging::default()).await;
}

#[test]
fn only_a_purge_waits() {
    let lagging = Lagging::default();
    let store = Settled::new(lagging.clone(), Lagging::settle);
    let end = Timestamp::from_seconds(3_000_000_000);
    let grant = Arc::new(records::grant(&records::subject(), end));
    assert_eq!(block_on(store.insert(grant.clone())).unwrap(), Insertion::Inserted);
    assert_eq!(block_on(store.find(&grant.id())).unwrap(), Some(grant));
    assert!(lagging.is_behind.load(Ordering::SeqCst));
    assert_eq!(block_on(store.purge(end, 10)).unwrap().removed(), 1);
}
