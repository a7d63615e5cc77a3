//! Clients that register themselves with a key.

use std::time::Duration;

use grantor::client::AuthenticationMethods;
use grantor::config::PushedRequests;
use grantor::config::{DpopBoundTokens, Profile};
use grantor::fetch::FetchPurpose;
use grantor::hooks::{ApproveWithin, Rate, ThrottleLimits};
use grantor::wire::Endpoint;
use grantor::{Approval, ClientId, Config, MemoryThrottle};
use serde_json::{Value, json};

use super::{bounds, created, credentials, id, open, post, public, refused, register, with, world_with};
use crate::cimd::web::Web;
use crate::key_registration::{JWT_BEARER, assertion, by_key, exchange_by_key, with_keys};
use support::keys::Signer;
use support::world::{PKCE, Reviewer as _, World, code, e401, logo, ok, text};

fn keyed() -> Config {
    let mut config = open(Profile::Mcp);
    with_keys(&mut config);
    config
}

async fn world() -> World {
    world_with(keyed(), bounds()).await
}

/// A world whose throttle has these limits, and the hosts that have no key set.
async fn throttled(change: impl FnOnce(&mut ThrottleLimits)) -> (World, Web) {
    let (web, mut limits) = (Web::default(), ThrottleLimits::default());
    change(&mut limits);
    let world = World::built(keyed(), |builder| {
        let throttle = MemoryThrottle::with_limits(limits);
        builder.registration_policy(ApproveWithin::new(bounds())).fetcher(web.clone()).throttle(throttle)
    });
    (world.await, web)
}

fn with_key(signer: &Signer) -> Value {
    let set: Value = serde_json::from_str(&signer.key_set()).unwrap();
    with(public(), json!({"token_endpoint_auth_method": "private_key_jwt", "jwks": set}))
}

/// 7591-2-20
#[tokio::test]
async fn a_client_registers_its_key_and_gets_no_secret() {
    let world = world().await;
    let signer = Signer::es256().named("one");
    let algorithm = json!({"token_endpoint_auth_signing_alg": "ES256"});
    let answer = register(&world, with(with_key(&signer), algorithm)).await;
    assert_eq!(answer["token_endpoint_auth_method"], "private_key_jwt");
    assert_eq!(answer["token_endpoint_auth_signing_alg"], "ES256");
    assert_eq!(answer["jwks"], json!({"keys": [signer.jwk()]}));
    for absent in ["client_secret", "client_secret_expires_at", "jwks_uri", "dpop_bound_access_tokens"] {
        assert!(answer.get(absent).is_none(), "{absent}");
    }
    let client = credentials(&answer);
    let exchange = async |signer: &Signer| {
        let redirect = world.approve(&world.query_of(&client, &PKCE)).await;
        exchange_by_key(&world, &client.id, signer, &text(&code(&redirect), "code")).await
    };
    ok(&exchange(&signer).await);
    e401(&exchange(&signer.another().named("one")).await, "invalid_client");
    let stored = world.server.client(&id(&answer)).await.unwrap().unwrap();
    assert_eq!(stored.form().authentication_methods, AuthenticationMethods::KEY);
}

/// 7591-2-20, 7517-4-01, 7517-5-11, 7517-5-12, FAPI-5.4.2-01
#[tokio::test]
async fn unsound_keys_are_refused() {
    let world = world().await;
    let good = Signer::es256().jwk();
    let mut private = good.clone();
    private["d"] = "AA".into();
    let set = |keys: Value| json!({"jwks": {"keys": keys}});
    for members in [
        json!({"jwks": null}),
        json!({"jwks_uri": "https://app.example.com/jwks.json"}),
        json!({"jwks": null, "jwks_uri": "http://app.example.com/jwks.json"}),
        json!({"jwks": null, "jwks_uri": "https://app.example.com/jwks.json"}),
        json!({"jwks": "x"}),
        set(json!([])),
        set(json!([private])),
        set(json!([good, {"kty": "oct", "k": "AA"}])),
        set(json!([{"kty": "other"}])),
        set(json!(vec![&good; 33])),
        set(json!([Signer::es256().named("one").jwk(), Signer::ed25519().named("one").jwk()])),
        json!({"token_endpoint_auth_signing_alg": "none"}),
        json!({"token_endpoint_auth_signing_alg": "HS256"}),
        json!({"token_endpoint_auth_signing_alg": "PS256"}),
        json!({"token_endpoint_auth_signing_alg": 1}),
    ] {
        let metadata = with(with_key(&Signer::es256()), members.clone());
        refused(&post(&world, metadata.to_string()).await, 400, "invalid_client_metadata");
    }
    let unknown_beside = with(with_key(&Signer::es256()), set(json!([{"kty": "other"}, good])));
    created(&post(&world, unknown_beside.to_string()).await);
    // A private key must be refused even if no key is used.
    let unused = with(public(), set(json!([private])));
    refused(&post(&world, unused.to_string()).await, 400, "invalid_client_metadata");
}

/// 7591-2-20
#[tokio::test]
async fn keys_that_are_not_used_are_left_out() {
    let world = world().await;
    let set = json!({"keys": [Signer::es256().jwk()]});
    let members = json!({"jwks": set, "token_endpoint_auth_signing_alg": "HS256"});
    for method in ["none", "client_secret_basic"] {
        let metadata = with(with(public(), members.clone()), json!({"token_endpoint_auth_method": method}));
        let answer = register(&world, metadata).await;
        assert!(answer.get("jwks").is_none() && answer.get("token_endpoint_auth_signing_alg").is_none());
    }
    let secrets = world_with(open(Profile::Mcp), bounds()).await;
    let refusal = post(&secrets, with_key(&Signer::es256()).to_string()).await;
    refused(&refusal, 400, "invalid_client_metadata");
}

/// 7591-2-20
#[tokio::test]
async fn the_policy_bounds_the_method() {
    let secrets = bounds().methods(AuthenticationMethods::SECRET);
    let world = world_with(keyed(), secrets).await;
    refused(&post(&world, with_key(&Signer::es256()).to_string()).await, 400, "invalid_client_metadata");
    let world = world_with(keyed(), bounds().methods(AuthenticationMethods::KEY)).await;
    created(&post(&world, with_key(&Signer::es256()).to_string()).await);
    refused(&post(&world, public().to_string()).await, 400, "invalid_client_metadata");
}

/// 9449-5.1-01, 9126-5-01
#[tokio::test]
async fn demands_on_requests_and_tokens_are_kept_and_shown() {
    let members = json!({"dpop_bound_access_tokens": true, "require_pushed_authorization_requests": true});
    let asked = with(public(), members.clone());
    let mut off = keyed();
    off.dpop.tokens = DpopBoundTokens::Off;
    let without = register(&world_with(off, bounds()).await, asked.clone()).await;
    let names: Vec<_> = members.as_object().unwrap().keys().cloned().collect();
    assert!(names.iter().all(|name| without.get(name).is_none()), "the server offers neither");
    let mut config = keyed();
    config.dpop.tokens = DpopBoundTokens::Optional;
    config.pushed_requests.mode = PushedRequests::Optional;
    let world = world_with(config, bounds()).await;
    let answer = register(&world, asked).await;
    assert!(names.iter().all(|name| answer[name] == true), "{answer}");
    let stored = world.server.client(&id(&answer)).await.unwrap().unwrap();
    assert!(stored.form().options.requires_dpop_bound_tokens && stored.form().options.requires_pushed_requests);
    let off = json!({"dpop_bound_access_tokens": false, "require_pushed_authorization_requests": null});
    let answer = register(&world, with(public(), off)).await;
    assert!(names.iter().all(|name| answer.get(name).is_none()));
    for name in names {
        let metadata = with(public(), json!({ name: "true" }));
        refused(&post(&world, metadata.to_string()).await, 400, "invalid_client_metadata");
    }
}

/// NEG-JOSE-04
/// Many clients may name the same host, which belongs to none of them.
#[tokio::test]
async fn key_fetches_for_open_clients_are_bounded_by_host() {
    let (world, web) = throttled(|limits| limits.document_hosts = Rate::new(3, Duration::from_secs(3600))).await;
    let fetches = async |host: &str| {
        let members = json!({"jwks": null, "jwks_uri": format!("https://{host}/keys.json")});
        let answer = register(&world, with(with_key(&Signer::es256()), members)).await;
        let form = [("grant_type", "refresh_token"), ("refresh_token", "x")];
        let answer = by_key(&world, Endpoint::Token, id(&answer).as_str(), &Signer::es256(), &form).await;
        assert_eq!(answer.status(), 503);
        web.count()
    };
    for expected in [1, 1, 1, 0, 0] {
        assert_eq!(fetches("victim.example").await, expected);
    }
    assert_eq!(fetches("Victim.Example").await, 0);
    assert!(world.events.take().iter().any(|event| event.contains("the throttle refused the fetch")));
    assert_eq!(fetches("other.example").await, 1);
}

/// One caller may register many clients, each with a host of its own that never answers.
#[tokio::test]
async fn key_fetches_for_open_clients_are_bounded_by_the_network_of_the_caller() {
    let (world, web) = throttled(|limits| limits.document_fetches = Rate::new(3, Duration::from_secs(3600))).await;
    let client = async |number: u32| {
        let keys = format!("https://client-{number}.example/keys.json");
        let members = json!({"jwks": null, "jwks_uri": keys, "client_uri": "https://app.example.com/"});
        id(&register(&world, with(with_key(&Signer::es256()), members)).await)
    };
    let fetches = async |client: &ClientId, peer: &str| {
        let assertion = assertion(&world, client.as_str(), &Signer::es256());
        let call = world.post(Endpoint::Token, &[("grant_type", "refresh_token"), ("refresh_token", "x")]);
        let call = call.field("client_assertion_type", JWT_BEARER).field("client_assertion", &assertion);
        assert_eq!(call.from(peer).send().await.status(), 503);
        web.count()
    };
    for (number, expected) in (1..).zip([1, 1, 1, 0, 0]) {
        assert_eq!(fetches(&client(number).await, "198.51.100.7").await, expected, "{number}");
    }
    assert_eq!(web.purposes(), [FetchPurpose::UnreviewedKeySet; 3]);
    assert_eq!(fetches(&client(6).await, "198.51.100.8").await, 1);
    // A reviewed client is counted by nobody, and has places of its own at the fetcher.
    let reviewed = client(7).await;
    let approval = Approval::default().logo(logo());
    world.server.registrar().unwrap().approve_now(&reviewed, approval).await.unwrap();
    web.purposes();
    assert_eq!(fetches(&reviewed, "198.51.100.7").await, 1);
    assert_eq!(web.purposes(), [FetchPurpose::ReviewedKeySet]);
}
