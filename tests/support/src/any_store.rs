//! The store under a world, which `GRANTOR_TEST_STORE` selects when the tests are run.
//!
//! A store on a server also needs `GRANTOR_TEST_SERVER`: a connection string of PostgreSQL, whose user may make
//! schemas, or an address of Redis.

use std::any::Any;
use std::collections::BTreeSet;
use std::env::{self, VarError};
use std::fmt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use grantor::SqliteStore;
use grantor::application::{ApplicationFilter, Logo, LogoSlot};
use grantor::id::{AuthorizationId, GrantId, PushedRequestId};
use grantor::store::{
    Authorization, ClientRegistry, ClientStore, CodeStore, Grant, Insertion, LastPurge, Page, Purge, PurgeStore,
    PushedRequest, PushedRequestStore, Registration, Replacement, Replay, ReplayStore, StoreError, TokenStore,
};
use grantor::{Application, Client, ClientId, MemoryStore, Subject, Timestamp};

use crate::{on_postgres, on_redis, runtime};

const VARIABLE: &str = "GRANTOR_TEST_STORE";
/// Its values; `memory` if it is not set.
const NAMES: &[&str] = &["memory", "sqlite", "postgres", "redis"];

/// More records than a test makes of one subject.
const MANY: usize = 10_000;

/// A store that keeps everything; clones share it.
#[derive(Clone)]
pub struct AnyStore {
    store: Arc<dyn Whole>,
    /// The subjects of all records that were ever inserted: no trait lists the records of all subjects.
    subjects: Arc<Mutex<BTreeSet<Subject>>>,
    /// Dropped with the last clone.
    _lease: Option<Arc<dyn Any + Send + Sync>>,
}

pub trait Whole: ClientRegistry + CodeStore + TokenStore + ReplayStore + PurgeStore + PushedRequestStore {}

impl<S: ClientRegistry + CodeStore + TokenStore + ReplayStore + PurgeStore + PushedRequestStore> Whole for S {}

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
            "sqlite" => Self::over(SqliteStore::temporary().unwrap()),
            "postgres" => {
                let lease = on_postgres::Lease::take(&runtime::server()).await;
                Self { _lease: Some(lease.clone()), ..Self::over(lease.store()) }
            }
            "redis" => Self::over(on_redis::store(&runtime::server()).await),
            unknown => panic!("{VARIABLE} is {unknown:?}; with these features it may be one of {NAMES:?}"),
        }
    }

    pub fn over(store: impl Whole) -> Self {
        Self { store: Arc::new(store), subjects: Arc::default(), _lease: None }
    }

    /// Counts the authorizations of all subjects.
    pub async fn authorization_count(&self) -> usize {
        let mut count = 0;
        for subject in self.subjects() {
            count += self.authorizations_of(&subject, Page::first(MANY)).await.unwrap().len();
        }
        count
    }

    /// Counts the grants of all subjects, revoked ones too.
    pub async fn grant_count(&self) -> usize {
        let mut count = 0;
        for subject in self.subjects() {
            count += self.grants_of(&subject, Page::first(MANY)).await.unwrap().len();
        }
        count
    }

    fn subjects(&self) -> BTreeSet<Subject> {
        self.subjects.lock().unwrap().clone()
    }

    fn remember(&self, subject: Option<&Subject>) {
        self.subjects.lock().unwrap().extend(subject.cloned());
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
    async fn find(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        ClientStore::find(&*self.store, id).await
    }

    async fn current(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.store.current(id).await
    }
}

#[async_trait]
impl ClientRegistry for AnyStore {
    fn reads_settled(&self) -> bool {
        ClientRegistry::reads_settled(&*self.store)
    }

    async fn insert(&self, registration: Registration) -> Result<Insertion, StoreError> {
        ClientRegistry::insert(&*self.store, registration).await
    }

    async fn replace(&self, version: u32, registration: Registration) -> Result<Replacement, StoreError> {
        ClientRegistry::replace(&*self.store, version, registration).await
    }

    async fn confirm(&self, registration: Registration) -> Result<Replacement, StoreError> {
        ClientRegistry::confirm(&*self.store, registration).await
    }

    async fn application(&self, id: &ClientId) -> Result<Option<Arc<Application>>, StoreError> {
        self.store.application(id).await
    }

    async fn logo(&self, id: &ClientId, slot: LogoSlot) -> Result<Option<Arc<Logo>>, StoreError> {
        self.store.logo(id, slot).await
    }

    async fn purge_deleted(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        self.store.purge_deleted(now, limit).await
    }

    async fn list(
        &self,
        filter: &ApplicationFilter,
        page: Page<ClientId>,
    ) -> Result<Vec<Arc<Application>>, StoreError> {
        self.store.list(filter, page).await
    }
}

#[async_trait]
impl CodeStore for AnyStore {
    fn reads_settled(&self) -> bool {
        CodeStore::reads_settled(&*self.store)
    }

    async fn find(&self, id: &AuthorizationId) -> Result<Option<Arc<Authorization>>, StoreError> {
        CodeStore::find(&*self.store, id).await
    }

    async fn insert(&self, record: Arc<Authorization>) -> Result<Insertion, StoreError> {
        self.remember(record.subject());
        CodeStore::insert(&*self.store, record).await
    }

    async fn replace(&self, version: u32, record: Arc<Authorization>) -> Result<Replacement, StoreError> {
        CodeStore::replace(&*self.store, version, record).await
    }

    async fn confirm(&self, record: Arc<Authorization>) -> Result<Replacement, StoreError> {
        CodeStore::confirm(&*self.store, record).await
    }

    async fn authorizations_of(
        &self,
        subject: &Subject,
        page: Page<AuthorizationId>,
    ) -> Result<Vec<Arc<Authorization>>, StoreError> {
        self.store.authorizations_of(subject, page).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        CodeStore::purge_expired(&*self.store, now, limit).await
    }
}

#[async_trait]
impl TokenStore for AnyStore {
    fn reads_settled(&self) -> bool {
        TokenStore::reads_settled(&*self.store)
    }

    async fn find(&self, id: &GrantId) -> Result<Option<Arc<Grant>>, StoreError> {
        TokenStore::find(&*self.store, id).await
    }

    async fn insert(&self, record: Arc<Grant>) -> Result<Insertion, StoreError> {
        self.remember(record.subject());
        TokenStore::insert(&*self.store, record).await
    }

    async fn replace(&self, version: u32, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        TokenStore::replace(&*self.store, version, record).await
    }

    async fn confirm(&self, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        TokenStore::confirm(&*self.store, record).await
    }

    async fn grants_of(&self, subject: &Subject, page: Page<GrantId>) -> Result<Vec<Arc<Grant>>, StoreError> {
        self.store.grants_of(subject, page).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        TokenStore::purge_expired(&*self.store, now, limit).await
    }
}

#[async_trait]
impl PushedRequestStore for AnyStore {
    fn reads_settled(&self) -> bool {
        PushedRequestStore::reads_settled(&*self.store)
    }

    async fn find(&self, id: &PushedRequestId) -> Result<Option<Arc<PushedRequest>>, StoreError> {
        PushedRequestStore::find(&*self.store, id).await
    }

    async fn insert(&self, record: Arc<PushedRequest>) -> Result<Insertion, StoreError> {
        PushedRequestStore::insert(&*self.store, record).await
    }

    async fn replace(&self, version: u32, record: Arc<PushedRequest>) -> Result<Replacement, StoreError> {
        PushedRequestStore::replace(&*self.store, version, record).await
    }

    async fn confirm(&self, record: Arc<PushedRequest>) -> Result<Replacement, StoreError> {
        PushedRequestStore::confirm(&*self.store, record).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        PushedRequestStore::purge_expired(&*self.store, now, limit).await
    }
}

#[async_trait]
impl ReplayStore for AnyStore {
    async fn insert(&self, record: Replay) -> Result<Insertion, StoreError> {
        ReplayStore::insert(&*self.store, record).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        ReplayStore::purge_expired(&*self.store, now, limit).await
    }
}

#[async_trait]
impl PurgeStore for AnyStore {
    fn reads_settled(&self) -> bool {
        PurgeStore::reads_settled(&*self.store)
    }

    async fn find(&self) -> Result<Option<Arc<LastPurge>>, StoreError> {
        PurgeStore::find(&*self.store).await
    }

    async fn insert(&self, record: LastPurge) -> Result<Insertion, StoreError> {
        PurgeStore::insert(&*self.store, record).await
    }

    async fn replace(&self, version: u32, record: LastPurge) -> Result<Replacement, StoreError> {
        PurgeStore::replace(&*self.store, version, record).await
    }

    async fn confirm(&self, record: LastPurge) -> Result<Replacement, StoreError> {
        PurgeStore::confirm(&*self.store, record).await
    }
}
