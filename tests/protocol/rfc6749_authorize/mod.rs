//! RFC 6749, sections 4.1.1 and 4.1.2: the authorization request and its answers.

mod attacks;
mod trouble;

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use grantor::client::GrantTypes;
use grantor::config::Profile;
use grantor::secret::SystemEntropy;
use grantor::wire::Request;
use grantor::{Config, Consent, Decision};

use support::world::{
    ISSUER, PKCE, REDIRECT_URI, Reviewer as _, SESSION, With as _, World, code, count, form, page, pair, red, text,
};

/// The query of a valid request with these bytes as its state, every byte percent-encoded.
fn query_with_state(world: &World, state: &[u8]) -> String {
    let escaped: String = state.iter().map(|byte| format!("%{byte:02x}")).collect();
    format!("{}&state={escaped}", world.query(&PKCE))
}

fn bytes(parameters: &[(String, Vec<u8>)], name: &str) -> Vec<u8> {
    assert_eq!(count(parameters, name), 1, "{name}");
    parameters.iter().find(|(own, _)| own == name).unwrap().1.clone()
}

/// Decodes text of a URI, in which `+` is not a space.
fn decode_uri(text: &str) -> Vec<u8> {
    percent_encoding::percent_decode_str(text).collect()
}

/// 6749-4.1.1-01, SVC-5-01
#[tokio::test]
async fn the_decision_is_bound_to_the_request_that_was_held() {
    let world = World::platform().await;
    let hold = async |query: &str| {
        let pending = world.authorize(query).await.unwrap();
        world.server.hold(&pending, &world.alice, b"session").await.unwrap()
    };
    let reduce = hold(&world.query(&[("scope", "repo-code:r"), ("state", "reduce")])).await;
    let other = "https://app.example.com/other";
    let wide = hold(&world.query(&[("state", "wide"), ("redirect_uri", other)])).await;

    // More than the page showed is refused, and the request still waits.
    for scopes in [vec!["repo-code:rw"], vec!["repo-code:r", "repo-issue:r"], vec!["repo-delete:rw"], vec!["x"]] {
        let decision = Decision::Approve(Consent::to_everything().scopes(scopes));
        let refused = world.server.decide(reduce.expose(), &world.alice, b"session", &decision).await;
        page(&refused.unwrap_err().response(Some(&world.alice)));
    }
    let approve = Decision::Approve(Consent::to_everything());
    for (handle, state, uri, scope) in [
        (reduce, "reduce", REDIRECT_URI, "repo-code:r"),
        (wide, "wide", other, "repo-code:rw repo-issue:rw account-profile:r"),
    ] {
        let response = world.server.decide(handle.expose(), &world.alice, b"session", &approve).await.unwrap();
        assert!(response.header("Location").unwrap().starts_with(&format!("{uri}?code=")));
        let redirect = code(&response);
        assert_eq!(text(&redirect, "state"), state);
        let form = [("grant_type", "authorization_code"), ("code", &*text(&redirect, "code"))];
        assert_eq!(pair(&world.token(&form).client(&world.client).send().await).scope, scope);
    }
}

/// 6749-4.1.1-01, CVE-2025-4143, 9700-2.1-02
///
/// The rights of the client are checked again when the user has decided.
#[tokio::test]
async fn a_client_that_was_changed_meanwhile_gets_no_more_than_it_has_now() {
    let world = World::platform().await;
    let registrar = world.server.registrar().unwrap();
    let id = world.client.client_id();
    let approve = Decision::Approve(Consent::to_everything());
    let hold = async || {
        let pending = world.authorize(&world.query(&[])).await.unwrap();
        world.server.hold(&pending, &world.alice, b"session").await.unwrap()
    };
    let suspended = hold().await;
    registrar.suspend(&id).await.unwrap();
    for decision in [&Decision::Deny, &approve] {
        let error = world.server.decide(suspended.expose(), &world.alice, b"session", decision).await.unwrap_err();
        assert!(!error.redirects());
        page(&error.response(Some(&world.alice)));
    }
    registrar.resume(&id).await.unwrap();
    code(&world.server.decide(suspended.expose(), &world.alice, b"session", &approve).await.unwrap());

    let reduced = hold().await;
    registrar.change_now(&id, form().with(|form| form.scopes = "repo-code:r".into()), None).await.unwrap();
    registrar.approve_now(&id, grantor::Approval::default()).await.unwrap();
    let redirect = code(&world.server.decide(reduced.expose(), &world.alice, b"session", &approve).await.unwrap());
    let exchange = [("grant_type", "authorization_code"), ("code", &*text(&redirect, "code"))];
    assert_eq!(pair(&world.token(&exchange).client(&world.client).send().await).scope, "repo-code:r");

    let moved = hold().await;
    let elsewhere = form().with(|form| form.redirect_uris = vec!["https://new.example.com/cb".into()]);
    registrar.change_now(&id, elsewhere, None).await.unwrap();
    registrar.approve_now(&id, grantor::Approval::default()).await.unwrap();
    for decision in [&Decision::Deny, &approve] {
        let error = world.server.decide(moved.expose(), &world.alice, b"session", decision).await.unwrap_err();
        assert!(!error.redirects());
        page(&error.response(Some(&world.alice)));
    }
}

/// 6749-4.1.2-01
#[tokio::test]
async fn codes_are_unguessable() {
    let world = World::built(Config::platform(ISSUER), |builder| builder.entropy(SystemEntropy)).await;
    let query = world.query(&PKCE);
    let mut codes = HashSet::new();
    let mut ones = [0_u32; 256];
    for _ in 0..10_000 {
        let code = world.code_for(&query).await;
        assert!(code.bytes().all(|byte| byte.is_ascii_graphic()), "{code}");
        let (id, secret) = code.strip_prefix("ac_").unwrap().split_at(22);
        assert_eq!(URL_SAFE_NO_PAD.decode(id).unwrap().len(), 16);
        let secret = URL_SAFE_NO_PAD.decode(secret).unwrap();
        assert_eq!(secret.len(), 32);
        for (bit, ones) in ones.iter_mut().enumerate() {
            *ones += u32::from(secret[bit / 8] >> (bit % 8) & 1);
        }
        assert!(codes.insert(code));
    }
    // Ten standard deviations of 50 around one half.
    assert!(ones.iter().all(|ones| (4_500..=5_500).contains(ones)), "{ones:?}");
}

/// 6749-4.1.2-03, SVC-4.1-02
#[tokio::test]
async fn state_comes_back_when_it_was_sent() {
    for profile in [Profile::Platform, Profile::Strict] {
        let world = World::with(profile, |_| {}).await;
        let query = world.query(&PKCE);
        for (more, expected) in [("&state=xyz", 1), ("", 0), ("&state=", 0), ("&state", 0)] {
            let query = format!("{query}{more}");
            println!("{query}");
            let granted = code(&world.approve(&query).await);
            let denied = red(&world.decide(&query, Decision::Deny).await, "access_denied");
            let refused = red(&world.refused(&format!("{query}&scope=x")).await, "invalid_scope");
            for redirect in [granted, denied, refused] {
                assert_eq!(count(&redirect, "state"), expected);
                assert!(expected == 0 || text(&redirect, "state") == "xyz");
            }
        }
    }
}

/// 6749-4.1.2-03, SVC-4.1-02, 6749-A-04, HTTP-05, D-08
///
/// D-08: any bytes up to the limit in the platform profile, visible ones in the strict profile.
#[tokio::test]
async fn state_comes_back_byte_for_byte() {
    let platform = World::platform().await;
    let strict = World::strict().await;
    let all: Vec<u8> = (0..=255).collect();
    let visible: Vec<u8> = (0x20..=0x7e).collect();
    for (state, is_visible) in [
        (visible.clone(), true),
        (visible.repeat(44)[..4096].to_vec(), true),
        (b"a b+c%20d%2Be&f=g\"'<>".to_vec(), true),
        (b"%41%2B%zz`<script>alert(1)</script>".to_vec(), true),
        ("x&".repeat(1024).into(), true),
        (b"line\r\nSet-Cookie: a=b".to_vec(), false),
        ("na\u{ef}ve \u{1f600}".into(), false),
        (all.clone(), false),
        (all.repeat(16), false),
        (b"\xff".to_vec(), false),
        ("\u{20ac}".into(), false),
        (b"a\x7f".to_vec(), false),
        (b"\t".to_vec(), false),
    ] {
        println!("{}", state.escape_ascii());
        let response = platform.approve(&query_with_state(&platform, &state)).await;
        assert_eq!(bytes(&code(&response), "state"), state);
        // A decoder of URIs, which leaves `+` alone, reads the same.
        let location = response.header("Location").unwrap();
        let raw = location.split(['?', '&']).find_map(|piece| piece.strip_prefix("state=")).unwrap();
        assert_eq!(decode_uri(raw), state);
        assert!(location.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'+'), "{location}");

        let query = query_with_state(&strict, &state);
        if is_visible {
            assert_eq!(bytes(&code(&strict.approve(&query).await), "state"), state);
        } else {
            assert_eq!(count(&red(&strict.refused(&query).await, "invalid_request"), "state"), 0);
        }
    }
    // Bytes that are not escaped.
    let mut raw = platform.query(&[]).into_bytes();
    raw.extend_from_slice(b"&state=\xff\xc3\x28");
    let pending = platform.server.authorize(&Request::new("GET").query(&raw)).await.unwrap();
    let handle = platform.server.hold(&pending, &platform.alice, SESSION).await.unwrap();
    let denied = platform.server.decide(handle.expose(), &platform.alice, SESSION, &Decision::Deny).await.unwrap();
    assert!(denied.header("Location").unwrap().contains("&state=%FF%C3%28&"));
    let plus = code(&platform.approve(&format!("{}&state=a+b", platform.query(&[]))).await);
    assert_eq!(text(&plus, "state"), "a b");
    let long = vec![b'a'; 4097];
    page(&platform.refused(&query_with_state(&platform, &long)).await);
    assert_eq!(count(&red(&strict.refused(&query_with_state(&strict, &long)).await, "invalid_request"), "state"), 0);
}

/// 6749-4.1.2.1-01, D-03, 6749-4.1.2.1-05
///
/// With `state` and `iss`.
#[tokio::test]
async fn a_refusal_of_the_user_goes_to_the_client() {
    let nothing = || Decision::Approve(Consent::to_everything().scopes([]));
    for profile in [Profile::Platform, Profile::Strict] {
        let world = World::with(profile, |_| {}).await;
        let query = world.query(&[("state", "s"), PKCE[0], PKCE[1]]);
        for decision in [Decision::Deny, nothing()] {
            let redirect = red(&world.decide(&query, decision).await, "access_denied");
            assert_eq!(text(&redirect, "state"), "s");
            assert_eq!(text(&redirect, "error_description"), "the request was denied");
            assert!(world.events.saw("Denied"));
        }
        assert_eq!(world.store.grant_count().await, 0);
    }
}

/// 6749-4.1.2.1-02
#[tokio::test]
async fn a_client_without_the_grant_type_is_told_so() {
    let introspecting = form().with(|form| form.grant_types = GrantTypes::NONE);
    for profile in [Profile::Platform, Profile::Strict] {
        let world = World::with(profile, |_| {}).await;
        let client = world.register(introspecting.clone()).await;
        let query = world.query_of(&client, &[("state", "s"), PKCE[0], PKCE[1]]);
        let redirect = red(&world.refused(&query).await, "unauthorized_client");
        assert_eq!(text(&redirect, "state"), "s");
        code(&world.approve(&world.query(&PKCE)).await);
    }
}

/// 6749-4.1.2.1-03, SVC-5-01
#[tokio::test]
async fn a_scope_that_is_unknown_or_too_much_is_refused() {
    for profile in [Profile::Platform, Profile::Strict] {
        let world = World::with(profile, |_| {}).await;
        let query = |scope| world.query(&[("scope", scope), ("state", "s"), PKCE[0], PKCE[1]]);
        for scope in [
            "unknown",
            "repo-code:r unknown:r",
            "repo-pr:r",
            "account-profile:rw",
            "repo-code:rw repo-pr:r",
            "repo-code:rw repo-security:r",
            "repo-delete:rw",
            "repo-security:rw",
            "repo-delete:r",
        ] {
            println!("{scope}");
            assert_eq!(text(&red(&world.refused(&query(scope)).await, "invalid_scope"), "state"), "s");
        }
        for scope in ["repo-code:r", "repo-code", "account-profile:r repo-issue:rw"] {
            code(&world.approve(&query(scope)).await);
        }
    }
}

/// 6749-4.1.2.1-06, SVC-4.1-05
#[tokio::test]
async fn faults_of_client_and_redirect_uri_are_reported_to_the_user() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let world = World::with(profile, |_| {}).await;
        let registrar = world.server.registrar().unwrap();
        let pending = registrar.submit(world.alice.clone(), form(), Some(support::world::logo())).await.unwrap();
        let suspended = world.register(form()).await;
        registrar.suspend(&suspended.client_id()).await.unwrap();
        let id = &world.client.id;
        for query in [
            "client_id=".to_owned(),
            "client_id=unknown".into(),
            "client_id=%ff".into(),
            format!("client_id={pending}"),
            format!("client_id={}", suspended.id),
            format!("client_id={}", "x".repeat(256)),
            "client_id=hostile%3Cb%3E".into(),
            String::new(),
            format!("client_id={id}&redirect_uri=https%3A%2F%2Fother.example%2Fcb"),
            format!("client_id={id}&redirect_uri=https%3A%2F%2Fhostile.app.example.com%2Fcb"),
            format!("client_id={id}&redirect_uri=https%3A%2F%2Fapp.example.com%2Fcb%23f"),
            format!("client_id={id}&redirect_uri=x"),
            format!("client_id={id}&redirect_uri=%ff"),
            format!("client_id={id}&redirect_uri=%00"),
            format!("client_id={id}&redirect_uri=%zz"),
        ] {
            let query = format!("response_type=code&state=s&{query}&{}", support::world::encode(&PKCE));
            println!("{profile:?}: {query}");
            for user in [Some(&world.alice), None] {
                let error = world.authorize(&query).await.unwrap_err();
                assert!(!error.needs_sign_in());
                let response = error.response(user);
                page(&response);
                assert!(!String::from_utf8_lossy(response.body()).contains("hostile"));
            }
        }
        assert_eq!(world.store.authorization_count().await, 0);
        let good = format!("response_type=code&state=s&client_id={id}&{}", support::world::encode(&PKCE));
        code(&world.approve(&good).await);
    }
}

/// 6749-4.1.2.1-06, D-02, D-22
///
/// D-02: errors that the described service lists show the page, and errors that only the RFCs define go to the client.
/// In the strict profile, all errors except those of client and redirect URI go to the client.
#[tokio::test]
async fn which_faults_show_the_page_depends_on_the_profile() {
    let (platform, others) = (World::platform().await, [World::strict().await, World::mcp().await]);
    let challenge = support::world::encode(&PKCE);
    let unknown_scope = format!("response_type=code&scope=unknown&{challenge}");
    for (pairs, paged, error) in [
        (&*unknown_scope, false, "invalid_scope"),
        ("response_type=token", true, "unsupported_response_type"),
        ("", true, "invalid_request"),
        ("response_type=code&state=a&state=b", true, "invalid_request"),
        ("response_type=code&response_type=code", true, "invalid_request"),
        ("response_type=code&state=a&state=a", true, "invalid_request"),
        ("response_type=code&code_challenge=x&code_challenge_method=S256", false, "invalid_request"),
        ("response_type=code&code_challenge=x&code_challenge_method=plain", false, "invalid_request"),
        ("response_type=code&code_challenge=x", false, "invalid_request"),
        ("response_type=code&scope=a&scope=b", false, "invalid_request"),
    ] {
        println!("{pairs}");
        let query = |world: &World| format!("client_id={}&{pairs}", world.client.id);
        let response = platform.refused(&query(&platform)).await;
        if paged {
            page(&response)
        } else {
            drop(red(&response, error))
        }
        for other in &others {
            red(&other.refused(&query(other)).await, error);
        }
    }
}
