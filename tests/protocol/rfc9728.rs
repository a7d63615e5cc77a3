//! RFC 9728: what a protected resource publishes about itself, and its challenges.

use grantor::config::{DpopBoundTokens, Profile};
use grantor::scope::{Permission, Resource, ScopeSet};
use grantor::wire::message::ResourceMetadata;
use grantor::wire::{Endpoint, Request, Response};
use grantor::{Authenticated, AuthorizationServer, Config, MemoryStore, Reason, ResourceError};
use serde_json::{Value, json};

use crate::rfc8414::metadata;
use crate::rfc8707::{at, own_scopes, resource};
use support::world::{ISSUER, PKCE, World, config_of, encode, pair};

const MCP: &str = "https://a.example/mcp";
const DEEP: &str = "https://a.example/a/b";
const BARE: &str = "https://c.example";
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

fn settings(change: impl FnOnce(&mut Config)) -> Config {
    let mut config = config_of(Profile::Mcp);
    config.scopes = own_scopes();
    let mut mcp = resource(MCP, &["repo-code:rw", "repo-issue:rw"]);
    mcp.basic_scopes = vec!["repo-code:r".into()];
    mcp.is_default = true;
    config.resources = vec![mcp, resource(DEEP, &[]), resource(BARE, &["account-profile:r"])];
    change(&mut config);
    config
}

async fn world() -> World {
    World::built(settings(|_| {}), |builder| builder).await
}

async fn get(server: &AuthorizationServer, path: &str) -> Response {
    server.serve(Endpoint::ResourceMetadata, &Request::new("GET").path(path)).await
}

async fn document(server: &AuthorizationServer, path: &str) -> Value {
    let response = get(server, path).await;
    assert_eq!(response.status(), 200, "{path}");
    assert_eq!(response.header("Content-Type"), Some("application/json"));
    assert!(response.header("Cache-Control").unwrap().starts_with("max-age="));
    serde_json::from_slice(response.body()).unwrap()
}

fn server_of(change: impl FnOnce(&mut Config)) -> AuthorizationServer {
    AuthorizationServer::new(settings(change), MemoryStore::new()).unwrap()
}

/// 9728-2-01, 9728-3.2-01, 9728-3.3-01
#[tokio::test]
async fn the_document_has_what_was_configured_and_nothing_empty() {
    let server = server_of(|config| {
        let own = &mut config.resources[0];
        own.documentation = Some("https://a.example/docs".into());
        own.policy_uri = Some("https://a.example/policy".into());
        own.tos_uri = Some("https://a.example/tos".into());
        config.resources[2].name = String::new();
        config.dpop.tokens = DpopBoundTokens::Off;
    });
    let full = json!({
        "resource": MCP,
        "authorization_servers": [ISSUER],
        "scopes_supported": ["repo-code:r"],
        "bearer_methods_supported": ["header"],
        "resource_name": "The API at https://a.example/mcp",
        "resource_documentation": "https://a.example/docs",
        "resource_policy_uri": "https://a.example/policy",
        "resource_tos_uri": "https://a.example/tos",
    });
    assert_eq!(document(&server, &format!("{WELL_KNOWN}/mcp")).await, full);
    let bare = json!({"resource": BARE, "authorization_servers": [ISSUER], "bearer_methods_supported": ["header"]});
    assert_eq!(document(&server, WELL_KNOWN).await, bare);
    let read: ResourceMetadata = serde_json::from_value(full.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), full);

    // The resource publishes the same bytes.
    let own = server.protected_resource(MCP).unwrap();
    let elsewhere = own.metadata_response(&Request::new("GET"));
    let here = get(&server, &format!("{WELL_KNOWN}/mcp")).await;
    assert_eq!((elsewhere.status(), elsewhere.body()), (here.status(), here.body()));
    assert_eq!(own.metadata_response(&Request::new("POST")).status(), 405);
    let head = server.serve(Endpoint::ResourceMetadata, &Request::new("HEAD").path(WELL_KNOWN)).await;
    assert_eq!(head.status(), 200);
    let post = server.serve(Endpoint::ResourceMetadata, &Request::new("POST").path(WELL_KNOWN)).await;
    assert_eq!((post.status(), post.header("Allow")), (405, Some("GET, HEAD")));
}

/// 9728-2-02, 8414-2-09
#[tokio::test]
async fn both_documents_name_each_other_in_the_same_words() {
    for issuer in ["https://auth.example", "https://auth.example/", "https://auth.example/tenant"] {
        let mut config = settings(|_| ());
        config.issuer = issuer.into();
        let server = AuthorizationServer::new(config, MemoryStore::new()).unwrap();
        let own = server.serve(Endpoint::Metadata, &Request::new("GET")).await;
        let own: Value = serde_json::from_slice(own.body()).unwrap();
        let document = document(&server, &format!("{WELL_KNOWN}/mcp")).await;
        assert_eq!(document["authorization_servers"][0], own["issuer"]);
        assert_eq!(own["protected_resources"], json!([MCP, DEEP, BARE]));
        assert_eq!(own["resource_indicators_supported"], true);
    }
    assert_eq!(metadata(&World::mcp().await).await["resource_indicators_supported"], Value::Null);
}

/// 9728-2-03, MCP-0728-03
#[tokio::test]
async fn every_basic_scope_is_granted_as_asked() {
    let world = world().await;
    let document = document(&world.server, &format!("{WELL_KNOWN}/mcp")).await;
    for scope in document["scopes_supported"].as_array().unwrap() {
        let scope = scope.as_str().unwrap();
        let query = format!("{}&{}", world.query(&[("scope", scope), PKCE[0], PKCE[1]]), encode(&[("resource", MCP)]));
        assert_eq!(pair(&world.exchange(&world.code_for(&query).await).await).scope, scope);
    }
    let mut config = settings(|_| {});
    let offline = grantor::scope::ScopeDefinition::plain("offline_access");
    config.scopes = grantor::scope::ScopeCatalog::builder()
        .scopes(own_scopes().definitions().iter().cloned())
        .scope(offline)
        .build()
        .unwrap();
    config.resources[1].basic_scopes = vec!["offline_access".into()];
    let error = AuthorizationServer::new(config, MemoryStore::new()).unwrap_err();
    assert!(error.to_string().contains("offline_access"), "{error}");
}

/// 9728-3.1-01, 9728-3.1-02, 9728-3.1-03
#[tokio::test]
async fn the_document_is_between_host_and_path_and_nowhere_else() {
    let server = server_of(|_| {});
    for (path, identifier) in [("/mcp", MCP), ("/a/b", DEEP), ("", BARE)] {
        let path = format!("{WELL_KNOWN}{path}");
        assert_eq!(document(&server, &path).await["resource"], identifier);
        assert_eq!(get(&server, &format!("{path}/")).await, get(&server, &path).await, "with a slash");
        let url = server.protected_resource(identifier).unwrap().metadata_url().to_owned();
        assert!(url.ends_with(&path) && url.starts_with(&identifier[..17]), "{url}");
    }
    for unknown in ["/mc", "/mcp/x", "/mcp//", "/a", "/a/", "/MCP", "/%6dcp", "x", "//"] {
        assert_eq!(get(&server, &format!("{WELL_KNOWN}{unknown}")).await.status(), 404, "{unknown}");
    }
    for unknown in ["", "/", "/mcp", "/mcp/.well-known/oauth-protected-resource"] {
        assert_eq!(get(&server, unknown).await.status(), 404, "{unknown}");
    }
    assert_eq!(server.serve(Endpoint::ResourceMetadata, &Request::new("GET")).await.status(), 404);
    let routed = server.paths(Endpoint::ResourceMetadata);
    let expected = ["", "/", "/a/b", "/a/b/", "/mcp", "/mcp/"].map(|path| format!("{WELL_KNOWN}{path}"));
    assert_eq!(routed, expected);

    // The form without a path is for a bare origin, or for the resource that is marked for it.
    let without_bare = |mark: bool| {
        server_of(|config| {
            config.resources.truncate(2);
            config.resources[0].root_metadata = mark;
        })
    };
    assert_eq!(get(&without_bare(false), WELL_KNOWN).await.status(), 404);
    assert_eq!(document(&without_bare(true), WELL_KNOWN).await["resource"], MCP);
    let mut both = settings(|_| {});
    both.resources[0].root_metadata = true;
    assert_eq!(AuthorizationServer::new(both, MemoryStore::new()).unwrap_err().field(), "resources");

    let none = World::mcp().await;
    assert_eq!(get(&none.server, WELL_KNOWN).await.status(), 404);
    assert_eq!(none.server.paths(Endpoint::ResourceMetadata), Vec::<String>::new());
}

/// 9728-3.1-03
#[tokio::test]
async fn resources_of_two_hosts_with_one_path_are_never_mistaken() {
    let two = |first: &'static str| {
        server_of(|config| {
            config.resources = vec![resource(first, &[]), resource("https://b.example/mcp", &[])];
        })
    };
    assert_eq!(get(&two("https://a.example/mcp"), &format!("{WELL_KNOWN}/mcp")).await.status(), 404);
    let at_issuer = two("https://auth.example/mcp");
    assert_eq!(document(&at_issuer, &format!("{WELL_KNOWN}/mcp")).await["resource"], "https://auth.example/mcp");
}

// The challenges.

async fn challenge_of(outcome: Result<Authenticated, ResourceError>, status: u16) -> String {
    let response = outcome.unwrap_err().into_response();
    assert_eq!(response.status(), status);
    // That for DPoP follows.
    let challenges = response.headers().filter(|(name, _)| *name == "WWW-Authenticate");
    let schemes: Vec<_> = challenges.map(|(_, value)| value.split(' ').next().unwrap()).collect();
    assert_eq!(schemes, if status == 401 { vec!["Bearer", "DPoP"] } else { vec!["Bearer"] });
    let challenge = response.header("WWW-Authenticate").unwrap().to_owned();
    assert!(challenge.starts_with("Bearer ") && !challenge.contains("=\"\""), "{challenge}");
    challenge
}

/// Finds an attribute as the SDKs do: at the first occurrence of its name and `=`.
fn attribute<'c>(challenge: &'c str, name: &str) -> Option<&'c str> {
    let (_, rest) = challenge.split_once(&format!("{name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

const MCP_DOCUMENT: &str = "https://a.example/.well-known/oauth-protected-resource/mcp";

/// 9728-5.1-01, 9728-5.1-02, 9728-5.1-03, MCP-0618-10, MCP-1125-02
#[tokio::test]
async fn every_challenge_names_the_document_and_the_scopes() {
    let world = world().await;
    let server = world.server.protected_resource(MCP).unwrap();
    let write = server.scopes(["repo-issue:rw"]).unwrap();
    for method in ["GET", "HEAD", "POST", "DELETE"] {
        let challenge = challenge_of(server.authenticate(&Request::new(method)).await, 401).await;
        let expected = format!(
            "Bearer realm=\"https://auth.example\", scope=\"repo-code:r\", resource_metadata=\"{MCP_DOCUMENT}\""
        );
        assert_eq!(challenge, expected, "{method}");
        let challenge = challenge_of(server.authenticate_for(&Request::new(method), &write).await, 401).await;
        assert_eq!(attribute(&challenge, "scope"), Some("repo-issue:rw"));
        assert_eq!(attribute(&challenge, "error"), None);
    }
    let expired = world.pair().await.access;
    world.advance(28_800);
    let other = format!("{}&{}", world.query(&PKCE), encode(&[("resource", BARE)]));
    let other = pair(&world.exchange(&world.code_for(&other).await).await).access;
    for token in [expired.as_str(), &other, "unknown"] {
        let challenge = challenge_of(at(&world, MCP, token).await, 401).await;
        assert_eq!(attribute(&challenge, "resource_metadata"), Some(MCP_DOCUMENT));
        assert_eq!(attribute(&challenge, "error"), Some("invalid_token"));
        assert_eq!(attribute(&challenge, "scope"), Some("repo-code:r"));
    }
    // An attribute without a value is left out.
    let challenge =
        challenge_of(world.server.protected_resource(BARE).unwrap().authenticate(&Request::new("GET")).await, 401)
            .await;
    assert_eq!(attribute(&challenge, "scope"), None);
    let config = settings(|config| config.issuer = "https://auth.example/scope=x".into());
    assert_eq!(AuthorizationServer::new(config, MemoryStore::new()).unwrap_err().field(), "issuer");
    for (tokens, message) in [(["repo-cod:r"], "repo-cod"), (["account-profile:r"], "serves")] {
        let error = server.scopes(tokens).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
}

/// MCP-0728-03
///
/// No resource serves `offline_access`, so a client that repeats the scopes of its token does not ask a resource for
/// it.
#[tokio::test]
async fn no_challenge_names_offline_access() {
    let config = settings(|config| {
        let own = config.scopes.definitions().iter().cloned();
        let offline = grantor::scope::ScopeDefinition::plain("offline_access");
        config.scopes = grantor::scope::ScopeCatalog::builder().scopes(own).scope(offline).build().unwrap();
    });
    let world = World::built(config, |builder| builder).await;
    let mut form = support::world::form();
    form.scopes = "repo-code:r offline_access".into();
    let client = world.register(form).await;
    let query = world.query_of(&client, &[&PKCE[..], &[("resource", DEEP)]].concat());
    let token = pair(&world.exchange_as(&client, &world.code_for(&query).await).await);
    assert!(token.scope.contains("offline_access"));
    let (server, token) =
        (world.server.protected_resource(DEEP).unwrap(), at(&world, DEEP, &token.access).await.unwrap());
    let needed = server.scopes(["repo-issue:rw"]).unwrap();
    let challenge = challenge_of(server.require_scopes(&token, &needed).map(|()| token.clone()), 403).await;
    assert_eq!(attribute(&challenge, "scope"), Some("repo-code:r repo-issue:rw"));
}

/// 9728-5.1-04
#[tokio::test]
async fn a_step_up_names_all_that_is_needed_and_what_the_token_has() {
    let world = world().await;
    let server = world.server.protected_resource(MCP).unwrap();
    let query = world.query(&[("scope", "repo-code:r"), PKCE[0], PKCE[1]]);
    let token = pair(&world.exchange(&world.code_for(&query).await).await).access;
    let token = at(&world, MCP, &token).await.unwrap();
    let needed = server.scopes(["repo-issue:r", "repo-code:rw"]).unwrap();
    let refused = server.require_scopes(&token, &needed).map(|()| token.clone());
    let challenge = challenge_of(refused, 403).await;
    assert_eq!(attribute(&challenge, "error"), Some("insufficient_scope"));
    assert_eq!(attribute(&challenge, "scope"), Some("repo-code:rw repo-issue:r"));
    assert_eq!(attribute(&challenge, "resource_metadata"), Some(MCP_DOCUMENT));
    let one = server.scopes(["repo-issue:rw"]).unwrap();
    let challenge = challenge_of(server.require_scopes(&token, &one).map(|()| token.clone()), 403).await;
    assert_eq!(attribute(&challenge, "scope"), Some("repo-code:r repo-issue:rw"));
    let refused = world.server.resource().require(&token, "repo-issue", Permission::Read, Resource::Account);
    let challenge = challenge_of(refused.map(|()| token.clone()), 403).await;
    assert_eq!(attribute(&challenge, "scope"), Some("repo-code:r repo-issue:r"));
    assert!(server.require_scopes(&token, &server.scopes(["repo-code:r"]).unwrap()).is_ok());
    // A token that was checked for another resource does not count here.
    let elsewhere = world.server.protected_resource(DEEP).unwrap();
    assert!(elsewhere.require_scopes(&token, &server.scopes(["repo-code:r"]).unwrap()).is_err());
}

/// 9728-5.1-01, 9728-5.1-03
#[tokio::test]
async fn the_guard_of_a_route_names_the_scope_of_the_route() {
    let world = world().await;
    let guard = async |request: &Request<'_>, scope: &str| {
        world.server.resource().authenticate_for_account(request, scope, Some(Permission::ReadWrite)).await
    };
    let challenge = challenge_of(guard(&Request::new("POST"), "repo-issue").await, 401).await;
    assert_eq!(attribute(&challenge, "scope"), Some("repo-issue:rw"));
    assert_eq!(
        (attribute(&challenge, "error"), attribute(&challenge, "resource_metadata")),
        (None, Some(MCP_DOCUMENT))
    );
    let query = world.query(&[("scope", "repo-issue:rw"), PKCE[0], PKCE[1]]);
    let token = pair(&world.exchange(&world.code_for(&query).await).await).access;
    let header = format!("Bearer {token}");
    let request = Request::new("POST").header("Authorization", header.as_bytes());
    assert!(guard(&request, "repo-issue").await.is_ok());
    let challenge = challenge_of(guard(&request, "repo-code").await, 403).await;
    assert_eq!(attribute(&challenge, "scope"), Some("repo-code:rw repo-issue:rw"));
}

/// Such a scope would be refused with 403 for ever, and clients would request it in vain.
#[tokio::test]
async fn a_route_whose_scope_no_token_can_have_answers_503() {
    let world = world().await;
    let query = world.query(&[("scope", "repo-issue:rw"), PKCE[0], PKCE[1]]);
    let token = pair(&world.exchange(&world.code_for(&query).await).await).access;
    let header = format!("Bearer {token}");
    for (scope, permission, remedy) in [
        ("repo-isue", Some(Permission::Read), r#"unknown scope "repo-isue"; did you mean "repo-issue"?"#),
        ("repo-issue:rw", None, r#"unknown scope "repo-issue:rw"; did you mean "repo-issue"?"#),
        ("repo-issue", None, r#"the scope "repo-issue" cannot be granted, only "repo-issue:rw" can"#),
        ("account-profile", Some(Permission::Read), "scopes that the resource serves are accepted"),
    ] {
        let error = world.server.resource().check_scope(scope, permission).unwrap_err();
        assert_eq!((error.field(), error.remedy()), ("scopes", remedy));
        for request in [Request::new("POST"), Request::new("POST").header("Authorization", header.as_bytes())] {
            let error =
                world.server.resource().authenticate_for_account(&request, scope, permission).await.unwrap_err();
            assert!(matches!(error.reason(), Reason::RequiredScope(_)));
            let response = error.into_response();
            assert_eq!((response.status(), response.header("WWW-Authenticate")), (503, None));
        }
    }
    let events = world.events.take();
    let raised: Vec<_> = events.iter().filter(|event| event.starts_with("RequiredScopeUnknown")).collect();
    assert_eq!(raised.len(), 1, "{events:?}");
    assert!(raised[0].contains("did you mean"), "{raised:?}");
    assert!(world.server.resource().check_scope("repo-issue", Some(Permission::Read)).is_ok());
}

/// CORS-06
#[tokio::test]
async fn a_preflight_is_answered_before_a_token_is_asked_for() {
    let world = world().await;
    let resource = world.server.protected_resource(MCP).unwrap();
    let preflight = || Request::new("OPTIONS").header("Access-Control-Request-Method", b"POST");
    let header = || preflight().header("Authorization", b"Bearer unknown");
    let needed = resource.scopes(["repo-issue:rw"]).unwrap();
    for request in [preflight(), header()] {
        for refused in [
            world.server.resource().authenticate_for_account(&request, "repo-issue", Some(Permission::Read)).await,
            resource.authenticate_for(&request, &needed).await,
            resource.authenticate_for(&request, &ScopeSet::empty()).await,
        ] {
            let error = refused.unwrap_err();
            assert!(matches!(error.reason(), Reason::Preflight));
            let response = error.into_response();
            assert_eq!((response.status(), response.headers().count()), (204, 0));
        }
    }
    assert_eq!(resource.authenticate(&preflight()).await.unwrap_err().into_response().status(), 401);
}
