//! RFC 6749, sections 10.12 to 10.15: forged decisions, frames, hostile input, open redirectors.

use grantor::config::Profile;
use grantor::wire::Response;
use grantor::{Consent, Decision, Subject};

use support::world::{PKCE, REDIRECT_URI, SESSION, World, code, encode, page, red};

const HOSTILE: &str = "\"><script>alert(1)</script>\r\nSet-Cookie: x=y\0'&#x3c;";

async fn decide(world: &World, handle: &str, subject: &Subject, session: &[u8]) -> Response {
    let decision = Decision::Approve(Consent::to_everything());
    match world.server.decide(handle, subject, session, &decision).await {
        Ok(response) => response,
        Err(error) => error.response(Some(subject)),
    }
}

/// 6749-10.12-01, CVE-2014-8144, CVE-2025-4143
#[tokio::test]
async fn a_decision_needs_handle_user_and_session() {
    for profile in [Profile::Platform, Profile::Strict] {
        let world = World::with(profile, |_| {}).await;
        let mallory = Subject::new("mallory").unwrap();
        let pending = world.authorize(&world.query(&PKCE)).await.unwrap();
        let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
        let own = world.server.hold(&pending, &mallory, b"mallory's session").await.unwrap();
        let handle = handle.expose();
        let flipped = format!("{}{}", &handle[..67], if handle.ends_with('A') { "B" } else { "A" });
        let shorter = &handle[..67];
        let spliced = format!("{}{}", &own.expose()[..25], &handle[25..]);
        for (case, handle, subject, session) in [
            ("no handle", "", &world.alice, SESSION),
            ("any handle", "x", &world.alice, SESSION),
            ("halves of two handles", &spliced, &world.alice, SESSION),
            ("a flipped character", &*flipped, &world.alice, SESSION),
            ("a character less", shorter, &world.alice, SESSION),
            ("the handle of another user", own.expose(), &world.alice, SESSION),
            ("another user", handle, &mallory, SESSION),
            ("another user in a session of their own", handle, &mallory, b"mallory's session"),
            ("another session", handle, &world.alice, b"another session"),
            ("no session", handle, &world.alice, b""),
            ("another user's session", handle, &world.alice, b"mallory's session"),
            ("control bytes", "ah_\0\r\n", &world.alice, SESSION),
        ] {
            println!("{profile:?}: {case}");
            page(&decide(&world, handle, subject, session).await);
            let denied = world.server.decide(handle, subject, session, &Decision::Deny).await;
            page(&denied.unwrap_err().response(Some(subject)));
        }
        assert_eq!(world.store.grant_count().await, 0);
        code(&decide(&world, handle, &world.alice, SESSION).await);
        let empty = world.server.hold(&pending, &world.alice, b"").await.unwrap_err();
        let response = empty.response(Some(&world.alice));
        assert_eq!((response.status(), response.header("Location")), (500, None));
    }
}

/// 6749-10.12-01
#[tokio::test]
async fn a_decision_is_taken_once_and_in_time() {
    let world = World::platform().await;
    let pending = world.authorize(&world.query(&[])).await.unwrap();
    for first in [Decision::Approve(Consent::to_everything()), Decision::Deny] {
        let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
        let response = world.server.decide(handle.expose(), &world.alice, SESSION, &first).await.unwrap();
        let again = decide(&world, handle.expose(), &world.alice, SESSION).await;
        if first != Decision::Deny {
            // The same answer within a minute gets the same response.
            assert_eq!(again.header("Location"), response.header("Location"));
            world.advance(60);
        }
        let again = decide(&world, handle.expose(), &world.alice, SESSION).await;
        assert_eq!((again.status(), again.header("Location")), (400, None));
        assert!(String::from_utf8_lossy(again.body()).contains("already been answered"));
    }
    for (age, in_time) in [(1799, true), (1800, false), (1801, false)] {
        let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
        world.advance(age);
        let response = decide(&world, handle.expose(), &world.alice, SESSION).await;
        if in_time { drop(code(&response)) } else { page(&response) }
    }
}

/// 6749-10.14-01, CVE-2019-8400, HTTP-03
#[tokio::test]
async fn nothing_of_a_request_is_reflected_raw() {
    let names = [
        "response_type",
        "client_id",
        "redirect_uri",
        "state",
        "scope",
        "code_challenge",
        "code_challenge_method",
        "x",
    ];
    for profile in [Profile::Platform, Profile::Strict] {
        let world = World::with(profile, |_| {}).await;
        for hostile in [
            HOSTILE,
            "<script>alert(1)</script>",
            "\"><img src=x onerror=alert(1)>",
            "javascript:alert(1)//",
            "https://app.example.com/cb\"><script>",
            "https://app.example.com/<script>",
            "'; drop table clients; --",
            "{{7*7}}${7*7}",
        ] {
            for name in names {
                println!("{profile:?}: {name}={hostile}");
                let base = [("response_type", "code"), ("client_id", &*world.client.id), PKCE[0], PKCE[1]];
                let kept = base.into_iter().filter(|(own, _)| *own != name);
                let query = encode(&kept.chain([(name, hostile)]).collect::<Vec<_>>());
                let response = match world.authorize(&query).await {
                    Ok(_) => world.approve(&query).await,
                    Err(error) => error.response(Some(&world.alice)),
                };
                let body = String::from_utf8_lossy(response.body()).into_owned();
                assert!(!body.contains(hostile) && !body.contains("alert"), "{body}");
                for (header, value) in response.headers() {
                    assert!(value.bytes().all(|byte| (0x20..=0x7e).contains(&byte)), "{header}: {value}");
                    assert!(!value.contains(['<', '>', '"', '\'']) || header == "Content-Security-Policy", "{value}");
                }
                if let Some(location) = response.header("Location") {
                    assert!(location.starts_with(REDIRECT_URI), "{location}");
                }
            }
            for field in ["grant_type", "code", "refresh_token", "client_id", "redirect_uri", "scope"] {
                let response = world.token(&[("grant_type", "refresh_token")]).field(field, hostile).send().await;
                assert!(!String::from_utf8_lossy(response.body()).contains("alert"), "{field}");
            }
        }
    }
}

/// 6749-10.15-01, 6749-3.1.2.4-01, 9700-2.1-02, CVE-2019-9837, CVE-2026-41479, CVE-2026-44681
///
/// As in django-oauth-toolkit #1719: whatever else a request asks for, and whichever of its faults is found first.
#[tokio::test]
async fn the_endpoint_is_no_open_redirector() {
    let targets = [
        "https://evil.example/",
        "https://evil.example/cb?x=https://app.example.com/cb",
        "https://evil.example#@app.example.com/",
        "https://app.example.com.evil.example/cb",
        "https://app.example.com@evil.example/",
        "https://app.example.com:80@evil.example/",
        "https:evil.example",
        "https:///evil.example",
        "http:",
        "//evil.example",
        "/cb",
        "evil",
        "\\\\evil.example",
        "https://evil.example\\.app.example.com/cb",
        "http://127.0.0.1/cb",
        "http://localhost/cb",
        "javascript:alert(1)",
        "data:text/html,x",
        "com.evil.app:/cb",
        "https://app.example.com\t.evil.example/cb",
        "https://app\u{3002}example.com/cb",
    ];
    let requests = [
        "response_type=code",
        "response_type=",
        "response_type=token",
        "response_type=code+token",
        "response_type=%22%3E%3Cscript%3E",
        "response_type=code&scope=x",
        "response_type=code&scope=%22",
        "response_type=code&scope=a&scope=b",
        "response_type=code&state=%01",
        "response_type=code&state=a&state=b",
        "response_type=code&code_challenge=x",
        "response_type=code&code_challenge_method=plain",
        "response_type=code&prompt=none",
        "response_type=code&error=x&code=y",
    ];
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let world = World::with(profile, |_| {}).await;
        let id = world.client.id.as_str();
        let unknown = [("nobody", REDIRECT_URI), ("", REDIRECT_URI), ("nobody", targets[0])];
        for (client, target) in targets.map(|target| (id, target)).into_iter().chain(unknown) {
            for request in requests {
                let query = format!("{request}&{}", encode(&[("client_id", client), ("redirect_uri", target)]));
                println!("{profile:?}: {query}");
                let error = world.authorize(&query).await.unwrap_err();
                assert!(!error.needs_sign_in());
                page(&error.response(Some(&world.alice)));
            }
        }
        let query = world.query(&[("redirect_uri", REDIRECT_URI), ("scope", "x"), PKCE[0], PKCE[1]]);
        red(&world.refused(&query).await, "invalid_scope");
        let query = world.query(&[("prompt", "none"), PKCE[0], PKCE[1]]);
        assert!(world.authorize(&query).await.is_ok(), "an unknown parameter means nothing");
    }
}
