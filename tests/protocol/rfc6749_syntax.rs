//! RFC 6749, appendices A and B: which characters a value may hold, and how forms are decoded.

use grantor::config::Profile;
use grantor::wire::Endpoint;

use support::world::{
    PKCE, VERIFIER, World, code, count, e400, e401, encode, error_body, is_error_character, ok, page, pair, r401, text,
    wa,
};

/// 6749-A-01, CVE-2026-50629, CVE-2026-50630
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
    for event in world.events.take() {
        assert!(!event.contains(['\r', '\n', '\0', '\u{7f}']), "{event:?}");
    }
    ok(&world.exchange(&world.code().await).await);
}

/// 6749-A-05, 6749-4.1.2.1-05, D-16
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
