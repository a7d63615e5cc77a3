//! The throttle that counts in memory.

use std::net::IpAddr;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::future::join_all;
use grantor::hooks::{
    Attempt, AttemptKind, Credential, PresentedSecret, Rate, Throttle, ThrottleDecision, ThrottleLimits,
};
use grantor::testing::ManualClock;
use grantor::wire::{Body, Endpoint, Request, Response};
use grantor::{AuthorizationError, MemoryThrottle, Subject, Timestamp};

use support::intercepted::over_with;
use support::intercepted::scripts::Calls;
use support::world::{Credentials, FORM, START, World, e400, e401, error_body, public_form};

const HERE: &str = "192.0.2.1";
const ELSEWHERE: &str = "198.51.100.1";
const YEAR: u32 = 365 * 24 * 60 * 60;

/// A server with the throttle, on a store that counts.
struct Scene {
    world: World,
    throttle: MemoryThrottle,
    calls: Calls,
}

async fn scene() -> Scene {
    let world = World::platform().await;
    let calls = Calls::recorded().with_settled_reads(true);
    let throttle = MemoryThrottle::new().with_clock(world.clock.clone());
    let world = over_with(&world, calls.clone(), |builder| builder.throttle(throttle.clone()));
    world.events.take();
    Scene { world, throttle, calls }
}

impl Scene {
    async fn post(&self, endpoint: Endpoint, body: &str, client: &Credentials, peer: Option<&str>) -> Response {
        let basic = format!("Basic {}", STANDARD.encode(format!("{}:{}", client.id, client.secret)));
        let request = Request::new("POST")
            .header("Content-Type", FORM.as_bytes())
            .header("Authorization", basic.as_bytes())
            .body(Body::Bytes(body.as_bytes()));
        let request = match peer {
            Some(peer) => request.peer(peer.parse().unwrap()),
            None => request,
        };
        self.world.server.serve(endpoint, &request).await
    }

    /// Sends a request that authenticates the client; its refresh token is invalid.
    async fn ask(&self, client: &Credentials, peer: &str) -> Response {
        self.post(Endpoint::Token, "grant_type=refresh_token&refresh_token=x", client, Some(peer)).await
    }

    fn guess(&self) -> Credentials {
        Credentials { secret: "wrong".to_owned(), ..self.world.client.clone() }
    }

    /// Sends wrong secrets until another one is throttled.
    async fn exhaust(&self, peer: &str) {
        for _ in 0..10 {
            e401(&self.ask(&self.guess(), peer).await, "invalid_client");
        }
        too_many(&self.ask(&self.guess(), peer).await, 6);
    }

    async fn hold(&self, subject: &Subject, peer: Option<&str>) -> Result<(), AuthorizationError> {
        let query = self.world.query(&[]);
        let request = Request::new("GET").query(query.as_bytes());
        let request = match peer {
            Some(peer) => request.peer(peer.parse().unwrap()),
            None => request,
        };
        let pending = self.world.server.authorize(&request).await?;
        self.world.server.hold(&pending, subject, b"session").await.map(drop)
    }

    /// Returns the calls to the store since the last time.
    fn calls(&self) -> Vec<&'static str> {
        self.calls.take()
    }
}

#[track_caller]
fn too_many(response: &Response, seconds: u32) {
    assert_eq!(response.status(), 429);
    assert_eq!(response.header("Retry-After"), Some(&*seconds.to_string()));
    error_body(response, "temporarily_unavailable");
}

/// Asserts that the secret was accepted and the token was not.
#[track_caller]
fn proven(response: &Response) {
    e400(response, "invalid_grant");
}

/// LIM-03
///
/// Wrong secrets are counted by client and network together, never by client alone.
#[tokio::test]
async fn guessing_slows_one_network_alone() {
    let scene = scene().await;
    let client = &scene.world.client;
    scene.exhaust(HERE).await;
    too_many(&scene.ask(client, HERE).await, 6);
    let other = scene.world.register(support::world::form()).await;
    proven(&scene.ask(&other, HERE).await);
    // One more failure is allowed every six seconds.
    scene.world.advance(6);
    e401(&scene.ask(&scene.guess(), HERE).await, "invalid_client");
    too_many(&scene.ask(client, HERE).await, 6);
    proven(&scene.ask(client, ELSEWHERE).await);
}

/// LIM-03
///
/// A secret that was right passes for an hour, and no longer after it was wrong.
#[tokio::test]
async fn a_secret_that_was_right_passes_for_an_hour() {
    let scene = scene().await;
    let client = &scene.world.client;
    proven(&scene.ask(client, ELSEWHERE).await);
    scene.exhaust(HERE).await;
    proven(&scene.ask(client, HERE).await);
    scene.world.advance(3599);
    scene.exhaust(HERE).await;
    proven(&scene.ask(client, HERE).await);
    scene.world.advance(3600);
    scene.exhaust(HERE).await;
    too_many(&scene.ask(client, HERE).await, 6);
    // A secret that was replaced counts like any other wrong one.
    let throttle = MemoryThrottle::new().with_clock(scene.world.clock.clone());
    let replaced = wrong(Some("client"), HERE);
    throttle.succeeded(&replaced).await;
    for _ in 0..10 {
        assert_eq!(throttle.check(&replaced).await, ThrottleDecision::Allow);
        throttle.failed(&replaced).await;
    }
    assert!(matches!(throttle.check(&replaced).await, ThrottleDecision::Refuse { .. }));
}

/// LIM-03
///
/// One open page sends 20 forms a second for a minute. The others of its network hardly notice it, whatever it sends.
#[tokio::test]
async fn a_page_that_sends_forms_locks_nobody_of_its_network_out() {
    for form in
        ["client_id=CLIENT&client_secret=wrong", "client_id=PUBLIC", "client_id=nobody", "client_assertion=x", ""]
    {
        let scene = scene().await;
        let public = scene.world.register(public_form()).await;
        let (client, other) = (&scene.world.client, scene.world.register(support::world::form()).await);
        proven(&scene.ask(client, HERE).await);
        let form = form.replace("CLIENT", &client.id).replace("PUBLIC", &public.id);
        let form = format!("grant_type=refresh_token&refresh_token=x&{form}");
        let hostile = Request::new("POST").header("Content-Type", FORM.as_bytes());
        let hostile = hostile.body(Body::Bytes(form.as_bytes())).peer(HERE.parse().unwrap());
        let (mut good, mut refused) = (0, 0);
        for _ in 0..60 {
            for _ in 0..20 {
                scene.world.server.serve(Endpoint::Token, &hostile).await;
                scene.world.server.serve(Endpoint::Revocation, &hostile).await;
            }
            for honest in [client, &public, &public, client, &other] {
                for endpoint in [Endpoint::Token, Endpoint::Revocation] {
                    let body = "grant_type=refresh_token&refresh_token=x&token=x";
                    let answer = scene.post(endpoint, body, honest, Some(HERE)).await;
                    good += 1;
                    refused += u32::from(answer.status() == 429);
                }
            }
            scene.world.advance(1);
        }
        assert!(refused * 100 <= good, "{form}: {refused} of {good}");
    }
}

/// LIM-03
///
/// A page of another origin guesses in the network of its visitor. That locks out no client there.
#[tokio::test]
async fn the_guesses_of_a_page_count_apart() {
    let scene = scene().await;
    let client = &scene.world.client;
    let form = format!("grant_type=refresh_token&refresh_token=x&client_id={}&client_secret=wrong", client.id);
    let page = Request::new("POST").header("Content-Type", FORM.as_bytes()).header("Origin", b"https://evil.example");
    let page = page.body(Body::Bytes(form.as_bytes())).peer(HERE.parse().unwrap());
    let mut refused = 0;
    for _ in 0..20 {
        refused += u32::from(scene.world.server.serve(Endpoint::Token, &page).await.status() == 429);
    }
    assert_eq!(refused, 10, "the page itself is refused");
    proven(&scene.ask(client, HERE).await);
}

/// LIM-03, CVE-2026-45364
#[tokio::test]
async fn addresses_of_one_host_count_as_one() {
    let scene = scene().await;
    for number in 0..10 {
        let peer = format!("2001:db8:1:2:{number:x}::1");
        e401(&scene.ask(&scene.guess(), &peer).await, "invalid_client");
    }
    too_many(&scene.ask(&scene.guess(), "2001:db8:1:2:ffff::1").await, 6);
    e401(&scene.ask(&scene.guess(), "2001:db8:1:3::1").await, "invalid_client");
}

/// LIM-03
///
/// Each request without a right secret uses up a token, except those of public clients with a code or token. A client
/// that authenticates gets it back.
#[tokio::test]
async fn a_network_has_four_hundred_requests_at_once() {
    let scene = scene().await;
    let public = scene.world.register(public_form()).await;
    let introspection = "token=x";
    for _ in 0..1000 {
        let answer = scene.post(Endpoint::Introspection, introspection, &scene.world.client, Some(HERE)).await;
        assert_eq!(answer.status(), 200);
    }
    let other = scene.world.register(support::world::form()).await;
    let unnamed = || scene.post(Endpoint::Introspection, introspection, &public, Some(HERE));
    let answers = join_all((0..401).map(|_| unnamed())).await;
    let refused: Vec<_> = answers.iter().filter(|answer| answer.status() == 429).collect();
    assert_eq!(refused.len(), 1);
    too_many(refused[0], 1);
    too_many(&scene.ask(&other, HERE).await, 1);
    proven(&scene.ask(&other, ELSEWHERE).await);
    for passes in [&other, &public, &scene.world.client] {
        proven(&scene.ask(passes, HERE).await);
    }
    // A second allows forty more.
    scene.world.advance(1);
    let answers = join_all((0..50).map(|_| unnamed())).await;
    assert_eq!(answers.iter().filter(|answer| answer.status() == 429).count(), 10);
}

/// LIM-03
///
/// Ids that name no client are refused at the rate of their network, and cause no event each. The public clients beside
/// them pass.
#[tokio::test]
async fn ids_of_no_client_are_counted_once_they_were_looked_up() {
    for endpoint in [Endpoint::Token, Endpoint::Revocation] {
        let scene = scene().await;
        let public = scene.world.register(public_form()).await;
        scene.world.events.take();
        let nobody = Credentials { id: "nobody".to_owned(), secret: String::new() };
        let body = "grant_type=refresh_token&refresh_token=x&token=x";
        for _ in 0..400 {
            assert_eq!(scene.post(endpoint, body, &nobody, Some(HERE)).await.status(), 401);
        }
        assert_eq!(scene.world.events.take().len(), 400);
        for _ in 0..10 {
            too_many(&scene.post(endpoint, body, &nobody, Some(HERE)).await, 1);
        }
        let events = scene.world.events.take();
        assert!(events.len() == 10 && events.iter().all(|event| event.starts_with("Throttled")), "{events:?}");
        for _ in 0..500 {
            assert_ne!(scene.post(endpoint, body, &public, Some(HERE)).await.status(), 429);
        }
        assert_eq!(scene.post(endpoint, body, &nobody, Some(ELSEWHERE)).await.status(), 401);
    }
}

/// LIM-03
///
/// A header that can be read in two ways holds two guesses, and counts as two.
#[tokio::test]
async fn a_secret_with_two_readings_is_two_guesses() {
    let scene = scene().await;
    let encoded = Credentials { secret: "wr%6Fng".to_owned(), ..scene.world.client.clone() };
    for _ in 0..5 {
        e401(&scene.ask(&encoded, HERE).await, "invalid_client");
    }
    too_many(&scene.ask(&encoded, HERE).await, 6);
    too_many(&scene.ask(&scene.guess(), HERE).await, 6);
    // Another id in the second reading is another client, which is asked about first.
    let id = scene.world.client.id.clone();
    let (dummy, client) = (format!("%{:02X}{}", id.as_bytes()[0], &id[1..]), id);
    assert_eq!(scene.ask(&Credentials { id: dummy, secret: "wrong".to_owned() }, HERE).await.status(), 429);
    // The right secret in its likelier reading counts as none.
    let right = Credentials { id: client, ..scene.world.client.clone() };
    for _ in 0..20 {
        proven(&scene.ask(&right, ELSEWHERE).await);
    }
}

/// LIM-03
///
/// If several attempts were allowed at once, all their failures count.
#[tokio::test]
async fn guesses_sent_at_once_owe_what_they_took() {
    let clock = ManualClock::new(Timestamp::from_seconds(START));
    let throttle = MemoryThrottle::new().with_clock(clock.clone());
    let attempt = wrong(Some("client"), HERE);
    for _ in 0..50 {
        assert_eq!(throttle.check(&attempt).await, ThrottleDecision::Allow);
    }
    for _ in 0..50 {
        throttle.failed(&attempt).await;
    }
    let until_the_next = Duration::from_secs(41 * 6);
    assert_eq!(throttle.check(&attempt).await, ThrottleDecision::Refuse { retry_after: until_the_next });
    clock.advance(until_the_next - Duration::from_secs(1));
    assert_eq!(throttle.check(&attempt).await, ThrottleDecision::Refuse { retry_after: Duration::from_secs(1) });
    clock.advance(Duration::from_secs(1));
    assert_eq!(throttle.check(&attempt).await, ThrottleDecision::Allow);
}

/// LIM-03
#[tokio::test]
async fn a_user_has_twenty_held_requests_at_once() {
    let scene = scene().await;
    let (alice, bob) = (scene.world.alice.clone(), Subject::new("bob").unwrap());
    for number in 0..20 {
        // From any address.
        scene.hold(&alice, Some(&format!("192.0.2.{number}"))).await.unwrap();
    }
    scene.calls();
    let refused = scene.hold(&alice, Some(ELSEWHERE)).await.unwrap_err().response(Some(&alice));
    assert_eq!((refused.status(), refused.header("Retry-After")), (429, Some("10")));
    assert_eq!(scene.calls(), ["clients.find"], "the request was checked, and not held");
    scene.hold(&bob, Some(HERE)).await.unwrap();
    scene.world.advance(9);
    assert!(scene.hold(&alice, Some(HERE)).await.is_err());
    scene.world.advance(1);
    scene.hold(&alice, Some(HERE)).await.unwrap();
    assert!(scene.hold(&alice, Some(HERE)).await.is_err());
}

/// LIM-04
///
/// A client that retries every second is served as early as one that waits as asked.
#[tokio::test]
async fn a_refused_attempt_takes_nothing() {
    for is_patient in [false, true] {
        let scene = scene().await;
        scene.exhaust(HERE).await;
        scene.calls();
        for seconds in (1..=6).rev() {
            if !is_patient {
                too_many(&scene.ask(&scene.world.client, HERE).await, seconds);
                too_many(&scene.ask(&scene.guess(), HERE).await, seconds);
            }
            scene.world.advance(1);
        }
        assert_eq!(scene.calls(), Vec::<&str>::new());
        proven(&scene.ask(&scene.world.client, HERE).await);
        assert_eq!(scene.calls(), ["clients.find"]);
        assert_eq!(scene.world.events.take().iter().filter(|event| event.starts_with("Throttled")).count(), {
            if is_patient { 1 } else { 13 }
        });
    }
}

/// LIM-04
#[tokio::test]
async fn a_wait_is_one_second_to_one_hour() {
    for (rate, wait) in [
        (Rate::new(1, Duration::from_millis(1)), 1),
        (Rate::new(3, Duration::from_millis(1500)), 2),
        (Rate::new(1, Duration::MAX), 3600),
    ] {
        let mut limits = ThrottleLimits::default();
        limits.consent_requests = rate;
        let clock = ManualClock::new(Timestamp::from_seconds(START));
        let throttle = MemoryThrottle::with_limits(limits).with_clock(clock.clone());
        let alice = Subject::new("alice").unwrap();
        let mut attempt = Attempt::new(AttemptKind::ConsentRequest, Endpoint::Authorization);
        attempt.subject = Some(&alice);
        let retry_after = loop {
            if let ThrottleDecision::Refuse { retry_after } = throttle.check(&attempt).await {
                break retry_after;
            }
        };
        assert_eq!(retry_after, Duration::from_secs(wait));
        clock.advance(retry_after - Duration::from_secs(1));
        assert!(matches!(throttle.check(&attempt).await, ThrottleDecision::Refuse { .. }));
        clock.advance(Duration::from_secs(1));
        assert_eq!(throttle.check(&attempt).await, ThrottleDecision::Allow);
    }
}

/// LIM-05
///
/// The flood arrives while client and network are throttled. Its use of memory is measured in `tests/limits`.
#[tokio::test]
async fn a_flood_of_names_frees_no_one() {
    let scene = scene().await;
    scene.exhaust(HERE).await;
    for number in 0..200_000_u32 {
        let peer = IpAddr::from(number.to_be_bytes());
        let name = number.to_string();
        let mut attacker = Attempt::new(AttemptKind::Authentication, Endpoint::Token);
        (attacker.client, attacker.peer) = (Some(&*name), Some(peer));
        attacker.credential = Credential::Secret(PresentedSecret::of(b"wrong"));
        assert_eq!(scene.throttle.check(&attacker).await, ThrottleDecision::Allow);
        scene.throttle.failed(&attacker).await;
    }
    too_many(&scene.ask(&scene.world.client, HERE).await, 6);
    let shown = format!("{:?}", scene.throttle);
    assert!(!shown.contains(HERE) && shown.len() < 100, "{shown}");
}

/// LIM-06
#[tokio::test]
async fn a_clock_that_is_set_brings_no_more_than_a_burst() {
    let scene = scene().await;
    let clock = &scene.world.clock;
    scene.exhaust(HERE).await;
    clock.set(Timestamp::from_seconds(START - 3600));
    too_many(&scene.ask(&scene.world.client, HERE).await, 6);
    scene.world.advance(5);
    too_many(&scene.ask(&scene.world.client, HERE).await, 1);
    scene.world.advance(1);
    proven(&scene.ask(&scene.world.client, HERE).await);
    clock.set(Timestamp::from_seconds(START + YEAR));
    scene.exhaust(HERE).await;
    clock.set(Timestamp::from_seconds(START));
    too_many(&scene.ask(&scene.world.client, HERE).await, 6);
}

/// LIM-06
///
/// Without an address, clients cannot be distinguished, so none of them is counted. Users still are.
#[tokio::test]
async fn without_addresses_users_alone_are_counted() {
    let scene = scene().await;
    let ask = |client| scene.post(Endpoint::Token, "grant_type=refresh_token&refresh_token=x", client, None);
    let guess = scene.guess();
    for _ in 0..1000 {
        e401(&ask(&guess).await, "invalid_client");
    }
    proven(&ask(&scene.world.client).await);
    let alice = scene.world.alice.clone();
    for _ in 0..20 {
        scene.hold(&alice, None).await.unwrap();
    }
    assert!(scene.hold(&alice, None).await.is_err());
    let events = scene.world.events.take();
    let missing: Vec<_> = events.iter().filter(|event| event.starts_with("PeerAddressMissing")).collect();
    assert_eq!(missing, ["PeerAddressMissing { endpoint: Token }"]);
}

/// LIM-06
#[tokio::test]
async fn the_loopback_is_exempt_where_it_is_told_to_be() {
    for (throttle, is_exempt) in [(MemoryThrottle::new(), false), (MemoryThrottle::new().exempt_loopback(), true)] {
        let alice = Subject::new("alice").unwrap();
        for peer in ["127.0.0.1", "::1", "::ffff:127.0.0.2"] {
            let mut held = attempt(AttemptKind::ConsentRequest, None, peer);
            held.subject = Some(&alice);
            let mut decision = ThrottleDecision::Allow;
            for _ in 0..1000 {
                decision = throttle.check(&held).await;
                throttle.failed(&held).await;
            }
            assert_eq!(decision == ThrottleDecision::Allow, is_exempt, "{peer}");
        }
        let failing = wrong(Some("client"), HERE);
        for _ in 0..10 {
            throttle.failed(&failing).await;
        }
        assert!(matches!(throttle.check(&failing).await, ThrottleDecision::Refuse { .. }));
    }
}

fn wrong<'a>(client: Option<&'a str>, peer: &str) -> Attempt<'a> {
    let mut attempt = attempt(AttemptKind::Authentication, client, peer);
    attempt.credential = Credential::Secret(PresentedSecret::of(b"wrong"));
    attempt
}

fn attempt<'a>(kind: AttemptKind, client: Option<&'a str>, peer: &str) -> Attempt<'a> {
    let mut attempt = Attempt::new(kind, Endpoint::Token);
    (attempt.client, attempt.peer) = (client, Some(peer.parse().unwrap()));
    attempt
}
