//! RFC 6749, section 4.1.2.1: failures after validation, and the texts of errors.

use std::error::Error;
use std::sync::{Arc, Mutex};

use grantor::config::Profile;
use grantor::store::Stores;
use grantor::testing::SeededEntropy;
use grantor::{Config, Consent, Decision};

use support::attempts::{Attempts, Noted};
use support::intercepted::{Failure, Fate, Intercepted};
use support::world::{ISSUER, PKCE, REDIRECT_URI, World, code, config_of, red, text};

/// Which calls fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    Clients(Failure),
    /// The writes of requests and codes.
    Writes(Failure),
    /// Their reads as well.
    All(Failure),
}

async fn failing_world(profile: Profile) -> (World, Arc<Mutex<Fault>>) {
    let mut world = World::with(profile, |_| {}).await;
    let fault = Arc::new(Mutex::new(Fault::None));
    let stores = stores(&world, &fault);
    world.server = world.builder(config_of(profile), stores).entropy(SeededEntropy::new(9)).build().unwrap();
    (world, fault)
}

/// The world's store, which fails as set.
fn stores(world: &World, fault: &Arc<Mutex<Fault>>) -> Stores {
    let fault = fault.clone();
    let script = move |call: &'static str| match (*fault.lock().unwrap(), call) {
        (Fault::Clients(failure), "clients.find" | "clients.current")
        | (Fault::All(failure), "codes.find")
        | (Fault::All(failure) | Fault::Writes(failure), "codes.insert" | "codes.replace" | "codes.confirm") => {
            Fate::FailsBefore(failure)
        }
        _ => Fate::Done,
    };
    let failing = Intercepted::new(world.store.clone(), script);
    Stores::new(world.store.clone()).with_codes(failing.clone()).with_clients(failing)
}

/// 6749-4.1.2.1-04
#[tokio::test]
async fn a_failure_after_validation_goes_to_the_client() {
    for profile in [Profile::Platform, Profile::Strict] {
        let (world, fault) = failing_world(profile).await;
        let query = world.query(&[("state", "s"), PKCE[0], PKCE[1]]);
        let approve = Decision::Approve(Consent::to_everything());
        for (failure, error) in [(Failure::Permanent, "server_error"), (Failure::Transient, "temporarily_unavailable")]
        {
            let pending = world.authorize(&query).await.unwrap();
            for fails in [Fault::Writes(failure), Fault::All(failure)] {
                *fault.lock().unwrap() = fails;
                let failed = world.server.hold(&pending, &world.alice, b"session").await.unwrap_err();
                let redirect = red(&failed.response(Some(&world.alice)), error);
                assert_eq!(text(&redirect, "state"), "s");
            }
            *fault.lock().unwrap() = Fault::None;
            let handle = world.server.hold(&pending, &world.alice, b"session").await.unwrap();

            *fault.lock().unwrap() = Fault::Writes(failure);
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
    for (failure, status) in [(Failure::Permanent, 500), (Failure::Transient, 503)] {
        *fault.lock().unwrap() = Fault::Clients(failure);
        let before = world.refused(&query).await;
        let approve = Decision::Approve(Consent::to_everything());
        let failed = world.server.decide(handle.expose(), &world.alice, b"session", &approve).await.unwrap_err();
        *fault.lock().unwrap() = Fault::All(failure);
        let unread = world.server.decide(handle.expose(), &world.alice, b"session", &Decision::Deny).await;
        for response in [before, failed.response(Some(&world.alice)), unread.unwrap_err().response(Some(&world.alice))]
        {
            assert_eq!(response.status(), status);
            assert_eq!(response.header("Location"), None);
            assert_eq!(response.header("X-Frame-Options"), Some("DENY"));
            assert_eq!(response.header("Retry-After").is_some(), failure == Failure::Transient);
            assert!(!String::from_utf8_lossy(response.body()).contains("db"));
        }
    }
    *fault.lock().unwrap() = Fault::None;
    red(
        &world.server.decide(handle.expose(), &world.alice, b"session", &Decision::Deny).await.unwrap(),
        "access_denied",
    );
}

/// 6749-2.3.1-06
#[tokio::test]
async fn a_store_that_fails_is_no_guess_at_a_secret() {
    let (mut world, fault) = failing_world(Profile::Platform).await;
    let attempts = Attempts::default();
    let builder = world.builder(Config::platform(ISSUER), stores(&world, &fault));
    world.server = builder.throttle(attempts.clone()).build().unwrap();
    let guess = || world.token(&[("grant_type", "refresh_token")]).basic(&world.client.id, "guess").send();
    *fault.lock().unwrap() = Fault::Clients(Failure::Transient);
    assert_eq!(guess().await.status(), 503);
    assert_eq!(attempts.count(Noted::Failed), 0);
    *fault.lock().unwrap() = Fault::None;
    assert_eq!(guess().await.status(), 401);
    assert_eq!(attempts.count(Noted::Failed), 1);
}

/// 6749-4.1.2.1-04
#[tokio::test]
async fn errors_tell_the_service_what_the_store_said() {
    let (world, fault) = failing_world(Profile::Platform).await;
    let first = world.pair().await;
    *fault.lock().unwrap() = Fault::Clients(Failure::Transient);
    let refused = world.authorize(&world.query(&PKCE)).await.unwrap_err();
    let unauthenticated = world.access(&first.access).await.unwrap_err();
    assert_eq!(refused.to_string(), refused.reason().to_string());
    assert_eq!(unauthenticated.to_string(), unauthenticated.reason().to_string());
    // A program whose `main` returns one prints it with `Debug`.
    for error in [&refused as &dyn Error, &unauthenticated] {
        assert_eq!(format!("{error:?}"), format!("the store failed: {}", error.source().unwrap().source().unwrap()));
    }
}
