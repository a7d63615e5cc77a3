//! Secrets that a client sends in the wrong place.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use grantor::Config;
use grantor::hooks::{Attempt, Throttle, ThrottleDecision};

use support::world::{Credentials, ISSUER, World};

/// A throttle that records its attempts and allows a number of them.
#[derive(Debug)]
struct Watcher {
    allowed: AtomicUsize,
    seen: Arc<Mutex<String>>,
}

#[async_trait]
impl Throttle for Watcher {
    async fn check(&self, attempt: &Attempt<'_>) -> ThrottleDecision {
        self.seen.lock().unwrap().push_str(&format!("{attempt:?}"));
        let left = self.allowed.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        left.map_or(ThrottleDecision::Refuse { retry_after: Duration::from_secs(1) }, |_| ThrottleDecision::Allow)
    }

    async fn failed(&self, attempt: &Attempt<'_>) {
        self.seen.lock().unwrap().push_str(&format!("{attempt:?}"));
    }
}

/// django-oauth-toolkit #1735
///
/// The two halves of the credentials are easily swapped.
#[tokio::test]
async fn a_secret_in_the_place_of_the_client_id_is_not_reported() {
    let seen = Arc::<Mutex<String>>::default();
    let throttle = Watcher { allowed: 4.into(), seen: seen.clone() };
    let world = World::built(Config::platform(ISSUER), |builder| builder.throttle(throttle)).await;
    let Credentials { id, secret } = &world.client;
    world.events.take();
    let call = || world.token(&[("grant_type", "authorization_code")]);
    for round in ["AuthenticationFailed", "Throttled"] {
        for call in [
            call().basic(secret, id),
            call().basic(&format!("{id}{secret}"), ""),
            call().field("client_id", secret).field("client_secret", id),
            call().field("client_id", secret).header("Authorization", b"Bearer x"),
        ] {
            call.send().await;
        }
        let events = world.events.take();
        assert_eq!(events.len(), 4, "{events:?}");
        for event in events {
            assert!(event.starts_with(round) && event.contains("client: None") && !event.contains(secret), "{event}");
        }
    }
    assert!(!seen.lock().unwrap().contains(secret));
    // After a typing error or a wrong secret, the event names the client.
    let world = World::platform().await;
    world.token(&[]).basic("an-id-that-is-not-there", secret).send().await;
    world.token(&[]).basic(&world.client.id, id).send().await;
    for (event, client) in world.events.take().iter().rev().zip([&world.client.id, "an-id-that-is-not-there"]) {
        assert!(event.contains(&format!("client: Some({client:?})")), "{event}");
    }
}
