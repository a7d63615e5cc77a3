//! RFC 6749, section 4.1.2.1: failures after validation, and the texts of errors.

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use grantor::config::Profile;
use grantor::hooks::{Attempt, Throttle, ThrottleDecision};
use grantor::id::AuthorizationId;
use grantor::store::{
    Authorization, ClientStore, Insertion, Page, Purge, RecordStore, Replacement, Store, StoreError, Stores,
};
use grantor::testing::SeededEntropy;
use grantor::wire::Endpoint;
use grantor::{AuthorizationServer, Client, ClientId, Config, Consent, Decision, Timestamp};

use support::world::{
    AnyStore, ISSUER, PKCE, REDIRECT_URI, World, code, config_of, e400, is_error_character, ok, red, text,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    Clients(bool),
    Writes(bool),
    All(bool),
}

/// A store that fails as set; `true` means a transient failure.
#[derive(Clone, Debug)]
struct Failing(AnyStore, Arc<Mutex<Fault>>);

impl Failing {
    fn check(&self, fails: impl Fn(Fault) -> Option<bool>) -> Result<(), StoreError> {
        match fails(*self.1.lock().unwrap()) {
            None => Ok(()),
            Some(true) => Err(StoreError::transient("the connection to db.internal was lost")),
            Some(false) => Err(StoreError::permanent("the table of db.internal is missing")),
        }
    }

    fn check_read(&self) -> Result<(), StoreError> {
        self.check(|fault| if let Fault::All(passes) = fault { Some(passes) } else { None })
    }

    fn check_write(&self) -> Result<(), StoreError> {
        self.check(|fault| match fault {
            Fault::All(passes) | Fault::Writes(passes) => Some(passes),
            Fault::None | Fault::Clients(_) => None,
        })
    }
}

#[async_trait::async_trait]
impl ClientStore for Failing {
    async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.check(|fault| if let Fault::Clients(passes) = fault { Some(passes) } else { None })?;
        ClientStore::client(&self.0, id).await
    }

    async fn current_client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        ClientStore::client(self, id).await
    }
}

impl Store for Failing {}

#[async_trait::async_trait]
impl RecordStore<Authorization> for Failing {
    async fn find(&self, id: &AuthorizationId) -> Result<Option<Arc<Authorization>>, StoreError> {
        self.check_read()?;
        RecordStore::<Authorization>::find(&self.0, id).await
    }

    async fn insert(&self, record: Arc<Authorization>) -> Result<Insertion, StoreError> {
        self.check_write()?;
        RecordStore::<Authorization>::insert(&self.0, record).await
    }

    async fn replace(&self, version: u32, record: Arc<Authorization>) -> Result<Replacement, StoreError> {
        self.check_write()?;
        RecordStore::<Authorization>::replace(&self.0, version, record).await
    }

    async fn confirm(&self, record: Arc<Authorization>) -> Result<Replacement, StoreError> {
        self.check_write()?;
        RecordStore::<Authorization>::confirm(&self.0, record).await
    }

    async fn list(&self, list: &str, page: Page<AuthorizationId>) -> Result<Vec<Arc<Authorization>>, StoreError> {
        RecordStore::<Authorization>::list(&self.0, list, page).await
    }

    async fn purge(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        RecordStore::<Authorization>::purge(&self.0, now, limit).await
    }
}

async fn failing_world(profile: Profile) -> (World, Arc<Mutex<Fault>>) {
    let mut world = World::with(profile, |_| {}).await;
    let fault = Arc::new(Mutex::new(Fault::None));
    let failing = Failing(world.store.clone(), fault.clone());
    let stores = Stores::new(world.store.clone()).with_codes(failing.clone()).with_clients(failing);
    let builder = AuthorizationServer::builder(config_of(profile), stores).events(world.events.clone());
    world.server = builder.clock(world.clock.clone()).entropy(SeededEntropy::new(9)).build().unwrap();
    (world, fault)
}

/// 6749-4.1.2.1-04
#[tokio::test]
async fn a_failure_after_validation_goes_to_the_client() {
    for profile in [Profile::Platform, Profile::Strict] {
        let (world, fault) = failing_world(profile).await;
        let query = world.query(&[("state", "s"), PKCE[0], PKCE[1]]);
        let approve = Decision::Approve(Consent::to_everything());
        for (passes, error) in [(false, "server_error"), (true, "temporarily_unavailable")] {
            let pending = world.authorize(&query).await.unwrap();
            for fails in [Fault::Writes(passes), Fault::All(passes)] {
                *fault.lock().unwrap() = fails;
                let failed = world.server.hold(&pending, &world.alice, b"session").await.unwrap_err();
                let redirect = red(&failed.response(Some(&world.alice)), error);
                assert_eq!(text(&redirect, "state"), "s");
            }
            *fault.lock().unwrap() = Fault::None;
            let handle = world.server.hold(&pending, &world.alice, b"session").await.unwrap();

            *fault.lock().unwrap() = Fault::Writes(passes);
            let failed = world.server.decide(handle.expose(), &world.alice, b"session", &approve).await.unwrap_err();
            let response = failed.response(Some(&world.alice));
            assert!(response.header("Location").unwrap().starts_with(REDIRECT_URI));
            let redirect = red(&response, error);
            assert_eq!(text(&redirect, "state"), "s");
            assert!(!text(&redirect, "error_description").contains("db"), "the cause is for the log alone");

            *fault.lock().unwrap() = Fault::None;
            code(&world.server.decide(handle.expose(), &world.alice, b"session", &approve).await.unwrap());
        }
    }
}

/// 6749-4.1.2.1-04
#[tokio::test]
async fn a_failure_before_validation_is_reported_to_the_user() {
    let (world, fault) = failing_world(Profile::Strict).await;
    let query = world.query(&PKCE);
    let pending = world.authorize(&query).await.unwrap();
    let handle = world.server.hold(&pending, &world.alice, b"session").await.unwrap();
    for (passes, status) in [(false, 500), (true, 503)] {
        *fault.lock().unwrap() = Fault::Clients(passes);
        let before = world.refused(&query).await;
        let approve = Decision::Approve(Consent::to_everything());
        let failed = world.server.decide(handle.expose(), &world.alice, b"session", &approve).await.unwrap_err();
        *fault.lock().unwrap() = Fault::All(passes);
        let unread = world.server.decide(handle.expose(), &world.alice, b"session", &Decision::Deny).await;
        for response in [before, failed.response(Some(&world.alice)), unread.unwrap_err().response(Some(&world.alice))]
        {
            assert_eq!(response.status(), status);
            assert_eq!(response.header("Location"), None);
            assert_eq!(response.header("X-Frame-Options"), Some("DENY"));
            assert_eq!(response.header("Retry-After").is_some(), passes);
            assert!(!String::from_utf8_lossy(response.body()).contains("db"));
        }
    }
    *fault.lock().unwrap() = Fault::None;
    red(
        &world.server.decide(handle.expose(), &world.alice, b"session", &Decision::Deny).await.unwrap(),
        "access_denied",
    );
}

/// 6749-4.1.2.1-05, 6749-A-05
#[tokio::test]
async fn error_texts_keep_to_their_characters() {
    let hostile = "\u{e4}\"\\<script>\r\n\0%22";
    for profile in [Profile::Platform, Profile::Strict] {
        let world = World::with(profile, |_| ()).await;
        for name in ["scope", "code_challenge", "code_challenge_method", "response_type", "state"] {
            let base = [("client_id", &*world.client.id), ("response_type", "code"), PKCE[0], PKCE[1]];
            let kept = base.into_iter().filter(|(own, _)| *own != name);
            let pairs: Vec<_> = kept.chain([(name, hostile)]).collect();
            let Err(error) = world.authorize(&support::world::encode(&pairs)).await else {
                assert!(name == "state" && profile == Profile::Platform);
                continue;
            };
            let response = error.response(Some(&world.alice));
            let Some(location) = response.header("Location") else { continue };
            let parameters = support::world::parameters(location);
            for part in ["error", "error_description"] {
                let text = text(&parameters, part);
                assert!(!text.is_empty() && text.bytes().all(is_error_character), "{text}");
            }
            assert_eq!(support::world::count(&parameters, "error_uri"), 0);
        }
        for endpoint in [Endpoint::Token, Endpoint::Revocation, Endpoint::Introspection] {
            for body in
                ["", "%zz", "token=a&token=b", "grant_type=x", &support::world::encode(&[("grant_type", hostile)])]
            {
                let response = world.post(endpoint, &[]).client(&world.client).raw_body(body).send().await;
                if response.status() == 200 {
                    continue;
                }
                let json: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
                e400(&response, json["error"].as_str().unwrap());
                assert!(json.get("error_uri").is_none());
                assert!(!json["error_description"].as_str().unwrap().contains("script"));
            }
        }
        ok(&world.exchange(&world.code().await).await);
    }
}

/// Counts its calls.
#[derive(Clone, Debug, Default)]
struct Counter(Arc<AtomicUsize>);

#[async_trait::async_trait]
impl Throttle for Counter {
    async fn check(&self, _: &Attempt<'_>) -> ThrottleDecision {
        ThrottleDecision::Allow
    }

    async fn failed(&self, _: &Attempt<'_>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// 6749-2.3.1-06
#[tokio::test]
async fn a_store_that_fails_is_no_guess_at_a_secret() {
    let (mut world, fault) = failing_world(Profile::Platform).await;
    let (failing, counter) = (Failing(world.store.clone(), fault.clone()), Counter::default());
    let stores = Stores::new(world.store.clone()).with_codes(failing.clone()).with_clients(failing);
    world.server =
        AuthorizationServer::builder(Config::platform(ISSUER), stores).throttle(counter.clone()).build().unwrap();
    let guess = || world.token(&[("grant_type", "refresh_token")]).basic(&world.client.id, "guess").send();
    *fault.lock().unwrap() = Fault::Clients(true);
    assert_eq!(guess().await.status(), 503);
    assert_eq!(counter.0.load(Ordering::SeqCst), 0);
    *fault.lock().unwrap() = Fault::None;
    assert_eq!(guess().await.status(), 401);
    assert_eq!(counter.0.load(Ordering::SeqCst), 1);
}

/// 6749-4.1.2.1-04
#[tokio::test]
async fn errors_tell_the_service_what_the_store_said() {
    let (world, fault) = failing_world(Profile::Platform).await;
    let first = world.pair().await;
    *fault.lock().unwrap() = Fault::Clients(true);
    let refused = world.authorize(&world.query(&PKCE)).await.unwrap_err();
    let unauthenticated = world.access(&first.access).await.unwrap_err();
    for (error, name) in
        [(&refused as &dyn Error, "AuthorizationError"), (&unauthenticated as &dyn Error, "ResourceError")]
    {
        assert!(error.source().is_some(), "{name}");
        assert!(format!("{error:?}").starts_with(name), "{error:?}");
    }
    assert_eq!(refused.to_string(), refused.reason().to_string());
    assert_eq!(unauthenticated.to_string(), unauthenticated.reason().to_string());
    assert!(!refused.to_string().is_empty() && format!("{refused:?}").contains("Store"));
    assert!(format!("{unauthenticated:?}").contains("Store"));
}
