//! RFC 6749 sections 5.1 and 5.2: the responses of the token endpoint.

use std::collections::BTreeSet;
use std::time::Duration;

use grantor::client::GrantTypes;
use grantor::config::Profile;
use grantor::wire::message::TokenType;
use grantor::{AuthorizationServer, Config, MemoryStore};

use crate::rfc6749_token::{exchange_form, exchange_with};
use support::world::{FORM, ISSUER, PKCE, VERIFIER, With as _, World, e400, e401, encode, error_body, form, ok, pair};

/// 6749-4.1.4-01, 6749-5.1-01, 6749-5.1-02, SVC-2.3-02, SVC-2.3-03, SVC-4.2-02, D-09, D-10, D-19, SVC-2.3-05,
/// 6749-A-08, SVC-4.2-01, SVC-4.3-01
#[tokio::test]
async fn the_bytes_of_an_answer_are_those_of_the_typed_message() {
    let world = World::platform().await;
    let no_refresh = world.register(form().with(|form| form.grant_types = GrantTypes::CODE_ONLY)).await;
    let first = world.exchange(&world.code().await).await;
    let refreshed = world.refresh(&pair(&first).refresh).await;
    let reduced = world
        .token(&[("grant_type", "refresh_token"), ("refresh_token", &pair(&refreshed).refresh)])
        .field("scope", "account-profile:r repo-code:r")
        .client(&world.client)
        .send()
        .await;
    let code = world.code_for(&world.query_of(&no_refresh, &PKCE)).await;
    let alone = world.exchange_as(&no_refresh, &code).await;
    let all = "repo-code:rw repo-issue:rw account-profile:r";
    let cases = [
        (first, true, all),
        (refreshed, true, all),
        (reduced, true, "repo-code:r account-profile:r"),
        (alone, false, all),
    ];
    for (response, has_refresh_token, scope) in cases {
        let token = ok(&response);
        assert_eq!(serde_json::to_vec(&token).unwrap(), response.body());
        assert_eq!(token.token_type, TokenType::Bearer);
        let json: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
        assert_eq!(json["token_type"], "bearer");
        assert_eq!(json["expires_in"].as_u64(), Some(28_800));
        assert_eq!(json["scope"], scope);
        assert_eq!(json.get("refresh_token").is_some(), has_refresh_token, "{json}");
        assert!(json.as_object().unwrap().values().all(|value| !value.is_null()), "{json}");
        assert_eq!(json.as_object().unwrap().len(), if has_refresh_token { 5 } else { 4 });
    }
}

/// 6749-5.1-03, 6749-10.10-01, 6749-A-07
#[tokio::test]
async fn tokens_have_constant_sizes_and_are_all_distinct() {
    let store = MemoryStore::new();
    let world = World::built(Config::platform(ISSUER), |_| {
        // The random generator of the system, as in a deployment.
        AuthorizationServer::builder(Config::platform(ISSUER), store.clone())
    })
    .await;
    let mut secrets = BTreeSet::new();
    let mut tokens = world.pair().await;
    for round in 0..1000 {
        for (token, prefix, length) in [(&tokens.access, "at_", 68), (&tokens.refresh, "rt_", 113)] {
            assert_eq!(token.len(), length, "{round}");
            let secret = token.strip_prefix(prefix).unwrap();
            assert!(secret.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')));
            // The part that differs in every token: a secret, or the end of one and its tag.
            assert!(secrets.insert(token.as_bytes()[token.len() - 43..].to_vec()), "{round}");
        }
        // No more pairs than a grant may have in grace.
        tokens = if round % 50 == 49 { world.pair().await } else { pair(&world.refresh(&tokens.refresh).await) };
    }
    for round in 0..100 {
        let code = world.code().await;
        assert_eq!(code.len(), 68, "{round}");
        assert!(secrets.insert(code.as_bytes()[code.len() - 43..].to_vec()), "{round}");
    }
    // Nearly every character of the alphabet occurs in every place except the last one, which has fewer bits.
    for place in 0..42 {
        let seen: BTreeSet<_> = secrets.iter().map(|secret| secret[place]).collect();
        assert!(seen.len() > 60, "{} characters in place {place}", seen.len());
    }
}

/// SVC-8-01, SVC-2.3-04, D-19, 9700-4.14.2-03
#[tokio::test]
async fn lifetimes_are_those_of_the_service_and_may_be_ended_for_a_whole_grant() {
    let world = World::platform().await;
    let config = world.server.config();
    assert_eq!(config.authorization.code_lifetime, Duration::from_secs(600));
    assert_eq!(config.tokens.access_lifetime, Duration::from_secs(28_800));
    assert_eq!(config.tokens.refresh_lifetime, Duration::from_secs(15_552_000));
    let mut too_long = config.clone();
    too_long.authorization.code_lifetime = Duration::from_secs(601);
    let error = AuthorizationServer::new(too_long, MemoryStore::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "authorization.code_lifetime is 601 s; at most 600 s is accepted (RFC 6749 section 4.1.2)"
    );

    // Each refresh token has its own 180 days.
    let mut tokens = world.pair().await;
    for _ in 0..3 {
        world.advance(15_551_999);
        tokens = pair(&world.refresh(&tokens.refresh).await);
    }
    world.advance(15_552_000);
    e400(&world.refresh(&tokens.refresh).await, "invalid_grant");

    // Unless the grant as a whole expires earlier.
    let world =
        World::with(Profile::Platform, |config| config.tokens.grant_lifetime = Some(Duration::from_secs(30_000))).await;
    let first = world.pair().await;
    world.advance(20_000);
    let second = ok(&world.refresh(&first.refresh).await);
    assert_eq!(second.expires_in, Some(10_000));
    world.advance(9_999);
    let access = second.access_token.expose();
    assert!(world.opens(access).await);
    let third = ok(&world.refresh(second.refresh_token.as_ref().unwrap().expose()).await);
    assert_eq!(third.expires_in, Some(1));
    world.advance(1);
    assert!(!world.opens(third.access_token.expose()).await && !world.opens(access).await);
    e400(&world.refresh(third.refresh_token.as_ref().unwrap().expose()).await, "invalid_grant");
}

/// 6749-4.5-01, 6749-A-06, 9700-2.4-01
#[tokio::test]
async fn an_unknown_grant_type_is_unsupported() {
    let world = World::platform().await;
    let code = world.code().await;
    let grant_types = [
        "password",
        "client_credentials",
        "implicit",
        "urn:ietf:params:oauth:grant-type:device_code",
        "urn:ietf:params:oauth:grant-type:jwt-bearer",
        "https://auth.example/grant",
        "AUTHORIZATION_CODE",
        "Authorization_code",
        "REFRESH_TOKEN",
        "authorization code",
        "authorization_code ",
        "authorization_code\0",
        "authorization_code\r\n",
        "authorization-code",
        "::",
        " ",
        "\u{7}",
        "\u{e9}",
    ];
    for grant_type in grant_types {
        let form = [("grant_type", grant_type), ("code", &code), ("code_verifier", VERIFIER)];
        e400(&exchange_with(&world, &form).await, "unsupported_grant_type");
        e400(&exchange_with(&world, &[("grant_type", grant_type)]).await, "unsupported_grant_type");
    }
    ok(&world.exchange(&code).await);
    for world in [World::platform().await, World::strict().await, World::mcp().await] {
        let form = [("grant_type", "password"), ("username", "alice"), ("password", "x")];
        e400(&world.token(&form).client(&world.client).send().await, "unsupported_grant_type");
        let metadata = crate::rfc8414::metadata(&world).await;
        assert_eq!(metadata["grant_types_supported"], serde_json::json!(["authorization_code", "refresh_token"]));
    }
}

/// 6749-5.2-06, CVE-2026-75866
#[tokio::test]
async fn a_client_that_may_not_use_a_grant_type_is_unauthorized() {
    let world = World::platform().await;
    let register = async |grant_types| {
        let form = form().with(|form| form.grant_types = grant_types);
        world.register(form).await
    };
    let code_only = register(GrantTypes::CODE_ONLY).await;
    let none = register(GrantTypes::NONE).await;
    let tokens = world.pair().await;
    let code = world.code().await;
    for token in [&*tokens.refresh, "rt_x"] {
        e400(&world.refresh_as(&code_only, token).await, "unauthorized_client");
        e400(&world.refresh_as(&none, token).await, "unauthorized_client");
    }
    e400(&world.exchange_as(&none, &code).await, "unauthorized_client");
    let own = world.code_for(&world.query_of(&code_only, &PKCE)).await;
    assert_eq!(pair(&world.exchange_as(&code_only, &own).await).refresh, "");
    ok(&world.exchange(&code).await);
    ok(&world.refresh(&tokens.refresh).await);
}

/// 6749-5.2-08, D-23, 6749-6-01, 6749-4.1.3-01
#[tokio::test]
async fn the_first_failing_check_decides() {
    let world = World::platform().await;
    let client = &world.client;
    let call = || world.token(&[]);
    let body = |body: &str| call().raw_body(body);
    // Each case has its own fault and the faults of all later cases.
    let cases = [
        ("method", body("%zz").method("GET").header("Content-Type", b"text/plain"), 405, "invalid_request"),
        ("media type", body("%zz").without_header("Content-Type"), 400, "the body must be"),
        ("malformed body", body("%zz&code=1&code=1&client_secret=x").basic("x", "x"), 400, "malformed"),
        ("repeat", body("code=1&code=1&client_secret=x").basic("x", "x"), 400, "twice"),
        ("two credentials", body("client_secret=x&client_id=x").basic("x", "x"), 400, "more than one"),
        ("two clients", body("client_id=y").basic("x", "x"), 400, "differs"),
        ("authentication", body("grant_type=nothing").basic(&client.id, "x"), 401, "authentication"),
        ("no grant type", body("scope=x").basic(&client.id, &client.secret), 400, "grant_type is missing"),
        ("grant type", body("grant_type=x&scope=x").basic(&client.id, &client.secret), 400, "is not supported"),
        ("no code", body("grant_type=authorization_code&scope=x").client(client), 400, "code is missing"),
        ("no token", body("grant_type=refresh_token&scope=x").client(client), 400, "refresh_token is missing"),
        ("token", body("grant_type=refresh_token&refresh_token=x&scope=x").client(client), 400, "token is not valid"),
    ];
    for (name, call, status, text) in cases {
        let response = call.send().await;
        assert_eq!(response.status(), status, "{name}");
        let shown = String::from_utf8_lossy(response.body()).into_owned();
        assert!(shown.contains(text), "{name}: {shown}");
        assert_eq!(response.header("Cache-Control"), Some("no-store"), "{name}");
        assert_eq!(response.header("Allow"), (status == 405).then_some("POST"), "{name}");
    }
    let live = world.pair().await;
    let form = [("grant_type", "refresh_token"), ("refresh_token", &*live.refresh), ("scope", "x")];
    e400(&exchange_with(&world, &form).await, "invalid_scope");
}

/// 6749-5.2-08, 6749-5.2-02, HTTP-01, 6749-6-05, 6749-4.1.3-03, 6749-5.2-03, CVE-2026-53512
#[tokio::test]
async fn authentication_comes_before_anything_about_the_grant() {
    let world = World::platform().await;
    let code = world.code().await;
    let tokens = world.pair().await;
    let bodies = [
        encode(&exchange_form(&code)),
        encode(&exchange_form("ac_x")),
        encode(&[("grant_type", "refresh_token"), ("refresh_token", &tokens.refresh)]),
        encode(&[("grant_type", "refresh_token"), ("refresh_token", "rt_x")]),
        encode(&[("grant_type", "password")]),
        encode(&[("grant_type", "authorization_code")]),
        String::new(),
    ];
    let mut answers = BTreeSet::new();
    for body in bodies {
        for id in [&*world.client.id, "nobody"] {
            let response = world.token(&[]).raw_body(body.clone()).basic(id, "wrong").send().await;
            e401(&response, "invalid_client");
            answers.insert(response.into_body());
        }
    }
    assert_eq!(answers.len(), 1, "the response is always the same");
    assert_eq!(world.store.grant_count().await, 1);
    ok(&world.exchange(&code).await);
    ok(&world.refresh(&tokens.refresh).await);
    let huge = world.token(&[("x", &"x".repeat(16_384))]).header("Content-Type", FORM.as_bytes()).send().await;
    assert_eq!(huge.status(), 413);
    error_body(&huge, "invalid_request");
}

/// 6749-5.2-09
#[tokio::test]
async fn a_stranger_learns_nothing_about_a_grant() {
    let world = World::platform().await;
    let other = world.register(form()).await;
    let live = world.code().await;
    let spent = world.code().await;
    let tokens = pair(&world.exchange(&spent).await);
    let replayed = world.code().await;
    ok(&world.exchange(&replayed).await);
    e400(&world.exchange(&replayed).await, "invalid_grant");
    let revoked = world.pair().await;
    world.revoke(&revoked.refresh).await;
    let superseded = world.pair().await;
    ok(&world.refresh(&superseded.refresh).await);
    world.advance(300);
    let codes = ["ac_x", &live, &spent, &replayed].map(str::to_owned);
    let refresh_tokens = ["rt_x", &tokens.refresh, &revoked.refresh, &superseded.refresh].map(str::to_owned);
    let mut answers = [BTreeSet::new(), BTreeSet::new()];
    for seconds in [0, 60, 300] {
        world.advance(seconds);
        for (code, token) in codes.iter().zip(&refresh_tokens) {
            for more in [&[][..], &[("code_verifier", VERIFIER)], &[("redirect_uri", "https://x.example/")]] {
                let form = [&[("grant_type", "authorization_code"), ("code", &**code)][..], more].concat();
                let response = world.token(&form).client(&other).send().await;
                e400(&response, "invalid_grant");
                answers[0].insert(response.into_body());
            }
            for scope in ["", "repo-code:r", "nothing"] {
                let form = [("grant_type", "refresh_token"), ("refresh_token", &**token), ("scope", scope)];
                let response = world.token(&form).client(&other).send().await;
                e400(&response, "invalid_grant");
                answers[1].insert(response.into_body());
            }
        }
    }
    assert_eq!(answers.map(|answers| answers.len()), [1, 1]);
    assert!(!world.events.saw("RefreshTokenReused"));
    ok(&world.refresh(&tokens.refresh).await);
}
