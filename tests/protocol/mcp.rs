//! The authorization of the Model Context Protocol, as far as it needs no separate part.

use grantor::RegistrarError;
use grantor::config::Profile;
use grantor::redirect_uri::PrivateUseSchemes;

use support::world::{
    ISSUER, PKCE, VERIFIER, With as _, World, code, count, e400, empty, logo, ok, page, pair, public_form, text,
};

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
    let uri = pending.redirect_uri().unwrap();
    assert!(uri.is_private_use() && !pending.is_client_identity_assured());
    assert_eq!((uri.host(), pending.form_action_sources()), ("cursor", "cursor:".into()));
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
