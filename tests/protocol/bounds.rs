//! How much one user can make the server keep: consent requests, and live grants of one client.

use std::sync::Arc;

use grantor::config::Profile;
use grantor::store::{Authorization, Grant, Page, Record, RecordStore, RevocationReason};
use grantor::{Consent, Decision, Subject};

use crate::interleaved::{reconfigured, side_by_side};
use support::world::{Credentials, PKCE, Pair, REDIRECT_URI, SESSION, World, code, e400, empty, form, ok, pair, text};

async fn held(world: &World, client: &Credentials, subject: &Subject) -> String {
    let pending = world.authorize(&world.query_of(client, &PKCE)).await.unwrap();
    world.server.hold(&pending, subject, SESSION).await.unwrap().expose().to_owned()
}

/// Approves the request and returns whether that succeeded.
async fn works(world: &World, handle: &str, subject: &Subject) -> bool {
    let agreed = Decision::Approve(Consent::to_everything());
    match world.server.decide(handle, subject, SESSION, &agreed).await {
        Ok(response) => {
            code(&response);
            true
        }
        Err(refused) => {
            let response = refused.response(Some(subject));
            assert_eq!((response.status(), response.header("Location")), (400, None), "it shows the page");
            false
        }
    }
}

async fn records(world: &World, subject: &Subject) -> Vec<Arc<Authorization>> {
    RecordStore::<Authorization>::list(&world.store, subject.as_str(), Page::first(100_000)).await.unwrap()
}

/// Counts the user's consent requests; `Debug` shows the stage.
async fn held_count(world: &World, subject: &Subject) -> usize {
    let records = records(world, subject).await;
    records.iter().filter(|record| format!("{record:?}").contains("stage: Held")).count()
}

/// LIM-01
#[tokio::test]
async fn the_oldest_tab_of_a_client_makes_room() {
    let world = World::platform().await;
    let other = world.register(form()).await;
    let bob = Subject::new("bob").unwrap();
    let elsewhere = held(&world, &other, &world.alice).await;
    let of_bob = held(&world, &world.client, &bob).await;
    let mut tabs = Vec::new();
    for _ in 0..11 {
        tabs.push(held(&world, &world.client, &world.alice).await);
        world.advance(1);
    }
    assert!(!works(&world, &tabs[0], &world.alice).await, "the eleventh ended the first");
    for tab in &tabs[1..] {
        assert!(works(&world, tab, &world.alice).await);
    }
    assert!(works(&world, &elsewhere, &world.alice).await && works(&world, &of_bob, &bob).await);
}

/// LIM-01
#[tokio::test]
async fn the_oldest_tab_of_a_user_makes_room() {
    let world = World::platform().await;
    let mut clients = vec![world.client.clone()];
    for _ in 1..6 {
        clients.push(world.register(form()).await);
    }
    let mut tabs = Vec::new();
    for number in 0..51 {
        tabs.push(held(&world, &clients[number % 6], &world.alice).await);
        world.advance(1);
    }
    assert_eq!(held_count(&world, &world.alice).await, 50);
    assert!(!works(&world, &tabs[0], &world.alice).await);
    for tab in &tabs[1..] {
        assert!(works(&world, tab, &world.alice).await);
    }
}

/// LIM-01
#[tokio::test]
async fn any_number_of_requests_leaves_few_and_small_records() {
    let world = World::platform().await;
    let mut clients = vec![world.client.clone()];
    for _ in 1..7 {
        clients.push(world.register(form()).await);
    }
    let state = "x".repeat(4000);
    for number in 0..10_000_usize {
        let query = world.query_of(&clients[number * number % 7], &[PKCE[0], PKCE[1], ("state", &state)]);
        let pending = world.authorize(&query).await.unwrap();
        world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
        if number % 100 == 0 {
            world.advance(1);
        }
    }
    assert!(held_count(&world, &world.alice).await <= 50);
    let records = records(&world, &world.alice).await;
    let bytes: usize = records.iter().map(|record| record.encode().len()).sum();
    println!("{} records, {bytes} bytes", records.len());
    assert!(bytes < 5_000_000, "{bytes} bytes");
    assert!(records.len() <= 100, "{} records", records.len());
}

/// LIM-01
#[tokio::test]
async fn after_a_crowd_the_next_request_restores_the_bound() {
    let mut world = World::platform().await;
    side_by_side(&mut world, async |world: &World| held(world, &world.client, &world.alice).await).await;
    assert!(held_count(&world, &world.alice).await > 10, "all read the list before any was written");
    world.advance(1);
    let last = held(&world, &world.client, &world.alice).await;
    assert_eq!(held_count(&world, &world.alice).await, 10);
    assert!(works(&world, &last, &world.alice).await);
}

/// LIM-01
/// It keeps no state and no scopes, only where the answer went.
#[tokio::test]
async fn the_record_of_an_ended_request_is_reused() {
    let world = World::platform().await;
    let state = "x".repeat(4000);
    let query = world.query(&[PKCE[0], PKCE[1], ("state", &state)]);
    let pending = world.authorize(&query).await.unwrap();
    let first = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    assert!(records(&world, &world.alice).await[0].encode().len() > 4000);
    let denied = world.server.decide(first.expose(), &world.alice, SESSION, &Decision::Deny).await.unwrap();
    assert_eq!(denied.status(), 302);
    // `state` is kept: for a minute, the same answer gets the same response.
    let ended = &records(&world, &world.alice).await[0];
    assert!(ended.encode().len() < 4240 + REDIRECT_URI.len(), "{}", ended.encode().len());
    assert!(ended.scopes().is_empty());
    assert_eq!((ended.client(), ended.subject()), (&world.client.client_id(), Some(&world.alice)));
    world.advance(60);
    let second = held(&world, &world.client, &world.alice).await;
    assert_eq!(records(&world, &world.alice).await.len(), 1, "its record was taken over");
    assert!(!works(&world, first.expose(), &world.alice).await);
    assert!(works(&world, &second, &world.alice).await);
    // A record with a code is not reused.
    held(&world, &world.client, &world.alice).await;
    assert_eq!(records(&world, &world.alice).await.len(), 2);
    // Nor is a record whose id is older than the hold lifetime: the page of the list would not contain it.
    world.advance(3700);
    held(&world, &world.client, &world.alice).await;
    assert_eq!(records(&world, &world.alice).await.len(), 3);
}

/// LIM-01
#[tokio::test]
async fn a_request_in_a_taken_record_lives_its_whole_time() {
    let world = World::platform().await;
    let mut handles = Vec::new();
    // Each takes over an older record, until none is recent enough.
    for _ in 0..100 {
        handles.push(held(&world, &world.client, &world.alice).await);
        assert!(held_count(&world, &world.alice).await <= 11, "one may have expired");
        world.advance(100);
    }
    let newest = handles.pop().unwrap();
    world.advance(1699);
    assert!(works(&world, &newest, &world.alice).await);
    for old in &handles {
        assert!(!works(&world, old, &world.alice).await);
    }
}

async fn live(world: &World, subject: &Subject) -> usize {
    world.server.grants_of(subject).await.unwrap().len()
}

async fn code_of(world: &World, client: &Credentials, subject: &Subject) -> String {
    let handle = held(world, client, subject).await;
    let agreed = Decision::Approve(Consent::to_everything());
    text(&code(&world.server.decide(&handle, subject, SESSION, &agreed).await.unwrap()), "code")
}

/// LIM-02
#[tokio::test]
async fn the_grant_refreshed_longest_ago_makes_room() {
    let world = World::platform().await;
    let other = world.register(form()).await;
    let bob = Subject::new("bob").unwrap();
    let elsewhere = world.pair_of(&other).await;
    let of_bob = pair(&world.exchange(&code_of(&world, &world.client, &bob).await).await);
    let mut pairs: Vec<Pair> = Vec::new();
    for _ in 0..50 {
        pairs.push(world.pair().await);
        world.advance(1);
    }
    // The first one was refreshed since, so the second one is removed.
    pairs[0] = pair(&world.refresh(&pairs[0].refresh).await);
    world.events.take();
    pairs.push(world.pair().await);
    let events = world.events.take();
    let revoked: Vec<_> = events.iter().filter(|event| event.starts_with("GrantRevoked")).collect();
    assert!(revoked.len() == 1 && revoked[0].contains("reason: TooManyGrants"), "{events:?}");
    for (number, pair) in pairs.iter().enumerate() {
        assert_eq!(world.opens(&pair.access).await, number != 1, "{number}");
    }
    e400(&world.refresh(&pairs[1].refresh).await, "invalid_grant");
    empty(&world.revoke(&pairs[1].refresh).await);
    assert!(!world.events.saw("RefreshTokenReused"));
    assert!(world.opens(&elsewhere.access).await && world.opens(&of_bob.access).await);
    assert_eq!((live(&world, &world.alice).await, live(&world, &bob).await), (51, 1));
    let kept = RecordStore::<Grant>::list(&world.store, world.alice.as_str(), Page::first(100)).await.unwrap();
    let reasons: Vec<_> = kept.iter().filter_map(|grant| grant.revoked()).map(|revoked| revoked.reason).collect();
    assert_eq!(reasons, [RevocationReason::TooManyGrants]);
}

/// LIM-02
#[tokio::test]
async fn parallel_exchanges_at_the_bound_pass_it_by_no_more_than_their_number() {
    let mut world = World::platform().await;
    for _ in 0..50 {
        world.pair().await;
        world.advance(1);
    }
    let mut codes = Vec::new();
    for _ in 0..20 {
        codes.push(world.code().await);
    }
    let codes = std::sync::Mutex::new(codes);
    let taken = async |world: &World| {
        let code = codes.lock().unwrap().pop();
        match code {
            Some(code) => world.exchange(&code).await,
            None => world.refresh("none").await,
        }
    };
    let responses = side_by_side(&mut world, taken).await;
    let pairs: Vec<_> = responses.iter().filter(|response| response.status() == 200).map(pair).collect();
    assert_eq!(pairs.len(), 20);
    let count = live(&world, &world.alice).await;
    assert!((50..=70).contains(&count), "{count}");
    let last = world.pair().await;
    assert_eq!(live(&world, &world.alice).await, 50);
    assert!(world.opens(&last.access).await);
    for pair in &pairs {
        assert!(world.opens(&pair.access).await, "the older ones went first");
    }
}

/// LIM-02
#[tokio::test]
async fn what_is_dead_or_withdrawn_is_not_counted() {
    let world = World::with(Profile::Platform, |config| config.limits.grants = 3).await;
    let registrar = world.server.registrar().unwrap();
    for _ in 0..3 {
        world.pair().await;
    }
    registrar.revoke_grants(&world.client.client_id()).await.unwrap();
    world.events.take();
    for _ in 0..3 {
        let pair = world.pair().await;
        empty(&world.revoke(&pair.refresh).await);
    }
    let kept = [world.pair().await, world.pair().await, world.pair().await];
    assert!(!world.events.take().iter().any(|event| event.contains("TooManyGrants")));
    for pair in &kept {
        ok(&world.refresh(&pair.refresh).await);
    }
}

/// LIM-02
#[tokio::test]
async fn the_new_grant_is_never_the_one_that_goes() {
    let world = World::with(Profile::Platform, |config| config.limits.grants = 1).await;
    // All in one second.
    for _ in 0..20 {
        let pair = world.pair().await;
        assert!(world.opens(&pair.access).await);
        assert_eq!(live(&world, &world.alice).await, 1);
    }
}

/// LIM-02
#[tokio::test]
async fn a_list_of_many_pages_is_counted_whole() {
    let mut world = World::with(Profile::Platform, |config| config.limits.grants = 1000).await;
    let other = world.register(form()).await;
    let mut pairs = Vec::new();
    for number in 0..230 {
        let client = if number % 2 == 0 { &world.client } else { &other };
        pairs.push(world.pair_of(client).await);
        world.advance(1);
    }
    reconfigured(&mut world, |config| config.limits.grants = 50);
    world.pair().await;
    for (number, pair) in pairs.iter().enumerate() {
        let is_kept = number % 2 == 1 || number >= 230 - 2 * 49;
        assert_eq!(world.opens(&pair.access).await, is_kept, "{number}");
    }
}

/// LIM-08
#[tokio::test]
async fn an_exchange_that_stands_still_past_its_codes_end_is_refused() {
    #[derive(Clone, Debug)]
    struct Slow(grantor::testing::ManualClock, Arc<std::sync::atomic::AtomicU32>);

    #[async_trait::async_trait]
    impl grantor::hooks::Subjects for Slow {
        async fn status(&self, _: &Subject, _: &grantor::Client) -> grantor::hooks::SubjectStatus {
            let seconds = self.1.swap(0, std::sync::atomic::Ordering::SeqCst);
            self.0.advance(std::time::Duration::from_secs(seconds.into()));
            grantor::hooks::SubjectStatus::Active
        }
    }

    let mut world = World::platform().await;
    let wait = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let builder = world.builder(world.server.config().clone(), world.store.clone());
    world.server = builder.subjects(Slow(world.clock.clone(), wait.clone())).build().unwrap();
    for (seconds, is_refused) in [(599, false), (600, true), (3 * 3600, true)] {
        let code = world.code().await;
        wait.store(seconds, std::sync::atomic::Ordering::SeqCst);
        let response = world.exchange(&code).await;
        if is_refused {
            e400(&response, "invalid_grant");
        } else {
            ok(&response);
        }
    }
    assert!(!world.events.saw("CodeReplayed"));
    let kept = RecordStore::<Grant>::list(&world.store, world.alice.as_str(), Page::first(10)).await.unwrap();
    assert_eq!(kept.len(), 1);
}
