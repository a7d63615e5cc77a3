//! How many clients there may be, for how long, and how fast they may register.

use std::collections::BTreeSet;
use std::time::Duration;

use grantor::application::ApplicationFilter;
use grantor::config::Profile;
use grantor::hooks::ApproveWithin;
use grantor::store::Page;
use grantor::wire::{Body, Endpoint, Request, Response};
use grantor::{Consent, Decision, MemoryThrottle, Subject};
use serde_json::Value;

use super::{bounds, created, credentials, id, open, post, public, purge, query, refused, register, world, world_with};
use support::intercepted::scripts::Calls;
use support::intercepted::{Failure, Fate, Script, every, over_with};
use support::world::{Credentials, PKCE, SESSION, World, code, e401, page, pair, red_by_link, text};

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

/// A store that takes no change of an application.
struct UnchangedApplications;

#[async_trait::async_trait]
impl Script for UnchangedApplications {
    async fn before(&self, call: &'static str) -> Fate {
        if call == "applications.replace" { Fate::FailsBefore(Failure::Transient) } else { Fate::Done }
    }
}

/// 7591-5-06
/// A page whose client cannot be marked as asked for fails, and still ends the user's oldest ones.
#[tokio::test]
async fn requests_stay_bounded_where_a_client_keeps_no_place() {
    let mut config = open(Profile::Mcp);
    config.limits.consent_requests = 2;
    let world = world_with(config, bounds()).await;
    let clients =
        [register(&world, public()).await, register(&world, public()).await, register(&world, public()).await];
    let hold = async |world: &World, client: &Value| {
        let pending = world.authorize(&query(world, client, URI, &[])).await.unwrap();
        world.server.hold(&pending, &world.alice, SESSION).await.map(drop)
    };
    let failing =
        over_with(&world, UnchangedApplications, |builder| builder.registration_policy(ApproveWithin::new(bounds())));
    for client in &clients {
        world.advance(1);
        assert_eq!(hold(&failing, client).await.unwrap_err().response(Some(&world.alice)).status(), 503);
    }
    assert_eq!(world.server.revoke_subject(&world.alice).await.unwrap(), 2);
    for client in &clients {
        world.advance(1);
        hold(&world, client).await.unwrap();
    }
    assert_eq!(world.server.revoke_subject(&world.alice).await.unwrap(), 2);
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

/// 7591-5-06, MCP-0618-02
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

/// Returns whether a client was evicted since the last call.
fn evicted(world: &World) -> bool {
    world.events.take().iter().any(|event| event.contains("Evicted"))
}

/// Shows the consent page to the user, and returns its ticket.
async fn asked(world: &World, client: &Value, user: &Subject) -> String {
    let pending = world.authorize(&query(world, client, URI, &[])).await.unwrap();
    world.server.hold(&pending, user, SESSION).await.unwrap().expose().to_owned()
}

async fn approved(world: &World, ticket: &str, user: &Subject) -> Response {
    let consent = Decision::Approve(Consent::to_everything());
    let decided = world.server.decide(ticket, user, SESSION, &consent).await;
    decided.unwrap_or_else(|refused| refused.response(Some(user)))
}

/// Registers a client that this user approves, and returns it.
async fn used_by(world: &World, user: &Subject) -> Value {
    let client = register(world, public()).await;
    let ticket = asked(world, &client, user).await;
    code(&approved(world, &ticket, user).await);
    client
}

/// A world whose four places for clients that a user approved are taken, one each day; their users, and one more.
async fn full_world() -> (World, Vec<Value>, [Subject; 5]) {
    let (world, mut clients) = (with_places(10).await, Vec::new());
    let users = ["b", "c", "d", "e", "f"].map(|name| Subject::new(name).unwrap());
    for user in &users[..4] {
        clients.push(used_by(&world, user).await);
        world.advance(DAY);
    }
    (world, clients, users)
}

/// The same world with a server whose calls to the store follow a script.
fn scripted(world: &World, script: impl Script) -> World {
    over_with(world, script, |builder| builder.registration_policy(ApproveWithin::new(bounds())))
}

/// 7591-5-07
#[tokio::test]
async fn the_oldest_client_that_no_user_approved_gives_way() {
    // Three of them are for clients that no user approved.
    let world = with_places(30).await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(register(&world, public()).await);
        world.advance(1);
    }
    let kept = world.pair_of(&credentials(&clients[0])).await;
    world.events.take();
    clients.push(register(&world, public()).await);
    assert!(!evicted(&world), "the approved one made room");
    clients.push(register(&world, public()).await);
    assert!(evicted(&world));
    let there: BTreeSet<_> = [0, 2, 3, 4].map(|number| id(&clients[number]).to_string()).into();
    assert_eq!(unreviewed(&world).await, there);
    page(&world.refused(&query(&world, &clients[1], URI, &[])).await);
    assert!(world.opens(&kept.access).await);
}

/// 7591-5-07
#[tokio::test]
async fn a_client_keeps_its_place_while_its_user_is_asked() {
    for ends_by_denial in [true, false] {
        let world = with_places(10).await;
        let first = register(&world, public()).await;
        let ticket = asked(&world, &first, &world.alice).await;
        let full = post(&world, public().to_string()).await;
        refused(&full, 503, "temporarily_unavailable");
        assert!(full.header("Retry-After").is_some());
        if ends_by_denial {
            world.server.decide(&ticket, &world.alice, SESSION, &Decision::Deny).await.unwrap();
        } else {
            world.advance(30 * 60);
        }
        let second = register(&world, public()).await;
        assert!(!is_known(&world, &first).await);
        // Its code and its tokens keep it as well.
        world.pair_of(&credentials(&second)).await;
        register(&world, public()).await;
        register(&world, public()).await;
        assert!(is_known(&world, &second).await);
    }
}

/// 7591-5-07
#[tokio::test]
async fn the_client_longest_without_a_live_grant_gives_way_to_an_approved_one() {
    let (world, clients, users) = full_world().await;
    let fifth = register(&world, public()).await;
    let ticket = asked(&world, &fifth, &users[4]).await;
    let full = approved(&world, &ticket, &users[4]).await;
    red_by_link(&full, 503, "temporarily_unavailable");
    assert!(is_known(&world, &fifth).await, "the user may try again");
    for client in &clients {
        assert!(is_known(&world, client).await);
    }
    // The grants of the first two have ended.
    world.advance(178 * DAY + 601);
    let sixth = used_by(&world, &users[4]).await;
    let known = [&clients[0], &clients[1], &clients[2], &clients[3], &sixth].map(|client| is_known(&world, client));
    assert_eq!(futures::future::join_all(known).await, [false, true, true, true, true]);
}

/// 7591-5-07
#[tokio::test]
async fn a_client_stays_while_a_page_is_open_though_its_grant_ends() {
    let (world, clients, users) = full_world().await;
    // The first client counts as used until a minute from now.
    world.advance(177 * DAY + 540);
    asked(&world, &clients[0], &users[0]).await;
    world.advance(120);
    let fifth = register(&world, public()).await;
    let ticket = asked(&world, &fifth, &users[4]).await;
    red_by_link(&approved(&world, &ticket, &users[4]).await, 503, "temporarily_unavailable");
    assert!(is_known(&world, &clients[0]).await);
    // The page has expired.
    world.advance(1800);
    used_by(&world, &users[4]).await;
    assert!(!is_known(&world, &clients[0]).await);
}

/// 7591-5-07
#[tokio::test]
async fn no_client_gives_way_to_an_approval_that_was_not_written() {
    for at in 0.. {
        let (world, clients, users) = full_world().await;
        // The grants of all four have ended.
        world.advance(182 * DAY);
        let fifth = register(&world, public()).await;
        let ticket = asked(&world, &fifth, &users[4]).await;
        let script = Calls::outage(at, Fate::FailsBefore(Failure::Transient));
        let answer = approved(&scripted(&world, script.clone()), &ticket, &users[4]).await;
        let mut known = 0;
        for client in &clients {
            known += usize::from(is_known(&world, client).await);
        }
        let registrar = world.server.registrar().unwrap();
        let approved = registrar.list(&ApplicationFilter::FirstApprovedBy(users[4].clone()), Page::first(9)).await;
        let is_noted = approved.unwrap().iter().any(|application| *application.id() == id(&fifth));
        assert!(known == 4 || is_noted, "a failure of {:?} costs a client its place", script.met());
        if script.met().is_none() {
            code(&answer);
            assert_eq!(known, 3);
            break;
        }
    }
}

/// 7591-5-07
#[tokio::test]
async fn a_client_stays_while_access_tokens_live_longer_than_refresh_tokens() {
    for is_refreshed in [false, true] {
        let mut config = open(Profile::Mcp);
        // Four of them are for clients that a user approved.
        config.limits.unreviewed_clients = 10;
        config.tokens.refresh_lifetime = Duration::from_secs(200 * DAY);
        config.tokens.access_lifetime = Duration::from_secs(300 * DAY);
        let world = world_with(config, bounds()).await;
        let mut clients = Vec::new();
        for name in ["b", "c", "d", "e"] {
            let (client, user) = (register(&world, public()).await, Subject::new(name).unwrap());
            let ticket = asked(&world, &client, &user).await;
            let code = text(&code(&approved(&world, &ticket, &user).await), "code");
            // The approval alone is enough: the exchange cannot write the date again.
            let script = every("applications.replace", Fate::FailsBefore(Failure::Transient));
            let token = pair(&scripted(&world, script).exchange_as(&credentials(&client), &code).await);
            clients.push((client, token));
        }
        world.advance(150 * DAY);
        if is_refreshed {
            for (client, token) in &clients {
                pair(&world.refresh_as(&credentials(client), &token.refresh).await);
            }
            world.advance(150 * DAY);
        }
        world.advance(100 * DAY);
        let (fifth, user) = (register(&world, public()).await, Subject::new("f").unwrap());
        let ticket = asked(&world, &fifth, &user).await;
        red_by_link(&approved(&world, &ticket, &user).await, 503, "temporarily_unavailable");
        for (client, _) in &clients {
            assert!(is_known(&world, client).await, "{is_refreshed}");
        }
    }
}

/// NEG-OC-06, 7591-5-07
#[tokio::test]
async fn a_flood_of_registrations_is_bounded_and_locks_nobody_out() {
    let world = with_places(100).await;
    let honest = register(&world, public()).await;
    let token = world.pair_of(&credentials(&honest)).await;
    // Its tokens and the time for which it counts as used have ended: it is idle.
    world.advance(200 * DAY);
    let (bob, waiting) = (Subject::new("bob").unwrap(), register(&world, public()).await);
    let ticket = asked(&world, &waiting, &bob).await;
    for _ in 0..200 {
        register(&world, public()).await;
    }
    assert!(unreviewed(&world).await.len() <= 11);
    let late = register(&world, public()).await;
    world.pair_of(&credentials(&late)).await;
    code(&approved(&world, &ticket, &bob).await);
    assert!(is_known(&world, &honest).await && !world.opens(&token.access).await);
    // Evicted clients are removed by the next purge.
    purge(&world).await;
    let all = world.server.registrar().unwrap().list(&ApplicationFilter::All, Page::first(1000)).await.unwrap();
    assert!(all.len() <= 14, "{}", all.len());
}

/// 7591-5-07
#[tokio::test]
async fn one_account_that_approves_its_own_clients_locks_nobody_out() {
    let world = with_places(1000).await;
    let (mallory, bob) = (Subject::new("mallory").unwrap(), Subject::new("bob").unwrap());
    let idle = used_by(&world, &bob).await;
    world.advance(200 * DAY);
    let shared = used_by(&world, &mallory).await;
    let ticket = asked(&world, &shared, &bob).await;
    code(&approved(&world, &ticket, &bob).await);
    let oldest = used_by(&world, &mallory).await;
    let mut newest = Vec::new();
    // A week.
    for number in 0..500 {
        world.advance(1200);
        newest.push(used_by(&world, &mallory).await);
        if number % 100 == 0 {
            let other = Subject::new(format!("other-{number}")).unwrap();
            let client = used_by(&world, &other).await;
            assert!(is_known(&world, &client).await);
        }
    }
    let filter = ApplicationFilter::FirstApprovedBy(mallory);
    let own = world.server.registrar().unwrap().list(&filter, Page::first(1000)).await.unwrap();
    assert_eq!(own.len(), 50);
    assert!(!is_known(&world, &oldest).await && !is_known(&world, &newest[450]).await);
    assert!(is_known(&world, &newest[451]).await && is_known(&world, &newest[499]).await);
    assert!(is_known(&world, &idle).await, "it keeps its id for half a year");
    assert!(is_known(&world, &shared).await, "bob uses it as well");
    assert!(evicted(&world));
}

/// 7591-5-07
#[tokio::test]
async fn an_account_at_its_bound_takes_the_place_of_its_own_client() {
    // 52 of them are for clients that a user approved.
    let world = with_places(130).await;
    let (mallory, bob) = (Subject::new("mallory").unwrap(), Subject::new("bob").unwrap());
    let idle = [used_by(&world, &bob).await, used_by(&world, &bob).await];
    let own = ApplicationFilter::FirstApprovedBy(mallory.clone());
    let registrar = world.server.registrar().unwrap();
    // While all are in use, nobody gives way, and the last free places are not found each time.
    while registrar.list(&own, Page::first(100)).await.unwrap().len() < 50 {
        world.advance(1);
        let client = register(&world, public()).await;
        let ticket = asked(&world, &client, &mallory).await;
        approved(&world, &ticket, &mallory).await;
    }
    // All are idle, and those of bob are the oldest.
    world.advance(200 * DAY);
    for _ in 0..100 {
        used_by(&world, &mallory).await;
    }
    assert!(is_known(&world, &idle[0]).await && is_known(&world, &idle[1]).await);
}

/// 7591-5-07
#[tokio::test]
async fn no_other_user_ends_the_wait_of_a_client() {
    // One of them is for clients that no user approved.
    let world = with_places(10).await;
    let (mallory, bob) = (Subject::new("mallory").unwrap(), Subject::new("bob").unwrap());
    let client = register(&world, public()).await;
    let ticket = asked(&world, &client, &bob).await;
    for _ in 0..9 {
        let own = asked(&world, &client, &mallory).await;
        world.server.decide(&own, &mallory, SESSION, &Decision::Deny).await.unwrap();
    }
    refused(&post(&world, public().to_string()).await, 503, "temporarily_unavailable");
    code(&approved(&world, &ticket, &bob).await);
}

/// 7591-5-07
#[tokio::test]
async fn a_client_of_another_user_stays_while_a_user_is_asked() {
    let world = with_places(1000).await;
    let (mallory, bob) = (Subject::new("mallory").unwrap(), Subject::new("bob").unwrap());
    let client = used_by(&world, &mallory).await;
    world.advance(1);
    let ticket = asked(&world, &client, &bob).await;
    for _ in 0..60 {
        used_by(&world, &mallory).await;
    }
    code(&approved(&world, &ticket, &bob).await);
}

/// 7591-5-07
#[tokio::test]
async fn whoever_revives_an_idle_client_counts_as_the_first_to_approve_it() {
    let world = with_places(1000).await;
    let (mallory, bob) = (Subject::new("mallory").unwrap(), Subject::new("bob").unwrap());
    let mut idle = Vec::new();
    for _ in 0..60 {
        let user = Subject::new(format!("user-{}", idle.len())).unwrap();
        idle.push(used_by(&world, &user).await);
    }
    let live = used_by(&world, &bob).await;
    world.advance(182 * DAY);
    let ticket = asked(&world, &live, &bob).await;
    code(&approved(&world, &ticket, &bob).await);
    for client in idle.iter().chain([&live]) {
        let ticket = asked(&world, client, &mallory).await;
        code(&approved(&world, &ticket, &mallory).await);
        world.advance(1);
    }
    let of = async |user| {
        let filter = ApplicationFilter::FirstApprovedBy(user);
        world.server.registrar().unwrap().list(&filter, Page::first(1000)).await.unwrap().len()
    };
    assert_eq!((of(mallory).await, of(bob).await), (50, 1));
    assert!(is_known(&world, &live).await);
}

/// 7591-5-07
#[tokio::test]
async fn one_account_that_opens_many_pages_keeps_fifty_places() {
    // A hundredth of the default, and so many pages too.
    let world = with_places(1000).await;
    let (mallory, bob) = (Subject::new("mallory").unwrap(), Subject::new("bob").unwrap());
    let mut opened = Vec::new();
    for _ in 0..200 {
        let client = register(&world, public()).await;
        asked(&world, &client, &mallory).await;
        opened.push(id(&client).to_string());
        world.advance(1);
    }
    for _ in 0..300 {
        register(&world, public()).await;
    }
    let there = unreviewed(&world).await;
    let kept: Vec<_> = opened.iter().filter(|client| there.contains(*client)).collect();
    assert_eq!(kept.len(), 50);
    used_by(&world, &bob).await;
}

/// 7591-5-07
#[tokio::test]
async fn registrations_at_once_exceed_the_places_by_no_more_than_themselves() {
    let world = with_places(20).await;
    let at_once = (0..6).map(|_| register(&world, public()));
    futures::future::join_all(at_once).await;
    // Enough that each of the two places is drawn.
    for _ in 0..20 {
        register(&world, public()).await;
    }
    assert!(unreviewed(&world).await.len() <= 2, "{:?}", unreviewed(&world).await);
}

async fn from(world: &World, peer: &str, body: &str) -> Response {
    let request = Request::new("POST").header("Content-Type", b"application/json").body(Body::Bytes(body.as_bytes()));
    world.server.serve(Endpoint::Registration, &request.peer(peer.parse().unwrap())).await
}

/// 7591-5-05
///
/// A page that a person has open registers as many clients as it may. The person's editor still registers.
#[tokio::test]
async fn a_page_uses_up_no_registration_of_its_visitors_programs() {
    let world = World::built(open(Profile::Mcp), |builder| {
        builder.registration_policy(ApproveWithin::new(bounds())).throttle(MemoryThrottle::new())
    });
    let (world, metadata) = (world.await, public().to_string());
    for origin in ["https://evil.example", "null"] {
        for _ in 0..21 {
            let request = Request::new("POST")
                .header("Content-Type", b"text/plain")
                .header("Origin", origin.as_bytes())
                .body(Body::Bytes(metadata.as_bytes()))
                .peer("192.0.2.9".parse().unwrap());
            world.server.serve(Endpoint::Registration, &request).await;
        }
    }
    for _ in 0..20 {
        created(&from(&world, "192.0.2.9", &metadata).await);
    }
    assert_eq!(from(&world, "192.0.2.9", &metadata).await.status(), 429);
}

/// 7591-5-05
#[tokio::test]
async fn registrations_of_wider_networks_are_bounded() {
    let world = World::built(open(Profile::Mcp), |builder| {
        builder.registration_policy(ApproveWithin::new(bounds())).throttle(MemoryThrottle::new())
    });
    let world = world.await;
    let accepted = async |peers: &mut dyn Iterator<Item = String>| {
        let mut accepted = 0;
        for peer in peers {
            accepted += u32::from(from(&world, &peer, "[").await.status() == 400);
        }
        accepted
    };
    let of_56 = accepted(&mut (0..80).map(|number| format!("2001:db8:1:{number:x}::1"))).await;
    let of_48 = accepted(&mut (0..400).map(|number| format!("2001:db8:1:{:x}::1", 0x100 + (number << 4)))).await;
    // The clock of the throttle goes on while they are sent.
    assert!((40..=41).contains(&of_56) && (200..=202).contains(&(of_56 + of_48)), "{of_56} {of_48}");
    assert_eq!(accepted(&mut ["2001:db8:2::1".to_owned()].into_iter()).await, 1);
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
