//! What your service can throttle and refuse.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use grantor::config::Profile;
use grantor::hooks::{Attempt, SubjectStatus, Subjects, Throttle, ThrottleDecision};
use grantor::store::Stores;
use grantor::wire::{Endpoint, Request, Response};
use grantor::{Client, Config, Consent, Decision, Subject};

use support::intercepted::Intercepted;
use support::intercepted::scripts::Yielding;
use support::world::{
    ISSUER, PKCE, Pair, SESSION, World, code, config_of, e400, e401, empty, error_body, ok, pair, r401, red, text,
};

/// Refuses after a number of failures of one client from one network, and records what it was asked.
#[derive(Clone, Debug, Default)]
struct Limit(Arc<Mutex<Asked>>);

#[derive(Debug, Default)]
struct Asked {
    checks: Vec<String>,
    failures: Vec<String>,
    limit: Option<usize>,
    wait: Option<Duration>,
}

impl Limit {
    fn set(&self, limit: usize, wait: Duration) {
        *self.0.lock().unwrap() = Asked { limit: Some(limit), wait: Some(wait), ..Asked::default() };
    }

    fn take(&self) -> (Vec<String>, Vec<String>) {
        let mut asked = self.0.lock().unwrap();
        (std::mem::take(&mut asked.checks), std::mem::take(&mut asked.failures))
    }
}

fn described(attempt: &Attempt<'_>) -> String {
    let Attempt { endpoint, client, subject, .. } = attempt;
    format!("{endpoint:?} {} {subject:?} {:?}", client.unwrap_or("-"), attempt.peer_network())
}

#[async_trait]
impl Throttle for Limit {
    async fn check(&self, attempt: &Attempt<'_>) -> ThrottleDecision {
        let mut asked = self.0.lock().unwrap();
        let key = described(attempt);
        let failures = asked.failures.iter().filter(|failure| **failure == key).count();
        asked.checks.push(key);
        match (asked.limit, asked.wait) {
            (Some(limit), Some(retry_after)) if failures >= limit => ThrottleDecision::Refuse { retry_after },
            _ => ThrottleDecision::Allow,
        }
    }

    async fn failed(&self, attempt: &Attempt<'_>) {
        self.0.lock().unwrap().failures.push(described(attempt));
    }
}

async fn throttled_world() -> (World, Limit) {
    let limit = Limit::default();
    let world = World::built(Config::platform(ISSUER), |builder| builder.throttle(limit.clone()));
    (world.await, limit)
}

#[track_caller]
fn too_many(response: &Response, retry_after: &str) {
    assert_eq!(response.status(), 429);
    assert_eq!(response.header("Retry-After"), Some(retry_after));
    assert_eq!(response.header("Cache-Control"), Some("no-store"));
    assert_eq!(response.header("Location"), None);
}

/// 6749-2.3.1-06, 7009-5-01, 7662-4-01
#[tokio::test]
async fn many_wrong_secrets_are_slowed_down() {
    let (world, limit) = throttled_world().await;
    let other = world.register(support::world::form()).await;
    for endpoint in [Endpoint::Token, Endpoint::Revocation, Endpoint::Introspection] {
        limit.set(5, Duration::from_secs(30));
        let call = || world.post(endpoint, &[("grant_type", "refresh_token"), ("token", "x")]);
        for _ in 0..5 {
            let response = call().basic(&world.client.id, "wrong").send().await;
            if endpoint == Endpoint::Revocation { r401(&response) } else { e401(&response, "invalid_client") }
        }
        world.events.take();
        for secret in ["wrong", &world.client.secret] {
            let response = call().basic(&world.client.id, secret).send().await;
            too_many(&response, "30");
            error_body(&response, "temporarily_unavailable");
            assert!(world.events.saw("Throttled"));
        }
        // Another client from there is not throttled.
        let response = call().client(&other).send().await;
        assert!(response.status() < 429, "{}", response.status());
        let (checks, failures) = limit.take();
        assert_eq!((checks.len(), failures.len()), (8, 5), "a refused attempt is no failure");
    }
}

/// 6749-2.3.1-06
#[tokio::test]
async fn the_throttle_is_asked_before_authentication_and_reported_of_its_failures_alone() {
    let (world, limit) = throttled_world().await;
    limit.set(usize::MAX, Duration::ZERO);
    let id = world.client.id.as_str();
    let asked = |client: &str| vec![format!("Token {client} None Some(192.0.2.1)")];
    let call = || world.token(&[("grant_type", "refresh_token")]);
    for (case, call, claimed, failed) in [
        ("right", call().client(&world.client), id, false),
        ("wrong secret", call().basic(id, "wrong"), id, true),
        ("wrong secret in the form", call().field("client_id", id).field("client_secret", "x"), id, true),
        ("unknown client", call().basic("nobody", "x"), "nobody", true),
        ("no secret", call().field("client_id", id), id, true),
        ("nobody", call(), "-", true),
        ("another scheme", call().header("Authorization", b"Bearer x"), "-", true),
        ("another scheme beside an id", call().header("Authorization", b"Bearer x").field("client_id", id), id, true),
        ("malformed", call().header("Authorization", b"Basic !"), "-", true),
    ] {
        println!("{case}");
        call.send().await;
        let (checks, failures) = limit.take();
        // An id alone may be that of a public client, which guesses nothing. It is asked about again if it is not.
        let asks = if case == "no secret" { 2 } else { 1 };
        assert_eq!(checks, vec![asked(claimed); asks].concat());
        assert_eq!(failures, if failed { asked(claimed) } else { Vec::new() });
    }
    // A malformed request is refused before the throttle is asked.
    for call in [call().raw_body("%zz"), call().method("GET"), call().client(&world.client).field("client_secret", "x")]
    {
        call.send().await;
        assert_eq!(limit.take(), (Vec::new(), Vec::new()));
    }
}

/// 6749-2.3.1-06, D-31
#[tokio::test]
async fn the_throttle_is_asked_before_a_request_is_held() {
    let (world, limit) = throttled_world().await;
    let query = world.query(&[]);
    let request = Request::new("GET").query(query.as_bytes());
    let pending = world.server.authorize(&request.peer([192, 0, 2, 1].into())).await.unwrap();
    assert_eq!(limit.take().0, Vec::<String>::new());
    limit.set(0, Duration::from_secs(2 * 60));
    world.events.take();
    let refused = world.server.hold(&pending, &world.alice, SESSION).await.unwrap_err();
    let response = refused.response(Some(&world.alice));
    too_many(&response, "120");
    assert_eq!(response.header("X-Frame-Options"), Some("DENY"));
    assert!(world.events.saw("Throttled"));
    assert_eq!(world.store.authorization_count().await, 0);
    let (checks, failures) = limit.take();
    let subject = Some(&world.alice);
    assert_eq!(
        (checks, failures),
        (vec![format!("Authorization {} {subject:?} Some(192.0.2.1)", world.client.id)], Vec::new())
    );

    limit.set(1, Duration::ZERO);
    let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    let approve = Decision::Approve(Consent::to_everything());
    code(&world.server.decide(handle.expose(), &world.alice, SESSION, &approve).await.unwrap());
}

/// 6749-2.3.1-06
#[tokio::test]
async fn the_wait_is_reported_in_whole_seconds_and_never_as_none() {
    let (world, limit) = throttled_world().await;
    for (wait, retry_after) in [
        (Duration::from_secs(1), "1"),
        (Duration::ZERO, "1"),
        (Duration::from_millis(1), "1"),
        (Duration::from_millis(1_001), "2"),
        (Duration::from_secs(60 * 60), "3600"),
        (Duration::MAX, "4294967295"),
    ] {
        limit.set(0, wait);
        too_many(&world.token(&[]).client(&world.client).send().await, retry_after);
    }
}

/// Returns the status that was set, for every user.
#[derive(Clone, Debug)]
struct Standing(Arc<Mutex<(SubjectStatus, Vec<String>)>>);

impl Standing {
    fn set(&self, status: SubjectStatus) {
        self.0.lock().unwrap().0 = status;
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().1)
    }
}

#[async_trait]
impl Subjects for Standing {
    async fn status(&self, subject: &Subject, client: &Client) -> SubjectStatus {
        let mut standing = self.0.lock().unwrap();
        standing.1.push(format!("{} {}", subject.as_str(), client.id()));
        standing.0
    }
}

async fn world_of_subjects(profile: Profile) -> (World, Standing) {
    let standing = Standing(Arc::new(Mutex::new((SubjectStatus::Active, Vec::new()))));
    let world = World::built(config_of(profile), |builder| builder.subjects(standing.clone()));
    (world.await, standing)
}

#[track_caller]
fn unavailable(response: &Response) {
    assert_eq!(response.status(), 503);
    assert_eq!(response.header("Retry-After"), Some("1"));
    assert_eq!(response.header("Cache-Control"), Some("no-store"));
    error_body(response, "temporarily_unavailable");
}

/// 6749-6-07, CVE-2023-22492, CVE-2025-64521, CVE-2026-43983, D-31, gitea #19111
///
/// A locked user's code is kept, but cannot be exchanged meanwhile.
#[tokio::test]
async fn a_user_who_may_have_no_tokens_gets_none() {
    for profile in [Profile::Platform, Profile::Strict] {
        let (world, standing) = world_of_subjects(profile).await;
        let asked = vec![format!("alice {}", world.client.id)];
        let query = world.query(&[("state", "s"), PKCE[0], PKCE[1]]);

        let handle = {
            let pending = world.authorize(&query).await.unwrap();
            world.server.hold(&pending, &world.alice, SESSION).await.unwrap()
        };
        assert_eq!(standing.asked(), Vec::<String>::new());
        standing.set(SubjectStatus::Refused);
        let approve = Decision::Approve(Consent::to_everything());
        world.events.take();
        let refused = world.server.decide(handle.expose(), &world.alice, SESSION, &approve).await.unwrap_err();
        let redirect = red(&refused.response(Some(&world.alice)), "access_denied");
        assert_eq!(text(&redirect, "state"), "s");
        assert_eq!(standing.asked(), asked);
        let events = world.events.take();
        assert!(events.iter().any(|event| event.contains("SubjectRefused")), "{events:?}");
        assert!(!events.iter().any(|event| event.starts_with("Denied")), "the user agreed: {events:?}");
        standing.set(SubjectStatus::Active);
        let again = world.server.decide(handle.expose(), &world.alice, SESSION, &approve).await.unwrap_err();
        assert_eq!(again.response(Some(&world.alice)).header("Location"), None, "it was answered");

        let code = world.code_for(&query).await;
        standing.asked();
        standing.set(SubjectStatus::Refused);
        e400(&world.exchange(&code).await, "invalid_grant");
        assert_eq!(standing.asked(), asked);
        assert_eq!(world.store.grant_count().await, 0);
        standing.set(SubjectStatus::Active);
        let first = pair(&world.exchange(&code).await);

        standing.set(SubjectStatus::Refused);
        standing.asked();
        e400(&world.refresh(&first.refresh).await, "invalid_grant");
        assert_eq!(standing.asked(), asked);
        standing.set(SubjectStatus::Active);
        let second = pair(&world.refresh(&first.refresh).await);

        // In grace too.
        world.advance(10);
        standing.set(SubjectStatus::Refused);
        e400(&world.refresh(&first.refresh).await, "invalid_grant");
        e400(&world.refresh(&second.refresh).await, "invalid_grant");
        standing.set(SubjectStatus::Active);
        for Pair { access, refresh, .. } in [first, second] {
            assert!(world.opens(&access).await);
            ok(&world.refresh(&refresh).await);
        }
    }
}

/// 6749-6-07
#[tokio::test]
async fn a_user_of_whom_nothing_is_known_right_now_loses_nothing() {
    for profile in [Profile::Platform, Profile::Strict] {
        let (world, standing) = world_of_subjects(profile).await;
        let query = world.query(&[("state", "s"), PKCE[0], PKCE[1]]);
        let pending = world.authorize(&query).await.unwrap();
        let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
        let approve = Decision::Approve(Consent::to_everything());
        standing.set(SubjectStatus::Unknown);
        let refused = world.server.decide(handle.expose(), &world.alice, SESSION, &approve).await.unwrap_err();
        let redirect = red(&refused.response(Some(&world.alice)), "temporarily_unavailable");
        assert_eq!(text(&redirect, "state"), "s");
        standing.set(SubjectStatus::Active);
        let decided = world.server.decide(handle.expose(), &world.alice, SESSION, &approve).await.unwrap();
        let code = text(&code(&decided), "code");

        standing.set(SubjectStatus::Unknown);
        unavailable(&world.exchange(&code).await);
        standing.set(SubjectStatus::Active);
        let first = pair(&world.exchange(&code).await);

        standing.set(SubjectStatus::Unknown);
        unavailable(&world.refresh(&first.refresh).await);
        world.advance(1_000);
        assert!(world.opens(&first.access).await, "nothing was rotated");
        standing.set(SubjectStatus::Active);
        let second = pair(&world.refresh(&first.refresh).await);
        standing.set(SubjectStatus::Unknown);
        unavailable(&world.refresh(&first.refresh).await);
        standing.set(SubjectStatus::Active);
        ok(&world.refresh(&first.refresh).await);
        ok(&world.refresh(&second.refresh).await);
    }
}

/// 6749-6-05, 6749-6-04
///
/// A request that would be refused anyway does not reveal a user's status, and does not call your service.
#[tokio::test]
async fn the_user_is_asked_about_last() {
    let (world, standing) = world_of_subjects(Profile::Platform).await;
    let other = world.register(support::world::form()).await;
    let first = world.pair().await;
    let code = world.code().await;
    standing.asked();
    standing.set(SubjectStatus::Refused);
    e400(&world.exchange_as(&other, &code).await, "invalid_grant");
    e400(&world.refresh_as(&other, &first.refresh).await, "invalid_grant");
    e400(&world.exchange("x").await, "invalid_grant");
    e400(&world.refresh("x").await, "invalid_grant");
    let form = [("grant_type", "authorization_code"), ("code", &*code), ("code_verifier", "wrong")];
    e400(&world.token(&form).client(&world.client).send().await, "invalid_grant");
    e401(&world.token(&form).basic(&world.client.id, "wrong").send().await, "invalid_client");
    empty(&world.revoke(&first.refresh).await);
    e400(&world.refresh(&first.refresh).await, "invalid_grant");
    red(&world.decide(&world.query(&[]), Decision::Deny).await, "access_denied");
    assert_eq!(standing.asked(), Vec::<String>::new());
}

/// 6749-6-07, negative case #14, workers-oauth-provider #216
/// A refresh that loses its write to another one begins again, and does not call your service again.
#[tokio::test]
async fn a_refresh_asks_about_its_user_once() {
    let (mut world, standing) = world_of_subjects(Profile::Platform).await;
    let first = world.pair().await;
    let tokens = Intercepted::new(world.store.clone(), Yielding);
    let stores = Stores::new(world.store.clone()).with_tokens(tokens);
    let builder = world.builder(world.server.config().clone(), stores);
    world.server = builder.subjects(standing.clone()).build().unwrap();
    standing.asked();
    for response in futures::future::join_all((0..50).map(|_| world.refresh(&first.refresh))).await {
        ok(&response);
    }
    assert_eq!(standing.asked().len(), 50);
}
