//! RFC 6749, section 3: the two endpoints and the scope parameter.

use grantor::config::{Profile, PushedRequests};
use grantor::wire::{Endpoint, Request};
use grantor::{Consent, Decision};

use super::exchange;
use crate::rfc6749_token::exchange_form;
use support::world::{
    CHALLENGE, PKCE, REDIRECT_URI, SCOPES, VERIFIER, With as _, World, code, count, created, e400, e401, empty, encode,
    form, ok, page, pair, r401, red, text,
};

/// 6749-3.1-01
#[tokio::test]
async fn the_authorization_endpoint_answers_get_and_no_post() {
    let world = World::platform().await;
    let query = world.query(&PKCE);
    for method in ["GET", "HEAD"] {
        assert!(world.server.authorize(&Request::new(method).query(query.as_bytes())).await.is_ok(), "{method}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "get", "", "GET "] {
        let request = Request::new(method).query(query.as_bytes()).body(query.as_bytes().into());
        let request = request.header("Content-Type", support::world::FORM.as_bytes());
        let response = world.server.authorize(&request).await.unwrap_err().response(Some(&world.alice));
        assert_eq!(response.status(), 405, "{method}");
        assert_eq!(response.header("Allow"), Some("GET, HEAD"));
        assert_eq!(response.header("Location"), None);
    }
}

/// 6749-3.1-02
#[tokio::test]
async fn an_empty_parameter_counts_as_absent_at_the_authorization_endpoint() {
    let world = World::platform().await;
    for empty in ["state=", "state", "scope=", "scope", "redirect_uri=", "redirect_uri", "code_challenge="] {
        println!("{empty}");
        let query = format!("{}&{empty}", world.query(&[]));
        let redirect = code(&world.approve(&query).await);
        assert_eq!(count(&redirect, "state"), 0);
        let code = text(&redirect, "code");
        let form = [("grant_type", "authorization_code"), ("code", &code), ("redirect_uri", REDIRECT_URI)];
        let granted = pair(&world.token(&form).client(&world.client).send().await);
        assert_eq!(granted.scope, SCOPES);
    }
    let query = format!("{}&code_challenge=&code_challenge_method=", world.query(&[]));
    code(&world.approve(&query).await);
    let id = &world.client.id;
    for query in [format!("response_type=&client_id={id}"), format!("response_type&client_id={id}")] {
        page(&world.refused(&query).await);
    }
    for query in ["response_type=code&client_id=", "response_type=code&client_id", "", "&&&", "="] {
        page(&world.refused(query).await);
    }
}

/// 6749-3.1-02, 6749-6-01, 6749-4.1.3-01
#[tokio::test]
async fn an_empty_parameter_counts_as_absent_at_the_token_endpoint() {
    let world = World::platform().await;
    for (form, more) in [
        ("grant_type=authorization_code&code=", "code"),
        ("grant_type=authorization_code&code", "code"),
        ("grant_type&code=x", "grant_type"),
        ("grant_type=&code=x", "grant_type"),
        ("grant_type=refresh_token&refresh_token=", "refresh_token"),
    ] {
        println!("{form}");
        let response = world.token(&[]).client(&world.client).raw_body(form).send().await;
        e400(&response, "invalid_request");
        assert!(String::from_utf8_lossy(response.body()).contains(&format!("{more} is missing")));
    }
    for empty in ["redirect_uri=", "code_verifier=", "client_id=", "client_secret=", "scope", "refresh_token="] {
        println!("{empty}");
        let code = world.code_for(&world.query(&[])).await;
        let body = format!("grant_type=authorization_code&code={code}&{empty}");
        ok(&world.token(&[]).client(&world.client).raw_body(body).send().await);
    }
    let first = world.pair().await;
    let body = format!("grant_type=refresh_token&scope=&refresh_token={}", first.refresh);
    assert_eq!(pair(&world.token(&[]).client(&world.client).raw_body(body).send().await).scope, SCOPES);
}

/// 6749-3.1-03
#[tokio::test]
async fn unknown_parameters_are_ignored_even_repeated() {
    let world = World::platform().await;
    for more in [
        "foo=1&foo=2",
        "foo&foo",
        "resource=x&resource=y",
        "State=a&STATE=b",
        "nonce=%ff&nonce=",
        "code=x",
        "request=a.b.",
    ] {
        println!("{more}");
        let query = format!("{more}&{}&{more}", world.query(&PKCE));
        let redirect = code(&world.approve(&query).await);
        assert_eq!(redirect.len(), 2, "code and iss alone");
        let code = text(&redirect, "code");
        let body = encode(&[("grant_type", "authorization_code"), ("code", &code), ("code_verifier", VERIFIER)]);
        let more = more.replace("code=x", "state=x");
        let body = format!("{more}&{body}&{more}");
        ok(&world.token(&[]).client(&world.client).raw_body(body).send().await);
    }
    // In a link, even one that cannot be decoded.
    for more in ["utm_campaign=50%off", "100%=x", "%", "x=%zz&x=%"] {
        let redirect = code(&world.approve(&format!("{more}&{}&{more}", world.query(&PKCE))).await);
        assert_eq!(redirect.len(), 2, "{more}");
    }
}

/// 6749-3.1-04, CVE-2026-63687
///
/// D-22: repeats of the four parameters of the described service show the page, others go to the client.
#[tokio::test]
async fn a_repeated_parameter_of_an_authorization_request_is_an_error() {
    for profile in [Profile::Platform, Profile::Strict] {
        let world = World::with(profile, |_| {}).await;
        let base = [("state", "s"), ("scope", "repo-code:r"), ("redirect_uri", REDIRECT_URI), PKCE[0], PKCE[1]];
        let query = world.query(&base);
        code(&world.approve(&query).await);
        let own = |name: &str| match name {
            "response_type" => "code",
            "client_id" => &world.client.id,
            name => base.iter().find(|(own, _)| *own == name).unwrap().1,
        };
        let service = ["client_id", "redirect_uri", "response_type", "state"];
        let extensions = ["scope", "code_challenge", "code_challenge_method"];
        for name in service.into_iter().chain(extensions) {
            for second in [own(name), "other", ""] {
                for query in [
                    format!("{query}&{}", encode(&[(name, second)])),
                    format!("{}&{query}", encode(&[(name, second)])),
                    format!("{query}&{name}"),
                ] {
                    println!("{profile:?}: {query}");
                    let response = world.refused(&query).await;
                    let paged = match profile {
                        Profile::Platform => service.contains(&name),
                        _ => matches!(name, "client_id" | "redirect_uri"),
                    };
                    if paged {
                        page(&response);
                        continue;
                    }
                    let redirect = red(&response, "invalid_request");
                    assert_eq!(count(&redirect, "state"), usize::from(name != "state"));
                }
            }
        }
    }
}

/// 6749-3.1-04, 7009-2.1-01, 7662-2.1-02, D-23, 6749-5.2-01, 6749-5.2-04, CVE-2026-63687
///
/// D-23: before anything else, authentication included.
#[tokio::test]
async fn a_repeated_parameter_of_a_form_is_an_error() {
    let world = World::platform().await;
    let code = world.code().await;
    let names = ["grant_type", "code", "redirect_uri", "code_verifier", "refresh_token", "scope"];
    let credentials = ["client_id", "client_secret"];
    let token = ["token", "token_type_hint"];
    for (endpoint, own) in [
        (Endpoint::Token, names.as_slice()),
        (Endpoint::Revocation, token.as_slice()),
        (Endpoint::Introspection, token.as_slice()),
    ] {
        for name in own.iter().chain(&credentials) {
            for twice in ["{}=a&{}=b", "{}=a&{}=a", "{}=&{}=a", "{}=a&{}=", "{}&{}"] {
                let body = format!("{}&grant_type_=x", twice.replace("{}", name));
                println!("{endpoint:?}: {body}");
                e400(&world.post(endpoint, &[]).raw_body(body.clone()).send().await, "invalid_request");
                let call = world.post(endpoint, &[]).raw_body(body);
                if *name != "client_secret" && *name != "client_id" {
                    e400(&call.client(&world.client).send().await, "invalid_request");
                }
            }
        }
    }
    e400(&exchange(&world, &code).field("code", &code).client(&world.client).send().await, "invalid_request");
    ok(&world.exchange(&code).await);
}

/// 6749-3.1.1-01, 6749-A-02, 9700-2.1.2-01, SVC-4.1-05
#[tokio::test]
async fn a_response_type_that_is_missing_or_unknown_is_an_error() {
    let platform = World::platform().await;
    let strict = World::strict().await;
    let query = |world: &World, response_type: Option<&str>| {
        let mut pairs = vec![("client_id", world.client.id.as_str()), ("state", "s"), PKCE[0], PKCE[1]];
        pairs.extend(response_type.map(|value| ("response_type", value)));
        encode(&pairs)
    };
    let words = ["token", "id_token", "none", "CODE", "code-", "code token", "code  code", "hostile<b>"];
    let characters = ["co de", "code\t", "code ", " code", "code\0", "code\u{e9}", "c\u{f6}de"];
    let unknown = words.into_iter().chain(characters).map(|value| (Some(value), "unsupported_response_type"));
    for (response_type, error) in unknown.chain([(None, "invalid_request"), (Some(""), "invalid_request")]) {
        println!("{response_type:?}");
        let response = platform.refused(&query(&platform, response_type)).await;
        page(&response);
        assert!(!String::from_utf8_lossy(response.body()).contains("hostile"));
        let response = strict.refused(&query(&strict, response_type)).await;
        assert_eq!(text(&red(&response, error), "state"), "s");
        assert!(!response.header("Location").unwrap().contains("access_token"));
    }
    let bytes = format!("response_type=code%ff&client_id={}", strict.client.id);
    red(&strict.refused(&bytes).await, "unsupported_response_type");
    code(&platform.approve(&query(&platform, Some("code"))).await);
    code(&strict.approve(&query(&strict, Some("code"))).await);
}

/// 6749-3.1.2.3-01, D-30
///
/// Without the parameter, a single registered URI is used; with several, the request is refused.
#[tokio::test]
async fn with_several_registered_redirect_uris_the_request_names_one() {
    let uris = [REDIRECT_URI, "https://other.example.com/cb?x=1", "http://127.0.0.1/cb"];
    for profile in [Profile::Platform, Profile::Strict] {
        let world = World::with(profile, |_| {}).await;
        let client = world.register(form().with(|form| form.redirect_uris = uris.map(str::to_owned).to_vec())).await;
        for more in [&[] as &[(&str, &str)], &[("redirect_uri", "")], &[("redirect_uri", "https://three.example/cb")]] {
            page(&world.refused(&world.query_of(&client, &[more, &PKCE].concat())).await);
        }
        for uri in uris {
            let query = world.query_of(&client, &[("redirect_uri", uri), PKCE[0], PKCE[1]]);
            let response = world.approve(&query).await;
            code(&response);
            assert!(response.header("Location").unwrap().starts_with(uri), "{uri}");
        }
        let response = world.approve(&world.query(&PKCE)).await;
        code(&response);
        assert!(response.header("Location").unwrap().starts_with(&format!("{REDIRECT_URI}?code=")));
    }
}

/// 6749-3.2-01, 7009-2-02
#[tokio::test]
async fn the_endpoints_take_post_alone() {
    let world = World::platform().await;
    let (code, live) = (world.code().await, world.pair().await);
    let form = [&exchange_form(&code)[..], &[("token", &live.access)]].concat();
    for endpoint in [Endpoint::Token, Endpoint::Revocation, Endpoint::Introspection] {
        for method in ["GET", "PUT", "HEAD", "DELETE", "PATCH", "OPTIONS", "post", ""] {
            let call = world.post(endpoint, &form).client(&world.client).method(method).query(&encode(&form));
            let response = call.send().await;
            assert_eq!(response.status(), 405, "{endpoint:?} {method}");
            assert_eq!(response.header("Allow"), Some("POST"));
            assert_eq!(response.header("Cache-Control"), Some("no-store"));
        }
    }
    assert!(world.opens(&live.access).await);
    ok(&world.exchange(&code).await);
}

/// 6749-3.2-02, 7009-2-02, 6749-5.2-01, workers-oauth-provider #240
///
/// D-23: the same at the revocation endpoint, and before the client is authenticated.
#[tokio::test]
async fn a_body_that_is_no_form_is_refused() {
    let world = World::platform().await;
    let code = world.code().await;
    let json = format!(r#"{{"grant_type":"authorization_code","code":"{code}"}}"#);
    let multipart = b"multipart/form-data; boundary=x".as_slice();
    for authenticated in [true, false] {
        for endpoint in [Endpoint::Token, Endpoint::Revocation, Endpoint::Introspection] {
            let call = || {
                let own = [("token", "x"), ("grant_type", "authorization_code"), ("code", &*code)];
                let call = world.post(endpoint, &own);
                if authenticated { call.client(&world.client) } else { call }
            };
            let typed = |value| call().without_header("Content-Type").header("Content-Type", value);
            for (case, call) in [
                ("JSON", typed(b"application/json").raw_body(json.clone())),
                ("JSON called a form of another kind", typed(multipart).raw_body(json.clone())),
                ("a form called JSON", typed(b"application/json")),
                ("no content type", call().without_header("Content-Type")),
                ("empty content type", typed(b"")),
                ("plain text", typed(b"text/plain")),
                ("bytes as content type", typed(b"\xff")),
                ("a semicolon alone", typed(b";")),
                ("a parameter without a value", typed(b"x/y;=")),
                ("two content types", call().header("Content-Type", b"application/json")),
                ("UTF-8 that is none", call().raw_body(b"token=%ff&code=%ff".as_slice())),
                ("raw bytes", call().raw_body(b"token=\xff&grant_type=\xc3".as_slice())),
                ("overlong UTF-8", call().raw_body("token=%c0%80&code=%c0%80")),
                ("surrogate", call().raw_body("token=%ed%a0%80&code=%ed%a0%80")),
                ("bad escape", call().raw_body("token=%zz&code=x")),
                ("cut escape", call().raw_body("token=x&code=%4")),
                ("bad escape in an unknown name", call().raw_body("token=x&code=x&%zz=1")),
            ] {
                println!("{endpoint:?}: {case}");
                e400(&call.send().await, "invalid_request");
            }
        }
    }
    ok(&world.exchange(&code).await);
}

/// 6749-5.2-08, 7009-2.1-02, 7009-2.1-01, 7662-2.1-02, D-23, 7662-2.1-01
///
/// D-23: then authentication, then missing parameters.
#[tokio::test]
async fn authentication_comes_before_what_is_missing() {
    let world = World::platform().await;
    for endpoint in [Endpoint::Token, Endpoint::Revocation, Endpoint::Introspection] {
        for form in [&[][..], &[("token", ""), ("grant_type", "")]] {
            let call = || world.post(endpoint, form);
            for unproven in [call(), call().basic(&world.client.id, "wrong")] {
                let response = unproven.send().await;
                if endpoint == Endpoint::Revocation { r401(&response) } else { e401(&response, "invalid_client") }
            }
            e400(&call().client(&world.client).send().await, "invalid_request");
            let in_query = call().client(&world.client).query("token=x&grant_type=refresh_token");
            e400(&in_query.send().await, "invalid_request");
        }
    }
    let code = world.code().await;
    empty(&world.revoke(&code).await);
    ok(&world.exchange(&code).await);
}

/// 6749-3.2-03
#[tokio::test]
async fn the_media_type_is_read_in_any_case_and_with_parameters() {
    let world = World::platform().await;
    for media_type in [
        "Application/X-WWW-Form-Urlencoded; charset=utf-8",
        "APPLICATION/X-WWW-FORM-URLENCODED",
        "application/x-www-form-urlencoded;charset=UTF-8",
        "application/x-www-form-urlencoded ; charset=\"utf-8\"; x=y",
    ] {
        println!("{media_type}");
        let code = world.code().await;
        let call = exchange(&world, &code).client(&world.client).without_header("Content-Type");
        ok(&call.header("content-type", media_type.as_bytes()).send().await);
    }
}

/// 6749-3.2-04
#[tokio::test]
async fn grant_parameters_in_the_query_are_not_read() {
    let world = World::platform().await;
    let code = world.code().await;
    let query = encode(&[("grant_type", "authorization_code"), ("code", &code), ("code_verifier", VERIFIER)]);
    e400(&world.token(&[]).client(&world.client).query(&query).send().await, "invalid_request");
    let only_type = world.token(&[("grant_type", "authorization_code")]).query(&query);
    e400(&only_type.client(&world.client).send().await, "invalid_request");
    let only_code = world.token(&[("code", &code)]).query(&query);
    e400(&only_code.client(&world.client).send().await, "invalid_request");
    ok(&exchange(&world, &code).client(&world.client).query("code=x&grant_type=y&%zz").send().await);
}

/// 6749-3.3-02, 6749-A-03, 6749-3.3-01
#[tokio::test]
async fn a_malformed_scope_is_refused() {
    let world = World::platform().await;
    let first = world.pair().await;
    for scope in [
        "repo-code:r\"",
        "repo-code:r\\",
        "repo-code:r,repo-issue:r",
        "repo-code:r\trepo-issue:r",
        "repo-code:r\nrepo-issue:r",
        "repo-code:r\u{a0}repo-issue:r",
        "r\u{e9}po-code:r",
        "\trepo-code:r",
        "\t",
        "repo-code:",
        "repo-code:x",
        ":r",
        "REPO-CODE:RW",
        "repo-code:RW",
    ] {
        println!("{scope:?}");
        red(&world.refused(&world.query(&[("scope", scope)])).await, "invalid_scope");
        let form = [("grant_type", "refresh_token"), ("refresh_token", &*first.refresh), ("scope", scope)];
        e400(&world.token(&form).client(&world.client).send().await, "invalid_scope");
    }
    red(&world.refused(&format!("{}&scope=%ff", world.query(&[]))).await, "invalid_scope");
    world.advance(28_799);
    assert!(world.opens(&first.access).await, "nothing was rotated");
    assert_eq!(pair(&world.refresh(&first.refresh).await).scope, SCOPES);
}

/// IDOFF-07
///
/// At the authorization endpoint, in a pushed request and at the token endpoint. Registrations, documents and devices
/// read the parameter with the same function, in every profile.
#[tokio::test]
async fn blanks_around_and_between_scopes_mean_nothing() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let world = World::with(profile, |config| config.pushed_requests.mode = PushedRequests::Optional).await;
        let all = world.authorize(&world.query(&PKCE)).await.unwrap();
        for (scope, expected) in [
            (" repo-code:r", "repo-code:r"),
            ("repo-code:r  ", "repo-code:r"),
            ("repo-code:r   repo-issue:r", "repo-code:r repo-issue:r"),
            (" ", all.scopes().as_str()),
        ] {
            println!("{profile:?}: {scope:?}");
            let sent = [PKCE[0], PKCE[1], ("scope", scope)];
            let pending = world.authorize(&world.query(&sent)).await.unwrap();
            assert_eq!(pending.scopes().as_str(), expected);
            let pushed = created(&world.par(&world.client, &sent).send().await);
            let pending = world.authorize(&world.reference(&pushed)).await.unwrap();
            assert_eq!(pending.scopes().as_str(), expected);
            let first = world.pair().await;
            let form = [("grant_type", "refresh_token"), ("refresh_token", &*first.refresh), ("scope", scope)];
            let refreshed = pair(&world.token(&form).client(&world.client).send().await);
            assert_eq!(refreshed.scope, if scope == " " { first.scope } else { expected.into() });
        }
    }
}

/// 6749-3.3-03, SVC-2.3-05
#[tokio::test]
async fn the_answer_tells_what_was_granted() {
    let world = World::platform().await;
    let fewer = ["account-profile:r", "repo-code:r"];
    for (asked, consent, granted) in [
        ("", Consent::to_everything(), SCOPES),
        ("", Consent::to_everything().scopes(["repo-issue:rw"]), "repo-issue:rw"),
        ("", Consent::to_everything().scopes(fewer), "repo-code:r account-profile:r"),
        ("repo-issue repo-code:rw", Consent::default(), "repo-code:rw repo-issue:r"),
    ] {
        let query = world.query(&[PKCE[0], PKCE[1], ("scope", asked)]);
        let redirect = code(&world.decide(&query, Decision::Approve(consent)).await);
        let first = pair(&world.exchange(&text(&redirect, "code")).await);
        assert_eq!(first.scope, granted);
        assert_eq!(world.access(&first.access).await.unwrap().scopes().as_str(), granted);
        assert_eq!(pair(&world.refresh(&first.refresh).await).scope, granted);
    }
}

/// 6749-3.3-04
#[tokio::test]
async fn no_scope_asks_for_everything_that_was_registered() {
    for profile in [Profile::Platform, Profile::Strict] {
        let world = World::with(profile, |_| {}).await;
        let code = world.code_for(&world.query(&[("code_challenge", CHALLENGE), PKCE[1]])).await;
        assert_eq!(pair(&world.exchange(&code).await).scope, SCOPES);
        let code = world.code_for(&world.query(&[("scope", "repo-code:r"), PKCE[0], PKCE[1]])).await;
        assert_eq!(pair(&world.exchange(&code).await).scope, "repo-code:r");
    }
}
