//! Claims that a service adds to access tokens.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use grantor::config::{DpopBoundTokens, Profile};
use grantor::fetch::{FetchError, FetchResponse, Transport, TransportRequest};
use grantor::hooks::{Claims, TokenContext};
use grantor::interaction::SignedIn;
use grantor::protected_resource::AccessTokenFormat;
use grantor::resource::{ExpectedAudience, IntrospectionSettings, JwtSettings, JwtVerifier, ResourceClient};
use grantor::wire::{Endpoint, Request, Response};
use grantor::{
    Authenticated, ClientId, ClientSecret, Config, Consent, Decision, GrantData, Reason, ResourceError, ResourceServer,
};
use serde_json::{Map, Value, json};

use crate::rfc8707::resource;
use crate::rfc9449::at_resource::{get, proof, show, wd};
use crate::rfc9449::bound_pair_of;
use support::intercepted::scripts::{Calls, Yielding};
use support::intercepted::{Fate, over_with};
use support::keys::Signer;
use support::to_server::ToServer;
use support::world::{Credentials, ISSUER, PKCE, Pair, SCOPES, SESSION, START, World, code, config_of, ok, pair, text};

/// The default resource, which has JWTs.
const A: &str = "https://a.example/api";
/// Its tokens are opaque, as those of `C`.
const B: &str = "https://b.example/api";
const C: &str = "https://c.example/api";
const API_SECRET: &str = "the secret of the API, long enough";

/// A hook that answers as a test says. Clones share what it was asked.
#[derive(Clone, Debug, Default)]
struct Hook(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Each answer has the number of its question, so that no two are equal.
    counts: bool,
    always: Option<Value>,
    asked: Vec<Value>,
}

impl Hook {
    fn always(&self, claims: impl Into<Option<Value>>) {
        self.0.lock().unwrap().always = claims.into();
    }

    /// What it was asked since the last call.
    fn asked(&self) -> Vec<Value> {
        std::mem::take(&mut self.0.lock().unwrap().asked)
    }
}

impl Claims for Hook {
    fn of_token(&self, token: &TokenContext<'_>) -> Map<String, Value> {
        let mut state = self.0.lock().unwrap();
        let seen = json!({
            "tenant": token.data.map(|data| String::from_utf8_lossy(data.as_bytes())),
            "for": token.audience,
            "may": token.scopes.as_str(),
            "who": token.subject.map(|subject| subject.as_str()),
            "app": token.client.id().as_str(),
            "of": token.grant.to_string(),
        });
        state.asked.push(seen.clone());
        let Value::Object(mut claims) = state.always.clone().unwrap_or(seen) else { panic!("an object") };
        if state.counts {
            claims.insert("number".to_owned(), state.asked.len().into());
        }
        claims
    }
}

fn config() -> Config {
    let mut config = config_of(Profile::Strict);
    let api = |identifier: &str, id: &str| {
        let mut api = resource(identifier, &[]);
        api.resource_servers = vec![ClientId::new(id).unwrap()];
        api
    };
    let mut jwts = api(A, "api-a");
    (jwts.access_tokens, jwts.is_default) = (AccessTokenFormat::Jwt, true);
    let mut narrow = api(B, "api-b");
    narrow.scopes = vec!["repo-code:rw".to_owned()];
    config.resources = vec![jwts, narrow, api(C, "api-c")];
    config
}

/// A world with that hook, and the client of each API.
async fn world_with(hook: &Hook, change: impl FnOnce(&mut Config)) -> World {
    let mut config = config();
    change(&mut config);
    let keys = vec![Signer::ed25519().signing_key()];
    let mut world = World::built(config, |builder| builder.signing_keys(keys.clone()).claims(hook.clone())).await;
    world.keys = keys;
    for id in ["api-a", "api-b", "api-c"] {
        world.server.own_client(id).name(id).resource_server().secret(API_SECRET).ensure().await.unwrap();
    }
    world
}

async fn world(hook: &Hook) -> World {
    world_with(hook, |_| {}).await
}

fn api(id: &str) -> Credentials {
    Credentials { id: id.to_owned(), secret: API_SECRET.to_owned() }
}

/// The same world over a store that does as a script says.
fn over(world: &World, hook: &Hook, script: impl support::intercepted::Script) -> World {
    let keys = world.keys.clone();
    over_with(world, script, |builder| builder.signing_keys(keys).claims(hook.clone()))
}

/// A code for these resources of a user of that tenant.
async fn code_for(world: &World, resources: &[&str]) -> String {
    let named: Vec<_> = resources.iter().map(|&own| ("resource", own)).collect();
    let pending = world.authorize(&world.query(&[&PKCE[..], &named].concat())).await.unwrap();
    let ticket = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    let user = SignedIn::new(world.alice.clone()).data(GrantData::new("acme").unwrap());
    let all = Decision::Approve(Consent::to_everything());
    text(&code(&world.server.decide(ticket.expose(), &user, SESSION, &all).await.unwrap()), "code")
}

async fn pair_for(world: &World, resources: &[&str]) -> Pair {
    pair(&world.exchange(&code_for(world, resources).await).await)
}

async fn introspect(world: &World, caller: &Credentials, token: &str) -> Response {
    world.post(Endpoint::Introspection, &[("token", token)]).client(caller).send().await
}

/// The members of a JWT or of an answer that the library does not write.
fn own(members: &[u8]) -> Map<String, Value> {
    const LIBRARY: [&str; 14] = [
        "active",
        "aud",
        "client_id",
        "cnf",
        "exp",
        "iat",
        "iss",
        "jti",
        "resource_scope",
        "resources",
        "scope",
        "sub",
        "token_type",
        "nbf",
    ];
    let mut members: Map<String, Value> = serde_json::from_slice(members).unwrap();
    members.retain(|name, _| !LIBRARY.contains(&name.as_str()));
    members
}

fn jwt_claims(token: &str) -> Map<String, Value> {
    own(&URL_SAFE_NO_PAD.decode(token.split('.').nth(1).expect("a JWT")).unwrap())
}

async fn authenticated(resource: &ResourceServer, token: &str) -> Result<Authenticated, ResourceError> {
    let header = format!("Bearer {token}");
    resource.authenticate(&Request::new("GET").header("Authorization", header.as_bytes())).await
}

fn introspecting(world: &World, id: &str, identifier: &str, transport: impl Transport) -> ResourceServer {
    let (endpoint, audience) = (format!("{ISSUER}/oauth2/introspect"), ExpectedAudience::Is(identifier.to_owned()));
    let settings = IntrospectionSettings::new(endpoint, id, ClientSecret::new(API_SECRET), ISSUER, audience);
    let client = ResourceClient::new(settings, transport).unwrap().with_clock(world.clock.clone());
    ResourceServer::introspecting(world.server.config().clone(), client).unwrap()
}

/// OWN-10
#[tokio::test]
async fn the_hook_is_asked_for_jwts_introspection_and_claims_alone() {
    let hook = Hook::default();
    let world = world(&hook).await;
    let opaque = pair_for(&world, &[B]).await.access;
    assert_eq!(hook.asked().len(), 0, "an opaque token");
    let signed = pair_for(&world, &[A]).await.access;
    assert_eq!(hook.asked().len(), 1, "a JWT");
    for (token, id) in [(&opaque, "api-b"), (&signed, "api-a")] {
        introspect(&world, &api(id), token).await;
        assert_eq!(hook.asked().len(), 1, "introspection");
    }
    let found = world.access(&signed).await.unwrap();
    assert_eq!(hook.asked().len(), 0, "a check");
    assert_eq!(found.claims().unwrap(), found.clone().claims().unwrap());
    assert_eq!(hook.asked().len(), 1, "two calls");
}

/// OWN-11, OWN-03
#[tokio::test]
async fn every_way_to_read_a_token_gives_the_same_claims() {
    let hook = Hook::default();
    let world = world(&hook).await;
    let token = pair_for(&world, &[A]).await.access;
    let found = world.access(&token).await.unwrap();
    let expected = found.claims().unwrap().clone();
    assert_eq!(
        (&expected["tenant"], &expected["for"], &expected["who"]),
        (&json!("acme"), &json!([A]), &json!("alice"))
    );
    assert_eq!(jwt_claims(&token), expected);
    assert_eq!(own(introspect(&world, &api("api-a"), &token).await.body()), expected);
    let asking = introspecting(&world, "api-a", A, ToServer(world.server.clone()));
    let settings = JwtSettings::of_server(world.server.config(), A);
    let verifier = JwtVerifier::new(settings, ToServer(world.server.clone())).unwrap().with_clock(world.clock.clone());
    let verifying = ResourceServer::jwt(world.server.config().clone(), verifier).unwrap();
    for resource in [asking, verifying] {
        for _ in 0..2 {
            let found = authenticated(&resource, &token).await.unwrap();
            assert_eq!((found.claims().unwrap(), found.data()), (&expected, None));
        }
    }
}

/// A server of another vendor.
#[derive(Clone, Debug)]
struct Vendor(Value, Arc<Mutex<usize>>);

#[async_trait]
impl Transport for Vendor {
    async fn send(&self, _: &TransportRequest<'_>) -> Result<FetchResponse, FetchError> {
        *self.1.lock().unwrap() += 1;
        let mut response = FetchResponse::new(200, self.0.to_string());
        response.content_type = Some("application/json".to_owned());
        Ok(response)
    }
}

/// OWN-11
#[tokio::test]
async fn an_answer_of_another_server_has_the_members_that_the_library_does_not_read() {
    let world = World::platform().await;
    let groups = json!(["a", {"b": -1.5}]);
    let answer = json!({
        "active": true, "client_id": "app", "sub": "alice", "scope": "repo-code:r", "aud": ISSUER, "typ": "Bearer",
        "groups": groups,
    });
    let resource = introspecting(&world, "api", ISSUER, Vendor(answer, Arc::default()));
    let found = authenticated(&resource, "any").await.unwrap();
    assert_eq!(Value::Object(found.claims().unwrap().clone()), json!({"groups": groups}));
}

/// OWN-12
#[tokio::test]
async fn a_refused_claim_makes_no_token_and_changes_nothing() {
    let hook = Hook::default();
    let world = world(&hook).await;
    let (code, tokens) = (code_for(&world, &[A]).await, pair_for(&world, &[A]).await);
    let found = world.access(&tokens.access).await.unwrap();
    world.events.take();
    hook.always(json!({"tenant": "acme", "Scope": "repo-code:rw"}));
    let refused =
        |response: &Response| assert_eq!((response.status(), response.header("Retry-After")), (503, Some("1")));
    for _ in 0..2 {
        refused(&world.exchange(&code).await);
        refused(&world.refresh(&tokens.refresh).await);
        refused(&introspect(&world, &api("api-a"), &tokens.access).await);
        let error = found.claims().unwrap_err();
        assert!(matches!(error.reason(), Reason::Claims(_)), "{error}");
        assert_eq!(error.into_response().status(), 503);
    }
    let events = || world.events.take().into_iter().filter(|event| event.starts_with("ClaimsRefused")).collect();
    let raised: Vec<String> = events();
    assert!(raised.len() == 1 && raised[0].contains("\"Scope\""), "{raised:?}");
    world.advance(60);
    refused(&world.refresh(&tokens.refresh).await);
    let raised: Vec<String> = events();
    assert_eq!(raised.len(), 1, "{raised:?}");
    hook.always(None);
    pair(&world.exchange(&code).await);
    let second = pair(&world.refresh(&tokens.refresh).await);
    assert_eq!(found.claims().unwrap()["tenant"], "acme");
    assert!(world.opens(&second.access).await);
}

/// OWN-13
#[tokio::test]
async fn claims_have_a_limit_and_a_jwt_that_they_make_too_long_is_opaque() {
    let hook = Hook::default();
    let world = world(&hook).await;
    let of_size = |size: usize| json!({"a": "x".repeat(size - r#"{"a":""}"#.len())});
    let deep = (1..9).fold(json!({}), |inner, _| json!({"a": inner}));
    for (claims, status) in [(of_size(2048), 200), (of_size(2049), 503), (deep, 503)] {
        hook.always(claims);
        assert_eq!(world.exchange(&code_for(&world, &[A]).await).await.status(), status);
    }
    let names: Vec<String> = (100..120).map(|number| format!("project/a-name-of-some-length-{number:04}")).collect();
    let consent = Consent::to_everything().resources(names.iter().map(String::as_str));
    for (claims, is_jwt) in [(of_size(100), true), (of_size(2048), false)] {
        hook.always(claims.clone());
        let answer = world.decide(&world.query(&PKCE), Decision::Approve(consent.clone())).await;
        let token = pair(&world.exchange(&text(&code(&answer), "code")).await).access;
        assert_eq!(token.contains('.'), is_jwt);
        let described = introspect(&world, &api("api-a"), &token).await;
        assert_eq!(Value::Object(own(described.body())), claims);
    }
}

/// OWN-14
#[tokio::test]
async fn a_hook_with_another_answer_each_time_breaks_nothing() {
    let hook = Hook::default();
    hook.0.lock().unwrap().counts = true;
    let world = world(&hook).await;
    let tokens = pair_for(&world, &[A]).await;
    let again = [pair(&world.refresh(&tokens.refresh).await), pair(&world.refresh(&tokens.refresh).await)];
    let [first, second] = again.each_ref().map(|pair| jwt_claims(&pair.access)["number"].clone());
    assert_ne!(first, second);
    for pair in &again {
        assert!(world.opens(&pair.access).await, "both name one record");
    }
    let code = code_for(&world, &[A]).await;
    let slow = over(&world, &hook, Yielding);
    let exchanged = futures::future::join_all((0..50).map(|_| slow.exchange(&code))).await;
    let statuses: Vec<u16> = exchanged.iter().map(Response::status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| [200, 400].contains(status)), "{statuses:?}");
    let tokens = pair_for(&world, &[A]).await;
    let refreshed = futures::future::join_all((0..50).map(|_| slow.refresh(&tokens.refresh))).await;
    refreshed.iter().for_each(|response| drop(ok(response)));
}

/// OWN-14
#[tokio::test]
async fn the_hook_is_asked_once_while_the_token_is_the_same() {
    let hook = Hook::default();
    hook.0.lock().unwrap().counts = true;
    let world = world(&hook).await;
    let recorded = Calls::recorded();
    let refresh = async |script: Calls| {
        let tokens = pair_for(&world, &[A]).await;
        hook.asked();
        let response = over(&world, &hook, script.clone()).refresh(&tokens.refresh).await;
        (response.status(), hook.asked().len())
    };
    assert_eq!(refresh(recorded.clone()).await, (200, 1));
    let calls = recorded.take();
    let write = calls.iter().position(|call| *call == "tokens.replace").unwrap();
    let late = Calls::failing(write, Fate::Late);
    assert_eq!(refresh(late.clone()).await, (200, 1));
    assert_eq!(late.take().iter().filter(|call| **call == "tokens.replace").count(), 2, "the claim was lost once");
}

/// OWN-15
#[tokio::test]
async fn the_hook_sees_what_the_reader_may_see() {
    let hook = Hook::default();
    let world = world(&hook).await;
    let tokens = pair_for(&world, &[B, C]).await;
    let all = world.access(&tokens.access).await;
    assert!(all.is_err(), "it is not for the default resource");
    for (caller, audience, may) in [
        (api("api-b"), json!([B]), "repo-code:rw"),
        (api("api-c"), json!([C]), SCOPES),
        (world.client.clone(), json!([B, C]), SCOPES),
    ] {
        let described = own(introspect(&world, &caller, &tokens.access).await.body());
        assert_eq!((&described["for"], &described["may"]), (&audience, &json!(may)), "{}", caller.id);
        assert_eq!(hook.asked().len(), 1);
    }
    for (identifier, expected) in [(B, json!([B])), (C, json!([C]))] {
        let resource = world.server.protected_resource(identifier).unwrap();
        let found = authenticated(&resource, &tokens.access).await.unwrap();
        assert_eq!(found.claims().unwrap()["for"], expected);
    }
    hook.asked();
    world.revoke(&tokens.access).await;
    let live = pair_for(&world, &[B]).await.access;
    for (caller, token) in [(api("api-b"), &tokens.access), (api("api-c"), &live)] {
        assert_eq!(introspect(&world, &caller, token).await.body(), br#"{"active":false}"#);
        assert_eq!(hook.asked().len(), 0);
    }
}

/// OWN-16
#[tokio::test]
async fn large_claims_take_the_room_of_several_answers() {
    let world = World::platform().await;
    for (bytes, is_kept) in [(10, true), (4000, false)] {
        let answer = json!({
            "active": true, "client_id": "app", "sub": "alice", "scope": "repo-code:r", "aud": ISSUER,
            "exp": START + 600, "a": "x".repeat(bytes),
        });
        let asked = Arc::default();
        let (endpoint, audience) = (format!("{ISSUER}/oauth2/introspect"), ExpectedAudience::Is(ISSUER.to_owned()));
        let mut settings = IntrospectionSettings::new(endpoint, "api", ClientSecret::new(API_SECRET), ISSUER, audience);
        (settings.max_entries, settings.time_to_live) = (96, std::time::Duration::from_secs(60));
        let client = ResourceClient::new(settings, Vendor(answer, Arc::clone(&asked))).unwrap();
        let client = client.with_clock(world.clock.clone());
        let resource = ResourceServer::introspecting(world.server.config().clone(), client).unwrap();
        for _ in 0..2 {
            for number in 0..32 {
                authenticated(&resource, &format!("at_{number}")).await.unwrap();
            }
        }
        let asked = *asked.lock().unwrap();
        assert_eq!(asked == 32, is_kept, "{asked} requests for answers of {bytes} bytes");
    }
}

/// OWN-16
#[tokio::test]
async fn a_forged_jwt_shows_no_claims() {
    let hook = Hook::default();
    let world = world(&hook).await;
    let token = pair_for(&world, &[A]).await.access;
    let settings = JwtSettings::of_server(world.server.config(), A);
    let verifier = JwtVerifier::new(settings, ToServer(world.server.clone())).unwrap().with_clock(world.clock.clone());
    let resource = ResourceServer::jwt(world.server.config().clone(), verifier).unwrap();
    let parts: Vec<&str> = token.split('.').collect();
    let mut claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(parts[1]).unwrap()).unwrap();
    claims["tenant"] = "other".into();
    let forged = format!("{}.{}.{}", parts[0], URL_SAFE_NO_PAD.encode(claims.to_string()), parts[2]);
    assert_eq!(authenticated(&resource, &forged).await.unwrap_err().into_response().status(), 401);
    assert_eq!(authenticated(&resource, &token).await.unwrap().claims().unwrap()["tenant"], "acme");
}

/// OWN-17
#[tokio::test]
async fn a_bound_token_shows_its_claims_after_the_proof() {
    let hook = Hook::default();
    let change = |config: &mut Config| {
        config.dpop.tokens = DpopBoundTokens::Optional;
        config.resources.clear();
    };
    let mut config = config();
    change(&mut config);
    let world = World::built(config, |builder| builder.claims(hook.clone())).await;
    let key = Signer::fresh();
    let token = bound_pair_of(&world, &world.client, &key).await.access;
    hook.asked();
    assert_eq!(get(&world, &format!("Bearer {token}"), &[]).await.unwrap_err().into_response().status(), 401);
    wd(show(&world, &token, &proof(&world, &key.another(), &token)).await, "invalid_token");
    let found = show(&world, &token, &proof(&world, &key, &token)).await.unwrap();
    assert_eq!(hook.asked().len(), 0);
    assert_eq!((&found.claims().unwrap()["for"], hook.asked().len()), (&json!([ISSUER]), 1));
}

/// The guard of the guide.
fn is_of_tenant(token: &Authenticated, tenant: &str) -> bool {
    let claims = token.claims();
    claims.is_ok_and(|claims| claims.get("tenant").and_then(Value::as_str) == Some(tenant))
}

/// OWN-18
#[tokio::test]
async fn a_token_without_the_claim_is_not_of_the_tenant() {
    let hook = Hook::default();
    let world = world(&hook).await;
    let token = pair_for(&world, &[A]).await.access;
    for (claims, expected) in [
        (json!({"tenant": "acme"}), true),
        (json!({"tenant": "other"}), false),
        (json!({"tenant": ["acme"]}), false),
        (json!({}), false),
        (json!({"Tenant": "acme"}), false),
        (json!({"tenant": "acme", "sub": "bob"}), false),
    ] {
        hook.always(claims.clone());
        assert_eq!(is_of_tenant(&world.access(&token).await.unwrap(), "acme"), expected, "{claims}");
    }
    // The claim gives no right: scopes and resources decide.
    hook.always(json!({"tenant": "acme"}));
    let found = world.access(&token).await.unwrap();
    assert!(!found.permits("repo-hook", grantor::scope::Permission::Read, grantor::scope::Resource::Public("a")));
}
