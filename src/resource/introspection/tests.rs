//! The judgement of answers, and settings for the tests of this folder.

use std::task::{Context, Poll};

use async_trait::async_trait;
use futures::task::noop_waker;
use serde_json::{Value, json};

use super::messages::judge;
use super::*;
use crate::base::clock::Timestamp;
use crate::scope::{Resource, ResourceScope};
use crate::wire::fetch::{FetchResponse, TransportRequest};

const ISSUER: &str = "https://auth.example";
const API: &str = "https://orders.example";

pub(super) fn settings() -> IntrospectionSettings {
    let audience = ExpectedAudience::Is(API.to_owned());
    let secret = ClientSecret::new("a secret");
    IntrospectionSettings::new(format!("{ISSUER}/oauth2/introspect"), "orders-api", secret, ISSUER, audience)
}

/// A description with changed members; `null` leaves one out.
fn described(changes: Value) -> String {
    let mut answer = json!({"active": true, "client_id": "app", "aud": API});
    let members = answer.as_object_mut().unwrap();
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            members.remove(name);
        } else {
            members.insert(name.clone(), value.clone());
        }
    }
    answer.to_string()
}

fn judged_by(settings: &IntrospectionSettings, body: &str) -> Result<Answer, IntrospectionError> {
    let mut response = FetchResponse::new(200, body);
    response.content_type = Some("application/json".to_owned());
    judge(&response, settings)
}

#[track_caller]
fn facts(changes: Value) -> Arc<TokenFacts> {
    match judged_by(&settings(), &described(changes.clone())) {
        Ok(Answer::Described(facts)) => facts,
        other => panic!("{changes}: {other:?}"),
    }
}

#[track_caller]
fn refused(changes: Value) -> TokenRefusal {
    match judged_by(&settings(), &described(changes.clone())) {
        Ok(Answer::Refused(refusal)) => refusal,
        other => panic!("{changes}: {other:?}"),
    }
}

#[track_caller]
fn failure(body: &str) -> String {
    judged_by(&settings(), body).expect_err(body).to_string()
}

/// RSC-12
#[test]
fn the_facts_of_an_answer_are_kept() {
    let facts = facts(json!({
        "sub": "alice", "scope": "a unknown", "iss": ISSUER, "aud": ["x", API], "token_type": "BEARER",
        "iat": 5, "nbf": 6, "exp": 9, "resource_scope": "specified", "resources": ["b", "a"], "username": 7,
    }));
    assert_eq!(
        (facts.client_id.as_str(), facts.subject.as_ref().map(|subject| subject.as_str())),
        ("app", Some("alice"))
    );
    assert_eq!((&*facts.scope, facts.key), ("a unknown", None));
    let at = |seconds| Some(Timestamp::from_seconds(seconds));
    assert_eq!((facts.issued, facts.expires), (at(5), at(9)));
    assert_eq!(facts.resource_scope, ResourceScope::specified(["a", "b"]).unwrap());
    let refused_at = |seconds| facts.refused_at(Timestamp::from_seconds(seconds));
    assert_eq!(
        [5, 6, 8, 9].map(refused_at),
        [Some(TokenRefusal::NotYetValid), None, None, Some(TokenRefusal::Expired)]
    );
}

/// RSC-12
#[test]
fn unknown_resources_cover_nothing_that_is_named() {
    let scope = |changes| facts(changes).resource_scope.clone();
    assert_eq!(scope(json!({"resource_scope": "all"})), ResourceScope::All);
    assert_eq!(scope(json!({"resource_scope": "public"})), ResourceScope::Public);
    let many = (0..101).map(|number| number.to_string()).collect::<Vec<_>>();
    for changes in [
        json!({}),
        json!({"resources": ["a"]}),
        json!({"resource_scope": "every", "resources": ["a"]}),
        json!({"resource_scope": "All"}),
        json!({"resource_scope": ""}),
        json!({"resource_scope": "specified"}),
        json!({"resource_scope": "specified", "resources": []}),
        json!({"resource_scope": "specified", "resources": many}),
        json!({"resource_scope": "specified", "resources": ["a", ""]}),
    ] {
        let scope = scope(changes.clone());
        assert!(!scope.permits(Resource::Public("a")) && !scope.permits(Resource::Private("a")), "{changes}");
    }
}

/// RSC-06
#[test]
fn a_token_bound_in_another_way_is_refused() {
    let jkt = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I";
    for token_type in [json!("DPoP"), json!("dpop"), json!("Bearer"), Value::Null] {
        let facts = facts(json!({"cnf": {"jkt": jkt}, "token_type": token_type}));
        assert_eq!(facts.key, Some(jkt.parse().unwrap()), "{token_type}");
    }
    assert_eq!(refused(json!({"token_type": "DPoP"})), TokenRefusal::TokenType);
    for cnf in [json!({}), json!({"x5t#S256": "A"}), json!({"JKT": jkt})] {
        assert_eq!(refused(json!({"cnf": cnf})), TokenRefusal::UnknownBinding, "{cnf}");
    }
    for cnf in [json!({"jkt": "short"}), json!({"jkt": 7}), json!(jkt), json!([jkt]), json!(true)] {
        let changes = described(json!({"cnf": cnf}));
        assert_eq!(failure(&changes), "the member cnf of the answer of the introspection endpoint is malformed");
    }
}

/// RSC-04, RSC-05, RSC-06, NEG-14
#[test]
fn a_member_of_another_type_is_a_failure_and_not_an_absent_one() {
    let wrong = [json!(7.5), json!(true), json!({"a": "b"}), json!([7])];
    let text = |name| (name, vec![json!(7), json!(["x"])]);
    let time = |name| (name, vec![json!("9"), json!(["9"]), json!(1e30), json!(-1), json!(1.0)]);
    for (name, more) in [
        text("client_id"),
        text("sub"),
        text("iss"),
        text("token_type"),
        text("scope"),
        text("resource_scope"),
        time("exp"),
        time("nbf"),
        time("iat"),
        ("aud", vec![json!(7), json!(["x", 7])]),
        ("resources", vec![json!("x"), json!(["x", 7])]),
    ] {
        let malformed = format!("the member {name} of the answer of the introspection endpoint is malformed");
        for value in wrong.iter().chain(&more) {
            assert_eq!(failure(&described(json!({ name: value }))), malformed, "{name}: {value}");
        }
        let null = described(json!({ name: "null" })).replace("\"null\"", "null");
        assert_eq!(failure(&null), malformed, "{null}");
    }
    for empty in ["client_id", "sub"] {
        failure(&described(json!({ empty: "" })));
    }
    assert_eq!(
        failure(&described(json!({"client_id": null}))),
        "the answer of the introspection endpoint lacks the member client_id"
    );
    // Nothing of another issuer or audience hides a failure.
    failure(&described(json!({"iss": "https://other.example", "aud": null, "exp": "9"})));
}

/// RSC-05
#[test]
fn late_times_are_kept_as_the_latest() {
    let end = facts(json!({"exp": 9_007_199_254_740_992_u64})).expires;
    assert_eq!(end, Some(Timestamp::from_seconds(u32::MAX)));
}

/// RSC-06
#[test]
fn a_subject_that_is_the_client_is_no_user_where_the_option_says_so() {
    let subject = |sub: &str, is_on| {
        let mut settings = settings();
        settings.client_id_as_subject = is_on;
        let Ok(Answer::Described(facts)) = judged_by(&settings, &described(json!({"sub": sub}))) else {
            panic!("{sub}")
        };
        facts.subject.as_ref().map(ToString::to_string)
    };
    assert_eq!(subject("app", false).as_deref(), Some("app"));
    assert_eq!(subject("app", true), None);
    assert_eq!(subject("APP", true).as_deref(), Some("APP"));
    assert_eq!(subject("alice", true).as_deref(), Some("alice"));
}

/// RSC-04
#[test]
fn members_of_an_inactive_answer_are_not_read() {
    let answer = judged_by(&settings(), r#"{"active":false,"exp":"x","client_id":7}"#);
    assert!(matches!(answer, Ok(Answer::Refused(TokenRefusal::Inactive))), "{answer:?}");
    assert_eq!(failure(r#"{"active":false,"exp":1,"exp":1}"#), failure("[]"));
}

/// RSC-13: what counts against the bound grows with the answer.
#[test]
fn large_answers_count_as_large() {
    let small = facts(json!({})).bytes();
    let names = (0..100).map(|number| format!("{number:040}")).collect::<Vec<_>>();
    let large = facts(json!({"scope": "x".repeat(1000), "resource_scope": "specified", "resources": names})).bytes();
    assert!(large >= small + 1000 + 100 * 40, "{small} {large}");
}

/// Never answers a request, or cannot send one.
#[derive(Debug)]
enum Broken {
    Silent,
    Unreachable,
}

#[async_trait]
impl Transport for Broken {
    async fn send(&self, _: &TransportRequest<'_>) -> Result<FetchResponse, FetchError> {
        match self {
            Self::Silent => std::future::pending().await,
            Self::Unreachable => Err(FetchError::new(FetchErrorKind::Connection)),
        }
    }
}

/// RSC-08, RSC-13
#[test]
fn look_ups_in_progress_are_those_that_checks_wait_for() {
    let clients = [Broken::Silent, Broken::Unreachable];
    let [silent, unreachable] = clients.map(|transport| ResourceClient::new(settings(), transport).unwrap());
    let tokens: Vec<_> = (0..1000).map(|number| format!("token-{number}")).collect();
    let waker = noop_waker();
    let mut context = Context::from_waker(&waker);
    let in_progress = |client: &ResourceClient| client.0.look_ups().in_progress();
    let mut waiting = Vec::new();
    for token in &tokens {
        assert!(Box::pin(unreachable.look_up(token.as_bytes())).as_mut().poll(&mut context).is_ready());
        let mut check = Box::pin(silent.look_up(token.as_bytes()));
        if check.as_mut().poll(&mut context).is_pending() {
            waiting.push(check);
        }
    }
    assert_eq!((waiting.len(), in_progress(&silent), in_progress(&unreachable)), (256, 256, 0));
    drop(waiting);
    for token in &tokens {
        let check = Box::pin(silent.look_up(token.as_bytes())).as_mut().poll(&mut context).map(|_| ());
        assert_eq!(check, Poll::Pending);
    }
    assert_eq!(in_progress(&silent), 1, "the last one, which nothing has replaced");
}
