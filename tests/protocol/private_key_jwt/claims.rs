//! Who the assertion is from, and for whom.

use grantor::Config;
use grantor::config::AssertionAudience;
use grantor::config::PushedRequests;
use grantor::wire::Endpoint;
use serde_json::{Value, json};

use super::{ID, OTHER, Scene, asserted};
use support::world::{ISSUER, PKCE, REDIRECT_URI};

/// 7523-3-01
#[tokio::test]
async fn issuer_and_subject_are_the_client() {
    let scene = Scene::new().await;
    for name in ["iss", "sub", "aud", "exp", "jti"] {
        assert!(!scene.accepts(&scene.claiming(json!({ name: null }))).await, "{name}");
        assert!(scene.reason().contains(name), "{name}");
    }
    for claims in [
        json!({"sub": "App"}),
        json!({"iss": "App"}),
        json!({"iss": OTHER}),
        json!({"sub": OTHER}),
        json!({"iss": OTHER, "sub": OTHER}),
        json!({"iss": "unknown", "sub": "unknown"}),
        json!({"iss": ""}),
        json!({"sub": ""}),
        json!({"iss": [ID]}),
        json!({"sub": 7}),
        json!({"iss": ISSUER}),
    ] {
        assert!(!scene.accepts(&scene.claiming(claims.clone())).await, "{claims}");
    }
    assert!(scene.accepts(&scene.good()).await);
}

/// 7523-3-01
#[tokio::test]
async fn every_failure_has_the_same_answer() {
    let scene = Scene::new().await;
    let of = |id: &str| scene.signer.assertion(id, ISSUER, scene.now(), |_, _| {});
    let used = scene.good();
    assert!(scene.accepts(&used).await);
    let altered = scene.good().replace("eyJ", "eyK");
    let (head, signature) =
        { scene.good().rsplit_once('.').map(|(head, rest)| (head.to_owned(), rest.to_owned())).unwrap() };
    let flipped = if signature.starts_with('A') { "B" } else { "A" };
    let wrong = format!("{head}.{flipped}{}", &signature[1..]);
    let suspended = super::builder("suspended").suspended();
    scene.directory.put(super::with_set(suspended, &super::key_set(&[&scene.signer])));
    let mut answers = Vec::new();
    for endpoint in [Endpoint::Token, Endpoint::Revocation, Endpoint::Introspection] {
        for assertion in [
            of("unknown"),
            of(OTHER),
            of("suspended"),
            wrong.clone(),
            altered.clone(),
            used.clone(),
            scene.claiming(json!({"aud": "x"})),
            scene.claiming(json!({"exp": 1})),
            scene.by(&scene.signer.another()),
            "x".to_owned(),
            "a.b.c".to_owned(),
        ] {
            // Nothing in this form has an effect at the other endpoints, so it does not matter there whether it was
            // used.
            if endpoint == Endpoint::Introspection || assertion != used {
                answers.push(scene.post(endpoint, &assertion).send().await);
            }
        }
        assert_eq!(answers[0].status(), 401);
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
        answers.clear();
    }
    assert!(scene.accepts(&scene.good()).await);
}

/// The events state exactly what was wrong, and the client if there is one.
#[tokio::test]
async fn the_event_says_what_was_wrong() {
    let scene = Scene::new().await;
    for (claims, reason) in [
        (json!({"aud": "https://other.example"}), "aud is not the issuer"),
        (json!({"aud": [ISSUER, "x"]}), "aud does not have exactly one value"),
        (json!({"exp": "1999999999"}), "the claim exp has another type"),
        (json!({"iss": OTHER}), "iss is not the client"),
    ] {
        assert!(!scene.accepts(&scene.claiming(claims)).await);
        let event = scene.reason();
        assert!(event.contains(reason) && event.contains("client: Some(\"app\")"), "{event}");
    }
}

/// Asserts which values of `aud` are accepted.
async fn accepted(scene: &Scene, cases: Vec<(Value, bool)>) {
    for (audience, is_accepted) in cases {
        let assertion = scene.claiming(json!({"aud": audience}));
        assert_eq!(scene.accepts(&assertion).await, is_accepted, "{audience}");
    }
}

const TOKEN_URL: &str = "https://auth.example/oauth2/token";

/// Returns values that never name the issuer, in any settings.
fn never() -> Vec<(Value, bool)> {
    [
        json!([ISSUER, TOKEN_URL]),
        json!([ISSUER, ISSUER]),
        json!([]),
        json!([[ISSUER]]),
        json!(""),
        json!({"aud": ISSUER}),
        json!(true),
        json!("https://auth.example/"),
        json!("https://AUTH.example"),
        json!("https://auth.example:443"),
        json!("https://auth%2Eexample"),
        json!("https://auth.example.evil.example"),
        json!("https://auth.exampl"),
        json!("https://auth.example/oauth2/par"),
        json!("https://auth.example/oauth2/revoke"),
        json!("https://auth.example/.well-known/oauth-authorization-server"),
        json!(" https://auth.example"),
    ]
    .map(|audience| (audience, false))
    .to_vec()
}

/// 7523-3-02, FAPI-5.3.2.1-08, NEG-7523-01
#[tokio::test]
async fn the_audience_is_the_issuer() {
    let scene = Scene::new().await;
    assert_eq!(scene.world.server.config().client_authentication.assertion_audience, AssertionAudience::Issuer);
    accepted(
        &scene,
        [vec![(json!(ISSUER), true), (json!([ISSUER]), true), (json!(TOKEN_URL), false)], never()].concat(),
    )
    .await;
    let fapi = Scene::fapi().await;
    assert_eq!(fapi.world.server.config().client_authentication.assertion_audience, AssertionAudience::IssuerString);
    accepted(
        &fapi,
        [vec![(json!(ISSUER), true), (json!([ISSUER]), false), (json!(TOKEN_URL), false)], never()].concat(),
    )
    .await;
}

/// 7523-3-04
#[tokio::test]
async fn the_token_url_is_an_audience_for_old_clients() {
    let scene = Scene::with(|config| config.client_authentication.assertion_audience = AssertionAudience::Legacy).await;
    let good =
        vec![(json!(ISSUER), true), (json!([ISSUER]), true), (json!(TOKEN_URL), true), (json!([TOKEN_URL]), true)];
    accepted(&scene, [good, never()].concat()).await;
    // An assertion of the new type only has the issuer as its audience.
    let new = |audience: &str| {
        scene.changed(|header, claims| {
            header["typ"] = json!("client-authentication+jwt");
            claims["aud"] = json!(audience);
        })
    };
    assert!(!scene.accepts(&new(TOKEN_URL)).await);
    assert!(scene.accepts(&new(ISSUER)).await);
}

/// 7523-3-04, 7523-2.2-02
///
/// The URL of the endpoint for pushed requests is an audience for clients that push.
#[tokio::test]
async fn the_url_for_pushed_requests_is_an_audience_there_alone() {
    let par = "https://auth.example/oauth2/par";
    for (audience, is_accepted) in [(AssertionAudience::Legacy, true), (AssertionAudience::Issuer, false)] {
        let scene = Scene::with(|config| {
            config.pushed_requests.mode = PushedRequests::Optional;
            config.client_authentication.assertion_audience = audience;
        })
        .await;
        let pushed = async |assertion: &str| {
            let form =
                [&[("response_type", "code"), ("client_id", ID), ("redirect_uri", REDIRECT_URI)][..], &PKCE].concat();
            asserted(scene.world.post(Endpoint::PushedAuthorization, &form), assertion).send().await.status()
        };
        assert_eq!(pushed(&scene.good()).await, 201);
        for url in [par, TOKEN_URL] {
            let status = pushed(&scene.claiming(json!({"aud": url}))).await;
            assert_eq!(status, if is_accepted { 201 } else { 401 }, "{url}");
        }
        assert_eq!(pushed(&scene.claiming(json!({"aud": "https://auth.example/oauth2/revoke"}))).await, 401);
        assert!(!scene.accepts(&scene.claiming(json!({"aud": par}))).await);
    }
}

/// 7523-3-04
#[tokio::test]
async fn the_slash_of_an_issuer_counts() {
    let mut config = Config::strict("https://auth.example/tenant/");
    config.client_authentication.methods = grantor::client::AuthenticationMethods::KEY;
    config.client_authentication.assertion_audience = AssertionAudience::Legacy;
    let scene = Scene::built(config, |builder| builder).await;
    for (audience, is_accepted) in [
        ("https://auth.example/tenant/", true),
        ("https://auth.example/tenant", false),
        ("https://auth.example/tenant/oauth2/token", true),
        ("https://auth.example/tenant//oauth2/token", false),
        ("https://auth.example/oauth2/token", false),
    ] {
        assert_eq!(scene.accepts(&scene.claiming(json!({"aud": audience}))).await, is_accepted, "{audience}");
    }
}

/// 8725-3.11-01
#[tokio::test]
async fn another_kind_of_token_is_no_assertion() {
    let scene = Scene::new().await;
    for (typ, is_accepted) in [
        (json!(null), true),
        (json!("JWT"), true),
        (json!("jwt"), true),
        (json!("application/jwt"), true),
        (json!("client-authentication+jwt"), true),
        (json!("Application/Client-Authentication+JWT"), true),
        (json!("dpop+jwt"), false),
        (json!("at+jwt"), false),
        (json!("oauth-authz-req+jwt"), false),
        (json!("secevent+jwt"), false),
        (json!(""), false),
        (json!("application/"), false),
        (json!(7), false),
    ] {
        assert_eq!(scene.accepts(&scene.headed(json!({"typ": typ}))).await, is_accepted, "{typ}");
    }
    // A DPoP proof of the same key, sent as an assertion.
    let proof = scene.signer.proof("POST", TOKEN_URL, scene.now(), |_, claims| {
        super::set(claims, &json!({"iss": ID, "sub": ID, "aud": ISSUER, "exp": scene.now() + 60}));
    });
    assert!(!scene.accepts(&proof).await);
}
