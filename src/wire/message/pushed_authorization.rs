//! A pushed authorization request, its response, and the query that the browser then sends [RFC 9126 section 2].

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::secret::ClientSecret;
use crate::wire::message::authorization::AuthorizationRequest;
use crate::wire::message::form::{self, FormError, Redacted, optional, required};

/// The request that a client sends to the endpoint for pushed requests [RFC 9126 section 2.1].
///
/// # Examples
///
/// ```
/// use grantor::wire::message::{AuthorizationRequest, PushedAuthorizationRequest};
///
/// let request = PushedAuthorizationRequest::new(AuthorizationRequest::new("s6BhdRkqt3").state("xyz"));
/// assert_eq!(request.to_form()?, "response_type=code&client_id=s6BhdRkqt3&state=xyz");
/// # Ok::<(), grantor::wire::message::FormError>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PushedAuthorizationRequest {
    /// The request itself.
    #[serde(flatten)]
    pub request: AuthorizationRequest,
    /// The secret of the client, unless HTTP Basic contains it.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<ClientSecret>,
}

impl PushedAuthorizationRequest {
    /// Creates a request that pushes `request`.
    #[must_use]
    pub const fn new(request: AuthorizationRequest) -> Self {
        Self { request, client_secret: None }
    }

    /// Authenticates the client in the form [RFC 6749 section 2.3.1].
    #[must_use]
    pub fn client_secret(mut self, secret: ClientSecret) -> Self {
        self.client_secret = Some(secret);
        self
    }

    /// Returns the body of the request, `application/x-www-form-urlencoded`. It may contain a secret.
    ///
    /// # Errors
    ///
    /// [`FormError::Unwritable`] if serde cannot write it, which no value of this type causes.
    pub fn to_form(&self) -> Result<String, FormError> {
        form::write(self)
    }
}

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

impl PushedAuthorizationResponse {
    /// Returns the query with which the client sends the browser to the authorization endpoint [RFC 9126 section 4].
    ///
    /// # Errors
    ///
    /// [`FormError::Unwritable`] if serde cannot write it, which no value of this type causes.
    pub fn to_query(&self, client_id: &str) -> Result<String, FormError> {
        form::write(&[("client_id", client_id), ("request_uri", &self.request_uri)])
    }
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
    fn a_push_comes_back_from_its_form() {
        let request = AuthorizationRequest::new("c1").scope("repo-code:r").state("a b");
        let push = PushedAuthorizationRequest::new(request.clone()).client_secret(ClientSecret::new("hidden"));
        let form = push.to_form().unwrap();
        assert_eq!(form, "response_type=code&client_id=c1&scope=repo-code%3Ar&state=a+b&client_secret=hidden");
        let again: PushedAuthorizationRequest = serde_urlencoded::from_str(&form).unwrap();
        assert_eq!(again.request, request);
        assert_eq!(again.client_secret.as_ref().map(ClientSecret::expose), Some("hidden"));
        assert!(!format!("{push:?}").contains("hidden"));
    }

    #[test]
    fn an_answer_becomes_the_query_of_a_browser() {
        let json = r#"{"request_uri":"urn:ietf:params:oauth:request_uri:abc","expires_in":60}"#;
        let answer: PushedAuthorizationResponse = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&answer).unwrap(), json);
        let query = answer.to_query("c1").unwrap();
        assert_eq!(query, "client_id=c1&request_uri=urn%3Aietf%3Aparams%3Aoauth%3Arequest_uri%3Aabc");
        assert!(!format!("{answer:?}").contains("abc"));
        assert!(serde_json::from_str::<PushedAuthorizationResponse>(r#"{"request_uri":"","expires_in":60}"#).is_err());
    }
}
