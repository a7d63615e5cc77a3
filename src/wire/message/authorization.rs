//! The authorization request and its two responses [RFC 6749 section 4.1].

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::secret::AuthorizationCode;
use crate::secret::pkce::CodeChallenge;
use crate::wire::message::form::{self, FormError, optional, redacted, required};

/// The request that the user's browser sends to the authorization endpoint [RFC 6749 section 4.1.1].
///
/// # Examples
///
/// ```
/// use grantor::wire::message::AuthorizationRequest;
///
/// let request = AuthorizationRequest::new("s6BhdRkqt3").scope("repo-code:r").state("xyz");
/// let query = "response_type=code&client_id=s6BhdRkqt3&scope=repo-code%3Ar&state=xyz";
/// assert_eq!(request.to_query()?, query);
/// # Ok::<(), grantor::wire::message::FormError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuthorizationRequest {
    /// The requested response type; the server supports only `code`.
    #[serde(with = "required")]
    pub response_type: String,
    /// The id of the client.
    #[serde(with = "required")]
    pub client_id: String,
    /// Where the response is sent; the registered URI if absent.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub redirect_uri: Option<String>,
    /// The scopes that the client requests; everything registered for it if absent.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// A value bound to the user's session, which the response repeats [RFC 6749 section 10.12].
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The text of a [`CodeChallenge`] [RFC 7636 section 4.3].
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub code_challenge: Option<String>,
    /// How the challenge was computed, [`CodeChallenge::METHOD`] [RFC 7636 section 4.3].
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub code_challenge_method: Option<String>,
}

impl AuthorizationRequest {
    /// Creates a request for a code, without optional parameters.
    #[must_use]
    pub fn new(client_id: impl Into<String>) -> Self {
        Self {
            response_type: "code".to_owned(),
            client_id: client_id.into(),
            redirect_uri: None,
            scope: None,
            state: None,
            code_challenge: None,
            code_challenge_method: None,
        }
    }

    /// Sets the URI that the response is sent to [RFC 6749 section 3.1.2].
    #[must_use]
    pub fn redirect_uri(mut self, uri: impl Into<String>) -> Self {
        self.redirect_uri = Some(uri.into());
        self
    }

    /// Sets the requested scopes, separated by one space [RFC 6749 section 3.3].
    #[must_use]
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.scope = Some(scope.into());
        self
    }

    /// Sets the value that the response repeats [RFC 6749 section 10.12].
    #[must_use]
    pub fn state(mut self, state: impl Into<String>) -> Self {
        self.state = Some(state.into());
        self
    }

    /// Sets the challenge of a verifier, and its method [RFC 7636 section 4.3].
    #[must_use]
    pub fn code_challenge(mut self, challenge: &CodeChallenge) -> Self {
        self.code_challenge = Some(challenge.as_str().to_owned());
        self.code_challenge_method = Some(CodeChallenge::METHOD.to_owned());
        self
    }

    /// Returns the query that follows the `?` of the authorization endpoint's URI.
    ///
    /// # Errors
    ///
    /// [`FormError::Unwritable`] if serde cannot write it. No value of this type causes this.
    pub fn to_query(&self) -> Result<String, FormError> {
        form::write(self)
    }
}

impl fmt::Debug for AuthorizationRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthorizationRequest")
            .field("response_type", &self.response_type)
            .field("client_id", &self.client_id)
            .field("redirect_uri", &self.redirect_uri)
            .field("scope", &self.scope)
            .field("state", &redacted(self.state.as_ref()))
            .field("code_challenge", &self.code_challenge)
            .field("code_challenge_method", &self.code_challenge_method)
            .finish()
    }
}

/// The response at the redirect URI if the user agreed [RFC 6749 section 4.1.2].
///
/// # Security
///
/// Before it uses the code, a client must compare `state` with the one it sent, and `iss` with the issuer of the server
/// that it sent the request to [RFC 9207 section 2.4].
#[derive(Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuthorizationResponse {
    /// The code that the client exchanges for tokens.
    #[serde(with = "required")]
    pub code: AuthorizationCode,
    /// The state of the request, if it had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The issuer that sends the response [RFC 9207 section 2].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iss: Option<String>,
}

impl AuthorizationResponse {
    /// Parses the query of the redirect URI, without its `?`.
    ///
    /// # Errors
    ///
    /// [`FormError::Unreadable`] if there is no code, or if a known parameter is repeated.
    pub fn from_query(query: &str) -> Result<Self, FormError> {
        form::read(query)
    }
}

impl fmt::Debug for AuthorizationResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthorizationResponse")
            .field("code", &self.code)
            .field("state", &redacted(self.state.as_ref()))
            .field("iss", &self.iss)
            .finish()
    }
}

/// The response at the redirect URI if there is no code [RFC 6749 section 4.1.2.1].
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuthorizationErrorResponse {
    /// The error code, for example `access_denied`.
    #[serde(with = "required")]
    pub error: String,
    /// A sentence for the developer of the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_description: Option<String>,
    /// A page about the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_uri: Option<String>,
    /// The state of the request, if it had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The issuer that sends the response [RFC 9207 section 2].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iss: Option<String>,
}

impl AuthorizationErrorResponse {
    /// Parses the query of the redirect URI, without its `?`.
    ///
    /// # Errors
    ///
    /// [`FormError::Unreadable`] if there is no error code, or if a known parameter is repeated.
    pub fn from_query(query: &str) -> Result<Self, FormError> {
        form::read(query)
    }
}

impl fmt::Debug for AuthorizationErrorResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthorizationErrorResponse")
            .field("error", &self.error)
            .field("error_description", &self.error_description)
            .field("error_uri", &self.error_uri)
            .field("state", &redacted(self.state.as_ref()))
            .field("iss", &self.iss)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::pkce::CodeVerifier;

    #[test]
    fn minimal_request_has_no_other_parameter() {
        assert_eq!(AuthorizationRequest::new("c1").to_query().unwrap(), "response_type=code&client_id=c1");
    }

    #[test]
    fn full_request_comes_back_from_its_query() {
        let verifier = CodeVerifier::from_random_bytes(&[7; 32]);
        let request = AuthorizationRequest::new("c1")
            .redirect_uri("https://client.example/cb?x=1&y=2")
            .scope("repo-code:r repo-issue:rw")
            .state("a&b=c+d %\"\u{e9}")
            .code_challenge(&verifier.challenge());
        let query = request.to_query().unwrap();
        assert!(query.contains("&state=a%26b%3Dc%2Bd+%25%22%C3%A9&"), "{query}");
        assert!(query.ends_with("&code_challenge_method=S256"), "{query}");
        assert_eq!(serde_urlencoded::from_str::<AuthorizationRequest>(&query).unwrap(), request);
    }

    #[test]
    fn request_parameters_without_a_value_count_as_absent() {
        let read = serde_urlencoded::from_str::<AuthorizationRequest>;
        assert_eq!(
            read("response_type=code&client_id=c1&state=&scope=&unknown=1&unknown=2").unwrap(),
            AuthorizationRequest::new("c1")
        );
        for query in ["response_type=code", "response_type=code&client_id=", "response_type=&client_id=c1"] {
            assert!(read(query).is_err(), "{query}");
        }
    }

    #[test]
    fn answers_are_read_from_the_query() {
        let answer = AuthorizationResponse::from_query("x=1&code=SplxlO&state=a+b%26&iss=https%3A%2F%2Fas.example");
        let answer = answer.unwrap();
        assert_eq!(answer.code.expose(), "SplxlO");
        assert_eq!(answer.state.as_deref(), Some("a b&"));
        assert_eq!(answer.iss.as_deref(), Some("https://as.example"));

        let answer = AuthorizationErrorResponse::from_query("error=access_denied&state=s").unwrap();
        assert_eq!((answer.error.as_str(), answer.state.as_deref()), ("access_denied", Some("s")));
        assert_eq!(serde_urlencoded::to_string(&answer).unwrap(), "error=access_denied&state=s");
    }

    #[test]
    fn answers_without_or_with_a_second_code_are_refused() {
        for query in ["", "state=s", "code=", "code=a&code=b", "code=a&state=s&state=s"] {
            assert_eq!(AuthorizationResponse::from_query(query).map(drop), Err(FormError::Unreadable), "{query}");
        }
        for query in ["code=a", "error=", "error=a&error=b"] {
            assert_eq!(AuthorizationErrorResponse::from_query(query), Err(FormError::Unreadable), "{query}");
        }
    }

    #[test]
    fn debug_shows_neither_code_nor_state() {
        let request = AuthorizationRequest::new("c1").state("hidden");
        let answer = AuthorizationResponse::from_query("code=hidden&state=hidden").unwrap();
        let error = AuthorizationErrorResponse::from_query("error=e&state=hidden").unwrap();
        for shown in [format!("{request:?}"), format!("{answer:?}"), format!("{error:?}")] {
            assert!(!shown.contains("hidden") && shown.contains("state: Some([redacted])"), "{shown}");
        }
    }
}
