//! A store whose calls are answered by a task on the caller's thread, like a database connection that its runtime
//! drives. A rule that blocks the thread would never end.

use std::sync::Arc;

use async_trait::async_trait;
use grantor::id::GrantId;
use grantor::store::{Grant, Insertion, Page, Purge, RecordStore, Replacement, Store, StoreError};
use grantor::{MemoryStore, Timestamp};
use tokio::sync::{mpsc, oneshot};

#[derive(Debug)]
struct Driven {
    calls: mpsc::UnboundedSender<Call>,
}

struct Call(Box<dyn FnOnce(&MemoryStore) + Send>);

impl Driven {
    fn connect() -> Self {
        let (calls, mut queue) = mpsc::unbounded_channel::<Call>();
        tokio::spawn(async move {
            let store = MemoryStore::new();
            while let Some(call) = queue.recv().await {
                (call.0)(&store);
                tokio::task::yield_now().await;
            }
        });
        Self { calls }
    }

    async fn ask<T: Send + 'static>(
        &self,
        call: impl AsyncFnOnce(&MemoryStore) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let call = move |store: &MemoryStore| drop(answer.send(futures::executor::block_on(call(store))));
        self.calls.send(Call(Box::new(call))).map_err(|_| StoreError::permanent("the driver is gone"))?;
        answered.await.map_err(StoreError::permanent)?
    }
}

impl Store for Driven {}

#[async_trait]
impl RecordStore<Grant> for Driven {
    async fn find(&self, id: &GrantId) -> Result<Option<Arc<Grant>>, StoreError> {
        let id = *id;
        self.ask(async move |store| RecordStore::<Grant>::find(store, &id).await).await
    }

    async fn insert(&self, record: Arc<Grant>) -> Result<Insertion, StoreError> {
        self.ask(async move |store| RecordStore::<Grant>::insert(store, record).await).await
    }

    async fn replace(&self, version: u32, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        self.ask(async move |store| RecordStore::<Grant>::replace(store, version, record).await).await
    }

    async fn confirm(&self, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        self.ask(async move |store| RecordStore::<Grant>::confirm(store, record).await).await
    }

    async fn list(&self, list: &str, page: Page<GrantId>) -> Result<Vec<Arc<Grant>>, StoreError> {
        let list = list.to_owned();
        self.ask(async move |store| RecordStore::<Grant>::list(store, &list, page).await).await
    }

    async fn purge(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        self.ask(async move |store| RecordStore::<Grant>::purge(store, now, limit).await).await
    }
}

grantor::token_store_tests!(#[tokio::test(flavor = "current_thread")] => Driven::connect());
