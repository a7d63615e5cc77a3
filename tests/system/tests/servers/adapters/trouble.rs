//! Too many attempts, users who get no access, and a store that fails.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use grantor::hooks::{Attempt, SubjectStatus, Subjects, Throttle, ThrottleDecision};
use grantor::{Client, Config, Subject};

use crate::adapters::trio::{CONSENT, COOKIE, Trio};
use support::intercepted::{Failure, Fate, over};
use support::world::{ISSUER, World};
use support_servers::http::Request;
use system::Thin;

/// Refuses an address after two failures.
#[derive(Debug, Default)]
struct TwoFailures(Mutex<Vec<std::net::IpAddr>>);

#[async_trait]
impl Throttle for TwoFailures {
    async fn check(&self, attempt: &Attempt<'_>) -> ThrottleDecision {
        let failures = self.0.lock().unwrap();
        match failures.iter().filter(|peer| attempt.peer == Some(**peer)).count() {
            0 | 1 => ThrottleDecision::Allow,
            _ => ThrottleDecision::Refuse { retry_after: Duration::from_secs(30) },
        }
    }

    async fn failed(&self, attempt: &Attempt<'_>) {
        self.0.lock().unwrap().extend(attempt.peer);
    }
}

/// HTTP-02
#[tokio::test]
async fn a_peer_is_slowed_down_by_its_address() {
    let make =
        async || World::built(Config::platform(ISSUER), |builder| builder.throttle(TwoFailures::default())).await;
    let trio = Trio::of(make).await;
    let client = trio.client().clone();
    let call = |path: &str, secret: &str| Request::post(path, &[("token", "x")]).basic(&client.id, secret);
    trio.answer_all(&[
        (200, call("/oauth2/revoke", &client.secret)),
        (401, call("/oauth2/token", "wrong")),
        (200, call("/oauth2/revoke", &client.secret)),
        (401, call("/oauth2/introspect", "wrong")),
        (429, call("/oauth2/introspect", "wrong")),
        (429, call("/oauth2/revoke", &client.secret)),
        (429, call("/oauth2/token", &client.secret)),
        (429, Request::get("/oauth2/auth").query(trio.query(&[])).header("Cookie", COOKIE)),
        (405, Request::get("/oauth2/token")),
        (200, Request::get("/.well-known/oauth-authorization-server")),
    ])
    .await;
}

/// Returns the set status for every user.
#[derive(Clone, Debug)]
struct Directory(Arc<Mutex<SubjectStatus>>);

#[async_trait]
impl Subjects for Directory {
    async fn status(&self, _: &Subject, _: &Client) -> SubjectStatus {
        *self.0.lock().unwrap()
    }
}

/// HTTP-02
#[tokio::test]
async fn a_user_who_may_not_or_whom_nobody_knows_right_now_gets_nothing() {
    let directory = Directory(Arc::new(Mutex::new(SubjectStatus::Active)));
    let make = async || World::built(Config::platform(ISSUER), |builder| builder.subjects(directory.clone())).await;
    let trio = Trio::of(make).await;
    let client = trio.client().clone();
    let tokens = trio.tokens(&["account-profile:r"]).await;
    let refresh = [("grant_type", "refresh_token"), ("refresh_token", tokens["refresh_token"].as_str().unwrap())];
    for (status, answer) in [(SubjectStatus::Unknown, 503), (SubjectStatus::Refused, 400)] {
        *directory.0.lock().unwrap() = status;
        trio.answers(answer, &Request::post("/oauth2/token", &refresh).basic(&client.id, &client.secret)).await;
        let handle = trio.handle(&trio.query(&[("state", "x")])).await;
        let form = [("handle", handle.as_str()), ("decision", "allow"), ("scope", "account-profile:r")];
        trio.answers(302, &Request::post(CONSENT, &form).header("Cookie", COOKIE)).await;
    }
}

/// HTTP-02
#[tokio::test]
async fn a_store_that_is_down_is_trouble_and_not_the_callers_fault() {
    for (failure, status) in [(Failure::Transient, 503), (Failure::Permanent, 500)] {
        let trio = Trio::of(async || over(&World::platform().await, move |_: &str| Fate::FailsBefore(failure))).await;
        let client = trio.client().clone();
        let working = World::platform().await;
        let (pair, query) = (working.pair().await, working.query(&[("state", "x")]));
        let pending = working.authorize(&query).await.unwrap();
        let handle = working.server.hold(&pending, &working.alice, b"x").await.unwrap();
        let call = |path: &str, form: &[(&str, &str)]| Request::post(path, form).basic(&client.id, &client.secret);
        let refresh = [("grant_type", "refresh_token"), ("refresh_token", pair.refresh.as_str())];
        let decision = [("handle", handle.expose()), ("decision", "deny")];
        trio.answer_all(&[
            (status, call("/oauth2/token", &refresh)),
            (status, call("/oauth2/revoke", &[("token", &pair.access)])),
            (status, call("/oauth2/introspect", &[("token", &pair.access)])),
            (status, Request::get("/oauth2/auth").query(&query).header("Cookie", COOKIE)),
            (status, Request::post(CONSENT, &decision).header("Cookie", COOKIE)),
            (status, Request::get("/api/me").header("Authorization", format!("Bearer {}", pair.access))),
            (401, Request::get("/api/me")),
            (200, Request::get("/.well-known/oauth-authorization-server")),
        ])
        .await;
    }
}

/// A load balancer learns whether a server can answer, by any host, and nothing else.
#[tokio::test]
async fn a_load_balancer_asks_whether_a_server_lives_and_is_ready() {
    for (store, ready) in [(Fate::Done, 204), (Fate::FailsBefore(Failure::Transient), 503)] {
        let world = over(&World::platform().await, move |_: &str| store);
        for adapter in [Thin::Axum, Thin::Actix] {
            let address = adapter.start_with(&world.server);
            for (path, status) in [("/livez", 204), ("/readyz", ready)] {
                let answer = Request::get(path).host("192.0.2.1").send_to(address).await;
                assert_eq!((answer.status, &answer.body[..]), (status, &b""[..]), "{path}");
            }
            let post = Request::post("/readyz", &[]).send_to(address).await;
            assert!(matches!(post.status, 404 | 405), "{}", post.status);
        }
        assert!(world.server.ready().await.is_ok() == (ready == 204));
    }
}
