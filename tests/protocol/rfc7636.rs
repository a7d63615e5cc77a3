//! RFC 7636: proof key for code exchange.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use grantor::Approval;
use grantor::client::ApplicationType;
use grantor::config::{PkceRequirement, Profile};
use grantor::wire::Response;

use support::world::{
    CHALLENGE, PKCE, REDIRECT_URI, VERIFIER, With as _, World, code, e400, form, ok, public_form, red, text,
};

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

/// 7636-4.3-02, 7636-4.2-01, 7636-4.3-01, D-18, workers-oauth-provider #275
#[tokio::test]
async fn a_challenge_has_one_method_that_is_named() {
    for world in [World::platform().await, World::strict().await] {
        for malformed in [&CHALLENGE[1..], &format!("{CHALLENGE}=")] {
            refused(&world, &[("code_challenge", malformed), PKCE[1]]).await;
        }
        // Without a method it would be `plain`.
        refused(&world, &[("code_challenge", CHALLENGE)]).await;
        refused(&world, &[("code_challenge", CHALLENGE), ("code_challenge_method", "")]).await;
        refused(&world, &[("code_challenge", VERIFIER), ("code_challenge_method", "plain")]).await;
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

/// 7636-4.6-02, 9700-2.1.1-02, D-07, 7636-4.6-01, 9700-4.8.2-01
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

/// 7636-4.1-01
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
