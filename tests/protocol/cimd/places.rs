//! How many clients with documents are kept, and for how long.

use std::time::Duration;

use async_trait::async_trait;
use grantor::application::ApplicationFilter;
use grantor::hooks::{ApproveWithin, RegistrationDecision, RegistrationPolicy, RegistrationRequest};
use grantor::store::Page;
use serde_json::json;

use super::{
    SESSION, URL, Web, World, ask_for, bounds, client, document, id, on, pair_of, purge, refused, with, world,
    world_with,
};
use support::world::{Reviewer, e400, e401, logo, pair};

const DAY: u64 = 86_400;

fn url(number: usize) -> String {
    format!("https://client.example/{number}")
}

fn web_of(count: usize) -> Web {
    let web = Web::default();
    for number in 0..count {
        web.publish(&url(number), with(json!({"client_id": url(number)})));
    }
    web
}

async fn hold(world: &World, url: &str) -> u16 {
    let pending = ask_for(world, url).await.unwrap();
    match world.server.hold(&pending, &world.alice, SESSION).await {
        Ok(_) => 200,
        Err(error) => error.response(Some(&world.alice)).status(),
    }
}

async fn unreviewed(world: &World) -> usize {
    let all = world.server.registrar().unwrap().list(&ApplicationFilter::All, Page::first(1000)).await.unwrap();
    all.iter().filter(|application| application.is_unreviewed()).count()
}

async fn is_stored(world: &World) -> bool {
    world.server.client(&id()).await.unwrap().is_some()
}

/// 7591-5-07
#[tokio::test]
async fn clients_with_documents_have_places_like_all_open_clients() {
    let mut config = on();
    // Three for those that no user approved, and twelve for the others.
    config.limits.unreviewed_clients = 30;
    let world = world_with(config, &web_of(30)).await;
    for number in 0..20 {
        assert_eq!(hold(&world, &url(number)).await, 200);
        // While the user is asked, the client keeps its place.
        world.advance(30 * 60);
    }
    assert_eq!(unreviewed(&world).await, 3);
    // An evicted client can come back, and clients in use stay.
    for number in 0..12 {
        pair_of(&world, &url(number)).await;
    }
    for number in 12..15 {
        assert_eq!(hold(&world, &url(number)).await, 200);
    }
    assert_eq!(hold(&world, &url(20)).await, 503, "all users of the three are asked");
    assert_eq!(unreviewed(&world).await, 15);
    for number in 0..12 {
        assert_eq!(hold(&world, &url(number)).await, 200);
    }
}

/// Queues the client of [`URL`], and approves all others.
#[derive(Clone, Debug)]
struct QueuesOne;

#[async_trait]
impl RegistrationPolicy for QueuesOne {
    async fn decide(&self, request: &RegistrationRequest<'_>) -> RegistrationDecision {
        if request.document_url == Some(URL) {
            RegistrationDecision::Queue(bounds())
        } else {
            RegistrationDecision::Approve(bounds())
        }
    }
}

/// 7591-5-07, CIMD-8.4-01
#[tokio::test]
async fn a_queued_change_of_a_reviewed_client_needs_no_place() {
    let mut config = on();
    // Four for those that users approved.
    config.limits.unreviewed_clients = 10;
    let web = web_of(4);
    web.publish(URL, document());
    let world = World::built(config, |builder| builder.registration_policy(QueuesOne).fetcher(web.clone())).await;
    let registrar = world.server.registrar().unwrap();
    refused(&world, URL).await;
    let approval = grantor::Approval::default().website("https://client.example/").logo(logo());
    registrar.approve_now(&id(), approval).await.unwrap();
    for number in 0..4 {
        pair_of(&world, &url(number)).await;
    }
    web.publish(URL, with(json!({"client_name": "Other"})));
    world.advance(3600);
    refused(&world, URL).await;
    let application = registrar.application(&id()).await.unwrap();
    assert_eq!(application.proposed.as_ref().unwrap().name, "Other");
    assert!(!application.is_unreviewed());
    assert_eq!(unreviewed(&world).await, 4);
}

/// 7591-5-07, ADM-08
#[tokio::test]
async fn a_suspended_client_does_not_give_way() {
    let mut config = on();
    config.limits.unreviewed_clients = 10;
    let world = world_with(config, &web_of(4)).await;
    assert_eq!(hold(&world, &url(0)).await, 200);
    let first = grantor::ClientId::new(url(0)).unwrap();
    world.server.registrar().unwrap().suspend(&first).await.unwrap();
    // Otherwise it would come back as a new client, which is not suspended. It takes no room from others.
    for number in [1, 2, 3] {
        assert_eq!(hold(&world, &url(number)).await, 200);
        world.advance(30 * 60);
    }
    assert!(ask_for(&world, &url(0)).await.is_err());
}

/// 7591-5-06
#[tokio::test]
async fn a_client_that_was_never_used_is_removed_and_may_come_back() {
    let (world, _) = world().await;
    assert_eq!(hold(&world, URL).await, 200);
    let first = world.server.client(&id()).await.unwrap().unwrap();
    world.advance(7 * DAY - 1);
    purge(&world).await;
    assert!(is_stored(&world).await);
    world.advance(1);
    purge(&world).await;
    assert!(!is_stored(&world).await);
    assert_eq!(hold(&world, URL).await, 200);
    let again = world.server.client(&id()).await.unwrap().unwrap();
    assert!(again.epoch() > first.epoch(), "it is another client");
    // The same before the purge has run.
    world.advance(7 * DAY);
    assert_eq!(hold(&world, URL).await, 200);
    let third = world.server.client(&id()).await.unwrap().unwrap();
    assert!(third.epoch() > again.epoch());
    assert!(third.open().unwrap().registered > again.open().unwrap().registered);
}

/// 7591-5-06
#[tokio::test]
async fn a_client_stays_while_its_refresh_tokens_live() {
    let (world, _) = world().await;
    let mut tokens = pair_of(&world, URL).await;
    for _ in 0..3 {
        world.advance(179 * DAY);
        purge(&world).await;
        tokens = pair(&world.refresh_as(&client(URL), &tokens.refresh).await);
    }
    world.advance(2 * 180 * DAY - 1);
    purge(&world).await;
    assert!(is_stored(&world).await);
    world.advance(DAY + 601);
    purge(&world).await;
    assert!(!is_stored(&world).await);
    e401(&world.refresh_as(&client(URL), &tokens.refresh).await, "invalid_client");
}

/// 7591-5-03
#[tokio::test]
async fn no_token_of_a_registration_that_ended_comes_back() {
    let web = Web::with(URL, document());
    let policy = ApproveWithin::new(bounds().lifetime(Duration::from_secs(30 * DAY)));
    let world = World::built(on(), |builder| builder.registration_policy(policy).fetcher(web.clone())).await;
    let old = pair_of(&world, URL).await;
    world.advance(30 * DAY - 3600);
    let old = pair(&world.refresh_as(&client(URL), &old.refresh).await);
    assert!(world.opens(&old.access).await);
    world.advance(3600);
    assert!(!world.opens(&old.access).await);
    let new = pair_of(&world, URL).await;
    assert!(world.opens(&new.access).await && !world.opens(&old.access).await);
    e400(&world.refresh_as(&client(URL), &old.refresh).await, "invalid_grant");
}

/// 7591-5-03
#[tokio::test]
async fn no_review_brings_tokens_of_an_ended_registration_back() {
    let web = Web::with(URL, document());
    let policy = ApproveWithin::new(bounds().lifetime(Duration::from_secs(30 * DAY)));
    let world = World::built(on(), |builder| builder.registration_policy(policy).fetcher(web.clone())).await;
    let tokens = pair_of(&world, URL).await;
    let version = world.server.client(&id()).await.unwrap().unwrap().version();
    world.advance(30 * DAY);
    let approval = grantor::Approval::default().website("https://client.example/").logo(logo());
    let outcome = world.server.registrar().unwrap().approve(&id(), version, approval).await;
    assert!(matches!(outcome, Err(grantor::RegistrarError::NotFound)));
    e401(&world.refresh_as(&client(URL), &tokens.refresh).await, "invalid_client");
}

/// 7591-5-06
#[tokio::test]
async fn the_use_of_a_client_is_noted_before_its_code() {
    let (world, _) = world().await;
    assert_eq!(hold(&world, URL).await, 200);
    let version = async || world.server.client(&id()).await.unwrap().unwrap().version();
    let held = version().await;
    pair_of(&world, URL).await;
    let used = version().await;
    assert_ne!(used, held);
    pair_of(&world, URL).await;
    assert_eq!(version().await, used);
}
