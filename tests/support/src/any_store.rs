//! The store under a world, which `GRANTOR_TEST_STORE` selects when the tests are run.
//!
//! A store on a server also needs `GRANTOR_TEST_SERVER`: a connection string of PostgreSQL, whose user may make
//! schemas, or an address of Redis.

use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::env::{self, VarError};
use std::fmt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use grantor::store::{
    ApplicationLogo, Authorization, ClientStore, DeviceRequest, Grant, InitialToken, Insertion, LastPurge, Page, Purge,
    PushedRequest, Record, RecordStore, Replacement, Replay, Store, StoreError, UserCodeRecord,
};
use grantor::{Application, Client, ClientId, MemoryStore, Timestamp};

const VARIABLE: &str = "GRANTOR_TEST_STORE";
/// Its values; `memory` if it is not set.
const NAMES: &[&str] = if cfg!(feature = "stores") { &["memory", "sqlite", "postgres", "redis"] } else { &["memory"] };

/// More records than a test makes of one subject.
const MANY: usize = 10_000;

/// A store that keeps everything; clones share it.
#[derive(Clone)]
pub struct AnyStore {
    store: Arc<dyn Whole>,
    /// The lists of all records that were ever inserted: no trait names all lists.
    lists: Arc<Mutex<BTreeSet<String>>>,
    /// Dropped with the last clone.
    _lease: Option<Arc<dyn Any + Send + Sync>>,
}

pub trait Whole:
    ClientStore
    + RecordStore<Application>
    + RecordStore<ApplicationLogo>
    + RecordStore<Authorization>
    + RecordStore<DeviceRequest>
    + RecordStore<Grant>
    + RecordStore<InitialToken>
    + RecordStore<LastPurge>
    + RecordStore<PushedRequest>
    + RecordStore<Replay>
    + RecordStore<UserCodeRecord>
{
}

impl<S> Whole for S where
    S: ClientStore
        + RecordStore<Application>
        + RecordStore<ApplicationLogo>
        + RecordStore<Authorization>
        + RecordStore<DeviceRequest>
        + RecordStore<Grant>
        + RecordStore<InitialToken>
        + RecordStore<LastPurge>
        + RecordStore<PushedRequest>
        + RecordStore<Replay>
        + RecordStore<UserCodeRecord>
{
}

impl AnyStore {
    /// Opens an empty store, of the kind that was asked for.
    pub async fn open() -> Self {
        let name = match env::var(VARIABLE) {
            Ok(name) => name,
            Err(VarError::NotPresent) => "memory".to_owned(),
            Err(error) => panic!("{VARIABLE}: {error}"),
        };
        match name.as_str() {
            "memory" => Self::over(MemoryStore::new()),
            #[cfg(feature = "stores")]
            "sqlite" => Self::over(grantor::SqliteStore::temporary().unwrap()),
            #[cfg(feature = "stores")]
            "postgres" => {
                let lease = crate::on_postgres::Lease::take(&crate::runtime::server()).await;
                Self { _lease: Some(lease.clone()), ..Self::over(lease.store()) }
            }
            #[cfg(feature = "stores")]
            "redis" => Self::over(crate::on_redis::store(&crate::runtime::server()).await),
            unknown => panic!("{VARIABLE} is {unknown:?}; with these features it may be one of {NAMES:?}"),
        }
    }

    pub fn over(store: impl Whole) -> Self {
        Self { store: Arc::new(store), lists: Arc::default(), _lease: None }
    }

    /// Counts the authorizations of all subjects.
    pub async fn authorization_count(&self) -> usize {
        let mut count = 0;
        for list in self.lists() {
            count += RecordStore::<Authorization>::list(self, list.as_str(), Page::first(MANY)).await.unwrap().len();
        }
        count
    }

    /// Counts the grants of all subjects, revoked ones too.
    pub async fn grant_count(&self) -> usize {
        let mut count = 0;
        for list in self.lists() {
            count += RecordStore::<Grant>::list(self, list.as_str(), Page::first(MANY)).await.unwrap().len();
        }
        count
    }

    fn lists(&self) -> BTreeSet<String> {
        self.lists.lock().unwrap().clone()
    }
}

/// The output of the store itself, which some tests search for secrets.
impl fmt::Debug for AnyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}

#[async_trait]
impl ClientStore for AnyStore {
    async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.store.client(id).await
    }

    async fn current_client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.store.current_client(id).await
    }
}

impl Store for AnyStore {
    fn reads_settled(&self) -> bool {
        self.store.reads_settled()
    }
}

#[async_trait]
impl<R: Record> RecordStore<R> for AnyStore
where
    dyn Whole: RecordStore<R>,
{
    async fn find(&self, key: &R::Key) -> Result<Option<Arc<R>>, StoreError> {
        <dyn Whole as RecordStore<R>>::find(&*self.store, key).await
    }

    async fn insert(&self, record: Arc<R>) -> Result<Insertion, StoreError> {
        self.lists.lock().unwrap().extend(record.lists().into_iter().map(Cow::into_owned));
        <dyn Whole as RecordStore<R>>::insert(&*self.store, record).await
    }

    async fn replace(&self, version: u32, record: Arc<R>) -> Result<Replacement, StoreError> {
        <dyn Whole as RecordStore<R>>::replace(&*self.store, version, record).await
    }

    async fn confirm(&self, record: Arc<R>) -> Result<Replacement, StoreError> {
        <dyn Whole as RecordStore<R>>::confirm(&*self.store, record).await
    }

    async fn list(&self, list: &str, page: Page<R::Key>) -> Result<Vec<Arc<R>>, StoreError> {
        <dyn Whole as RecordStore<R>>::list(&*self.store, list, page).await
    }

    async fn purge(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        <dyn Whole as RecordStore<R>>::purge(&*self.store, now, limit).await
    }
}
