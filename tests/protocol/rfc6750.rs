//! RFC 6750: the bearer token at a resource.

use grantor::config::Profile;
use grantor::scope::{Permission, Resource, ResourceScope};
use grantor::wire::{Body, Request};
use grantor::{Authenticated, ResourceError, Timestamp};

use support::world::{FORM, PKCE, START, World, empty, encode, is_error_character, ok, pair, wa};

async fn with_header(world: &World, header: &[u8]) -> Result<Authenticated, ResourceError> {
    world.server.resource().authenticate(&Request::new("GET").header("Authorization", header)).await
}

fn form_request(form: &str) -> Request<'_> {
    Request::new("POST").header("Content-Type", FORM.as_bytes()).body(Body::Bytes(form.as_bytes()))
}

/// The challenge without error that a request without credentials gets.
#[track_caller]
fn no_credentials(outcome: Result<Authenticated, ResourceError>, case: &str) {
    let response = outcome.expect_err(case).into_response();
    assert_eq!(response.status(), 401, "{case}");
    assert_eq!(response.header("WWW-Authenticate"), Some("Bearer realm=\"https://auth.example\""), "{case}");
    assert_eq!(response.header("Cache-Control"), Some("no-store"), "{case}");
    assert_eq!(response.body(), b"", "{case}");
}

/// Parses the attributes of a challenge; panics unless all of it parses.
#[track_caller]
fn attributes(challenge: &str) -> Vec<(String, String)> {
    let mut rest = challenge.strip_prefix("Bearer ").expect("the scheme");
    let mut attributes = Vec::new();
    loop {
        let (name, quoted) = rest.split_once("=\"").expect("a name and a quoted value");
        let (value, after) = quoted.split_once('"').expect("the closing quote");
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{challenge}");
        assert!(value.bytes().all(is_error_character), "{challenge}");
        attributes.push((name.to_owned(), value.to_owned()));
        match after.strip_prefix(", ") {
            Some(more) => rest = more,
            None => {
                assert_eq!(after, "", "{challenge}");
                return attributes;
            }
        }
    }
}

/// 6750-2.1-01
#[tokio::test]
async fn the_scheme_is_read_in_any_case() {
    let world = World::platform().await;
    let token = world.pair().await.access;
    for scheme in ["Bearer", "bearer", "BEARER", "bEARER", "Bearer  "] {
        let header = format!("{scheme} {token}");
        let authenticated = with_header(&world, header.as_bytes()).await.expect(scheme);
        assert_eq!(authenticated.subject(), Some(&world.alice), "{scheme}");
    }
    no_credentials(with_header(&world, format!("Bear {token}").as_bytes()).await, "another scheme");
    no_credentials(with_header(&world, token.as_bytes()).await, "no scheme");
}

/// 6750-2.1-02
#[tokio::test]
async fn credentials_are_exactly_one_token_of_the_allowed_characters() {
    let world = World::platform().await;
    let token = world.pair().await.access;
    for credentials in ["", " ", "  ", "\t"] {
        let outcome = with_header(&world, format!("Bearer{credentials}").as_bytes()).await;
        wa(outcome.expect_err("the header has no token"), 400, "invalid_request");
    }
    for credentials in [format!("{token} {token}"), format!("{token}\tx"), format!("x {token}"), "a  b".into()] {
        let outcome = with_header(&world, format!("Bearer {credentials}").as_bytes()).await;
        wa(outcome.expect_err(&credentials), 400, "invalid_request");
    }
    let altered = ["!", "\"", ",", "%", "\u{e9}", "\0"].map(|character| format!("{token}{character}"));
    let allowed = ["a-._~+/", "a==", "A9"].map(str::to_owned);
    for credentials in altered.iter().chain(&allowed) {
        let outcome = with_header(&world, format!("Bearer {credentials}").as_bytes()).await;
        wa(outcome.expect_err(credentials), 401, "invalid_token");
    }
    wa(with_header(&world, b"Bearer \xff\xfe").await.expect_err("no UTF-8"), 401, "invalid_token");
    assert!(world.opens(&token).await);
}

/// 6750-2.2-01
/// If it is switched on, it is read from single-part forms, and not from GET requests.
#[tokio::test]
async fn the_form_body_is_read_only_where_it_is_switched_on() {
    let off = World::platform().await;
    let on = World::with(Profile::Platform, |config| config.bearer_in_body = true).await;
    for (world, is_on) in [(off, false), (on, true)] {
        let token = world.pair().await.access;
        let form = encode(&[("name", "x"), ("access_token", &token)]);
        for method in ["POST", "PUT"] {
            let request = Request::new(method).header("Content-Type", FORM.as_bytes());
            let outcome = world.server.resource().authenticate(&request.body(Body::Bytes(form.as_bytes()))).await;
            assert_eq!(outcome.is_ok(), is_on, "{method}");
        }
        let get = Request::new("GET").header("Content-Type", FORM.as_bytes()).body(Body::Bytes(form.as_bytes()));
        no_credentials(world.server.resource().authenticate(&get).await, "GET");
        for media_type in ["multipart/form-data; boundary=x", "application/json", "text/plain"] {
            let request = Request::new("POST").header("Content-Type", media_type.as_bytes());
            let outcome = world.server.resource().authenticate(&request.body(Body::Bytes(form.as_bytes()))).await;
            no_credentials(outcome, media_type);
        }
        no_credentials(world.server.resource().authenticate(&form_request("access_token=")).await, "an empty one");
        let foreign = form_request("name=%zz&access_token=x");
        no_credentials(world.server.resource().authenticate(&foreign).await, "a body that is no form of this server");
        assert!(world.opens(&token).await);
    }
}

/// 6750-2.3-01, 21-5.1-01
#[tokio::test]
async fn a_token_in_the_query_is_no_credential() {
    for body_way in [false, true] {
        let world = World::with(Profile::Platform, |config| config.bearer_in_body = body_way).await;
        let token = world.pair().await.access;
        let query = encode(&[("access_token", &token)]);
        for method in ["GET", "POST"] {
            let request = Request::new(method).query(query.as_bytes());
            no_credentials(world.server.resource().authenticate(&request).await, method);
        }
        let header = format!("Bearer {token}");
        let both = Request::new("GET").query(query.as_bytes()).header("Authorization", header.as_bytes());
        assert!(world.server.resource().authenticate(&both).await.is_ok(), "the header counts, the query does not");
    }
}

/// 6750-2-01
#[tokio::test]
async fn a_token_is_sent_in_one_way_only() {
    let world = World::with(Profile::Platform, |config| config.bearer_in_body = true).await;
    let token = world.pair().await.access;
    let header = format!("Bearer {token}");
    let form = encode(&[("access_token", &token)]);
    let both = form_request(&form).header("Authorization", header.as_bytes());
    wa(world.server.resource().authenticate(&both).await.expect_err("header and body"), 400, "invalid_request");
    let twice = format!("{form}&{form}");
    let outcome = world.server.resource().authenticate(&form_request(&twice)).await;
    wa(outcome.expect_err("twice in the body"), 400, "invalid_request");
    let one = Request::new("GET").header("Authorization", header.as_bytes());
    assert!(world.server.resource().authenticate(&one).await.is_ok());
    for second in [header.as_str(), "Bearer x", "Basic eDp5", ""] {
        let outcome = world.server.resource().authenticate(&one.header("authorization", second.as_bytes())).await;
        wa(outcome.expect_err(second), 400, "invalid_request");
    }
}

/// 6750-3-01
#[tokio::test]
async fn a_request_without_credentials_gets_a_challenge_without_an_error() {
    let world = World::platform().await;
    no_credentials(world.server.resource().authenticate(&Request::new("GET")).await, "nothing");
    for header in ["Basic eDp5", "Digest username=x", "DPoP token", "", "Bearer2 x", "Bearer-x y"] {
        no_credentials(with_header(&world, header.as_bytes()).await, header);
    }
}

/// 6750-3.1-01, SVC-2.3-01
#[tokio::test]
async fn a_token_that_is_not_good_is_refused() {
    let world = World::platform().await;
    for unknown in ["x", "at_", &format!("at_{}", "A".repeat(65)), &"a".repeat(4096)] {
        wa(world.access(unknown).await.expect_err(unknown), 401, "invalid_token");
    }

    let expired = world.pair().await.access;
    world.advance(28_799);
    assert!(world.opens(&expired).await);
    world.advance(1);
    wa(world.access(&expired).await.expect_err("expired"), 401, "invalid_token");

    let revoked = world.pair().await.access;
    assert!(world.opens(&revoked).await);
    empty(&world.revoke(&revoked).await);
    wa(world.access(&revoked).await.expect_err("revoked"), 401, "invalid_token");

    let first = world.pair().await;
    ok(&world.refresh(&first.refresh).await);
    world.advance(299);
    assert!(world.opens(&first.access).await);
    world.advance(1);
    wa(world.access(&first.access).await.expect_err("after grace"), 401, "invalid_token");
}

/// 6750-3.1-02
#[tokio::test]
async fn a_good_token_without_the_scope_is_told_which_scope_is_needed() {
    let world = World::platform().await;
    let code = world.code_for(&world.query(&[("scope", "repo-code:r repo-issue:rw")])).await;
    let form = [("grant_type", "authorization_code"), ("code", &code)];
    let token = pair(&world.token(&form).client(&world.client).send().await).access;
    let token = world.access(&token).await.unwrap();
    let require = |scope, permission| world.server.resource().require(&token, scope, permission, Resource::Account);
    assert!(require("repo-code", Permission::Read).is_ok());
    assert!(require("repo-issue", Permission::Read).is_ok() && require("repo-issue", Permission::ReadWrite).is_ok());
    for (scope, permission, needed) in [
        ("repo-code", Permission::ReadWrite, "repo-code:rw"),
        ("account-profile", Permission::Read, "account-profile:r"),
        ("repo-delete", Permission::ReadWrite, "repo-delete:rw"),
    ] {
        let challenge = wa(require(scope, permission).expect_err(needed), 403, "insufficient_scope");
        assert!(attributes(&challenge).contains(&("scope".to_owned(), needed.to_owned())), "{challenge}");
    }
}

/// 6750-3-02
#[tokio::test]
async fn each_attribute_of_a_challenge_stands_there_once() {
    let world = World::platform().await;
    let token = world.pair().await.access;
    let good = world.access(&token).await.unwrap();
    let require = world.server.resource().require(&good, "repo-delete", Permission::ReadWrite, Resource::Account);
    let hostile = format!("Bearer {token}\", error=\"x");
    for (error, names) in [
        (world.server.resource().authenticate(&Request::new("GET")).await.unwrap_err(), vec!["realm"]),
        (world.access("x").await.unwrap_err(), vec!["realm", "error", "error_description"]),
        (with_header(&world, b"Bearer").await.unwrap_err(), vec!["realm", "error", "error_description"]),
        (with_header(&world, hostile.as_bytes()).await.unwrap_err(), vec!["realm", "error", "error_description"]),
        (require.unwrap_err(), vec!["realm", "error", "error_description", "scope"]),
    ] {
        let response = error.into_response();
        assert_eq!(response.headers().filter(|(name, _)| *name == "WWW-Authenticate").count(), 1);
        let attributes = attributes(response.header("WWW-Authenticate").unwrap());
        assert_eq!(attributes.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), names);
    }
}

/// 6750-5.2-01, 9700-2.3-01, SVC-5-02
#[tokio::test]
async fn a_resource_learns_all_limits_of_a_token() {
    let world = World::platform().await;

    let mut form = support::world::form();
    form.resource_scope = Some(ResourceScope::specified(["a/b", "a/c"]).unwrap());
    let client = world.register(form).await;
    world.advance(5);
    let query = world.query_of(&client, &[("scope", "repo-code:r"), PKCE[0], PKCE[1]]);
    let token = pair(&world.exchange_as(&client, &world.code_for(&query).await).await).access;
    let token = world.access(&token).await.unwrap();
    assert_eq!(token.subject(), Some(&world.alice));
    assert_eq!(token.client_id(), &client.client_id());
    assert_eq!(token.scopes().as_str(), "repo-code:r");
    assert_eq!(token.resource_scope(), ResourceScope::specified(["a/b", "a/c"]).unwrap());
    assert_eq!(token.issued(), Some(Timestamp::from_seconds(START + 5)));
    assert_eq!(token.expires(), Some(Timestamp::from_seconds(START + 5 + 28_800)));
    assert!(token.permits("repo-code", Permission::Read, Resource::Private("a/b")));
    for (scope, permission, resource) in [
        ("repo-code", Permission::ReadWrite, Resource::Private("a/b")),
        ("repo-issue", Permission::Read, Resource::Private("a/b")),
        ("repo-code", Permission::Read, Resource::Private("a/d")),
        ("repo-code", Permission::Read, Resource::Public("a/d")),
    ] {
        assert!(!token.permits(scope, permission, resource), "{scope} {permission:?} {resource:?}");
        let refused = world.server.resource().require(&token, scope, permission, resource).unwrap_err();
        wa(refused, 403, "insufficient_scope");
    }
}
