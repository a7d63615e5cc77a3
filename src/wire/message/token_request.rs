//! The requests to the token endpoint [RFC 6749 sections 4.1.3 and 6].

use serde::{Deserialize, Serialize};

use crate::secret::pkce::CodeVerifier;
use crate::secret::{AuthorizationCode, ClientSecret, RefreshToken};
use crate::wire::message::form::{self, FormError, optional, required};

/// A request for tokens; `grant_type` selects the variant [RFC 6749 section 3.2].
///
/// # Examples
///
/// ```
/// use grantor::wire::message::{TokenRefresh, TokenRequest};
/// use grantor::secret::RefreshToken;
///
/// let token = RefreshToken::new("tGzv3JOkF0XG5Qx2TlKWIA");
/// let request = TokenRequest::from(TokenRefresh::new(token));
/// assert_eq!(request.to_form()?, "grant_type=refresh_token&refresh_token=tGzv3JOkF0XG5Qx2TlKWIA");
/// # Ok::<(), grantor::wire::message::FormError>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "grant_type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum TokenRequest {
    /// The exchange of a code.
    AuthorizationCode(AuthorizationCodeExchange),
    /// The refresh of a pair of tokens.
    RefreshToken(TokenRefresh),
}

impl TokenRequest {
    /// Returns the body of the request, `application/x-www-form-urlencoded`. It contains secrets.
    ///
    /// # Errors
    ///
    /// [`FormError::Unwritable`] if serde cannot write it. No value of this type causes this.
    pub fn to_form(&self) -> Result<String, FormError> {
        form::write(self)
    }
}

impl From<AuthorizationCodeExchange> for TokenRequest {
    fn from(request: AuthorizationCodeExchange) -> Self {
        Self::AuthorizationCode(request)
    }
}

impl From<TokenRefresh> for TokenRequest {
    fn from(request: TokenRefresh) -> Self {
        Self::RefreshToken(request)
    }
}

/// The exchange of an authorization code [RFC 6749 section 4.1.3].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuthorizationCodeExchange {
    /// The code that the redirect URI received.
    #[serde(with = "required")]
    pub code: AuthorizationCode,
    /// The redirect URI of the authorization request, byte for byte.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub redirect_uri: Option<String>,
    /// The verifier of the challenge that the code is bound to [RFC 7636 section 4.5].
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub code_verifier: Option<CodeVerifier>,
    /// The id of the client, unless HTTP Basic contains it.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The secret of the client, unless HTTP Basic contains it.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<ClientSecret>,
}

impl AuthorizationCodeExchange {
    /// Creates an exchange of this code.
    #[must_use]
    pub const fn new(code: AuthorizationCode) -> Self {
        Self { code, redirect_uri: None, code_verifier: None, client_id: None, client_secret: None }
    }

    /// Sets the redirect URI of the authorization request, which must be repeated [RFC 6749 section 4.1.3].
    #[must_use]
    pub fn redirect_uri(mut self, uri: impl Into<String>) -> Self {
        self.redirect_uri = Some(uri.into());
        self
    }

    /// Sets the verifier, which proves that the challenge came from this client [RFC 7636 section 4.5].
    #[must_use]
    pub fn code_verifier(mut self, verifier: CodeVerifier) -> Self {
        self.code_verifier = Some(verifier);
        self
    }

    /// Sets the id of the client in the form [RFC 6749 section 3.2.1].
    #[must_use]
    pub fn client_id(mut self, client_id: impl Into<String>) -> Self {
        self.client_id = Some(client_id.into());
        self
    }

    /// Authenticates the client in the form [RFC 6749 section 2.3.1].
    #[must_use]
    pub fn client_secret(mut self, secret: ClientSecret) -> Self {
        self.client_secret = Some(secret);
        self
    }
}

/// The refresh of a pair of tokens [RFC 6749 section 6].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TokenRefresh {
    /// The refresh token received last.
    #[serde(with = "required")]
    pub refresh_token: RefreshToken,
    /// The scopes of the new access token, at most those that were granted; all of them if absent.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The id of the client, unless HTTP Basic contains it.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The secret of the client, unless HTTP Basic contains it.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<ClientSecret>,
}

impl TokenRefresh {
    /// Creates a refresh with this token.
    #[must_use]
    pub const fn new(refresh_token: RefreshToken) -> Self {
        Self { refresh_token, scope: None, client_id: None, client_secret: None }
    }

    /// Requests fewer scopes than were granted [RFC 6749 section 6].
    #[must_use]
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.scope = Some(scope.into());
        self
    }

    /// Sets the id of the client in the form [RFC 6749 section 3.2.1].
    #[must_use]
    pub fn client_id(mut self, client_id: impl Into<String>) -> Self {
        self.client_id = Some(client_id.into());
        self
    }

    /// Authenticates the client in the form [RFC 6749 section 2.3.1].
    #[must_use]
    pub fn client_secret(mut self, secret: ClientSecret) -> Self {
        self.client_secret = Some(secret);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

    fn exchange() -> TokenRequest {
        AuthorizationCodeExchange::new(AuthorizationCode::new("hidden-code"))
            .redirect_uri("https://client.example/cb")
            .code_verifier(CodeVerifier::new(VERIFIER).unwrap())
            .client_id("c1")
            .client_secret(ClientSecret::new("hidden-secret"))
            .into()
    }

    fn refresh() -> TokenRequest {
        TokenRefresh::new(RefreshToken::new("hidden-token"))
            .scope("repo-code:r repo-pr:r")
            .client_id("c1")
            .client_secret(ClientSecret::new("hidden-secret"))
            .into()
    }

    #[test]
    fn forms_are_those_of_the_rfc_and_come_back() {
        let cases = [
            (
                exchange(),
                "grant_type=authorization_code&code=hidden-code&redirect_uri=https%3A%2F%2Fclient.example%2Fcb\
                 &code_verifier=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk&client_id=c1&client_secret=hidden-secret",
            ),
            (
                refresh(),
                "grant_type=refresh_token&refresh_token=hidden-token&scope=repo-code%3Ar+repo-pr%3Ar\
                 &client_id=c1&client_secret=hidden-secret",
            ),
            (
                AuthorizationCodeExchange::new(AuthorizationCode::new("a")).into(),
                "grant_type=authorization_code&code=a",
            ),
            (TokenRefresh::new(RefreshToken::new("a")).into(), "grant_type=refresh_token&refresh_token=a"),
        ];
        for (request, expected) in cases {
            assert_eq!(request.to_form().unwrap(), expected);
            let again: TokenRequest = serde_urlencoded::from_str(expected).unwrap();
            assert_eq!(again.to_form().unwrap(), expected);
        }
    }

    #[test]
    fn json_comes_back_too() {
        for request in [exchange(), refresh()] {
            let json = serde_json::to_string(&request).unwrap();
            let again: TokenRequest = serde_json::from_str(&json).unwrap();
            assert_eq!(serde_json::to_string(&again).unwrap(), json);
        }
    }

    #[test]
    fn values_that_are_empty_count_as_absent() {
        let form = "code=a&redirect_uri=&code_verifier=&client_id=&client_secret=&x=1&grant_type=authorization_code";
        let request: TokenRequest = serde_urlencoded::from_str(form).unwrap();
        assert_eq!(request.to_form().unwrap(), "grant_type=authorization_code&code=a");
    }

    #[test]
    fn forms_that_are_no_token_request_are_refused() {
        let cases = [
            "",
            "code=a",
            "grant_type=&code=a",
            "grant_type=password&username=a&password=b",
            "grant_type=Authorization_Code&code=a",
            "grant_type=authorization_code",
            "grant_type=authorization_code&code=",
            "grant_type=authorization_code&code=a&code=a",
            "grant_type=authorization_code&grant_type=authorization_code&code=a",
            "grant_type=authorization_code&code=a&code_verifier=short",
            "grant_type=refresh_token&refresh_token=",
        ];
        for form in cases {
            assert!(serde_urlencoded::from_str::<TokenRequest>(form).is_err(), "{form}");
        }
    }

    #[test]
    fn a_refused_verifier_is_not_repeated_in_the_error() {
        let form = "grant_type=authorization_code&code=a&code_verifier=hidden";
        let error = serde_urlencoded::from_str::<TokenRequest>(form).map(drop).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hidden"));
    }

    #[test]
    fn debug_shows_no_secret() {
        for request in [exchange(), refresh()] {
            let shown = format!("{request:?}");
            assert!(!shown.contains("hidden") && !shown.contains(VERIFIER), "{shown}");
        }
    }
}
