//! What holds for every answer, whatever the request.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use grantor::wire::Response;
use serde_json::Value;

use support::world::is_error_character;

/// The error descriptions so far: fixed sentences, with nothing of a request.
static DESCRIPTIONS: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
/// More than there are. Descriptions with words of a request would make thousands.
const SENTENCES: usize = 60;

/// Asserts that the status is one of those and no failure, that headers and body are well-formed, and that nothing in
/// them can come from the request.
pub(super) fn check(response: &Response, statuses: &[u16]) {
    let status = response.status();
    assert!(statuses.contains(&status), "{status} {}", response.body().escape_ascii());
    let mut names = BTreeSet::new();
    for (name, value) in response.headers() {
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{name:?}");
        // A challenge for each scheme of tokens: one for bearer tokens, one for those bound to a key.
        let scheme = if name == "WWW-Authenticate" { value.split(' ').next() } else { None };
        assert!(names.insert((name.to_ascii_lowercase(), scheme)), "{name} comes twice");
        assert!(value.bytes().all(|byte| (0x20..=0x7e).contains(&byte)), "{name}: {value:?}");
        assert_eq!(value.trim(), value, "{name}");
    }
    if status == 405 {
        assert!(response.header("Allow").is_some());
    }
    if response.header("Location").is_some() {
        assert!(matches!(status, 302 | 303), "{status}");
        assert_eq!(response.body(), b"");
        assert_eq!(response.header("Referrer-Policy"), Some("no-referrer"));
    }
}

pub(super) fn is_not_stored(response: &Response) {
    assert_eq!(response.header("Cache-Control"), Some("no-store"));
}

/// The one object in the body, of visible characters without markup.
pub(super) fn json(response: &Response) -> Value {
    let media_type = response.header("Content-Type").unwrap();
    assert!(matches!(media_type, "application/json;charset=UTF-8" | "application/json"), "{media_type}");
    let plain = |byte: &u8| matches!(byte, 0x20..=0x7e) && !matches!(byte, b'<' | b'>' | b'\\');
    assert!(response.body().iter().all(plain), "{}", response.body().escape_ascii());
    let json: Value = serde_json::from_slice(response.body()).unwrap();
    assert!(json.is_object(), "{json}");
    json
}

/// Returns the error in the body, which a fixed sentence describes.
pub(super) fn error(response: &Response) -> String {
    let json = json(response);
    for name in json.as_object().unwrap().keys() {
        assert!(matches!(name.as_str(), "error" | "error_description" | "error_uri"), "{json}");
    }
    let description = json["error_description"].as_str().unwrap();
    is_fixed_sentence(description);
    if response.status() == 401 {
        assert_eq!(response.header("WWW-Authenticate"), Some("Basic realm=\"https://auth.example\""));
    }
    json["error"].as_str().unwrap().to_owned()
}

pub(super) fn is_fixed_sentence(description: &str) {
    assert!(!description.is_empty() && description.bytes().all(is_error_character), "{description:?}");
    let mut descriptions = DESCRIPTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    descriptions.insert(description.to_owned());
    assert!(descriptions.len() <= SENTENCES, "descriptions are made of requests: {descriptions:#?}");
}

/// Asserts that the body is the error page, which is the same for every request.
pub(super) fn page(response: &Response) {
    assert_eq!(response.header("Content-Type"), Some("text/html;charset=UTF-8"));
    assert_eq!(response.header("X-Frame-Options"), Some("DENY"));
    assert_eq!(response.header("X-Content-Type-Options"), Some("nosniff"));
    assert!(response.header("Content-Security-Policy").unwrap().starts_with("default-src 'none'"));
    assert_eq!(response.header("Location"), None);
    static PAGE: Mutex<Option<Vec<u8>>> = Mutex::new(None);
    let mut page = PAGE.lock().unwrap_or_else(PoisonError::into_inner);
    let first = page.get_or_insert_with(|| response.body().to_vec());
    assert_eq!(response.body(), first, "every page is the same");
    assert!(first.len() < 2000 && String::from_utf8_lossy(first).contains("cannot be accessed"));
}
