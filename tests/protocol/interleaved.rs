//! Races: a store that yields to all other callers before each of its steps, and callers on separate threads
//! that start together.

use std::sync::Arc;

use grantor::id::GrantId;
use grantor::store::{Grant, Insertion, Page, Purge, RecordStore, Replacement, Store, StoreError, Stores};
use grantor::wire::Response;
use grantor::{AuthorizationServer, Config, Timestamp};
use tokio::sync::Barrier;
use tokio::task::yield_now;

use support::world::{AnyStore, World};

/// The number of concurrent callers.
pub(crate) const CALLERS: usize = 50;

/// Returns the responses to the same request made by all callers at once on one thread, with their steps interleaved.
pub(crate) async fn side_by_side(world: &mut World, call: impl AsyncFn(&World) -> Response) -> Vec<Response> {
    serve_from(world, Interleaved(world.store.clone()));
    let world = &*world;
    futures::future::join_all((0..CALLERS).map(|_| call(world))).await
}

/// Returns the responses to an exchange or refresh made by all callers at once, from several threads.
pub(crate) async fn from_threads(world: &Arc<World>, form: &[(&str, &str)]) -> Vec<Response> {
    let start = Arc::new(Barrier::new(CALLERS));
    let form: Vec<(String, String)> = form.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let tasks: Vec<_> = (0..CALLERS)
        .map(|_| {
            let (world, start, form) = (world.clone(), start.clone(), form.clone());
            tokio::spawn(async move {
                let form: Vec<_> = form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
                let call = world.token(&form);
                start.wait().await;
                call.send().await
            })
        })
        .collect();
    let mut responses = Vec::with_capacity(CALLERS);
    for task in tasks {
        responses.push(task.await.unwrap());
    }
    responses
}

/// Makes the world's server keep its grants in another store.
pub(crate) fn serve_from(world: &mut World, tokens: impl RecordStore<Grant>) {
    let stores = Stores::new(world.store.clone()).with_tokens(tokens);
    let config = world.server.config().clone();
    let builder = AuthorizationServer::builder(config, stores).clock(world.clock.clone()).events(world.events.clone());
    world.server = builder.build().unwrap();
}

/// Replaces the world's server with one that has changed settings and the same store.
pub(crate) fn reconfigured(world: &mut World, change: impl FnOnce(&mut Config)) {
    let mut config = world.server.config().clone();
    change(&mut config);
    let builder = AuthorizationServer::builder(config, world.store.clone());
    world.server = builder.clock(world.clock.clone()).events(world.events.clone()).build().unwrap();
}

#[derive(Debug)]
struct Interleaved(AnyStore);

impl Store for Interleaved {}

#[async_trait::async_trait]
impl RecordStore<Grant> for Interleaved {
    async fn find(&self, id: &GrantId) -> Result<Option<Arc<Grant>>, StoreError> {
        yield_now().await;
        RecordStore::<Grant>::find(&self.0, id).await
    }

    async fn insert(&self, record: Arc<Grant>) -> Result<Insertion, StoreError> {
        yield_now().await;
        RecordStore::<Grant>::insert(&self.0, record).await
    }

    async fn replace(&self, version: u32, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        yield_now().await;
        RecordStore::<Grant>::replace(&self.0, version, record).await
    }

    async fn confirm(&self, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        yield_now().await;
        RecordStore::<Grant>::confirm(&self.0, record).await
    }

    async fn list(&self, list: &str, page: Page<GrantId>) -> Result<Vec<Arc<Grant>>, StoreError> {
        RecordStore::<Grant>::list(&self.0, list, page).await
    }

    async fn purge(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        RecordStore::<Grant>::purge(&self.0, now, limit).await
    }
}
