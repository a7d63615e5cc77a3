//! The vectors of `tests/data/redirect-vectors.json`, through the whole authorization endpoint.

use std::collections::HashMap;

use grantor::RegistrarError;
use grantor::application::{Field, Problem};
use grantor::config::Profile;
use grantor::redirect_uri::RedirectUriError;
use serde_json::Value;

use support::world::{Credentials, PKCE, With as _, World, code, count, form, logo, page, public_form, text};

const VECTORS: &str = include_str!("../data/redirect-vectors.json");

struct Vector {
    id: String,
    registered: String,
    requested: String,
    accept: bool,
    accept_exact: bool,
}

impl Vector {
    fn all() -> Vec<Self> {
        let vectors: Vec<Value> = serde_json::from_str(VECTORS).unwrap();
        let read = |vector: &Value| {
            let text = |name: &str| vector[name].as_str().unwrap().to_owned();
            Self {
                id: text("id"),
                registered: text("registered"),
                requested: text("requested"),
                accept: vector["accept"].as_bool().unwrap(),
                accept_exact: vector["accept_exact"].as_bool().unwrap(),
            }
        };
        let vectors: Vec<_> = vectors.iter().map(read).collect();
        assert_eq!(vectors.len(), 181);
        vectors
    }

    fn accepted(&self, profile: Profile) -> bool {
        if profile == Profile::Platform { self.accept } else { self.accept_exact }
    }

    /// Registered and requested URI are equal, and yet the request is refused: so the registration is at fault.
    fn fails_at_registration(&self, profile: Profile) -> bool {
        let no_host = profile == Profile::Mcp && !self.registered.to_lowercase().starts_with("http");
        self.registered == self.requested && !self.accept || no_host
    }
}

/// Registers each redirect URI once; refused ones are left out.
async fn register(world: &World, profile: Profile) -> HashMap<String, Credentials> {
    let registrar = world.server.registrar().unwrap();
    let mut clients = HashMap::new();
    for vector in Vector::all() {
        if clients.contains_key(&vector.registered) {
            continue;
        }
        let form = form().with(|form| form.redirect_uris = vec![vector.registered.clone()]);
        if vector.fails_at_registration(profile) {
            let outcome = registrar.submit(world.alice.clone(), form, Some(logo())).await;
            let Err(RegistrarError::Invalid(errors)) = outcome else { panic!("{}: was registered", vector.id) };
            assert_eq!(errors.len(), 1, "{}", vector.id);
            assert_eq!(errors[0].field(), Field::RedirectUris, "{}", vector.id);
        } else {
            clients.insert(vector.registered, world.register(form).await);
        }
    }
    clients
}

/// The count is that of the column, plus one for the vector that names no redirect URI.
async fn run_all(profile: Profile, count_of_accepted: usize) {
    let world = World::with(profile, |_| {}).await;
    let clients = register(&world, profile).await;
    let mut accepted = 0;
    for vector in Vector::all() {
        let Some(client) = clients.get(&vector.registered) else { continue };
        println!("{}: {:?} requested as {:?}", vector.id, vector.registered, vector.requested);
        let query = world.query_of(client, &[("redirect_uri", &vector.requested), ("state", "s"), PKCE[0], PKCE[1]]);
        // § 3.1: a parameter without a value counts as left out.
        let expected = if vector.requested.is_empty() { &vector.registered } else { &vector.requested };
        let outcome = world.authorize(&query).await;
        assert_eq!(outcome.is_ok(), vector.accepted(profile) || vector.requested.is_empty(), "{}", vector.id);
        if let Err(error) = outcome {
            assert!(!error.needs_sign_in(), "{}", vector.id);
            page(&error.response(Some(&world.alice)));
            continue;
        }
        accepted += 1;
        let response = world.approve(&query).await;
        let redirect = code(&response);
        let location = response.header("Location").unwrap();
        let separator = if expected.contains('?') { '&' } else { '?' };
        assert!(location.starts_with(&format!("{expected}{separator}code=")), "{}: {location}", vector.id);
        assert_eq!((text(&redirect, "state"), count(&redirect, "code")), ("s".into(), 1), "{}", vector.id);
    }
    assert_eq!(accepted, count_of_accepted);
}

/// 6749-3.1.2-01, D-01, SVC-2.1-05, 9700-2.1-01, 8252-7.1-01, 8252-7.3-01, 8252-8.3-01, MCP-0618-05, MCP-0618-06,
/// 6749-4.1.2.1-06, CVE-2020-15233, CVE-2020-15234
#[tokio::test]
async fn every_vector_holds() {
    run_all(Profile::Platform, 28).await;
    run_all(Profile::Strict, 10).await;
    run_all(Profile::Mcp, 9).await;
}

/// 9700-2.6-01, 21-2.3.1-01, D-01, MCP-0618-06, PYSEC-2026-4354, CVE-2020-26938, CVE-2026-67333, CVE-2026-59354
///
/// As in workers-oauth-provider #97.
#[tokio::test]
async fn each_redirect_uri_is_registered_or_refused_with_its_error() {
    let accepted = ["https://a.example/cb", "http://127.0.0.1/cb", "http://[::1]:3000/cb", "http://localhost/cb"];
    let plain_http = ["http://app.example.com/cb", "http://10.0.0.1/cb", "http://127.0.0.2/cb", "HTTP://a.example"];
    let schemes = ["myapp:/cb", "myapp://cb", "x-app:/cb", "app+1:/cb"];
    let no_loopback = [
        "http://localhost:80@evil.test/cb",
        "http://127.0.0.1@evil.test/cb",
        "http://127.0.0.1:80#@evil.test/cb",
        "http://127.0.0.1\\@evil.test/cb",
        "http://evil.test\\@127.0.0.1/cb",
        "http://127.0.0.1%2f@evil.test/cb",
        "http://127.0.0.1%00.evil.test/cb",
        "http://127.0.0.1.evil.test/cb",
        "http://%6cocalhost/cb",
    ];
    let scripts = [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        " javascript:alert(1)",
        "java\tscript:alert(1)",
        "\njavascript:alert(1)",
        "javascript:/alert(1)",
        "javascript://app.example.com/%0aalert(1)",
        "data:text/html,<script>alert(1)</script>",
        "DATA:text/html;base64,PHNjcmlwdD4=",
        "vbscript:msgbox(1)",
        "file:///etc/passwd",
        "blob:https://app.example.com/1",
    ];
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let world = World::with(profile, |_| {}).await;
        let mut on_loopback = public_form();
        on_loopback.redirect_uris = vec!["http://localhost/cb".into(), "http://127.0.0.1/cb".into()];
        let on_loopback = world.register(on_loopback).await;
        for uri in accepted {
            assert_eq!(refusal(&world, uri).await, None, "{uri}");
        }
        let private_use = refusal(&world, "com.example.app:/cb").await;
        assert_eq!(private_use.is_some(), profile == Profile::Mcp, "{profile:?}");
        for uri in plain_http {
            assert_eq!(refusal(&world, uri).await, Some(RedirectUriError::PlainHttp), "{uri}");
        }
        for uri in schemes {
            let error = refusal(&world, uri).await;
            assert!(error == Some(RedirectUriError::Scheme) || profile == Profile::Mcp && error.is_some(), "{uri}");
        }
        for uri in no_loopback.into_iter().chain(scripts) {
            assert!(refusal(&world, uri).await.is_some(), "{uri:?}");
            for client in [&world.client, &on_loopback] {
                page(&world.refused(&world.query_of(client, &[("redirect_uri", uri), PKCE[0], PKCE[1]])).await);
            }
        }
    }
}

/// Returns the error that the registration of a public client with this redirect URI is refused with.
async fn refusal(world: &World, uri: &str) -> Option<RedirectUriError> {
    let form = public_form().with(|form| form.redirect_uris = vec![uri.into()]);
    match world.server.registrar().unwrap().submit(world.alice.clone(), form, Some(logo())).await {
        Err(RegistrarError::Invalid(errors)) => match (errors.len(), errors[0].field(), errors[0].problem()) {
            (1, Field::RedirectUris, Problem::RedirectUri { number: 1, error }) => Some(error.clone()),
            other => panic!("{uri:?}: {other:?}"),
        },
        Err(error) => panic!("{error}"),
        Ok(_) => None,
    }
}
