//! What is asked, and what an answer means.

use grantor::fetch::{FetchErrorKind, FetchResponse};
use grantor::resource::{ExpectedAudience, IntrospectionError};
use grantor::scope::{Permission, Resource};
use grantor::wire::Request;
use grantor::{Reason, ResourceError};
use serde_json::{Value, json};

use super::{Api, ENDPOINT, TOKEN, answer, described, inactive, refused, resource_scopes};
use support::world::{ISSUER, START, wa};

/// The status that a response of the authorization server leads to.
async fn status_after(response: FetchResponse) -> u16 {
    let api = Api::new();
    api.script.always(Ok(response));
    let status = api.status(TOKEN).await;
    assert_eq!(api.script.sent(), 1);
    // A failure says nothing about the next check.
    api.script.always(Ok(described(json!({}))));
    assert_eq!(api.status(TOKEN).await, 200);
    status
}

/// RSC-01, RSC-02, RSC-08
#[tokio::test]
async fn one_form_is_posted_for_each_check() {
    let api = Api::new();
    let token = api.check(TOKEN).await.unwrap();
    assert_eq!(token.client_id().as_str(), "app");
    assert_eq!(token.subject().unwrap().as_str(), "alice");
    let [sent] = &api.script.requests()[..] else { panic!("one request") };
    assert_eq!((&*sent.method, &*sent.url), ("POST", ENDPOINT));
    assert_eq!(sent.body, format!("token={TOKEN}&token_type_hint=access_token"));
    let headers: Vec<_> = sent.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
    // `api:the%20secret%20of%20the%20API`
    let basic = "Basic YXBpOnRoZSUyMHNlY3JldCUyMG9mJTIwdGhlJTIwQVBJ";
    let form = "application/x-www-form-urlencoded";
    assert_eq!(headers, [("Authorization", basic), ("Content-Type", form), ("Accept", "application/json")]);
    assert_eq!((sent.timeout.as_secs_f64(), sent.max_bytes), (2.0, 65_536));
}

/// RSC-03
#[tokio::test]
async fn nothing_is_sent_about_what_cannot_be_a_token() {
    let api = Api::with(|own| own.token_prefix = "at_".to_owned());
    let header = |lines: Vec<String>| {
        let api = &api;
        async move {
            let request = lines
                .iter()
                .fold(Request::new("GET"), |request, line| request.header("Authorization", line.as_bytes()));
            api.resource.authenticate(&request).await.map(drop)
        }
    };
    let of = |token: &str| vec![format!("Bearer {token}")];
    let none = header(Vec::new()).await.unwrap_err().into_response();
    assert_eq!(none.status(), 401);
    assert!(!none.header("WWW-Authenticate").unwrap().contains("error="));
    for malformed in [of(""), of("a b"), vec![format!("Bearer {TOKEN}"), format!("Bearer {TOKEN}")]] {
        wa(header(malformed).await.unwrap_err(), 400, "invalid_request");
    }
    let long = |length: usize| format!("at_{}", "x".repeat(length - 3));
    for other in ["rt_x".to_owned(), "AT_x".to_owned(), long(4097), long(5000)] {
        assert_eq!(refused(header(of(&other)).await.unwrap_err()), 401, "{other}");
    }
    for character in ["\u{ff}", "\u{e9}", "%", "\"", ",", "\\", "{", "\u{7f}"] {
        assert_eq!(refused(header(of(&format!("at_{character}"))).await.unwrap_err()), 401, "{character}");
    }
    assert_eq!(api.script.sent(), 0);
    header(of(&long(4096))).await.unwrap();
    assert_eq!(api.script.sent(), 1);
}

/// RSC-04, 9701-4-01
#[tokio::test]
async fn only_json_with_a_boolean_is_an_answer() {
    for body in [
        r#"{"active":"true"}"#,
        r#"{"active":"false"}"#,
        r#"{"active":1}"#,
        r#"{"active":null}"#,
        r#"{}"#,
        r#"{"Active":true}"#,
        r#"{"active":false,"active":false}"#,
        r#"{"active":true,"active":false}"#,
        r#"{"active":false,"x":1,"x":2}"#,
        r#"{"active":false,"x":{"y":1,"y":1}}"#,
        r#"[{"active":false}]"#,
        r#"{"active":false}{}"#,
        "false",
        "",
        "<html>active</html>",
    ] {
        assert_eq!(status_after(answer(body)).await, 503, "{body}");
    }
    let valid = || described(json!({}));
    for (media_type, status) in [
        (Some("application/json"), 200),
        (Some("Application/JSON ; charset=UTF-8"), 200),
        (Some("application/token-introspection+jwt"), 503),
        (Some("text/html"), 503),
        (Some("text/plain"), 503),
        (Some("application/json, text/html"), 503),
        (None, 503),
    ] {
        let mut response = valid();
        response.content_type = media_type.map(str::to_owned);
        assert_eq!(status_after(response).await, status, "{media_type:?}");
    }
    for (length, status) in [(65_536, 200), (65_537, 503), (66_560, 503)] {
        let mut response = valid();
        response.body.resize(length, b' ');
        assert_eq!(status_after(response).await, status, "{length}");
    }
    assert_eq!(status_after(inactive()).await, 401);
}

/// RSC-07
#[tokio::test]
async fn a_failure_on_the_way_is_no_verdict() {
    for status in [100, 201, 204, 206, 301, 302, 307, 400, 401, 403, 404, 429, 500, 503] {
        // A body that would be an answer with another status.
        for mut response in [inactive(), described(json!({}))] {
            response.status = status;
            let api = Api::new();
            api.script.always(Ok(response));
            let error = api.check(TOKEN).await.unwrap_err();
            let cause = match error.reason() {
                Reason::Introspection(cause) => cause,
                other => panic!("{other:?}"),
            };
            assert!(matches!(**cause, IntrospectionError::Status(own) if own == status), "{error:?}");
            assert_eq!(refused(error), 503, "{status}");
            // Nothing is sent anywhere else.
            let urls: Vec<_> = api.script.requests().into_iter().map(|sent| sent.url).collect();
            assert_eq!(urls, [ENDPOINT]);
        }
    }
    for kind in [FetchErrorKind::Connection, FetchErrorKind::TimedOut, FetchErrorKind::Tls, FetchErrorKind::TooLarge] {
        let api = Api::new();
        api.script.always(Err(kind));
        let error = api.check(TOKEN).await.unwrap_err();
        let text = format!(
            "the access token could not be looked up: the introspection request failed: {kind}: the cause of the \
             failure"
        );
        assert_eq!(format!("{error:?}"), text);
        assert_eq!(refused(error), 503);
        let events = api.events.take();
        assert_eq!(events.len(), 1, "{events:?}");
        assert!(
            events[0].starts_with("IntrospectionFailed") && events[0].contains("the cause of the failure"),
            "{events:?}"
        );
    }
}

/// RSC-05, NEG-14
#[tokio::test]
async fn times_decide_and_are_integers() {
    for (changes, status) in [
        (json!({"exp": START}), 401),
        (json!({"exp": START - 1}), 401),
        (json!({"exp": 0}), 401),
        (json!({"exp": START + 1}), 200),
        (json!({"exp": u64::from(u32::MAX) + 1}), 200),
        (json!({"exp": "(none)"}), 200),
        (json!({"nbf": START}), 200),
        (json!({"nbf": START + 1}), 401),
        (json!({"iat": "(none)"}), 200),
        (json!({"exp": (START + 9).to_string()}), 503),
        (json!({"exp": 1.5}), 503),
        (json!({"exp": 1e30}), 503),
        (json!({"exp": f64::from(START + 9)}), 503),
        (json!({"exp": Value::Null}), 503),
        (json!({"exp": [START + 9]}), 503),
        (json!({"nbf": "1"}), 503),
        (json!({"nbf": Value::Null}), 503),
        (json!({"iat": 1.5}), 503),
        (json!({"iat": Value::Null}), 503),
    ] {
        assert_eq!(status_after(described(changes.clone())).await, status, "{changes}");
    }
}

/// RSC-05
#[tokio::test]
async fn an_answer_without_an_end_is_used_once() {
    let api = Api::with(|own| {
        own.time_to_live = std::time::Duration::from_secs(300);
        own.stale_if_error = std::time::Duration::from_secs(60);
    });
    api.script.always(Ok(described(json!({"exp": "(none)"}))));
    for sent in 1..4 {
        let token = api.check(TOKEN).await.unwrap();
        assert_eq!((token.expires(), api.script.sent()), (None, sent));
    }
    api.script.always(Err(FetchErrorKind::Connection));
    assert_eq!(api.status(TOKEN).await, 503);
}

/// The thumbprint of a key.
const KEY: &str = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I";

/// RSC-06, NEG-13
#[tokio::test]
async fn issuer_audience_type_and_client_are_checked() {
    for (changes, status) in [
        (json!({"iss": "(none)"}), 200),
        (json!({"iss": "https://other.example"}), 401),
        (json!({"iss": format!("{ISSUER}/")}), 401),
        (json!({"iss": ""}), 401),
        (json!({"aud": [ISSUER, "https://other.example"]}), 200),
        (json!({"aud": "(none)"}), 401),
        (json!({"aud": []}), 401),
        (json!({"aud": "https://other.example"}), 401),
        (json!({"aud": format!("{ISSUER}/x")}), 401),
        (json!({"aud": "HTTPS://auth.example"}), 401),
        (json!({"token_type": "(none)"}), 200),
        (json!({"token_type": "bEARER"}), 200),
        (json!({"token_type": "DPoP"}), 401),
        (json!({"token_type": "mac"}), 401),
        (json!({"token_type": "N_A"}), 401),
        (json!({"token_type": ""}), 401),
        (json!({"cnf": {"x5t#S256": "bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2"}}), 401),
        (json!({"cnf": {"jkt": KEY, "x5t#S256": "bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2"}}), 401),
        (json!({"token_use": "access_token", "typ": "Bearer"}), 200),
        (json!({"token_use": "refresh_token"}), 401),
        (json!({"typ": "Refresh"}), 401),
        (json!({"typ": "Offline"}), 401),
        (json!({"typ": "ID"}), 401),
        (json!({"token_use": 7}), 503),
        (json!({"client_id": "(none)"}), 503),
        (json!({"client_id": ""}), 503),
        (json!({"client_id": 7}), 503),
        (json!({"sub": ""}), 503),
        (json!({"sub": 7}), 503),
        (json!({"sub": "x".repeat(256)}), 503),
        (json!({"iss": 7}), 503),
        (json!({"aud": 7}), 503),
        (json!({"aud": [ISSUER, 7]}), 503),
        (json!({"token_type": 7}), 503),
        (json!({"scope": ["repo-code:rw"]}), 503),
        (json!({"scope": "repo-code:rw\trepo-issue:r"}), 503),
        (json!({"scope": "repo-code:rw unknown"}), 200),
        (json!({"scope": ""}), 200),
    ] {
        assert_eq!(status_after(described(changes.clone())).await, status, "{changes}");
    }
}

/// RSC-06
#[tokio::test]
async fn any_audience_must_be_asked_for() {
    let api = Api::with(|own| own.audience = ExpectedAudience::Any);
    for audience in ["(none)", "https://other.example"] {
        api.script.always(Ok(described(json!({"aud": audience}))));
        assert_eq!(api.status(TOKEN).await, 200, "{audience}");
    }
    let report = api.client.security_report();
    assert_eq!(report.findings.iter().map(|finding| finding.setting).collect::<Vec<_>>(), ["audience"]);
}

/// RSC-06, NEG-01
#[tokio::test]
async fn a_token_without_a_subject_has_no_user() {
    let api = Api::new();
    // A name for people identifies nobody.
    api.script.always(Ok(described(json!({"sub": "(none)", "username": "alice"}))));
    let token = api.check(TOKEN).await.unwrap();
    assert_eq!(token.subject(), None);
    wa(api.resource.require_subject(&token).unwrap_err(), 403, "insufficient_scope");
    api.script.always(Ok(described(json!({"sub": "app"}))));
    assert_eq!(api.check(TOKEN).await.unwrap().subject().unwrap().as_str(), "app");
    let api = Api::with(|own| own.client_id_as_subject = true);
    api.script.always(Ok(described(json!({"sub": "app"}))));
    assert_eq!(api.check(TOKEN).await.unwrap().subject(), None);
    api.script.always(Ok(described(json!({"sub": "alice"}))));
    assert_eq!(api.check(TOKEN).await.unwrap().subject().unwrap().as_str(), "alice");
}

/// RSC-12, NEG-10
#[tokio::test]
async fn a_kept_answer_is_judged_for_each_route() {
    let api = Api::with(|own| own.time_to_live = std::time::Duration::from_secs(300));
    api.script.always(Ok(described(json!({"scope": "repo-code:r unknown repo-issue:rw x:y:z"}))));
    let read = async |scope: &str, permission| -> Result<(), ResourceError> {
        let token = api.check(TOKEN).await.unwrap();
        api.resource.require(&token, scope, permission, Resource::Private("a"))
    };
    for _ in 0..2 {
        read("repo-code", Permission::Read).await.unwrap();
        wa(read("repo-code", Permission::ReadWrite).await.unwrap_err(), 403, "insufficient_scope");
        read("repo-issue", Permission::ReadWrite).await.unwrap();
        wa(read("account-profile", Permission::Read).await.unwrap_err(), 403, "insufficient_scope");
    }
    assert_eq!(api.script.sent(), 1);
}

/// RSC-12
#[tokio::test]
async fn an_unknown_resource_scope_covers_no_named_resource() {
    let api = Api::new();
    for (changes, public, private) in resource_scopes() {
        api.script.always(Ok(described(changes.clone())));
        let token = api.check(TOKEN).await.unwrap();
        for (resource, is_covered) in [(Resource::Public("a"), public), (Resource::Private("a"), private)] {
            match api.resource.require(&token, "repo-code", Permission::Read, resource) {
                Ok(()) => assert!(is_covered, "{changes} {resource:?}"),
                Err(error) => {
                    assert!(!is_covered, "{changes} {resource:?}");
                    wa(error, 403, "insufficient_scope");
                }
            }
        }
    }
}
