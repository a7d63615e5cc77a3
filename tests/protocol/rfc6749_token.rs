//! RFC 6749: the exchange of a code (4.1.3, 4.1.4), and the token endpoint's answers (5.1, 5.2).

use std::collections::BTreeSet;
use std::sync::Arc;

use grantor::message::{TokenResponse, TokenType};
use grantor::wire::{Endpoint, Response};
use grantor::{AuthorizationServer, ConfigError, ExchangeRedirectUri, GrantTypes, MemoryStore, Profile};
use time::Duration;

use crate::interleaved::{self, CALLERS};
use crate::world::{
    Credentials, FORM, PKCE, REDIRECT_URI, VERIFIER, World, e400, e401, encode, error_body, form, ok, pair, public_form,
};

/// The redirect URI of a request with a query of its own.
const NAMED: &str = "https://app.example.com/cb/in?one=1&two=%7e";

fn exchange_form(code: &str) -> [(&str, &str); 3] {
    [("grant_type", "authorization_code"), ("code", code), ("code_verifier", VERIFIER)]
}

/// The right shape and nothing else.
const WRONG_VERIFIER: &str = "wrong-wrong-wrong-wrong-wrong-wrong-wrong-w";

async fn exchange_with(world: &World, form: &[(&str, &str)]) -> Response {
    world.token(form).client(&world.client).send().await
}

/// 6749-4.1.3-01
#[tokio::test]
async fn grant_type_and_code_are_required() {
    let world = World::platform().await;
    let code = world.code().await;
    let cases: [&[(&str, &str)]; 6] = [
        &[("code", &code), ("code_verifier", VERIFIER)],
        &[("grant_type", ""), ("code", &code), ("code_verifier", VERIFIER)],
        &[("grant_type", "authorization_code"), ("code_verifier", VERIFIER)],
        &[("grant_type", "authorization_code"), ("code", ""), ("code_verifier", VERIFIER)],
        &[("code_verifier", VERIFIER)],
        &[],
    ];
    for form in cases {
        e400(&exchange_with(&world, form).await, "invalid_request");
    }
    ok(&world.exchange(&code).await);
}

/// 6749-4.1.3-02, SVC-2.2-04, 9700-4.8.2-01, D-06
#[tokio::test]
async fn a_redirect_uri_that_is_sent_is_equal_octet_for_octet() {
    let named = [
        "https://app.example.com/cb/in?one=1&two=%7E",
        "https://app.example.com/cb/in?one=1&two=~",
        "https://app.example.com/cb/in?two=%7e&one=1",
        "https://app.example.com/cb/in/?one=1&two=%7e",
        "https://app.example.com/cb/in?one=1&two=%7e&",
        "https://app.example.com:443/cb/in?one=1&two=%7e",
        "https://APP.example.com/cb/in?one=1&two=%7e",
        "HTTPS://app.example.com/cb/in?one=1&two=%7e",
        "https://app.example.com/cb/In?one=1&two=%7e",
        "https://app.example.com/cb/%69n?one=1&two=%7e",
        "https://app.example.com/cb/in?one=1&two=%7e#",
        " https://app.example.com/cb/in?one=1&two=%7e",
        "https://app.example.com/cb/in",
        REDIRECT_URI,
        "https://other.example/cb/in?one=1&two=%7e",
    ];
    let registered = ["https://app.example.com/cb/", "https://app.example.com/", "https://app.example.com/CB", NAMED];
    let world = World::platform().await;
    for (request, bound, others) in [(Some(NAMED), NAMED, &named[..]), (None, REDIRECT_URI, &registered[..])] {
        let sent = request.map(|uri| ("redirect_uri", uri));
        let code = world.code_for(&world.query(&sent.into_iter().chain(PKCE).collect::<Vec<_>>())).await;
        for other in others {
            let form = [&exchange_form(&code)[..], &[("redirect_uri", *other)]].concat();
            e400(&exchange_with(&world, &form).await, "invalid_grant");
        }
        let form = [&exchange_form(&code)[..], &[("redirect_uri", bound)]].concat();
        ok(&exchange_with(&world, &form).await);
    }
}

/// 6749-4.1.3-02, SVC-4.2-03, 21-10.2-01, D-06
#[tokio::test]
async fn a_redirect_uri_may_be_left_out_where_the_profile_or_pkce_allows_it() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let world = World::with(profile, |_| {}).await;
        for named in [None, Some(("redirect_uri", REDIRECT_URI))] {
            let query = world.query(&named.into_iter().chain(PKCE).collect::<Vec<_>>());
            ok(&exchange_with(&world, &exchange_form(&world.code_for(&query).await)).await);
            let code = world.code_for(&query).await;
            let empty = [&exchange_form(&code)[..], &[("redirect_uri", "")]].concat();
            ok(&exchange_with(&world, &empty).await);
        }
    }
    // § 4.1.3 to the letter: without PKCE, what was named has to be named again.
    for (required, named) in [(false, false), (false, true), (true, false), (true, true)] {
        let world = World::with(Profile::Platform, |config| {
            if required {
                config.exchange_redirect_uri = ExchangeRedirectUri::RequiredWithoutPkce;
            }
        })
        .await;
        let query = if named { world.query(&[("redirect_uri", REDIRECT_URI)]) } else { world.query(&[]) };
        let code = world.code_for(&query).await;
        let without = [("grant_type", "authorization_code"), ("code", &code)];
        if required && named {
            e400(&exchange_with(&world, &without).await, "invalid_grant");
            e400(&exchange_with(&world, &[&without[..], &[("redirect_uri", "")]].concat()).await, "invalid_grant");
            ok(&exchange_with(&world, &[&without[..], &[("redirect_uri", REDIRECT_URI)]].concat()).await);
        } else {
            ok(&exchange_with(&world, &without).await);
        }
    }
}

/// 6749-4.1.3-03, 6749-5.2-02, 6749-5.2-03
#[tokio::test]
async fn a_confidential_client_that_fails_to_authenticate_leaves_the_code_untouched() {
    let world = World::platform().await;
    let wrong = Credentials { secret: "wrong".into(), ..world.client.clone() };
    let no_client = Credentials { id: "nobody".into(), secret: "wrong".into() };
    let code = world.code().await;
    let call = || world.token(&exchange_form(&code));
    let calls = [
        call().basic(&wrong.id, &wrong.secret),
        call().basic(&wrong.id, ""),
        call().basic(&no_client.id, &no_client.secret),
        call().form_secret(&wrong),
        call().form_secret(&no_client),
        call().field("client_id", &world.client.id),
        call(),
    ];
    for call in calls {
        e401(&call.send().await, "invalid_client");
    }
    assert_eq!(world.store.grant_count(), 0);
    ok(&world.exchange(&code).await);
}

/// 6749-4.1.3-04, SVC-2.2-03
#[tokio::test]
async fn a_code_belongs_to_the_client_it_was_issued_to() {
    let world = World::platform().await;
    let others = [world.register(form()).await, world.register(public_form()).await];
    let code = world.code().await;
    for other in &others {
        e400(&world.exchange_as(other, &code).await, "invalid_grant");
    }
    let own = pair(&world.exchange(&code).await);
    for other in &others {
        e400(&world.exchange_as(other, &code).await, "invalid_grant");
    }
    assert!(world.opens(&own.access).await);
}

/// 6749-4.1.3-05, 6749-4.1.2-02, SVC-2.2-02, D-07
#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn one_of_fifty_parallel_exchanges_wins_and_the_replays_take_back_what_it_got() {
    let world = Arc::new(World::platform().await);
    for round in 0..20 {
        let code = world.code().await;
        world.events.take();
        let form = [&exchange_form(&code)[..], &credentials(&world.client)].concat();
        let responses = interleaved::from_threads(&world, &form).await;
        one_winner(&world, &responses).await;
        assert_eq!(world.store.grant_count(), round + 1);
    }
    let mut world = World::platform().await;
    let code = world.code().await;
    world.events.take();
    let responses =
        interleaved::side_by_side(&mut world, Profile::Platform, async |world| world.exchange(&code).await).await;
    one_winner(&world, &responses).await;
}

fn credentials(client: &Credentials) -> [(&str, &str); 2] {
    [("client_id", &client.id), ("client_secret", &client.secret)]
}

async fn one_winner(world: &World, responses: &[Response]) {
    let (winners, losers): (Vec<_>, Vec<_>) = responses.iter().partition(|response| response.status() == 200);
    assert_eq!((winners.len(), losers.len()), (1, CALLERS - 1));
    for loser in losers {
        e400(loser, "invalid_grant");
    }
    let events = world.events.take();
    for (name, count) in [("Exchanged", 1), ("CodeReplayed", 1), ("GrantRevoked", 1)] {
        assert_eq!(events.iter().filter(|event| event.starts_with(name)).count(), count, "{name} in {events:?}");
    }
    let tokens = pair(winners[0]);
    assert!(!world.opens(&tokens.access).await);
    e400(&world.refresh(&tokens.refresh).await, "invalid_grant");
}

/// 6749-4.1.2-02, 21-4.1.3-02, D-07
#[tokio::test]
async fn only_an_otherwise_valid_replay_takes_the_tokens_back() {
    let world = World::platform().await;
    let stranger = world.register(form()).await;
    let code = world.code().await;
    let tokens = pair(&world.exchange(&code).await);
    world.events.take();
    let grant = [("grant_type", "authorization_code"), ("code", &*code)];
    let wrong_verifier = [&grant[..], &[("code_verifier", WRONG_VERIFIER)]].concat();
    let wrong_uri = [&exchange_form(&code)[..], &[("redirect_uri", "https://app.example.com/other")]].concat();
    e400(&exchange_with(&world, &wrong_verifier).await, "invalid_grant");
    e400(&exchange_with(&world, &grant).await, "invalid_grant");
    e400(&exchange_with(&world, &wrong_uri).await, "invalid_grant");
    e400(&world.exchange_as(&stranger, &code).await, "invalid_grant");
    e401(&world.token(&exchange_form(&code)).basic(&world.client.id, "wrong").send().await, "invalid_client");
    assert!(!world.events.saw("GrantRevoked"));
    assert!(world.opens(&tokens.access).await);
    let tokens = [tokens.clone(), pair(&world.refresh(&tokens.refresh).await)];
    world.events.take();

    e400(&world.exchange(&code).await, "invalid_grant");
    assert!(world.events.saw("CodeReplayed"));
    for pair in &tokens {
        assert!(!world.opens(&pair.access).await);
        e400(&world.refresh(&pair.refresh).await, "invalid_grant");
    }
    world.events.take();
    e400(&world.exchange(&code).await, "invalid_grant");
    assert!(!world.events.saw("CodeReplayed"), "what is revoked is not revoked again");
}

/// 6749-4.1.2-02, SVC-2.2-01, D-07
#[tokio::test]
async fn a_replay_is_noticed_until_an_hour_after_the_end_of_the_code() {
    // The memory store removes it an hour after the end of the hold that it began as.
    for (age, noticed) in [(599, true), (600, true), (4199, true), (5400, false)] {
        let world = World::platform().await;
        let code = world.code().await;
        let tokens = pair(&world.exchange(&code).await);
        world.advance(age);
        let purge = world.server.purge_expired(usize::MAX).await.unwrap();
        assert!(purge.is_finished());
        e400(&world.exchange(&code).await, "invalid_grant");
        assert_eq!(world.events.saw("CodeReplayed"), noticed, "after {age} s");
        assert_eq!(world.opens(&tokens.access).await, !noticed, "after {age} s");
    }
    for (age, good) in [(599, true), (600, false), (601, false)] {
        let world = World::platform().await;
        let code = world.code().await;
        world.advance(age);
        world.events.take();
        let response = world.exchange(&code).await;
        assert_eq!(response.status(), if good { 200 } else { 400 }, "after {age} s");
        assert_eq!(world.store.grant_count(), usize::from(good), "after {age} s");
        assert!(!world.events.saw("CodeReplayed"), "after {age} s");
    }
}

/// 6749-4.1.4-01, 6749-5.1-01, 6749-5.1-02, SVC-2.3-02, SVC-2.3-03, SVC-4.2-02, D-09, D-10, D-19
#[tokio::test]
async fn the_octets_of_an_answer_are_those_of_the_typed_message() {
    let world = World::platform().await;
    let mut no_refresh = form();
    no_refresh.grant_types = GrantTypes::CODE_ONLY;
    let no_refresh = world.register(no_refresh).await;
    let first = world.exchange(&world.code().await).await;
    let refreshed = world.refresh(&pair(&first).refresh).await;
    let narrowed = world
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
        (narrowed, true, "repo-code:r account-profile:r"),
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

/// D-10
#[test]
fn a_token_type_is_read_in_any_case() {
    for (text, token_type) in [("Bearer", TokenType::Bearer), ("bEARER", TokenType::Bearer), ("MAC", TokenType::Mac)] {
        let json = format!("{{\"access_token\":\"a\",\"token_type\":\"{text}\"}}");
        let read: TokenResponse = serde_json::from_str(&json).unwrap();
        assert_eq!(read.token_type, token_type, "{text}");
    }
}

/// 6749-5.1-03, 6749-10.10-01, 6749-A-07
#[tokio::test]
async fn tokens_have_constant_sizes_and_are_all_distinct() {
    let store = MemoryStore::new();
    let world = World::built(|_| {
        // The system's generator, as a deployment has it.
        AuthorizationServer::builder(store.clone()).issuer("https://auth.example")
    })
    .await;
    let mut secrets = BTreeSet::new();
    let mut tokens = world.pair().await;
    for round in 0..1000 {
        for (token, prefix, length) in [(&tokens.access, "at_", 68), (&tokens.refresh, "rt_", 105)] {
            assert_eq!(token.len(), length, "{round}");
            let secret = token.strip_prefix(prefix).unwrap();
            assert!(secret.bytes().all(|octet| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_')));
            // The part that is random in every token: the 43 characters before a check, if any.
            assert!(secrets.insert(token.as_bytes()[token.len() - 43..].to_vec()), "{round}");
        }
        tokens = if round % 100 == 99 { world.pair().await } else { pair(&world.refresh(&tokens.refresh).await) };
    }
    for round in 0..100 {
        let code = world.code().await;
        assert_eq!(code.len(), 68, "{round}");
        assert!(secrets.insert(code.as_bytes()[code.len() - 43..].to_vec()), "{round}");
    }
    // Every character of the alphabet turns up in every place but the narrower last one.
    for place in 0..42 {
        let seen: BTreeSet<_> = secrets.iter().map(|secret| secret[place]).collect();
        assert!(seen.len() > 60, "{} characters in place {place}", seen.len());
    }
}

/// SVC-8-01, SVC-2.3-04, D-19
#[tokio::test]
async fn lifetimes_are_those_of_the_service_and_may_be_ended_for_a_whole_grant() {
    let world = World::platform().await;
    let config = world.server.config();
    assert_eq!(config.code_lifetime, Duration::seconds(600));
    assert_eq!(config.access_token_lifetime, Duration::seconds(28_800));
    assert_eq!(config.refresh_token_lifetime, Duration::seconds(15_552_000));
    let too_long = AuthorizationServer::builder(MemoryStore::new())
        .configure(|config| config.code_lifetime = Duration::seconds(601))
        .build();
    assert_eq!(too_long.unwrap_err(), ConfigError::CodeLifetime);

    // Each refresh token has its own 180 days.
    let mut tokens = world.pair().await;
    for _ in 0..3 {
        world.advance(15_551_999);
        tokens = pair(&world.refresh(&tokens.refresh).await);
    }
    world.advance(15_552_000);
    e400(&world.refresh(&tokens.refresh).await, "invalid_grant");

    // Unless the grant as a whole ends before.
    let world = World::with(Profile::Platform, |config| config.grant_lifetime = Some(Duration::seconds(30_000))).await;
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
        "\u{7}",
        "\u{e9}",
    ];
    for grant_type in grant_types {
        let form = [("grant_type", grant_type), ("code", &code), ("code_verifier", VERIFIER)];
        e400(&exchange_with(&world, &form).await, "unsupported_grant_type");
        e400(&exchange_with(&world, &[("grant_type", grant_type)]).await, "unsupported_grant_type");
    }
    ok(&world.exchange(&code).await);
}

/// 6749-5.2-01, 6749-5.2-04, D-16
#[tokio::test]
async fn missing_repeated_and_malformed_parameters_are_an_invalid_request() {
    let world = World::platform().await;
    let code = world.code().await;
    let good = encode(&exchange_form(&code));
    let call = || world.token(&[]).client(&world.client);
    let bodies = [
        String::new(),
        format!("{good}&code={code}"),
        format!("{good}&code="),
        format!("{good}&grant_type=authorization_code"),
        format!("{good}&code_verifier"),
        format!("{good}&redirect_uri=a&redirect_uri=a"),
        format!("{good}&scope=&scope="),
        format!("{good}&refresh_token=a&refresh_token=b"),
        format!("{good}&client_id=&client_id="),
        format!("{good}&x=%zz"),
        format!("{good}&x=%f"),
        format!("{good}&scope=%ff"),
        format!("{good}&client_secret={}", world.client.secret),
        format!("{good}&client_id=other"),
    ];
    for body in bodies {
        let response = call().raw_body(body.clone()).send().await;
        assert_eq!(response.status(), 400, "{body}");
        e400(&response, "invalid_request");
        let json: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
        assert_eq!(json.as_object().unwrap().len(), 2, "no error_uri unless configured");
        for own in [&code, &world.client.id, &world.client.secret] {
            assert!(!String::from_utf8_lossy(response.body()).contains(own.as_str()), "{body} is shown");
        }
    }
    let two_lines = call().raw_body(good.clone()).basic(&world.client.id, &world.client.secret);
    e400(&two_lines.send().await, "invalid_request");
    ok(&call().raw_body(good).send().await);
}

/// D-16, 6749-A-05
#[tokio::test]
async fn an_error_names_its_page_only_if_one_is_configured() {
    let page = "https://auth.example/errors";
    let world = World::with(Profile::Platform, |config| config.error_uri = Some(page.into())).await;
    let responses = [
        exchange_with(&world, &[]).await,
        world.exchange("ac_unknown").await,
        world.token(&[]).send().await,
        world.post(Endpoint::Revocation, &[]).send().await,
    ];
    for response in &responses {
        let json: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
        assert_eq!(json["error_uri"], page);
        assert!(json["error_description"].is_string());
    }
    // What the described service shows for its revocation endpoint.
    assert_eq!(responses[3].header("Content-Type"), Some("application/json"));
    assert_eq!(responses[2].header("Content-Type"), Some("application/json;charset=UTF-8"));
}

/// 6749-5.2-05
#[tokio::test]
async fn a_grant_that_is_not_good_is_an_invalid_grant() {
    let world = World::platform().await;
    let other = world.register(form()).await;
    let tokens = world.pair().await;
    let revoked = world.pair().await;
    world.revoke(&revoked.refresh).await;
    let spent = world.code().await;
    ok(&world.exchange(&spent).await);
    let withdrawn = world.code().await;
    world.server.revoke_subject(&world.alice).await.unwrap();
    let live = world.pair().await;
    let code = world.code().await;
    for code in
        ["x", "ac_", "ac_x", "\u{e9}\0\"", &"ac_A".repeat(100), &tokens.access, &tokens.refresh, &spent, &withdrawn]
    {
        e400(&world.exchange(code).await, "invalid_grant");
    }
    for token in ["x", "rt_", "rt_x", "\u{e9}\0\"", &tokens.refresh, &revoked.refresh, &live.access, &code] {
        e400(&world.refresh(token).await, "invalid_grant");
    }
    e400(&world.exchange_as(&other, &code).await, "invalid_grant");
    e400(&world.refresh_as(&other, &live.refresh).await, "invalid_grant");
    let live = pair(&world.refresh(&live.refresh).await);
    world.advance(600);
    e400(&world.exchange(&code).await, "invalid_grant");
    world.advance(15_552_000 - 600);
    e400(&world.refresh(&live.refresh).await, "invalid_grant");
}

/// 6749-5.2-06
#[tokio::test]
async fn a_client_that_may_not_use_a_grant_type_is_unauthorized() {
    let world = World::platform().await;
    let register = async |grant_types| {
        let mut form = form();
        form.grant_types = grant_types;
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

/// 6749-5.2-07
#[tokio::test]
async fn a_scope_beyond_the_grant_is_an_invalid_scope() {
    let world = World::platform().await;
    let tokens = world.pair().await;
    let call = |scope| {
        let form = [("grant_type", "refresh_token"), ("refresh_token", &*tokens.refresh), ("scope", scope)];
        world.token(&form).client(&world.client)
    };
    world.events.take();
    for scope in
        ["repo-pr:r", "account-profile:rw", "nothing:r", "repo-code:r,repo-issue:r", "repo-code:r  repo-issue:r"]
    {
        e400(&call(scope).send().await, "invalid_scope");
    }
    assert!(!world.events.saw("Refreshed"));
    ok(&call("repo-code:r").send().await);
}

/// 6749-5.2-08, D-23
#[tokio::test]
async fn the_first_failing_check_decides() {
    let world = World::platform().await;
    let client = &world.client;
    let call = || world.token(&[]);
    let body = |body: &str| call().raw_body(body);
    // Each case has its own fault and all that a later case has.
    let cases = [
        ("method", body("%zz").method("GET").header("Content-Type", b"text/plain"), 405, "invalid_request"),
        ("media type", body("%zz").without_header("Content-Type"), 400, "the body has to be"),
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

/// 6749-5.2-08, 6749-5.2-02, HTTP-01
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
    assert_eq!(answers.len(), 1, "the same answer whatever was asked");
    let huge = world.token(&[("x", &"x".repeat(16_384))]).header("Content-Type", FORM.as_bytes()).send().await;
    assert_eq!(huge.status(), 413);
    error_body(&huge, "invalid_request");
}

/// 6749-5.2-09
#[tokio::test]
async fn a_stranger_learns_nothing_about_a_grant() {
    let world = World::platform().await;
    let stranger = world.register(form()).await;
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
                let response = world.token(&form).client(&stranger).send().await;
                e400(&response, "invalid_grant");
                answers[0].insert(response.into_body());
            }
            for scope in ["", "repo-code:r", "nothing"] {
                let form = [("grant_type", "refresh_token"), ("refresh_token", &**token), ("scope", scope)];
                let response = world.token(&form).client(&stranger).send().await;
                e400(&response, "invalid_grant");
                answers[1].insert(response.into_body());
            }
        }
    }
    assert_eq!(answers.map(|answers| answers.len()), [1, 1]);
    assert!(!world.events.saw("RefreshTokenReused"));
    ok(&world.refresh(&tokens.refresh).await);
}

/// 6749-10.3-01
#[tokio::test]
async fn a_token_with_another_character_is_refused() {
    let world = World::platform().await;
    let code = world.code().await;
    let tokens = world.pair().await;
    for position in [0, 3, 10, 24, 25, 40, 67] {
        e400(&world.exchange(&altered(&code, position)).await, "invalid_grant");
        assert!(!world.opens(&altered(&tokens.access, position)).await, "access token, {position}");
        e400(&world.refresh(&altered(&tokens.refresh, position)).await, "invalid_grant");
    }
    e400(&world.refresh(&altered(&tokens.refresh, 104)).await, "invalid_grant");
    assert!(world.opens(&tokens.access).await);
    ok(&world.exchange(&code).await);
    ok(&world.refresh(&tokens.refresh).await);
}

fn altered(text: &str, position: usize) -> String {
    let mut octets = text.as_bytes().to_vec();
    octets[position] = if octets[position] == b'A' { b'B' } else { b'A' };
    String::from_utf8(octets).unwrap()
}
