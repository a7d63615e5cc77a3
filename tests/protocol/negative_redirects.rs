//! Faults of other authorization servers with redirects: where a browser is sent.

use grantor::config::Profile;

use support::world::{PKCE, VERIFIER, With as _, World, code, e400, encode, form, ok, page, red};

/// CVE-2020-15234
#[tokio::test]
async fn redirect_uris_are_compared_with_their_case() {
    let world = World::strict().await;
    let form = form().with(|form| form.redirect_uris = vec!["https://app.example.com/Cb?Tenant=a".into()]);
    let client = world.register(form).await;
    let query = |uri: &str| world.query_of(&client, &[("redirect_uri", uri), PKCE[0], PKCE[1]]);
    code(&world.approve(&query("https://app.example.com/Cb?Tenant=a")).await);
    for uri in ["https://app.example.com/cb?Tenant=a", "https://app.example.com/Cb?tenant=a"] {
        page(&world.refused(&query(uri)).await);
        page(&world.refused(&query(&uri.to_uppercase())).await);
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
