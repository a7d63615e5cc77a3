//! Two reviewers at the same moment, and a registry whose answers get lost.

use std::fmt;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use async_trait::async_trait;
use futures::executor::block_on;
use futures::future::BoxFuture;
use grantor::application::ApplicationFilter;
use grantor::client::{ClientState, Privileges};
use grantor::registration::Reduction;
use grantor::store::{ClientStore, Insertion, Page, Purge, RecordStore, Replacement, Store, StoreError, Stores};
use grantor::{
    Application, Approval, AuthorizationServer, Client, ClientId, Config, MemoryStore, Registrar, RegistrarError,
    Timestamp,
};

use crate::registration::{developer, form_with, registrar, submitted};
use support::world::{AnyStore, Credentials, ISSUER, Reviewer as _, World, form, logo, page};

/// What happens to the next write, or to all of them.
#[derive(Clone, Copy, Debug)]
enum Fault {
    None,
    /// The next is applied, and the answer is lost.
    AnswerLost,
    /// The next is applied, and sent again below: the second answer is that another write came first.
    SentTwice,
    /// None is applied, and the store reports an error.
    Down,
    /// Another write always comes first.
    AlwaysLate,
}

/// A registry with faults.
struct Faulty {
    store: AnyStore,
    fault: Mutex<Fault>,
    /// What another caller does before the next write.
    rival: Mutex<Option<BoxFuture<'static, ()>>>,
}

impl Faulty {
    fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }

    async fn write<A>(&self, late: A, apply: impl Future<Output = Result<A, StoreError>>) -> Result<A, StoreError> {
        let rival = self.rival.lock().unwrap().take();
        if let Some(rival) = rival {
            rival.await;
        }
        let fault = *self.fault.lock().unwrap();
        if matches!(fault, Fault::AnswerLost | Fault::SentTwice) {
            self.set(Fault::None);
        }
        match fault {
            Fault::None => apply.await,
            Fault::AnswerLost => {
                apply.await?;
                Err(StoreError::transient("the answer was lost"))
            }
            Fault::SentTwice => {
                apply.await?;
                Ok(late)
            }
            Fault::Down => Err(StoreError::transient("down")),
            Fault::AlwaysLate => Ok(late),
        }
    }
}

impl fmt::Debug for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faulty").finish_non_exhaustive()
    }
}

/// The store that the registry and a test share.
#[derive(Clone, Debug)]
struct Shared(Arc<Faulty>);

#[async_trait]
impl ClientStore for Shared {
    async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        ClientStore::client(&self.0.store, id).await
    }

    async fn current_client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.0.store.current_client(id).await
    }
}

impl Store for Shared {}

#[async_trait]
impl RecordStore<Application> for Shared {
    async fn find(&self, id: &ClientId) -> Result<Option<Arc<Application>>, StoreError> {
        RecordStore::<Application>::find(&self.0.store, id).await
    }

    async fn insert(&self, application: Arc<Application>) -> Result<Insertion, StoreError> {
        self.0.write(Insertion::Exists, RecordStore::<Application>::insert(&self.0.store, application)).await
    }

    async fn replace(&self, version: u32, application: Arc<Application>) -> Result<Replacement, StoreError> {
        self.0.write(Replacement::Lost, RecordStore::<Application>::replace(&self.0.store, version, application)).await
    }

    async fn confirm(&self, application: Arc<Application>) -> Result<Replacement, StoreError> {
        self.0.write(Replacement::Lost, RecordStore::<Application>::confirm(&self.0.store, application)).await
    }

    async fn list(&self, list: &str, page: Page<ClientId>) -> Result<Vec<Arc<Application>>, StoreError> {
        RecordStore::<Application>::list(&self.0.store, list, page).await
    }

    async fn purge(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        RecordStore::<Application>::purge(&self.0.store, now, limit).await
    }
}

/// A registrar on the world's store, and the registry whose faults can be set.
fn faulty(world: &World) -> (Registrar, Arc<Faulty>) {
    let store = world.store.clone();
    let faulty = Arc::new(Faulty { store: store.clone(), fault: Mutex::new(Fault::None), rival: Mutex::default() });
    let stores = Stores::new(store).with_registry(Shared(faulty.clone()));
    let server = AuthorizationServer::builder(Config::platform(ISSUER), stores)
        .clock(world.clock.clone())
        .events(world.events.clone());
    (server.build().unwrap().registrar().unwrap(), faulty)
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
    *store.rival.lock().unwrap() = Some(Box::pin(async move { rejects.0.reject_now(&rejects.1, "no").await.unwrap() }));
    let outcome = late.approve_now(&id, Approval::default()).await;
    assert!(matches!(outcome, Err(RegistrarError::WrongState(ClientState::Rejected))), "{outcome:?}");
    page(&world.refused(&format!("response_type=code&client_id={id}")).await);

    let id = submitted(&world).await;
    let shown = Arc::new(Mutex::new(String::new()));
    let (approves, shown_there) = ((first.clone(), id.clone()), shown.clone());
    *store.rival.lock().unwrap() = Some(Box::pin(async move {
        approves.0.approve_now(&approves.1, Approval::default()).await.unwrap();
        *shown_there.lock().unwrap() = approves.0.claim_now(&approves.1).await.unwrap().expose().to_owned();
    }));
    let outcome = late.reject_now(&id, "no").await;
    assert!(matches!(outcome, Err(RegistrarError::NothingProposed)), "{outcome:?}");
    let secret = shown.lock().unwrap().clone();
    world.pair_of(&Credentials { id: id.to_string(), secret }).await;

    let id = submitted(&world).await;
    let approves = (first.clone(), id.clone());
    *store.rival.lock().unwrap() = Some(Box::pin(async move {
        let _ = approves.0.approve_now(&approves.1, Approval::default()).await.unwrap();
    }));
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
    *store.rival.lock().unwrap() = Some(Box::pin(async move { rival.0.suspend(&rival.1).await.unwrap() }));
    late.revoke_grants(&id).await.unwrap();
    let client = late.client(&id).await.unwrap();
    assert_eq!((client.state(), client.epoch()), (ClientState::Suspended, 1));
    late.resume(&id).await.unwrap();
    world.pair_of(&world.client).await;

    // A change after the approval awaits a separate review.
    let id = submitted(&world).await;
    let rival = (registrar(&world), id.clone());
    *store.rival.lock().unwrap() = Some(Box::pin(async move {
        let _ = rival.0.approve_now(&rival.1, Approval::default()).await.unwrap();
    }));
    late.change_now(&id, form_with(|form| form.name = "Late".into()), None).await.unwrap();
    let application = late.application(&id).await.unwrap();
    assert_eq!((application.form().name(), application.state()), ("Example App", ClientState::Approved));
    assert_eq!(application.proposed().unwrap().name(), "Late");
}

/// D-26
#[tokio::test]
async fn a_secret_is_made_and_retired_only_as_the_application_was_read() {
    let world = World::platform().await;
    let (late, store) = faulty(&world);
    let id = world.client.client_id();
    for retires in [false, true] {
        let rival = (registrar(&world), id.clone());
        *store.rival.lock().unwrap() = Some(Box::pin(async move {
            let _ = rival.0.rotate_now(&rival.1).await.unwrap();
        }));
        let version = registrar(&world).application(&id).await.unwrap().version();
        let outcome = if retires {
            late.revoke_previous_secret(&id, &developer(), version).await
        } else {
            late.rotate_secret(&id, &developer(), version).await.map(drop)
        };
        assert!(matches!(outcome, Err(RegistrarError::ChangedMeanwhile)), "{outcome:?}");
    }
}

/// D-25, D-26, ADM-11
#[test]
fn of_many_approvals_and_claims_at_once_one_makes_a_secret() {
    let world = block_on(World::platform());
    let id = block_on(submitted(&world));
    let registrar = registrar(&world);
    let start = Barrier::new(8);
    let at_once = |step: &(dyn Fn() -> bool + Sync)| {
        thread::scope(|scope| {
            let start = &start;
            let run = || {
                start.wait();
                step()
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(run)).collect();
            threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum::<usize>()
        })
    };
    let version = block_on(registrar.application(&id)).unwrap().version();
    let approvals = at_once(&|| {
        let outcome = block_on(registrar.approve(&id, version, Approval::default()));
        assert!(matches!(outcome, Ok(_) | Err(RegistrarError::NothingProposed)), "{outcome:?}");
        outcome.is_ok()
    });
    assert_eq!(approvals, 1);
    let version = block_on(registrar.application(&id)).unwrap().version();
    let secrets = at_once(&|| {
        let outcome = block_on(registrar.claim_secret(&id, &developer(), version));
        assert!(matches!(outcome, Ok(_) | Err(RegistrarError::ChangedMeanwhile)), "{outcome:?}");
        outcome.is_ok()
    });
    assert_eq!(secrets, 1);
    let claimed = block_on(registrar.claim_now(&id));
    assert!(matches!(claimed, Err(RegistrarError::SecretExists)), "{claimed:?}");
    assert_eq!(at_once(&|| block_on(registrar.revoke_grants(&id)).is_ok()), 8);
    assert_eq!(block_on(registrar.client(&id)).unwrap().epoch(), 8);
}

/// D-26
#[tokio::test]
async fn a_secret_that_was_stored_is_shown_though_the_answer_was_lost() {
    for fault in [Fault::AnswerLost, Fault::SentTwice] {
        let world = World::platform().await;
        let (registrar, store) = faulty(&world);
        world.events.take();
        store.set(fault);
        let id = registrar.submit(developer(), form(), Some(logo())).await.unwrap();
        assert_eq!(count(&world).await, 2, "{fault:?}");
        store.set(fault);
        let approved = registrar.approve_now(&id, Approval::default()).await.unwrap();
        assert!(!approved.is_change());
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
    for fault in [Fault::AnswerLost, Fault::SentTwice] {
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
    for fault in [Fault::Down, Fault::AlwaysLate] {
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
    store.set(Fault::None);
    registrar.approve_now(&id, Approval::default()).await.unwrap();
    assert!(registrar.claim_now(&id).await.is_ok());
}

/// D-25
#[tokio::test]
async fn a_step_whose_answer_was_lost_took_effect_once() {
    let world = World::platform().await;
    let (registrar, store) = faulty(&world);
    let id = world.client.client_id();
    let live = world.pair().await;
    store.set(Fault::AnswerLost);
    registrar.suspend(&id).await.unwrap();
    assert!(!world.opens(&live.access).await);
    assert!(matches!(registrar.suspend(&id).await, Err(RegistrarError::WrongState(ClientState::Suspended))));
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
    *faulty.fault.lock().unwrap() = Fault::Down;
    let again = registrar.suspend(&id).await;
    assert!(matches!(again, Err(RegistrarError::Store(_))), "{again:?}");
    *faulty.fault.lock().unwrap() = Fault::None;
    let again = registrar.suspend(&id).await;
    assert!(matches!(again, Err(RegistrarError::WrongState(ClientState::Suspended))), "{again:?}");
}
