//! Signed tokens while stores fail and requests meet: what is answered is what is written.

use grantor::secret::Entropy;
use grantor::testing::SeededEntropy;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::*;
use support::intercepted::{Failure, Fate, Intercepted, Script};

/// A world whose writes of grants meet that fate once, after the flag is set.
async fn with_fate(fate: Fate) -> (World, Arc<AtomicBool>) {
    let mut world = world().await;
    let is_due = Arc::new(AtomicBool::new(false));
    let due = Arc::clone(&is_due);
    let script = move |call: &'static str| match call {
        "tokens.insert" | "tokens.replace" if due.swap(false, Ordering::Relaxed) => fate,
        _ => Fate::Done,
    };
    let store = Intercepted::new(world.store.clone(), script);
    let builder = world.builder(config(), store).signing_keys([es256()]);
    world.server = builder.entropy(SeededEntropy::new(9)).build().unwrap();
    (world, is_due)
}

/// 9068-2.2-01
#[tokio::test]
async fn a_write_that_was_applied_although_its_answer_was_lost_gives_its_token() {
    for fate in [Fate::FailsAfter(Failure::Transient), Fate::Repeated] {
        let (world, is_due) = with_fate(fate).await;
        let code = world.code().await;
        is_due.store(true, Ordering::Relaxed);
        let first = pair(&world.exchange(&code).await);
        assert!(is_jwt(&first.access) && opens(&world, A, &first.access).await);
        is_due.store(true, Ordering::Relaxed);
        let second = pair(&world.refresh(&first.refresh).await);
        assert!(is_jwt(&second.access) && opens(&world, A, &second.access).await);
        let machine = machine(&world).await;
        is_due.store(true, Ordering::Relaxed);
        let own = pair(&own_token(&world, &machine, &[]).await);
        assert!(is_jwt(&own.access) && opens(&world, A, &own.access).await);
        assert!(!is_due.load(Ordering::Relaxed));
    }
}

/// 7517-5-03
#[tokio::test]
async fn a_write_that_failed_gives_no_token() {
    let (world, is_due) = with_fate(Fate::FailsBefore(Failure::Transient)).await;
    let code = world.code().await;
    is_due.store(true, Ordering::Relaxed);
    assert_eq!(world.exchange(&code).await.status(), 503);
    let first = pair(&world.exchange(&code).await);
    is_due.store(true, Ordering::Relaxed);
    assert_eq!(world.refresh(&first.refresh).await.status(), 503);
    assert!(opens(&world, A, &pair(&world.refresh(&first.refresh).await).access).await);
}

/// 9068-2.2-01
#[tokio::test]
async fn a_claim_that_was_lost_is_signed_for_what_is_there_then() {
    let (world, is_due) = with_fate(Fate::Late).await;
    let first = pair(&world.exchange(&world.code().await).await);
    is_due.store(true, Ordering::Relaxed);
    let second = pair(&world.refresh(&first.refresh).await);
    assert!(!is_due.load(Ordering::Relaxed) && opens(&world, A, &second.access).await);
    let machine = machine(&world).await;
    let _ = own_token(&world, &machine, &[]).await;
    is_due.store(true, Ordering::Relaxed);
    let own = pair(&own_token(&world, &machine, &[]).await);
    assert!(opens(&world, A, &own.access).await);
}

/// 9068-2.2-01, 9068-SVC-01
///
/// While one token is signed for a place, another request fills that place.
#[tokio::test]
async fn a_token_names_the_place_that_it_got_and_is_signed_for_three_at_most() {
    for (filled, status) in [(2, 200), (3, 503)] {
        let mut config = config();
        config.limits.client_credentials_tokens = 8;
        let elsewhere = signer::Elsewhere::new();
        let mut world = built(config.clone(), |builder| builder.signing_keys([elsewhere.key()])).await;
        let machine = machine(&world).await;
        // Another server of the same store, which fills a place each time before the first one writes.
        let other = world.builder(config.clone(), world.store.clone()).signing_keys([es256()]);
        let other = other.entropy(FromTheFirstPlace(SeededEntropy::new(8))).build().unwrap();
        let rival = Rival { server: other, machine: machine.clone(), left: Arc::new(AtomicU32::new(filled)) };
        let left = Arc::clone(&rival.left);
        let store = Intercepted::new(world.store.clone(), rival);
        let builder = world.builder(config, store).signing_keys([elsewhere.key()]);
        world.server = builder.entropy(FromTheFirstPlace(SeededEntropy::new(9))).build().unwrap();
        let response = own_token(&world, &machine, &[]).await;
        assert_eq!((response.status(), left.load(Ordering::Relaxed)), (status, 0));
        assert_eq!(elsewhere.calls(), 3);
        if status == 200 {
            assert!(opens(&world, A, &pair(&response).access).await);
        }
    }
}

/// Every request tries the places of a client in the same order: places are drawn with four bytes.
#[derive(Debug)]
struct FromTheFirstPlace(SeededEntropy);

impl Entropy for FromTheFirstPlace {
    fn fill(&self, bytes: &mut [u8]) {
        if bytes.len() == 4 {
            bytes.fill(0);
        } else {
            self.0.fill(bytes);
        }
    }
}

/// Another server, which issues tokens to the same client while this one is about to write.
struct Rival {
    server: grantor::AuthorizationServer,
    machine: Credentials,
    left: Arc<AtomicU32>,
}

#[async_trait::async_trait]
impl Script for Rival {
    async fn before(&self, call: &'static str) -> Fate {
        let is_write = matches!(call, "tokens.insert" | "tokens.replace");
        if is_write && self.left.load(Ordering::Relaxed) > 0 {
            self.left.fetch_sub(1, Ordering::Relaxed);
            let body = b"grant_type=client_credentials";
            let basic = base64::engine::general_purpose::STANDARD
                .encode(format!("{}:{}", self.machine.id, self.machine.secret));
            let basic = format!("Basic {basic}");
            let request = Request::new("POST")
                .header("Content-Type", b"application/x-www-form-urlencoded")
                .header("Authorization", basic.as_bytes())
                .body(grantor::wire::Body::Bytes(body));
            assert_eq!(self.server.serve(Endpoint::Token, &request).await.status(), 200);
        }
        Fate::Done
    }
}

/// 9068-SVC-01
#[tokio::test]
async fn a_revocation_during_a_signature_is_seen() {
    let elsewhere = signer::Elsewhere::new();
    let world = built(config(), |builder| builder.signing_keys([elsewhere.key()])).await;
    let first = pair(&world.exchange(&world.code().await).await);
    world.advance(10);
    let second = pair(&world.refresh(&first.refresh).await);
    elsewhere.calls();
    // A use in grace: the newest pair is signed again, and revoked before the signature is there.
    let revoke = async {
        while elsewhere.has_begun() == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(world.server.revoke_subject(&world.alice).await.unwrap(), 1);
        elsewhere.go_on();
    };
    elsewhere.wait();
    let (response, ()) = tokio::join!(world.refresh(&first.refresh), revoke);
    support::world::e400(&response, "invalid_grant");
    assert!(!opens(&world, A, &second.access).await);
}

/// Takes the step while the next token waits for its signature.
async fn while_signing(elsewhere: &signer::Elsewhere, step: impl FnOnce()) {
    while elsewhere.has_begun() == 0 {
        tokio::task::yield_now().await;
    }
    step();
    elsewhere.go_on();
}

/// 7517-5-03
#[tokio::test]
async fn a_signer_that_takes_too_long_changes_nothing() {
    for (seconds, status) in [(10, 200), (11, 503)] {
        let elsewhere = signer::Elsewhere::new();
        let world = built(config(), |builder| builder.signing_keys([elsewhere.key()])).await;
        let code = world.code().await;
        elsewhere.wait();
        let slow = while_signing(&elsewhere, || world.advance(seconds));
        let (response, ()) = tokio::join!(world.exchange(&code), slow);
        assert_eq!(response.status(), status, "{seconds}");
        if status == 503 {
            assert!(world.events.take().iter().any(|event| event.contains("more than 10 s")));
            let first = pair(&world.exchange(&code).await);
            assert!(opens(&world, A, &first.access).await, "the code is not spent");
        }
    }
}

/// 7517-5-02
#[tokio::test]
async fn a_key_that_is_dropped_while_it_signs_gives_no_token() {
    let elsewhere = signer::Elsewhere::new();
    let key_id = elsewhere.key().key_id().to_owned();
    let world = built(config(), |builder| builder.signing_keys([elsewhere.key()])).await;
    let code = world.code().await;
    elsewhere.wait();
    let dropped = while_signing(&elsewhere, || assert!(world.server.drop_key(&key_id)));
    let (response, ()) = tokio::join!(world.exchange(&code), dropped);
    assert_eq!(response.status(), 503);
    assert!(world.server.grants_of(&world.alice).await.unwrap().is_empty());
}
