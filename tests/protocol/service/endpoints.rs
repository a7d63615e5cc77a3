//! Sections 4 to 8: the endpoints, what a token may do, and the limits.

use std::time::Duration;

use grantor::application::{Field, Logo, Problem, RegistrationLimits};
use grantor::config::{ExchangeRedirectUri, Profile};
use grantor::scope::ResourceScope;
use grantor::wire::Endpoint;
use grantor::{Config, Consent, Decision};

use crate::service::application::refusals;
use support::world::{
    Credentials, PKCE, PNG, REDIRECT_URI, SCOPES, SESSION, World, code, count, e400, empty, form, logo, ok, page, pair,
    r401, red, text,
};

/// SVC-4.1-01
#[tokio::test]
async fn the_authorization_request_needs_no_more_than_response_type_and_client() {
    let world = World::platform().await;
    let response = world.approve(&format!("response_type=code&client_id={}", world.client.id)).await;
    code(&response);
    assert!(response.header("Location").unwrap().starts_with("https://app.example.com/cb?code="));
}

/// SVC-4.1-02
#[tokio::test]
async fn state_comes_back_byte_for_byte_and_only_when_it_was_sent() {
    let world = World::platform().await;
    let every_byte: Vec<u8> = (0..=255).collect();
    for state in [
        b"a&b".as_slice(),
        b"=",
        b"a+b",
        b"a b",
        b"%",
        b"%41%2B%zz",
        b"\"'`",
        b"<script>alert(1)</script>",
        "na\u{ef}ve \u{1f600}".as_bytes(),
        b"\xff\xfe",
        b"line\r\nSet-Cookie: a=b",
        &"x&".repeat(1024).into_bytes(),
        &every_byte,
    ] {
        let escaped: String = state.iter().map(|byte| format!("%{byte:02x}")).collect();
        let response = world.approve(&format!("{}&state={escaped}", world.query(&[]))).await;
        let given = code(&response);
        assert_eq!(count(&given, "state"), 1);
        assert_eq!(given.iter().find(|(name, _)| name == "state").unwrap().1, state);
        // Every decoder reads a space in the same way, and nothing splits the header.
        let location = response.header("Location").unwrap();
        assert!(location.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'+'), "{location}");
    }
    let plus = code(&world.approve(&format!("{}&state=a+b", world.query(&[]))).await);
    assert_eq!(text(&plus, "state"), "a b");
    for unsent in ["", "&state=", "&state"] {
        let given = code(&world.approve(&format!("{}{unsent}", world.query(&[]))).await);
        assert_eq!(count(&given, "state"), 0, "{unsent}");
    }
}

/// SVC-4.1-03
#[tokio::test]
async fn success_is_302_with_a_location() {
    let world = World::platform().await;
    let response = world.approve(&world.query(&[])).await;
    assert_eq!(response.status(), 302);
    code(&response);
}

/// SVC-4.1-04
#[tokio::test]
async fn the_redirect_uri_keeps_its_own_query() {
    let platform = World::platform().await;
    let strict = World::strict().await;
    for world in [&platform, &strict] {
        for own in ["?x=1", "?x=%7e'&y=a+b", "?x", "?"] {
            let uri = format!("{REDIRECT_URI}{own}");
            let mut form = form();
            form.redirect_uris = vec![uri.clone()];
            let client = world.register(form).await;
            let separator = if own == "?" { "" } else { "&" };
            let expected = format!("{uri}{separator}code=");
            for query in [&PKCE[..], &[PKCE[0], PKCE[1], ("redirect_uri", &uri)]] {
                let response = world.approve(&world.query_of(&client, query)).await;
                code(&response);
                let location = response.header("Location").unwrap();
                assert!(location.starts_with(&expected), "{location}");
            }
        }
    }
    // Under the domain rule the query of the request may differ from the registered one.
    let response = platform.approve(&platform.query(&[("redirect_uri", "https://app.example.com/cb?x=1")])).await;
    assert!(response.header("Location").unwrap().starts_with("https://app.example.com/cb?x=1&code="));
    let denied = platform.query(&[("redirect_uri", "https://app.example.com/cb?x=1"), ("state", "a b&c")]);
    let given = red(&platform.decide(&denied, Decision::Deny).await, "access_denied");
    assert_eq!((text(&given, "x"), text(&given, "state")), ("1".into(), "a b&c".into()));
}

/// SVC-4.1-05
#[tokio::test]
async fn wrong_parameters_show_a_page() {
    let world = World::platform().await;
    let id = &world.client.id;
    for (case, query) in [
        ("unknown client", "response_type=code&client_id=hostile%3Cb%3E".into()),
        ("missing client", "response_type=code&state=hostile%3Cb%3E".into()),
        ("empty client", "response_type=code&client_id=".into()),
        ("other domain", world.query(&[("redirect_uri", "https://hostile.example/cb")])),
        ("subdomain", world.query(&[("redirect_uri", "https://hostile.app.example.com/cb")])),
        ("suffix", world.query(&[("redirect_uri", "https://app.example.com.hostile.example/cb")])),
        ("other scheme", world.query(&[("redirect_uri", "http://app.example.com/cb")])),
        ("missing response type", format!("client_id={id}")),
        ("empty response type", format!("client_id={id}&response_type=")),
        ("token", format!("client_id={id}&response_type=token")),
        ("code token", format!("client_id={id}&response_type=code+token")),
        ("upper case", format!("client_id={id}&response_type=CODE")),
        ("hostile", format!("client_id={id}&response_type=hostile%3Cb%3E")),
    ] {
        for signed_in in [Some(&world.alice), None] {
            let error = world.authorize(&query).await.expect_err(case);
            assert!(!error.needs_sign_in(), "{case}");
            let response = error.response(signed_in);
            page(&response);
            assert!(!String::from_utf8_lossy(response.body()).contains("hostile"), "{case}");
        }
    }
    assert_eq!(world.store.authorization_count().await, 0);
    code(&world.approve(&world.query(&[("redirect_uri", "https://app.example.com/other")])).await);
}

/// SVC-4.1-06
#[tokio::test]
async fn there_is_no_code_before_the_user_has_agreed() {
    let world = World::platform().await;
    let pending = world.authorize(&world.query(&PKCE)).await.unwrap();
    assert_eq!((world.store.authorization_count().await, world.store.grant_count().await), (0, 0));
    assert_eq!((pending.client().name(), pending.scopes().as_str()), ("Example App", SCOPES));

    world.events.take();
    let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    assert!(!world.events.saw("CodeIssued"));
    for guess in [handle.expose().to_owned(), handle.expose().replacen("ah_", "ac_", 1)] {
        e400(&world.exchange(&guess).await, "invalid_grant");
    }
    let denied = world.server.decide(handle.expose(), &world.alice, SESSION, &Decision::Deny).await.unwrap();
    red(&denied, "access_denied");
    assert!(!world.events.saw("CodeIssued"));

    let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    let agreed = Decision::Approve(Consent::to_everything());
    code(&world.server.decide(handle.expose(), &world.alice, SESSION, &agreed).await.unwrap());
    assert!(world.events.saw("CodeIssued"));
}

/// SVC-4.2-01, SVC-4.2-02, SVC-4.3-01
#[tokio::test]
async fn exchange_and_refresh_take_a_form_with_basic_and_answer_alike() {
    let world = World::platform().await;
    let Credentials { id, secret } = world.client.clone();
    let code = world.code_for(&world.query(&[])).await;
    let exchange = world
        .token(&[])
        .raw_body(format!("grant_type=authorization_code&code={code}"))
        .without_header("Content-Type")
        .header("Content-Type", b"application/x-www-form-urlencoded")
        .basic(&id, &secret);
    let exchanged = exchange.send().await;
    let first = pair(&exchanged);
    let refresh = world.token(&[("grant_type", "refresh_token"), ("refresh_token", &first.refresh)]);
    let refreshed = refresh.basic(&id, &secret).send().await;
    let second = pair(&refreshed);
    assert!(second.access != first.access && second.refresh != first.refresh);
    for response in [exchanged, refreshed] {
        let headers = ["Content-Type", "Cache-Control", "Pragma"].map(|name| response.header(name).unwrap().to_owned());
        assert_eq!(headers, ["application/json;charset=UTF-8", "no-store", "no-cache"]);
    }
}

/// SVC-4.2-03
#[tokio::test]
async fn the_exchange_may_leave_the_redirect_uri_out() {
    let world = World::platform().await;
    let strict_rule = World::with(Profile::Platform, |config| {
        config.authorization.exchange_redirect_uri = ExchangeRedirectUri::RequiredWithoutPkce;
    })
    .await;
    let named = ("redirect_uri", REDIRECT_URI);
    let exchange = async |world: &World, code: &str| {
        world.token(&[("grant_type", "authorization_code"), ("code", code)]).client(&world.client).send().await
    };
    ok(&exchange(&world, &world.code_for(&world.query(&[named])).await).await);
    ok(&exchange(&world, &world.code_for(&world.query(&[])).await).await);

    ok(&exchange(&strict_rule, &strict_rule.code_for(&strict_rule.query(&[])).await).await);
    let code = strict_rule.code_for(&strict_rule.query(&[named])).await;
    e400(&exchange(&strict_rule, &code).await, "invalid_grant");
    let form = [("grant_type", "authorization_code"), ("code", &code), named];
    ok(&strict_rule.token(&form).client(&strict_rule.client).send().await);

    // Bound by PKCE, which the strict profile demands of every client.
    let strict = World::strict().await;
    for world in [&strict, &strict_rule] {
        let code = world.code_for(&world.query(&[PKCE[0], PKCE[1], named])).await;
        ok(&world.exchange(&code).await);
    }
}

/// SVC-4.4-01, SVC-4.4-02
#[tokio::test]
async fn either_token_is_revoked_with_basic_or_form_credentials() {
    let world = World::platform().await;
    for by_form in [false, true] {
        let revoke = async |token: &str| {
            let call = world.post(Endpoint::Revocation, &[("token", token)]);
            let call = if by_form { call.form_secret(&world.client) } else { call.client(&world.client) };
            call.send().await
        };
        let pair = world.pair().await;
        assert!(world.opens(&pair.access).await);
        empty(&revoke(&pair.access).await);
        assert!(!world.opens(&pair.access).await);

        let pair = world.pair().await;
        empty(&revoke(&pair.refresh).await);
        e400(&world.refresh(&pair.refresh).await, "invalid_grant");
    }
}

/// SVC-4.4-03
#[tokio::test]
async fn an_unproven_client_is_answered_401_at_revocation() {
    let world = World::platform().await;
    let pair = world.pair().await;
    let call = || world.post(Endpoint::Revocation, &[("token", &pair.access)]);
    let unknown = Credentials { id: "nobody".into(), secret: world.client.secret.clone() };
    let wrong = Credentials { secret: format!("{}x", world.client.secret), ..world.client.clone() };
    for refused in [
        call().client(&unknown),
        call().form_secret(&unknown),
        call(),
        call().field("client_id", &world.client.id),
        call().header("Authorization", format!("Bearer {}", pair.access).as_bytes()),
        call().header("Authorization", b"Digest username=\"app\""),
        call().client(&wrong),
        call().form_secret(&wrong),
    ] {
        r401(&refused.send().await);
    }
    assert!(world.opens(&pair.access).await);
    empty(&call().client(&world.client).send().await);
}

/// SVC-5-01
#[tokio::test]
async fn no_more_scopes_are_granted_than_were_approved() {
    let world = World::platform().await;
    for excess in [
        "repo-delete:rw",
        "account-profile:rw",
        "repo-code:rw repo-security:r",
        "repo-code:rw repo-issue:rw account-profile:rw",
    ] {
        red(&world.refused(&world.query(&[("scope", excess), ("state", "s")])).await, "invalid_scope");
        let consent = Consent::to_everything().scopes(excess.split(' '));
        page(&world.decide(&world.query(&[]), Decision::Approve(consent)).await);
    }
    for granted in ["repo-code:r", "repo-code:rw account-profile:r", SCOPES] {
        let code = world.code_for(&world.query(&[PKCE[0], PKCE[1], ("scope", granted)])).await;
        assert_eq!(pair(&world.exchange(&code).await).scope, granted);
    }
}

/// SVC-5-02
#[tokio::test]
async fn the_resource_side_can_read_the_resource_scope() {
    let world = World::platform().await;
    let listed = ResourceScope::specified(["team/a", "team/b"]).unwrap();
    for (resource_scope, word) in
        [(ResourceScope::All, "all"), (ResourceScope::Public, "public"), (listed, "specified")]
    {
        let mut form = form();
        form.resource_scope = Some(resource_scope.clone());
        let client = world.register(form).await;
        let token = world.pair_of(&client).await.access;
        assert_eq!(world.access(&token).await.unwrap().resource_scope(), resource_scope);
        let body = world.introspect_as(&client, &token).await;
        assert_eq!(body["resource_scope"], word);
        let resources = body.get("resources").map(ToString::to_string);
        assert_eq!(resources.as_deref(), (word == "specified").then_some(r#"["team/a","team/b"]"#));
    }
}

/// SVC-8-01
#[tokio::test]
async fn the_limits_of_the_service_are_the_defaults() {
    let world = World::platform().await;
    let Config { authorization, tokens, refresh, registration, .. } = world.server.config();
    let spans = [authorization.code_lifetime, tokens.access_lifetime, tokens.refresh_lifetime];
    assert_eq!(spans.map(|life| life.as_secs()), [600, 28_800, 15_552_000]);
    let graces = [refresh.access_token_grace, refresh.grace];
    assert_eq!(graces, [Duration::from_secs(300); 2]);
    let RegistrationLimits { name, logo, description, website, .. } = &registration.form;
    assert_eq!([*name, *logo, *description, *website], [50, 1_048_576, 350, 128]);
}

/// SVC-8-01
#[tokio::test]
async fn the_limits_of_the_service_can_be_changed() {
    let world = World::with(Profile::Platform, |config| {
        config.authorization.code_lifetime = Duration::from_secs(60);
        config.tokens.access_lifetime = Duration::from_secs(100);
        config.tokens.refresh_lifetime = Duration::from_secs(1000);
        config.refresh.access_token_grace = Duration::from_secs(10);
        config.refresh.grace = Duration::from_secs(10);
        config.registration.form.name = 11;
        config.registration.form.logo = PNG.len();
        config.registration.form.description = 3;
        config.registration.form.website = 24;
    })
    .await;
    let code = world.code().await;
    world.advance(60);
    e400(&world.exchange(&code).await, "invalid_grant");
    let code = world.code().await;
    world.advance(59);
    let response = world.exchange(&code).await;
    assert_eq!(ok(&response).expires_in, Some(100));

    let first = pair(&response);
    let second = pair(&world.refresh(&first.refresh).await);
    let other = world.pair().await;
    ok(&world.refresh(&other.refresh).await);
    world.advance(9);
    assert!(world.opens(&first.access).await);
    ok(&world.refresh(&other.refresh).await);
    world.advance(1);
    assert!(!world.opens(&first.access).await);
    e400(&world.refresh(&other.refresh).await, "invalid_grant");
    world.advance(89);
    assert!(world.opens(&second.access).await);
    world.advance(1);
    assert!(!world.opens(&second.access).await);
    world.advance(899);
    let third = pair(&world.refresh(&second.refresh).await);
    world.advance(1000);
    e400(&world.refresh(&third.refresh).await, "invalid_grant");

    assert_eq!(refusals(&world, form(), Some(logo())).await, []);
    let mut large = form();
    large.name.push('s');
    large.description = Some("long".into());
    large.website.push('x');
    let larger_logo = Logo::new([PNG, &[0]].concat(), &RegistrationLimits::default()).unwrap();
    assert_eq!(
        refusals(&world, large, Some(larger_logo)).await,
        [
            (Field::Name, Problem::TooManyCharacters { limit: 11 }),
            (Field::Logo, Problem::TooManyBytes { limit: PNG.len() }),
            (Field::Description, Problem::TooManyCharacters { limit: 3 }),
            (Field::Website, Problem::TooManyCharacters { limit: 24 }),
        ]
    );
}
