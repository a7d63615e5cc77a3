//! The response to a pushed authorization request [RFC 9126 section 2].

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::wire::message::form::{Redacted, required};

/// The response to a pushed request [RFC 9126 section 2.2].
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PushedAuthorizationResponse {
    /// The `request_uri`, which represents the request at the authorization endpoint.
    #[serde(with = "required")]
    pub request_uri: String,
    /// Seconds until it expires.
    pub expires_in: u32,
}

impl fmt::Debug for PushedAuthorizationResponse {
    /// Leaves out the `request_uri`, since anyone who has it can open the request in a browser.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushedAuthorizationResponse")
            .field("request_uri", &Redacted)
            .field("expires_in", &self.expires_in)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_back() {
        let json = r#"{"request_uri":"urn:ietf:params:oauth:request_uri:abc","expires_in":60}"#;
        let answer: PushedAuthorizationResponse = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&answer).unwrap(), json);
        assert!(!format!("{answer:?}").contains("abc"));
        assert!(serde_json::from_str::<PushedAuthorizationResponse>(r#"{"request_uri":"","expires_in":60}"#).is_err());
    }
}
