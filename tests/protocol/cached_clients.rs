//! A cache of clients in front of a store: how late a change is seen, and how often the store is read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use grantor::client::Privileges;
use grantor::store::{ClientStore, RecordStore, Replacement, Stores};
use grantor::testing::ManualClock;
use grantor::{
    Application, AuthorizationServer, CachedClients, Client, ClientId, Config, MemoryStore, Registrar, Subject,
    Timestamp,
};

use support::intercepted::{Failure, Fate, Intercepted, Script, every};
use support::world::{AnyStore, Reviewer as _, form, logo};

/// Counts the look-ups of clients, and delays their answers.
#[derive(Clone, Debug, Default)]
struct Asked(Arc<AtomicUsize>);

#[async_trait]
impl Script for Asked {
    async fn before(&self, call: &'static str) -> Fate {
        self.0.fetch_add(usize::from(call.starts_with("clients.")), Ordering::Relaxed);
        Fate::Done
    }

    async fn after(&self, _: &'static str) {
        tokio::task::yield_now().await;
    }
}

/// A server with a cache of ten seconds, another server on the same store, and a client.
struct Scene {
    memory: MemoryStore,
    store: Intercepted<Asked>,
    asked: Asked,
    clock: ManualClock,
    cached: CachedClients<Intercepted<Asked>>,
    elsewhere: Registrar,
    id: ClientId,
}

impl Scene {
    async fn new() -> Self {
        let (memory, asked) = (MemoryStore::new(), Asked::default());
        let store = Intercepted::new(AnyStore::over(memory.clone()), asked.clone());
        let clock = ManualClock::new(Timestamp::from_seconds(1_000_000));
        let cached = CachedClients::new(store.clone(), Duration::from_secs(10)).with_clock(clock.clone());
        let elsewhere = server(memory.clone().into()).registrar().unwrap();
        let id = elsewhere.submit(Subject::new("applicant").unwrap(), form(), Some(logo())).await.unwrap();
        elsewhere.approve_now(&id, grantor::Approval::default()).await.unwrap();
        Self { memory, store, asked, clock, cached, elsewhere, id }
    }

    fn asked(&self) -> usize {
        self.asked.0.swap(0, Ordering::Relaxed)
    }

    async fn version(&self) -> u32 {
        self.elsewhere.application(&self.id).await.unwrap().version()
    }

    async fn state(&self) -> String {
        format!("{:?}", self.cached.client(&self.id).await.unwrap().unwrap().state())
    }

    /// The registrar of the server that has the cache.
    fn here(&self) -> Registrar {
        let stores = Stores::new(self.memory.clone()).with_registry(self.cached.clone());
        server(stores).registrar().unwrap()
    }
}

fn server(stores: Stores) -> AuthorizationServer {
    AuthorizationServer::new(Config::platform("https://auth.example"), stores).unwrap()
}

#[tokio::test]
async fn the_store_is_asked_once_in_a_time_to_live() {
    let scene = Scene::new().await;
    for _ in 0..100 {
        assert_eq!(scene.state().await, "Approved");
    }
    assert_eq!(scene.asked(), 1);
    scene.clock.advance(Duration::from_secs(9));
    scene.state().await;
    assert_eq!(scene.asked(), 0);
    scene.clock.advance(Duration::from_secs(1));
    scene.state().await;
    assert_eq!(scene.asked(), 1);
}

#[tokio::test]
async fn a_suspension_here_is_seen_at_once() {
    let scene = Scene::new().await;
    scene.state().await;
    scene.here().suspend(&scene.id).await.unwrap();
    assert_eq!(scene.state().await, "Suspended");
}

/// Changes that this server makes are seen at once.
#[tokio::test]
async fn changes_elsewhere_are_seen_within_the_time_to_live() {
    let scene = Scene::new().await;
    let given = |client: &Client| client.privileges().trusted;
    let seen = async || scene.cached.client(&scene.id).await.unwrap().unwrap();
    let mut privileges = Privileges::default();
    privileges.trusted = true;
    scene.here().set_privileges(&scene.id, scene.version().await, privileges).await.unwrap();
    assert!(given(&*seen().await));
    scene.elsewhere.set_privileges(&scene.id, scene.version().await, Privileges::default()).await.unwrap();
    scene.clock.advance(Duration::from_secs(9));
    assert!(given(&*seen().await));
    scene.clock.advance(Duration::from_secs(1));
    assert!(!given(&*seen().await));

    scene.elsewhere.delete(&scene.id, scene.version().await).await.unwrap();
    assert_eq!(scene.state().await, "Approved");
    // A read of the store sees the change, and so does every later read.
    assert_eq!(format!("{:?}", scene.cached.current_client(&scene.id).await.unwrap().unwrap().state()), "Deleted");
    assert_eq!(scene.state().await, "Deleted");
}

/// Nobody knows whether such a write took effect, or which other one did.
#[tokio::test]
async fn a_lost_or_failed_write_forgets_the_client() {
    for fails in [false, true] {
        let scene = Scene::new().await;
        let fate = if fails { Fate::FailsBefore(Failure::Transient) } else { Fate::Done };
        let store = Intercepted::new(AnyStore::over(scene.memory.clone()), every("applications.replace", fate));
        let cached = CachedClients::new(store, Duration::from_secs(10)).with_clock(scene.clock.clone());
        let state = async || format!("{:?}", cached.client(&scene.id).await.unwrap().unwrap().state());
        assert_eq!(state().await, "Approved");
        scene.elsewhere.suspend(&scene.id).await.unwrap();
        assert_eq!(state().await, "Approved");
        let application = RecordStore::<Application>::find(&scene.store, &scene.id).await.unwrap().unwrap();
        let other = application.version().wrapping_add(1);
        assert_eq!(cached.replace(other, application).await.ok(), (!fails).then_some(Replacement::Lost));
        assert_eq!(state().await, "Suspended", "{fails}");
    }
}

#[tokio::test]
async fn an_answer_from_before_a_write_here_is_not_kept() {
    let scene = Scene::new().await;
    let mut slow = Box::pin(scene.cached.client(&scene.id));
    assert!(futures::poll!(&mut slow).is_pending());
    scene.clock.advance(Duration::from_secs(1));
    scene.here().suspend(&scene.id).await.unwrap();
    assert_eq!(format!("{:?}", slow.await.unwrap().unwrap().state()), "Approved");
    assert_eq!(scene.state().await, "Suspended");
}

/// The answer is from before two writes, of which the second was lost.
#[tokio::test]
async fn a_lost_write_keeps_no_earlier_answer() {
    let scene = Scene::new().await;
    let mut slow = Box::pin(scene.cached.client(&scene.id));
    assert!(futures::poll!(&mut slow).is_pending());
    scene.here().suspend(&scene.id).await.unwrap();
    let application = RecordStore::<Application>::find(&scene.store, &scene.id).await.unwrap().unwrap();
    let other = application.version().wrapping_add(1);
    assert_eq!(scene.cached.replace(other, application).await.unwrap(), Replacement::Lost);
    assert_eq!(format!("{:?}", slow.await.unwrap().unwrap().state()), "Approved");
    assert_eq!(scene.state().await, "Suspended");
}

#[tokio::test]
async fn a_clock_that_is_set_back_makes_no_client_younger() {
    let scene = Scene::new().await;
    scene.state().await;
    scene.elsewhere.suspend(&scene.id).await.unwrap();
    scene.clock.set(Timestamp::from_seconds(999_000));
    assert_eq!(scene.state().await, "Suspended");
}

#[tokio::test]
async fn clients_that_do_not_exist_are_not_remembered() {
    let scene = Scene::new().await;
    let unknown = ClientId::new("stranger").unwrap();
    for _ in 0..3 {
        assert_eq!(scene.cached.client(&unknown).await.unwrap(), None);
    }
    assert_eq!(scene.asked(), 3);
}

#[tokio::test]
async fn without_a_time_to_live_every_request_asks() {
    let scene = Scene::new().await;
    let cached = CachedClients::new(scene.store.clone(), Duration::ZERO).with_clock(scene.clock.clone());
    for _ in 0..3 {
        cached.client(&scene.id).await.unwrap();
    }
    assert_eq!(scene.asked(), 3);
}
