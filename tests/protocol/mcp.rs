//! The authorization of the Model Context Protocol, as far as it needs no separate part.

use grantor::config::Profile;
use grantor::redirect_uri::PrivateUseSchemes;
use grantor::wire::Endpoint;
use grantor::{AuthorizationServer, Config, MemoryStore, RegistrarError};

use crate::rfc8414::{metadata, plain_http};
use support::world::{
    CHALLENGE, ISSUER, PKCE, VERIFIER, With as _, World, code, count, e400, empty, logo, ok, page, pair, public_form,
    red, text,
};

/// 8707-2-03
/// Such clients name their resource in both requests.
#[tokio::test]
async fn a_resource_is_ignored_where_the_feature_is_off() {
    for world in [World::mcp().await, World::strict().await, World::platform().await] {
        for resource in ["https://mcp.example.com", "https://mcp.example.com/", "relative", "https://a/#x", ""] {
            let query = world.query(&[("resource", resource), ("resource", "urn:x"), PKCE[0], PKCE[1]]);
            let code = world.code_for(&query).await;
            let exchange = [("grant_type", "authorization_code"), ("code", &code), ("code_verifier", VERIFIER)];
            let call = world.token(&exchange).field("resource", resource).field("resource", "urn:x");
            let first = pair(&call.client(&world.client).send().await);
            let refresh = [("grant_type", "refresh_token"), ("refresh_token", &first.refresh), ("resource", resource)];
            ok(&world.token(&refresh).client(&world.client).send().await);
        }
    }
}

/// MCP-0618-01, MCP-1125-01
#[tokio::test]
async fn the_metadata_is_served_and_lists_s256() {
    let metadata = metadata(&World::mcp().await).await;
    assert_eq!(metadata["issuer"], ISSUER);
    assert_eq!(metadata["code_challenge_methods_supported"], serde_json::json!(["S256"]));
    let methods = metadata["token_endpoint_auth_methods_supported"].as_array().unwrap();
    assert!(methods.contains(&"none".into()) && methods.contains(&"client_secret_basic".into()), "{methods:?}");
}

/// MCP-0618-03, MCP-0728-01
#[tokio::test]
async fn a_public_client_goes_the_whole_way() {
    let world = World::mcp().await;
    let form = public_form().with(|form| form.redirect_uris = vec!["http://127.0.0.1/callback".into()]);
    let client = world.register(form).await;
    assert_eq!(client.secret, "");
    let uri = "http://127.0.0.1:51004/callback";
    let query = world.query_of(&client, &[("redirect_uri", uri), ("state", "s"), PKCE[0], PKCE[1]]);
    let response = world.approve(&query).await;
    assert!(response.header("Location").unwrap().starts_with("http://127.0.0.1:51004/callback?"));
    let redirect = code(&response);
    assert_eq!((text(&redirect, "state"), text(&redirect, "iss")), ("s".into(), ISSUER.into()));
    assert!(["code", "state", "iss"].iter().all(|name| count(&redirect, name) == 1));

    let code = text(&redirect, "code");
    let form = [("grant_type", "authorization_code"), ("code", code.as_str()), ("redirect_uri", uri)];
    e400(&world.token(&form).client(&client).send().await, "invalid_grant");
    let first = pair(&world.token(&form).field("code_verifier", VERIFIER).client(&client).send().await);
    assert!(world.opens(&first.access).await);
    let second = pair(&world.refresh_as(&client, &first.refresh).await);
    empty(&world.revoke_as(&client, &second.refresh).await);
    assert!(!world.opens(&first.access).await && !world.opens(&second.access).await);
}

/// MCP-0618-03
#[tokio::test]
async fn a_confidential_client_goes_the_whole_way() {
    let world = World::mcp().await;
    red(&world.refused(&world.query(&[])).await, "invalid_request");
    red(&world.refused(&world.query(&[("code_challenge", CHALLENGE)])).await, "invalid_request");
    let first = world.pair().await;
    assert!(world.opens(&first.access).await);
    let second = pair(&world.refresh(&first.refresh).await);
    empty(&world.revoke(&second.refresh).await);
    assert!(!world.opens(&first.access).await);
}

/// MCP-0618-06, 7591-2-10
#[tokio::test]
async fn a_named_scheme_is_accepted_and_reported() {
    const URI: &str = "cursor://anysphere.cursor-mcp/oauth/callback";
    let world = World::with(Profile::Mcp, |config| {
        config.redirect_uris.private_use_schemes = PrivateUseSchemes::Named(vec!["cursor".into()])
    })
    .await;
    let report = world.server.security_report();
    assert!(report.findings.iter().any(|finding| finding.setting == "redirect_uris.private_use_schemes"));
    assert!(!World::mcp().await.server.security_report().to_string().contains("private_use_schemes"));

    let client = world.register(public_form().with(|form| form.redirect_uris = vec![URI.into()])).await;
    let query = |uri: &str| world.query_of(&client, &[("redirect_uri", uri), ("state", "s"), PKCE[0], PKCE[1]]);
    let pending = world.authorize(&query(URI)).await.unwrap();
    assert!(pending.redirect_uri().is_private_use() && !pending.is_client_identity_assured());
    assert_eq!((pending.redirect_uri().host(), pending.form_action_sources()), ("cursor", "cursor:".into()));
    let location = world.approve(&query(URI)).await;
    assert!(location.header("Location").unwrap().starts_with(&format!("{URI}?code=")));
    let code = text(&code(&location), "code");
    let form = [("grant_type", "authorization_code"), ("code", &*code), ("redirect_uri", URI)];
    ok(&world.token(&form).field("code_verifier", VERIFIER).client(&client).send().await);

    for other in [
        "cursor://anysphere.cursor-mcp/oauth/callback/",
        "cursor://anysphere.cursor-mcp/other",
        "cursor://anysphere.cursor-mcp/oauth/callback?x=1",
        "cursor://evil.example/oauth/callback",
        "cursor:/oauth/callback",
        "Cursor://anysphere.cursor-mcp/oauth/callback",
        "cursors://anysphere.cursor-mcp/oauth/callback",
        "com.example.app:/cb",
    ] {
        page(&world.refused(&query(other)).await);
    }
    let registrar = world.server.registrar().unwrap();
    for refused in
        ["com.example.app:/cb", "vscode://x/cb", "javascript://x/%0aalert(1)", "cursor://user@x/cb", "cursor:x"]
    {
        let form = public_form().with(|form| form.redirect_uris = vec![URI.into(), refused.into()]);
        let outcome = registrar.submit(world.alice.clone(), form, Some(logo())).await;
        assert!(matches!(outcome, Err(RegistrarError::Invalid(_))), "{refused}");
    }
}

/// MCP-0618-07
#[tokio::test]
async fn every_endpoint_is_reached_over_https() {
    for plain in ["http://auth.example", "http://127.0.0.1:8080"] {
        let error = AuthorizationServer::new(Config::mcp(plain), MemoryStore::new()).unwrap_err();
        assert_eq!(error.to_string(), plain_http(plain));
    }
    let metadata = metadata(&World::mcp().await).await;
    let endpoints = metadata.as_object().unwrap().iter().filter(|(name, _)| name.ends_with("_endpoint"));
    let addresses: Vec<_> = endpoints.map(|(_, address)| address.as_str().unwrap()).collect();
    assert_eq!(addresses.len(), 4);
    assert!(addresses.iter().all(|address| address.starts_with("https://auth.example/")), "{addresses:?}");
}

/// MCP-1125-05, 8414-3-03
/// An adapter routes these paths, and answers 404 to all others.
#[tokio::test]
async fn of_the_well_known_forms_only_one_has_a_path() {
    for (issuer, path) in [
        ("https://auth.example", "/.well-known/oauth-authorization-server"),
        ("https://auth.example/", "/.well-known/oauth-authorization-server"),
        ("https://auth.example/tenant", "/.well-known/oauth-authorization-server/tenant"),
        ("https://auth.example/tenant/", "/.well-known/oauth-authorization-server/tenant"),
    ] {
        let server = AuthorizationServer::new(Config::mcp(issuer), MemoryStore::new()).unwrap();
        for &endpoint in Endpoint::MACHINE {
            let paths = server.paths(endpoint);
            // They have a path if there are resources, if tokens are signed, and if registration, pushed requests and devices
            // are on.
            let may_have_none = [
                Endpoint::ResourceMetadata,
                Endpoint::Jwks,
                Endpoint::Registration,
                Endpoint::ClientConfiguration,
                Endpoint::PushedAuthorization,
                Endpoint::DeviceAuthorization,
            ];
            let may_have_none = may_have_none.contains(&endpoint);
            assert!(may_have_none && paths.is_empty() || paths[0] == server.path(endpoint));
            if endpoint == Endpoint::Metadata {
                assert_eq!(paths, [path.to_owned(), format!("{path}/")]);
            } else {
                assert!(!paths.iter().any(|path| path.contains("oauth-authorization-server")), "{paths:?}");
            }
            assert!(!paths.iter().any(|path| path.contains("openid")), "{paths:?}");
        }
    }
}
