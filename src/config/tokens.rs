//! The lifetimes and the prefix of tokens, and the settings of the client credentials grant.

use std::time::Duration;

/// The lifetimes and the prefix of tokens.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TokenSettings {
    /// How long an access token on behalf of a user is valid; 28 800 s, which is 8 hours; in the FAPI profile 3600 s.
    pub access_lifetime: Duration,
    /// How long an access token in the form of a JWT is valid; 300 s [RFC 9068]. 60 to 900 s are accepted. If other access
    /// tokens of the same grant type are valid for less, that time counts.
    ///
    /// An API that verifies JWTs itself accepts a revoked token for that long.
    pub jwt_lifetime: Duration,
    /// How long a refresh token is valid, counted from its issue; 15 552 000 s, which is 180 days.
    pub refresh_lifetime: Duration,
    /// The maximum lifetime of all tokens of a grant, counted from the exchange of its code; no limit.
    pub grant_lifetime: Option<Duration>,
    /// What every code, token and secret of this server begins with, by which scanners and people recognize it; nothing.
    /// At most 16 letters, digits, `-`, `_`, `.` or `~`.
    ///
    /// The kind follows: `at_` for access tokens, `rt_` for refresh tokens, `ac_` for codes, `dc_` for the codes of
    /// devices, `ah_` for the handle in the consent form, `ia_` and `ra_` for initial and registration access tokens.
    pub prefix: String,
}

impl Default for TokenSettings {
    fn default() -> Self {
        Self {
            access_lifetime: Duration::from_secs(28_800),
            jwt_lifetime: Duration::from_secs(300),
            refresh_lifetime: Duration::from_secs(15_552_000),
            grant_lifetime: None,
            prefix: String::new(),
        }
    }
}

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
