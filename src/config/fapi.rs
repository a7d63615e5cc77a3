//! What the FAPI profile requires in addition to the strict profile.

use std::fmt;
use std::time::Duration;

use crate::config::error::{ConfigError, seconds};
use crate::config::{AssertionAudience, AuthorizationErrors, Config, DpopBoundTokens, Profile, PushedRequests};
use crate::model::client::AuthenticationMethods;
use crate::model::redirect_uri::{LoopbackHttp, PrivateUseSchemes};

impl Config {
    /// Checks the requirements of [`Config::fapi`]. Redirect URIs and PKCE are checked with those of the strict
    /// profile.
    pub(super) fn check_fapi(&self) -> Result<(), ConfigError> {
        if self.profile != Profile::Fapi {
            return Ok(());
        }
        let promises = self.promises_about_clients().into_iter();
        let promises = promises.chain(self.promises_about_requests()).chain(self.promises_about_tokens());
        match promises.into_iter().find(|promise| !promise.is_kept) {
            None => Ok(()),
            Some(Promise { setting, value, accepted, section, .. }) => {
                let rule = format!("{accepted} in the FAPI profile (FAPI 2.0 Security Profile section {section})");
                Err(ConfigError::new(setting, value, rule))
            }
        }
    }

    fn promises_about_clients(&self) -> [Promise; 6] {
        let methods = self.client_authentication.methods;
        let (audience, skew) = (self.client_authentication.assertion_audience, self.client_authentication.clock_skew);
        [
            // Every endpoint is reached over TLS.
            off("development", self.development, "5.2.1"),
            // Confidential clients only.
            off("public_clients", self.public_clients, "5.3.2.1"),
            // Clients authenticate with a key: `private_key_jwt`, since mutual TLS is not supported.
            Promise::new("client_authentication.methods", methods, methods == AuthenticationMethods::KEY, "5.3.2.1")
                .accepts("only {PrivateKeyJwt} is accepted"),
            // The `aud` of an assertion is the issuer, as a string.
            Promise::new(
                "client_authentication.assertion_audience",
                audience,
                audience == AssertionAudience::IssuerString,
                "5.3.2.1",
            )
            .accepts("only IssuerString is accepted"),
            // Signatures are PS256, ES256 or EdDSA.
            off("client_authentication.rs256", self.client_authentication.rs256, "5.4.1"),
            // Clocks that are 10 s ahead are accepted.
            Promise::shown("client_authentication.clock_skew", seconds(skew), skew >= LEAST_CLOCK_SKEW, "5.3.2.1")
                .accepts("10 to 60 s are accepted"),
        ]
    }

    fn promises_about_requests(&self) -> [Promise; 4] {
        let (uris, errors) = (&self.redirect_uris, self.authorization.errors);
        let pushed = self.pushed_requests.mode;
        let (loopback, schemes) = (uris.loopback_http, &uris.private_use_schemes);
        let no_scheme = PrivateUseSchemes::Named(Vec::new());
        [
            // Requests are pushed, and others are refused.
            Promise::new("pushed_requests.mode", pushed, pushed == PushedRequests::Required, "5.3.2.2")
                .accepts("only Required is accepted"),
            // No plain http. The profile's exception is for native clients, which have no secret here and are not
            // served.
            Promise::new("redirect_uris.loopback_http", loopback, loopback == LoopbackHttp::Off, "5.3.2.2")
                .accepts("only Off is accepted"),
            Promise::new("redirect_uris.private_use_schemes", schemes, *schemes == no_scheme, "5.3.2.2")
                .accepts("no scheme is accepted"),
            Promise::new("authorization.errors", errors, errors == AuthorizationErrors::Rfc6749, "5.3.2.2")
                .accepts("only Rfc6749 is accepted"),
        ]
    }

    fn promises_about_tokens(&self) -> [Promise; 4] {
        let (code, grace) = (self.authorization.code_lifetime, self.refresh.grace);
        [
            // Codes live for 60 s at most.
            Promise::shown("authorization.code_lifetime", seconds(code), code <= LONGEST_CODE_LIFETIME, "5.3.2.1")
                .accepts("at most 60 s is accepted"),
            // Every access token is bound to a key, by DPoP.
            Promise::new("dpop.tokens", self.dpop.tokens, self.dpop.tokens == DpopBoundTokens::Required, "5.3.2.1")
                .accepts("only Required is accepted"),
            // Resources accept access tokens only in the header.
            off("bearer_in_body", self.bearer_in_body, "5.3.4"),
            // A client whose refresh tokens are rotated can use the old one again for a time. The server's own setting
            // does not matter here, because rotation can be set for a single client.
            Promise::shown("refresh.grace", seconds(grace), grace >= LEAST_GRACE, "5.3.2.1")
                .accepts("at least 60 s is accepted"),
        ]
    }
}

/// A setting that the profile fixes.
struct Promise {
    setting: &'static str,
    value: String,
    accepted: &'static str,
    is_kept: bool,
    section: &'static str,
}

impl Promise {
    fn new(setting: &'static str, value: impl fmt::Debug, is_kept: bool, section: &'static str) -> Self {
        Self::shown(setting, format!("{value:?}"), is_kept, section)
    }

    fn shown(setting: &'static str, value: String, is_kept: bool, section: &'static str) -> Self {
        Self { setting, value, accepted: "", is_kept, section }
    }

    fn accepts(self, accepted: &'static str) -> Self {
        Self { accepted, ..self }
    }
}

fn off(setting: &'static str, is_on: bool, section: &'static str) -> Promise {
    Promise::new(setting, is_on, !is_on, section).accepts("only false is accepted")
}

/// FAPI 2.0 Security Profile section 5.3.2.1, entry 13: clocks that are 10 s ahead must be accepted.
const LEAST_CLOCK_SKEW: Duration = Duration::from_secs(10);
const LONGEST_CODE_LIFETIME: Duration = Duration::from_secs(60);
/// A client that lost the response to a refresh tries again within a minute.
const LEAST_GRACE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    /// FAPI-5.3.2.1-13
    #[test]
    fn ten_seconds_of_skew_are_accepted() {
        let refused = |seconds| {
            let mut config = Config::fapi("https://auth.example");
            config.client_authentication.clock_skew = Duration::from_secs(seconds);
            config.check_fapi().err().map(|error| error.to_string())
        };
        assert_eq!([10, 30, 60].map(refused), [None, None, None]);
        let below = refused(9).unwrap();
        assert!(
            below.starts_with("client_authentication.clock_skew is 9 s; 10 to 60 s are accepted in the FAPI profile"),
            "{below}"
        );
    }
}
