//! A store whose every call can be made to fail, to repeat, to wait, or to let something else happen
//! first.

pub mod scripts;
pub mod step;

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use async_trait::async_trait;
use grantor::server::Builder;
use grantor::store::{ClientStore, Insertion, Page, Purge, Record, RecordStore, Replacement, Store, StoreError, Table};
use grantor::testing::SeededEntropy;
use grantor::{Client, ClientId, Timestamp};

use crate::attempts::Attempts;
use crate::world::{AnyStore, World};

/// What becomes of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// It is made and answered.
    #[default]
    Done,
    /// It fails before it took effect.
    FailsBefore(Failure),
    /// It takes effect, and its answer is lost.
    FailsAfter(Failure),
    /// It is sent twice; the second answer counts.
    Repeated,
    /// A write is not made, because another one came first.
    Late,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    Transient,
    Permanent,
}

impl Failure {
    fn error(self) -> StoreError {
        match self {
            Self::Transient => StoreError::transient("the connection to db.internal was lost"),
            Self::Permanent => StoreError::permanent("the table of db.internal is missing"),
        }
    }
}

/// Decides what becomes of each call; calls are named by store and method, such as `tokens.replace`. A function that
/// returns the fate of a call is a script too.
#[async_trait]
pub trait Script: Send + Sync + 'static {
    async fn before(&self, call: &'static str) -> Fate;

    /// Called after the effect and before the answer.
    async fn after(&self, _call: &'static str) {}

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

#[async_trait]
impl<F: Fn(&'static str) -> Fate + Send + Sync + 'static> Script for F {
    async fn before(&self, call: &'static str) -> Fate {
        self(call)
    }
}

/// Gives every call of that name the same fate.
pub fn every(name: &'static str, fate: Fate) -> impl Script + Clone {
    move |call| if call == name { fate } else { Fate::Done }
}

/// The same world with a server whose calls to the store follow a script.
pub fn over(world: &World, script: impl Script) -> World {
    // Devices need a throttle.
    let has_devices = world.server.config().devices.on;
    over_with(world, script, |builder| if has_devices { builder.throttle(Attempts::default()) } else { builder })
}

/// The same with further hooks.
pub fn over_with(world: &World, script: impl Script, hooks: impl FnOnce(Builder) -> Builder) -> World {
    let config = world.server.config().clone();
    let store = Intercepted::new(world.store.clone(), script);
    let builder = world.builder(config, store).entropy(SeededEntropy::new(8));
    World { server: hooks(builder).build().unwrap(), ..copy(world) }
}

/// Waits once, and wakes its task at once.
pub async fn pending_once() {
    let mut waited = false;
    poll_fn(|context| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
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
        keys: world.keys.clone(),
    }
}

/// A store whose calls follow a script.
#[derive(Clone)]
pub struct Intercepted<S> {
    store: AnyStore,
    script: S,
}

impl<S> fmt::Debug for Intercepted<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}

impl<S: Script> Intercepted<S> {
    pub fn new(store: AnyStore, script: S) -> Self {
        Self { store, script }
    }

    async fn call<T, F>(&self, name: &'static str, make: impl Fn() -> F + Send + Sync) -> Result<T, StoreError>
    where
        T: Send,
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        self.write(name, || unreachable!("{name} is no write"), make).await
    }

    /// The same for a write, with its answer if another one came first.
    async fn write<T, F>(
        &self,
        name: &'static str,
        late: impl FnOnce() -> T + Send,
        make: impl Fn() -> F + Send + Sync,
    ) -> Result<T, StoreError>
    where
        T: Send,
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        let fate = self.script.before(name).await;
        match fate {
            Fate::FailsBefore(failure) => return Err(failure.error()),
            Fate::Late => return Ok(late()),
            Fate::Done | Fate::FailsAfter(_) | Fate::Repeated => {}
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
    async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.call("clients.find", || self.store.client(id)).await
    }

    async fn current_client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.call("clients.current", || self.store.current_client(id)).await
    }
}

impl<S: Script> Store for Intercepted<S> {
    fn reads_settled(&self) -> bool {
        self.script.reads_settled()
    }
}

/// Returns the names of the calls for one kind of record: of find, insert, replace, confirm, list and purge.
const fn names(table: Table) -> [&'static str; 6] {
    macro_rules! names {
        ($of:literal) => {
            [
                concat!($of, ".find"),
                concat!($of, ".insert"),
                concat!($of, ".replace"),
                concat!($of, ".confirm"),
                concat!($of, ".list"),
                concat!($of, ".purge"),
            ]
        };
    }
    match table {
        Table::Authorizations => names!("codes"),
        Table::Grants => names!("tokens"),
        Table::PushedRequests => names!("pushed_requests"),
        Table::DeviceRequests => names!("device_requests"),
        Table::UserCodes => names!("user_codes"),
        Table::Replays => names!("replays"),
        Table::LastPurge => names!("purges"),
        Table::Applications => names!("applications"),
        Table::ApplicationLogos => names!("logos"),
        Table::InitialTokens => names!("initial_tokens"),
        _ => panic!("a table without a name"),
    }
}

#[async_trait]
impl<S: Script, R: Record> RecordStore<R> for Intercepted<S>
where
    AnyStore: RecordStore<R>,
{
    async fn find(&self, key: &R::Key) -> Result<Option<Arc<R>>, StoreError> {
        let [name, ..] = names(R::TABLE);
        self.call(name, || RecordStore::<R>::find(&self.store, key)).await
    }

    async fn insert(&self, record: Arc<R>) -> Result<Insertion, StoreError> {
        let [_, name, ..] = names(R::TABLE);
        self.write(name, || Insertion::Exists, || RecordStore::<R>::insert(&self.store, record.clone())).await
    }

    async fn replace(&self, version: u32, record: Arc<R>) -> Result<Replacement, StoreError> {
        let [_, _, name, ..] = names(R::TABLE);
        self.write(name, || Replacement::Lost, || RecordStore::<R>::replace(&self.store, version, record.clone())).await
    }

    async fn confirm(&self, record: Arc<R>) -> Result<Replacement, StoreError> {
        let [.., name, _, _] = names(R::TABLE);
        self.write(name, || Replacement::Lost, || RecordStore::<R>::confirm(&self.store, record.clone())).await
    }

    async fn list(&self, list: &str, page: Page<R::Key>) -> Result<Vec<Arc<R>>, StoreError> {
        let [.., name, _] = names(R::TABLE);
        self.call(name, || RecordStore::<R>::list(&self.store, list, page.clone())).await
    }

    async fn purge(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        let [.., name] = names(R::TABLE);
        self.call(name, || RecordStore::<R>::purge(&self.store, now, limit)).await
    }
}
