//! The responses to requests for tokens, and errors.

use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::base::ValueError;
use crate::secret::{AccessToken, RefreshToken};
use crate::wire::message::form::{optional, required};

/// A pair of tokens, with their lifetime and scopes [RFC 6749 section 5.1].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TokenResponse {
    /// The token that grants access to resources.
    #[serde(with = "required")]
    pub access_token: AccessToken,
    /// How the token is used.
    pub token_type: TokenType,
    /// The lifetime of the access token in seconds, from the time of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<u64>,
    /// The token that the client exchanges for the next pair.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<RefreshToken>,
    /// The scopes that were granted, separated by one space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

impl TokenResponse {
    /// Creates a response with only an access token.
    #[must_use]
    pub const fn new(access_token: AccessToken, token_type: TokenType) -> Self {
        Self { access_token, token_type, expires_in: None, refresh_token: None, scope: None }
    }

    /// Sets the lifetime of the access token in seconds.
    #[must_use]
    pub const fn expires_in(mut self, seconds: u64) -> Self {
        self.expires_in = Some(seconds);
        self
    }

    /// Sets the token for the next pair.
    #[must_use]
    pub fn refresh_token(mut self, refresh_token: RefreshToken) -> Self {
        self.refresh_token = Some(refresh_token);
        self
    }

    /// Sets the scopes that were granted.
    #[must_use]
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.scope = Some(scope.into());
        self
    }
}

/// How an access token is used [RFC 6749 section 7.1].
///
/// It is read in any letter case, and written in the spelling of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TokenType {
    /// Anyone who has the token may use it [RFC 6750].
    Bearer,
    /// The token is bound to a key: each use needs a proof that is signed with it [RFC 9449 section 5].
    Dpop,
    /// Each use of the token is signed. This type never became a standard.
    Mac,
}

impl TokenType {
    /// Returns the name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bearer => "bearer",
            Self::Dpop => "DPoP",
            Self::Mac => "mac",
        }
    }
}

impl FromStr for TokenType {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        [Self::Bearer, Self::Dpop, Self::Mac]
            .into_iter()
            .find(|token_type| token_type.as_str().eq_ignore_ascii_case(text))
            .ok_or(UNKNOWN_TYPE)
    }
}

impl Serialize for TokenType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for TokenType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// > The client MUST NOT use an access token if it does not understand the token type.
/// > [RFC 6749 section 7.1]
const UNKNOWN_TYPE: ValueError = ValueError("the token type is unknown; bearer, DPoP and mac are accepted");

/// An error response: why a request was refused [RFC 6749 section 5.2].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ErrorResponse {
    /// The error code, for example `invalid_grant`.
    #[serde(with = "required")]
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

    /// RFC 6749 section 5.1.
    const EXAMPLE: &str = r#"{
        "access_token":"2YotnFZFEjr1zCsicMWpAA",
        "token_type":"example",
        "expires_in":3600,
        "refresh_token":"tGzv3JOkF0XG5Qx2TlKWIA",
        "example_parameter":"example_value"
    }"#;

    #[test]
    fn example_of_rfc_6749_is_read_once_its_token_type_is_known() {
        assert!(serde_json::from_str::<TokenResponse>(EXAMPLE).is_err());
        let known = EXAMPLE.replace(r#""example","#, r#""Bearer","#);
        let answer: TokenResponse = serde_json::from_str(&known).unwrap();
        assert_eq!(answer.access_token.expose(), "2YotnFZFEjr1zCsicMWpAA");
        assert_eq!(answer.token_type, TokenType::Bearer);
        assert_eq!(answer.expires_in, Some(3600));
        assert_eq!(answer.refresh_token.as_ref().unwrap().expose(), "tGzv3JOkF0XG5Qx2TlKWIA");
        assert_eq!(answer.scope, None);
    }

    #[test]
    fn members_are_in_order_and_times_are_integers() {
        let answer = TokenResponse::new(AccessToken::new("a"), TokenType::Bearer)
            .expires_in(28800)
            .refresh_token(RefreshToken::new("r"))
            .scope("repo-code:r");
        let json = serde_json::to_string(&answer).unwrap();
        assert_eq!(
            json,
            r#"{"access_token":"a","token_type":"bearer","expires_in":28800,"refresh_token":"r","scope":"repo-code:r"}"#
        );
        let again: TokenResponse = serde_json::from_str(&json).unwrap();
        assert_eq!(serde_json::to_string(&again).unwrap(), json);
    }

    #[test]
    fn absent_members_are_left_out_and_null_is_read_as_absent() {
        let json = r#"{"access_token":"a","token_type":"mac"}"#;
        let answer = TokenResponse::new(AccessToken::new("a"), TokenType::Mac);
        assert_eq!(serde_json::to_string(&answer).unwrap(), json);
        let nulls = r#"{"access_token":"a","token_type":"mac","expires_in":null,"refresh_token":null,"scope":null}"#;
        let again: TokenResponse = serde_json::from_str(nulls).unwrap();
        assert_eq!(serde_json::to_string(&again).unwrap(), json);
    }

    #[test]
    fn token_type_is_read_in_any_case_and_written_in_lower_case() {
        let cases = [
            ("bearer", Ok(TokenType::Bearer)),
            ("Bearer", Ok(TokenType::Bearer)),
            ("BEARER", Ok(TokenType::Bearer)),
            ("mac", Ok(TokenType::Mac)),
            ("MAC", Ok(TokenType::Mac)),
            ("mAc", Ok(TokenType::Mac)),
            ("DPoP", Ok(TokenType::Dpop)),
            ("dpop", Ok(TokenType::Dpop)),
            ("dpop+jwt", Err(UNKNOWN_TYPE)),
            ("bearer ", Err(UNKNOWN_TYPE)),
            ("", Err(UNKNOWN_TYPE)),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse(), expected, "{text:?}");
            let read = serde_json::from_value::<TokenType>(text.into()).map_err(|_| UNKNOWN_TYPE);
            assert_eq!(read, expected, "{text:?}");
        }
        assert_eq!(serde_json::to_string(&TokenType::Bearer).unwrap(), r#""bearer""#);
        assert_eq!(serde_json::to_string(&TokenType::Dpop).unwrap(), r#""DPoP""#);
        assert_eq!(serde_json::to_string(&TokenType::Mac).unwrap(), r#""mac""#);
    }

    #[test]
    fn answers_that_are_no_token_response_are_refused() {
        let cases = [
            r#"{"token_type":"bearer"}"#,
            r#"{"access_token":"","token_type":"bearer"}"#,
            r#"{"access_token":null,"token_type":"bearer"}"#,
            r#"{"access_token":"a"}"#,
            r#"{"access_token":"a","token_type":"bearer","expires_in":"3600"}"#,
            r#"{"access_token":"a","token_type":"bearer","expires_in":1.5}"#,
            r#"{"access_token":"a","token_type":"bearer","expires_in":-1}"#,
        ];
        for json in cases {
            assert!(serde_json::from_str::<TokenResponse>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn debug_shows_no_token() {
        let answer = TokenResponse::new(AccessToken::new("hidden"), TokenType::Bearer)
            .refresh_token(RefreshToken::new("hidden"));
        assert!(!format!("{answer:?}").contains("hidden"));
    }

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
