//! RFC 7636: proof key for code exchange.

use base64::Engine;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use grantor::Approval;
use grantor::client::ApplicationType;
use grantor::config::{PkceRequirement, Profile};
use grantor::wire::Response;
use sha2::{Digest, Sha256};

use support::world::{
    CHALLENGE, PKCE, REDIRECT_URI, VERIFIER, With as _, World, challenge_of, code, e400, form, ok, public_form, red,
    text,
};

/// The S256 challenge of any text, whether a valid verifier or not.
fn s256(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}

async fn code_bound_to(world: &World, challenge: &str) -> String {
    let query = world.query(&[("code_challenge", challenge), ("code_challenge_method", "S256")]);
    world.code_for(&query).await
}

async fn exchange(world: &World, code: &str, verifier: &str) -> Response {
    let form = [("grant_type", "authorization_code"), ("code", code), ("code_verifier", verifier)];
    world.token(&form).client(&world.client).send().await
}

/// Asserts that the refusal of a request with these parameters goes to the client, with its state.
async fn refused(world: &World, more: &[(&str, &str)]) {
    let query = world.query(&[more, &[("state", "s")]].concat());
    let response = world.refused(&query).await;
    assert!(response.header("Location").unwrap().starts_with(REDIRECT_URI), "{more:?}");
    assert_eq!(text(&red(&response, "invalid_request"), "state"), "s", "{more:?}");
}

/// 7636-4.1-01
/// The challenge matches the text, so the form of the verifier is the only fault.
#[tokio::test]
async fn a_verifier_has_43_to_128_unreserved_characters() {
    let world = World::platform().await;
    let all = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for verifier in ["a".repeat(43), "~".repeat(128), all.to_owned(), VERIFIER.to_owned()] {
        assert_eq!(challenge_of(&verifier), s256(&verifier));
        let code = code_bound_to(&world, &s256(&verifier)).await;
        ok(&exchange(&world, &code, &verifier).await);
    }
    let with = |character: &str| format!("{}{character}{}", "a".repeat(21), "b".repeat(21));
    let lengths = ["a", &"a".repeat(42), &"a".repeat(129), &"a".repeat(1000)].map(str::to_owned);
    let characters = ["+", "=", " ", "/", "%", "\u{e9}", "\0", "\n"].map(with);
    for verifier in lengths.iter().chain(&characters) {
        let code = code_bound_to(&world, &s256(verifier)).await;
        e400(&exchange(&world, &code, verifier).await, "invalid_grant");
        e400(&exchange(&world, &code, verifier).await, "invalid_grant");
    }
}

/// 7636-4.2-01
#[tokio::test]
async fn a_challenge_is_exactly_43_characters_of_base64url() {
    let padded = URL_SAFE.encode(Sha256::digest(VERIFIER));
    assert_eq!(padded.len(), 44);
    let end = &CHALLENGE[1..];
    let mut bad: Vec<String> =
        vec!["x".into(), CHALLENGE[..42].into(), format!("{CHALLENGE}x"), padded, "a".repeat(128)];
    bad.extend(["+", "=", "/", ".", "~", " ", "%", "\u{e9}", "\0"].map(|character| format!("{character}{end}")));
    for world in [World::platform().await, World::strict().await] {
        for challenge in &bad {
            refused(&world, &[("code_challenge", challenge), ("code_challenge_method", "S256")]).await;
        }
        let client = world.register(public_form()).await;
        let pkce = [("code_challenge", bad[1].as_str()), ("code_challenge_method", "S256")];
        red(&world.refused(&world.query_of(&client, &pkce)).await, "invalid_request");
        code(&world.approve(&world.query(&PKCE)).await);
    }
}

/// 7636-4.3-01, D-18
#[tokio::test]
async fn a_challenge_without_a_method_would_be_plain_and_is_refused() {
    for world in [World::platform().await, World::strict().await] {
        refused(&world, &[("code_challenge", CHALLENGE)]).await;
        refused(&world, &[("code_challenge", CHALLENGE), ("code_challenge_method", "")]).await;
        refused(&world, &[("code_challenge", VERIFIER), ("code_challenge_method", "plain")]).await;
    }
}

/// 7636-4.3-02, workers-oauth-provider #275
#[tokio::test]
async fn a_method_is_named_exactly_and_never_without_a_challenge() {
    for world in [World::platform().await, World::strict().await] {
        for method in ["s256", "S257", "S512", "none", "S256 ", "SHA256", "Plain", "S256,plain", "S256\0"] {
            refused(&world, &[("code_challenge", CHALLENGE), ("code_challenge_method", method)]).await;
        }
        for method in ["S256", "plain"] {
            refused(&world, &[("code_challenge_method", method)]).await;
            refused(&world, &[("code_challenge_method", method), ("code_challenge", "")]).await;
        }
        for repeated in ["code_challenge", "code_challenge_method"] {
            refused(&world, &[PKCE[0], PKCE[1], (repeated, "")]).await;
        }
        let of_itself = code_bound_to(&world, VERIFIER).await;
        e400(&exchange(&world, &of_itself, VERIFIER).await, "invalid_grant");
    }
}

/// 7636-4.4-01
#[tokio::test]
async fn a_code_does_not_show_what_it_is_bound_to() {
    let world = World::platform().await;
    let [bound, again] = [code_bound_to(&world, CHALLENGE).await, code_bound_to(&world, CHALLENGE).await];
    let free = world.code_for(&world.query(&[])).await;
    assert_ne!(bound, again);
    assert_eq!(bound.len(), free.len());
    let digest = URL_SAFE_NO_PAD.decode(CHALLENGE).unwrap();
    let opaque = URL_SAFE_NO_PAD.decode(&bound.as_bytes()["ac_".len() + 22..]).unwrap();
    for secret in [digest.as_slice(), &CHALLENGE.as_bytes()[..8], &VERIFIER.as_bytes()[..8]] {
        assert!(!opaque.windows(secret.len()).any(|window| window == secret));
        assert!(!bound.as_bytes().windows(secret.len()).any(|window| window == secret));
    }
    ok(&exchange(&world, &bound, VERIFIER).await);
}

/// 7636-4.4.1-01, 9700-2.1.1-01, 8252-8.1-01, D-18, 21-4.1.1-01
#[tokio::test]
async fn who_has_to_use_pkce_gets_nowhere_without() {
    let world = World::platform().await;
    let public = world.register(public_form()).await;
    let flagged = world.register_as(form(), Approval::default().require_pkce()).await;
    let native = world.register(form().with(|form| form.application_type = ApplicationType::Native)).await;
    for client in [&public, &flagged, &native] {
        for empty in [&[] as &[(&str, &str)], &[("code_challenge", "")]] {
            let query = world.query_of(client, &[empty, &[("state", "s")]].concat());
            assert_eq!(text(&red(&world.refused(&query).await, "invalid_request"), "state"), "s");
        }
        let code = world.code_for(&world.query_of(client, &PKCE)).await;
        ok(&world.exchange_as(client, &code).await);
    }
    code(&world.approve(&world.query(&[])).await);
    let all = World::with(Profile::Platform, |config| config.authorization.pkce = PkceRequirement::AllClients).await;
    for world in [World::strict().await, World::mcp().await, all] {
        let public = world.register(public_form()).await;
        for client in [&world.client, &public] {
            let query = world.query_of(client, &[("state", "s")]);
            assert_eq!(text(&red(&world.refused(&query).await, "invalid_request"), "state"), "s");
            code(&world.approve(&world.query_of(client, &PKCE)).await);
        }
    }
}

/// 7636-4.6-01
#[tokio::test]
async fn the_example_of_appendix_b_is_met() {
    let world = World::platform().await;
    let code = code_bound_to(&world, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM").await;
    ok(&exchange(&world, &code, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk").await);
}

/// 7636-4.6-02, 9700-2.1.1-02, D-07
#[tokio::test]
async fn a_wrong_or_missing_verifier_is_refused_and_consumes_nothing() {
    for profile in [Profile::Platform, Profile::Strict] {
        let world = World::with(profile, |_| {}).await;
        let code = world.code().await;
        let last = format!("{}x", &VERIFIER[..42]);
        for verifier in [last.as_str(), &VERIFIER.to_lowercase(), CHALLENGE, "short", ""] {
            e400(&exchange(&world, &code, verifier).await, "invalid_grant");
        }
        let absent = [("grant_type", "authorization_code"), ("code", &code)];
        e400(&world.token(&absent).client(&world.client).send().await, "invalid_grant");
        let twice = world.token(&absent).field("code_verifier", VERIFIER).field("code_verifier", VERIFIER);
        e400(&twice.client(&world.client).send().await, "invalid_request");
        ok(&exchange(&world, &code, VERIFIER).await);
    }
}

/// A developer reads it, and it repeats nothing of the request.
#[tokio::test]
async fn a_refusal_says_what_is_wrong_with_a_verifier() {
    let world = World::platform().await;
    let code = world.code().await;
    let malformed = "code_verifier must be 43 to 128 letters, digits or characters of - . _ ~";
    for (verifier, description) in
        [("short", malformed), (&*"+".repeat(43), malformed), (CHALLENGE, "code_verifier does not match the challenge")]
    {
        let body: serde_json::Value = serde_json::from_slice(exchange(&world, &code, verifier).await.body()).unwrap();
        assert_eq!(body["error_description"], description, "{verifier}");
    }
    let absent = world.token(&[("grant_type", "authorization_code"), ("code", &code)]);
    let body: serde_json::Value = serde_json::from_slice(absent.client(&world.client).send().await.body()).unwrap();
    assert_eq!(body["error_description"], "code_verifier is missing");
}

/// 9700-2.1.1-03, 21-4.1.3-01, CVE-2025-4144, CVE-2024-22258, CVE-2024-23647, CVE-2023-48228
/// Also league/oauth2-server 8.4.0.
#[tokio::test]
async fn pkce_cannot_be_taken_away_on_either_side() {
    let world = World::platform().await;
    let public = world.register(public_form()).await;
    for (client, needs) in [(&world.client, false), (&public, true)] {
        for (challenge, verifier, refused) in [
            (false, None, None),
            (false, Some(""), None),
            (false, Some(VERIFIER), Some("invalid_request")),
            (false, Some("short"), Some("invalid_request")),
            (true, None, Some("invalid_grant")),
            (true, Some(""), Some("invalid_grant")),
            (true, Some("short"), Some("invalid_grant")),
            (true, Some(VERIFIER), None),
        ] {
            let query = world.query_of(client, if challenge { &PKCE } else { &[] });
            if needs && !challenge {
                red(&world.refused(&query).await, "invalid_request");
                continue;
            }
            let code = world.code_for(&query).await;
            let call = world.token(&[("grant_type", "authorization_code"), ("code", &code)]).client(client);
            let call = verifier.into_iter().fold(call, |call, verifier| call.field("code_verifier", verifier));
            let response = call.send().await;
            match refused {
                None => drop(ok(&response)),
                Some(error) => e400(&response, error),
            }
        }
    }
}

/// 7636-7.2-01, 9700-2.1.1-04
#[tokio::test]
async fn s256_is_the_one_method_that_is_published() {
    for world in [World::platform().await, World::strict().await, World::mcp().await] {
        let metadata = crate::rfc8414::metadata(&world).await;
        assert_eq!(metadata["code_challenge_methods_supported"], serde_json::json!(["S256"]));
    }
}
