//! Where a resource server gets the keys of the authorization server, and what it expects of JWTs.

use std::fmt;
use std::sync::Arc;

use crate::config::rule::{ConfigError, quoted};
use crate::config::{Config, Finding, Profile, SecurityReport};
use crate::hooks::Transport;
use crate::jose::SigningAlgorithm;
use crate::jose::access_jwt::ALGORITHMS;
use crate::resource::environment::{Environment, check_issuer, check_max_entries, check_url, is_unencrypted};
use crate::wire::Endpoint;

/// The settings of a [`JwtVerifier`](crate::resource::JwtVerifier): where it gets the keys of the authorization server,
/// and what it expects of access tokens [RFC 9068 section 4].
///
/// # Examples
///
/// ```
/// use grantor::resource::JwtSettings;
///
/// let mut settings =
///     JwtSettings::new("https://auth.example/oauth2/jwks", "https://auth.example", "https://orders.example");
/// settings.max_entries = 1000;
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JwtSettings {
    /// The URL of the key set: an https URL, or plain http on a loopback host with [`development`](Self::development)
    /// on. It is `jwks_uri` in the metadata of the authorization server [RFC 8414 section 2].
    ///
    /// The key set is requested for the first token, and again after its `max-age`. A value below 60 s counts as 60 s,
    /// and one above 300 s, or none, as 300 s. A token with an unknown `kid` leads to one more request: at most one in
    /// 10 s, or about one in 4 s if callers hang up.
    ///
    /// # Security
    ///
    /// A key that the authorization server drops is refused when `max-age` has ended. While the key set cannot be
    /// fetched, the previous one is used for at most 300 s longer. An attacker who blocks the requests can delay the
    /// end of a leaked key by that much.
    pub jwks_uri: String,
    /// The issuer: `iss` of the tokens.
    pub issuer: String,
    /// The identifier of this resource, which `aud` of the tokens contains [RFC 8707].
    pub audience: String,
    /// The algorithms that tokens may be signed with: at least one of ES256, RS256 and EdDSA, and by default all three.
    /// Keys of other algorithms are not used.
    pub algorithms: Vec<SigningAlgorithm>,
    /// How many verified tokens are kept at most, so that their signature is not verified again; 10 000. They take at
    /// most 1 KiB each on average. At least 16.
    pub max_entries: usize,
    /// Whether [`jwks_uri`](Self::jwks_uri) may be a plain http URL on a loopback host; off.
    pub development: bool,
}

const RFC_8414: &str = "RFC 8414 section 2";

impl JwtSettings {
    /// Returns the settings with the defaults that the fields state.
    #[must_use]
    pub fn new(jwks_uri: impl Into<String>, issuer: impl Into<String>, audience: impl Into<String>) -> Self {
        Self {
            jwks_uri: jwks_uri.into(),
            issuer: issuer.into(),
            audience: audience.into(),
            algorithms: ALGORITHMS.to_vec(),
            max_entries: 10_000,
            development: false,
        }
    }

    /// Returns the settings for an authorization server of this library with these settings. `audience` is the
    /// identifier of one of its [`resources`](Config::resources). RS256 is not accepted with [`Profile::Fapi`] [FAPI
    /// 2.0 Security Profile section 5.4.1].
    #[must_use]
    pub fn of_server(config: &Config, audience: impl Into<String>) -> Self {
        let own = Self::new(config.url_of(Endpoint::Jwks), &*config.issuer, audience);
        let algorithms = ALGORITHMS
            .into_iter()
            .filter(|algorithm| config.profile != Profile::Fapi || *algorithm != SigningAlgorithm::Rs256);
        Self { algorithms: algorithms.collect(), development: config.development, ..own }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        check_url("jwks_uri", &self.jwks_uri, self.development, RFC_8414)?;
        check_issuer(&self.issuer)?;
        if self.audience.is_empty() {
            return Err(ConfigError::new("audience", quoted(""), "the identifier of this resource is needed"));
        }
        self.check_algorithms()?;
        check_max_entries(self.max_entries)
    }

    fn check_algorithms(&self) -> Result<(), ConfigError> {
        let is_accepted = |algorithm: &SigningAlgorithm| ALGORITHMS.contains(algorithm);
        if !self.algorithms.is_empty() && self.algorithms.iter().all(is_accepted) {
            return Ok(());
        }
        let names: Vec<&str> = self.algorithms.iter().map(|algorithm| algorithm.as_str()).collect();
        let remedy = "one or more of ES256, RS256 and EdDSA are accepted";
        Err(ConfigError::new("algorithms", quoted(&names.join(" ")), remedy))
    }

    pub(super) fn security_report(&self) -> SecurityReport {
        let finding = is_unencrypted(&self.jwks_uri).then(|| Finding {
            setting: "jwks_uri",
            rule: RFC_8414,
            consequence: "the keys are fetched unencrypted, so an attacker who changes the response can sign \
                          tokens: for development only"
                .into(),
        });
        SecurityReport { findings: finding.into_iter().collect() }
    }
}

/// The settings, the transport, the clock and the events.
#[derive(Clone)]
pub(super) struct Setup {
    pub(super) settings: Arc<JwtSettings>,
    pub(super) transport: Arc<dyn Transport>,
    pub(super) environment: Environment,
}

/// Does not show the transport.
impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup").field("settings", &self.settings).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change = fn(&mut JwtSettings);

    fn settings() -> JwtSettings {
        JwtSettings::new("https://auth.example/oauth2/jwks", "https://auth.example", "https://orders.example")
    }

    /// 9068-4-01
    #[test]
    fn url_issuer_and_audience_are_needed() {
        let rows: [(Change, Option<&str>); 15] = [
            (|_| (), None),
            (|own| own.jwks_uri = "http://auth.example/jwks".into(), Some("jwks_uri")),
            (|own| own.jwks_uri = "http://127.0.0.1/jwks".into(), Some("jwks_uri")),
            (|own| own.jwks_uri = "https://user@auth.example/jwks".into(), Some("jwks_uri")),
            (|own| own.jwks_uri = "https://auth.example/jwks#x".into(), Some("jwks_uri")),
            (|own| own.jwks_uri = String::new(), Some("jwks_uri")),
            (|own| own.jwks_uri = "https://auth.example/jwks?tenant=1".into(), None),
            (|own| own.issuer = String::new(), Some("issuer")),
            (|own| own.audience = String::new(), Some("audience")),
            (|own| own.algorithms = Vec::new(), Some("algorithms")),
            (|own| own.algorithms.push(SigningAlgorithm::Ps256), Some("algorithms")),
            (|own| own.algorithms = vec![SigningAlgorithm::EdDsa], None),
            (|own| own.max_entries = 15, Some("max_entries")),
            (|own| own.max_entries = 16, None),
            (|own| own.development = true, None),
        ];
        for (place, (change, expected)) in rows.into_iter().enumerate() {
            let mut settings = settings();
            change(&mut settings);
            assert_eq!(settings.check().err().map(|error| error.field()), expected, "{place}");
        }
        let mut settings = settings();
        settings.jwks_uri = "http://auth.example/jwks".into();
        assert_eq!(
            settings.check().unwrap_err().to_string(),
            "jwks_uri is \"http://auth.example/jwks\"; an https URL without user and fragment is accepted, or plain \
             http on a loopback host with development on (RFC 8414 section 2)"
        );
    }

    /// 9068-4-01
    #[test]
    fn an_error_names_the_algorithms() {
        let mut settings = settings();
        settings.algorithms = vec![SigningAlgorithm::Es256, SigningAlgorithm::Ps256];
        let remedy = "one or more of ES256, RS256 and EdDSA are accepted";
        assert_eq!(settings.check().unwrap_err().to_string(), format!("algorithms is \"ES256 PS256\"; {remedy}"));
        settings.algorithms = Vec::new();
        assert_eq!(settings.check().unwrap_err().to_string(), format!("algorithms is \"\"; {remedy}"));
    }

    #[test]
    fn plain_http_is_for_development_and_reported() {
        let mut settings = settings();
        assert_eq!(settings.security_report(), SecurityReport { findings: Vec::new() });
        settings.jwks_uri = "http://127.0.0.1:8080/jwks".into();
        settings.development = true;
        settings.check().unwrap();
        let report = settings.security_report();
        assert_eq!(report.findings.iter().map(|finding| finding.setting).collect::<Vec<_>>(), ["jwks_uri"]);
    }

    #[test]
    fn the_settings_of_a_server_say_where_its_keys_are() {
        let mut config = Config::strict("https://auth.example/tenant");
        config.development = true;
        let settings = JwtSettings::of_server(&config, "https://orders.example");
        assert_eq!(settings.jwks_uri, config.url_of(Endpoint::Jwks));
        assert_eq!((&*settings.issuer, &*settings.audience), (&*config.issuer, "https://orders.example"));
        assert!(settings.development);
        assert_eq!(settings.algorithms, [SigningAlgorithm::Es256, SigningAlgorithm::Rs256, SigningAlgorithm::EdDsa]);
        config.profile = Profile::Fapi;
        let settings = JwtSettings::of_server(&config, "https://orders.example");
        assert_eq!(settings.algorithms, [SigningAlgorithm::Es256, SigningAlgorithm::EdDsa]);
    }
}
