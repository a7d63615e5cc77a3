//! What answers must be, in the words of the checklist.

use serde_json::Value;
use support::world::is_error_character;
use support_servers::http::Answer;

use crate::fapi::fixture::{Fixture, ISSUER};

/// A pair of tokens.
#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    pub(crate) access: String,
    /// Empty where none was given.
    pub(crate) refresh: String,
}

/// `P201`: returns the `request_uri`.
#[track_caller]
pub(crate) fn created(answer: &Answer) -> String {
    assert_eq!(answer.status, 201, "{answer:?}");
    is_private_json(answer);
    let body = answer.json();
    let mut members: Vec<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
    members.sort_unstable();
    assert_eq!(members, ["expires_in", "request_uri"]);
    assert!((5..=31_536_000).contains(&body["expires_in"].as_u64().unwrap()), "{body}");
    let uri = body["request_uri"].as_str().unwrap();
    assert!(uri.starts_with("urn:ietf:params:oauth:request_uri:") && letters(uri) > 96.0, "{uri}");
    uri.to_owned()
}

/// `OK` of the token endpoint.
#[track_caller]
pub(crate) fn ok(answer: &Answer) -> Tokens {
    assert_eq!(answer.status, 200, "{answer:?}");
    is_private_json(answer);
    let body = answer.json();
    assert_eq!(body["token_type"], "DPoP");
    assert!(body["expires_in"].is_u64(), "{body}");
    for foreign in ["id_token", "sub", "error"] {
        assert_eq!(body[foreign], Value::Null, "{body}");
    }
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let tokens = Tokens { access: text("access_token"), refresh: text("refresh_token") };
    assert!(letters(&tokens.access) >= 128.0, "{body}");
    tokens
}

/// `E400(x)`.
#[track_caller]
pub(crate) fn e400(answer: &Answer, error: &str) {
    assert_eq!((answer.status, answer.json()["error"].as_str()), (400, Some(error)), "{answer:?}");
    is_private_json(answer);
    let body = answer.json();
    let description = body["error_description"].as_str().expect("a description");
    assert!(!description.is_empty() && description.bytes().all(is_error_character), "{description}");
}

/// `EIC`: Basic is switched off here, so there is no 401.
#[track_caller]
pub(crate) fn eic(answer: &Answer) {
    e400(answer, "invalid_client");
    assert_eq!(answer.json()["error_description"], "client authentication failed");
}

/// `EDP`.
#[track_caller]
pub(crate) fn edp(answer: &Answer) {
    e400(answer, "invalid_dpop_proof");
}

/// `WD(x)`.
#[track_caller]
pub(crate) fn wd(answer: &Answer, error: &str) {
    assert_eq!(answer.status, 401, "{answer:?}");
    let challenge = answer.header("www-authenticate").expect("one challenge");
    assert!(challenge.starts_with("DPoP ") && challenge.contains("algs=\"ES256 PS256 EdDSA Ed25519\""), "{challenge}");
    assert!(challenge.contains(&format!("error=\"{error}\"")), "{challenge}");
}

/// The resource answers, and says when.
#[track_caller]
pub(crate) fn served(fixture: &Fixture, answer: &Answer) {
    assert_eq!(answer.status, 200, "{:?}: {answer:?}", fixture.variant);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert!(answer.header("date").is_some_and(|date| date.ends_with(" GMT")), "{answer:?}");
    assert_eq!(answer.json()["scope"], crate::fapi::fixture::SCOPE);
}

/// `PAGE`, from the error page alone: it has no link.
#[track_caller]
pub(crate) fn page(answer: &Answer) {
    assert_eq!(answer.status, 400, "{answer:?}");
    assert!(answer.header("content-type").unwrap().starts_with("text/html"), "{answer:?}");
    assert_eq!(answer.header("location"), None);
    let text = answer.text();
    assert!(text.contains("cannot be accessed") || text.contains("already been answered"), "{text}");
}

/// The parameters of a redirect to that address, which may have its own query.
#[track_caller]
pub(crate) fn redirected(answer: &Answer, to: &str) -> Vec<(String, String)> {
    assert_eq!(answer.status, 303, "{answer:?}");
    let location = answer.header("location").unwrap();
    let separator = if to.contains('?') { '&' } else { '?' };
    let added = location.strip_prefix(&format!("{to}{separator}")).unwrap_or_else(|| panic!("{location}"));
    assert!(!location.contains('#'), "{location}");
    let parameters: Vec<(String, String)> = serde_urlencoded::from_str(added).unwrap();
    assert_eq!(parameter(&parameters, "iss"), Some(ISSUER));
    parameters
}

/// The value of the only parameter of that name.
pub(crate) fn parameter<'p>(parameters: &'p [(String, String)], name: &str) -> Option<&'p str> {
    let mut values = parameters.iter().filter(|(own, _)| own == name).map(|(_, value)| value.as_str());
    let first = values.next();
    assert!(values.next().is_none(), "{name} twice");
    first
}

/// Kept nowhere, and JSON.
#[track_caller]
fn is_private_json(answer: &Answer) {
    assert!(answer.header("content-type").unwrap().starts_with("application/json"), "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

/// The bits of a text as the suite estimates them: by how often each character is in it.
pub(crate) fn letters(text: &str) -> f64 {
    let length = text.len() as f64;
    let count = |wanted: char| text.chars().filter(|own| *own == wanted).count() as f64;
    text.chars().map(|own| -(count(own) / length).log2()).sum()
}
