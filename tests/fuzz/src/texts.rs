//! Messages and single values that a program receives: what was read is written so that it is read as the same.

use std::fmt::Debug;

use grantor::id::GrantId;
use grantor::secret::{CodeChallenge, CodeVerifier};
use grantor::wire::message::{ErrorResponse, IntrospectionResponse, Metadata, TokenResponse};
use grantor::{ClientId, Subject};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(super) fn check(input: &[u8]) -> String {
    if let Ok(challenge) = CodeChallenge::parse(input) {
        assert_eq!(challenge.as_str().as_bytes(), input);
        return "challenge".to_owned();
    }
    let Ok(text) = std::str::from_utf8(input) else { return "bytes".to_owned() };
    if let Ok(id) = text.parse::<GrantId>() {
        assert_eq!(id.to_string(), text, "an id has one text");
        return "id".to_owned();
    }
    if let Ok(verifier) = CodeVerifier::new(text) {
        assert!(verifier.challenge().is_met_by(text.as_bytes()) && verifier.expose() == text);
        let other = CodeVerifier::from_random_bytes(&[0; 32]);
        assert_eq!(format!("{verifier:?}"), format!("{other:?}"), "nothing of the verifier is printed");
        return "verifier".to_owned();
    }
    message(text).unwrap_or_else(|| {
        assert!(ClientId::new(text).is_ok_and(|id| id.as_str() == text) || !is_visible(text));
        assert_eq!(Subject::new(text).is_ok(), (1..=255).contains(&text.len()));
        "text".to_owned()
    })
}

fn is_visible(text: &str) -> bool {
    (1..=512).contains(&text.len()) && text.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
}

fn message(text: &str) -> Option<String> {
    if let Ok(answer) = serde_json::from_str::<TokenResponse>(text) {
        let again: TokenResponse = serde_json::from_str(&serde_json::to_string(&answer).unwrap()).unwrap();
        assert_eq!(again.access_token.expose(), answer.access_token.expose());
        assert_eq!((again.expires_in, again.scope), (answer.expires_in, answer.scope));
        return Some("tokens".to_owned());
    }
    let read = is_kept::<IntrospectionResponse>(text).then_some("introspection");
    let read = read.or_else(|| is_kept::<Metadata>(text).then_some("metadata"));
    read.or_else(|| is_kept::<ErrorResponse>(text).then_some("error")).map(str::to_owned)
}

/// Whether a text is such a message; if so, it comes back equal.
fn is_kept<T: Serialize + DeserializeOwned + PartialEq + Debug>(text: &str) -> bool {
    let Ok(message) = serde_json::from_str::<T>(text) else { return false };
    let again: T = serde_json::from_str(&serde_json::to_string(&message).unwrap()).unwrap();
    assert_eq!(again, message);
    true
}
