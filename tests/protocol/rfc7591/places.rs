//! How many clients there may be, for how long, and how fast they may register.

use std::collections::BTreeSet;
use std::time::Duration;

use grantor::MemoryThrottle;
use grantor::application::ApplicationFilter;
use grantor::config::Profile;
use grantor::hooks::ApproveWithin;
use grantor::store::Page;
use grantor::wire::{Body, Endpoint, Request};
use serde_json::{Value, json};

use super::{
    bounds, created, credentials, id, open, post, public, purge, query, refused, register, with, world, world_with,
};
use support::world::{Credentials, PKCE, World, e401, page, pair};

const DAY: u64 = 86_400;
const URI: &str = "https://app.example.com/cb";

async fn with_places(max: u32) -> World {
    let mut config = open(Profile::Mcp);
    config.limits.unreviewed_clients = max;
    world_with(config, bounds()).await
}

/// Returns whether the server still accepts authorization requests of that client.
async fn is_known(world: &World, client: &Value) -> bool {
    world.authorize(&query(world, client, URI, &[])).await.is_ok()
}

async fn is_stored(world: &World, client: &Value) -> bool {
    world.server.client(&id(client)).await.unwrap().is_some()
}

async fn unreviewed(world: &World) -> BTreeSet<String> {
    let all = world.server.registrar().unwrap().list(&ApplicationFilter::All, Page::first(1000)).await.unwrap();
    let unreviewed = all.iter().filter(|application| application.is_unreviewed());
    unreviewed.map(|application| application.id().to_string()).collect()
}

/// 7591-5-06
#[tokio::test]
async fn a_client_that_was_never_used_is_removed_after_seven_days() {
    let world = world().await;
    let answer = register(&world, public()).await;
    let client = credentials(&answer);
    world.advance(7 * DAY - 1);
    purge(&world).await;
    assert!(is_known(&world, &answer).await && is_stored(&world, &answer).await);
    world.advance(1);
    // Whether a purge has run or not.
    for is_purged in [false, true] {
        if is_purged {
            purge(&world).await;
        }
        assert_eq!(is_stored(&world, &answer).await, !is_purged);
        let refused = world.refused(&query(&world, &answer, URI, &[])).await;
        page(&refused);
        let html = String::from_utf8_lossy(refused.body()).into_owned();
        assert!(html.contains("remove the connection to this service and add it again"), "{html}");
        e401(&world.refresh_as(&client, "rt_x").await, "invalid_client");
    }
    assert_eq!(unreviewed(&world).await, BTreeSet::new());
}

/// 7591-5-06
#[tokio::test]
async fn a_client_stays_while_its_refresh_tokens_live_and_180_days_longer() {
    let world = world().await;
    let answer = register(&world, public()).await;
    let client = credentials(&answer);
    let mut token = world.pair_of(&client).await;
    for _ in 0..3 {
        world.advance(179 * DAY);
        purge(&world).await;
        token = pair(&world.refresh_as(&client, &token.refresh).await);
    }
    // The refresh token lives for 180 days, and the client for 180 days more.
    world.advance(2 * 180 * DAY - 1);
    purge(&world).await;
    assert!(is_known(&world, &answer).await && is_stored(&world, &answer).await);
    world.advance(DAY + 600 + 1);
    purge(&world).await;
    assert!(!is_known(&world, &answer).await && !is_stored(&world, &answer).await);
}

/// 7591-5-06
#[tokio::test]
async fn the_use_of_a_client_is_written_once_a_day() {
    let world = world().await;
    let answer = register(&world, public()).await;
    let client = credentials(&answer);
    let version = async || world.server.client(&id(&answer)).await.unwrap().unwrap().version();
    let registered = version().await;
    let mut token = world.pair_of(&client).await;
    assert_ne!(version().await, registered);
    let mut versions = BTreeSet::new();
    for _ in 0..48 {
        world.advance(DAY / 24);
        token = pair(&world.refresh_as(&client, &token.refresh).await);
        versions.insert(version().await);
    }
    assert!(versions.len() <= 3, "{versions:?}");
    // A refused request does not count as use.
    let other = register(&world, public()).await;
    let before = world.server.client(&id(&other)).await.unwrap().unwrap();
    e401(
        &world.refresh_as(&Credentials { secret: "x".repeat(32), ..credentials(&other) }, "rt_x").await,
        "invalid_client",
    );
    refused(&world.refresh_as(&credentials(&other), "rt_x").await, 400, "invalid_grant");
    assert_eq!(world.server.client(&id(&other)).await.unwrap().unwrap(), before);
}

/// 7591-5-07
#[tokio::test]
async fn the_oldest_client_that_was_never_used_gives_way() {
    let world = with_places(3).await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(register(&world, public()).await);
        world.advance(1);
    }
    let kept = world.pair_of(&credentials(&clients[0])).await;
    world.events.take();
    let fourth = register(&world, public()).await;
    assert!(world.events.take().iter().any(|event| event.contains("Evicted")));
    let there: BTreeSet<_> = [&clients[0], &clients[2], &fourth].iter().map(|client| id(client).to_string()).collect();
    assert_eq!(unreviewed(&world).await, there);
    page(&world.refused(&query(&world, &clients[1], URI, &[])).await);
    assert!(world.opens(&kept.access).await);

    for client in [&clients[2], &fourth] {
        world.pair_of(&credentials(client)).await;
    }
    let full = post(&world, public().to_string()).await;
    refused(&full, 503, "temporarily_unavailable");
    assert!(full.header("Retry-After").is_some());
    assert_eq!(unreviewed(&world).await, there);
}

/// NEG-OC-06
#[tokio::test]
async fn a_flood_of_registrations_is_bounded_and_locks_nobody_out() {
    let world = with_places(20).await;
    let honest = register(&world, public()).await;
    let token = world.pair_of(&credentials(&honest)).await;
    for _ in 0..200 {
        register(&world, public()).await;
    }
    assert!(unreviewed(&world).await.len() <= 20);
    let late = register(&world, public()).await;
    world.pair_of(&credentials(&late)).await;
    assert!(world.opens(&token.access).await);
    // Evicted clients are removed by the next purge.
    purge(&world).await;
    let all = world.server.registrar().unwrap().list(&ApplicationFilter::All, Page::first(1000)).await.unwrap();
    assert!(all.len() <= 21, "{}", all.len());
}

/// 7591-5-07
#[tokio::test]
async fn registrations_at_once_exceed_the_places_by_no_more_than_themselves() {
    let world = with_places(2).await;
    let at_once = (0..6).map(|_| register(&world, public()));
    futures::future::join_all(at_once).await;
    // Enough that each of the two places is drawn.
    for _ in 0..20 {
        register(&world, public()).await;
    }
    assert!(unreviewed(&world).await.len() <= 2, "{:?}", unreviewed(&world).await);
}

async fn from(world: &World, peer: &str, body: &str) -> grantor::wire::Response {
    let request = Request::new("POST").header("Content-Type", b"application/json").body(Body::Bytes(body.as_bytes()));
    world.server.serve(Endpoint::Registration, &request.peer(peer.parse().unwrap())).await
}

/// 7591-5-05
#[tokio::test]
async fn registrations_are_bounded_by_network_before_they_are_read() {
    let throttle = MemoryThrottle::new();
    let world = World::built(open(Profile::Mcp), |builder| {
        builder.registration_policy(ApproveWithin::new(bounds())).throttle(throttle)
    });
    let world = world.await;
    let metadata = public().to_string();
    // Failures count too.
    for number in 0..20 {
        let body = if number % 2 == 0 { metadata.as_str() } else { "[" };
        let response = from(&world, &format!("2001:db8:1:2::{number:x}"), body).await;
        assert_eq!(response.status(), if number % 2 == 0 { 201 } else { 400 });
    }
    let before = unreviewed(&world).await;
    for body in [metadata.as_str(), "["] {
        let response = from(&world, "2001:db8:1:2:ffff::1", body).await;
        assert_eq!(response.status(), 429);
        let wait: u64 = response.header("Retry-After").unwrap().parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
    }
    assert_eq!(unreviewed(&world).await, before);
    created(&from(&world, "2001:db8:1:3::1", &metadata).await);
    created(&from(&world, "192.0.2.9", &metadata).await);
    // Other requests of that network are still served.
    page(&world.refused(&world.query_of(&Credentials { id: "x".into(), secret: String::new() }, &PKCE)).await);
}

/// 7591-5-07
#[tokio::test]
async fn a_client_that_is_used_meanwhile_is_not_evicted() {
    let world = with_places(1).await;
    let first = register(&world, public()).await;
    // The user reads the consent page while another client registers: the first one is evicted.
    let asked = query(&world, &first, URI, &[]);
    let pending = world.authorize(&asked).await.unwrap();
    let handle = world.server.hold(&pending, &world.alice, support::world::SESSION).await.unwrap();
    let second = register(&world, with(public(), json!({"client_name": "Second"}))).await;
    let consent = grantor::Decision::Approve(grantor::Consent::to_everything());
    let decided = world.server.decide(handle.expose(), &world.alice, support::world::SESSION, &consent).await;
    page(&decided.unwrap_err().response(Some(&world.alice)));
    // This client is used before that.
    world.pair_of(&credentials(&second)).await;
    refused(&post(&world, public().to_string()).await, 503, "temporarily_unavailable");
    world.advance(Duration::from_secs(30 * DAY).as_secs());
    assert!(is_known(&world, &second).await);
}
