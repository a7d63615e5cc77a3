//! What applies to every endpoint: sizes, headers, bytes, hostile requests.

use grantor::Decision;
use grantor::config::Profile;
use grantor::wire::{Body, Endpoint, Request, Response};

use support::world::{FORM, PKCE, With as _, World, count, e400, encode, error_body, form, ok, page, red, text};

/// A control character would end a header line or cut it short.
#[track_caller]
fn sound_headers(response: &Response) {
    for (name, value) in response.headers() {
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{name}");
        assert!(value.bytes().all(|byte| (0x20..=0x7e).contains(&byte)), "{name}: {value:?}");
    }
}

fn form_request(body: Body<'_>) -> Request<'_> {
    Request::new("POST").header("Content-Type", FORM.as_bytes()).body(body)
}

/// HTTP-01
#[tokio::test]
async fn sizes_are_bounded() {
    let world = World::platform().await;
    let (body_bytes, query_bytes, parameters) = (world.server.config().limits.body_bytes, 32_768, 100);
    assert_eq!(body_bytes, 16_384);
    assert_eq!(world.server.body_limit(), body_bytes);
    for endpoint in [Endpoint::Token, Endpoint::Revocation, Endpoint::Introspection] {
        for (case, body, status) in [
            ("1 MB", "x=".to_owned() + &"a".repeat(1_048_574), 413),
            ("64 KB value", encode(&[("code", &*"a".repeat(65_536)), ("token", "x")]), 413),
            ("one byte too many", format!("x={}", "a".repeat(body_bytes - 1)), 413),
            ("10 000 parameters", vec!["a"; 10_000].join("&") + "&token=x", 413),
            ("one parameter too many", vec!["a=b"; parameters].join("&") + "&token=x", 400),
        ] {
            println!("{endpoint:?}: {case}");
            let response = world.post(endpoint, &[]).client(&world.client).raw_body(body).send().await;
            assert_eq!(response.status(), status);
            error_body(&response, "invalid_request");
            let expected = if status == 413 { "too large" } else { "malformed" };
            assert!(String::from_utf8_lossy(response.body()).contains(expected));
            sound_headers(&response);
        }
        let response = world.server.serve(endpoint, &form_request(Body::TooLarge)).await;
        assert_eq!(response.status(), 413);
        error_body(&response, "invalid_request");
    }
    for (case, more) in [
        ("one byte too many", "a".repeat(query_bytes)),
        ("1 MB", "a".repeat(1_048_576)),
        ("64 KB state", format!("state={}", "a".repeat(65_536))),
        ("10 000 parameters", vec!["a"; 10_000].join("&")),
        ("one too many", vec!["a=b"; parameters - 1].join("&")),
    ] {
        println!("{case}");
        page(&world.refused(&format!("{}&{more}", world.query(&[]))).await);
    }

    // A request of exactly the maximum size is read.
    let start = "grant_type=authorization_code&code=c&x=";
    let full = start.to_owned() + &"a".repeat(body_bytes - start.len());
    e400(&world.token(&[]).client(&world.client).raw_body(full).send().await, "invalid_grant");
    let query = world.query(&[]);
    let padded = format!("{query}&x={}", "a".repeat(query_bytes - query.len() - 3));
    assert!(world.authorize(&padded).await.is_ok());
    let many = format!("{query}&{}", vec!["a=b"; parameters - 2].join("&"));
    assert!(world.authorize(&many).await.is_ok());
}

/// HTTP-06, 6749-4.1.2-04, SVC-4.1-04
#[tokio::test]
async fn the_location_is_the_stored_string_with_parameters_added() {
    let world = World::platform().await;
    let strict = World::strict().await;
    let state = ("state", "a b&c=d");
    for uri in [
        "https://app.example.com/cb",
        "https://app.example.com/cb?x=%7e'&y=a+b",
        "https://app.example.com/cb?x=1&",
        "https://app.example.com/cb?x=%20+",
        "https://app.example.com/cb?",
        "https://app.example.com",
        "https://app.example.com?",
        "https://app.example.com/a%2fb/%7E;p=1?q",
        "https://app.example.com/cb?a&&b=&=c",
        "https://app.example.com/cb??/?:@",
        "HTTPS://APP.example.com:443/cb",
        "https://app.example.com/cb?u=https://x.example/!$'()*,",
    ] {
        println!("{uri}");
        let form = form().with(|form| form.redirect_uris = vec![uri.into()]);
        let separator = match uri.split_once('?') {
            None => "?",
            Some((_, own)) if own.is_empty() || own.ends_with('&') => "",
            Some(_) => "&",
        };
        let exact = strict.register(form).await;
        for (world, query) in [
            (&world, world.query(&[("redirect_uri", uri), state, PKCE[0], PKCE[1]])),
            (&strict, strict.query_of(&exact, &[("redirect_uri", uri), state, PKCE[0], PKCE[1]])),
            (&strict, strict.query_of(&exact, &[state, PKCE[0], PKCE[1]])),
        ] {
            let location = world.approve(&query).await.header("Location").unwrap().to_owned();
            assert!(location.starts_with(&format!("{uri}{separator}code=")), "{location}");
            assert!(location.contains("&state=a%20b%26c%3Dd&"), "{location}");
            let location = world.decide(&query, Decision::Deny).await.header("Location").unwrap().to_owned();
            assert!(location.starts_with(&format!("{uri}{separator}error=access_denied&")), "{location}");
            assert!(location.contains("&state=a%20b%26c%3Dd&"), "{location}");
            assert!(location.contains("&error_description=the%20"), "{location}");
        }
    }
}

/// 6749-10.14-01, 6749-A-07, CVE-2022-36087, HTTP-03, django-oauth-toolkit #1006
#[tokio::test]
async fn hostile_requests_are_never_a_failure_of_the_server() {
    let values: Vec<Vec<u8>> = vec![
        b"".into(),
        b"%00".into(),
        b"%".into(),
        b"%ff%fe".into(),
        b"\xff\xfe\0\r\n".into(),
        "\u{1f600}\u{202e}".into(),
        b"'; drop table clients; --".into(),
        b"<script>".into(),
        b"../../../etc/passwd".into(),
        b"${jndi:ldap://x}".into(),
        b"-1".into(),
        b"18446744073709551616".into(),
        b"null".into(),
        b"[]".into(),
        b"ac_".into(),
        b"at_AAAAAAAAAAAAAAAAAAAAAA".into(),
        [b"ac_".to_vec(), vec![b'A'; 65]].concat(),
        [b"ac_".to_vec(), vec![b'_'; 65]].concat(),
        [b"at_".to_vec(), vec![b'A'; 65]].concat(),
        [b"rt_".to_vec(), vec![b'A'; 102]].concat(),
        [b"rt_".to_vec(), vec![0xff; 102]].concat(),
        [b"rt_".to_vec(), "\u{e9}".repeat(51).into_bytes()].concat(),
        vec![b'a'; 4097],
        vec![b'&'; 3000],
        vec![b'='; 3000],
        vec![b'%'; 3000],
        b"a=b&a=b&%61=b".into(),
    ];
    let names = [
        "response_type",
        "client_id",
        "redirect_uri",
        "state",
        "scope",
        "code_challenge",
        "code_challenge_method",
        "grant_type",
        "code",
        "code_verifier",
        "refresh_token",
        "client_secret",
        "token",
        "token_type_hint",
        "access_token",
        "\u{e9}",
        "",
    ];
    for profile in [Profile::Platform, Profile::Strict] {
        let world = World::with(profile, |config| config.bearer_in_body = true).await;
        let own = world.client.clone();
        let pair = world.pair().await;
        for (name, value) in names.iter().flat_map(|name| values.iter().map(move |value| (name, value))) {
            println!("{profile:?}: {name}={}", value.escape_ascii());
            for base in [
                world.query(&PKCE),
                String::new(),
                "grant_type=authorization_code&code=x".into(),
                "grant_type=refresh_token&refresh_token=x".into(),
            ] {
                let bytes = [base.as_bytes(), b"&", name.as_bytes(), b"=", value].concat();
                for method in ["GET", "POST", "HEAD", "\0", "\u{e9}"] {
                    let request = Request::new(method).query(&bytes).header("Content-Type", FORM.as_bytes());
                    let request = request.body(bytes.as_slice().into());
                    let answers = [
                        world.server.authorize(&request).await.err().map(|error| error.response(Some(&world.alice))),
                        world.server.resource().authenticate(&request).await.err().map(|error| error.into_response()),
                        Some(world.server.serve(Endpoint::Token, &request).await),
                        Some(world.server.serve(Endpoint::Revocation, &request).await),
                        Some(world.server.serve(Endpoint::Introspection, &request).await),
                        Some(world.server.serve(Endpoint::Metadata, &request).await),
                        Some(world.server.serve(Endpoint::Authorization, &request).await),
                    ];
                    for response in answers.into_iter().flatten() {
                        assert!(response.status() < 500, "{}", response.status());
                        sound_headers(&response);
                    }
                }
                for endpoint in [Endpoint::Token, Endpoint::Revocation, Endpoint::Introspection] {
                    let call = world.post(endpoint, &[]).client(&own).raw_body(bytes.clone());
                    let response = call.send().await;
                    assert!(response.status() < 500, "{}", response.status());
                }
            }
            for header in
                [value.clone(), [b"Basic ".as_slice(), value].concat(), [b"Bearer ".as_slice(), value].concat()]
            {
                let request = form_request(b"grant_type=x&token=x".as_slice().into());
                for line in ["Authorization", "Content-Type"] {
                    let request = request.header(line, &header);
                    for endpoint in Endpoint::MACHINE.iter().copied() {
                        let response = world.server.serve(endpoint, &request).await;
                        assert!(response.status() < 500, "{}", response.status());
                    }
                    if let Err(error) = world.server.resource().authenticate(&request).await {
                        assert!(error.into_response().status() < 500);
                    }
                }
            }
            let handle = String::from_utf8_lossy(value);
            let decided = world.server.decide(&handle, &world.alice, value, &Decision::Deny).await;
            assert!(decided.unwrap_err().response(None).status() < 500);
        }
        assert!(world.opens(&pair.access).await);
        ok(&world.refresh(&pair.refresh).await);
    }
}

/// 6749-3.1-01
///
/// Your service serves the authorization endpoint, since it needs a user.
#[tokio::test]
async fn what_is_not_served_is_not_found() {
    let world = World::platform().await;
    let query = world.query(&[]);
    let response = world.server.serve(Endpoint::Authorization, &Request::new("GET").query(query.as_bytes())).await;
    assert_eq!(response.status(), 404);
    assert_eq!(world.server.serve(Endpoint::Metadata, &Request::new("GET")).await.status(), 200);
    let redirect = red(&world.refused(&format!("{query}&scope=x")).await, "invalid_scope");
    assert_eq!((count(&redirect, "state"), text(&redirect, "error").len()), (0, 13));
}
