//! Records as a server writes them, caught on their way into the store.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::executor::block_on;
use grantor::store::{
    Authorization, ClientRegistry, ClientStore, CodeStore, Grant, Insertion, Page, Purge, Registration, Replacement,
    StoreError, TokenStore,
};
use grantor::testing::SeededEntropy;
use grantor::{
    Application, ApplicationFilter, AuthorizationId, AuthorizationServer, Client, ClientId, Consent, Decision, GrantId,
    Logo, LogoSlot, MemoryStore, Subject, Timestamp,
};

use crate::world::{ISSUER, PKCE, SESSION, World};

/// A row as it was inserted, and what might take its place: each of the next version and a longer life.
#[derive(Clone, Debug)]
pub(crate) struct History<R> {
    pub(crate) first: Arc<R>,
    pub(crate) next: Vec<Arc<R>>,
}

/// One of the two stores of records, whose rules are the same.
pub(crate) trait Kind {
    type Id: Copy + Ord + Debug;
    type Row: PartialEq + Debug + Send + Sync;

    fn id(row: &Self::Row) -> Self::Id;
    fn version(row: &Self::Row) -> u32;
    fn purge_after(row: &Self::Row) -> Timestamp;
    fn octets(row: &Self::Row) -> Vec<u8>;

    fn find(store: &MemoryStore, id: Self::Id) -> Option<Arc<Self::Row>>;
    fn insert(store: &MemoryStore, row: Arc<Self::Row>) -> Insertion;
    fn replace(store: &MemoryStore, version: u32, row: Arc<Self::Row>) -> Replacement;
    fn list(store: &MemoryStore, subject: &Subject, page: Page<Self::Id>) -> Vec<Arc<Self::Row>>;
    fn purge(store: &MemoryStore, now: Timestamp, limit: usize) -> Purge;

    /// So many rows of one user, made in the same second, with so many successors each.
    fn histories(count: usize, successors: usize) -> Vec<History<Self::Row>>;
}

pub(crate) struct Codes;

impl Kind for Codes {
    type Id = AuthorizationId;
    type Row = Authorization;

    fn id(row: &Authorization) -> AuthorizationId {
        row.id()
    }

    fn version(row: &Authorization) -> u32 {
        row.version()
    }

    fn purge_after(row: &Authorization) -> Timestamp {
        row.purge_after()
    }

    fn octets(row: &Authorization) -> Vec<u8> {
        row.encode()
    }

    fn find(store: &MemoryStore, id: AuthorizationId) -> Option<Arc<Authorization>> {
        block_on(CodeStore::find(store, &id)).unwrap()
    }

    fn insert(store: &MemoryStore, row: Arc<Authorization>) -> Insertion {
        block_on(CodeStore::insert(store, row)).unwrap()
    }

    fn replace(store: &MemoryStore, version: u32, row: Arc<Authorization>) -> Replacement {
        block_on(CodeStore::replace(store, version, row)).unwrap()
    }

    fn list(store: &MemoryStore, subject: &Subject, page: Page<AuthorizationId>) -> Vec<Arc<Authorization>> {
        block_on(store.authorizations_of(subject, page)).unwrap()
    }

    fn purge(store: &MemoryStore, now: Timestamp, limit: usize) -> Purge {
        block_on(CodeStore::purge_expired(store, now, limit)).unwrap()
    }

    /// Requests that were held, and the codes that a late decision would make of them.
    fn histories(count: usize, successors: usize) -> Vec<History<Authorization>> {
        let (world, caught) = world_with_net();
        let handles: Vec<_> = (0..count).map(|_| block_on(handle(&world))).collect();
        world.advance(1500);
        let agree = Decision::Approve(Consent::to_everything());
        for handle in &handles {
            for _ in 0..successors {
                let decided = block_on(world.server.decide(handle, &world.alice, SESSION, &agree));
                assert!(decided.is_err(), "the write was caught");
            }
        }
        let caught = caught.codes.lock().unwrap();
        let history = |handle: &String| {
            let first = Self::find(&world.store, id_in(handle).parse().unwrap()).unwrap();
            let next: Vec<_> = caught.iter().filter(|row| row.id() == first.id()).cloned().collect();
            assert_eq!(next.len(), successors);
            History { first, next }
        };
        handles.iter().map(history).collect()
    }
}

pub(crate) struct Tokens;

impl Kind for Tokens {
    type Id = GrantId;
    type Row = Grant;

    fn id(row: &Grant) -> GrantId {
        row.id()
    }

    fn version(row: &Grant) -> u32 {
        row.version()
    }

    fn purge_after(row: &Grant) -> Timestamp {
        row.purge_after()
    }

    fn octets(row: &Grant) -> Vec<u8> {
        row.encode()
    }

    fn find(store: &MemoryStore, id: GrantId) -> Option<Arc<Grant>> {
        block_on(TokenStore::find(store, &id)).unwrap()
    }

    fn insert(store: &MemoryStore, row: Arc<Grant>) -> Insertion {
        block_on(TokenStore::insert(store, row)).unwrap()
    }

    fn replace(store: &MemoryStore, version: u32, row: Arc<Grant>) -> Replacement {
        block_on(TokenStore::replace(store, version, row)).unwrap()
    }

    fn list(store: &MemoryStore, subject: &Subject, page: Page<GrantId>) -> Vec<Arc<Grant>> {
        block_on(store.grants_of(subject, page)).unwrap()
    }

    fn purge(store: &MemoryStore, now: Timestamp, limit: usize) -> Purge {
        block_on(TokenStore::purge_expired(store, now, limit)).unwrap()
    }

    /// Grants with their first pair, and what a late refresh would make of them.
    fn histories(count: usize, successors: usize) -> Vec<History<Grant>> {
        let world = block_on(World::platform());
        let pairs: Vec<_> = (0..count).map(|_| block_on(world.pair())).collect();
        let (world, caught) = net_over(world);
        world.advance(1000);
        for pair in &pairs {
            for _ in 0..successors {
                assert_eq!(block_on(world.refresh(&pair.refresh)).status(), 500, "the write was caught");
            }
        }
        let caught = caught.tokens.lock().unwrap();
        let history = |access: &str| {
            let first = Self::find(&world.store, id_in(access).parse().unwrap()).unwrap();
            let next: Vec<_> = caught.iter().filter(|row| row.id() == first.id()).cloned().collect();
            assert_eq!(next.len(), successors);
            History { first, next }
        };
        pairs.iter().map(|pair| history(&pair.access)).collect()
    }
}

async fn handle(world: &World) -> String {
    let pending = world.authorize(&world.query(&PKCE)).await.unwrap();
    world.server.hold(&pending, &world.alice, SESSION).await.unwrap().expose().to_owned()
}

/// The id between the prefix of three characters and the secret.
fn id_in(secret: &str) -> &str {
    &secret[3..25]
}

pub(crate) fn world_with_net() -> (World, Net) {
    net_over(block_on(World::platform()))
}

/// Puts a net between the server and the store.
fn net_over(mut world: World) -> (World, Net) {
    let net = Net { store: world.store.clone(), ..Net::default() };
    let builder = AuthorizationServer::builder(net.clone()).issuer(ISSUER).clock(world.clock.clone());
    world.server = builder.entropy(SeededEntropy::new(9)).build().unwrap();
    (world, net)
}

/// Keeps every record that was to be replaced, which then is not; registrations go on to the store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Net {
    store: MemoryStore,
    codes: Arc<Mutex<Vec<Arc<Authorization>>>>,
    tokens: Arc<Mutex<Vec<Arc<Grant>>>>,
    pub(crate) registrations: Arc<Mutex<Vec<Registration>>>,
}

fn caught() -> StoreError {
    StoreError::permanent("caught")
}

#[async_trait]
impl ClientStore for Net {
    async fn find(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        ClientStore::find(&self.store, id).await
    }

    async fn current(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.store.current(id).await
    }
}

#[async_trait]
impl ClientRegistry for Net {
    async fn insert(&self, registration: Registration) -> Result<Insertion, StoreError> {
        self.registrations.lock().unwrap().push(registration.clone());
        ClientRegistry::insert(&self.store, registration).await
    }

    async fn replace(&self, version: u32, registration: Registration) -> Result<Replacement, StoreError> {
        self.registrations.lock().unwrap().push(registration.clone());
        ClientRegistry::replace(&self.store, version, registration).await
    }

    async fn application(&self, id: &ClientId) -> Result<Option<Arc<Application>>, StoreError> {
        self.store.application(id).await
    }

    async fn logo(&self, id: &ClientId, slot: LogoSlot) -> Result<Option<Arc<Logo>>, StoreError> {
        self.store.logo(id, slot).await
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
impl CodeStore for Net {
    async fn find(&self, id: &AuthorizationId) -> Result<Option<Arc<Authorization>>, StoreError> {
        CodeStore::find(&self.store, id).await
    }

    async fn insert(&self, record: Arc<Authorization>) -> Result<Insertion, StoreError> {
        CodeStore::insert(&self.store, record).await
    }

    async fn replace(&self, _: u32, record: Arc<Authorization>) -> Result<Replacement, StoreError> {
        self.codes.lock().unwrap().push(record);
        Err(caught())
    }

    async fn authorizations_of(
        &self,
        subject: &Subject,
        page: Page<AuthorizationId>,
    ) -> Result<Vec<Arc<Authorization>>, StoreError> {
        self.store.authorizations_of(subject, page).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        CodeStore::purge_expired(&self.store, now, limit).await
    }
}

#[async_trait]
impl TokenStore for Net {
    async fn find(&self, id: &GrantId) -> Result<Option<Arc<Grant>>, StoreError> {
        TokenStore::find(&self.store, id).await
    }

    async fn insert(&self, record: Arc<Grant>) -> Result<Insertion, StoreError> {
        TokenStore::insert(&self.store, record).await
    }

    async fn replace(&self, _: u32, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        self.tokens.lock().unwrap().push(record);
        Err(caught())
    }

    async fn grants_of(&self, subject: &Subject, page: Page<GrantId>) -> Result<Vec<Arc<Grant>>, StoreError> {
        self.store.grants_of(subject, page).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        TokenStore::purge_expired(&self.store, now, limit).await
    }
}
