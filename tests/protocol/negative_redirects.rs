//! Faults of other authorization servers with redirects: where a browser is sent.

use grantor::RegistrarError;
use grantor::application::Problem;
use grantor::config::Profile;

use crate::negative::HOSTILE;
use support::world::{PKCE, REDIRECT_URI, VERIFIER, World, code, e400, encode, form, logo, ok, page, public_form, red};

/// Returns the problem that a registration with this redirect URI is refused with.
pub(crate) async fn refused_uri(world: &World, uri: &str) -> Option<Problem> {
    let mut form = form();
    form.redirect_uris = vec![uri.into()];
    match world.server.registrar().unwrap().submit(world.alice.clone(), form, Some(logo())).await {
        Err(RegistrarError::Invalid(errors)) => Some(errors[0].problem().clone()),
        Err(error) => panic!("{error}"),
        Ok(_) => None,
    }
}

/// CVE-2020-15233
#[tokio::test]
async fn on_loopback_nothing_but_the_port_may_differ() {
    let world = World::platform().await;
    let mut form = public_form();
    form.redirect_uris = vec!["http://127.0.0.1:3000/cb?x=1".into()];
    let client = world.register(form).await;
    let query = |uri: &str| world.query_of(&client, &[("redirect_uri", uri), PKCE[0], PKCE[1]]);
    code(&world.approve(&query("http://127.0.0.1:4000/cb?x=1")).await);
    for uri in [
        "http://127.0.0.1:3000/evil?x=1",
        "http://127.0.0.1:3000/cb?x=2",
        "http://127.0.0.1:3000/cb?x=1&y=2",
        "http://127.0.0.1:3000/cb",
        "http://127.0.0.2:3000/cb?x=1",
        "http://localhost:3000/cb?x=1",
        "https://127.0.0.1:3000/cb?x=1",
    ] {
        page(&world.refused(&query(uri)).await);
    }
}

/// CVE-2020-15234
#[tokio::test]
async fn redirect_uris_are_compared_with_their_case() {
    let world = World::strict().await;
    let mut form = form();
    form.redirect_uris = vec!["https://app.example.com/Cb?Tenant=a".into()];
    let client = world.register(form).await;
    let query = |uri: &str| world.query_of(&client, &[("redirect_uri", uri), PKCE[0], PKCE[1]]);
    code(&world.approve(&query("https://app.example.com/Cb?Tenant=a")).await);
    for uri in ["https://app.example.com/cb?Tenant=a", "https://app.example.com/Cb?tenant=a"] {
        page(&world.refused(&query(uri)).await);
        page(&world.refused(&query(&uri.to_uppercase())).await);
    }
}

/// CVE-2019-9837, django-oauth-toolkit #1719
#[tokio::test]
async fn no_prompt_lets_an_error_leave_before_client_and_target_are_known() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let world = World::with(profile, |_| {}).await;
        let id = world.client.id.as_str();
        for (client, target) in [(id, "https://evil.test/"), ("nobody", REDIRECT_URI), ("", REDIRECT_URI)] {
            let parameters =
                [("response_type", "code"), ("prompt", "none"), ("client_id", client), ("redirect_uri", target)];
            let error = world.authorize(&encode(&parameters)).await.unwrap_err();
            assert!(!error.needs_sign_in());
            page(&error.response(Some(&world.alice)));
        }
        let good = world.query(&[("prompt", "none"), PKCE[0], PKCE[1]]);
        assert!(world.authorize(&good).await.is_ok(), "an unknown parameter means nothing");
    }
}

/// CVE-2026-41479, CVE-2026-44681
#[tokio::test]
async fn a_wrong_response_type_or_missing_scope_redirects_nobody_to_an_unknown_place() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let world = World::with(profile, |_| {}).await;
        let id = world.client.id.as_str();
        for response_type in ["token", "", "code token", HOSTILE] {
            for scope in ["", "nothing", HOSTILE] {
                let own = [("response_type", response_type), ("scope", scope), ("redirect_uri", "https://evil.test/")];
                page(&world.refused(&encode(&[&own[..], &[("client_id", id)]].concat())).await);
                page(&world.refused(&encode(&[&own[..], &[("client_id", "nobody")]].concat())).await);
            }
        }
    }
}

/// PYSEC-2026-4354
#[tokio::test]
async fn a_loopback_host_is_not_read_out_of_a_user_name() {
    for profile in [Profile::Platform, Profile::Strict] {
        let world = World::with(profile, |_| {}).await;
        for uri in [
            "http://localhost:80@evil.test/cb",
            "http://127.0.0.1@evil.test/cb",
            "http://127.0.0.1:80#@evil.test/cb",
            "http://127.0.0.1\\@evil.test/cb",
            "http://evil.test\\@127.0.0.1/cb",
            "http://127.0.0.1%2f@evil.test/cb",
            "http://127.0.0.1%00.evil.test/cb",
            "http://127.0.0.1.evil.test/cb",
            "http://%6cocalhost/cb",
        ] {
            assert!(matches!(refused_uri(&world, uri).await, Some(Problem::RedirectUri { .. })), "{uri}");
            let mut form = public_form();
            form.redirect_uris = vec!["http://localhost/cb".into(), "http://127.0.0.1/cb".into()];
            let client = world.register(form).await;
            page(&world.refused(&world.query_of(&client, &[("redirect_uri", uri), PKCE[0], PKCE[1]])).await);
        }
    }
}

/// CVE-2020-26938, CVE-2026-67333, CVE-2026-59354, workers-oauth-provider #97
#[tokio::test]
async fn no_script_is_a_redirect_uri_whatever_its_case_and_blanks() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let world = World::with(profile, |_| {}).await;
        for uri in [
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
        ] {
            assert!(matches!(refused_uri(&world, uri).await, Some(Problem::RedirectUri { number: 1, .. })), "{uri:?}");
            page(&world.refused(&world.query(&[("redirect_uri", uri), PKCE[0], PKCE[1]])).await);
        }
        assert_eq!(refused_uri(&world, "https://a.example/cb").await, None);
    }
}

/// CVE-2022-36087
#[tokio::test]
async fn no_redirect_uri_makes_the_server_fail() {
    let world = World::platform().await;
    let pieces =
        ["http", "s", ":", "/", "//", "[", "]", "::1", "@", "%", "%2", "#", "?", "\\", "\0", "\u{e9}", "a.b", ":99999"];
    let mut seed = 1_usize;
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    };
    for _ in 0..2_000 {
        let uri: String = (0..next() % 9).map(|_| pieces[next() % pieces.len()]).collect();
        let query = world.query(&[("redirect_uri", &uri), ("scope", "nothing")]);
        let response = world.refused(&query).await;
        assert!(matches!(response.status(), 302 | 400), "{uri:?}");
        assert_eq!(response.status() == 302, uri.is_empty(), "{uri:?}: none of these is registered");
    }
    for length in [2_048, 2_049, 30_000] {
        page(&world.refused(&world.query(&[("redirect_uri", &"[".repeat(length))])).await);
    }
}

/// PYSEC-2026-4360
#[tokio::test]
async fn a_request_uri_is_neither_fetched_nor_heeded() {
    for profile in [Profile::Platform, Profile::Strict] {
        let world = World::with(profile, |_| {}).await;
        let uri = ("request_uri", "http://169.254.169.254/latest");
        code(&world.approve(&world.query(&[uri, PKCE[0], PKCE[1]])).await);
        page(&world.refused(&encode(&[uri])).await);
    }
}

/// CVE-2026-63687
#[tokio::test]
async fn a_parameter_has_one_source_and_one_value() {
    let world = World::platform().await;
    let object = "eyJhbGciOiJub25lIn0.eyJjb2RlX2NoYWxsZW5nZSI6IngifQ.";
    let code = world.code_for(&world.query(&[("request", object), PKCE[0], PKCE[1]])).await;
    let form = [("grant_type", "authorization_code"), ("code", &code)];
    e400(&world.token(&form).client(&world.client).send().await, "invalid_grant");
    ok(&world.exchange(&code).await);
    for repeated in [PKCE[0], ("code_challenge", "x"), PKCE[1], ("code_challenge_method", "")] {
        red(&world.refused(&world.query(&[PKCE[0], PKCE[1], repeated])).await, "invalid_request");
    }
    let code = world.code().await;
    let form = [("grant_type", "authorization_code"), ("code", &code), ("code_verifier", VERIFIER)];
    for repeated in form {
        e400(&world.token(&form).field(repeated.0, "x").client(&world.client).send().await, "invalid_request");
    }
    ok(&world.exchange(&code).await);
}
