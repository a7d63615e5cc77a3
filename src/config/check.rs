//! Checks that the settings do not contradict each other, the profile or the standards.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::config::error::{ConfigError, quoted, seconds};
use crate::config::{Config, PkceRequirement, Profile};
use crate::model::redirect_uri::{
    PrivateUseSchemes, RedirectUriComparison, WebScheme, WebUri, check_host, check_path_and_query, is_app_scheme,
};
use crate::wire::cors::Cors;

impl Config {
    /// Checks the settings against each other, the profile and the standards.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        self.check_issuer()?;
        self.check_profile()?;
        self.check_lifetimes()?;
        self.check_derivation_keys()?;
        self.check_grace()?;
        self.check_prefix()?;
        self.check_named_schemes()?;
        self.check_cors()?;
        self.check_resources()?;
        self.check_limits()?;
        self.client_authentication.check(self.public_clients, self.limits.body_bytes)?;
        self.dpop.check(self.limits.body_bytes)?;
        self.pushed_requests.check(self.limits.pushed_requests)?;
        self.check_fapi()
    }

    /// Checks the parts that dynamic registration needs in addition to the settings.
    pub(crate) fn check_registration(&self, needs: RegistrationNeeds) -> Result<(), ConfigError> {
        let refused = |remedy: &'static str| {
            Err(ConfigError::new("registration.dynamic", format!("{:?}", self.registration.dynamic), remedy))
        };
        if self.registration.management && !self.registration.is_dynamic() {
            let remedy = "set it to false, or registration.dynamic to Open or WithToken";
            return Err(ConfigError::new("registration.management", true, remedy));
        }
        match needs {
            _ if !self.registration.is_dynamic() => Ok(()),
            RegistrationNeeds { has_policy: false, .. } => refused(REGISTRATION_POLICY),
            RegistrationNeeds { has_registry: false, .. } => refused(REGISTRATION_STORE),
            RegistrationNeeds { has_policy: true, has_registry: true } => Ok(()),
        }
    }

    /// > The authorization server's issuer identifier, which is a URL that uses the "https" scheme and has no
    /// > query or fragment components.
    ///
    /// [RFC 8414 section 2]
    fn check_issuer(&self) -> Result<(), ConfigError> {
        let refused = |remedy: &'static str| Err(ConfigError::new("issuer", quoted(&self.issuer), remedy));
        match issuer_uri(&self.issuer) {
            Some(uri) if uri.scheme == WebScheme::Https => Ok(()),
            Some(uri) if self.development && is_loopback(uri.host) => Ok(()),
            Some(_) => refused(PLAIN_HTTP_ISSUER),
            None => refused(HTTPS_ISSUER),
        }
    }

    /// Checks that the strict, MCP and FAPI profiles compare redirect URIs exactly and require PKCE for all clients.
    fn check_profile(&self) -> Result<(), ConfigError> {
        let profile = match self.profile {
            Profile::Platform => return Ok(()),
            Profile::Strict => "strict",
            Profile::Mcp => "MCP",
            Profile::Fapi => "FAPI",
        };
        let only =
            |accepted: &str, rule: &str| format!("only {accepted} is accepted in the {profile} profile ({rule})");
        let uris = &self.redirect_uris;
        if uris.comparison != RedirectUriComparison::Exact {
            let remedy = only("Exact", "RFC 9700 section 2.1");
            return Err(ConfigError::new("redirect_uris.comparison", format!("{:?}", uris.comparison), remedy));
        }
        if self.authorization.pkce != PkceRequirement::AllClients {
            let remedy = only("AllClients", "RFC 9700 section 2.1.1");
            return Err(ConfigError::new("authorization.pkce", format!("{:?}", self.authorization.pkce), remedy));
        }
        match &uris.private_use_schemes {
            schemes @ PrivateUseSchemes::ReverseDomain(_) if self.profile == Profile::Mcp => {
                let remedy = only("Named", "MCP authorization, communication security");
                Err(ConfigError::new("redirect_uris.private_use_schemes", format!("{schemes:?}"), remedy))
            }
            PrivateUseSchemes::ReverseDomain(_) | PrivateUseSchemes::Named(_) => Ok(()),
        }
    }

    fn check_lifetimes(&self) -> Result<(), ConfigError> {
        let lives = [
            ("authorization.hold_lifetime", Some(self.authorization.hold_lifetime)),
            ("authorization.code_lifetime", Some(self.authorization.code_lifetime)),
            ("tokens.access_lifetime", Some(self.tokens.access_lifetime)),
            ("tokens.refresh_lifetime", Some(self.tokens.refresh_lifetime)),
            ("tokens.grant_lifetime", self.tokens.grant_lifetime),
        ];
        for (name, life) in lives {
            if let Some(life) = life.filter(|life| life.as_secs() == 0) {
                return Err(ConfigError::new(name, seconds(life), "at least 1 s is accepted"));
            }
        }
        // > A maximum authorization code lifetime of 10 minutes is RECOMMENDED.
        if self.authorization.code_lifetime > LONGEST_CODE_LIFETIME {
            let remedy = "at most 600 s is accepted (RFC 6749 section 4.1.2)";
            return Err(ConfigError::new(
                "authorization.code_lifetime",
                seconds(self.authorization.code_lifetime),
                remedy,
            ));
        }
        let machine = self.client_credentials.lifetime;
        if !MACHINE_TOKEN_LIFETIMES.contains(&machine) {
            return Err(ConfigError::new("client_credentials.lifetime", seconds(machine), "60 to 3600 s are accepted"));
        }
        if !CLOCK_LEAPS.contains(&self.clock_jump) {
            return Err(ConfigError::new("clock_jump", seconds(self.clock_jump), "3600 to 2592000 s are accepted"));
        }
        Ok(())
    }

    /// Checks that the grace of refresh tokens ends before they expire, and not after that of access tokens: the owner's
    /// refresh after a refused access token would still be in the grace, and a theft would be missed.
    fn check_grace(&self) -> Result<(), ConfigError> {
        let grace = self.refresh.grace;
        let (lifetime, of_access) = (self.tokens.refresh_lifetime, self.refresh.access_token_grace);
        let remedy = if grace >= lifetime {
            format!("less than tokens.refresh_lifetime ({}) is accepted", seconds(lifetime))
        } else if grace > of_access {
            format!("at most refresh.access_token_grace ({}) is accepted", seconds(of_access))
        } else {
            return Ok(());
        };
        Err(ConfigError::new("refresh.grace", seconds(grace), remedy))
    }

    fn check_derivation_keys(&self) -> Result<(), ConfigError> {
        let mut names = BTreeSet::new();
        match self.refresh.derivation_keys.iter().position(|key| !names.insert(key.name())) {
            None => Ok(()),
            // A key is a secret, so the error names its place instead.
            Some(place) => {
                let value = format!("a list with a repeated key at place {}", place + 1);
                Err(ConfigError::new("refresh.derivation_keys", value, "each key may occur once"))
            }
        }
    }

    fn check_prefix(&self) -> Result<(), ConfigError> {
        let prefix = &self.tokens.prefix;
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
        if prefix.len() > 16 || !prefix.bytes().all(allowed) {
            return Err(ConfigError::new("tokens.prefix", quoted(prefix), PREFIX));
        }
        Ok(())
    }

    fn check_named_schemes(&self) -> Result<(), ConfigError> {
        let named = self.redirect_uris.private_use_schemes.named();
        match named.iter().find(|scheme| !is_lower_app_scheme(scheme)) {
            Some(scheme) => Err(ConfigError::new("redirect_uris.private_use_schemes", quoted(scheme), NAMED_SCHEME)),
            None => Ok(()),
        }
    }

    fn check_cors(&self) -> Result<(), ConfigError> {
        let Cors::Origins(origins) = &self.cors else { return Ok(()) };
        if origins.is_empty() {
            let remedy = "at least one origin is accepted; for none, use Cors::Off";
            return Err(ConfigError::new("cors", "an empty list", remedy));
        }
        match origins.iter().find(|origin| !is_origin(origin)) {
            Some(origin) => Err(ConfigError::new("cors", quoted(origin), ORIGIN)),
            None => Ok(()),
        }
    }

    fn check_limits(&self) -> Result<(), ConfigError> {
        for (name, limit, least) in [
            ("limits.body_bytes", self.limits.body_bytes, 4096),
            ("limits.grants", self.limits.grants, 1),
            ("registration.name", self.registration.form.name, 1),
            ("registration.website", self.registration.form.website, 1),
        ] {
            if limit < least {
                return Err(ConfigError::new(name, limit, format!("at least {least} is accepted")));
            }
        }
        if self.registration.form.logo_pixels == 0 {
            return Err(ConfigError::new("registration.logo_pixels", 0, "at least 1 is accepted"));
        }
        if !MACHINE_TOKENS.contains(&self.limits.client_credentials_tokens) {
            return Err(ConfigError::new(
                "limits.client_credentials_tokens",
                self.limits.client_credentials_tokens,
                "1 to 4096 are accepted",
            ));
        }
        let (max, unused) = (self.limits.unreviewed_clients, self.registration.unused_lifetime);
        if !OPEN_CLIENTS.contains(&max) {
            return Err(ConfigError::new("limits.unreviewed_clients", max, "10 to 16777216 are accepted"));
        }
        if unused < LEAST_UNUSED {
            let value = seconds(unused);
            return Err(ConfigError::new("registration.unused_lifetime", value, "at least 3600 s is accepted"));
        }
        Ok(())
    }
}

/// The parts that dynamic registration needs, and whether they are present.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RegistrationNeeds {
    pub(crate) has_policy: bool,
    pub(crate) has_registry: bool,
}

/// Parses an issuer. It must be a URL of visible ASCII characters with a host but without user, query, fragment and dot
/// segments, because it is published as written.
fn issuer_uri(issuer: &str) -> Option<WebUri<'_>> {
    let plain = issuer.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'?' | b'#'));
    let uri = WebUri::split(issuer).ok().filter(|_| plain)?;
    let sound = check_host(uri.host).and_then(|()| check_path_and_query(uri.path_and_query));
    sound.is_ok().then_some(uri)
}

/// Returns whether a text is an origin as browsers write it in the `Origin` header [RFC 6454 section 6.2]. Apps and
/// browser extensions use their own schemes.
fn is_origin(text: &str) -> bool {
    match WebUri::split(text) {
        Ok(uri) => {
            let is_safe = uri.scheme == WebScheme::Https || is_loopback(uri.host);
            let is_bare = uri.path_and_query.is_empty() && check_host(uri.host).is_ok();
            is_safe && is_bare && uri.has_plain_origin(text)
        }
        Err(_) => text.split_once("://").is_some_and(|(scheme, host)| {
            is_lower_app_scheme(scheme)
                && check_host(host).is_ok()
                && !host.bytes().any(|byte| byte.is_ascii_uppercase())
        }),
    }
}

fn is_lower_app_scheme(scheme: &str) -> bool {
    is_app_scheme(scheme) && !scheme.bytes().any(|byte| byte.is_ascii_uppercase())
}

pub(super) fn is_loopback(host: &str) -> bool {
    let literal = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        || literal.and_then(|text| text.parse::<Ipv6Addr>().ok()).is_some_and(|address| address.is_loopback())
}

const LONGEST_CODE_LIFETIME: Duration = Duration::from_secs(600);
/// Long enough for a request that is sent at once, and no longer than needed, because the client can get another token.
const MACHINE_TOKEN_LIFETIMES: RangeInclusive<Duration> = Duration::from_secs(60)..=Duration::from_secs(3600);
/// Purges run minutes apart. After a clock jump of more than a month, a purge would delete nearly everything with a shorter
/// lifetime.
const CLOCK_LEAPS: RangeInclusive<Duration> = Duration::from_secs(3600)..=Duration::from_secs(30 * 86_400);
/// With the maximum, each of the eight records takes about 22 kB. It takes 265 kB if its tokens have different scopes,
/// as many as the platform defines.
const MACHINE_TOKENS: RangeInclusive<usize> = 1..=4096;
/// A person must get from the registration to the consent page, and may need to sign up in between.
const LEAST_UNUSED: Duration = Duration::from_secs(3600);
/// Their places are drawn by number, and all of them may be in use. A larger number would not be a limit.
const OPEN_CLIENTS: RangeInclusive<u32> = 10..=1 << 24;
const REGISTRATION_POLICY: &str = "set it to Off, or add a policy that decides about each client: \
                                   Builder::registration_policy(ApproveWithin::new(…))";
const REGISTRATION_STORE: &str = "set it to Off, or look up clients in a registry: Stores::with_registry(…)";
const HTTPS_ISSUER: &str = "an https URL of visible ASCII characters, with a valid host and port and without user, query, fragment and dot \
     segments, is accepted (RFC 8414 section 2)";
const PLAIN_HTTP_ISSUER: &str =
    "an https URL is accepted, or plain http on a loopback host with development on (RFC 8414 section 2)";
const NAMED_SCHEME: &str =
    "lower-case schemes of apps are accepted, such as `cursor`, but no scheme that browsers handle themselves";
const ORIGIN: &str = "origins as browsers write them are accepted: `https://app.example`, or http on a loopback host, \
                      with only host and port, in lower case, without the default port; Cors::AnyOrigin allows all";
const PREFIX: &str = "at most 16 letters, digits, `-`, `_`, `.` or `~` are accepted";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::ScopeCatalog;

    type Make = fn(&str) -> Config;

    const ALL: &[Make] = &[
        |issuer| Config::platform(issuer),
        |issuer| Config::strict(issuer),
        |issuer| Config::mcp(issuer),
        #[cfg(feature = "jose")]
        |issuer| Config::fapi(issuer),
    ];

    /// A change, the setting as the error prints it, and what would be accepted.
    type Contradiction = (fn(&mut Config), &'static str, &'static str);

    /// A change, the setting as the error prints it, and the rule of the profile.
    type Loosening = (fn(&mut Config), &'static str, &'static str);

    fn refused(make: Make, change: fn(&mut Config)) -> Option<String> {
        let mut config = make("https://auth.example");
        change(&mut config);
        config.check().err().map(|error| error.to_string())
    }

    #[test]
    fn profiles_hold_together() {
        for make in ALL {
            assert_eq!(make("https://auth.example/tenant").check(), Ok(()));
        }
    }

    #[test]
    fn issuers_are_https_with_a_host_alone() {
        for (issuer, value) in [
            ("", r#""""#),
            ("auth.example", r#""auth.example""#),
            ("https://", r#""https://""#),
            ("ftp://auth.example", r#""ftp://auth.example""#),
            ("https://auth.example?x", r#""https://auth.example?…""#),
            ("https://auth.example/#x", r##""https://auth.example/#…""##),
            ("https://user:secret@auth.example", r#""https://…@…""#),
            ("https://@auth.example", r#""https://…@…""#),
            ("https:auth.example", r#""https:auth.example""#),
            ("https:///auth.example", r#""https:///auth.example""#),
            ("https://auth.example/a b", r#""https://auth.example/a b""#),
            ("https://auth.example/a/../b", r#""https://auth.example/a/../b""#),
            ("https://auth.example:", r#""https://auth.example:""#),
            ("https://auth.example:70000", r#""https://auth.example:70000""#),
            ("https://b\u{fc}cher.example", "\"https://b\u{fc}cher.example\""),
            ("https://auth.example/\u{e9}", "\"https://auth.example/\u{e9}\""),
        ] {
            let error = Config::platform(issuer).check().unwrap_err();
            assert_eq!((error.field(), error.value(), error.remedy()), ("issuer", value, HTTPS_ISSUER));
        }
    }

    #[test]
    fn plain_http_is_for_development_on_a_loopback() {
        for (issuer, development, accepted) in [
            ("http://auth.example", false, false),
            ("http://127.0.0.1:8080", false, false),
            ("http://127.0.0.1:8080", true, true),
            ("http://[::1]:8080", true, true),
            ("http://localhost", true, true),
            ("http://auth.example", true, false),
        ] {
            let mut config = Config::platform(issuer);
            config.development = development;
            let remedy = config.check().err().map(|error| error.remedy().to_owned());
            assert_eq!(remedy, (!accepted).then(|| PLAIN_HTTP_ISSUER.to_owned()), "{issuer}");
        }
    }

    #[test]
    fn contradictions_are_refused() {
        let cases: [Contradiction; 19] = [
            (
                |config| config.clock_jump = Duration::from_secs(3599),
                "clock_jump is 3599 s",
                "3600 to 2592000 s are accepted",
            ),
            (
                |config| config.clock_jump = Duration::from_secs(2_592_001),
                "clock_jump is 2592001 s",
                "3600 to 2592000 s are accepted",
            ),
            (
                |config| config.authorization.hold_lifetime = Duration::ZERO,
                "authorization.hold_lifetime is 0 s",
                "at least 1 s is accepted",
            ),
            (
                |config| config.authorization.code_lifetime = Duration::from_millis(999),
                "authorization.code_lifetime is 0.999 s",
                "at least 1 s is accepted",
            ),
            (
                |config| config.tokens.access_lifetime = Duration::ZERO,
                "tokens.access_lifetime is 0 s",
                "at least 1 s is accepted",
            ),
            (
                |config| config.tokens.refresh_lifetime = Duration::ZERO,
                "tokens.refresh_lifetime is 0 s",
                "at least 1 s is accepted",
            ),
            (
                |config| config.tokens.grant_lifetime = Some(Duration::ZERO),
                "tokens.grant_lifetime is 0 s",
                "at least 1 s is accepted",
            ),
            (
                |config| config.authorization.code_lifetime = Duration::from_secs(601),
                "authorization.code_lifetime is 601 s",
                "at most 600 s is accepted (RFC 6749 section 4.1.2)",
            ),
            (
                |config| config.refresh.grace = config.tokens.refresh_lifetime,
                "refresh.grace is 15552000 s",
                "less than tokens.refresh_lifetime (15552000 s) is accepted",
            ),
            (
                |config| config.refresh.grace = Duration::from_secs(301),
                "refresh.grace is 301 s",
                "at most refresh.access_token_grace (300 s) is accepted",
            ),
            (
                |config| config.tokens.refresh_lifetime = Duration::from_secs(60),
                "refresh.grace is 60 s",
                "less than tokens.refresh_lifetime (60 s) is accepted",
            ),
            (|config| config.tokens.prefix = "a\u{e9}".into(), "tokens.prefix is \"a\u{e9}\"", PREFIX),
            (
                |config| config.tokens.prefix = "17-characters-too".into(),
                r#"tokens.prefix is "17-characters-too""#,
                PREFIX,
            ),
            (|config| config.limits.body_bytes = 4095, "limits.body_bytes is 4095", "at least 4096 is accepted"),
            (
                |config| config.limits.unreviewed_clients = 0,
                "limits.unreviewed_clients is 0",
                "10 to 16777216 are accepted",
            ),
            (
                |config| config.registration.unused_lifetime = Duration::from_secs(3599),
                "registration.unused_lifetime is 3599 s",
                "at least 3600 s is accepted",
            ),
            (|config| config.registration.form.name = 0, "registration.name is 0", "at least 1 is accepted"),
            (|config| config.registration.form.website = 0, "registration.website is 0", "at least 1 is accepted"),
            (
                |config| config.registration.form.logo_pixels = 0,
                "registration.logo_pixels is 0",
                "at least 1 is accepted",
            ),
        ];
        for make in ALL {
            for (change, setting, remedy) in cases {
                let mut config = make("https://auth.example");
                config.tokens.access_lifetime = Duration::from_secs(28_800);
                config.refresh.grace = Duration::from_secs(60);
                change(&mut config);
                assert_eq!(config.check().unwrap_err().to_string(), format!("{setting}; {remedy}"));
            }
        }
    }

    #[test]
    fn edges_are_accepted() {
        for make in ALL {
            let mut config = make("https://auth.example");
            config.authorization.hold_lifetime = Duration::from_secs(1);
            config.authorization.code_lifetime =
                Duration::from_secs(if config.profile == Profile::Fapi { 60 } else { 600 });
            config.refresh.access_token_grace = config.tokens.access_lifetime;
            config.refresh.grace = config.refresh.access_token_grace;
            config.tokens.grant_lifetime = Some(Duration::MAX);
            config.clock_jump = Duration::from_secs(3600);
            config.tokens.prefix = "exactly-16-chars".into();
            config.scopes = ScopeCatalog::empty();
            config.limits.body_bytes = if config.profile == Profile::Fapi { 8193 } else { 4096 };
            config.registration.form.description = 0;
            config.registration.form.logo = 0;
            assert_eq!(config.check(), Ok(()));
        }
    }

    #[test]
    fn stricter_profiles_keep_their_promise() {
        let cases: [Loosening; 3] = [
            (
                |config| config.redirect_uris.comparison = RedirectUriComparison::Domain,
                "redirect_uris.comparison is Domain; only Exact",
                "RFC 9700 section 2.1",
            ),
            (
                |config| config.redirect_uris.comparison = RedirectUriComparison::DomainAnyPort,
                "redirect_uris.comparison is DomainAnyPort; only Exact",
                "RFC 9700 section 2.1",
            ),
            (
                |config| config.authorization.pkce = PkceRequirement::PublicClients,
                "authorization.pkce is PublicClients; only AllClients",
                "RFC 9700 section 2.1.1",
            ),
        ];
        for (change, setting, rule) in cases {
            assert_eq!(refused(|issuer| Config::platform(issuer), change), None);
            let error = |profile: &str| Some(format!("{setting} is accepted in the {profile} profile ({rule})"));
            assert_eq!(refused(|issuer| Config::strict(issuer), change), error("strict"));
            assert_eq!(refused(|issuer| Config::mcp(issuer), change), error("MCP"));
            #[cfg(feature = "jose")]
            assert_eq!(refused(|issuer| Config::fapi(issuer), change), error("FAPI"));
        }
    }

    #[test]
    fn origins_are_written_as_browsers_write_them() {
        let refused = |origins: &[&str]| {
            let mut config = Config::strict("https://auth.example");
            config.cors = Cors::Origins(origins.iter().map(|&origin| origin.to_owned()).collect());
            config.check().err().map(|error| (error.field(), error.value().to_owned(), error.remedy().to_owned()))
        };
        let good = [
            "https://app.example",
            "https://app.example:8443",
            "https://app.example:80",
            "https://192.0.2.1",
            "https://[2001:db8::1]",
            "https://[::443]",
            "http://localhost:6274",
            "http://localhost:8080",
            "http://127.0.0.1",
            "http://[::1]:3000",
            "chrome-extension://aaaabbbbccccddddeeeeffffgggghhhh",
            "tauri://localhost",
        ];
        assert_eq!(refused(&good), None);
        let empty = "at least one origin is accepted; for none, use Cors::Off";
        assert_eq!(refused(&[]), Some(("cors", "an empty list".into(), empty.into())));
        for bad in [
            "",
            "*",
            "null",
            "app.example",
            "https://",
            "https://*.app.example",
            "https://app.example/",
            "https://app.example/path",
            "https://app.example:443",
            "https://app.example:",
            "https://App.example",
            "HTTPS://app.example",
            "https://app.example https://other.example",
            "https://app.example\r\nX: y",
            "https://b\u{fc}cher.example",
            "http://app.example",
            "http://localhost:80",
            "file://app",
            "javascript://app",
            "Tauri://localhost",
            "tauri://Localhost",
            "tauri://localhost/",
        ] {
            let expected = Some(("cors", quoted(bad), ORIGIN.to_owned()));
            assert_eq!(refused(&["https://app.example", bad]), expected, "{bad:?}");
        }
        assert_eq!(refused(&["https://u:p@app.example"]).unwrap().1, "\"https://…@…\"");
        assert_eq!(refused(&["https://app.example?x"]).unwrap().1, "\"https://app.example?…\"");
    }

    #[test]
    fn named_schemes_are_those_of_apps() {
        // The fourth profile refuses them all.
        for make in ALL.iter().take(3) {
            let refused = |scheme: &str| {
                let mut config = make("https://auth.example");
                let named = vec!["cursor".into(), scheme.into()];
                config.redirect_uris.private_use_schemes = PrivateUseSchemes::Named(named);
                config.check().err().map(|error| error.to_string())
            };
            for good in ["vscode", "com.example.app", "web+app", "x-1"] {
                assert_eq!(refused(good), None, "{good}");
            }
            for bad in [
                "",
                "Cursor",
                "cursor:",
                "cursor://",
                "1app",
                "a_b",
                "\u{e9}",
                "https",
                "http",
                "javascript",
                "data",
                "ws",
            ] {
                let error = format!("redirect_uris.private_use_schemes is {bad:?}; {NAMED_SCHEME}");
                assert_eq!(refused(bad), Some(error));
            }
        }
    }

    #[test]
    fn private_use_schemes_are_for_all_but_mcp() {
        let schemes: fn(&mut Config) = |config| config.redirect_uris.private_use_schemes = PrivateUseSchemes::default();
        assert_eq!(refused(|issuer| Config::platform(issuer), schemes), None);
        assert_eq!(refused(|issuer| Config::strict(issuer), schemes), None);
        let error = refused(|issuer| Config::mcp(issuer), schemes).unwrap();
        assert!(
            error.starts_with(
                "redirect_uris.private_use_schemes is ReverseDomain([]); only Named is accepted in the MCP"
            )
        );
    }
}
