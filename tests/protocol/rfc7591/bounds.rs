//! What the policy admits, and that its bounds apply at every later step.

use std::time::Duration;

use async_trait::async_trait;
use grantor::application::ApplicationFilter;
use grantor::client::{AuthenticationMethod, AuthenticationMethods};
use grantor::client_metadata::RegistrationBounds;
use grantor::config::Profile;
use grantor::hooks::{RegistrationDecision, RegistrationPolicy, RegistrationRequest};
use grantor::scope::ResourceScope;
use grantor::store::Page;
use serde_json::json;

use super::{
    bounds, credentials, open, post, public, query, refused, refusing, register, scopes, with, world, world_with,
};
use support::world::{PKCE, World, code, e401, page, pair, red_by_link, text};

const URI: &str = "https://app.example.com/cb";

/// 7591-2-08
#[tokio::test]
async fn scope_is_a_default_and_the_bound_is_the_limit() {
    let world = world_with(refusing(), bounds()).await;
    let of = |scope: &str| with(public(), json!({ "scope": scope }));
    let one = register(&world, of("repo-code:r repo-unknown:r repo-delete:rw")).await;
    assert_eq!(one["scope"], "repo-code:r");
    for none in ["repo-unknown:r", "repo-delete:rw", "\"", " "] {
        refused(&post(&world, of(none).to_string()).await, 400, "invalid_client_metadata");
    }
    let all = "repo-code:rw repo-issue:rw account-profile:r";
    assert_eq!(register(&world, public()).await["scope"], all);
    let named = world_with(open(Profile::Mcp), bounds().default_scopes(scopes("account-profile:r"))).await;
    assert_eq!(register(&named, public()).await["scope"], "account-profile:r");

    // A request without `scope` asks for the default, and a later one for more.
    let pending = world.authorize(&query(&world, &one, URI, &[])).await.unwrap();
    assert_eq!(pending.scopes().as_str(), "repo-code:r");
    let more = query(&world, &one, URI, &[("scope", "repo-code:rw account-profile:r")]);
    assert_eq!(world.authorize(&more).await.unwrap().scopes().as_str(), "repo-code:rw account-profile:r");
    code(&world.approve(&more).await);
}

/// 7591-5-03
#[tokio::test]
async fn the_bounds_hold_at_every_later_step() {
    let reduce = RegistrationBounds::new(scopes("repo-code:r"), ResourceScope::Public);
    let world = world_with(refusing(), reduce).await;
    let everything = world.server.config().scopes.supported().join(" ");
    let answer = register(&world, with(public(), json!({ "scope": everything }))).await;
    assert_eq!(answer["scope"], "repo-code:r");
    let pending = world.authorize(&query(&world, &answer, URI, &[])).await.unwrap();
    assert_eq!(*pending.resource_scope(), ResourceScope::Public);
    for scope in ["repo-code:r account-profile:r", "repo-code:rw"] {
        red_by_link(&world.refused(&query(&world, &answer, URI, &[("scope", scope)])).await, 400, "invalid_scope");
    }
    let client = credentials(&answer);
    let token = world.pair_of(&client).await;
    assert_eq!(token.scope, "repo-code:r");
    let form = [("grant_type", "refresh_token"), ("refresh_token", &*token.refresh), ("scope", "repo-code:rw")];
    refused(&world.token(&form).client(&client).send().await, 400, "invalid_scope");
}

/// 7591-5-03
#[tokio::test]
async fn methods_and_kinds_of_redirect_uris_are_bounded() {
    let only_none = bounds().methods(AuthenticationMethods::only(AuthenticationMethod::None)).without_loopback();
    let world = world_with(open(Profile::Platform), only_none.without_private_use_schemes()).await;
    let secret = with(public(), json!({"token_endpoint_auth_method": "client_secret_basic"}));
    refused(&post(&world, secret.to_string()).await, 400, "invalid_client_metadata");
    let uris = json!([URI, "http://127.0.0.1/", "com.example.app:/cb"]);
    let answer = register(&world, with(public(), json!({ "redirect_uris": uris }))).await;
    assert_eq!(answer["redirect_uris"], json!([URI]));
    let device = with(public(), json!({"redirect_uris": ["http://127.0.0.1/"]}));
    refused(&post(&world, device.to_string()).await, 400, "invalid_redirect_uri");
}

/// 7591-5-03
#[tokio::test]
async fn a_registration_ends_when_the_policy_says() {
    let world = world_with(open(Profile::Mcp), bounds().lifetime(Duration::from_secs(3600))).await;
    let answer = register(&world, public()).await;
    let client = credentials(&answer);
    world.advance(3599);
    let token = world.pair_of(&client).await;
    assert!(world.opens(&token.access).await);
    world.advance(1);
    assert!(!world.opens(&token.access).await);
    e401(&world.refresh_as(&client, &token.refresh).await, "invalid_client");
    page(&world.refused(&world.query_of(&client, &PKCE)).await);
}

/// Approves one name, queues another, refuses all others.
#[derive(Debug)]
struct ByName;

#[async_trait]
impl RegistrationPolicy for ByName {
    async fn decide(&self, request: &RegistrationRequest<'_>) -> RegistrationDecision {
        assert_eq!(request.peer, Some([192, 0, 2, 1].into()));
        match request.metadata.name.as_deref() {
            Some("Now") => RegistrationDecision::Approve(bounds()),
            Some("Later") => RegistrationDecision::Queue(bounds()),
            _ => RegistrationDecision::Refuse,
        }
    }
}

/// 7591-5-02
#[tokio::test]
async fn the_policy_decides_each_registration() {
    let world = World::built(open(Profile::Mcp), |builder| builder.registration_policy(ByName)).await;
    let named = |name: &str| with(public(), json!({ "client_name": name }));
    let now = credentials(&register(&world, named("Now")).await);
    pair(&world.exchange_as(&now, &world.code_for(&world.query_of(&now, &PKCE)).await).await);
    let later = credentials(&register(&world, named("Later")).await);
    page(&world.refused(&world.query_of(&later, &PKCE)).await);
    let registrar = world.server.registrar().unwrap();
    let stored = async || registrar.list(&ApplicationFilter::All, Page::first(99)).await.unwrap().len();
    let before = stored().await;
    refused(&post(&world, named("Never").to_string()).await, 400, "invalid_client_metadata");
    assert_eq!(stored().await, before);
}

/// 7591-5-04
#[tokio::test]
async fn the_consent_page_learns_that_nobody_reviewed_the_client() {
    let world = world().await;
    let confidential = with(public(), json!({"token_endpoint_auth_method": "client_secret_basic"}));
    let answer = register(&world, confidential).await;
    let query = query(&world, &answer, URI, &[]);
    for _ in 0..2 {
        let pending = world.authorize(&query).await.unwrap();
        assert!(pending.is_client_unreviewed() && !pending.is_client_identity_assured());
        let client = pending.client().open().unwrap();
        assert_eq!(client.origin, grantor::client::ClientOrigin::DynamicRegistration);
        assert_eq!(client.registered, grantor::Timestamp::from_seconds(support::world::START));
        assert_eq!(pending.redirect_host(), "app.example.com");
        assert!(!text(&code(&world.approve(&query).await), "code").is_empty());
    }
    let reviewed = world.authorize(&world.query(&PKCE)).await.unwrap();
    assert!(!reviewed.is_client_unreviewed() && reviewed.client().open().is_none());
}

/// MCP-1125-04
#[tokio::test]
async fn the_consent_page_learns_that_a_client_is_on_the_users_device_alone() {
    let world = world().await;
    let local = "http://127.0.0.1:3000/cb";
    for (uris, is_alone) in [(json!([local, "http://localhost/"]), true), (json!([local, URI]), false)] {
        let answer = register(&world, with(public(), json!({ "redirect_uris": uris }))).await;
        let pending = world.authorize(&query(&world, &answer, local, &[])).await.unwrap();
        assert_eq!((pending.is_loopback_only(), pending.redirect_host()), (is_alone, "127.0.0.1"));
        assert!(!pending.is_client_identity_assured());
    }
}
