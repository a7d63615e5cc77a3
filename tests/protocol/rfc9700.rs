//! RFC 9700: the current best practice. Redirect URIs are in `redirect_uri`.

use grantor::config::Profile;
use grantor::wire::{RedirectStatus, Request, Response, protective_headers};
use grantor::{AuthorizationError, Config, Consent, Decision};

use support::world::{PKCE, SESSION, World, code, form, page, red, text};

/// The redirects of a success, a refusal by the user, and an error.
async fn redirects(world: &World) -> [Response; 3] {
    let query = world.query(&[("state", "s"), PKCE[0], PKCE[1]]);
    let bad = world.query(&[("scope", "nothing"), PKCE[0], PKCE[1]]);
    [world.approve(&query).await, world.decide(&query, Decision::Deny).await, world.refused(&bad).await]
}

/// 9700-4.2.4-01, 9700-4.16-01, 6749-10.13-01
#[tokio::test]
async fn pages_cannot_be_framed_and_tell_no_other_site() {
    let world = World::platform().await;
    let pending = world.authorize(&world.query(&[])).await.unwrap();
    let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    let approve = Decision::Approve(Consent::to_everything());
    code(&world.server.decide(handle.expose(), &world.alice, SESSION, &approve).await.unwrap());
    let again = world.server.decide(handle.expose(), &world.alice, SESSION, &Decision::Deny).await.unwrap_err();
    let post = world.server.authorize(&Request::new("POST")).await.unwrap_err();
    let signed_out = world.authorize(&world.query(&[("scope", "x")])).await.unwrap_err();
    assert!(signed_out.needs_sign_in());
    let again = again.response(Some(&world.alice));
    for response in [world.refused("").await, again, post.response(None), signed_out.response(None)] {
        assert!(matches!(response.status(), 400 | 405));
        assert_eq!(response.header("Content-Type"), Some("text/html;charset=UTF-8"));
        assert_eq!(response.header("Location"), None);
        assert_eq!(response.header("Referrer-Policy"), Some("no-referrer"));
        assert_eq!(response.header("X-Frame-Options"), Some("DENY"));
        assert_eq!(response.header("X-Content-Type-Options"), Some("nosniff"));
        assert_eq!(response.header("Cache-Control"), Some("no-store"));
        let policy = response.header("Content-Security-Policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
        let html = String::from_utf8(response.into_body()).unwrap();
        // The address of the application that a person has reviewed.
        let html = html.replace("<a href=\"https://app.example.com/\" rel=\"noreferrer\">", "");
        for content in ["src=", "href=", "url(", "//", "<script", "<iframe", "<form"] {
            assert!(!html.contains(content), "{content} in {html}");
        }
    }
    let own: Vec<_> = protective_headers().collect();
    for header in [
        ("Content-Security-Policy", "frame-ancestors 'none'"),
        ("X-Frame-Options", "DENY"),
        ("Referrer-Policy", "no-referrer"),
        ("Cache-Control", "no-store"),
    ] {
        assert!(own.contains(&header), "consent and sign-in pages need {header:?}");
    }
    for response in redirects(&world).await {
        assert_eq!(response.header("Referrer-Policy"), Some("no-referrer"));
    }
}

/// 9700-4.11.2-01
#[tokio::test]
async fn an_error_leaves_the_server_only_after_sign_in_unless_the_client_is_trusted() {
    let world = World::platform().await;
    let trusted = world.register_as(form(), grantor::Approval::default().trusted()).await;
    let refused = async |client| -> AuthorizationError {
        let query = world.query_of(client, &[("scope", "nothing"), ("state", "s")]);
        world.authorize(&query).await.unwrap_err()
    };
    let error = refused(&world.client).await;
    assert!(error.needs_sign_in() && error.redirects());
    page(&error.response(None));
    red(&refused(&world.client).await.response(Some(&world.alice)), "invalid_scope");

    let error = refused(&trusted).await;
    assert!(!error.needs_sign_in());
    assert_eq!(text(&red(&error.response(None), "invalid_scope"), "state"), "s");

    for client in [&world.client, &trusted] {
        let query = world.query_of(client, &[("redirect_uri", "https://evil.test/")]);
        let error = world.authorize(&query).await.unwrap_err();
        assert!(!error.needs_sign_in() && !error.redirects(), "there is nothing to wait for");
        page(&error.response(None));
    }
}

/// 9700-4.12-01, SVC-4.1-03, D-20
#[tokio::test]
async fn redirects_are_302_or_303_and_never_keep_the_method() {
    let with = |status| {
        World::with(Profile::Platform, move |config: &mut Config| config.authorization.redirect_status = status)
    };
    for (world, status) in [
        (World::platform().await, 302),
        (World::strict().await, 303),
        (World::mcp().await, 302),
        (with(RedirectStatus::SeeOther).await, 303),
        (with(RedirectStatus::Found).await, 302),
    ] {
        for response in redirects(&world).await {
            assert_eq!(response.status(), status);
            assert_eq!(response.header("Cache-Control"), Some("no-store"));
        }
    }
}
