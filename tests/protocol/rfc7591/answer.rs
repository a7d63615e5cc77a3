//! The endpoint: when it exists, what it accepts, and how it responds.

use grantor::client::{AuthenticationMethod, AuthenticationMethods};
use grantor::config::{DynamicRegistration, Profile};
use grantor::hooks::ApproveWithin;
use grantor::store::Stores;
use grantor::wire::{Endpoint, Request};
use grantor::{AuthorizationServer, MemoryStore};
use serde_json::{Value, json};

use super::{bounds, created, credentials, open, post, public, refused, refusing, register, with, world, world_with};
use crate::rfc8414;
use support::world::{ISSUER, PKCE, World, config_of, e401, ok};

/// 8414-2-06
#[tokio::test]
async fn the_endpoint_is_there_while_registration_is_on() {
    let off = World::mcp().await;
    for method in ["POST", "GET", "OPTIONS"] {
        assert_eq!(off.server.serve(Endpoint::Registration, &Request::new(method)).await.status(), 404);
    }
    assert!(!rfc8414::metadata(&off).await.as_object().unwrap().contains_key("registration_endpoint"));

    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        assert_eq!(config_of(profile).registration.dynamic, DynamicRegistration::Off);
        let on = world_with(open(profile), bounds()).await;
        assert_eq!(rfc8414::metadata(&on).await["registration_endpoint"], "https://auth.example/oauth2/register");
        assert_eq!(on.server.path(Endpoint::Registration), "/oauth2/register");
        let report = on.server.security_report().findings;
        assert!(report.iter().any(|finding| finding.setting == "registration.dynamic"));
        register(&on, public()).await;
    }
}

/// 7591-5-02
#[tokio::test]
async fn registration_is_on_with_a_policy_alone() {
    let error = AuthorizationServer::new(open(Profile::Mcp), MemoryStore::new()).unwrap_err();
    assert_eq!((error.field(), error.value()), ("registration.dynamic", "Open"));
    assert!(error.remedy().contains("registration_policy"), "{error}");

    let stores = Stores::new(MemoryStore::new()).with_clients(MemoryStore::new());
    let policy = ApproveWithin::new(bounds());
    let error = AuthorizationServer::builder(open(Profile::Mcp), stores).registration_policy(policy.clone()).build();
    assert!(error.unwrap_err().remedy().contains("with_registry"));

    // A policy alone does not enable registration.
    let world = World::built(config_of(Profile::Mcp), |builder| builder.registration_policy(policy)).await;
    assert_eq!(post(&world, public().to_string()).await.status(), 404);
}

/// 7591-5-02, 8414-2-07
#[tokio::test]
async fn the_omitted_method_is_one_that_is_offered() {
    let secret = AuthenticationMethods::SECRET;
    for (methods, expected) in [
        (secret, "client_secret_basic"),
        (secret.without(AuthenticationMethod::ClientSecretBasic), "client_secret_post"),
    ] {
        let mut config = open(Profile::Mcp);
        config.client_authentication.methods = methods;
        let minimal = json!({"redirect_uris": ["https://app.example.com/cb"]});
        let answer = register(&world_with(config, bounds()).await, minimal).await;
        assert_eq!(answer["token_endpoint_auth_method"], expected);
    }
}

/// 7591-3.1-01
#[tokio::test]
async fn a_registration_is_a_post_of_json() {
    let world = world().await;
    let call = || world.post(Endpoint::Registration, &[]).raw_body(public().to_string());
    refused(&call().send().await, 400, "invalid_client_metadata");
    refused(&call().without_header("Content-Type").send().await, 400, "invalid_client_metadata");
    for media_type in ["Application/JSON; charset=utf-8", "application/json;x"] {
        let call = call().without_header("Content-Type").header("Content-Type", media_type.as_bytes());
        created(&call.send().await);
    }
    for method in ["GET", "PUT", "DELETE", "post"] {
        let response = call().method(method).send().await;
        assert_eq!((response.status(), response.header("Allow")), (405, Some("POST")));
    }
}

/// 7591-3.1-02
#[tokio::test]
async fn the_body_is_one_object_of_bounded_size() {
    let world = world().await;
    let uris = r#""redirect_uris":["https://app.example.com/cb"]"#;
    for bad in [
        "[]".to_owned(),
        "null".to_owned(),
        format!("{{{uris},{uris}}}"),
        format!("{{{uris}}}x"),
        format!("{{{uris},\"x\":{}{}}}", "[".repeat(100), "]".repeat(100)),
        r#"{"redirect_uris":"https://app.example.com/cb"}"#.to_owned(),
        r#"{"redirect_uris":[1]}"#.to_owned(),
    ] {
        refused(&post(&world, bad).await, 400, "invalid_client_metadata");
    }
    let of = |size: usize| {
        let start = format!("{{{uris},\"x\":\"");
        format!("{start}{}\"}}", "y".repeat(size - start.len() - 2))
    };
    created(&post(&world, of(16_384)).await);
    assert_eq!(post(&world, of(16_385)).await.status(), 413);
    let absent = register(&world, with(public(), json!({"client_uri": null, "logo_uri": ""}))).await;
    assert!(absent.get("client_uri").is_none() && absent.get("logo_uri").is_none());
}

/// 7591-3.2.1-01, 7591-3.2.1-03, NEG-OC-09
#[tokio::test]
async fn the_answer_has_all_metadata_and_nothing_empty() {
    let world = world().await;
    let minimal = json!({"redirect_uris": ["https://app.example.com/cb"]});
    for metadata in [minimal, public(), with(public(), json!({"contacts": [], "scope": "repo-code:r"}))] {
        let response = post(&world, metadata.to_string()).await;
        assert_eq!(response.header("Content-Type"), Some("application/json;charset=UTF-8"));
        let answer = created(&response);
        for name in ["redirect_uris", "grant_types", "response_types"] {
            assert!(!answer[name].as_array().unwrap().is_empty(), "{name}");
        }
        assert!(answer["token_endpoint_auth_method"].is_string());
        assert!(answer["client_id_issued_at"].is_u64());
        assert_eq!(answer.get("client_secret").is_some(), answer["client_secret_expires_at"] == 0);
        for (name, value) in answer.as_object().unwrap() {
            let is_empty = *value == Value::Null || *value == json!("") || *value == json!([]);
            assert!(!is_empty, "{name}");
        }
        // Management is a separate setting, and off.
        assert!(answer.get("registration_client_uri").is_none() && answer.get("registration_access_token").is_none());
    }
}

/// 7591-3.2.1-04
#[tokio::test]
async fn a_secret_is_for_a_method_that_uses_one() {
    let world = world().await;
    let alone = register(&world, public()).await;
    assert!(alone.get("client_secret").is_none() && alone.get("client_secret_expires_at").is_none());
    let registrar = world.server.registrar().unwrap();
    assert!(!registrar.client(&super::id(&alone)).await.unwrap().has_secret());

    for method in ["client_secret_post", "client_secret_basic"] {
        let answer = register(&world, with(public(), json!({"token_endpoint_auth_method": method}))).await;
        let client = credentials(&answer);
        assert!(client.secret.len() == 43 && client.secret.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        let stored = registrar.client(&super::id(&answer)).await.unwrap();
        assert!(stored.has_secret() && stored.requires_pkce());
        let bytes = stored.encode();
        assert!(!bytes.windows(client.secret.len()).any(|window| window == client.secret.as_bytes()));
        let pending = world.authorize(&world.query_of(&client, &PKCE)).await.unwrap();
        assert!(!pending.is_client_identity_assured());
        let code = world.code_for(&world.query_of(&client, &PKCE)).await;
        let form = [("grant_type", "authorization_code"), ("code", &code), ("code_verifier", support::world::VERIFIER)];
        let wrong = if method == "client_secret_post" {
            world.token(&form).client(&client)
        } else {
            world.token(&form).form_secret(&client)
        };
        e401(&wrong.send().await, "invalid_client");
        let right = if method == "client_secret_post" {
            world.token(&form).form_secret(&client)
        } else {
            world.token(&form).client(&client)
        };
        ok(&right.send().await);
    }
}

/// 7591-3.2.2-01
#[tokio::test]
async fn a_refusal_repeats_nothing_of_the_request() {
    let world = world_with(refusing(), bounds()).await;
    let markup = "<script>alert(1)</script>";
    let program = format!("javascript:{markup}");
    for (members, error) in [
        (json!({"redirect_uris": [format!("https://app.example.com/{markup}")]}), "invalid_redirect_uri"),
        (json!({"redirect_uris": []}), "invalid_redirect_uri"),
        (json!({"token_endpoint_auth_method": markup}), "invalid_client_metadata"),
        (json!({"grant_types": [markup]}), "invalid_client_metadata"),
        (json!({"response_types": [markup]}), "invalid_client_metadata"),
        (json!({"scope": markup}), "invalid_client_metadata"),
        (json!({"client_name": format!("{markup}\u{202e}")}), "invalid_client_metadata"),
        (json!({"client_uri": program}), "invalid_client_metadata"),
        (json!({"logo_uri": program}), "invalid_client_metadata"),
        (json!({"tos_uri": program}), "invalid_client_metadata"),
        (json!({"policy_uri": program}), "invalid_client_metadata"),
        (json!({"jwks": {markup: []}, "jwks_uri": markup}), "invalid_client_metadata"),
    ] {
        let response = post(&world, with(public(), members.clone()).to_string()).await;
        refused(&response, 400, error);
        assert!(!String::from_utf8_lossy(response.body()).contains("alert"), "{members}");
    }
    let registered = world.events.take();
    assert!(!registered.iter().any(|event| event.contains("alert")), "{registered:?}");
}

/// NEG-OC-11, CIMD-6-02
#[tokio::test]
async fn no_header_of_a_request_is_in_the_answer() {
    let world = world().await;
    let call = world.post(Endpoint::Registration, &[]).without_header("Content-Type").raw_body(public().to_string());
    let call = call.header("Content-Type", b"application/json").header("Host", b"evil.example");
    let response = call.header("X-Forwarded-Host", b"evil.example").send().await;
    let answer = created(&response);
    assert!(!answer.to_string().contains("evil.example"));
    assert!(!answer["client_id"].as_str().unwrap().starts_with("https://"));
    assert_eq!(rfc8414::metadata(&world).await["registration_endpoint"], format!("{ISSUER}/oauth2/register"));
}

/// Numerical Recipes' linear congruential generator: repeatable, and good enough to vary bytes.
pub(crate) struct Draws(pub(crate) u32);

impl Draws {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        usize::try_from(self.0 >> 8).unwrap() % bound
    }

    pub(crate) fn vary(&mut self, bytes: &mut Vec<u8>) {
        const SYNTAX: &[u8] = b"{}[]\",:\\ \n\0u/#@%.<nulltrue09-\x7f\x80\xc3\xff";
        for _ in 0..=self.below(3) {
            let place = self.below(bytes.len() + 1);
            let byte = SYNTAX[self.below(SYNTAX.len())];
            match self.below(3) {
                0 => bytes.insert(place, byte),
                1 if place < bytes.len() => bytes[place] = byte,
                _ if place < bytes.len() => drop(bytes.remove(place)),
                _ => bytes.push(byte),
            }
        }
    }
}

/// NEG-OC-08
#[tokio::test]
async fn bytes_of_any_kind_are_refused_or_make_a_client_that_works() {
    let mut config = open(Profile::Platform);
    config.limits.unreviewed_clients = 200;
    let world = world_with(config, bounds()).await;
    let full = json!({
        "redirect_uris": ["https://app.example.com/cb", "http://127.0.0.1:8787/cb", "com.example.app:/cb"],
        "client_name": "App",
        "client_uri": "https://app.example.com/",
        "grant_types": ["authorization_code", "refresh_token"],
        "scope": "repo-code:r",
        "contacts": ["ops@app.example.com"],
    });
    let (mut draws, mut registered) = (Draws(5), 0);
    for _ in 0..3000 {
        let mut body = full.to_string().into_bytes();
        draws.vary(&mut body);
        let response = post(&world, body.clone()).await;
        if response.status() == 400 {
            let error: Value = serde_json::from_slice(response.body()).unwrap();
            let is_known =
                ["invalid_redirect_uri", "invalid_client_metadata"].iter().any(|code| error["error"] == *code);
            assert!(is_known, "{error}");
            continue;
        }
        let answer = created(&response);
        for uri in answer["redirect_uris"].as_array().unwrap() {
            let query = super::query(&world, &answer, uri.as_str().unwrap(), &[]);
            assert!(world.authorize(&query).await.is_ok(), "{uri} of {}", body.escape_ascii());
        }
        registered += 1;
    }
    assert!(registered > 300, "{registered}");
}
