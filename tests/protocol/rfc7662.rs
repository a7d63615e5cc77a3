//! RFC 7662: introspection.

use grantor::client::GrantTypes;
use grantor::scope::{Permissions, ResourceScope, ScopeCatalog, ScopeDefinition};
use grantor::wire::{Endpoint, Response};
use grantor::{Approval, RegistrarError};
use serde_json::{Value, json};

use support::world::{
    Call, Credentials, ISSUER, PKCE, Reviewer, START, With as _, World, e401, empty, form, logo, pair, public_form,
};

/// A remote resource server, which only introspects tokens.
async fn resource_server(world: &World) -> Credentials {
    let mut form = form();
    form.grant_types = GrantTypes::NONE;
    form.redirect_uris.clear();
    form.scopes.clear();
    world.register_as(form, Approval::default().may_introspect()).await
}

fn ask<'w>(world: &'w World, token: &str) -> Call<'w> {
    world.post(Endpoint::Introspection, &[("token", token)])
}

/// Asserts a 200 response with the headers of the token endpoint, and returns its body.
#[track_caller]
fn ok_body(response: &Response) -> Value {
    assert_eq!(response.status(), 200);
    assert_eq!(response.header("Content-Type"), Some("application/json;charset=UTF-8"));
    assert_eq!(response.header("Cache-Control"), Some("no-store"));
    assert_eq!(response.header("Pragma"), Some("no-cache"));
    serde_json::from_slice(response.body()).unwrap()
}

async fn inactive(world: &World, caller: &Credentials, token: &str, case: &str) {
    let response = ask(world, token).client(caller).send().await;
    assert_eq!(String::from_utf8_lossy(response.body()), "{\"active\":false}", "{case}");
    ok_body(&response);
}

/// 7662-2.1-01
/// The metadata does not list `none` for this endpoint.
#[tokio::test]
async fn a_public_client_has_nothing_to_prove_itself_with() {
    let world = World::platform().await;
    let public = world.register(public_form()).await;
    let first = world.pair_of(&public).await;
    world.events.take();
    e401(&ask(&world, &first.access).client(&public).send().await, "invalid_client");
    assert!(world.events.saw("AuthenticationFailed"));

    let registrar = world.server.registrar().unwrap();
    let id = registrar.submit(world.alice.clone(), public_form(), Some(logo())).await.unwrap();
    let outcome = registrar.approve_now(&id, Approval::default().may_introspect()).await;
    assert!(matches!(outcome, Err(RegistrarError::PublicClient)));
    let server = resource_server(&world).await;
    assert_eq!(ok_body(&ask(&world, &first.access).client(&server).send().await)["active"], true);
}

/// 7662-2.1-03
#[tokio::test]
async fn a_hint_is_only_a_hint() {
    let world = World::platform().await;
    let first = world.pair().await;
    for hint in ["access_token", "refresh_token", "foo", ""] {
        let call = ask(&world, &first.access).field("token_type_hint", hint).client(&world.client);
        assert_eq!(ok_body(&call.send().await)["active"], true, "{hint}");
    }
}

/// 7662-2.2-01, 9700-2.3-01, SVC-5-02
#[tokio::test]
async fn a_live_token_is_described_in_full() {
    let world = World::platform().await;
    let server = resource_server(&world).await;
    let specified = form().with(|form| form.resource_scope = Some(ResourceScope::specified(["b", "a"]).unwrap()));
    let specified = world.register(specified).await;
    let query = world.query_of(&specified, &[("scope", "repo-issue repo-code:r"), PKCE[0], PKCE[1]]);
    world.advance(7);
    let first = pair(&world.exchange_as(&specified, &world.code_for(&query).await).await);
    world.advance(100);
    let expected = json!({
        "active": true,
        "scope": "repo-code:r repo-issue:r",
        "client_id": specified.id,
        "token_type": "bearer",
        "exp": START + 7 + 28_800,
        "iat": START + 7,
        "sub": "alice",
        "aud": ISSUER,
        "iss": ISSUER,
        "resource_scope": "specified",
        "resources": ["a", "b"],
    });
    for caller in [&server, &specified] {
        assert_eq!(world.introspect_as(caller, &first.access).await, expected);
    }
    let second = world.pair().await;
    let body = world.introspect_as(&server, &second.access).await;
    assert_eq!((&body["resource_scope"], body.get("resources")), (&json!("all"), None));
}

/// 7662-2.2-02, CVE-2026-68481
#[tokio::test]
async fn of_all_else_nothing_is_reported() {
    let world = World::platform().await;
    let server = resource_server(&world).await;
    let code = world.code().await;
    let first = pair(&world.exchange(&code).await);
    for (case, token) in [
        ("garbage", "garbage"),
        ("one character less", &first.access[..first.access.len() - 1]),
        ("one character more", &format!("{}A", first.access)),
        ("control", "a\0b"),
        ("not ASCII", "\u{e9}"),
        ("a code", &code),
        ("a refresh token", &first.refresh),
    ] {
        inactive(&world, &server, token, case).await;
    }
    assert_eq!(world.introspect_as(&server, &first.access).await["active"], true);

    let second = pair(&world.refresh(&first.refresh).await);
    world.advance(300);
    inactive(&world, &server, &first.access, "out of grace").await;
    empty(&world.revoke(&second.access).await);
    inactive(&world, &server, &second.access, "revoked").await;
    let third = pair(&world.refresh(&second.refresh).await);
    world.advance(28_799);
    assert_eq!(world.introspect_as(&server, &third.access).await["active"], true);
    world.advance(1);
    inactive(&world, &server, &third.access, "expired").await;
    let fourth = pair(&world.refresh(&third.refresh).await);
    empty(&world.revoke(&fourth.refresh).await);
    inactive(&world, &server, &fourth.access, "its grant was revoked").await;

    let fifth = world.pair().await;
    let registrar = world.server.registrar().unwrap();
    registrar.suspend(&world.client.client_id()).await.unwrap();
    inactive(&world, &server, &fifth.access, "its client is suspended").await;
    registrar.resume(&world.client.client_id()).await.unwrap();
    assert_eq!(world.introspect_as(&server, &fifth.access).await["active"], true);
    registrar.revoke_grants(&world.client.client_id()).await.unwrap();
    inactive(&world, &server, &fifth.access, "all grants of its client were withdrawn").await;
}

/// 7662-2.2-04, CVE-2026-50623, GO-2026-6079
#[tokio::test]
async fn an_ordinary_client_sees_only_its_own_tokens() {
    let world = World::platform().await;
    let other = world.register(form()).await;
    let first = world.pair().await;
    for unproven in [ask(&world, &first.access), ask(&world, &first.access).basic(&world.client.id, "guess")] {
        let response = unproven.send().await;
        e401(&response, "invalid_client");
        assert!(!String::from_utf8_lossy(response.body()).contains("active"));
    }
    inactive(&world, &other, &first.access, "of another client").await;
    assert_eq!(world.introspect_as(&world.client, &first.access).await["active"], true);
    let second = world.pair_of(&other).await;
    inactive(&world, &world.client, &second.access, "the other way round").await;
}

/// 7662-2.2-02, 7662-2.2-06
/// A live token grants no access once the registration or the catalog has none of its scopes.
#[tokio::test]
async fn a_token_whose_scopes_have_all_gone_is_inactive() {
    let mut world = World::platform().await;
    let server = resource_server(&world).await;
    let first = world.pair().await;
    for caller in [&world.client, &server] {
        assert_eq!(ok_body(&ask(&world, &first.access).client(caller).send().await)["active"], true);
    }
    crate::interleaved::reconfigured(&mut world, |config| {
        let left = ScopeDefinition::new("account-email", Permissions::ReadOnlyOrReadWrite);
        config.scopes = ScopeCatalog::builder().scope(left).build().unwrap();
    });
    for caller in [&world.client, &server] {
        inactive(&world, caller, &first.access, "no scope is in the catalog").await;
    }

    let world = World::platform().await;
    let first = world.pair().await;
    let registrar = world.server.registrar().unwrap();
    let other = form().with(|form| form.scopes = "account-email:r".into());
    registrar.change_now(&world.client.client_id(), other, None).await.unwrap();
    registrar.approve_now(&world.client.client_id(), Approval::default()).await.unwrap();
    inactive(&world, &world.client, &first.access, "no scope is registered any more").await;
}

/// 9701-4-01
#[tokio::test]
async fn no_signed_response_is_made() {
    let world = World::platform().await;
    let token = world.pair().await.access;
    let accept: &[u8] = b"application/token-introspection+jwt";
    let response = ask(&world, &token).client(&world.client).header("Accept", accept).send().await;
    assert_eq!(ok_body(&response)["active"], true);
}

/// 7662-4-02
///
/// A thousand questions in one minute are one event; the next minute has its own, and so has each client.
#[tokio::test]
async fn introspections_without_the_right_raise_one_event_a_minute() {
    let world = World::platform().await;
    let first = world.pair().await;
    let (other, third) = (world.register(form()).await, world.register(form()).await);
    let resource_server = resource_server(&world).await;
    world.events.take();
    let raised = async |client: &Credentials, times: u32| {
        for _ in 0..times {
            inactive(&world, client, &first.access, "of another client").await;
        }
        let events = world.events.take();
        let is_named = |event: &String| event.starts_with("IntrospectionRefused") && event.contains(&client.id);
        assert!(events.iter().all(is_named), "{events:?}");
        events.len()
    };
    assert_eq!(raised(&other, 1000).await, 1);
    // What is no access token of another client raises none.
    inactive(&world, &third, "at_unknown", "unknown").await;
    inactive(&world, &third, &first.refresh, "no access token").await;
    for caller in [&world.client, &resource_server] {
        assert_eq!(world.introspect_as(caller, &first.access).await["active"], true);
    }
    assert_eq!(world.events.take(), [""; 0]);
    world.advance(59);
    assert_eq!(raised(&other, 2).await, 0);
    assert_eq!(raised(&third, 2).await, 1);
    world.advance(1);
    assert_eq!(raised(&other, 2).await, 1);
}
