//! A store whose every call can be made to fail, to repeat, to wait, or to let something else happen
//! first.

pub mod step;

use std::sync::Arc;

use async_trait::async_trait;
use grantor::application::{ApplicationFilter, Logo, LogoSlot};
use grantor::id::{AuthorizationId, GrantId, PushedRequestId};
use grantor::server::Builder;
use grantor::store::{
    Authorization, ClientRegistry, ClientStore, CodeStore, Grant, Insertion, LastPurge, Page, Purge, PurgeStore,
    PushedRequest, PushedRequestStore, Registration, Replacement, Replay, ReplayStore, StoreError, TokenStore,
};
use grantor::testing::SeededEntropy;
use grantor::{Application, AuthorizationServer, Client, ClientId, Subject, Timestamp};

use crate::world::{AnyStore, World};

/// What becomes of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is made and answered.
    Done,
    /// It fails before it took effect.
    FailsBefore(Failure),
    /// It takes effect, and its answer is lost.
    FailsAfter(Failure),
    /// It is sent twice; the second answer counts.
    Repeated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    Transient,
    Permanent,
}

impl Failure {
    fn error(self) -> StoreError {
        match self {
            Self::Transient => StoreError::transient("the connection was lost"),
            Self::Permanent => StoreError::permanent("the table is missing"),
        }
    }
}

/// Decides what becomes of each call; calls are named by store and method, such as `tokens.replace`.
#[async_trait]
pub trait Script: std::fmt::Debug + Send + Sync + 'static {
    async fn before(&self, call: &'static str) -> Fate;

    /// Called after the effect and before the answer.
    async fn after(&self, call: &'static str);

    /// Whether the store reports that its reads are settled.
    fn reads_settled(&self) -> bool {
        false
    }
}

#[async_trait]
impl<S: Script> Script for Arc<S> {
    async fn before(&self, call: &'static str) -> Fate {
        S::before(self, call).await
    }

    async fn after(&self, call: &'static str) {
        S::after(self, call).await;
    }

    fn reads_settled(&self) -> bool {
        S::reads_settled(self)
    }
}

/// The same world with a server whose calls to the store follow a script.
pub fn over(world: &World, script: impl Script) -> World {
    over_with(world, script, |builder| builder)
}

/// The same with further hooks.
pub fn over_with(world: &World, script: impl Script, hooks: impl FnOnce(Builder) -> Builder) -> World {
    let config = world.server.config().clone();
    let store = Intercepted { store: world.store.clone(), script };
    let builder = AuthorizationServer::builder(config, store);
    let builder = builder.clock(world.clock.clone()).entropy(SeededEntropy::new(8)).events(world.events.clone());
    World { server: hooks(builder).build().unwrap(), ..copy(world) }
}

/// The same world once more, for another thread.
pub fn copy(world: &World) -> World {
    World {
        server: world.server.clone(),
        store: world.store.clone(),
        clock: world.clock.clone(),
        events: world.events.clone(),
        client: world.client.clone(),
        alice: world.alice.clone(),
    }
}

#[derive(Debug)]
struct Intercepted<S> {
    store: AnyStore,
    script: S,
}

impl<S: Script> Intercepted<S> {
    async fn call<T, F>(&self, name: &'static str, make: impl Fn() -> F + Send + Sync) -> Result<T, StoreError>
    where
        T: Send,
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        let fate = self.script.before(name).await;
        if let Fate::FailsBefore(failure) = fate {
            return Err(failure.error());
        }
        let mut answer = make().await;
        if fate == Fate::Repeated {
            answer = make().await;
        }
        self.script.after(name).await;
        if let Fate::FailsAfter(failure) = fate { Err(failure.error()) } else { answer }
    }
}

#[async_trait]
impl<S: Script> ClientStore for Intercepted<S> {
    async fn find(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.call("clients.find", || ClientStore::find(&self.store, id)).await
    }

    async fn current(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.call("clients.current", || self.store.current(id)).await
    }
}

#[async_trait]
impl<S: Script> ClientRegistry for Intercepted<S> {
    fn reads_settled(&self) -> bool {
        self.script.reads_settled()
    }

    async fn insert(&self, registration: Registration) -> Result<Insertion, StoreError> {
        self.call("clients.insert", || ClientRegistry::insert(&self.store, registration.clone())).await
    }

    async fn replace(&self, version: u32, registration: Registration) -> Result<Replacement, StoreError> {
        self.call("clients.replace", || ClientRegistry::replace(&self.store, version, registration.clone())).await
    }

    async fn confirm(&self, registration: Registration) -> Result<Replacement, StoreError> {
        self.call("clients.confirm", || ClientRegistry::confirm(&self.store, registration.clone())).await
    }

    async fn application(&self, id: &ClientId) -> Result<Option<Arc<Application>>, StoreError> {
        self.call("clients.application", || self.store.application(id)).await
    }

    async fn logo(&self, id: &ClientId, slot: LogoSlot) -> Result<Option<Arc<Logo>>, StoreError> {
        self.call("clients.logo", || self.store.logo(id, slot)).await
    }

    async fn purge_deleted(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        self.call("clients.purge", || self.store.purge_deleted(now, limit)).await
    }

    async fn list(
        &self,
        filter: &ApplicationFilter,
        page: Page<ClientId>,
    ) -> Result<Vec<Arc<Application>>, StoreError> {
        self.call("clients.list", || self.store.list(filter, page.clone())).await
    }
}

#[async_trait]
impl<S: Script> CodeStore for Intercepted<S> {
    fn reads_settled(&self) -> bool {
        self.script.reads_settled()
    }

    async fn find(&self, id: &AuthorizationId) -> Result<Option<Arc<Authorization>>, StoreError> {
        self.call("codes.find", || CodeStore::find(&self.store, id)).await
    }

    async fn insert(&self, record: Arc<Authorization>) -> Result<Insertion, StoreError> {
        self.call("codes.insert", || CodeStore::insert(&self.store, record.clone())).await
    }

    async fn replace(&self, version: u32, record: Arc<Authorization>) -> Result<Replacement, StoreError> {
        self.call("codes.replace", || CodeStore::replace(&self.store, version, record.clone())).await
    }

    async fn confirm(&self, record: Arc<Authorization>) -> Result<Replacement, StoreError> {
        self.call("codes.confirm", || CodeStore::confirm(&self.store, record.clone())).await
    }

    async fn authorizations_of(
        &self,
        subject: &Subject,
        page: Page<AuthorizationId>,
    ) -> Result<Vec<Arc<Authorization>>, StoreError> {
        self.call("codes.list", || self.store.authorizations_of(subject, page.clone())).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        self.call("codes.purge", || CodeStore::purge_expired(&self.store, now, limit)).await
    }
}

#[async_trait]
impl<S: Script> TokenStore for Intercepted<S> {
    fn reads_settled(&self) -> bool {
        self.script.reads_settled()
    }

    async fn find(&self, id: &GrantId) -> Result<Option<Arc<Grant>>, StoreError> {
        self.call("tokens.find", || TokenStore::find(&self.store, id)).await
    }

    async fn insert(&self, record: Arc<Grant>) -> Result<Insertion, StoreError> {
        self.call("tokens.insert", || TokenStore::insert(&self.store, record.clone())).await
    }

    async fn replace(&self, version: u32, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        self.call("tokens.replace", || TokenStore::replace(&self.store, version, record.clone())).await
    }

    async fn confirm(&self, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        self.call("tokens.confirm", || TokenStore::confirm(&self.store, record.clone())).await
    }

    async fn grants_of(&self, subject: &Subject, page: Page<GrantId>) -> Result<Vec<Arc<Grant>>, StoreError> {
        self.call("tokens.list", || self.store.grants_of(subject, page.clone())).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        self.call("tokens.purge", || TokenStore::purge_expired(&self.store, now, limit)).await
    }
}

#[async_trait]
impl<S: Script> PushedRequestStore for Intercepted<S> {
    fn reads_settled(&self) -> bool {
        self.script.reads_settled()
    }

    async fn find(&self, id: &PushedRequestId) -> Result<Option<Arc<PushedRequest>>, StoreError> {
        self.call("pushed_requests.find", || PushedRequestStore::find(&self.store, id)).await
    }

    async fn insert(&self, record: Arc<PushedRequest>) -> Result<Insertion, StoreError> {
        self.call("pushed_requests.insert", || PushedRequestStore::insert(&self.store, record.clone())).await
    }

    async fn replace(&self, version: u32, record: Arc<PushedRequest>) -> Result<Replacement, StoreError> {
        let replace = || PushedRequestStore::replace(&self.store, version, record.clone());
        self.call("pushed_requests.replace", replace).await
    }

    async fn confirm(&self, record: Arc<PushedRequest>) -> Result<Replacement, StoreError> {
        self.call("pushed_requests.confirm", || PushedRequestStore::confirm(&self.store, record.clone())).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        self.call("pushed_requests.purge", || PushedRequestStore::purge_expired(&self.store, now, limit)).await
    }
}

#[async_trait]
impl<S: Script> ReplayStore for Intercepted<S> {
    async fn insert(&self, record: Replay) -> Result<Insertion, StoreError> {
        self.call("replays.insert", || ReplayStore::insert(&self.store, record)).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        self.call("replays.purge", || ReplayStore::purge_expired(&self.store, now, limit)).await
    }
}

#[async_trait]
impl<S: Script> PurgeStore for Intercepted<S> {
    fn reads_settled(&self) -> bool {
        self.script.reads_settled()
    }

    async fn find(&self) -> Result<Option<Arc<LastPurge>>, StoreError> {
        self.call("purges.find", || PurgeStore::find(&self.store)).await
    }

    async fn insert(&self, record: LastPurge) -> Result<Insertion, StoreError> {
        self.call("purges.insert", || PurgeStore::insert(&self.store, record)).await
    }

    async fn replace(&self, version: u32, record: LastPurge) -> Result<Replacement, StoreError> {
        self.call("purges.replace", || PurgeStore::replace(&self.store, version, record)).await
    }

    async fn confirm(&self, record: LastPurge) -> Result<Replacement, StoreError> {
        self.call("purges.confirm", || PurgeStore::confirm(&self.store, record)).await
    }
}
