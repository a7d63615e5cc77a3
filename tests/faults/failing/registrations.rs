//! Clients that register and manage themselves, with store failures: a use of an initial access token is spent before
//! its client is written.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use grantor::application::ApplicationFilter;
use grantor::client_metadata::RegistrationBounds;
use grantor::config::DynamicRegistration;
use grantor::config::Profile;
use grantor::hooks::ApproveWithin;
use grantor::registration::{InitialAccessTokenTerms, Reduction};
use grantor::scope::{ResourceScope, ScopeCatalog};
use grantor::store::Page;
use grantor::wire::{Body, Endpoint, Request, Response};
use grantor::{Approval, AuthorizationServer, ClientId, Config, Subject};
use serde_json::{Value, json};

use support::intercepted::Fate::{self, FailsAfter, FailsBefore, Repeated};
use support::intercepted::scripts::Calls;
use support::intercepted::{Failure, Script, over_with};
use support::world::{SCOPES, World, config_of, logo};

const FATES: [Fate; 3] = [FailsBefore(Failure::Transient), FailsAfter(Failure::Transient), Repeated];

fn config() -> Config {
    let mut config = config_of(Profile::Mcp);
    config.registration.dynamic = DynamicRegistration::Open;
    config.registration.management = true;
    config
}

fn policy() -> ApproveWithin {
    let scopes = ScopeCatalog::platform().parse(SCOPES.as_bytes()).unwrap();
    ApproveWithin::new(RegistrationBounds::new(scopes, ResourceScope::All))
}

async fn world(config: Config) -> World {
    World::built(config, |builder| builder.registration_policy(policy())).await
}

async fn protected() -> World {
    let mut config = config();
    config.registration.dynamic = DynamicRegistration::WithToken;
    world(config).await
}

fn metadata() -> Value {
    json!({"redirect_uris": ["https://app.example.com/cb"], "client_name": "App", "token_endpoint_auth_method": "none"})
}

async fn send(server: &AuthorizationServer, request: Request<'_>, token: &str, body: &Value) -> Response {
    let (header, body) = (format!("Bearer {token}"), body.to_string());
    let request = request.header("Content-Type", b"application/json").body(Body::Bytes(body.as_bytes()));
    let request = request.header("Authorization", header.as_bytes()).peer([192, 0, 2, 1].into());
    let endpoint = if header.contains("ra_") { Endpoint::ClientConfiguration } else { Endpoint::Registration };
    server.serve(endpoint, &request).await
}

async fn register(server: &AuthorizationServer, token: &str) -> Response {
    send(server, Request::new("POST"), token, &metadata()).await
}

/// A request of a client for its own registration.
async fn manage(server: &AuthorizationServer, method: &str, client: &Value, body: &Value) -> Response {
    let path = format!("/oauth2/register/{}", client["client_id"].as_str().unwrap());
    send(server, Request::new(method).path(&path), client["registration_access_token"].as_str().unwrap(), body).await
}

fn json_of(response: &Response) -> Value {
    serde_json::from_slice(response.body()).unwrap()
}

/// The clients that registered themselves.
async fn unreviewed(world: &World) -> usize {
    let all = world.server.registrar().unwrap().list(&ApplicationFilter::All, Page::first(99)).await.unwrap();
    all.iter().filter(|application| application.is_unreviewed()).count()
}

async fn token_of(world: &World, uses: u32) -> String {
    let terms = InitialAccessTokenTerms::new(std::time::Duration::from_secs(60)).uses(uses.try_into().unwrap());
    let made = world.server.registrar().unwrap().make_initial_access_token(terms).await.unwrap();
    made.token.expose().to_owned()
}

/// 7591-3-02
/// If any call fails, with or without effect, there are never more clients than uses, and at most one use is lost.
#[tokio::test]
async fn a_fault_makes_no_client_more_than_uses() {
    for fate in FATES {
        for at in 0.. {
            let world = protected().await;
            let token = token_of(&world, 2).await;
            let faults = Calls::failing(at, fate);
            let faulty = over_with(&world, faults.clone(), |builder| builder.registration_policy(policy()));
            let first = register(&faulty.server, &token).await.status();
            let Some(call) = faults.met() else { break };
            assert!([201, 503].contains(&first), "{fate:?} of {call}: {first}");
            assert!(first == 503 || unreviewed(&world).await == 1, "an acknowledged client is missing");
            let mut created = u32::from(first == 201);
            while register(&world.server, &token).await.status() == 201 {
                created += 1;
            }
            assert!(unreviewed(&world).await <= 2, "{fate:?} of {call}");
            assert!((1..=2).contains(&created), "{fate:?} of {call}: {created}");
            // A failed read does not spend a use.
            let is_read = call.ends_with(".list") || call.ends_with(".find");
            assert!(!is_read || created == 2, "{fate:?} of {call} at {at} cost a use");
        }
    }
}

/// Lets another registration go first, just before the first write.
#[derive(Debug)]
struct Overtaken {
    server: AuthorizationServer,
    token: Mutex<Option<String>>,
    status: Mutex<Option<u16>>,
}

#[async_trait]
impl Script for Overtaken {
    async fn before(&self, call: &'static str) -> Fate {
        let token = if call == "initial_tokens.replace" { self.token.lock().unwrap().take() } else { None };
        if let Some(token) = token {
            let status = register(&self.server, &token).await.status();
            *self.status.lock().unwrap() = Some(status);
        }
        Fate::Done
    }
}

/// 7591-3-02
#[tokio::test]
async fn of_two_for_the_last_use_one_is_overtaken() {
    for (uses, expected) in [(1, 401), (2, 201)] {
        let world = protected().await;
        let token = token_of(&world, uses).await;
        let script = Overtaken {
            server: world.server.clone(),
            token: Mutex::new(Some(token.clone())),
            status: Mutex::default(),
        };
        let script = Arc::new(script);
        let overtaken = over_with(&world, script.clone(), |builder| builder.registration_policy(policy()));
        assert_eq!(register(&overtaken.server, &token).await.status(), expected);
        assert_eq!(*script.status.lock().unwrap(), Some(201));
        assert_eq!(unreviewed(&world).await, usize::try_from(uses).unwrap());
        assert_eq!(register(&world.server, &token).await.status(), 401);
    }
}

/// 7591-5-07
/// No client is evicted before everything is read.
#[tokio::test]
async fn a_read_that_fails_evicts_nobody() {
    let mut config = config();
    config.limits.unreviewed_clients = 10;
    for at in 0.. {
        let world = world(config.clone()).await;
        let first = json_of(&register(&world.server, "x").await);
        let faults = Calls::failing(at, FailsBefore(Failure::Transient));
        let faulty = over_with(&world, faults.clone(), |builder| builder.registration_policy(policy()));
        let status = register(&faulty.server, "x").await.status();
        let Some(call) = faults.met() else {
            assert_eq!(status, 201);
            break;
        };
        assert_eq!(status, 503, "{call}");
        if call == "clients.list" {
            assert_eq!(manage(&world.server, "GET", &first, &Value::Null).await.status(), 200, "evicted before {at}");
        }
    }
}

/// 7592-2.2-01, 7592-2.3-01
#[tokio::test]
async fn an_acknowledged_update_or_deletion_is_there() {
    for fate in FATES {
        for method in ["PUT", "DELETE"] {
            for at in 0.. {
                let world = world(config()).await;
                let client = json_of(&register(&world.server, "x").await);
                let mut update = metadata();
                update["client_id"] = client["client_id"].clone();
                update["client_name"] = "New".into();
                let faults = Calls::failing(at, fate);
                let faulty = over_with(&world, faults.clone(), |builder| builder.registration_policy(policy()));
                let answer = manage(&faulty.server, method, &client, &update).await;
                let Some(call) = faults.met() else { break };
                let case = format!("{method}, {fate:?} of {call}");
                let is_done = async || {
                    let read = manage(&world.server, "GET", &client, &Value::Null).await;
                    read.status() == 401 || json_of(&read)["client_name"] == "New"
                };
                assert!(answer.status() == 503 || answer.status() / 100 == 2, "{case}: {}", answer.status());
                assert!(answer.status() == 503 || is_done().await, "{case}: an acknowledged change is missing");
                // The next request makes the change, or finds it made.
                let again = manage(&world.server, method, &client, &update).await.status();
                assert!(again / 100 == 2 || method == "DELETE" && again == 401, "{case}: {again}");
                assert!(is_done().await, "{case}");
            }
        }
    }
}

/// What a person does with a client.
#[derive(Clone, Copy, Debug)]
enum Person {
    Approves,
    Reduces,
    Suspends,
    Transfers,
    Deletes,
}

impl Person {
    async fn act(self, server: &AuthorizationServer, id: &ClientId) {
        let registrar = server.registrar().unwrap();
        let version = registrar.application(id).await.unwrap().version();
        match self {
            Self::Approves => {
                let approval = Approval::default().logo(logo()).website("https://app.example.com/");
                registrar.approve(id, version, approval).await.map(drop)
            }
            Self::Reduces => registrar.reduce(id, version, Reduction::default().scopes("repo-code:r")).await,
            Self::Suspends => registrar.suspend(id).await,
            Self::Transfers => registrar.transfer(id, version, Subject::new("developer").unwrap()).await,
            Self::Deletes => registrar.delete(id, version).await,
        }
        .unwrap();
    }
}

/// Lets a person act just before the write of an update.
#[derive(Debug)]
struct Meanwhile {
    server: AuthorizationServer,
    id: ClientId,
    person: Mutex<Option<Person>>,
}

#[async_trait]
impl Script for Meanwhile {
    async fn before(&self, call: &'static str) -> Fate {
        let person = if call == "applications.replace" { self.person.lock().unwrap().take() } else { None };
        if let Some(person) = person {
            person.act(&self.server, &self.id).await;
        }
        Fate::Done
    }
}

/// 7592-2.2-02, 7592-2-02
/// The token, the state and the need for a review are checked again at the write.
#[tokio::test]
async fn what_a_person_does_meanwhile_counts_for_an_update() {
    use Person::{Approves, Deletes, Reduces, Suspends, Transfers};
    for (person, status) in [(Approves, 200), (Reduces, 200), (Suspends, 403), (Transfers, 401), (Deletes, 401)] {
        for method in ["PUT", "DELETE"] {
            let world = world(config()).await;
            let client = json_of(&register(&world.server, "x").await);
            let id = ClientId::new(client["client_id"].as_str().unwrap()).unwrap();
            let mut update = metadata();
            update["client_id"] = client["client_id"].clone();
            update["redirect_uris"] = json!(["https://app.example.com/new"]);
            let person_acts = Mutex::new(Some(person));
            let script = Meanwhile { server: world.server.clone(), id: id.clone(), person: person_acts };
            let overtaken = over_with(&world, script, |builder| builder.registration_policy(policy()));
            let answer = manage(&overtaken.server, method, &client, &update).await;
            let expected = if method == "DELETE" && status == 200 { 204 } else { status };
            assert_eq!(answer.status(), expected, "{method} while a person {person:?}");
            if method == "PUT" && status == 200 {
                // The update awaits review now, and the version in force stays.
                assert_eq!(json_of(&answer)["redirect_uris"], metadata()["redirect_uris"], "{person:?}");
                assert!(world.server.registrar().unwrap().application(&id).await.unwrap().proposed.is_some());
            }
        }
    }
}
