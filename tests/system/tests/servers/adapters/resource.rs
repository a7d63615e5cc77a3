//! The resource behind the check of access tokens.

use crate::adapters::trio::Trio;
use grantor::config::Profile;
use grantor::protected_resource::ProtectedResource;
use support::world::{FORM, ISSUER, World};
use support_servers::http::Request;

/// HTTP-02
#[tokio::test]
async fn every_token_opens_or_is_challenged_the_same() {
    let trio = Trio::start().await;
    let text = |tokens: &serde_json::Value, name: &str| tokens[name].as_str().unwrap().to_owned();
    let tokens = trio.tokens(&["account-profile:r", "repo-code:r"]).await;
    let (access, refresh) = (text(&tokens, "access_token"), text(&tokens, "refresh_token"));
    let other = text(&trio.tokens(&["repo-code:rw"]).await, "access_token");
    let me = || Request::get("/api/me");
    let bearer = |token: &str| me().header("Authorization", format!("Bearer {token}"));
    let mut changed = access.clone();
    changed.replace_range(access.len() - 2.., if access.ends_with("AA") { "BA" } else { "AA" });
    let in_body = |token: &str| Request::post("/api/me", &[("access_token", token)]);
    trio.answer_all(&[
        (401, me()),
        (200, bearer(&access)),
        (403, bearer(&other)),
        (401, bearer(&refresh)),
        (401, bearer(&changed)),
        (401, bearer("unknown")),
        (401, bearer("%00")),
        (400, bearer("")),
        (400, bearer(&format!("{access} {access}"))),
        (401, bearer(&format!("{access},"))),
        (401, bearer(&"a".repeat(10_000))),
        (200, me().header("Authorization", format!("bEARER {access}"))),
        (200, me().header("Authorization", format!("Bearer   {access}"))),
        (401, me().header("Authorization", "")),
        (401, me().header("Authorization", &access)),
        (401, me().header("Authorization", b"Bearer \xff\xfe")),
        (401, me().header("Authorization", "Basic YTpi")),
        (400, bearer(&access).header("Authorization", format!("Bearer {access}"))),
        (400, bearer(&access).header("Authorization", "Basic YTpi")),
        (401, me().header("X-Authorization", format!("Bearer {access}"))),
        (401, me().query(format!("access_token={access}"))),
        (200, bearer(&access).query(format!("access_token={access}&access_token=%zz"))),
        (401, in_body(&access)),
        (200, bearer(&access).body(vec![b'a'; trio.body_limit() + 1])),
        (200, bearer(&access).header("Content-Type", FORM).body("access_token=%zz").chunked(3)),
        (200, (0..80).fold(bearer(&access), |request, _| request.header("X-Many", "x"))),
    ])
    .await;
    for method in ["HEAD", "POST", "PUT", "DELETE", "OPTIONS", "BREW"] {
        let request = || Request::new(method, "/api/me");
        trio.answers(200, &request().header("Authorization", format!("Bearer {access}"))).await;
        trio.answers(403, &request().header("Authorization", format!("Bearer {other}"))).await;
        trio.answers(400, &request().header("Authorization", "Bearer ")).await;
    }

    let client = trio.client().clone();
    let revoke = Request::post("/oauth2/revoke", &[("token", &refresh)]).basic(&client.id, &client.secret);
    trio.answer_all(&[(200, revoke), (401, bearer(&access)), (403, bearer(&other))]).await;
    trio.advance(28_800);
    trio.answers(401, &bearer(&other)).await;
}

/// CORS-06, HTTP-02
#[tokio::test]
async fn a_preflight_is_answered_before_the_token_is_asked_for() {
    let trio = Trio::of(World::mcp).await;
    let options = || Request::new("OPTIONS", "/api/me").header("Origin", "https://page.example");
    let preflight = || options().header("Access-Control-Request-Method", "GET");
    for request in [preflight(), preflight().header("Access-Control-Request-Headers", "authorization")] {
        let answer = trio.answers(204, &request).await;
        assert_eq!(answer.headers, [], "no challenge");
    }
    let challenged = trio.answers(401, &options()).await;
    assert_eq!(challenged.headers_of("www-authenticate").count(), 2, "for Bearer and for DPoP");
    assert_eq!(challenged.header("access-control-expose-headers"), Some("WWW-Authenticate"));
}

/// A world with two protected resources; the first is the default.
async fn two_resources() -> World {
    let change = |config: &mut grantor::Config| {
        let mut notes = ProtectedResource::new(format!("{ISSUER}/api/notes"), "Notes");
        notes.is_default = true;
        notes.basic_scopes = vec!["repo-code:r".into()];
        let mut issues = ProtectedResource::new(format!("{ISSUER}/api/issues"), "Issues");
        issues.scopes = ["repo-issue:rw", "account-profile:r"].map(Into::into).to_vec();
        config.resources = vec![notes, issues];
    };
    World::with(Profile::Platform, change).await
}

/// 8707-3-01, 9728-5.1-01, 9728-5.1-03, 9728-5.1-04
#[tokio::test]
async fn a_named_resource_is_guarded_the_same() {
    let trio = Trio::of(two_resources).await;
    let issues = format!("{ISSUER}/api/issues");
    let token = async |scope: &str, resource: Option<&str>| {
        let mut more = vec![("scope", scope)];
        more.extend(resource.map(|resource| ("resource", resource)));
        let tokens = trio.tokens_of(&trio.query(&more), &[scope]).await;
        tokens["access_token"].as_str().unwrap().to_owned()
    };
    let at_issues = token("account-profile:r", Some(&issues)).await;
    let too_little = token("repo-issue:r", Some(&issues)).await;
    let at_default = token("account-profile:r", None).await;
    let bearer = |path: &str, token: &str| Request::get(path).header("Authorization", format!("Bearer {token}"));
    trio.answer_all(&[
        (200, bearer("/api/issues", &at_issues)),
        (401, bearer("/api/issues", &at_default)),
        (403, bearer("/api/issues", &too_little)),
        (400, bearer("/api/issues", "")),
        (401, bearer("/api/issues", "unknown")),
        (200, bearer("/api/notes", &at_default)),
        (401, bearer("/api/notes", &at_issues)),
        (200, bearer("/api/me", &at_default)),
        (401, bearer("/api/me", &at_issues)),
        (404, bearer("/api/issues/1", &at_issues)),
    ])
    .await;
    let challenge = |scope: &str, error: &str, path: &str| {
        let document = format!("{ISSUER}/.well-known/oauth-protected-resource{path}");
        format!("Bearer realm=\"https://auth.example\", {error}scope=\"{scope}\", resource_metadata=\"{document}\"")
    };
    for method in ["GET", "HEAD", "POST", "DELETE", "OPTIONS"] {
        // The guard of the default resource names the scope of the route instead of the basic scopes.
        for (path, resource) in
            [("/api/issues", "/api/issues"), ("/api/notes", "/api/notes"), ("/api/me", "/api/notes")]
        {
            let answer = trio.answers(401, &Request::new(method, path)).await;
            let expected = challenge("account-profile:r", "", resource);
            assert_eq!(answer.header("www-authenticate"), Some(&*expected), "{method} {path}");
        }
    }
    let refused = trio.answers(403, &bearer("/api/issues", &too_little)).await;
    let error = "error=\"insufficient_scope\", error_description=\"the access token does not cover this\", ";
    let expected = challenge("repo-issue:r account-profile:r", error, "/api/issues");
    assert_eq!(refused.header("www-authenticate"), Some(&*expected));
}

/// CORS-06
#[tokio::test]
async fn a_preflight_passes_the_guard_of_a_named_resource() {
    let trio = Trio::of(two_resources).await;
    for path in ["/api/issues", "/api/notes", "/api/me"] {
        let preflight = Request::new("OPTIONS", path).header("Origin", "https://page.example");
        let preflight = preflight.header("Access-Control-Request-Method", "POST");
        assert_eq!(trio.answers(204, &preflight).await.headers, [], "{path}: no challenge");
    }
}
