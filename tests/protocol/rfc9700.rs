//! RFC 9700: the current best practice. Redirect URIs are in `redirect_uri`.

use grantor::application::{Field, Problem};
use grantor::config::Profile;
use grantor::redirect_uri::RedirectUriError;
use grantor::wire::{RedirectStatus, Request, Response, protective_headers};
use grantor::{AuthorizationError, Config, Consent, Decision, RegistrarError};

use crate::rfc8414::metadata;
use support::world::{
    CHALLENGE, PKCE, REDIRECT_URI, SESSION, VERIFIER, World, challenge_of, code, e400, form, logo, ok, page, pair,
    public_form, red, text,
};

const OTHER_VERIFIER: &str = "another-verifier-of-43-characters-0123456789";

/// The redirects of a success, a refusal by the user, and an error.
async fn redirects(world: &World) -> [Response; 3] {
    let query = world.query(&[("state", "s"), PKCE[0], PKCE[1]]);
    let bad = world.query(&[("scope", "nothing"), PKCE[0], PKCE[1]]);
    [world.approve(&query).await, world.decide(&query, Decision::Deny).await, world.refused(&bad).await]
}

/// 9700-2.1-02, 6749-10.15-01
#[tokio::test]
async fn nobody_is_sent_to_an_unvalidated_target() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let world = World::with(profile, |_| {}).await;
        for target in ["https://evil.test/cb", "//evil.test", "https://app.example.com.evil.test/cb", "evil", "http:"] {
            for more in [&[] as &[(&str, &str)], &[("scope", "nothing")], &[("state", "s")], &[("prompt", "none")]] {
                let query = world.query(&[more, &[("redirect_uri", target), PKCE[0], PKCE[1]]].concat());
                page(&world.refused(&query).await);
            }
        }
        code(&world.approve(&world.query(&[("redirect_uri", REDIRECT_URI), PKCE[0], PKCE[1]])).await);
    }
}

/// 9700-2.1.1-03, 21-4.1.3-01
#[tokio::test]
async fn a_verifier_without_a_challenge_is_refused() {
    let world = World::platform().await;
    let code = world.code_for(&world.query(&[])).await;
    e400(&world.exchange(&code).await, "invalid_request");
    let form = [("grant_type", "authorization_code"), ("code", code.as_str())];
    e400(&world.token(&form).field("code_verifier", "short").client(&world.client).send().await, "invalid_request");
    let without = world.token(&form).field("code_verifier", "").client(&world.client);
    ok(&without.send().await);
}

/// 9700-2.1.1-04
#[tokio::test]
async fn support_of_pkce_can_be_detected() {
    let world = World::platform().await;
    assert_eq!(metadata(&world).await["code_challenge_methods_supported"], serde_json::json!(["S256"]));
}

/// 9700-2.1.2-01
#[tokio::test]
async fn there_is_no_implicit_grant() {
    for response_type in ["token", "id_token", "code token", "none"] {
        let platform = World::platform().await;
        let query = |world: &World| {
            let id = world.client.id.as_str();
            support::world::encode(&[("response_type", response_type), ("client_id", id), PKCE[0], PKCE[1]])
        };
        page(&platform.refused(&query(&platform)).await);
        let strict = World::strict().await;
        let response = strict.refused(&query(&strict)).await;
        red(&response, "unsupported_response_type");
        assert!(!response.header("Location").unwrap().contains("access_token"));
    }
    let world = World::platform().await;
    let implicit = [("grant_type", "implicit")];
    e400(&world.token(&implicit).client(&world.client).send().await, "unsupported_grant_type");
}

/// 9700-2.2.2-01
#[tokio::test]
async fn refresh_tokens_of_public_clients_rotate() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let world = World::with(profile, |_| {}).await;
        let public = world.register(public_form()).await;
        let mut seen = vec![world.pair_of(&public).await.refresh];
        for _ in 0..3 {
            let next = pair(&world.refresh_as(&public, seen.last().unwrap()).await).refresh;
            assert!(!seen.contains(&next), "{profile:?}");
            seen.push(next);
        }
    }
}

/// 9700-2.4-01
#[tokio::test]
async fn there_is_no_password_grant() {
    for world in [World::platform().await, World::strict().await, World::mcp().await] {
        let form = [("grant_type", "password"), ("username", "alice"), ("password", "x")];
        e400(&world.token(&form).client(&world.client).send().await, "unsupported_grant_type");
        let metadata = metadata(&world).await;
        assert_eq!(metadata["grant_types_supported"], serde_json::json!(["authorization_code", "refresh_token"]));
    }
}

/// 9700-2.6-01
#[tokio::test]
async fn plain_http_is_for_loopback_redirect_uris_alone() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let world = World::with(profile, |_| {}).await;
        let registrar = world.server.registrar().unwrap();
        for refused in ["http://app.example.com/cb", "http://10.0.0.1/cb", "http://127.0.0.2/cb", "HTTP://a.example"] {
            let mut form = form();
            form.redirect_uris = vec![refused.into()];
            let outcome = registrar.submit(world.alice.clone(), form, Some(logo())).await;
            let Err(RegistrarError::Invalid(errors)) = outcome else { panic!("{refused} was registered") };
            assert_eq!(errors.len(), 1);
            let problem = Problem::RedirectUri { number: 1, error: RedirectUriError::PlainHttp };
            assert_eq!((errors[0].field(), errors[0].problem()), (Field::RedirectUris, &problem), "{refused}");
        }
        for accepted in ["http://127.0.0.1/cb", "http://[::1]:3000/cb", "http://localhost/cb"] {
            let mut form = public_form();
            form.redirect_uris = vec![accepted.into()];
            registrar.submit(world.alice.clone(), form, Some(logo())).await.expect(accepted);
        }
    }
}

/// 9700-2.6-02
#[tokio::test]
async fn the_authorization_endpoint_allows_no_other_origin() {
    let world = World::platform().await;
    for query in [world.query(&[("scope", "nothing")]), world.query(&[("client_id", "x")])] {
        let request = Request::new("GET").query(query.as_bytes()).header("Origin", b"https://app.example.com");
        let response = world.server.authorize(&request).await.unwrap_err().response(Some(&world.alice));
        assert!(response.headers().all(|(name, _)| !name.starts_with("Access-Control")));
    }
    let options = Request::new("OPTIONS").header("Origin", b"https://app.example.com");
    let response = world.server.authorize(&options).await.unwrap_err().response(None);
    assert_eq!((response.status(), response.header("Allow")), (405, Some("GET, HEAD")));
    for response in redirects(&world).await {
        assert!(response.headers().all(|(name, _)| !name.starts_with("Access-Control")));
    }
}

/// 9700-4.2.4-01, 9700-4.16-01, 6749-10.13-01
#[tokio::test]
async fn pages_cannot_be_framed_and_tell_no_other_site() {
    let world = World::platform().await;
    let pending = world.authorize(&world.query(&[])).await.unwrap();
    let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    let approve = Decision::Approve(Consent::to_everything());
    code(&world.server.decide(handle.expose(), &world.alice, SESSION, &approve).await.unwrap());
    let again = world.server.decide(handle.expose(), &world.alice, SESSION, &approve).await.unwrap_err();
    let post = world.server.authorize(&Request::new("POST")).await.unwrap_err();
    let pages = [world.refused("").await, again.response(Some(&world.alice)), post.response(None)];
    for response in pages {
        assert!(matches!(response.status(), 400 | 405));
        assert_eq!(response.header("Referrer-Policy"), Some("no-referrer"));
        assert_eq!(response.header("X-Frame-Options"), Some("DENY"));
        assert_eq!(response.header("X-Content-Type-Options"), Some("nosniff"));
        assert_eq!(response.header("Cache-Control"), Some("no-store"));
        let policy = response.header("Content-Security-Policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
        let html = String::from_utf8(response.into_body()).unwrap();
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
    assert!(error.needs_sign_in());
    page(&error.response(None));
    red(&refused(&world.client).await.response(Some(&world.alice)), "invalid_scope");

    let error = refused(&trusted).await;
    assert!(!error.needs_sign_in());
    assert_eq!(text(&red(&error.response(None), "invalid_scope"), "state"), "s");

    for client in [&world.client, &trusted] {
        let query = world.query_of(client, &[("redirect_uri", "https://evil.test/")]);
        let error = world.authorize(&query).await.unwrap_err();
        assert!(!error.needs_sign_in(), "there is nothing to wait for");
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
        }
    }
}

/// 9700-4.14.2-01
#[tokio::test]
async fn a_refresh_never_brings_more_than_was_consented() {
    let world = World::platform().await;
    let query = world.query(&[("scope", "repo-code:r repo-issue:rw"), PKCE[0], PKCE[1]]);
    let decision = Decision::Approve(Consent::to_everything().scopes(["repo-code:r"]));
    let code = text(&code(&world.decide(&query, decision).await), "code");
    let first = pair(&world.exchange(&code).await);
    assert_eq!(first.scope, "repo-code:r");
    let refresh = |scope| {
        let form = [("grant_type", "refresh_token"), ("refresh_token", &first.refresh), ("scope", scope)];
        world.token(&form).client(&world.client).send()
    };
    for more in ["repo-code:rw", "repo-issue:r", "repo-code:r repo-issue:r", "account-profile:r", "repo-delete:rw"] {
        e400(&refresh(more).await, "invalid_scope");
    }
    assert_eq!(pair(&refresh("").await).scope, "repo-code:r");
}

/// 9700-4.14.2-02, D-12
#[tokio::test]
async fn reuse_after_the_grace_ends_the_family() {
    for (profile, grace) in [(Profile::Platform, 300), (Profile::Strict, 120), (Profile::Mcp, 120)] {
        let world = World::with(profile, |_| {}).await;
        let first = world.pair().await;
        let second = pair(&world.refresh(&first.refresh).await);
        world.advance(grace - 1);
        pair(&world.refresh(&first.refresh).await);
        assert!(world.opens(&second.access).await, "{profile:?}");
        world.events.take();
        world.advance(1);
        e400(&world.refresh(&first.refresh).await, "invalid_grant");
        let events = world.events.take();
        assert!(events.iter().any(|event| event.starts_with("RefreshTokenReused")), "{events:?}");
        assert!(!world.opens(&second.access).await, "{profile:?}");
        e400(&world.refresh(&second.refresh).await, "invalid_grant");
    }
}

/// 9700-4.14.2-03
#[tokio::test]
async fn refresh_tokens_die_from_inactivity() {
    let world = World::platform().await;
    let [first, second] = [world.pair().await, world.pair().await];
    world.advance(15_551_999);
    let kept = pair(&world.refresh(&first.refresh).await);
    world.advance(1);
    e400(&world.refresh(&second.refresh).await, "invalid_grant");
    world.advance(15_551_998);
    ok(&world.refresh(&kept.refresh).await);
}

/// 9700-4.14.2-04
#[tokio::test]
async fn the_embedder_can_revoke_on_logout_and_on_a_new_password() {
    let world = World::platform().await;
    let [one, two] = [world.pair().await, world.pair().await];
    let grants = world.server.grants_of(&world.alice).await.unwrap();
    assert_eq!(grants.len(), 2);
    let of_one = world.access(&one.access).await.unwrap().grant();
    let mallory = grantor::Subject::new("mallory").unwrap();
    assert!(!world.server.revoke_grant(of_one, &mallory).await.unwrap());
    assert!(world.opens(&one.access).await);
    assert!(world.server.revoke_grant(of_one, &world.alice).await.unwrap());
    assert!(!world.opens(&one.access).await && world.opens(&two.access).await);
    e400(&world.refresh(&one.refresh).await, "invalid_grant");

    let waiting = world.code().await;
    assert_eq!(world.server.revoke_subject(&world.alice).await.unwrap(), 2);
    assert!(!world.opens(&two.access).await);
    e400(&world.refresh(&two.refresh).await, "invalid_grant");
    e400(&world.exchange(&waiting).await, "invalid_grant");
}

/// 9700-4.15-01, 6749-2.2-01
#[tokio::test]
async fn client_ids_are_made_by_the_server_and_are_distinguished_from_users() {
    let world = World::platform().await;
    let mut ids = Vec::new();
    for _ in 0..20 {
        let client = world.register(form()).await;
        assert!(client.id.len() == 22 && client.id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{}", client.id);
        ids.push(client.id);
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 20);

    let first = world.pair().await;
    let body = world.introspect_as(&world.client, &first.access).await;
    assert_eq!((&body["sub"], &body["client_id"]), (&"alice".into(), &world.client.id.as_str().into()));
    let token = world.access(&first.access).await.unwrap();
    assert_ne!(token.subject().unwrap().as_str(), token.client_id().as_str());
}

/// 9700-4.8.2-01, D-06
/// The attacker's request had another redirect URI or another challenge; the code reaches the honest client.
#[tokio::test]
async fn a_code_of_another_request_cannot_be_injected() {
    let world = World::platform().await;
    let stolen = world.code_for(&world.query(&[("redirect_uri", "https://app.example.com/other")])).await;
    e400(&exchange(&world, &stolen, ("redirect_uri", REDIRECT_URI)).await, "invalid_grant");

    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let world = World::with(profile, |_| {}).await;
        let challenge = challenge_of(OTHER_VERIFIER);
        let pkce = [("code_challenge", challenge.as_str()), PKCE[1]];
        assert_ne!(challenge, CHALLENGE);
        let stolen = world.code_for(&world.query(&pkce)).await;
        e400(&exchange(&world, &stolen, ("code_verifier", VERIFIER)).await, "invalid_grant");
        ok(&exchange(&world, &stolen, ("code_verifier", OTHER_VERIFIER)).await);
    }
}

async fn exchange(world: &World, code: &str, proof: (&str, &str)) -> Response {
    let form = [("grant_type", "authorization_code"), ("code", code), proof];
    world.token(&form).client(&world.client).send().await
}
