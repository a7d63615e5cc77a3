//! The request to the revocation endpoint [RFC 7009 section 2.1] and to the introspection endpoint [RFC 7662 section
//! 2.1].

use std::fmt;

use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use crate::secret::ClientSecret;
use crate::wire::message::form::{self, FormError, Redacted, optional, required};

/// A request to revoke a token [RFC 7009 section 2.1] or to introspect it [RFC 7662 section 2.1]. Both have the same
/// form.
///
/// The token is wiped when the request is dropped.
#[doc(alias = "IntrospectionRequest")]
#[doc(alias = "RevocationRequest")]
#[derive(Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PresentedToken {
    /// The access token or refresh token.
    #[serde(with = "required")]
    pub token: String,
    /// The likely type of the token: `access_token` or `refresh_token`. The server searches for this type first.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub token_type_hint: Option<String>,
    /// The id of the client, unless HTTP Basic contains it.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The secret of the client, unless HTTP Basic contains it.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<ClientSecret>,
}

impl PresentedToken {
    /// Creates a request that presents this token.
    #[must_use]
    pub fn new(token: impl Into<String>) -> Self {
        Self { token: token.into(), token_type_hint: None, client_id: None, client_secret: None }
    }

    /// Sets the likely type of the token.
    #[must_use]
    pub fn token_type_hint(mut self, hint: impl Into<String>) -> Self {
        self.token_type_hint = Some(hint.into());
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

    /// Returns the body of the request, `application/x-www-form-urlencoded`. It contains secrets.
    ///
    /// # Errors
    ///
    /// [`FormError::Unwritable`] if serde cannot write it. No value of this type causes this.
    pub fn to_form(&self) -> Result<String, FormError> {
        form::write(self)
    }
}

impl Drop for PresentedToken {
    fn drop(&mut self) {
        self.token.zeroize();
    }
}

impl fmt::Debug for PresentedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PresentedToken")
            .field("token", &Redacted)
            .field("token_type_hint", &self.token_type_hint)
            .field("client_id", &self.client_id)
            .field("client_secret", &self.client_secret)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> PresentedToken {
        PresentedToken::new("hidden+/=")
            .token_type_hint("refresh_token")
            .client_id("c1")
            .client_secret(ClientSecret::new("hidden-secret"))
    }

    #[test]
    fn forms_come_back() {
        let cases = [
            (PresentedToken::new("a"), "token=a"),
            (full(), "token=hidden%2B%2F%3D&token_type_hint=refresh_token&client_id=c1&client_secret=hidden-secret"),
        ];
        for (request, form) in cases {
            assert_eq!(request.to_form().unwrap(), form);
            let again: PresentedToken = serde_urlencoded::from_str(form).unwrap();
            assert_eq!(again.to_form().unwrap(), form);
        }
    }

    #[test]
    fn a_token_is_needed() {
        for form in ["", "client_id=c1", "token=", "token=a&token=b"] {
            assert!(serde_urlencoded::from_str::<PresentedToken>(form).is_err(), "{form}");
        }
    }

    #[test]
    fn debug_shows_no_secret() {
        let shown = format!("{:?}", full());
        assert!(!shown.contains("hidden") && shown.contains("refresh_token"), "{shown}");
    }
}
