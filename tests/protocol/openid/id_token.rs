//! The ID token [OpenID Connect Core sections 2, 3.1.3.3, 3.1.3.6 and 12.2].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use grantor::hooks::SignerError;
use grantor::interaction::{SignIn, SignedIn};
use grantor::protected_resource::AccessTokenFormat;
use grantor::{Consent, Decision, Timestamp};
use sha2::{Digest as _, Sha256};

use super::*;
use crate::rfc8707::resource;
use support::world::{SESSION, code, e400, pair, text};

fn claims(token: &str) -> Value {
    let [_, claims] = parts(token);
    claims
}

fn at_hash(access_token: &str) -> String {
    URL_SAFE_NO_PAD.encode(&Sha256::digest(access_token)[..16])
}

/// OIDC-2-01, OIDC-2-03
#[tokio::test]
async fn an_answer_with_openid_has_an_id_token() {
    let world = world().await;
    let response = exchanged(&world, "openid repo-code:r").await;
    let token = id_token(&response);
    let expected = json!({
        "iss": ISSUER, "sub": "alice", "aud": world.client.id, "iat": START, "exp": START + 600,
        "at_hash": at_hash(&pair(&response).access),
    });
    assert_eq!(claims(&token), expected);
    assert!(members(&exchanged(&world, "repo-code:r").await)["id_token"].is_null());
    let off = World::strict().await;
    assert!(members(&off.exchange(&off.code().await).await)["id_token"].is_null());
}

/// OIDC-2-03, OIDC-12-01, OIDC-12-03
#[tokio::test]
async fn the_facts_of_the_sign_in_stay_and_the_nonce_comes_once() {
    let world = world().await;
    let facts = SignIn::at(Timestamp::from_seconds(START - 30)).with_acr("loa1").unwrap().with_amr(["pwd"]).unwrap();
    let user = SignedIn::new(world.alice.clone()).sign_in(facts);
    let nonce = "\"\\\u{e9}<";
    let query = world.query(&[&WITH_URI[..], &[("scope", "openid repo-code:r"), ("nonce", nonce)]].concat());
    let pending = world.authorize(&query).await.unwrap();
    let ticket = world.server.hold(&pending, &user, SESSION).await.unwrap();
    let everything = Decision::Approve(Consent::to_everything());
    let answer = world.server.decide(ticket.expose(), &user, SESSION, &everything).await.unwrap();
    let response = world.exchange(&text(&code(&answer), "code")).await;
    let expected = json!({
        "iss": ISSUER, "sub": "alice", "aud": world.client.id, "iat": START, "exp": START + 600,
        "auth_time": START - 30, "nonce": nonce, "acr": "loa1", "amr": ["pwd"],
        "at_hash": at_hash(&pair(&response).access),
    });
    assert_eq!(claims(&id_token(&response)), expected);
    world.advance(30 * 86_400);
    let refreshed = claims(&id_token(&world.refresh(&pair(&response).refresh).await));
    for name in ["auth_time", "acr", "amr"] {
        assert_eq!(refreshed[name], expected[name], "{name}");
    }
    assert!(refreshed["nonce"].is_null());
}

/// OIDC-2-02, OIDC-2-05
#[tokio::test]
async fn the_header_says_type_algorithm_and_key() {
    let keys = [(rs256(), Signer::rs256()), (es256(), Signer::es256()), (ed25519(), Signer::ed25519())];
    for (key, signer) in keys {
        let mut config = config();
        config.identity.as_mut().unwrap().without_rs256 = true;
        let world = built(config, |builder| builder.signing_keys([key])).await;
        let response = exchanged(&world, "openid").await;
        let token = id_token(&response);
        let [header, claims] = parts(&token);
        assert_eq!(header, json!({"alg": signer.algorithm(), "kid": signer.thumbprint(), "typ": "JWT"}));
        let (signed, signature) = token.rsplit_once('.').unwrap();
        assert!(signer.is_signature(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()));
        let long = signer.algorithm() == "EdDSA";
        assert_eq!(claims["at_hash"].as_str().unwrap().len(), if long { 43 } else { 22 });
    }
}

/// OIDC-2-05
#[tokio::test]
async fn the_hash_is_that_of_a_jwt_too() {
    let mut config = config();
    config.resources = vec![resource("https://api.example", &[])];
    config.resources[0].access_tokens = AccessTokenFormat::Jwt;
    let world = built(config, |builder| builder.signing_keys([rs256(), es256()])).await;
    let response = exchanged(&world, "openid repo-code:r").await;
    let access = pair(&response).access;
    assert_eq!(parts(&access)[0]["alg"], "ES256", "the last one of the keys that began together");
    let token = id_token(&response);
    assert_eq!(parts(&token)[0]["alg"], "RS256");
    assert_eq!(claims(&token)["at_hash"], at_hash(&access));
}

/// OIDC-12-01, OIDC-12-03
#[tokio::test]
async fn a_refresh_makes_it_anew() {
    let world = world().await;
    let first = exchanged(&world, "openid repo-code:r").await;
    let first_claims = claims(&id_token(&first));
    world.advance(86_400);
    let response = world.refresh(&pair(&first).refresh).await;
    let mut expected = first_claims;
    expected["iat"] = (START + 86_400).into();
    expected["exp"] = (START + 86_400 + 600).into();
    expected["at_hash"] = at_hash(&pair(&response).access).into();
    assert_eq!(claims(&id_token(&response)), expected);
    let narrowed = world
        .token(&[
            ("grant_type", "refresh_token"),
            ("refresh_token", &pair(&response).refresh),
            ("scope", "repo-code:r"),
        ])
        .client(&world.client)
        .send()
        .await;
    assert!(members(&narrowed)["id_token"].is_null());
    id_token(&world.refresh(&pair(&narrowed).refresh).await);
}

/// OIDC-12-02
#[tokio::test]
async fn a_retry_gets_an_id_token_for_the_same_access_token() {
    let world = Arc::new(world().await);
    let first = pair(&exchanged(&world, "openid").await);
    let calls = (0..50).map(|_| {
        let (world, token) = (Arc::clone(&world), first.refresh.clone());
        tokio::spawn(async move { world.refresh(&token).await })
    });
    let mut access = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        let response = call.await.unwrap();
        access.push(pair(&response).access);
        assert_eq!(claims(&id_token(&response))["at_hash"], at_hash(access.last().unwrap()));
    }
    access.dedup();
    assert_eq!(access.len(), 1);
}

/// A signer that fails while a test says so.
#[derive(Clone, Debug, Default)]
struct Failing(Arc<AtomicBool>);

#[async_trait::async_trait]
impl grantor::hooks::Signer for Failing {
    async fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignerError> {
        if self.0.load(Ordering::Relaxed) {
            return Err(SignerError::new("away"));
        }
        Ok(Signer::rs256().signature(message))
    }
}

/// OIDC-2-07
#[tokio::test]
async fn a_signer_that_fails_spends_nothing() {
    let failing = Failing::default();
    let key = SigningKey::with_signer(&Signer::rs256().jwk_with_algorithm().to_string(), failing.clone()).unwrap();
    let world = built(config(), |builder| builder.signing_keys([key])).await;
    let code = world.code_for(&world.query(&[&WITH_URI[..], &[("scope", "openid")]].concat())).await;
    failing.0.store(true, Ordering::Relaxed);
    let response = world.exchange(&code).await;
    assert_eq!((response.status(), response.header("Retry-After").is_some()), (503, true));
    failing.0.store(false, Ordering::Relaxed);
    let first = world.exchange(&code).await;
    id_token(&first);
    world.advance(10);
    failing.0.store(true, Ordering::Relaxed);
    assert_eq!(world.refresh(&pair(&first).refresh).await.status(), 503);
    failing.0.store(false, Ordering::Relaxed);
    world.advance(1000);
    id_token(&world.refresh(&pair(&first).refresh).await);
    assert_eq!(world.refresh(&pair(&first).refresh).await.status(), 200, "the first refresh was this one");
}

/// OIDC-2-07
#[tokio::test]
async fn one_of_fifty_exchanges_gets_it() {
    let world = Arc::new(world().await);
    let code = world.code_for(&world.query(&[&WITH_URI[..], &[("scope", "openid")]].concat())).await;
    let calls = (0..50).map(|_| {
        let (world, code) = (Arc::clone(&world), code.clone());
        tokio::spawn(async move { world.exchange(&code).await })
    });
    let mut answers = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        answers.push(call.await.unwrap());
    }
    let (good, bad): (Vec<_>, Vec<_>) = answers.iter().partition(|response| response.status() == 200);
    assert_eq!((good.len(), bad.len()), (1, 49));
    id_token(good[0]);
    bad.iter().for_each(|response| e400(response, "invalid_grant"));
}

/// IDOFF-06
#[tokio::test]
async fn a_server_that_is_switched_back_keeps_the_other_scopes() {
    let mut world = world().await;
    let both = pair(&exchanged(&world, "openid repo-code:r").await);
    let alone = pair(&exchanged(&world, "openid").await);
    world.server = world.builder(config_of(Profile::Strict), world.store.clone()).build().unwrap();
    let response = members(&world.refresh(&both.refresh).await);
    assert_eq!((&response["scope"], &response["id_token"]), (&json!("repo-code:r"), &Value::Null));
    e400(&world.refresh(&alone.refresh).await, "invalid_grant");
    world.server =
        world.builder(config(), world.store.clone()).signing_keys([rs256()]).claims(NoClaims).build().unwrap();
    id_token(&world.refresh(&alone.refresh).await);
}

/// OIDC-2-06
#[tokio::test]
async fn the_lifetime_is_a_setting() {
    let mut config = config();
    config.identity.as_mut().unwrap().id_token_lifetime = Duration::from_secs(60);
    let world = built(config, |builder| builder).await;
    assert_eq!(claims(&id_token(&exchanged(&world, "openid").await))["exp"], START + 60);
}

/// OIDC-12-04
#[tokio::test]
async fn a_refresh_can_do_without_it() {
    let mut config = config();
    config.identity.as_mut().unwrap().id_token_on_refresh = false;
    let world = built(config, |builder| builder).await;
    let first = exchanged(&world, "openid").await;
    id_token(&first);
    assert!(members(&world.refresh(&pair(&first).refresh).await)["id_token"].is_null());
}
