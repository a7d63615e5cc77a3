//! RFC 6749, appendices A and B: which characters a value may hold, and how forms are decoded.

use grantor::config::Profile;
use grantor::wire::Endpoint;

use support::world::{
    PKCE, SCOPES, VERIFIER, World, code, count, e400, e401, empty, encode, error_body, is_error_character, ok, page,
    pair, r401, red, text, wa,
};

/// 6749-A-01
#[tokio::test]
async fn client_ids_and_secrets_are_visible_ascii() {
    let world = World::platform().await;
    let [id, secret] = [world.client.id.as_str(), world.client.secret.as_str()];
    for hostile in ["\t", "\0", "\r\n", "\u{e9}", "\u{7f}", "\u{200b}", "\u{ff21}"] {
        for id in [format!("{id}{hostile}"), format!("{hostile}{id}"), hostile.to_owned()] {
            println!("id {id:?}");
            page(&world.refused(&encode(&[("response_type", "code"), ("client_id", &*id)])).await);
            e401(&world.token(&[]).basic(&id, secret).send().await, "invalid_client");
            e401(&world.token(&[("client_id", &id), ("client_secret", secret)]).send().await, "invalid_client");
            r401(&world.post(Endpoint::Revocation, &[("client_id", &id), ("client_secret", secret)]).send().await);
        }
        for secret in [format!("{secret}{hostile}"), format!("{hostile}{secret}"), hostile.to_owned()] {
            println!("secret {secret:?}");
            e401(&world.token(&[]).basic(id, &secret).send().await, "invalid_client");
            e401(&world.token(&[("client_id", id), ("client_secret", &secret)]).send().await, "invalid_client");
        }
    }
    ok(&world.exchange(&world.code().await).await);
}

/// 6749-A-03
#[tokio::test]
async fn a_scope_of_other_characters_is_refused() {
    let world = World::platform().await;
    let first = world.pair().await;
    for byte in (0..=255_u8).filter(|byte| !matches!(byte, 0x20..=0x21 | 0x23..=0x5b | 0x5d..=0x7e)) {
        let scope = format!("scope=repo-code:r%{byte:02x}");
        red(&world.refused(&format!("{}&{scope}", world.query(&[]))).await, "invalid_scope");
        let form = format!("grant_type=refresh_token&refresh_token={}&{scope}", first.refresh);
        let response = world.token(&[]).client(&world.client).raw_body(form).send().await;
        // A value that is not UTF-8 makes the whole form malformed.
        e400(&response, if byte < 0x80 { "invalid_scope" } else { "invalid_request" });
    }
    for visible in ["!", "#", "[", "]", "~", "'"] {
        red(&world.refused(&world.query(&[("scope", &format!("repo-code:r{visible}"))])).await, "invalid_scope");
    }
    assert_eq!(pair(&world.refresh(&first.refresh).await).scope, SCOPES);
}

/// 6749-A-04, D-08
#[tokio::test]
async fn state_is_any_bytes_in_the_platform_profile_alone() {
    let (platform, others) = (World::platform().await, [World::strict().await, World::mcp().await]);
    for byte in 0..=255_u8 {
        let query = |world: &World| format!("{}&state=a%{byte:02x}b", world.query(&PKCE));
        let redirect = code(&platform.approve(&query(&platform)).await);
        let state = &redirect.iter().find(|(name, _)| name == "state").unwrap().1;
        assert_eq!(*state, [b'a', byte, b'b']);
        for other in &others {
            if matches!(byte, 0x20..=0x7e) {
                code(&other.approve(&query(other)).await);
            } else {
                let redirect = red(&other.refused(&query(other)).await, "invalid_request");
                assert_eq!(count(&redirect, "state"), 0, "{byte}");
            }
        }
    }
}

/// 6749-A-05, 6749-4.1.2.1-05
#[tokio::test]
async fn error_answers_hold_nothing_but_their_characters() {
    let hostile = "\u{e4}\"\\<script>\r\n\0%22";
    for profile in [Profile::Platform, Profile::Strict] {
        let world = World::with(profile, |_| {}).await;
        let client = &world.client;
        let (code, used) = (world.code().await, world.code().await);
        ok(&world.exchange(&used).await);
        let form = |pairs: &[(&str, &str)]| world.token(pairs).client(client);
        let mut calls = vec![
            form(&[("grant_type", "authorization_code")]),
            form(&[("grant_type", "authorization_code"), ("code", hostile)]),
            form(&[("grant_type", "authorization_code"), ("code", &code)]),
            form(&[("grant_type", "authorization_code"), ("code", &code), ("code_verifier", hostile)]),
            form(&[("grant_type", "authorization_code"), ("code", &code), ("redirect_uri", hostile)]),
            form(&[("grant_type", "authorization_code"), ("code", &used), ("code_verifier", VERIFIER)]),
            form(&[("grant_type", "refresh_token")]),
            form(&[("grant_type", "refresh_token"), ("refresh_token", hostile)]),
            form(&[]).method("GET"),
            world.token(&[]).basic("\"", "\\"),
        ];
        for endpoint in [Endpoint::Token, Endpoint::Revocation, Endpoint::Introspection] {
            calls.push(world.post(endpoint, &[("token", "\"")]));
            for body in ["", "%", "%zz", "token=a&token=b", &encode(&[("grant_type", hostile)])] {
                calls.push(world.post(endpoint, &[]).client(client).raw_body(body));
            }
        }
        for call in calls {
            let response = call.send().await;
            assert!(matches!(response.status(), 400 | 401 | 405), "{}", response.status());
            let json: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
            let error = json["error"].as_str().unwrap();
            assert!(error.bytes().all(is_error_character));
            error_body(&response, error);
            assert!(json.get("error_uri").is_none());
            assert!(!json["error_description"].as_str().unwrap().contains("script"));
        }
        for name in ["scope", "code_challenge", "code_challenge_method", "response_type", "state"] {
            let base = [("client_id", &*client.id), ("response_type", "code"), PKCE[0], PKCE[1]];
            let kept = base.into_iter().filter(|(own, _)| *own != name);
            let Err(error) = world.authorize(&encode(&kept.chain([(name, hostile)]).collect::<Vec<_>>())).await else {
                assert!(name == "state" && profile == Profile::Platform);
                continue;
            };
            let response = error.response(Some(&world.alice));
            assert_eq!(response.header("Location").is_none(), name == "response_type" && profile == Profile::Platform);
            let Some(location) = response.header("Location") else { continue };
            let parameters = support::world::parameters(location);
            for part in ["error", "error_description"] {
                let text = text(&parameters, part);
                assert!(!text.is_empty() && text.bytes().all(is_error_character), "{text}");
            }
            assert_eq!(count(&parameters, "error_uri"), 0);
        }
        let challenge = wa(world.access("\"\\").await.unwrap_err(), 401, "invalid_token");
        assert!(challenge.bytes().all(|byte| byte == b'"' || is_error_character(byte)), "{challenge}");
        ok(&world.exchange(&world.code().await).await);
    }
}

/// 6749-A-07
#[tokio::test]
async fn codes_and_tokens_of_other_characters_are_invalid() {
    let world = World::platform().await;
    let own = world.code().await;
    let first = world.pair().await;
    for hostile in ["\0", "\t", "\r\n", "\u{e9}", "\u{7f}", "\"", "\\", " ", "'; --", "\u{1f600}", "=", "."] {
        let bend = |text: &str| {
            let middle = text.len() / 2;
            let replaced = format!("{}{hostile}{}", &text[..middle], &text[middle + hostile.len()..]);
            [hostile.to_owned(), format!("{text}{hostile}"), format!("{hostile}{text}"), replaced]
        };
        for code in bend(&own) {
            e400(&world.exchange(&code).await, "invalid_grant");
        }
        for token in bend(&first.refresh) {
            e400(&world.refresh(&token).await, "invalid_grant");
            empty(&world.revoke(&token).await);
        }
        for token in bend(&first.access) {
            let trimmed = token.trim_ascii() == first.access;
            assert_eq!(world.opens(&token).await, trimmed, "{token:?}");
            empty(&world.revoke(&token).await);
            let described = world.introspect_as(&world.client, &token).await;
            assert_eq!(described, serde_json::json!({ "active": false }));
        }
    }
    assert!(world.opens(&first.access).await);
    ok(&world.exchange(&own).await);
    ok(&world.refresh(&first.refresh).await);
}

/// 6749-A-08
#[tokio::test]
async fn expires_in_is_an_integer() {
    for seconds in [300, 28_800, 31_536_000] {
        let world = World::with(Profile::Platform, |config| {
            config.tokens.access_lifetime = std::time::Duration::from_secs(seconds);
        });
        let world = world.await;
        let exchanged = world.exchange(&world.code().await).await;
        let refreshed = world.refresh(&pair(&exchanged).refresh).await;
        for response in [exchanged, refreshed] {
            let body = String::from_utf8(response.into_body()).unwrap();
            let (_, after) = body.split_once("\"expires_in\":").unwrap();
            let digits = after.split([',', '}']).next().unwrap();
            assert_eq!(digits, seconds.to_string(), "{body}");
        }
    }
}

/// 6749-B-01
#[tokio::test]
async fn forms_are_decoded_as_the_appendix_says() {
    // U+0020 U+0025 U+0026 U+002B U+00A3 U+20AC
    let (written, read) = ("+%25%26%2B%C2%A3%E2%82%AC", " %&+\u{a3}\u{20ac}");
    let world = World::platform().await;
    let redirect = code(&world.approve(&format!("{}&state={written}", world.query(&[]))).await);
    assert_eq!(text(&redirect, "state"), read);

    for (body, decoded) in [
        ("grant_type=authorization%5Fcode&code=", true),
        ("gr%61nt_type=authorization_code&%63ode=", true),
        ("grant_type=authorization%255Fcode&code=", false),
        ("grant_type=authorization+code&code=", false),
    ] {
        println!("{body}");
        let body = format!("{body}{}", world.code_for(&world.query(&[])).await);
        let response = world.token(&[]).client(&world.client).raw_body(body).send().await;
        if decoded { drop(ok(&response)) } else { e400(&response, "unsupported_grant_type") }
    }
    let scope = format!("{}&scope=repo-code%3Ar+repo-issue%3arw", world.query(&PKCE));
    assert_eq!(pair(&world.exchange(&world.code_for(&scope).await).await).scope, "repo-code:r repo-issue:rw");
}
