//! Opaque tokens at an API that verifies JWTs, and the settings that fit each other.

use grantor::config::DpopBoundTokens;
use grantor::fetch::{FetchErrorKind, FetchResponse};
use grantor::protected_resource::AccessTokenFormat;
use grantor::resource::{ExpectedAudience, IntrospectionSettings, JwtSettings, JwtVerifier, ResourceClient};
use grantor::{AuthorizationServer, ClientSecret, Config, ConfigError, MemoryStore, ResourceServer};
use serde_json::json;

use super::{API, Api, KEYS_URL, OTHER_API, config};
use crate::resource_client::Script;
use support::world::{ISSUER, START};

/// The form of the access tokens of these settings.
fn opaque() -> String {
    format!("at_{}", "A".repeat(65))
}

fn client_of(script: &Script, issuer: &str, audience: ExpectedAudience) -> ResourceClient {
    let endpoint = format!("{ISSUER}/oauth2/introspect");
    let settings = IntrospectionSettings::new(endpoint, "api", ClientSecret::new("a secret"), issuer, audience);
    ResourceClient::new(settings, script.clone()).unwrap()
}

fn described() -> FetchResponse {
    let answer = json!({
        "active": true, "client_id": "app", "sub": "bob", "scope": "repo-code:rw", "aud": API, "exp": START + 3600,
    });
    let mut response = FetchResponse::new(200, answer.to_string());
    response.content_type = Some("application/json".to_owned());
    response
}

/// 9068-2.2-03
#[tokio::test]
async fn an_opaque_token_is_refused_without_a_client() {
    let api = Api::new();
    assert_eq!((api.status(&opaque()).await, api.script.sent()), (401, 0));
    assert_eq!(api.events.take(), ["AccessTokenRefused { client: None, refusal: Opaque }"]);
}

/// 9068-2.2-03
#[tokio::test]
async fn an_opaque_token_is_introspected_and_a_jwt_is_not() {
    let api = Api::new();
    let asked = Script::default();
    asked.always(Ok(described()));
    let client = client_of(&asked, ISSUER, ExpectedAudience::Is(API.to_owned())).with_clock(api.clock.clone());
    let resource = api.resource.clone().or_introspect(client).unwrap();
    let api = Api { resource, ..api };
    let subject = async |token: &str| api.check(token).await.unwrap().subject().unwrap().to_string();
    assert_eq!(subject(&opaque()).await, "bob");
    assert_eq!((asked.sent(), api.script.sent()), (1, 0));
    assert_eq!(subject(&api.token(json!({}))).await, "alice");
    assert_eq!((asked.sent(), api.script.sent()), (1, 1));
    // Neither is sent to the authorization server.
    for other in ["unknown", &opaque()[1..], &format!("rt_{}", "A".repeat(65)), "a.b.c", &format!("{}A", opaque())] {
        assert_eq!(api.status(other).await, 401, "{other}");
    }
    assert_eq!((asked.sent(), api.script.sent()), (1, 1));
    asked.always(Err(FetchErrorKind::Connection));
    assert_eq!([api.status(&opaque()).await, api.status(&api.token(json!({}))).await], [503, 200]);
    api.answer_always(Err(FetchErrorKind::Connection));
    asked.always(Ok(described()));
    api.at(600);
    assert_eq!([api.status(&opaque()).await, api.status(&api.token(json!({}))).await], [200, 503]);
}

fn verifier(issuer: &str, audience: &str) -> JwtVerifier {
    JwtVerifier::new(JwtSettings::new(KEYS_URL, issuer, audience), Script::default()).unwrap()
}

/// 9068-4-01
#[test]
fn settings_that_do_not_fit_the_verifier_are_refused() {
    let made = |change: fn(&mut Config), verifier| {
        let mut config = config();
        change(&mut config);
        ResourceServer::jwt(config, verifier)
    };
    let field = |made: Result<ResourceServer, ConfigError>| made.map_or_else(|error| error.field(), |_| "accepted");
    let keep = |_: &mut Config| {};
    assert_eq!(field(made(keep, verifier(ISSUER, API))), "accepted");
    assert_eq!(field(made(keep, verifier("https://other.example", API))), "issuer");
    assert_eq!(field(made(keep, verifier(ISSUER, "https://unknown.example"))), "resources");
    assert_eq!(field(made(|config| config.resources.clear(), verifier(ISSUER, ISSUER))), "resources");
    let opaque = made(keep, verifier(ISSUER, OTHER_API)).unwrap_err();
    assert_eq!(
        opaque.to_string(),
        "resources is one with opaque access tokens; \"https://other.example\" needs AccessTokenFormat::Jwt for a \
         JwtVerifier"
    );
    let reads_proofs: fn(&mut Config) = |config| config.dpop.tokens = DpopBoundTokens::Optional;
    assert_eq!(field(made(reads_proofs, verifier(ISSUER, API))), "dpop.tokens");
    let mut with_proofs = config();
    reads_proofs(&mut with_proofs);
    let proven = ResourceServer::jwt_with_proofs(with_proofs, verifier(ISSUER, API), MemoryStore::new());
    assert_eq!(field(proven), "accepted");
    assert_eq!(field(made(|config| config.issuer = "https://auth.example/?x".into(), verifier(ISSUER, API))), "issuer");
    let own = made(keep, verifier(ISSUER, API)).unwrap();
    assert_eq!(own.settings().unwrap().identifier, API);
}

/// 9068-2.2-03
#[tokio::test]
async fn the_report_says_that_opaque_tokens_are_refused() {
    let script = Script::default();
    let client = || client_of(&script, ISSUER, ExpectedAudience::Is(API.to_owned()));
    let findings = |resource: &ResourceServer| {
        resource.security_report().findings.iter().map(|finding| finding.setting).collect::<Vec<_>>()
    };
    let own = || ResourceServer::jwt(config(), verifier(ISSUER, API)).unwrap();
    assert_eq!(findings(&own()), ["or_introspect"]);
    assert!(own().security_report().to_string().contains("more than 4096 bytes"));
    assert_eq!(findings(&own().or_introspect(client()).unwrap()), [""; 0]);
    assert_eq!(findings(&ResourceServer::introspecting(config(), client()).unwrap()), [""; 0]);
    // What the parts report is in it.
    let mut settings = JwtSettings::new("http://127.0.0.1/jwks", ISSUER, API);
    settings.development = true;
    let unencrypted = ResourceServer::jwt(config(), JwtVerifier::new(settings, script.clone()).unwrap()).unwrap();
    assert_eq!(findings(&unencrypted), ["jwks_uri", "or_introspect"]);
    let endpoint = "http://127.0.0.1/introspect";
    let expected = ExpectedAudience::Is(API.to_owned());
    let mut settings = IntrospectionSettings::new(endpoint, "api", ClientSecret::new("a secret"), ISSUER, expected);
    settings.development = true;
    let client = ResourceClient::new(settings, script.clone()).unwrap();
    let of_client = client.security_report().findings;
    assert_eq!(of_client.len(), 1);
    assert_eq!(own().or_introspect(client.clone()).unwrap().security_report().findings, of_client);
    let introspecting = ResourceServer::introspecting(config(), client).unwrap();
    assert_eq!(introspecting.security_report().findings, of_client);
    // In process, the settings are those of the server.
    let mut weaker = config();
    (weaker.bearer_in_body, weaker.resources[0].access_tokens) = (true, AccessTokenFormat::Opaque);
    let server = AuthorizationServer::new(weaker, MemoryStore::new()).unwrap();
    assert!(findings(&server.protected_resource(API).unwrap()).contains(&"bearer_in_body"));
}

/// 9068-2.2-03
#[test]
fn the_client_for_opaque_tokens_is_for_the_same_place() {
    let script = Script::default();
    let is = |audience: &str| ExpectedAudience::Is(audience.to_owned());
    let own = || ResourceServer::jwt(config(), verifier(ISSUER, API)).unwrap();
    own().or_introspect(client_of(&script, ISSUER, is(API))).unwrap();
    for (issuer, audience, text) in [
        (
            "https://x.example",
            is(API),
            r#"issuer is "https://x.example"; it must be "https://auth.example", as in the settings"#,
        ),
        (
            ISSUER,
            is(OTHER_API),
            "audience is Is(\"https://other.example\"); it must be the audience of the verifier, \
             \"https://api.example\"",
        ),
        (
            ISSUER,
            ExpectedAudience::Any,
            r#"audience is Any; it must be the audience of the verifier, "https://api.example""#,
        ),
    ] {
        let error = own().or_introspect(client_of(&script, issuer, audience)).unwrap_err();
        assert_eq!(error.to_string(), text);
    }
    // There is nothing to add a client to.
    let mut without = config();
    without.resources.clear();
    let server = AuthorizationServer::new(without.clone(), MemoryStore::new()).unwrap();
    let introspecting = ResourceServer::introspecting(without, client_of(&script, ISSUER, is(ISSUER))).unwrap();
    for other in [ResourceServer::from(server), introspecting] {
        let error = other.or_introspect(client_of(&script, ISSUER, is(API))).unwrap_err();
        assert_eq!(error.field(), "or_introspect");
    }
}
