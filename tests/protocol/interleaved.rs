//! Races: a store that yields to all other callers before each of its steps, and callers on separate threads
//! that start together.

use std::sync::Arc;

use grantor::store::{Grant, Insertion, Page, Purge, Record, RecordStore, Replacement, Store, StoreError, Stores};
use grantor::wire::Response;
use grantor::{AuthorizationServer, Config, Timestamp};
use tokio::sync::Barrier;
use tokio::task::yield_now;

use support::world::{AnyStore, World};

/// The number of concurrent callers.
pub(crate) const CALLERS: usize = 50;

/// Returns the answers to the same call made by all callers at once on one thread, with their steps interleaved.
pub(crate) async fn side_by_side<T>(world: &mut World, call: impl AsyncFn(&World) -> T) -> Vec<T> {
    let interleaved = Interleaved(world.store.clone());
    serve(world, Stores::new(world.store.clone()).with_tokens(interleaved.clone()).with_codes(interleaved));
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
    serve(world, Stores::new(world.store.clone()).with_tokens(tokens));
}

fn serve(world: &mut World, stores: Stores) {
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

#[derive(Clone, Debug)]
struct Interleaved(AnyStore);

impl Store for Interleaved {}

#[async_trait::async_trait]
impl<R: Record> RecordStore<R> for Interleaved
where
    AnyStore: RecordStore<R>,
{
    async fn find(&self, key: &R::Key) -> Result<Option<Arc<R>>, StoreError> {
        yield_now().await;
        self.0.find(key).await
    }

    async fn insert(&self, record: Arc<R>) -> Result<Insertion, StoreError> {
        yield_now().await;
        self.0.insert(record).await
    }

    async fn replace(&self, version: u32, record: Arc<R>) -> Result<Replacement, StoreError> {
        yield_now().await;
        self.0.replace(version, record).await
    }

    async fn confirm(&self, record: Arc<R>) -> Result<Replacement, StoreError> {
        yield_now().await;
        self.0.confirm(record).await
    }

    async fn list(&self, list: &str, page: Page<R::Key>) -> Result<Vec<Arc<R>>, StoreError> {
        RecordStore::<R>::list(&self.0, list, page).await
    }

    async fn purge(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        RecordStore::<R>::purge(&self.0, now, limit).await
    }
}
