//! RFC 8707: which protected resources a token is for.

use grantor::client::{GrantType, GrantTypes};
use grantor::config::Profile;
use grantor::protected_resource::ProtectedResource;
use grantor::scope::{Permission, Resource, ResourceScope, ScopeCatalog};
use grantor::testing::SeededEntropy;
use grantor::wire::{Request, Response};
use grantor::{
    ApplicationForm, Approval, Authenticated, AuthorizationServer, ClientId, Config, Consent, Decision, MemoryStore,
    ResourceError,
};
use serde_json::{Value, json};

use support::world::{
    Credentials, ISSUER, PKCE, SESSION, VERIFIER, With as _, World, code, config_of, e400, encode, form, ok, pair, red,
    text, wa,
};

const A: &str = "https://a.example/mcp";
const B: &str = "https://b.example/mcp";
const C: &str = "https://c.example";

pub(crate) fn resource(identifier: &str, scopes: &[&str]) -> ProtectedResource {
    let mut resource = ProtectedResource::new(identifier, format!("The API at {identifier}"));
    resource.scopes = scopes.iter().map(|&scope| scope.to_owned()).collect();
    resource
}

fn marked(resource: ProtectedResource) -> ProtectedResource {
    let mut resource = resource;
    resource.is_default = true;
    resource
}

/// The scopes of the world's client, and no others.
pub(crate) fn own_scopes() -> ScopeCatalog {
    let names = ["repo-code", "repo-issue", "account-profile"];
    let platform = ScopeCatalog::platform();
    let own = platform.definitions().iter().filter(|definition| names.contains(&definition.name()));
    ScopeCatalog::builder().scopes(own.cloned()).build().unwrap()
}

/// A serves code, B serves issues, C serves the account.
fn three() -> Vec<ProtectedResource> {
    let own = [(A, "repo-code:rw"), (B, "repo-issue:rw"), (C, "account-profile:rw")];
    own.into_iter().map(|(identifier, scope)| resource(identifier, &[scope])).collect()
}

fn config(resources: Vec<ProtectedResource>) -> Config {
    let mut config = config_of(Profile::Mcp);
    config.scopes = own_scopes();
    config.client_credentials.on = true;
    config.resources = resources;
    config
}

async fn world(resources: Vec<ProtectedResource>) -> World {
    World::built(config(resources), |builder| builder).await
}

/// The same records under other settings.
fn reconfigure(world: &mut World, config: Config) {
    world.server = world.builder(config, world.store.clone()).entropy(SeededEntropy::new(8)).build().unwrap();
}

/// A query that names these resources.
fn query(world: &World, resources: &[&str]) -> String {
    with_resources(world.query(&PKCE), resources)
}

fn with_resources(query: String, resources: &[&str]) -> String {
    resources.iter().fold(query, |query, resource| format!("{query}&{}", encode(&[("resource", resource)])))
}

async fn code_of(world: &World, resources: &[&str]) -> String {
    world.code_for(&query(world, resources)).await
}

async fn exchange(world: &World, code: &str, resources: &[&str]) -> Response {
    let call = world.token(&[("grant_type", "authorization_code"), ("code", code), ("code_verifier", VERIFIER)]);
    let call = resources.iter().fold(call, |call, resource| call.field("resource", resource));
    call.client(&world.client).send().await
}

async fn refresh(world: &World, token: &str, resources: &[&str]) -> Response {
    let call = world.token(&[("grant_type", "refresh_token"), ("refresh_token", token)]);
    let call = resources.iter().fold(call, |call, resource| call.field("resource", resource));
    call.client(&world.client).send().await
}

/// What introspection reports to the client that holds the token.
async fn introspected(world: &World, token: &str) -> Value {
    world.introspect_as(&world.client, token).await
}

async fn aud(world: &World, token: &str) -> Value {
    introspected(world, token).await["aud"].take()
}

pub(crate) async fn at(world: &World, resource: &str, token: &str) -> Result<Authenticated, ResourceError> {
    let header = format!("Bearer {token}");
    let request = Request::new("GET").header("Authorization", header.as_bytes());
    world.server.protected_resource(resource).unwrap().authenticate(&request).await
}

/// 8707-2-01
#[tokio::test]
async fn a_resource_is_an_absolute_uri_without_fragment() {
    let world = world(three()).await;
    let good = code_of(&world, &[A]).await;
    let escaped = |text: &str| encode(&[("resource", text)]);
    let mut values: Vec<String> =
        ["relative", "a.example/mcp", "//a.example/mcp", "https://a.example/mcp#", "https://a.example/mcp#x", "/mcp"]
            .map(escaped)
            .to_vec();
    values.extend(["resource=%zz".into(), "resource=https://a.example/mcp%".into(), "resource=%ff%fe".into()]);
    for value in &values {
        red(&world.refused(&format!("{}&{value}", query(&world, &[]))).await, "invalid_target");
        let form = encode(&[("grant_type", "authorization_code"), ("code", &good), ("code_verifier", VERIFIER)]);
        let call = world.token(&[]).raw_body(format!("{form}&{value}"));
        e400(&call.client(&world.client).send().await, "invalid_target");
    }
    let both = code_of(&world, &[A, B]).await;
    assert_eq!(aud(&world, &pair(&exchange(&world, &both, &[A, B]).await).access).await, json!([A, B]));
    ok(&exchange(&world, &good, &[A, A]).await);
}

/// 8707-2-02, 8707-2.2-05
#[tokio::test]
async fn one_unknown_resource_fails_the_whole_request() {
    let world = world(three()).await;
    let unknown = "https://unknown.example";
    for named in [&[unknown][..], &[A, unknown], &[unknown, A]] {
        red(&world.refused(&query(&world, named)).await, "invalid_target");
        let code = code_of(&world, &[A]).await;
        e400(&exchange(&world, &code, named).await, "invalid_target");
        let first = pair(&exchange(&world, &code, &[]).await);
        e400(&refresh(&world, &first.refresh, named).await, "invalid_target");
        ok(&refresh(&world, &first.refresh, &[]).await);
    }
    // B serves no scope that this client may have.
    let client = world.register(form().with(|form| form.scopes = "repo-code:rw account-profile:r".into())).await;
    let query_of = |named: &[&str]| with_resources(world.query_of(&client, &PKCE), named);
    red(&world.refused(&query_of(&[B])).await, "invalid_target");
    red(&world.refused(&query_of(&[A, B])).await, "invalid_target");
    code(&world.approve(&query_of(&[A, C])).await);
}

/// 8707-2-03
#[tokio::test]
async fn without_resources_even_a_malformed_one_is_ignored() {
    let world = World::mcp().await;
    let code = world.code_for(&format!("{}&resource=%zz&resource=%zz&resource", world.query(&PKCE))).await;
    let form = encode(&[("grant_type", "authorization_code"), ("code", &code), ("code_verifier", VERIFIER)]);
    let call = world.token(&[]).raw_body(format!("{form}&resource=%zz&resource=%ff"));
    let first = pair(&call.client(&world.client).send().await);
    let access = first.access;
    assert_eq!(aud(&world, &access).await, json!(ISSUER));
    assert!(world.opens(&access).await);
}

/// 8707-2-04
#[test]
fn the_list_of_resources_holds_together() {
    let refused = |resources: Vec<ProtectedResource>| {
        let error = AuthorizationServer::new(config(resources), MemoryStore::new()).unwrap_err();
        assert_eq!(error.field(), "resources", "{error}");
        error.to_string()
    };
    for identifier in ["https://a.example/mcp#", "http://127.0.0.1/mcp", "https://a.example/scope=x"] {
        let error = refused(vec![resource(identifier, &[])]);
        assert!(error.starts_with("resources is \""), "{error}");
    }
    for same in [A, "HTTPS://A.example:443/mcp"] {
        assert!(refused(vec![resource(A, &[]), resource(same, &[])]).contains("no other resource has"));
    }
    let error = refused(vec![resource(A, &["repo-code:rw"]), resource(B, &["repo-issue:r", "account-profile:r"])]);
    assert!(error.contains(A) && error.contains("repo-issue:rw"), "{error}");
    assert!(refused(vec![resource(A, &["repo-cod:r"])]).contains(A));
    assert!(refused(vec![marked(resource(A, &[])), marked(resource(B, &[]))]).contains(B));
    let with = |change: fn(&mut ProtectedResource)| {
        let mut resource = resource(A, &["repo-code:rw"]);
        change(&mut resource);
        refused(vec![resource, self::resource(B, &[])])
    };
    assert!(with(|resource| resource.basic_scopes = vec!["repo-issue:r".into()]).contains("basic_scopes"));
    assert!(with(|resource| resource.basic_scopes = vec!["unknown".into()]).contains(A));
    assert!(with(|resource| resource.name = "evil\u{202e}".into()).contains("name"));
    assert!(with(|resource| resource.tos_uri = Some("not a link".into())).contains("tos_uri"));
    let mut development = config(vec![resource("http://127.0.0.1:8080/mcp", &[])]);
    development.development = true;
    assert!(AuthorizationServer::new(development, MemoryStore::new()).is_ok());
    assert!(AuthorizationServer::new(config(three()), MemoryStore::new()).is_ok());
}

/// 8707-2-05, 8707-2-06, MCP-0618-08, 8707-2-07
#[tokio::test]
async fn identifiers_are_compared_byte_by_byte_but_for_what_libraries_change() {
    let world = world(three()).await;
    for same in ["https://c.example", "https://c.example/", "HTTPS://C.Example:443/", "https://C.EXAMPLE:443"] {
        let code = code_of(&world, &[same]).await;
        assert_eq!(aud(&world, &pair(&exchange(&world, &code, &[same]).await).access).await, C, "{same}");
    }
    for other in ["/mcp/", "/MCP", "/%6dcp", "/mcp?x", "", "/", "/mcp/x", "/mcp2", ":8443/mcp"] {
        let other = format!("https://a.example{other}");
        red(&world.refused(&query(&world, &[&other])).await, "invalid_target");
    }
}

/// 8707-2-08
#[tokio::test]
async fn count_and_length_of_resources_are_bounded() {
    let identifiers: Vec<String> = (0..9).map(|number| format!("https://r{number}.example")).collect();
    let all: Vec<&str> = identifiers.iter().map(String::as_str).collect();
    let mut resources: Vec<_> = all.iter().map(|identifier| resource(identifier, &[])).collect();
    resources[3].is_default = true;
    let world = world(resources).await;
    red(&world.refused(&query(&world, &all)).await, "invalid_target");
    let code = code_of(&world, &all[..8]).await;
    assert_eq!(aud(&world, &pair(&exchange(&world, &code, &[]).await).access).await.as_array().unwrap().len(), 8);
    let long = format!("https://r0.example/{}", "x".repeat(2049));
    red(&world.refused(&query(&world, &[&long])).await, "invalid_target");
    let code = code_of(&world, &[all[1]; 12]).await;
    assert_eq!(aud(&world, &pair(&exchange(&world, &code, &["", all[1], ""]).await).access).await, all[1]);
    let code = code_of(&world, &[""]).await;
    assert_eq!(aud(&world, &pair(&exchange(&world, &code, &[""]).await).access).await, all[3], "the default");
}

/// 8707-2.1-01
#[tokio::test]
async fn the_consent_shows_the_resources_and_the_grant_keeps_them() {
    let world = world(three()).await;
    let pending = world.authorize(&query(&world, &[A])).await.unwrap();
    let shown: Vec<_> = pending.protected_resources().map(|own| (own.shown_name(), own.identifier.as_str())).collect();
    assert_eq!(shown, [("The API at https://a.example/mcp", A)]);
    let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    let decision = Decision::Approve(Consent::to_everything());
    let answer = world.server.decide(handle.expose(), &world.alice, SESSION, &decision).await.unwrap();
    let code = text(&code(&answer), "code");
    let waiting = world.server.authorizations_of(&world.alice).await.unwrap();
    assert_eq!(waiting[0].protected_resources().collect::<Vec<_>>(), [A]);
    e400(&exchange(&world, &code, &[B]).await, "invalid_target");
    let first = pair(&exchange(&world, &code, &[]).await);
    assert_eq!((aud(&world, &first.access).await, first.scope.as_str()), (json!(A), "repo-code:rw"));
    let grants = world.server.grants_of(&world.alice).await.unwrap();
    assert_eq!(grants[0].protected_resources().collect::<Vec<_>>(), [A]);
    let second = pair(&refresh(&world, &first.refresh, &[]).await);
    assert_eq!(aud(&world, &second.access).await, A);
    let unnamed = World::mcp().await;
    let pending = unnamed.authorize(&unnamed.query(&PKCE)).await.unwrap();
    assert_eq!(pending.protected_resources().count(), 0);
}

/// 8707-2.1-02, MCP-0326-02
#[tokio::test]
async fn a_request_that_names_no_resource_is_for_the_default() {
    let two = || vec![resource(A, &[]), resource(B, &[])];
    let with_mark = || vec![resource(A, &[]), marked(resource(B, &[]))];
    for (resources, expected) in [(vec![resource(A, &[])], A), (with_mark(), B)] {
        let world = world(resources).await;
        let first = world.pair().await;
        assert_eq!(aud(&world, &first.access).await, expected);
        assert!(at(&world, expected, &first.access).await.is_ok() && world.opens(&first.access).await);
        let second = pair(&world.refresh(&first.refresh).await);
        assert_eq!(aud(&world, &second.access).await, expected);
    }
    let unmarked = world(two()).await;
    red(&unmarked.refused(&query(&unmarked, &[])).await, "invalid_target");
    let code = code_of(&unmarked, &[B]).await;
    let token = pair(&exchange(&unmarked, &code, &[]).await).access;
    assert!(at(&unmarked, B, &token).await.is_ok());
    wa(unmarked.access(&token).await.unwrap_err(), 401, "invalid_token");
    let mut demanding = config(vec![resource(A, &[])]);
    demanding.require_resource = true;
    let demanding = World::built(demanding, |builder| builder).await;
    red(&demanding.refused(&query(&demanding, &[])).await, "invalid_target");
    let code = code_of(&demanding, &[A]).await;
    let first = pair(&exchange(&demanding, &code, &[]).await);
    ok(&refresh(&demanding, &first.refresh, &[]).await);
}

/// 8707-2.1-03
#[tokio::test]
async fn scopes_are_judged_against_the_resources() {
    let world = world(three()).await;
    let query = |scope: &str, named: &[&str]| with_resources(world.query(&[("scope", scope), PKCE[0], PKCE[1]]), named);
    red(&world.refused(&query("repo-issue:r", &[A])).await, "invalid_scope");
    red(&world.refused(&query("repo-code:r repo-issue:r", &[A])).await, "invalid_scope");
    let code = world.code_for(&query("repo-issue:r repo-code:r", &[A, B])).await;
    assert_eq!(pair(&exchange(&world, &code, &[]).await).scope, "repo-code:r repo-issue:r");
    let code = code_of(&world, &[A]).await;
    assert_eq!(pair(&exchange(&world, &code, &[]).await).scope, "repo-code:rw");
}

/// 8707-2.2-01, 8707-2.2-03, 8707-2.2-04
#[tokio::test]
async fn a_token_request_reduces_and_reducing_does_not_stick() {
    let world = world(three()).await;
    let code = code_of(&world, &[A, B]).await;
    e400(&exchange(&world, &code, &[A, C]).await, "invalid_target");
    let first = pair(&exchange(&world, &code, &["https://A.example:443/mcp"]).await);
    assert_eq!((aud(&world, &first.access).await, first.scope.as_str()), (json!(A), "repo-code:rw"));
    assert!(at(&world, A, &first.access).await.is_ok());
    wa(at(&world, B, &first.access).await.unwrap_err(), 401, "invalid_token");
    let second = pair(&refresh(&world, &first.refresh, &[B]).await);
    assert_eq!((aud(&world, &second.access).await, second.scope.as_str()), (json!(B), "repo-issue:rw"));
    assert_eq!(aud(&world, &first.access).await, json!(A), "it is superseded, and works in its grace");
    wa(at(&world, B, &first.access).await.unwrap_err(), 401, "invalid_token");
    let third = pair(&refresh(&world, &second.refresh, &[]).await);
    assert_eq!(aud(&world, &third.access).await, json!([A, B]));
    assert_eq!(third.scope, "repo-code:rw repo-issue:rw");
    e400(&refresh(&world, &third.refresh, &[A, B, C]).await, "invalid_target");

    // The grant is for A and C, but has only scopes of A.
    let query = with_resources(world.query(&[("scope", "repo-code:r"), PKCE[0], PKCE[1]]), &[A, C]);
    let code = world.code_for(&query).await;
    e400(&exchange(&world, &code, &[C]).await, "invalid_target");
    let first = pair(&exchange(&world, &code, &[]).await);
    e400(&refresh(&world, &first.refresh, &[C]).await, "invalid_target");
    assert_eq!(pair(&refresh(&world, &first.refresh, &[A]).await).scope, "repo-code:r");
}

/// 8707-2.2-02
#[tokio::test]
async fn a_resource_that_was_removed_reduces_or_ends_the_grant() {
    let mut world = world(three()).await;
    let alone = pair(&exchange(&world, &code_of(&world, &[A]).await, &[]).await);
    let both = pair(&exchange(&world, &code_of(&world, &[A, B]).await, &[]).await);
    let unused = code_of(&world, &[A]).await;
    reconfigure(&mut world, config(vec![resource(B, &[]), resource(C, &[])]));
    e400(&refresh(&world, &alone.refresh, &[]).await, "invalid_grant");
    e400(&refresh(&world, &alone.refresh, &[A]).await, "invalid_grant");
    e400(&exchange(&world, &unused, &[]).await, "invalid_grant");
    e400(&refresh(&world, &both.refresh, &[A]).await, "invalid_target");
    wa(at(&world, B, &alone.access).await.unwrap_err(), 401, "invalid_token");
    assert_eq!(introspected(&world, &alone.access).await, json!({"active": false}));
    assert_eq!(aud(&world, &both.access).await, B);
    let left = pair(&refresh(&world, &both.refresh, &[]).await);
    assert_eq!(aud(&world, &left.access).await, B);
    // Without any resource, a grant for one is refused too.
    reconfigure(&mut world, config(Vec::new()));
    e400(&refresh(&world, &left.refresh, &[]).await, "invalid_grant");
    assert!(!world.opens(&left.access).await && !world.opens(&alone.access).await);
    assert!(world.events.take().iter().all(|event| !event.starts_with("RefreshTokenReused")));
    // Nothing was revoked.
    reconfigure(&mut world, config(three()));
    ok(&refresh(&world, &alone.refresh, &[]).await);
    assert_eq!(aud(&world, &pair(&refresh(&world, &left.refresh, &[]).await).access).await, json!([A, B]));
}

/// 8707-2.2-03
/// In its grace, a refresh token returns the newest pair again if that is for the same resources.
#[tokio::test]
async fn a_repeated_refresh_gets_the_same_pair_for_the_same_resources() {
    let world = world(three()).await;
    let first = pair(&exchange(&world, &code_of(&world, &[A, B]).await, &[]).await);
    let second = pair(&refresh(&world, &first.refresh, &[A]).await);
    assert_eq!(pair(&refresh(&world, &first.refresh, &[A, A]).await), second);
    let other = pair(&refresh(&world, &first.refresh, &[]).await);
    assert!(other.access != second.access && other.refresh == second.refresh, "one more access token");
    assert_eq!(aud(&world, &other.access).await, json!([A, B]));
    let again = pair(&refresh(&world, &first.refresh, &[B, A]).await);
    assert!(again.access != other.access && again.refresh == second.refresh);
    assert_eq!(aud(&world, &again.access).await, json!([A, B]));
    assert_eq!(pair(&refresh(&world, &first.refresh, &[A]).await), second);
}

/// 8707-2.2-03
#[tokio::test]
async fn in_grace_another_resource_gets_another_token_though_the_scopes_are_the_same() {
    let world = world(vec![resource(A, &[]), resource(B, &[])]).await;
    let first = pair(&exchange(&world, &code_of(&world, &[A, B]).await, &[]).await);
    let second = pair(&refresh(&world, &first.refresh, &[A]).await);
    let other = pair(&refresh(&world, &first.refresh, &[B]).await);
    assert_eq!((&other.scope, &other.refresh), (&second.scope, &second.refresh));
    assert_eq!((aud(&world, &second.access).await, aud(&world, &other.access).await), (json!(A), json!(B)));
    assert!(at(&world, B, &other.access).await.is_ok());
    wa(at(&world, B, &second.access).await.unwrap_err(), 401, "invalid_token");
}

/// 8707-2.2-06
/// The grant was made before the server had resources.
#[tokio::test]
async fn a_grant_without_resources_is_for_the_default() {
    let mut world = world(Vec::new()).await;
    let old = world.pair().await;
    reconfigure(&mut world, config(vec![resource(A, &[]), marked(resource(B, &[]))]));
    assert!(at(&world, B, &old.access).await.is_ok() && world.opens(&old.access).await);
    wa(at(&world, A, &old.access).await.unwrap_err(), 401, "invalid_token");
    assert_eq!(aud(&world, &old.access).await, B);
    e400(&refresh(&world, &old.refresh, &[A]).await, "invalid_target");
    let second = pair(&refresh(&world, &old.refresh, &[]).await);
    assert!(at(&world, B, &second.access).await.is_ok());
    let named = pair(&refresh(&world, &second.refresh, &[B]).await);
    assert_eq!(aud(&world, &named.access).await, B);
    reconfigure(&mut world, config(vec![resource(A, &[]), resource(B, &[])]));
    e400(&refresh(&world, &named.refresh, &[]).await, "invalid_grant");
    e400(&refresh(&world, &named.refresh, &[B]).await, "invalid_grant");
    assert!(at(&world, B, &second.access).await.is_err() && at(&world, A, &second.access).await.is_err());
    assert!(at(&world, B, &named.access).await.is_ok(), "it was asked for by name");
}

/// 8707-2.2-07, 7662-2.2-07
#[tokio::test]
async fn introspection_reports_the_audience_and_a_resource_server_sees_its_own() {
    let mut world = world(Vec::new()).await;
    let server_of_a = world.register(form()).await;
    let before = world.pair().await;
    assert_eq!(aud(&world, &before.access).await, ISSUER);
    let mut resources = three();
    resources[0].resource_servers = vec![ClientId::new(&server_of_a.id).unwrap()];
    reconfigure(&mut world, config(resources));
    assert_eq!(introspected(&world, &before.access).await, json!({"active": false}), "there is no default");
    let token_for = async |named: &[&str]| pair(&exchange(&world, &code_of(&world, named).await, &[]).await).access;
    let (for_a, for_b, for_both) = (token_for(&[A]).await, token_for(&[B]).await, token_for(&[A, B]).await);
    assert_eq!(aud(&world, &for_a).await, A);
    assert_eq!(aud(&world, &for_both).await, json!([A, B]));
    let seen = async |token: &str| world.introspect_as(&server_of_a, token).await;
    assert_eq!(seen(&for_b).await, json!({"active": false}));
    assert_eq!(seen(&for_a).await["aud"], A);
    let both = seen(&for_both).await;
    assert_eq!((&both["active"], &both["aud"], &both["scope"]), (&json!(true), &json!(A), &json!("repo-code:rw")));
    let plain = World::built(config(Vec::new()), |builder| builder).await;
    assert_eq!(aud(&plain, &plain.pair().await.access).await, ISSUER);
}

/// 8707-3-01, NEG-13, NEG-OC-13, MCP-0618-09
#[tokio::test]
async fn a_resource_refuses_tokens_for_others() {
    let world = world(three()).await;
    let token_for = async |named: &[&str]| pair(&exchange(&world, &code_of(&world, named).await, &[]).await).access;
    let for_b = token_for(&[B]).await;
    wa(at(&world, A, &for_b).await.unwrap_err(), 401, "invalid_token");
    wa(at(&world, C, &for_b).await.unwrap_err(), 401, "invalid_token");
    assert!(at(&world, B, &for_b).await.is_ok());
    // A hostile resource names the scopes of another one: the token is still only for the first.
    let code = code_of(&world, &[A, B]).await;
    let reduced = pair(&exchange(&world, &code, &[A]).await).access;
    wa(at(&world, B, &reduced).await.unwrap_err(), 401, "invalid_token");
    // A token for both has at each resource only the scopes that this one serves.
    let for_both = token_for(&[A, B]).await;
    let both = at(&world, A, &for_both).await.unwrap();
    assert_eq!(both.scopes().as_str(), "repo-code:rw");
    assert!(both.permits("repo-code", Permission::ReadWrite, Resource::Account));
    assert!(!both.permits("repo-issue", Permission::Read, Resource::Account));
    for typo in ["https://a.example/mpc", "https://a.example/mcp/", "a.example/mcp", ""] {
        let error = world.server.protected_resource(typo).unwrap_err();
        assert_eq!(error.field(), "resources");
        assert!(error.remedy().contains(A), "{error}");
    }
    let none = World::mcp().await;
    assert!(none.server.protected_resource(A).unwrap_err().remedy().contains("add this resource"));
}

/// A client of the platform's kind, which may list repositories.
async fn of_two_repositories(world: &World) -> Credentials {
    let form = form().with(|form| form.resource_scope = Some(ResourceScope::specified(["r", "s", "t"]).unwrap()));
    world.register(form).await
}

/// 8707-SVC-01, 8707-SVC-03
#[tokio::test]
async fn audience_and_resource_scope_both_have_to_admit() {
    let world = world(three()).await;
    let client = of_two_repositories(&world).await;
    let query = with_resources(world.query_of(&client, &PKCE), &[A]);
    let decision = Decision::Approve(Consent::to_everything().resources(["r"]));
    let code = text(&code(&world.decide(&query, decision).await), "code");
    let token = pair(&world.exchange_as(&client, &code).await).access;
    wa(at(&world, B, &token).await.unwrap_err(), 401, "invalid_token");
    let token = at(&world, A, &token).await.unwrap();
    let require = |scope, permission, name| {
        world
            .server
            .resource()
            .where_presented(&token)
            .require(&token, scope, permission, Resource::Private(name))
            .map_err(ResourceError::into_response)
    };
    assert!(require("repo-code", Permission::ReadWrite, "r").is_ok());
    let refused = require("repo-code", Permission::ReadWrite, "s").unwrap_err();
    assert_eq!(refused.status(), 403);
    let challenge = refused.header("WWW-Authenticate").unwrap();
    assert!(!challenge.contains("error=") && !challenge.contains("scope="), "{challenge}");
    let refused = require("repo-issue", Permission::Read, "r").unwrap_err();
    assert_eq!(refused.status(), 403);
    assert!(refused.header("WWW-Authenticate").unwrap().contains("error=\"insufficient_scope\""));
}

/// 8707-SVC-02
#[tokio::test]
async fn neither_axis_changes_the_other() {
    let world = world(three()).await;
    let client = of_two_repositories(&world).await;
    let query = with_resources(world.query_of(&client, &PKCE), &[A, B]);
    let decision = Decision::Approve(Consent::to_everything().resources(["r", "s"]));
    let code = text(&code(&world.decide(&query, decision).await), "code");
    let first = pair(&world.exchange_as(&client, &code).await);
    let seen = world.introspect_as(&client, &first.access).await;
    assert_eq!((&seen["aud"], &seen["resources"]), (&json!([A, B]), &json!(["r", "s"])));
    let call = world.token(&[("grant_type", "refresh_token"), ("refresh_token", &first.refresh), ("resource", A)]);
    let second = pair(&call.client(&client).send().await);
    let seen = world.introspect_as(&client, &second.access).await;
    assert_eq!((&seen["aud"], &seen["resources"]), (&json!(A), &json!(["r", "s"])));
    assert_eq!(seen["resource_scope"], "specified");
}

/// 8707-SVC-04
#[test]
fn the_described_request_names_no_resource_and_works() {
    let refused = |change: fn(&mut Config)| {
        let mut config = config_of(Profile::Platform);
        config.resources = vec![resource(A, &[]), resource(B, &[])];
        change(&mut config);
        AuthorizationServer::new(config, MemoryStore::new()).err().map(|error| error.field())
    };
    assert_eq!(refused(|_| {}), Some("resources"));
    assert_eq!(refused(|config| config.resources[0].is_default = true), None);
    assert_eq!(refused(|config| config.resources.truncate(1)), None);
    let demanding: fn(&mut Config) = |config| {
        config.resources.truncate(1);
        config.require_resource = true;
    };
    assert_eq!(refused(demanding), Some("require_resource"));
}

/// 8707-2-02, 8707-2.1-02, 8707-2.1-03
/// A client that acts for itself names resources as in an authorization request.
#[tokio::test]
async fn a_token_without_a_user_is_for_resources_too() {
    let mut world = world(Vec::new()).await;
    let client_credentials_form = |form: ApplicationForm| {
        let mut form = form;
        form.grant_types = GrantTypes::default().with(GrantType::ClientCredentials);
        form.client_scopes = "repo-code:rw repo-issue:r".into();
        form.client_resources = Some(ResourceScope::All);
        form
    };
    let client = world.register_as(client_credentials_form(form()), Approval::default()).await;
    let token = async |world: &World, named: &[&str], scope: &str| {
        let call = world.token(&[("grant_type", "client_credentials"), ("scope", scope)]);
        let call = named.iter().fold(call, |call, resource| call.field("resource", resource));
        call.client(&client).send().await
    };
    let access = |response: &Response| ok(response).access_token.expose().to_owned();
    let old = access(&token(&world, &[A], "").await);
    let mut resources = three();
    resources[1].is_default = true;
    reconfigure(&mut world, config(resources));
    assert!(at(&world, B, &old).await.is_ok() && at(&world, A, &old).await.is_err(), "for the default");
    let for_a = access(&token(&world, &[A], "").await);
    let own = at(&world, A, &for_a).await.unwrap();
    assert_eq!(own.scopes().as_str(), "repo-code:rw");
    assert!(at(&world, B, &for_a).await.is_err());
    let unnamed = access(&token(&world, &[], "").await);
    assert_eq!(at(&world, B, &unnamed).await.unwrap().scopes().as_str(), "repo-issue:r");
    assert!(at(&world, A, &old).await.is_err() && at(&world, B, &old).await.is_ok(), "tokens of a place are separate");
    e400(&token(&world, &[A], "repo-issue:r").await, "invalid_scope");
    e400(&token(&world, &[C], "").await, "invalid_target");
    e400(&token(&world, &["https://unknown.example"], "").await, "invalid_target");
}

/// 8707-2.2-02
///
/// While a first resource is rolled out, a process with the old settings costs no client its tokens: it answers with
/// 503. What settings without a newer number lack was removed for good.
#[tokio::test]
async fn a_first_resource_is_rolled_out_without_a_sign_in() {
    let numbered = |resources, revision| {
        let mut config = config(resources);
        config.revision = revision;
        config
    };
    let mut world = World::built(numbered(three(), 1), |builder| builder).await;
    let (code, used) = (code_of(&world, &[A]).await, code_of(&world, &[A]).await);
    let live = pair(&exchange(&world, &used, &[]).await);
    reconfigure(&mut world, numbered(vec![], 0));
    for response in [exchange(&world, &code, &[]).await, refresh(&world, &live.refresh, &[]).await] {
        assert_eq!((response.status(), response.header("Retry-After")), (503, Some("1")));
    }
    assert_eq!(world.access(&live.access).await.unwrap_err().into_response().status(), 503);
    assert!(world.events.take().iter().any(|event| event.contains("NewerSettings")));
    reconfigure(&mut world, numbered(three(), 1));
    assert!(at(&world, A, &live.access).await.is_ok());
    ok(&exchange(&world, &code, &[]).await);
    let next = pair(&refresh(&world, &live.refresh, &[]).await);

    reconfigure(&mut world, numbered(vec![], 1));
    e400(&refresh(&world, &next.refresh, &[]).await, "invalid_grant");
    wa(world.access(&next.access).await.unwrap_err(), 401, "invalid_token");
}
