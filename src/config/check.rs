//! What no configuration may say.

use time::Duration;
use url::{Host, Url};

use crate::client::redirect_uri::RedirectUriComparison;
use crate::config::{Config, PkceRequirement, Profile};

/// Octets of the longest state that a configuration may admit.
pub(crate) const MOST_STATE_OCTETS: usize = 1 << 16;

/// A configuration that contradicts itself or the standards; nothing was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The issuer is no `https` URL with a host and without user, query and fragment
    /// [RFC 8414 section 2].
    #[error("the issuer is an https URL with a host and without user, query and fragment")]
    Issuer,
    /// The issuer is plain `http`, which [`Config::development`] allows on a loopback host only.
    #[error("an issuer with plain http needs the development setting and a loopback host")]
    PlainHttpIssuer,
    /// A lifetime is not positive.
    #[error("{0} has to be at least one second")]
    NoLifetime(&'static str),
    /// A code would live longer than the ten minutes that RFC 6749 section 4.1.2 recommends at most.
    #[error("an authorization code lives at most 600 seconds")]
    CodeLifetime,
    /// A grace or margin is negative.
    #[error("{0} cannot be negative")]
    Negative(&'static str),
    /// A grace is as long as the life of the token that it would outlast.
    #[error("a grace has to be shorter than the life of the token")]
    Grace,
    /// A prefix has other characters, or more than 16.
    #[error("a prefix has at most 16 letters, digits, `-`, `_`, `.` or `~`")]
    Prefix,
    /// Two kinds of secret share a prefix that is not empty.
    #[error("two kinds of secret have the same prefix")]
    SamePrefix,
    /// A text that goes into headers or answers has characters that must not stand there.
    #[error("{0} has characters that must not stand in an answer")]
    Characters(&'static str),
    /// A limit is too small for requests that the service must accept.
    #[error("{0} is too small")]
    Limit(&'static str),
    /// A state would make records larger than stores are tested for.
    #[error("a state has at most 65536 octets")]
    LargeState,
    /// The strict and MCP profiles compare redirect URIs exactly, with free ports and plain `http` on the
    /// loopback alone; the MCP profile has no private-use schemes.
    #[error("this profile compares redirect URIs exactly, and the MCP profile knows no private-use schemes")]
    ExactRedirectUris,
    /// The profile demands PKCE of every client.
    #[error("this profile requires PKCE of every client")]
    PkceForAll,
}

impl Config {
    /// Checks the settings against each other and against what the profile promises.
    pub(crate) fn check(&self, issuer: Option<&str>) -> Result<(), ConfigError> {
        if let Some(issuer) = issuer {
            self.check_issuer(issuer)?;
        }
        self.check_profile()?;
        self.check_lifetimes()?;
        self.check_prefixes()?;
        self.check_texts()?;
        self.check_limits()
    }

    fn check_issuer(&self, issuer: &str) -> Result<(), ConfigError> {
        let url = Url::parse(issuer).map_err(|_| ConfigError::Issuer)?;
        let plain = issuer.bytes().all(|octet| octet.is_ascii_graphic() && !matches!(octet, b'"' | b'\\'));
        let bare = url.query().is_none() && url.fragment().is_none() && has_bare_authority(issuer);
        if !plain || !bare || url.host().is_none() {
            return Err(ConfigError::Issuer);
        }
        let loopback = match url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        match url.scheme() {
            "https" => Ok(()),
            "http" if self.development && loopback => Ok(()),
            "http" => Err(ConfigError::PlainHttpIssuer),
            _ => Err(ConfigError::Issuer),
        }
    }

    fn check_profile(&self) -> Result<(), ConfigError> {
        let (profile, uris) = (self.profile, &self.redirect_uris);
        let exact = uris.comparison == RedirectUriComparison::Exact && !uris.any_port && !uris.development_http;
        if profile != Profile::Platform && !exact || profile == Profile::Mcp && uris.private_use_schemes {
            return Err(ConfigError::ExactRedirectUris);
        }
        if profile != Profile::Platform && self.pkce != PkceRequirement::AllClients {
            return Err(ConfigError::PkceForAll);
        }
        Ok(())
    }

    fn check_lifetimes(&self) -> Result<(), ConfigError> {
        let lives = [
            ("hold_lifetime", Some(self.hold_lifetime)),
            ("code_lifetime", Some(self.code_lifetime)),
            ("access_token_lifetime", Some(self.access_token_lifetime)),
            ("refresh_token_lifetime", Some(self.refresh_token_lifetime)),
            ("grant_lifetime", self.grant_lifetime),
        ];
        for (name, life) in lives {
            if life.is_some_and(|life| life < Duration::SECOND) {
                return Err(ConfigError::NoLifetime(name));
            }
        }
        if self.code_lifetime > Duration::minutes(10) {
            return Err(ConfigError::CodeLifetime);
        }
        let grace = &self.grace;
        let spans = [
            ("grace.access_token", grace.access_token),
            ("grace.refresh_token", grace.refresh_token),
            ("grace.public_refresh_token", grace.public_refresh_token),
            ("reuse_margin", self.reuse_margin),
        ];
        for (name, span) in spans {
            if span < Duration::ZERO {
                return Err(ConfigError::Negative(name));
            }
        }
        let refresh = grace.refresh_token.max(grace.public_refresh_token);
        if refresh >= self.refresh_token_lifetime || grace.access_token > self.access_token_lifetime {
            return Err(ConfigError::Grace);
        }
        Ok(())
    }

    fn check_prefixes(&self) -> Result<(), ConfigError> {
        let prefixes = &self.prefixes;
        let all = [&prefixes.handle, &prefixes.code, &prefixes.access_token, &prefixes.refresh_token];
        let allowed = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_' | b'.' | b'~');
        for (position, prefix) in all.iter().enumerate() {
            if prefix.len() > 16 || !prefix.bytes().all(allowed) {
                return Err(ConfigError::Prefix);
            }
            if !prefix.is_empty() && all.iter().skip(position + 1).any(|other| other == prefix) {
                return Err(ConfigError::SamePrefix);
            }
        }
        Ok(())
    }

    fn check_texts(&self) -> Result<(), ConfigError> {
        let quotable =
            |text: &str| text.bytes().all(|octet| matches!(octet, 0x20..=0x7e) && !matches!(octet, b'"' | b'\\'));
        if !quotable(&self.realm) {
            return Err(ConfigError::Characters("realm"));
        }
        for (name, text) in [("audience", &self.audience), ("error_uri", &self.error_uri)] {
            if text.as_deref().is_some_and(|text| text.is_empty() || !quotable(text) || text.contains(' ')) {
                return Err(ConfigError::Characters(name));
            }
        }
        Ok(())
    }

    fn check_limits(&self) -> Result<(), ConfigError> {
        let limits = [
            ("body_octets", self.body_octets, 4096),
            ("query_octets", self.query_octets, 4096),
            ("parameters", self.parameters, 16),
            ("state_octets", self.state_octets, 64),
        ];
        match limits.into_iter().find(|(_, limit, least)| limit < least) {
            Some((name, ..)) => Err(ConfigError::Limit(name)),
            None if self.state_octets > MOST_STATE_OCTETS => Err(ConfigError::LargeState),
            None => Ok(()),
        }
    }
}

/// The URL library supplies slashes that are missing, and drops one too many and an empty user name: the
/// issuer is published as the string it is, so it has to be an absolute URL as it stands.
fn has_bare_authority(issuer: &str) -> bool {
    let authority = issuer.split_once("://").and_then(|(_, rest)| rest.split('/').next());
    authority.is_some_and(|authority| !authority.is_empty() && !authority.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_hold_together() {
        for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
            assert_eq!(Config::from(profile).check(Some("https://auth.example/tenant")), Ok(()));
            assert_eq!(Config::from(profile).check(None), Ok(()));
        }
    }

    #[test]
    fn issuers_are_https_with_a_host_alone() {
        let check = |issuer: &str| Config::platform().check(Some(issuer));
        for bad in [
            "",
            "auth.example",
            "https://",
            "ftp://auth.example",
            "https://auth.example?x",
            "https://auth.example/#x",
            "https://user@auth.example",
            "https://@auth.example",
            "https:auth.example",
            "https:///auth.example",
            "https://auth.example/a b",
            "https://auth.example/\u{e9}",
        ] {
            assert_eq!(check(bad), Err(ConfigError::Issuer), "{bad}");
        }
        assert_eq!(check("http://auth.example"), Err(ConfigError::PlainHttpIssuer));
        assert_eq!(check("http://127.0.0.1:8080"), Err(ConfigError::PlainHttpIssuer));
        let mut config = Config::platform();
        config.development = true;
        for (issuer, answer) in [
            ("http://127.0.0.1:8080", Ok(())),
            ("http://[::1]:8080", Ok(())),
            ("http://localhost", Ok(())),
            ("http://auth.example", Err(ConfigError::PlainHttpIssuer)),
        ] {
            assert_eq!(config.check(Some(issuer)), answer, "{issuer}");
        }
    }

    #[test]
    fn contradictions_are_refused() {
        type Change = fn(&mut Config);
        let cases: [(Change, ConfigError); 14] = [
            (|config| config.code_lifetime = Duration::ZERO, ConfigError::NoLifetime("code_lifetime")),
            (|config| config.code_lifetime = Duration::seconds(601), ConfigError::CodeLifetime),
            (|config| config.grant_lifetime = Some(Duration::ZERO), ConfigError::NoLifetime("grant_lifetime")),
            (|config| config.reuse_margin = Duration::seconds(-1), ConfigError::Negative("reuse_margin")),
            (|config| config.grace.access_token = Duration::days(1), ConfigError::Grace),
            (|config| config.refresh_token_lifetime = Duration::seconds(300), ConfigError::Grace),
            (|config| config.prefixes.code = "a b".into(), ConfigError::Prefix),
            (|config| config.prefixes.code = "at_".into(), ConfigError::SamePrefix),
            (|config| config.realm = "a\"b".into(), ConfigError::Characters("realm")),
            (|config| config.audience = Some(String::new()), ConfigError::Characters("audience")),
            (|config| config.error_uri = Some("a b".into()), ConfigError::Characters("error_uri")),
            (|config| config.body_octets = 10, ConfigError::Limit("body_octets")),
            (|config| config.parameters = 3, ConfigError::Limit("parameters")),
            (|config| config.state_octets = 65_537, ConfigError::LargeState),
        ];
        for (change, expected) in cases {
            let mut config = Config::platform();
            change(&mut config);
            assert_eq!(config.check(None), Err(expected));
        }
    }

    #[test]
    fn strict_profiles_stay_strict() {
        for profile in [Profile::Strict, Profile::Mcp] {
            let mut config = Config::from(profile);
            config.redirect_uris.comparison = RedirectUriComparison::Domain;
            assert_eq!(config.check(None), Err(ConfigError::ExactRedirectUris));
            let mut config = Config::from(profile);
            config.pkce = PkceRequirement::PublicClients;
            assert_eq!(config.check(None), Err(ConfigError::PkceForAll));
        }
        let mut config = Config::mcp();
        config.redirect_uris.private_use_schemes = true;
        assert_eq!(config.check(None), Err(ConfigError::ExactRedirectUris));
    }
}
