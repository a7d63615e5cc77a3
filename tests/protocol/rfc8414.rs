//! RFC 8414: what the server publishes about itself.

use grantor::config::Profile;
use grantor::scope::{Permissions, ScopeCatalog, ScopeDefinition};
use grantor::wire::{Body, Endpoint, Request, Response};
use grantor::{AuthorizationServer, Config, ConfigError, MemoryStore};
use serde_json::{Value, json};

use crate::unreliable::{Fault, Unreliable};
use support::world::{ISSUER, PKCE, With as _, World, config_at, form, pair, parameters, text};

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

const HTTPS_ISSUER: &str = "an https URL of visible ASCII characters, with a valid host and port and without user, \
                            query, fragment and dot segments, is accepted (RFC 8414 section 2)";

/// The error text for plain http.
pub(crate) fn plain_http(issuer: &str) -> String {
    format!(
        "issuer is {issuer:?}; an https URL is accepted, or plain http on a loopback host with development on (RFC \
         8414 section 2); in place of a container's host name, use http://127.0.0.1 with its published port"
    )
}

/// 8414-2-01, 6749-3.1-05, MCP-0618-07, CVE-2026-50629
/// The unit tests of `config` have every spelling.
#[test]
fn an_issuer_is_an_https_url_of_a_host_without_query_and_fragment() {
    for good in ["https://a.example", "https://a.example/", "https://a.example:8443/tenant/1", "https://[2001:db8::1]"]
    {
        assert_eq!(with_issuer(good).unwrap().issuer(), good);
    }
    for bad in [
        "a.example",
        "https://a.example?x=1",
        "https://a.example#x",
        "https://user:password@a.example",
        "https://a.example\n",
    ] {
        let error = with_issuer(bad).unwrap_err();
        assert_eq!((error.field(), error.remedy()), ("issuer", HTTPS_ISSUER), "{bad:?}");
        assert!(!error.to_string().contains("password") && !error.to_string().contains('\n'), "{error}");
    }
    for (make, plain) in [
        (Config::platform as fn(&'static str) -> Config, "http://a.example"),
        (
            |issuer| {
                let mut config = Config::platform(issuer);
                config.development = true;
                config
            },
            "http://a.example",
        ),
        (Config::platform, "http://127.0.0.1:8080"),
        (Config::mcp, "http://127.0.0.1:8080"),
    ] {
        let error = AuthorizationServer::new(make(plain), MemoryStore::new()).unwrap_err();
        assert_eq!(error.to_string(), plain_http(plain));
    }
    let mut development = Config::platform("http://localhost:3000/tenant");
    development.development = true;
    assert!(AuthorizationServer::new(development, MemoryStore::new()).is_ok());
}

/// 8414-2-02, 8414-2-04, 9700-2.1.1-04, 7636-7.2-01, MCP-0618-01, MCP-1125-01
#[tokio::test]
async fn what_every_client_needs_is_published_with_absolute_addresses() {
    let metadata = metadata(&World::platform().await).await;
    assert_eq!(metadata["issuer"], ISSUER);
    assert_eq!(metadata["authorization_endpoint"], "https://auth.example/oauth2/auth");
    assert_eq!(metadata["token_endpoint"], "https://auth.example/oauth2/token");
    assert_eq!(metadata["response_types_supported"], json!(["code"]));

    assert_eq!(metadata["revocation_endpoint"], "https://auth.example/oauth2/revoke");
    assert_eq!(metadata["introspection_endpoint"], "https://auth.example/oauth2/introspect");
    for world in [World::platform().await, World::strict().await, World::mcp().await] {
        let document = crate::rfc8414::metadata(&world).await;
        assert_eq!(document["code_challenge_methods_supported"], json!(["S256"]));
    }
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

/// 8414-3.2-02
#[tokio::test]
async fn only_what_is_switched_on_is_published() {
    let wiki = ScopeDefinition::new("wiki", Permissions::ReadOnlyOrReadWrite);
    let wiki = ScopeCatalog::builder().scope(wiki).build().unwrap();
    let mut config = Config::platform(ISSUER);
    config.scopes = wiki;
    let document = document(&get(&AuthorizationServer::new(config, MemoryStore::new()).unwrap()).await);
    assert_eq!(document["scopes_supported"], json!(["wiki:r", "wiki:rw"]));
    let members = document.as_object().unwrap();
    for absent in [
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

/// 8414-2-08
#[tokio::test]
async fn every_scope_that_is_published_can_be_granted() {
    let offline = ScopeDefinition::plain("offline_access");
    for (with_offline, expected) in
        [(false, json!(["wiki:r", "wiki:rw"])), (true, json!(["offline_access", "wiki:r", "wiki:rw"]))]
    {
        let mut catalog = ScopeCatalog::builder().scope(ScopeDefinition::new("wiki", Permissions::ReadOnlyOrReadWrite));
        if with_offline {
            catalog = catalog.scope(offline.clone());
        }
        let mut config = Config::mcp(ISSUER);
        config.scopes = catalog.build().unwrap();
        let server = AuthorizationServer::new(config, MemoryStore::new()).unwrap();
        let mut published = document(&get(&server).await)["scopes_supported"].take();
        published.as_array_mut().unwrap().sort_by_key(|scope| scope.to_string());
        assert_eq!(published, expected);
    }
    let platform = World::platform().await;
    let published = metadata(&platform).await["scopes_supported"].take();
    let scopes: Vec<_> = published.as_array().unwrap().iter().map(|scope| scope.as_str().unwrap()).collect();
    assert!(!scopes.contains(&"offline_access"));
    let client = platform.register(form().with(|form| form.scopes = scopes.join(" "))).await;
    for scope in scopes {
        let code = platform.code_for(&platform.query_of(&client, &[("scope", scope), PKCE[0], PKCE[1]])).await;
        assert_eq!(pair(&platform.exchange_as(&client, &code).await).scope, scope);
    }
}

/// 8414-3-02, 8414-3-01, 8414-5-01, MCP-1125-05, 8414-3-03
#[tokio::test]
async fn the_document_has_a_path_with_and_without_a_slash_at_the_end() {
    for (issuer, path) in [
        ("https://auth.example", "/.well-known/oauth-authorization-server"),
        ("https://auth.example/t", "/.well-known/oauth-authorization-server/t"),
        ("https://auth.example/t/", "/.well-known/oauth-authorization-server/t"),
        ("https://auth.example/a/b//", "/.well-known/oauth-authorization-server/a/b"),
        ("https://auth.example/", "/.well-known/oauth-authorization-server"),
        ("https://auth.example:8443/a/b", "/.well-known/oauth-authorization-server/a/b"),
    ] {
        let server = with_issuer(issuer).unwrap();
        assert_eq!(server.path(Endpoint::Metadata), path, "{issuer}");
        assert_eq!(server.paths(Endpoint::Metadata), [path.to_owned(), format!("{path}/")], "{issuer}");
        for &endpoint in Endpoint::MACHINE.iter().chain([&Endpoint::Authorization]) {
            let paths = server.paths(endpoint);
            // Those of extensions that are off have none.
            assert!(paths.is_empty() || paths[0] == server.path(endpoint), "{issuer}");
            assert!(!paths.iter().any(|path| path.contains("openid")), "{paths:?}");
            let is_document = |path: &String| path.contains("oauth-authorization-server");
            assert_eq!(paths.iter().any(is_document), endpoint == Endpoint::Metadata, "{paths:?}");
        }
    }
}

/// 8414-3.2-03, MCP-0618-07, 8414-3.2-01
/// What the schemas of clients require: each member has its type, and endpoints are absolute URLs.
#[tokio::test]
async fn every_member_has_the_type_that_clients_ask_for() {
    let servers = [
        Config::platform(ISSUER),
        Config::strict("https://auth.example/tenant"),
        Config::mcp("https://auth.example/tenant/"),
        Config::mcp("http://127.0.0.1:8080"),
        Config::fapi("https://auth.example/tenant"),
    ];
    for mut config in servers {
        config.development = config.issuer.starts_with("http://");
        let server = AuthorizationServer::new(config, MemoryStore::new()).unwrap();
        let document = document(&get(&server).await);
        let members = document.as_object().unwrap();
        for needed in ["issuer", "authorization_endpoint", "token_endpoint", "response_types_supported"] {
            assert!(members.contains_key(needed), "{needed}");
        }
        for (name, value) in members {
            if name == "issuer" {
                assert_eq!(value, server.issuer());
            } else if name.ends_with("_endpoint") {
                let url = url::Url::parse(value.as_str().unwrap()).unwrap();
                let is_loopback = url.host_str() == Some("127.0.0.1");
                assert_eq!(url.scheme(), if is_loopback { "http" } else { "https" }, "{name}");
                assert_eq!(Some(url.as_str()), value.as_str(), "libraries do not rewrite it");
            } else if name.ends_with("_supported") && value.is_array() {
                let texts = value.as_array().unwrap();
                assert!(
                    !texts.is_empty() && texts.iter().all(|text| text.as_str().is_some_and(|text| !text.is_empty()))
                );
            } else {
                assert_eq!(value, true, "{name}");
            }
        }
        for method in ["POST", "PUT", "get"] {
            let response = server.serve(Endpoint::Metadata, &Request::new(method)).await;
            assert_eq!((response.status(), response.header("Allow")), (405, Some("GET, HEAD")), "{method}");
        }
    }
}

/// 8414-3.2-04
#[tokio::test]
async fn the_document_is_the_same_for_everybody() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let (world, store) = Unreliable::world(profile).await;
        store.fail(Fault::Everything);
        let plain = get(&world.server).await;
        assert_eq!(plain.status(), 200);
        for request in [
            Request::new("GET").header("Accept", b"text/html"),
            Request::new("GET").header("Accept", b"application/json;q=0"),
            Request::new("GET").header("MCP-Protocol-Version", b"2025-11-25"),
            Request::new("GET").header("MCP-Protocol-Version", b"\xff"),
            Request::new("GET").header("Host", b"evil.example").header("X-Forwarded-Host", b"evil.example"),
            Request::new("GET").header("Authorization", b"Bearer x").header("Authorization", b"Basic !"),
            Request::new("GET").header("Content-Type", b"text/plain").body(Body::TooLarge),
            Request::new("GET").query(b"issuer=x&%zz&\xff"),
            Request::new("GET").peer([192, 0, 2, 1].into()),
            Request::new("HEAD"),
        ] {
            assert_eq!(world.server.serve(Endpoint::Metadata, &request).await, plain, "{request:?}");
        }
    }
}

/// 8414-3.3-02, 8414-3.3-01, MCP-0728-01
#[tokio::test]
async fn the_issuer_is_one_string_everywhere_and_one_that_clients_rewrite_is_reported() {
    for (issuer, is_reported) in [
        (ISSUER, false),
        ("https://auth.example/tenant", false),
        ("https://auth.example:8443", false),
        ("https://auth.example/%7Etenant", false),
        ("https://auth.example/Tenant:443", false),
        ("https://auth.example/", true),
        ("https://auth.example/tenant/", true),
    ] {
        let world = World::built(config_at(Profile::Platform, issuer), |builder| builder).await;
        assert_eq!(metadata(&world).await["issuer"], issuer);
        let response = world.approve(&world.query(&[])).await;
        let redirect = parameters(response.header("Location").unwrap());
        assert_eq!(text(&redirect, "iss"), issuer);
        let exchange = [("grant_type", "authorization_code"), ("code", &*text(&redirect, "code"))];
        let token = pair(&world.token(&exchange).client(&world.client).send().await);
        assert_eq!(world.introspect_as(&world.client, &token.access).await["iss"], issuer);
        let report = world.server.security_report();
        assert_eq!(report.findings.iter().any(|finding| finding.setting == "issuer"), is_reported, "{issuer}");
    }
}
