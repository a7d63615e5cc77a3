//! Clients whose document lists `none` beside `private_key_jwt`: they sign, and they are public all the same.

use grantor::client::{AuthenticationMethod, AuthenticationMethods, ClientType, RefreshRotation};
use grantor::config::{AssertionAudience, PushedRequests};
use grantor::hooks::ApproveWithin;
use grantor::server::Builder;
use grantor::wire::{Endpoint, Response};
use grantor::{Approval, Clock, Config};
use serde_json::{Value, json};

use super::keys::{KEYS, authorized, by_value, chatgpt, keyed, set, stored};
use super::{URI, URL, Web, bounds, client, id, pair_of, queueing_on, refused, with, world_with};
use crate::key_registration::{JWT_BEARER, by_key, exchange_by_key, refresh_by_key};
use support::attempts::{Attempts, Noted};
use support::keys::Signer;
use support::world::{ISSUER, PKCE, Pair, Reviewer, VERIFIER, World, e400, e401, logo, ok, pair};

const BOTH: AuthenticationMethods = AuthenticationMethods::KEY.with(AuthenticationMethod::None);
const TOKEN_URL: &str = "https://auth.example/oauth2/token";

fn signer() -> Signer {
    Signer::rs256().named("one")
}

/// A world with ChatGPT's document and key set.
async fn world_of(config: Config) -> World {
    let web = Web::with(URL, chatgpt());
    web.publish(KEYS, set(&[&signer()]));
    world_with(config, &web).await
}

/// The document without `none`.
fn key_alone() -> Value {
    let mut document = by_value(&signer());
    document["token_endpoint_auth_signing_alg"] = "RS256".into();
    document
}

/// A request that the client signs as ChatGPT does, for the token URL. The closure changes header and claims.
async fn signed(
    world: &World,
    endpoint: Endpoint,
    form: &[(&str, &str)],
    change: impl FnOnce(&mut Value, &mut Value),
) -> Response {
    let now = u64::from(world.clock.now().seconds());
    let assertion = signer().assertion(URL, TOKEN_URL, now, change);
    let more = [("client_assertion_type", JWT_BEARER), ("client_assertion", &assertion)];
    world.post(endpoint, &[form, &more].concat()).send().await
}

async fn exchanged(world: &World, verifier: &str, change: impl FnOnce(&mut Value, &mut Value)) -> Response {
    let code = authorized(world).await;
    let form = [("grant_type", "authorization_code"), ("code", &*code), ("code_verifier", verifier)];
    signed(world, Endpoint::Token, &form, change).await
}

async fn refreshed(world: &World, token: &str, change: impl FnOnce(&mut Value, &mut Value)) -> Response {
    let form = [("grant_type", "refresh_token"), ("refresh_token", token)];
    signed(world, Endpoint::Token, &form, change).await
}

fn as_recorded(_: &mut Value, claims: &mut Value) {
    assert_eq!(claims["aud"], TOKEN_URL);
}

/// HOST-CHATGPT-02, HOST-AUD-01, RC-GPT-01
#[tokio::test]
async fn host_aud_01_a_document_with_none_may_sign_for_the_token_url() {
    let world = world_of(keyed()).await;
    let tokens = pair(&exchanged(&world, VERIFIER, as_recorded).await);
    let form = stored(&world).await.form().clone();
    assert_eq!((form.authentication_methods, form.client_type), (BOTH, ClientType::Public));
    let tokens = pair(&refreshed(&world, &tokens.refresh, as_recorded).await);
    let in_a_list = |_: &mut Value, claims: &mut Value| claims["aud"] = json!([TOKEN_URL]);
    let tokens = pair(&refreshed(&world, &tokens.refresh, in_a_list).await);
    let revoked = signed(&world, Endpoint::Revocation, &[("token", &tokens.refresh)], as_recorded).await;
    assert_eq!(revoked.status(), 200);
    assert!(!world.opens(&tokens.access).await);
}

/// HOST-AUD-01
#[tokio::test]
async fn host_aud_01_other_endpoints_take_the_issuer_alone() {
    let mut config = keyed();
    config.pushed_requests.mode = PushedRequests::Optional;
    let world = world_of(config).await;
    let tokens = pair(&exchanged(&world, VERIFIER, as_recorded).await);
    let push = [&PKCE[..], &[("response_type", "code"), ("client_id", URL), ("redirect_uri", URI)]].concat();
    e401(&signed(&world, Endpoint::PushedAuthorization, &push, as_recorded).await, "invalid_client");
    assert_eq!(by_key(&world, Endpoint::PushedAuthorization, URL, &signer(), &push).await.status(), 201);
    // A public client never introspects, even for the issuer.
    let token = [("token", &*tokens.access)];
    e401(&signed(&world, Endpoint::Introspection, &token, as_recorded).await, "invalid_client");
    e401(&by_key(&world, Endpoint::Introspection, URL, &signer(), &token).await, "invalid_client");
}

/// HOST-AUD-01
#[tokio::test]
async fn host_aud_01_every_other_assertion_needs_the_issuer() {
    let world = world_of(keyed()).await;
    let mut tokens = pair(&exchanged(&world, VERIFIER, as_recorded).await);
    let skew = 30;
    let refusals: [fn(&mut Value, &mut Value); 6] = [
        |_, claims| claims["aud"] = json!([TOKEN_URL, ISSUER]),
        |_, claims| claims["aud"] = json!(TOKEN_URL.replace("/oauth2", "//oauth2")),
        |_, claims| claims["aud"] = json!(format!("{ISSUER}/oauth2/revoke")),
        |_, claims| claims["aud"] = json!("https://other.example/oauth2/token"),
        |header, _| header["typ"] = json!("client-authentication+jwt"),
        |_, claims| claims["exp"] = json!(claims["iat"].as_u64().unwrap() + 600 + 31),
    ];
    for refusal in refusals {
        e401(&refreshed(&world, &tokens.refresh, refusal).await, "invalid_client");
    }
    let longest =
        |_: &mut Value, claims: &mut Value| claims["exp"] = json!(claims["iat"].as_u64().unwrap() + 600 + skew);
    tokens = pair(&refreshed(&world, &tokens.refresh, longest).await);
    tokens = pair(&refresh_by_key(&world, URL, &signer(), &tokens.refresh).await);
    // The signature counts, and the id alone is refused.
    e401(&refresh_by_key(&world, URL, &signer().another().named("one"), &tokens.refresh).await, "invalid_client");
    e401(&world.refresh_as(&client(URL), &tokens.refresh).await, "invalid_client");
    ok(&refreshed(&world, &tokens.refresh, as_recorded).await);
}

/// HOST-AUD-01
#[tokio::test]
async fn host_aud_01_it_takes_the_setting_and_none_in_the_document() {
    let mut config = keyed();
    config.registration.token_url_audience = false;
    e401(&exchanged(&world_of(config.clone()).await, VERIFIER, as_recorded).await, "invalid_client");
    config.client_authentication.assertion_audience = AssertionAudience::Legacy;
    ok(&exchanged(&world_of(config).await, VERIFIER, as_recorded).await);
    // A document without `none`.
    let web = Web::with(URL, key_alone());
    let world = world_with(keyed(), &web).await;
    e401(&exchanged(&world, VERIFIER, as_recorded).await, "invalid_client");
    ok(&exchange_by_key(&world, URL, &signer(), &authorized(&world).await).await);
}

/// HOST-AUD-01
#[tokio::test]
async fn host_aud_01_a_client_that_signs_and_lists_none_is_public() {
    let mut config = keyed();
    config.refresh.rotation = RefreshRotation::Keep;
    let world = world_of(config).await;
    let first = pair(&exchange_by_key(&world, URL, &signer(), &authorized(&world).await).await);
    let next = pair(&refresh_by_key(&world, URL, &signer(), &first.refresh).await);
    assert_ne!(first.refresh, next.refresh, "it is rotated, although it signed for the issuer");
    let client = stored(&world).await;
    assert!(client.counts_as_public() && client.requires_pkce() && !client.may_introspect());
    // A server without public clients does not serve it.
    let mut config = keyed();
    config.public_clients = false;
    let web = Web::with(URL, chatgpt());
    refused(&world_with(config, &web).await, URL).await;
}

/// HOST-AUD-01
#[tokio::test]
async fn host_aud_01_its_signature_is_no_authentication_to_the_throttle() {
    for (document, authenticates) in [(chatgpt(), 0), (key_alone(), 1)] {
        let web = Web::with(URL, document);
        web.publish(KEYS, set(&[&signer()]));
        let (policy, attempts) = (ApproveWithin::new(bounds()), Attempts::default());
        let hooks = |builder: Builder| builder.registration_policy(policy).fetcher(web).throttle(attempts.clone());
        let world = World::built(keyed(), hooks).await;
        ok(&exchange_by_key(&world, URL, &signer(), &authorized(&world).await).await);
        assert_eq!(attempts.count(Noted::Authenticated), authenticates);
    }
}

/// HOST-AUD-01, CIMD-8.4-02
#[tokio::test]
async fn host_aud_01_adding_none_counts_as_removing_the_key() {
    let web = Web::with(URL, key_alone());
    let world = world_with(keyed(), &web).await;
    let tokens = pair(&exchange_by_key(&world, URL, &signer(), &authorized(&world).await).await);
    let mut open = key_alone();
    open["token_endpoint_auth_methods_supported"] = json!(["private_key_jwt", "none"]);
    web.publish(URL, open);
    world.advance(2 * 86_400);
    refused(&world, URL).await;
    ok(&refresh_by_key(&world, URL, &signer(), &tokens.refresh).await);
}

/// HOST-AUD-01
///
/// A client that was public loses nothing if its document no longer has a key.
#[tokio::test]
async fn host_aud_01_a_public_client_may_drop_its_key() {
    let web = Web::with(URL, chatgpt());
    web.publish(KEYS, set(&[&signer()]));
    let world = world_with(keyed(), &web).await;
    ok(&exchanged(&world, VERIFIER, as_recorded).await);
    web.publish(URL, with(json!({"token_endpoint_auth_method": "none"})));
    world.advance(2 * 86_400);
    pair_of(&world, URL).await;
    assert_eq!(stored(&world).await.form().authentication_methods, AuthenticationMethods::PUBLIC);
}

/// HOST-AUD-01
#[tokio::test]
async fn host_aud_01_a_review_keeps_methods_and_keys() {
    let web = Web::with(URL, chatgpt());
    web.publish(KEYS, set(&[&signer()]));
    let world = queueing_on(keyed(), &web).await;
    refused(&world, URL).await;
    let approval = Approval::default().website("https://client.example/").logo(logo());
    world.server.registrar().unwrap().approve_now(&id(), approval).await.unwrap();
    let form = stored(&world).await.form().clone();
    assert_eq!((form.authentication_methods, form.keys.is_some()), (BOTH, true));
    ok(&exchanged(&world, VERIFIER, as_recorded).await);
}

/// HOST-AUD-03
#[tokio::test]
async fn host_aud_03_an_injected_assertion_gains_nothing() {
    let world = world_of(keyed()).await;
    let wrong = exchanged(&world, &"x".repeat(43), as_recorded).await;
    e400(&wrong, "invalid_grant");
    let first = pair(&exchanged(&world, VERIFIER, as_recorded).await);
    let next: Pair = pair(&refreshed(&world, &first.refresh, as_recorded).await);
    ok(&refreshed(&world, &next.refresh, as_recorded).await);
    world.advance(3600);
    e400(&refreshed(&world, &first.refresh, as_recorded).await, "invalid_grant");
    assert!(!world.opens(&next.access).await, "and the theft is noticed");
}

/// HOST-NONE-01
#[tokio::test]
async fn host_none_01_chatgpt_is_public_where_keys_are_not_offered() {
    let web = Web::with(URL, chatgpt());
    let world = world_with(super::on(), &web).await;
    pair_of(&world, URL).await;
    assert_eq!(stored(&world).await.form().authentication_methods, AuthenticationMethods::PUBLIC);
    assert_eq!(web.take(), [URL], "its keys are not fetched");
    let reported = |world: &World| {
        let findings = world.server.security_report().findings;
        findings.iter().map(|finding| finding.setting).collect::<Vec<_>>()
    };
    assert!(reported(&world).contains(&"registration.none_beside_private_key_jwt"));
    assert!(!reported(&world).contains(&"registration.token_url_audience"), "it has no effect");
    let world = world_of(keyed()).await;
    let findings = world.server.security_report().findings;
    let finding = findings.iter().find(|finding| finding.setting == "registration.token_url_audience").unwrap();
    assert_eq!(finding.rule, "RFC 10070 section 4");
}
