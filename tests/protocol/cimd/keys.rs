//! Clients whose document has keys.

use std::sync::Arc;
use std::time::Duration;

use grantor::MemoryThrottle;
use grantor::client::AuthenticationMethods;
use grantor::config::PushedRequests;
use grantor::fetch::FetchErrorKind;
use grantor::hooks::{ApproveWithin, Rate, RegistrationDecision, ThrottleLimits};
use grantor::wire::{Endpoint, Response};
use grantor::{Client, Clock, Config, Consent, Decision};
use serde_json::{Value, json};

use super::policy::Moody;
use super::{
    URI, URL, Web, ask_for, bounds, client, id, on, pair_of, purge, query, queueing_on, refusal, refused, with,
    world_with,
};
use crate::key_registration::{by_key, exchange_by_key, refresh_by_key, with_keys};
use support::keys::Signer;
use support::world::{PKCE, Pair, SESSION, World, code, e401, ok, page, pair, text};

pub(super) const KEYS: &str = "https://client.example/oauth/jwks.json";

/// The settings of the MCP profile with documents and keys on.
pub(super) fn keyed() -> Config {
    let mut config = on();
    with_keys(&mut config);
    config
}

/// The members that ChatGPT's document has about authentication.
pub(super) fn chatgpt() -> Value {
    with(json!({
        "client_name": "ChatGPT",
        "token_endpoint_auth_method": "private_key_jwt",
        "token_endpoint_auth_signing_alg": "RS256",
        "jwks_uri": KEYS,
        "token_endpoint_auth_methods_supported": ["none", "private_key_jwt"],
    }))
}

pub(super) fn set(signers: &[&Signer]) -> Value {
    json!({"keys": signers.iter().map(|signer| signer.jwk()).collect::<Vec<_>>()})
}

pub(super) fn by_value(signer: &Signer) -> Value {
    with(json!({"token_endpoint_auth_method": "private_key_jwt", "jwks": set(&[signer])}))
}

/// The user signs in. Returns the code.
pub(super) async fn authorized(world: &World) -> String {
    let pending = ask_for(world, URL).await.unwrap();
    let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    let approve = Decision::Approve(Consent::to_everything());
    let redirect = world.server.decide(handle.expose(), &world.alice, SESSION, &approve).await.unwrap();
    text(&code(&redirect), "code")
}

/// The client exchanges a new code with its key.
async fn exchanged(world: &World, signer: &Signer) -> Response {
    exchange_by_key(world, URL, signer, &authorized(world).await).await
}

async fn pair_by_key(world: &World, signer: &Signer) -> Pair {
    pair(&exchanged(world, signer).await)
}

pub(super) async fn stored(world: &World) -> Arc<Client> {
    world.server.registrar().unwrap().client(&id()).await.unwrap()
}

/// CIMD-8.9-01
#[tokio::test]
async fn a_change_that_awaited_a_review_is_not_taken_for_the_client_in_force() {
    let (old, new) = (Signer::es256(), Signer::es256().another());
    let (policy, web) = (Moody::new(), Web::with(URL, by_value(&old)));
    let world = World::built(keyed(), |builder| builder.registration_policy(policy.clone()).fetcher(web.clone())).await;
    pair_by_key(&world, &old).await;
    policy.set(true, RegistrationDecision::Queue(bounds()));
    world.advance(3600);
    web.publish(URL, by_value(&new));
    refused(&world, URL).await;
    // The policy admits the same document now.
    policy.set(true, RegistrationDecision::Approve(bounds()));
    pair_by_key(&world, &new).await;
    e401(&exchanged(&world, &old).await, "invalid_client");
}

/// CIMD-8.2-01, RC-GPT-01
#[tokio::test]
async fn a_document_with_a_key_needs_its_key() {
    let signer = Signer::rs256().named("one");
    let mut document = chatgpt();
    document["token_endpoint_auth_methods_supported"] = json!(["private_key_jwt"]);
    let web = Web::with(URL, document);
    web.publish(KEYS, set(&[&signer]));
    let world = world_with(keyed(), &web).await;
    let tokens = pair_by_key(&world, &signer).await;
    assert_eq!(stored(&world).await.form().authentication_methods, AuthenticationMethods::KEY);
    assert_eq!(web.take(), [URL, KEYS], "one request each");
    let tokens = pair(&refresh_by_key(&world, URL, &signer, &tokens.refresh).await);
    let form = [("grant_type", "refresh_token"), ("refresh_token", &*tokens.refresh)];
    e401(&world.token(&form).send().await, "invalid_client");
    e401(&world.refresh_as(&client(URL), &tokens.refresh).await, "invalid_client");
    let other = signer.another().named("one");
    e401(&refresh_by_key(&world, URL, &other, &tokens.refresh).await, "invalid_client");
    let revoked = by_key(&world, Endpoint::Revocation, URL, &other, &[("token", &tokens.refresh)]).await;
    assert_eq!(revoked.status(), 401);
    assert!(world.opens(&tokens.access).await);
    let revoked = by_key(&world, Endpoint::Revocation, URL, &signer, &[("token", &tokens.refresh)]).await;
    assert_eq!(revoked.status(), 200);
    assert!(!world.opens(&tokens.access).await);
}

/// CIMD-8.2-02, RC-GPT-01
#[tokio::test]
async fn an_algorithm_that_is_not_accepted_is_refused() {
    let web = Web::with(URL, chatgpt());
    web.publish(KEYS, set(&[&Signer::rs256()]));
    let mut config = keyed();
    config.client_authentication.rs256 = false;
    config.registration.none_beside_private_key_jwt = false;
    refused(&world_with(config.clone(), &web).await, URL).await;
    config.registration.none_beside_private_key_jwt = true;
    let world = world_with(config, &web).await;
    web.take();
    pair_of(&world, URL).await;
    assert_eq!(web.take(), [URL], "its keys are not fetched");
    // If the server supports it, the client must sign, regardless of the option.
    let world = world_with(keyed(), &web).await;
    pair_by_key(&world, &Signer::rs256()).await;
}

/// CIMD-8.2-01, 7517-4-01, 7517-5-11, 7517-5-12
#[tokio::test]
async fn a_document_has_sound_keys() {
    let web = Web::with(URL, by_value(&Signer::es256()));
    let world = world_with(keyed(), &web).await;
    pair_by_key(&world, &Signer::es256()).await;
    let mut private = Signer::es256().jwk();
    private["d"] = "AA".into();
    for members in [
        json!({"jwks": null}),
        json!({"jwks": {"keys": []}}),
        json!({"jwks": {"keys": [private]}}),
        json!({"jwks_uri": KEYS}),
        json!({"jwks": null, "jwks_uri": "http://client.example/oauth/jwks.json"}),
        json!({"token_endpoint_auth_signing_alg": "PS256"}),
        json!({"token_endpoint_auth_signing_alg": "HS256"}),
        json!({"token_endpoint_auth_signing_alg": "none"}),
    ] {
        let mut document = by_value(&Signer::es256());
        document.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        document["client_id"] = "https://client.example/other".into();
        web.publish("https://client.example/other", document);
        page(&refusal(&world, &query(&world, "https://client.example/other", URI)).await);
    }
}

/// CIMD-5-04
#[tokio::test]
async fn later_steps_fetch_the_key_set_and_never_the_document() {
    let (old, new) = (Signer::es256().named("old"), Signer::es256().another().named("new"));
    let document = with(json!({"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": KEYS}));
    let web = Web::with(URL, document);
    web.publish(KEYS, set(&[&old]));
    let world = world_with(keyed(), &web).await;
    let tokens = pair_by_key(&world, &old).await;
    assert_eq!(web.take(), [URL, KEYS]);
    web.fail(URL, FetchErrorKind::Name);
    web.publish(KEYS, set(&[&new]));
    world.advance(60);
    let tokens = pair(&refresh_by_key(&world, URL, &new, &tokens.refresh).await);
    assert_eq!(web.take(), [KEYS]);
    let unknown = Signer::ed25519().named("unknown");
    for _ in 0..20 {
        e401(&refresh_by_key(&world, URL, &unknown, &tokens.refresh).await, "invalid_client");
    }
    assert_eq!(web.count(), 0, "the pause has not ended");
    assert!(world.opens(&tokens.access).await);
    assert_eq!(web.count(), 0);
}

/// CIMD-5-04, NEG-JOSE-04
/// No other client can use up the fetches from a client's own host, so these are counted by the caller's network alone.
#[tokio::test]
async fn key_fetches_from_the_host_of_the_document_are_bounded_by_the_network_of_the_caller() {
    let (signer, unknown) = (Signer::es256().named("own"), Signer::es256().another().named("unknown"));
    let document = with(json!({"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": KEYS}));
    let web = Web::with(URL, document);
    web.publish(KEYS, set(&[&signer]));
    let hour = Duration::from_secs(3600);
    let mut limits = ThrottleLimits::default();
    (limits.document_hosts, limits.document_fetches) = (Rate::new(1, hour), Rate::new(2, hour));
    let world = World::built(keyed(), |builder| {
        let throttle = MemoryThrottle::with_limits(limits);
        builder.registration_policy(ApproveWithin::new(bounds())).fetcher(web.clone()).throttle(throttle)
    });
    let world = world.await;
    let tokens = pair_by_key(&world, &signer).await;
    assert_eq!(web.take(), [URL, KEYS]);
    for expected in [1, 0, 0] {
        world.advance(60);
        let _ = refresh_by_key(&world, URL, &unknown, &tokens.refresh).await;
        assert_eq!(web.count(), expected);
    }
}

/// CIMD-5-04
#[tokio::test]
async fn keys_at_a_private_address_authenticate_nobody() {
    let document = with(json!({"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": KEYS}));
    let web = Web::with(URL, document);
    web.fail(KEYS, FetchErrorKind::SpecialUseAddress);
    let world = world_with(keyed(), &web).await;
    let answer = exchanged(&world, &Signer::es256()).await;
    assert!([401, 503].contains(&answer.status()), "{}", answer.status());
}

/// CIMD-8.4-02
#[tokio::test]
async fn a_client_that_proved_a_key_does_not_fall_back() {
    let signer = Signer::es256();
    let web = Web::with(URL, by_value(&signer));
    let world = world_with(keyed(), &web).await;
    let tokens = pair_by_key(&world, &signer).await;
    web.publish(URL, with(json!({"token_endpoint_auth_method": "none"})));
    world.advance(2 * 86_400);
    refused(&world, URL).await;
    e401(&world.refresh_as(&client(URL), &tokens.refresh).await, "invalid_client");
    let tokens = pair(&refresh_by_key(&world, URL, &signer, &tokens.refresh).await);
    // With its key in the document again, its users sign in as before.
    web.publish(URL, by_value(&signer));
    world.advance(2 * 86_400);
    pair_by_key(&world, &signer).await;
    // Once its registration has ended, it is a new client. No earlier token becomes valid again.
    web.publish(URL, with(json!({"token_endpoint_auth_method": "none"})));
    let last = stored(&world).await.open().unwrap().gone_at.unwrap();
    world.advance(u64::from(last.seconds() - now(&world)));
    purge(&world).await;
    pair_of(&world, URL).await;
    for refreshed in [
        world.refresh_as(&client(URL), &tokens.refresh).await,
        refresh_by_key(&world, URL, &signer, &tokens.refresh).await,
    ] {
        assert!([400, 401].contains(&refreshed.status()), "{}", refreshed.status());
    }
}

fn now(world: &World) -> u32 {
    world.clock.now().seconds()
}

/// CIMD-8.4-02
#[tokio::test]
async fn a_client_without_a_grant_may_change_its_method() {
    let signer = Signer::es256();
    let web = Web::with(URL, by_value(&signer));
    let world = queueing_on(keyed(), &web).await;
    page(&refusal(&world, &query(&world, URL, URI)).await);
    assert_eq!(stored(&world).await.form().authentication_methods, AuthenticationMethods::KEY);
    web.publish(URL, with(json!({"token_endpoint_auth_method": "none"})));
    world.advance(2 * 86_400);
    page(&refusal(&world, &query(&world, URL, URI)).await);
    assert_eq!(stored(&world).await.form().authentication_methods, AuthenticationMethods::PUBLIC);
}

/// CIMD-8.2-01, CIMD-5-04
#[tokio::test]
async fn other_keys_in_a_document_count_from_the_next_sign_in() {
    let (old, new) = (Signer::es256(), Signer::es256().another());
    let web = Web::with(URL, with(json!({})));
    let world = world_with(keyed(), &web).await;
    let before = pair_of(&world, URL).await;
    let digest = async || ask_for(&world, URL).await.unwrap().client_digest();
    let mut digests = vec![digest().await];
    // A public client gets a key: its grants remain valid.
    web.publish(URL, by_value(&old));
    world.advance(2 * 86_400);
    digests.push(digest().await);
    let tokens = pair_by_key(&world, &old).await;
    e401(&world.refresh_as(&client(URL), &before.refresh).await, "invalid_client");
    ok(&refresh_by_key(&world, URL, &old, &before.refresh).await);
    web.publish(URL, by_value(&new));
    world.advance(2 * 86_400);
    let tokens = pair(&refresh_by_key(&world, URL, &old, &tokens.refresh).await);
    digests.push(digest().await);
    pair_by_key(&world, &new).await;
    e401(&refresh_by_key(&world, URL, &old, &tokens.refresh).await, "invalid_client");
    digests.dedup();
    assert_eq!(digests.len(), 3, "users are asked again");
}

/// CIMD-8.2-01
#[tokio::test]
async fn a_server_without_public_clients_takes_documents_with_keys() {
    let mut config = keyed();
    config.public_clients = false;
    let web = Web::with(URL, by_value(&Signer::es256()));
    let world = world_with(config, &web).await;
    pair_by_key(&world, &Signer::es256()).await;
    let other = "https://client.example/public";
    let mut document = with(json!({}));
    document["client_id"] = other.into();
    web.publish(other, document);
    page(&refusal(&world, &query(&world, other, URI)).await);
}

/// CIMD-5-05
#[tokio::test]
async fn a_push_never_fetches_a_document() {
    let mut config = keyed();
    config.pushed_requests.mode = PushedRequests::Optional;
    let signer = Signer::es256();
    let web = Web::with(URL, by_value(&signer));
    let public = "https://client.example/public";
    let mut document = with(json!({}));
    document["client_id"] = public.into();
    web.publish(public, document);
    let world = world_with(config, &web).await;
    let form = [&PKCE[..], &[("response_type", "code"), ("redirect_uri", URI)]].concat();
    let pushed = async |signer: &Signer| {
        let form = [&form[..], &[("client_id", URL)]].concat();
        by_key(&world, Endpoint::PushedAuthorization, URL, signer, &form).await
    };
    let named = async || world.post(Endpoint::PushedAuthorization, &form).client(&client(public)).send().await;
    e401(&pushed(&signer).await, "invalid_client");
    e401(&named().await, "invalid_client");
    assert_eq!(web.count(), 0);
    // Once a user has signed in, the client is stored, and its method is what counts.
    pair_by_key(&world, &signer).await;
    pair_of(&world, public).await;
    web.take();
    world.advance(2 * 86_400);
    assert_eq!(pushed(&signer).await.status(), 201);
    assert_eq!(named().await.status(), 201);
    e401(&pushed(&signer.another()).await, "invalid_client");
    let without_key = world.post(Endpoint::PushedAuthorization, &form).client(&client(URL)).send().await;
    e401(&without_key, "invalid_client");
    assert_eq!(web.count(), 0);
}
