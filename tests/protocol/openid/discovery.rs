//! The metadata of OpenID Connect Discovery, and the keys.

use grantor::wire::{Endpoint, Request};

use super::*;
use support::world::config_at;

async fn document(server: &AuthorizationServer, path: &str) -> Response {
    server.serve(Endpoint::Metadata, &Request::new("GET").path(path)).await
}

async fn json_of(server: &AuthorizationServer) -> Value {
    serde_json::from_slice(document(server, "/").await.body()).unwrap()
}

/// OIDC-D-01, IDOFF-01
#[tokio::test]
async fn one_document_has_three_addresses() {
    let mut at_root = config();
    let mut below = config_at(Profile::Strict, "https://auth.example/tenant");
    below.identity = Some(identity());
    let root = build(at_root.clone(), vec![rs256()]).unwrap();
    let paths = ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"];
    let with_slashes = paths.map(|path| [path.to_owned(), format!("{path}/")]).concat();
    assert_eq!(root.paths(Endpoint::Metadata), with_slashes);
    let below = build(below, vec![rs256()]).unwrap();
    let expected = [
        "/.well-known/oauth-authorization-server/tenant",
        "/tenant/.well-known/openid-configuration",
        "/.well-known/openid-configuration/tenant",
    ];
    let with_slashes = expected.map(|path| [path.to_owned(), format!("{path}/")]).concat();
    assert_eq!(below.paths(Endpoint::Metadata), with_slashes);
    let first = document(&below, expected[0]).await;
    assert_eq!((first.status(), first.header("Content-Type")), (200, Some("application/json")));
    for path in &expected[1..] {
        assert_eq!(document(&below, path).await.body(), first.body(), "{path}");
    }
    let post = below.serve(Endpoint::Metadata, &Request::new("POST").path(expected[1])).await;
    assert_eq!((post.status(), post.header("Allow")), (405, Some("GET, HEAD")));
    at_root.identity = None;
    let off = build(at_root, Vec::new()).unwrap();
    let without: Vec<_> = off.paths(Endpoint::Metadata);
    assert!(without.iter().all(|path| !path.contains("openid")), "{without:?}");
    assert!(off.paths(Endpoint::UserInfo).is_empty());
    assert_eq!(off.serve(Endpoint::UserInfo, &Request::new("GET")).await.status(), 404);
}

/// OIDC-D-02, IDOFF-01, USERINFO-07, LOGOUT-01
#[tokio::test]
async fn the_document_says_what_is_offered_and_nothing_else() {
    let mut config = config();
    let off = {
        let mut off = config.clone();
        off.identity = None;
        json_of(&build(off, Vec::new()).unwrap()).await
    };
    let own = config.identity.as_mut().unwrap();
    own.scopes = vec![IdentityScope::email()];
    let bare = json_of(&build(config.clone(), vec![rs256(), ed25519()]).unwrap()).await;
    let mut expected = off.clone();
    let added = json!({
        "userinfo_endpoint": format!("{ISSUER}/oauth2/userinfo"), "jwks_uri": format!("{ISSUER}/oauth2/jwks"),
        "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["RS256", "EdDSA"],
        "claims_supported": ["sub", "iss", "auth_time", "email", "email_verified"],
        "prompt_values_supported": ["none", "login", "consent"], "request_uri_parameter_supported": false,
    });
    let scopes = ["openid", "email"].map(Value::from);
    let all: Vec<_> = scopes.iter().chain(off["scopes_supported"].as_array().unwrap()).cloned().collect();
    expected.as_object_mut().unwrap().extend(added.as_object().unwrap().clone());
    expected["scopes_supported"] = all.into();
    assert_eq!(bare, expected);
    let own = config.identity.as_mut().unwrap();
    own.acr_values = vec!["loa1".into()];
    own.ui_locales = vec!["zh-cn".into(), "de".into()];
    let full = json_of(&build(config.clone(), vec![rs256()]).unwrap()).await;
    assert_eq!(full["acr_values_supported"], json!(["loa1"]));
    assert_eq!(full["ui_locales_supported"], json!(["zh-CN", "de"]));
    assert_eq!(full["claims_supported"], json!(["sub", "iss", "auth_time", "email", "email_verified", "acr"]));
    for locale in ["de_DE", ""] {
        config.identity.as_mut().unwrap().ui_locales = vec![locale.into()];
        let error = build(config.clone(), vec![rs256()]).unwrap_err();
        assert!(error.starts_with("identity.ui_locales is "), "{error}");
    }
    config.identity.as_mut().unwrap().ui_locales.clear();
    config.identity.as_mut().unwrap().acr_values = vec!["a b".into()];
    assert!(build(config, vec![rs256()]).unwrap_err().starts_with("identity.acr_values is "));
}

/// OIDC-D-03
#[tokio::test]
async fn each_algorithm_has_a_rotation_of_its_own() {
    let at = |seconds: u32| grantor::Timestamp::from_seconds(START + seconds);
    let old = || es256().published_until(at(600 + 600 + 60));
    let another = {
        let bytes: &[u8] = include_bytes!("../../data/keys/p256-2.pk8");
        SigningKey::from_pkcs8(SigningAlgorithm::Es256, bytes).unwrap()
    };
    let next = || another.clone().signs_from(at(600));
    let mut config = config();
    config.identity.as_mut().unwrap().without_rs256 = true;
    let world = built(config.clone(), |builder| builder.signing_keys([old(), next(), ed25519()])).await;
    let kid = async || parts(&id_token(&exchanged(&world, "openid").await))[0]["kid"].as_str().unwrap().to_owned();
    assert_eq!(kid().await, es256().key_id());
    world.advance(600);
    assert_eq!(kid().await, another.key_id());
    let early = es256().published_until(at(600 + 600 + 59));
    let error = build(config, vec![early, next(), ed25519()]).unwrap_err();
    assert!(error.contains("plus identity.id_token_lifetime and 60 s"), "{error}");
}
