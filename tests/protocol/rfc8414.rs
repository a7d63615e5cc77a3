//! RFC 8414: what the server publishes about itself.

use grantor::scope::{Permissions, ScopeCatalog, ScopeDefinition};
use grantor::wire::{Endpoint, Request, Response};
use grantor::{AuthorizationServer, Config, ConfigError, MemoryStore, Profile};
use serde_json::{Value, json};

use crate::world::{ISSUER, World};

/// The document of a world.
pub(crate) async fn metadata(world: &World) -> Value {
    document(&get(&world.server).await)
}

async fn get(server: &AuthorizationServer) -> Response {
    server.serve(Endpoint::Metadata, &Request::new("GET")).await
}

#[track_caller]
fn document(response: &Response) -> Value {
    assert_eq!(response.status(), 200);
    assert_eq!(response.header("Content-Type"), Some("application/json"));
    serde_json::from_slice(response.body()).unwrap()
}

fn with_issuer(issuer: &str) -> Result<AuthorizationServer, ConfigError> {
    AuthorizationServer::new(Config::platform(issuer), MemoryStore::new())
}

const HTTPS_ISSUER: &str =
    "an https URL with a host and without user, query and fragment is accepted (RFC 8414 section 2)";

/// How plain http is refused.
pub(crate) fn plain_http(issuer: &str) -> String {
    format!(
        "issuer is {issuer:?}; an https URL is accepted, or plain http on a loopback host with development on (RFC 8414 \
         section 2)"
    )
}

/// 8414-2-01, 6749-3.1-05
#[test]
fn an_issuer_is_an_https_url_of_a_host_without_query_and_fragment() {
    for good in ["https://a.example", "https://a.example/", "https://a.example:8443/tenant/1", "https://[2001:db8::1]"]
    {
        assert_eq!(with_issuer(good).unwrap().issuer(), good);
    }
    for bad in [
        "",
        "a.example",
        "//a.example",
        "https://",
        "https:///a.example",
        "https:a.example",
        "https:/a.example",
        "https://a.example?",
        "https://a.example?x=1",
        "https://a.example/#",
        "https://a.example#x",
        "https://user@a.example",
        "https://@a.example",
        "https://user:password@a.example",
        "https://a.example/a b",
        "https://a.example\\b",
        " https://a.example",
        "https://a.example\n",
        "ftp://a.example",
        "urn:example:issuer",
    ] {
        let error = with_issuer(bad).unwrap_err();
        assert_eq!((error.field(), error.remedy()), ("issuer", HTTPS_ISSUER), "{bad:?}");
        assert!(!error.to_string().contains("password"), "{error}");
    }
    for plain in ["http://a.example", "http://127.0.0.1:8080", "http://localhost"] {
        assert_eq!(with_issuer(plain).unwrap_err().to_string(), plain_http(plain));
    }
}

/// 6749-3.1-05
#[test]
fn development_mode_lets_an_issuer_be_plain_http_on_a_loopback_host_alone() {
    let development = |issuer: &str| {
        let mut config = Config::platform(issuer);
        config.development = true;
        AuthorizationServer::new(config, MemoryStore::new())
    };
    for loopback in ["http://127.0.0.1:8080", "http://[::1]", "http://localhost:3000/tenant"] {
        assert_eq!(development(loopback).unwrap().issuer(), loopback);
    }
    for public in ["http://a.example", "http://127.0.0.1.a.example", "http://localhost.a.example", "http://10.0.0.1"] {
        assert_eq!(development(public).unwrap_err().to_string(), plain_http(public));
    }
}

/// 8414-2-02
#[tokio::test]
async fn what_every_client_needs_is_published_with_absolute_addresses() {
    let metadata = metadata(&World::platform().await).await;
    assert_eq!(metadata["issuer"], ISSUER);
    assert_eq!(metadata["authorization_endpoint"], "https://auth.example/oauth2/auth");
    assert_eq!(metadata["token_endpoint"], "https://auth.example/oauth2/token");
    assert_eq!(metadata["response_types_supported"], json!(["code"]));

    for issuer in ["https://auth.example/tenant", "https://auth.example/tenant/"] {
        let document = document(&get(&with_issuer(issuer).unwrap()).await);
        assert_eq!(document["token_endpoint"], "https://auth.example/tenant/oauth2/token");
        assert_eq!(document["authorization_endpoint"], "https://auth.example/tenant/oauth2/auth");
    }
}

/// 8414-2-03
#[tokio::test]
async fn every_list_whose_default_would_lie_is_published() {
    for public_clients in [false, true] {
        let world = World::with(Profile::Platform, |config| config.public_clients = public_clients);
        let metadata = metadata(&world.await).await;
        let mut methods = vec!["client_secret_basic", "client_secret_post"];
        assert_eq!(metadata["introspection_endpoint_auth_methods_supported"], json!(methods));
        if public_clients {
            methods.push("none");
        }
        assert_eq!(metadata["grant_types_supported"], json!(["authorization_code", "refresh_token"]));
        assert_eq!(metadata["response_modes_supported"], json!(["query"]));
        assert_eq!(metadata["token_endpoint_auth_methods_supported"], json!(methods));
        assert_eq!(metadata["revocation_endpoint_auth_methods_supported"], json!(methods));
    }
}

/// 8414-2-04, 9700-2.1.1-04
#[tokio::test]
async fn scopes_revocation_and_pkce_are_published() {
    let metadata = metadata(&World::platform().await).await;
    let scopes: Vec<_> = metadata["scopes_supported"].as_array().unwrap().iter().map(|scope| scope.as_str()).collect();
    for expected in ["repo-code:r", "repo-code:rw", "repo-delete:rw", "repo-security:r"] {
        assert!(scopes.contains(&Some(expected)), "{expected}");
    }
    for impossible in ["repo-delete:r", "repo-security:rw", "repo-code"] {
        assert!(!scopes.contains(&Some(impossible)), "{impossible}");
    }
    assert_eq!(metadata["revocation_endpoint"], "https://auth.example/oauth2/revoke");
    assert_eq!(metadata["introspection_endpoint"], "https://auth.example/oauth2/introspect");
    assert_eq!(metadata["code_challenge_methods_supported"], json!(["S256"]));
}

/// 8414-3-01
#[tokio::test]
async fn the_well_known_path_stands_between_host_and_path() {
    for (issuer, path) in [
        ("https://auth.example", "/.well-known/oauth-authorization-server"),
        ("https://auth.example/", "/.well-known/oauth-authorization-server"),
        ("https://auth.example/tenant", "/.well-known/oauth-authorization-server/tenant"),
        ("https://auth.example/tenant/", "/.well-known/oauth-authorization-server/tenant"),
        ("https://auth.example:8443/a/b", "/.well-known/oauth-authorization-server/a/b"),
    ] {
        assert_eq!(with_issuer(issuer).unwrap().path(Endpoint::Metadata), path, "{issuer}");
    }
}

/// 8414-3.2-01
#[tokio::test]
async fn the_document_is_json_without_nulls_and_empty_lists() {
    for world in [World::platform().await, World::strict().await, World::mcp().await] {
        let document = metadata(&world).await;
        for (name, value) in document.as_object().unwrap() {
            let is_empty = match value {
                Value::Null => true,
                Value::Array(entries) => entries.is_empty(),
                Value::String(text) => text.is_empty(),
                Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
            };
            assert!(!is_empty, "{name}");
        }
        let head = world.server.serve(Endpoint::Metadata, &Request::new("HEAD")).await;
        assert_eq!(head.status(), 200);
        for method in ["POST", "PUT", "get"] {
            let response = world.server.serve(Endpoint::Metadata, &Request::new(method)).await;
            assert_eq!(response.status(), 405);
            assert_eq!(response.header("Allow"), Some("GET, HEAD"));
        }
    }
}

/// 8414-3.3-01, MCP-0728-01
#[tokio::test]
async fn the_issuer_is_the_configured_string_itself() {
    for issuer in [
        "https://auth.example",
        "https://auth.example/",
        "https://AUTH.example:443",
        "https://auth.example/%7Etenant",
        "HTTPS://auth.example",
    ] {
        let server = with_issuer(issuer).unwrap();
        assert_eq!(document(&get(&server).await)["issuer"], issuer);
        assert_eq!(server.issuer(), issuer);
    }
}

/// 8414-3.2-02
#[tokio::test]
async fn only_what_is_switched_on_is_published() {
    let wiki = ScopeDefinition::new("wiki", Permissions::ReadOnlyOrReadWrite);
    let wiki = ScopeCatalog::builder().scope(wiki).build().unwrap();
    let mut config = Config::platform(ISSUER);
    config.response_issuer = false;
    config.scopes = wiki;
    let document = document(&get(&AuthorizationServer::new(config, MemoryStore::new()).unwrap()).await);
    assert_eq!(document["scopes_supported"], json!(["wiki:r", "wiki:rw"]));
    let members = document.as_object().unwrap();
    for absent in [
        "authorization_response_iss_parameter_supported",
        "registration_endpoint",
        "pushed_authorization_request_endpoint",
        "device_authorization_endpoint",
        "jwks_uri",
        "client_id_metadata_document_supported",
    ] {
        assert!(!members.contains_key(absent), "{absent}");
    }
    assert!(!document.to_string().contains("none"));
}
