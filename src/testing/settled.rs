//! A wrapper for an engine whose purge index lags.

use std::fmt;

use crate::base::clock::Timestamp;
use crate::store::{Engine, Insertion, List, Purge, Replacement, Row, Store, StoreError, Table, Write};

/// An engine under test that settles before each step of a purge, so that a purge index may lag.
///
/// All other calls go straight to the engine: a list that lags is broken. The macro creates it from `store: …, another:
/// …, settle: …`; it is needed directly only for rules that are called separately.
#[derive(Clone)]
pub struct Settled<E, F> {
    engine: E,
    settle: F,
}

impl<E, F> fmt::Debug for Settled<E, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settled").finish_non_exhaustive()
    }
}

impl<E: Engine + Clone, F: Fn(E) -> W, W: Future<Output = ()>> Settled<E, F> {
    /// Wraps an engine; `settle` is given a clone, and returns when the purge index has all that was written before.
    pub const fn new(engine: E, settle: F) -> Self {
        Self { engine, settle }
    }

    /// Returns the engine under test.
    pub const fn engine(&self) -> &E {
        &self.engine
    }
}

impl<E: Engine, F: Send + Sync + 'static> Store for Settled<E, F> {
    fn reads_settled(&self) -> bool {
        self.engine.reads_settled()
    }
}

impl<E, F, W> Engine for Settled<E, F>
where
    E: Engine + Clone,
    F: Fn(E) -> W + Send + Sync + 'static,
    W: Future<Output = ()> + Send,
{
    async fn find(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.engine.find(table, key).await
    }

    async fn insert(&self, write: Write) -> Result<Insertion, StoreError> {
        self.engine.insert(write).await
    }

    async fn replace(&self, version: u32, write: Write) -> Result<Replacement, StoreError> {
        self.engine.replace(version, write).await
    }

    async fn confirm(&self, write: Write) -> Result<Replacement, StoreError> {
        self.engine.confirm(write).await
    }

    async fn list(&self, list: &List, after: Option<&[u8]>, limit: usize) -> Result<Vec<Row>, StoreError> {
        self.engine.list(list, after, limit).await
    }

    async fn purge(&self, table: Table, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        (self.settle)(self.engine.clone()).await;
        self.engine.purge(table, now, limit).await
    }
}
