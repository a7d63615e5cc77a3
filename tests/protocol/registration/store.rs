//! Two reviewers at the same moment, and a registry whose answers get lost.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::future::BoxFuture;
use grantor::application::ApplicationFilter;
use grantor::client::{ClientState, Privileges};
use grantor::registration::Reduction;
use grantor::store::{Page, Stores};
use grantor::{Approval, AuthorizationServer, Config, MemoryStore, Registrar, RegistrarError};

use crate::registration::{developer, registrar, submitted};
use support::intercepted::{Failure, Fate, Intercepted, Script};
use support::world::{Credentials, ISSUER, Reviewer as _, With as _, World, form, logo, page};

/// A registry with faults. Clones share them.
#[derive(Clone, Default)]
struct Faulty(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// What becomes of the writes: of the next one, if it takes effect, and otherwise of all of them.
    fate: Fate,
    /// What another caller does before the next write.
    rival: Option<BoxFuture<'static, ()>>,
}

impl Faulty {
    fn set(&self, fate: Fate) {
        self.0.lock().unwrap().fate = fate;
    }

    fn meanwhile(&self, rival: impl Future<Output = ()> + Send + 'static) {
        self.0.lock().unwrap().rival = Some(Box::pin(rival));
    }
}

#[async_trait]
impl Script for Faulty {
    async fn before(&self, call: &'static str) -> Fate {
        if !["applications.insert", "applications.replace", "applications.confirm"].contains(&call) {
            return Fate::Done;
        }
        let rival = self.0.lock().unwrap().rival.take();
        if let Some(rival) = rival {
            rival.await;
        }
        let mut state = self.0.lock().unwrap();
        let fate = state.fate;
        if matches!(fate, Fate::FailsAfter(_) | Fate::Repeated) {
            state.fate = Fate::Done;
        }
        fate
    }
}

/// Faults of a store that answered, or did not, though it made the write.
const APPLIED: [Fate; 2] = [Fate::FailsAfter(Failure::Transient), Fate::Repeated];

/// A registrar on the world's store, and the faults of its registry.
fn faulty(world: &World) -> (Registrar, Faulty) {
    let (store, faulty) = (world.store.clone(), Faulty::default());
    let registry = Intercepted::new(store.clone(), faulty.clone());
    let stores = Stores::new(store).with_registry(registry);
    let server = world.builder(Config::platform(ISSUER), stores).build().unwrap();
    (server.registrar().unwrap(), faulty)
}

async fn count(world: &World) -> usize {
    registrar(world).list(&ApplicationFilter::All, Page::first(100)).await.unwrap().len()
}

/// D-25
#[tokio::test]
async fn of_two_reviewers_at_once_one_decides() {
    let world = World::platform().await;
    let (late, store) = faulty(&world);
    let first = registrar(&world);

    let id = submitted(&world).await;
    let rejects = (first.clone(), id.clone());
    store.meanwhile(async move { rejects.0.reject_now(&rejects.1, "no").await.unwrap() });
    let outcome = late.approve_now(&id, Approval::default()).await;
    assert!(matches!(outcome, Err(RegistrarError::WrongState(ClientState::Rejected))), "{outcome:?}");
    page(&world.refused(&format!("response_type=code&client_id={id}")).await);

    let id = submitted(&world).await;
    let shown = Arc::new(Mutex::new(String::new()));
    let (approves, shown_there) = ((first.clone(), id.clone()), shown.clone());
    store.meanwhile(async move {
        approves.0.approve_now(&approves.1, Approval::default()).await.unwrap();
        *shown_there.lock().unwrap() = approves.0.claim_now(&approves.1).await.unwrap().expose().to_owned();
    });
    let outcome = late.reject_now(&id, "no").await;
    assert!(matches!(outcome, Err(RegistrarError::NothingProposed)), "{outcome:?}");
    let secret = shown.lock().unwrap().clone();
    world.pair_of(&Credentials { id: id.to_string(), secret }).await;

    let id = submitted(&world).await;
    let approves = (first.clone(), id.clone());
    store.meanwhile(async move {
        let _ = approves.0.approve_now(&approves.1, Approval::default()).await.unwrap();
    });
    let outcome = late.approve_now(&id, Approval::default()).await;
    assert!(matches!(outcome, Err(RegistrarError::NothingProposed)), "{outcome:?}");
}

/// D-25, D-26
#[tokio::test]
async fn steps_that_do_not_exclude_each_other_both_take_effect() {
    let world = World::platform().await;
    let (late, store) = faulty(&world);
    let id = world.client.client_id();
    let rival = (registrar(&world), id.clone());
    store.meanwhile(async move { rival.0.suspend(&rival.1).await.unwrap() });
    late.revoke_grants(&id).await.unwrap();
    let client = late.client(&id).await.unwrap();
    assert_eq!((client.state(), client.epoch()), (ClientState::Suspended, 1));
    late.resume(&id).await.unwrap();
    world.pair_of(&world.client).await;

    // A change after the approval awaits a separate review.
    let id = submitted(&world).await;
    let rival = (registrar(&world), id.clone());
    store.meanwhile(async move {
        let _ = rival.0.approve_now(&rival.1, Approval::default()).await.unwrap();
    });
    late.change_now(&id, form().with(|form| form.name = "Late".into()), None).await.unwrap();
    let application = late.application(&id).await.unwrap();
    assert_eq!((application.form().name.as_str(), application.state()), ("Example App", ClientState::Approved));
    assert_eq!(application.proposed.as_ref().unwrap().name, "Late");
}

/// D-26
#[tokio::test]
async fn a_secret_that_was_stored_is_shown_though_the_answer_was_lost() {
    for fault in APPLIED {
        let world = World::platform().await;
        let (registrar, store) = faulty(&world);
        world.events.take();
        store.set(fault);
        let id = registrar.submit(developer(), form(), Some(logo())).await.unwrap();
        assert_eq!(count(&world).await, 2, "{fault:?}");
        store.set(fault);
        let approved = registrar.approve_now(&id, Approval::default()).await.unwrap();
        assert!(!approved.is_change);
        store.set(fault);
        let claimed = registrar.claim_now(&id).await.unwrap();
        store.set(fault);
        let rotated = registrar.rotate_now(&id).await.unwrap();
        for secret in [&claimed, &rotated] {
            world.pair_of(&Credentials { id: id.to_string(), secret: secret.expose().to_owned() }).await;
        }
        // Each of the four writes was applied, and found.
        let events = world.events.take();
        let applications = events.iter().filter(|event| event.starts_with("Application"));
        assert_eq!(applications.count(), 4, "{events:?}");
    }
}

/// ADM-14
#[tokio::test]
async fn each_step_whose_answer_was_lost_took_effect_once() {
    for fault in APPLIED {
        let world = World::platform().await;
        let (registrar, store) = faulty(&world);
        let id = world.client.client_id();
        let version = async || registrar.client(&id).await.unwrap().version();
        world.events.take();
        let lose = || store.set(fault);
        lose();
        registrar.set_privileges(&id, version().await, Privileges::default()).await.unwrap();
        lose();
        registrar.reduce(&id, version().await, Reduction::default().scopes("repo-code:r")).await.unwrap();
        lose();
        registrar.suspend(&id).await.unwrap();
        lose();
        registrar.resume(&id).await.unwrap();
        lose();
        registrar.end_secrets(&id).await.unwrap();
        lose();
        registrar.transfer(&id, version().await, world.alice.clone()).await.unwrap();
        lose();
        registrar.delete(&id, version().await).await.unwrap();
        assert!(registrar.client(&id).await.is_err());
        let wiki = crate::registration::first_party::described(&world, "wiki");
        lose();
        let ensured = registrar.ensure_client(&wiki).await.unwrap();
        assert_eq!(registrar.ensure_client(&wiki).await.unwrap(), ensured, "{fault:?}");
        let events = world.events.take();
        assert_eq!(events.len(), 8, "{fault:?}: {events:?}");
    }
}

/// D-25
#[tokio::test]
async fn a_registry_that_fails_changes_nothing_and_says_so() {
    let world = World::platform().await;
    let (registrar, store) = faulty(&world);
    let id = submitted(&world).await;
    let before = registrar.client(&id).await.unwrap();
    world.events.take();
    for fault in [Fate::FailsBefore(Failure::Transient), Fate::Late] {
        store.set(fault);
        for outcome in [
            registrar.submit(developer(), form(), Some(logo())).await.map(drop),
            registrar.change(&id, &developer(), form(), None).await,
            registrar.approve_now(&id, Approval::default()).await.map(drop),
            registrar.reject_now(&id, "no").await,
            registrar.revoke_grants(&id).await,
        ] {
            let Err(RegistrarError::Store(error)) = outcome else { panic!("{fault:?}: {outcome:?}") };
            assert!(error.is_transient(), "{fault:?}");
        }
        assert_eq!(registrar.client(&id).await.unwrap(), before, "{fault:?}");
        assert_eq!(count(&world).await, 2, "{fault:?}");
    }
    assert_eq!(world.events.take(), [""; 0]);
    store.set(Fate::Done);
    registrar.approve_now(&id, Approval::default()).await.unwrap();
    assert!(registrar.claim_now(&id).await.is_ok());
}

/// D-25
#[test]
fn without_a_registry_applications_are_administered_elsewhere() {
    let store = MemoryStore::new();
    let server =
        AuthorizationServer::new(Config::platform(ISSUER), Stores::new(store.clone()).with_clients(store)).unwrap();
    assert!(server.registrar().is_none());
}

/// If reads are not settled, a fail-over may undo a step whose answer was an error. So a step that is repeated is
/// confirmed before it is reported as done.
#[tokio::test]
async fn how_an_application_stands_is_confirmed_before_it_is_reported() {
    let world = World::platform().await;
    let (registrar, faulty) = faulty(&world);
    let id = world.client.client_id();
    registrar.suspend(&id).await.unwrap();
    faulty.set(Fate::FailsBefore(Failure::Transient));
    let again = registrar.suspend(&id).await;
    assert!(matches!(again, Err(RegistrarError::Store(_))), "{again:?}");
    faulty.set(Fate::Done);
    let again = registrar.suspend(&id).await;
    assert!(matches!(again, Err(RegistrarError::WrongState(ClientState::Suspended))), "{again:?}");
}
