//! The error response of the endpoints that clients call directly [RFC 6749 section 5.2].

use serde::{Deserialize, Serialize};

use crate::wire::message::form;

/// An error response: why a request was refused [RFC 6749 section 5.2].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ErrorResponse {
    /// The error code, for example `invalid_grant`.
    #[serde(deserialize_with = "form::required_text")]
    pub error: String,
    /// A sentence for the developer of the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_description: Option<String>,
    /// A page about the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_uri: Option<String>,
}

impl ErrorResponse {
    /// Creates a response with only this error code.
    #[must_use]
    pub fn new(error: impl Into<String>) -> Self {
        Self { error: error.into(), error_description: None, error_uri: None }
    }

    /// Adds a sentence for the developer of the client.
    #[must_use]
    pub fn error_description(mut self, description: impl Into<String>) -> Self {
        self.error_description = Some(description.into());
        self
    }

    /// Adds a page about the error.
    #[must_use]
    pub fn error_uri(mut self, uri: impl Into<String>) -> Self {
        self.error_uri = Some(uri.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_members_are_left_out_and_the_rest_comes_back() {
        let cases = [
            (ErrorResponse::new("invalid_request"), r#"{"error":"invalid_request"}"#),
            (
                ErrorResponse::new("invalid_client")
                    .error_description("No such client.")
                    .error_uri("https://e.example"),
                r#"{"error":"invalid_client","error_description":"No such client.","error_uri":"https://e.example"}"#,
            ),
        ];
        for (answer, json) in cases {
            assert_eq!(serde_json::to_string(&answer).unwrap(), json);
            assert_eq!(serde_json::from_str::<ErrorResponse>(json).unwrap(), answer);
        }
    }

    #[test]
    fn unknown_members_are_ignored_and_an_error_code_is_needed() {
        let read = serde_json::from_str::<ErrorResponse>;
        assert_eq!(read(r#"{"error":"e","x":{"y":[1]}}"#).unwrap(), ErrorResponse::new("e"));
        assert!(read("{}").is_err());
        assert!(read(r#"{"error":""}"#).is_err());
    }
}
