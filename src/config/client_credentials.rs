//! The settings of the client credentials grant [RFC 6749 section 4.4].

use std::time::Duration;

/// The settings of the client credentials grant [RFC 6749 section 4.4].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientCredentialsSettings {
    /// Whether clients may get access tokens for themselves, without a user [RFC 6749 section 4.4]; off.
    ///
    /// Each client must also be registered for [`GrantType::ClientCredentials`](crate::client::GrantType::ClientCredentials),
    /// with [`client_scopes`](crate::ApplicationForm::client_scopes) and
    /// [`client_resources`](crate::ApplicationForm::client_resources).
    pub on: bool,
    /// How long an access token without a user is valid; 900 s. 60 to 3600 s are accepted.
    pub lifetime: Duration,
}

impl Default for ClientCredentialsSettings {
    fn default() -> Self {
        Self { on: false, lifetime: Duration::from_secs(900) }
    }
}
