//! The protected resources that a client may reach.

use grantor::Config;
use grantor::application::ApplicationFilter;
use grantor::client_metadata::RegistrationBounds;
use grantor::config::Profile;
use grantor::hooks::ApproveWithin;
use grantor::protected_resource::ProtectedResource;
use grantor::scope::ResourceScope;
use grantor::store::Page;
use grantor::wire::Response;
use serde_json::Value;

use super::{bounds, credentials, id, open, public, query, register, world_with};
use crate::rfc8707::{at, own_scopes, resource};
use support::world::{ISSUER, VERIFIER, World, e400, encode, pair, red_by_link, wa};

const A: &str = "https://a.example/mcp";
const B: &str = "https://b.example/mcp";
const C: &str = "https://c.example";
const URI: &str = "https://app.example.com/cb";

fn config(resources: Vec<ProtectedResource>) -> Config {
    let mut config = open(Profile::Mcp);
    config.scopes = own_scopes();
    config.resources = resources;
    config
}

/// Three resources; A is the default.
fn three() -> Vec<ProtectedResource> {
    let mut resources = [A, B, C].map(|identifier| resource(identifier, &[])).to_vec();
    resources[0].is_default = true;
    resources
}

async fn bounded(resources: Vec<ProtectedResource>, bound: &[&str]) -> (World, Value) {
    let bounds: RegistrationBounds = bounds().resources(bound.iter().copied());
    let world = world_with(config(resources), bounds).await;
    let client = register(&world, public()).await;
    (world, client)
}

fn asking(world: &World, client: &Value, resources: &[&str]) -> String {
    let query = query(world, client, URI, &[]);
    resources.iter().fold(query, |query, resource| format!("{query}&{}", encode(&[("resource", resource)])))
}

async fn exchange(world: &World, client: &Value, code: &str, resources: &[&str]) -> Response {
    let form =
        [("grant_type", "authorization_code"), ("code", code), ("code_verifier", VERIFIER), ("redirect_uri", URI)];
    let call = resources.iter().fold(world.token(&form), |call, resource| call.field("resource", resource));
    call.client(&credentials(client)).send().await
}

async fn refresh(world: &World, client: &Value, token: &str, resources: &[&str]) -> Response {
    let call = world.token(&[("grant_type", "refresh_token"), ("refresh_token", token)]);
    let call = resources.iter().fold(call, |call, resource| call.field("resource", resource));
    call.client(&credentials(client)).send().await
}

/// 7591-5-03, 8707-2-02
#[tokio::test]
async fn a_resource_outside_the_bound_is_refused() {
    let (world, client) = bounded(three(), &[A, B]).await;
    for named in [&[C][..], &[A, C], &["https://unknown.example"]] {
        red_by_link(&world.refused(&asking(&world, &client, named)).await, 400, "invalid_target");
    }
    let code = world.code_for(&asking(&world, &client, &[A, B])).await;
    e400(&exchange(&world, &client, &code, &[C]).await, "invalid_target");
    let token = pair(&exchange(&world, &client, &code, &[]).await);
    e400(&refresh(&world, &client, &token.refresh, &[C]).await, "invalid_target");
    assert!(at(&world, A, &token.access).await.is_ok() && at(&world, B, &token.access).await.is_ok());
    wa(at(&world, C, &token.access).await.unwrap_err(), 401, "invalid_token");
    let stored = world.server.client(&id(&client)).await.unwrap().unwrap();
    assert_eq!(stored.open().unwrap().resources, Some([A, B].map(Box::from).into()));
    // A client without a bound can reach all of them.
    let free = world_with(config(three()), bounds()).await;
    let client = register(&free, public()).await;
    free.code_for(&asking(&free, &client, &[A, B, C])).await;
}

/// 7591-5-03, 8707-2.1-02
#[tokio::test]
async fn the_default_is_one_within_the_bound() {
    for (bound, expected) in [
        (&[A, B][..], Some(A)),
        (&[B], Some(B)),
        (&[B, "https://gone.example"], Some(B)),
        (&[B, C], None),
        (&["https://gone.example"], None),
        (&[], None),
    ] {
        let (world, client) = bounded(three(), bound).await;
        let asked = asking(&world, &client, &[]);
        let Some(expected) = expected else {
            red_by_link(&world.refused(&asked).await, 400, "invalid_target");
            continue;
        };
        let code = world.code_for(&asked).await;
        let token = pair(&exchange(&world, &client, &code, &[]).await);
        for identifier in [A, B, C] {
            assert_eq!(at(&world, identifier, &token.access).await.is_ok(), identifier == expected, "{bound:?}");
        }
    }
    // Without protected resources, the bound changes nothing.
    let (world, client) = bounded(Vec::new(), &[A]).await;
    world.code_for(&asking(&world, &client, &[C])).await;
    assert!(world.server.issuer() == ISSUER);
}

/// 7591-5-03, 8707-2.2-02
/// The settings got resources, or another default, after the grant.
#[tokio::test]
async fn the_bound_reduces_grants_that_exist() {
    let (world, client) = bounded(Vec::new(), &[B]).await;
    let code = world.code_for(&asking(&world, &client, &[])).await;
    let old = pair(&exchange(&world, &client, &code, &[]).await);
    let under = |resources: Vec<ProtectedResource>| {
        let builder = world.builder(config(resources), world.store.clone());
        builder.registration_policy(ApproveWithin::new(bounds())).build().unwrap()
    };
    // The grant names no resource, so it counts as one for the default, which the client may not reach.
    let server = under(three());
    let header = format!("Bearer {}", old.access);
    let request = grantor::wire::Request::new("GET").header("Authorization", header.as_bytes());
    for identifier in [A, B] {
        let refused = server.protected_resource(identifier).unwrap().authenticate(&request).await;
        wa(refused.unwrap_err(), 401, "invalid_token");
    }
    let mut moved = three();
    (moved[0].is_default, moved[1].is_default) = (false, true);
    let server = under(moved);
    assert!(server.protected_resource(B).unwrap().authenticate(&request).await.is_ok());
}

/// 7591-5-03
#[tokio::test]
async fn a_client_for_no_resource_of_the_user_is_refused() {
    let none = ResourceScope::specified(["a"]).unwrap().reduced_to(&ResourceScope::Public);
    let bounds = RegistrationBounds::new(super::scopes("repo-code:r"), none);
    let world = world_with(open(Profile::Mcp), bounds).await;
    super::refused(&super::post(&world, public().to_string()).await, 400, "invalid_client_metadata");
    let registrar = world.server.registrar().unwrap();
    let all = registrar.list(&ApplicationFilter::All, Page::first(9)).await.unwrap();
    assert!(all.iter().all(|application| !application.is_unreviewed()));
}
