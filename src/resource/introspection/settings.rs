//! How a resource server asks the authorization server about tokens, and what it expects of them.

use std::time::Duration;

use crate::base::id::ClientId;
use crate::config::rule::{ConfigError, in_seconds, quoted};
use crate::config::{Config, Finding, SecurityReport};
use crate::resource::environment::{check_issuer, check_max_entries, check_url, is_unencrypted};
use crate::secret::ClientSecret;
use crate::wire::Endpoint;

/// The settings of a [`ResourceClient`](crate::resource::ResourceClient): how it asks the authorization server, and
/// what it expects of tokens.
///
/// # Examples
///
/// An API that keeps an answer for 5 s. A revoked token is refused at the latest 5 s later:
///
/// ```
/// use std::time::Duration;
///
/// use grantor::ClientSecret;
/// use grantor::resource::{ExpectedAudience, IntrospectionSettings};
///
/// let mut settings = IntrospectionSettings::new(
///     "https://auth.example/oauth2/introspect",
///     "orders-api",
///     ClientSecret::new("the secret of orders-api"),
///     "https://auth.example",
///     ExpectedAudience::Is("https://orders.example".to_owned()),
/// );
/// settings.time_to_live = Duration::from_secs(5);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IntrospectionSettings {
    /// The introspection endpoint: an https URL, or plain http on a loopback host with
    /// [`development`](Self::development) on.
    pub endpoint: String,
    /// The id of this resource server, which is a confidential client of the authorization server.
    pub client_id: String,
    /// Its secret.
    pub client_secret: ClientSecret,
    /// The issuer. A token of another one is refused. An answer need not name it.
    pub issuer: String,
    /// The audience that a token must have.
    pub audience: ExpectedAudience,
    /// The prefix of every access token; empty, which accepts any. A token with another prefix is refused without a
    /// request. For a server of this library it is [`tokens.prefix`](crate::config::TokenSettings::prefix), followed by
    /// `at_`.
    pub token_prefix: String,
    /// How long an answer about a valid token is used, in whole seconds from the time that its request was sent; 0, so
    /// that each check sends a request. At most 300 s. No answer is used when the token has expired.
    ///
    /// A revoked token is accepted for that long.
    pub time_to_live: Duration,
    /// How long an answer about a valid token is used beyond its time to live while the authorization server cannot be
    /// asked; 0. At most 60 s. No answer is used when the token has expired.
    ///
    /// # Security
    ///
    /// A revoked token is accepted for that much longer during an outage, which an attacker may cause.
    pub stale_if_error: Duration,
    /// How long the answer that a token is not active is used; 0. At most 5 s.
    pub inactive_time_to_live: Duration,
    /// How many answers are kept at most; 10 000. They take at most 1 KiB each on average. At least 16. Answers that a
    /// token is not active have an eighth of the room.
    pub max_entries: usize,
    /// Whether a `sub` that equals `client_id` means that the client acts for itself, without a user; off. Some
    /// authorization servers write the client there. Servers of this library leave `sub` out.
    pub client_id_as_subject: bool,
    /// Whether [`endpoint`](Self::endpoint) may be a plain http URL on a loopback host; off.
    pub development: bool,
}

/// The audience that a [`ResourceClient`](crate::resource::ResourceClient) expects [RFC 7662 section 2.2].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExpectedAudience {
    /// `aud` contains this text: the identifier of the protected resource [RFC 8707]. For a server of this library
    /// without protected resources, it is the issuer.
    Is(String),
    /// Any token that the authorization server describes, even one for another resource server or without `aud`.
    Any,
}

/// The longest time to live.
const MAX_TIME_TO_LIVE: Duration = Duration::from_secs(300);
/// The longest time beyond it.
const MAX_STALE: Duration = Duration::from_secs(60);
/// The longest time to live of the answer that a token is not active.
const MAX_INACTIVE: Duration = Duration::from_secs(5);

const RFC_7662: &str = "RFC 7662 section 4";

impl IntrospectionSettings {
    /// Returns the settings with the defaults that the fields state.
    #[must_use]
    pub fn new(
        endpoint: impl Into<String>,
        client_id: impl Into<String>,
        client_secret: ClientSecret,
        issuer: impl Into<String>,
        audience: ExpectedAudience,
    ) -> Self {
        Self {
            endpoint: endpoint.into(),
            client_id: client_id.into(),
            client_secret,
            issuer: issuer.into(),
            audience,
            token_prefix: String::new(),
            time_to_live: Duration::ZERO,
            stale_if_error: Duration::ZERO,
            inactive_time_to_live: Duration::ZERO,
            max_entries: 10_000,
            client_id_as_subject: false,
            development: false,
        }
    }

    /// Returns the settings for an authorization server of this library with these settings. `audience` is the
    /// identifier of one of its [`resources`](Config::resources), or the issuer if it has none.
    #[must_use]
    pub fn of_server(
        config: &Config,
        client_id: impl Into<String>,
        client_secret: ClientSecret,
        audience: impl Into<String>,
    ) -> Self {
        let audience = ExpectedAudience::Is(audience.into());
        let endpoint = config.url_of(Endpoint::Introspection);
        let own = Self::new(endpoint, client_id, client_secret, &*config.issuer, audience);
        Self { development: config.development, ..own }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let refuse = |field, value, remedy: &'static str| Err(ConfigError::new(field, value, remedy));
        check_url("endpoint", &self.endpoint, self.development, RFC_7662)?;
        if ClientId::new(&self.client_id).is_err() {
            return refuse("client_id", quoted(&self.client_id), "1 to 512 visible ASCII characters are accepted");
        }
        if self.client_secret.expose().is_empty() {
            return refuse("client_secret", "empty".to_owned(), "the secret of the resource server is needed");
        }
        check_issuer(&self.issuer)?;
        if self.audience == ExpectedAudience::Is(String::new()) {
            return refuse(
                "audience",
                quoted(""),
                "the identifier of this resource is needed, or ExpectedAudience::Any",
            );
        }
        for (field, value, max, remedy) in [
            ("time_to_live", self.time_to_live, MAX_TIME_TO_LIVE, "at most 300 s is accepted"),
            ("stale_if_error", self.stale_if_error, MAX_STALE, "at most 60 s is accepted"),
            ("inactive_time_to_live", self.inactive_time_to_live, MAX_INACTIVE, "at most 5 s is accepted"),
        ] {
            if value > max {
                return refuse(field, in_seconds(value), remedy);
            }
        }
        check_max_entries(self.max_entries)
    }

    pub(super) fn security_report(&self) -> SecurityReport {
        let findings = [
            is_unencrypted(&self.endpoint).then_some(Finding {
                setting: "endpoint",
                rule: RFC_7662,
                consequence: "tokens and the secret are sent unencrypted: for development only".into(),
            }),
            (self.audience == ExpectedAudience::Any).then_some(Finding {
                setting: "audience",
                rule: "RFC 9700 section 2.3",
                consequence: "a token for another API is accepted here, so another API can use the tokens that it \
                              receives here"
                    .into(),
            }),
            (!self.stale_if_error.is_zero()).then_some(Finding {
                setting: "stale_if_error",
                rule: RFC_7662,
                consequence: "a revoked token is accepted for that much longer while the authorization server cannot \
                              be asked"
                    .into(),
            }),
        ];
        SecurityReport { findings: findings.into_iter().flatten().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::introspection::tests::settings;

    type Change = fn(&mut IntrospectionSettings);

    fn refused(change: Change) -> Option<&'static str> {
        let mut settings = settings();
        change(&mut settings);
        settings.check().err().map(|error| error.field())
    }

    /// RSC-02
    #[test]
    fn endpoint_credentials_and_audience_are_needed() {
        let rows: [(Change, Option<&str>); 24] = [
            (|_| (), None),
            (|own| own.endpoint = "http://auth.example/introspect".into(), Some("endpoint")),
            (|own| own.endpoint = "http://127.0.0.1/introspect".into(), Some("endpoint")),
            (|own| own.endpoint = "auth.example/introspect".into(), Some("endpoint")),
            (|own| own.endpoint = String::new(), Some("endpoint")),
            (|own| own.endpoint = "https://user@auth.example/".into(), Some("endpoint")),
            (|own| own.endpoint = "https://auth.example/#x".into(), Some("endpoint")),
            (|own| own.endpoint = "https://auth.example/a b".into(), Some("endpoint")),
            (|own| own.endpoint = "https:///introspect".into(), Some("endpoint")),
            (|own| own.endpoint = "https://auth.example/introspect?tenant=1".into(), None),
            (|own| own.client_id = String::new(), Some("client_id")),
            (|own| own.client_id = "\u{e9}".into(), Some("client_id")),
            (|own| own.client_secret = ClientSecret::new(""), Some("client_secret")),
            (|own| own.issuer = String::new(), Some("issuer")),
            (|own| own.audience = ExpectedAudience::Is(String::new()), Some("audience")),
            (|own| own.audience = ExpectedAudience::Any, None),
            (|own| own.stale_if_error = Duration::from_secs(60), None),
            (|own| own.stale_if_error = Duration::from_millis(60_001), Some("stale_if_error")),
            (|own| own.inactive_time_to_live = Duration::from_secs(5), None),
            (|own| own.inactive_time_to_live = Duration::from_secs(6), Some("inactive_time_to_live")),
            (|own| own.max_entries = 15, Some("max_entries")),
            (|own| own.max_entries = 16, None),
            (|own| own.max_entries = 0, Some("max_entries")),
            (|own| own.time_to_live = Duration::MAX, Some("time_to_live")),
        ];
        for (place, (change, expected)) in rows.into_iter().enumerate() {
            assert_eq!(refused(change), expected, "{place}");
        }
    }

    /// RSC-02
    #[test]
    fn plain_http_is_for_development_on_a_loopback_host() {
        for (endpoint, is_accepted) in [
            ("http://127.0.0.1:8080/introspect", true),
            ("http://localhost/introspect", true),
            ("http://[::1]/introspect", true),
            ("https://auth.example/introspect", true),
            ("http://auth.example/introspect", false),
            ("http://127.0.0.1.example/introspect", false),
        ] {
            let mut settings = settings();
            settings.development = true;
            settings.endpoint = endpoint.to_owned();
            assert_eq!(settings.check().is_ok(), is_accepted, "{endpoint}");
            let is_reported = settings.security_report().findings.iter().any(|finding| finding.setting == "endpoint");
            assert_eq!(is_reported, endpoint.starts_with("http:"), "{endpoint}");
        }
    }

    /// RSC-10
    #[test]
    fn a_time_to_live_is_at_most_300_s() {
        assert_eq!(settings().time_to_live, Duration::ZERO);
        assert_eq!(refused(|own| own.time_to_live = Duration::from_secs(300)), None);
        let mut settings = settings();
        settings.time_to_live = Duration::from_secs(301);
        let error = settings.check().unwrap_err();
        assert_eq!(error.to_string(), "time_to_live is 301 s; at most 300 s is accepted");
    }

    /// RSC-09
    #[test]
    fn weaker_settings_are_reported() {
        let reported = |change: Change| {
            let mut settings = settings();
            change(&mut settings);
            settings.security_report().findings.iter().map(|finding| finding.setting).collect::<Vec<_>>()
        };
        assert_eq!(reported(|own| own.time_to_live = MAX_TIME_TO_LIVE), Vec::<&str>::new());
        assert_eq!(reported(|own| own.stale_if_error = Duration::from_secs(1)), ["stale_if_error"]);
        assert_eq!(reported(|own| own.audience = ExpectedAudience::Any), ["audience"]);
    }

    /// RSC-17
    #[test]
    fn debug_and_errors_show_no_secret() {
        let mut settings = settings();
        settings.client_secret = ClientSecret::new("rs-secret-text");
        assert!(!format!("{settings:?}").contains("rs-secret-text"));
        settings.endpoint = "https://user:rs-secret-text@auth.example".to_owned();
        let error = settings.check().unwrap_err();
        assert!(!format!("{error} {error:?}").contains("rs-secret-text"), "{error}");
    }
}
