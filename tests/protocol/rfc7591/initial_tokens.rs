//! Registrations that need an initial access token.

use std::num::NonZeroU32;
use std::time::Duration;

use async_trait::async_trait;
use grantor::application::ApplicationFilter;
use grantor::client::ClientState;
use grantor::client_metadata::RegistrationBounds;
use grantor::config::{DynamicRegistration, Profile};
use grantor::hooks::{ApproveWithin, RegistrationDecision, RegistrationPolicy, RegistrationRequest};
use grantor::registration::{InitialAccessTokenTerms, MadeInitialAccessToken};
use grantor::scope::ResourceScope;
use grantor::store::{InitialToken, Page, RecordStore};
use grantor::wire::{Body, Endpoint, Request, Response};
use grantor::{Config, MemoryThrottle, RegistrarError};
use serde_json::{Value, json};

use super::{bounds, created, credentials, open, public, purge, query, refused, scopes, with, world_with};
use support::world::{PKCE, SESSION, World, e401, page, pair};

const DAY: Duration = Duration::from_secs(86_400);

fn protected() -> Config {
    let mut config = open(Profile::Mcp);
    config.registration.dynamic = DynamicRegistration::WithToken;
    config
}

async fn world() -> World {
    world_with(protected(), bounds()).await
}

async fn made(world: &World, terms: InitialAccessTokenTerms) -> MadeInitialAccessToken {
    world.server.registrar().unwrap().make_initial_access_token(terms).await.unwrap()
}

fn uses(uses: u32) -> InitialAccessTokenTerms {
    InitialAccessTokenTerms::new(DAY).uses(NonZeroU32::new(uses).unwrap())
}

async fn post_with(world: &World, authorization: Option<&str>, body: &Value) -> Response {
    let body = body.to_string();
    let request = Request::new("POST").header("Content-Type", b"application/json").body(Body::Bytes(body.as_bytes()));
    let request = request.peer([192, 0, 2, 1].into());
    match authorization {
        Some(header) => {
            world.server.serve(Endpoint::Registration, &request.header("Authorization", header.as_bytes())).await
        }
        None => world.server.serve(Endpoint::Registration, &request).await,
    }
}

async fn register(world: &World, token: &str) -> Response {
    post_with(world, Some(&format!("Bearer {token}")), &public()).await
}

async fn stored(world: &World) -> usize {
    world.server.registrar().unwrap().list(&ApplicationFilter::All, Page::first(99)).await.unwrap().len()
}

#[track_caller]
fn unauthorized(response: &Response, has_error: bool) {
    assert_eq!(response.status(), 401, "{}", String::from_utf8_lossy(response.body()));
    let challenge = response.header("WWW-Authenticate").unwrap();
    assert!(challenge.starts_with("Bearer realm="), "{challenge}");
    assert_eq!(challenge.contains("error=\"invalid_token\""), has_error, "{challenge}");
    assert_eq!(challenge.contains("error"), has_error, "{challenge}");
    assert_eq!(response.header("Cache-Control"), Some("no-store"));
}

/// 7591-3-01
#[tokio::test]
async fn a_protected_endpoint_takes_a_bearer_token() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        assert_ne!(support::world::config_of(profile).registration.dynamic, DynamicRegistration::WithToken);
    }
    let world = world().await;
    let made = made(&world, uses(2)).await;
    let before = stored(&world).await;
    unauthorized(&post_with(&world, None, &public()).await, false);
    unauthorized(&post_with(&world, Some("Basic YTpi"), &public()).await, false);
    let text = made.token.expose();
    let altered = format!("{}{}", &text[..text.len() - 1], if text.ends_with('x') { 'y' } else { 'x' });
    let unknown = format!("ia_{}", "a".repeat(65));
    for wrong in ["x", &text[3..], &altered, &unknown, &text.replace("ia_", "ra_")] {
        unauthorized(&register(&world, wrong).await, true);
    }
    assert_eq!(stored(&world).await, before);
    let client = created(&register(&world, text).await);
    pair(
        &world
            .exchange_as(
                &credentials(&client),
                &world.code_for(&query(&world, &client, "https://app.example.com/cb", &[])).await,
            )
            .await,
    );
    // Without the setting, no token is read.
    let open = super::world().await;
    created(&register(&open, "x").await);
}

/// 7591-3-02
#[tokio::test]
async fn a_token_is_in_the_header_alone() {
    let world = world().await;
    let made = made(&world, uses(9)).await;
    let body =
        with(public(), json!({"initial_access_token": made.token.expose(), "access_token": made.token.expose()}));
    unauthorized(&post_with(&world, None, &body).await, false);
    let (query, body) = (format!("access_token={}", made.token.expose()), public().to_string());
    let request = Request::new("POST").header("Content-Type", b"application/json").query(query.as_bytes());
    let request = request.body(Body::Bytes(body.as_bytes()));
    unauthorized(&world.server.serve(Endpoint::Registration, &request).await, false);
    let header = format!("Bearer {}", made.token.expose());
    let twice = request.header("Authorization", header.as_bytes()).header("Authorization", header.as_bytes());
    assert_eq!(world.server.serve(Endpoint::Registration, &twice).await.status(), 400);
}

/// 7591-3-02
#[tokio::test]
async fn a_token_has_an_end_and_a_number_of_uses() {
    let world = world().await;
    let token = made(&world, uses(2)).await;
    let text = token.token.expose().to_owned();
    assert_eq!(text.len(), 3 + 65);
    created(&register(&world, &text).await);
    world.advance(86_399);
    created(&register(&world, &text).await);
    let before = stored(&world).await;
    unauthorized(&register(&world, &text).await, true);
    let other = made(&world, uses(2)).await;
    world.advance(86_399);
    created(&register(&world, other.token.expose()).await);
    world.advance(1);
    assert_eq!(other.end, grantor::Clock::now(&world.clock));
    unauthorized(&register(&world, other.token.expose()).await, true);
    // The purge removes it.
    let kept = async || RecordStore::<InitialToken>::find(&world.store, &other.id).await.unwrap();
    assert!(kept().await.is_some());
    purge(&world).await;
    assert!(kept().await.is_none());
    unauthorized(&register(&world, other.token.expose()).await, true);
    assert_eq!(stored(&world).await, before + 1);
}

/// 7591-3-02
#[tokio::test]
async fn two_at_once_on_the_last_use_make_one_client() {
    let world = world().await;
    for _ in 0..20 {
        let token = made(&world, uses(1)).await;
        let before = stored(&world).await;
        let at_once = (0..4).map(|_| register(&world, token.token.expose()));
        let answers = futures::future::join_all(at_once).await;
        let made = answers.iter().filter(|answer| answer.status() == 201).count();
        assert_eq!((made, stored(&world).await), (1, before + 1));
        answers.iter().filter(|answer| answer.status() != 201).for_each(|answer| unauthorized(answer, true));
    }
}

/// 7591-3-02
#[tokio::test]
async fn a_refused_registration_costs_no_use() {
    let mut config = protected();
    config.limits.unreviewed_clients = 10;
    let world = world_with(config, bounds()).await;
    let token = made(&world, uses(2)).await;
    let header = format!("Bearer {}", token.token.expose());
    for bad in [
        json!({}),
        json!([]),
        with(public(), json!({"scope": "repo-delete:rw"})),
        with(public(), json!({"redirect_uris": ["data:,x"]})),
    ] {
        assert_eq!(post_with(&world, Some(&header), &bad).await.status(), 400);
    }
    let client = created(&register(&world, token.token.expose()).await);
    // The only place is that of a client whose user is asked.
    let pending = world.authorize(&world.query_of(&credentials(&client), &PKCE)).await.unwrap();
    world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    refused(&register(&world, token.token.expose()).await, 503, "temporarily_unavailable");
    let left = RecordStore::<InitialToken>::find(&world.store, &token.id).await.unwrap().unwrap();
    assert_eq!(left.uses_left(), 1, "one use was spent");
}

/// 7591-3-02, 7591-5-03
#[tokio::test]
async fn a_token_has_bounds_of_its_own() {
    let world = world().await;
    let own = RegistrationBounds::new(scopes("repo-code:r account-email:r"), ResourceScope::Public).without_loopback();
    let token = made(&world, uses(9).bounds(own.lifetime(Duration::from_secs(60)))).await;
    let header = format!("Bearer {}", token.token.expose());
    let metadata = with(public(), json!({"redirect_uris": ["https://app.example.com/cb", "http://127.0.0.1/"]}));
    let client = created(&post_with(&world, Some(&header), &metadata).await);
    assert_eq!(
        (&client["scope"], &client["redirect_uris"]),
        (&json!("repo-code:r"), &json!(["https://app.example.com/cb"]))
    );
    let stored = world.server.client(&super::id(&client)).await.unwrap().unwrap();
    assert_eq!((stored.form().scopes.as_str(), &stored.form().resource_scope), ("repo-code:r", &ResourceScope::Public));
    world.advance(60);
    page(&world.refused(&query(&world, &client, "https://app.example.com/cb", &[])).await);
}

/// Admits clients of one token only.
#[derive(Debug, Default)]
struct OfOneToken(std::sync::Mutex<Vec<String>>);

#[async_trait]
impl RegistrationPolicy for OfOneToken {
    async fn decide(&self, request: &RegistrationRequest<'_>) -> RegistrationDecision {
        let id = request.initial_access_token.unwrap().to_string();
        let mut seen = self.0.lock().unwrap();
        let is_first = seen.first().is_none_or(|first| *first == id);
        seen.push(id);
        if is_first { RegistrationDecision::Approve(bounds()) } else { RegistrationDecision::Refuse }
    }
}

/// 7591-3-02
#[tokio::test]
async fn the_policy_learns_which_token_it_is() {
    let world = World::built(protected(), |builder| builder.registration_policy(OfOneToken::default())).await;
    let (first, second) = (made(&world, uses(9)).await, made(&world, uses(9)).await);
    created(&register(&world, first.token.expose()).await);
    refused(&register(&world, second.token.expose()).await, 400, "invalid_client_metadata");
    created(&register(&world, first.token.expose()).await);
}

/// 7591-3-02
#[tokio::test]
async fn a_token_can_be_ended() {
    let world = world().await;
    let token = made(&world, uses(9)).await;
    let registrar = world.server.registrar().unwrap();
    let client = created(&register(&world, token.token.expose()).await);
    registrar.end_initial_access_token(&token.id).await.unwrap();
    registrar.end_initial_access_token(&token.id).await.unwrap();
    unauthorized(&register(&world, token.token.expose()).await, true);
    let events = world.events.take();
    for name in ["InitialAccessTokenMade", "InitialAccessTokenEnded"] {
        assert!(events.iter().any(|event| event.contains(name)), "{events:?}");
    }
    // The client stays, and a client id is not accepted as that of a token.
    assert!(registrar.client(&super::id(&client)).await.is_ok());
    for other in [super::id(&client), world.client.client_id(), grantor::ClientId::new("unknown").unwrap()] {
        assert!(matches!(registrar.end_initial_access_token(&other).await, Err(RegistrarError::NotFound)));
    }
}

/// 7591-3-02
/// The row of a used token is a deleted record: neither a client nor an application, and on no list.
#[tokio::test]
async fn a_token_is_no_client() {
    let world = world().await;
    let before = stored(&world).await;
    let token = made(&world, uses(9)).await;
    let registrar = world.server.registrar().unwrap();
    assert_eq!(stored(&world).await, before);
    for filter in [ApplicationFilter::AwaitingReview, ApplicationFilter::InState(ClientState::Deleted)] {
        assert!(registrar.list(&filter, Page::first(9)).await.unwrap().is_empty());
    }
    assert!(matches!(registrar.application(&token.id).await, Err(RegistrarError::NotFound)));
    assert!(matches!(registrar.suspend(&token.id).await, Err(RegistrarError::NotFound)));
    assert!(matches!(registrar.delete(&token.id, 1).await, Err(RegistrarError::NotFound)));
    let own = json!({"client_id": token.id.as_str()});
    page(&world.refused(&query(&world, &own, "https://app.example.com/cb", &[])).await);
    let secret = token.token.expose()[25..].to_owned();
    let credentials = support::world::Credentials { id: token.id.to_string(), secret };
    e401(&world.refresh_as(&credentials, "rt_x").await, "invalid_client");
    assert!(!format!("{token:?}").contains(&credentials.secret));
    created(&register(&world, token.token.expose()).await);
}

/// 7591-3-02, 7591-5-05
#[tokio::test]
async fn failures_are_counted_and_reported() {
    let throttle = MemoryThrottle::new();
    let world = World::built(protected(), |builder| {
        builder.registration_policy(ApproveWithin::new(bounds())).throttle(throttle)
    })
    .await;
    let mut statuses = Vec::new();
    for _ in 0..21 {
        statuses.push(register(&world, "wrong").await.status());
    }
    assert_eq!((statuses[0], statuses[20]), (401, 429));
    let events = world.events.take();
    assert!(
        events
            .iter()
            .any(|event| event.starts_with("AuthenticationFailed") && event.contains("WrongInitialAccessToken"))
    );
}
