//! Checks the settings of client authentication: the methods, the rules for assertions, the key sets.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::config::error::{ConfigError, seconds};
use crate::config::{Config, KeySets};
use crate::model::client::{AuthenticationMethod, AuthenticationMethods};

/// The parts of the server that assertions and proofs need, and whether they are present.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyNeeds {
    /// Whether signatures can be verified.
    pub(crate) has_jose: bool,
    pub(crate) has_replays: bool,
}

impl Config {
    /// Returns whether clients may authenticate with their keys.
    pub(crate) fn accepts_assertions(&self) -> bool {
        self.authentication_methods.contains(AuthenticationMethod::PrivateKeyJwt)
    }

    /// Checks the methods and the rules for assertions.
    pub(crate) fn check_assertions(&self) -> Result<(), ConfigError> {
        let methods = self.authentication_methods;
        if methods.contains(AuthenticationMethod::None) {
            return Err(ConfigError::new("authentication_methods", shown(methods), NONE));
        }
        if methods.is_empty() && !self.public_clients {
            return Err(ConfigError::new("authentication_methods", shown(methods), NO_METHOD));
        }
        for (name, life, accepted) in
            [("assertion_lifetime", self.assertion_lifetime, LIFETIMES), ("clock_skew", self.clock_skew, SKEWS)]
        {
            check_span(name, life, &accepted)?;
        }
        if !BYTES.contains(&self.assertion_bytes) {
            let remedy = "1024 to 16384 are accepted";
            return Err(ConfigError::new("assertion_bytes", self.assertion_bytes, remedy));
        }
        if self.accepts_assertions() && self.assertion_bytes >= self.body_bytes {
            let remedy = format!("less than body_bytes ({}) is accepted", self.body_bytes);
            return Err(ConfigError::new("assertion_bytes", self.assertion_bytes, remedy));
        }
        Ok(())
    }

    /// Checks that the server has the parts that the methods need.
    pub(crate) fn check_authentication(&self, needs: KeyNeeds) -> Result<(), ConfigError> {
        let refused =
            |remedy| Err(ConfigError::new("authentication_methods", shown(self.authentication_methods), remedy));
        match needs {
            _ if !self.accepts_assertions() => Ok(()),
            KeyNeeds { has_jose: false, .. } => refused(JOSE),
            KeyNeeds { has_replays: false, .. } => refused(REPLAYS),
            KeyNeeds { has_jose: true, has_replays: true } => Ok(()),
        }
    }
}

impl KeySets {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        for (name, number, accepted) in [
            ("key_sets.most_bytes", self.most_bytes, SET_BYTES),
            ("key_sets.most_keys", self.most_keys, KEYS),
            ("key_sets.most_cached", self.most_cached, CACHED),
        ] {
            if !accepted.contains(&number) {
                let remedy = format!("{} to {} are accepted", accepted.start(), accepted.end());
                return Err(ConfigError::new(name, number, remedy));
            }
        }
        check_span("key_sets.fresh", self.fresh, &FRESH)?;
        check_span("key_sets.pause", self.pause, &PAUSES)?;
        check_span("key_sets.timeout", self.timeout, &TIMEOUTS)?;
        if self.stale < self.fresh {
            let remedy = format!("at least key_sets.fresh ({}) is accepted", seconds(self.fresh));
            return Err(ConfigError::new("key_sets.stale", seconds(self.stale), remedy));
        }
        Ok(())
    }
}

fn check_span(name: &'static str, span: Duration, accepted: &RangeInclusive<Duration>) -> Result<(), ConfigError> {
    if accepted.contains(&span) {
        return Ok(());
    }
    let remedy = format!("{} to {} are accepted", seconds(*accepted.start()), seconds(*accepted.end()));
    Err(ConfigError::new(name, seconds(span), remedy))
}

/// The names of the methods, for error messages.
fn shown(methods: AuthenticationMethods) -> String {
    let names: Vec<_> = methods.iter().map(AuthenticationMethod::as_str).collect();
    if names.is_empty() { "an empty set".into() } else { names.join(", ") }
}

/// With less than a minute, clients with a slow clock fail. More than an hour is too long for a stolen assertion.
const LIFETIMES: RangeInclusive<Duration> = Duration::from_secs(60)..=Duration::from_secs(3600);
/// > Servers [...] MUST reject JWTs with an iat or nbf timestamp greater than 60 seconds in the future
///
/// [FAPI 2.0 Security Profile section 5.3.2.1]
const SKEWS: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(60);
const BYTES: RangeInclusive<usize> = 1024..=16_384;
const SET_BYTES: RangeInclusive<usize> = 1024..=262_144;
const KEYS: RangeInclusive<usize> = 1..=100;
const CACHED: RangeInclusive<usize> = 1..=100_000;
const FRESH: RangeInclusive<Duration> = Duration::from_secs(60)..=Duration::from_secs(86_400);
/// Anyone can trigger one fetch per pause.
const PAUSES: RangeInclusive<Duration> = Duration::from_secs(10)..=Duration::from_secs(3600);
const TIMEOUTS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(30);

const NONE: &str =
    "client_secret_basic, client_secret_post and private_key_jwt are accepted; for the method none, set public_clients";
const NO_METHOD: &str = "at least one method is required unless public_clients is on";
const JOSE: &str = "remove private_key_jwt, or enable the feature jose, which verifies signatures";
const REPLAYS: &str = "remove private_key_jwt, or add a store for used assertions: Stores::with_replays(…)";

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: KeyNeeds = KeyNeeds { has_jose: true, has_replays: true };

    fn refused(change: impl FnOnce(&mut Config)) -> Option<String> {
        let mut config = Config::strict("https://auth.example");
        config.authentication_methods = AuthenticationMethods::SECRET.with(AuthenticationMethod::PrivateKeyJwt);
        change(&mut config);
        config.check().err().map(|error| error.to_string())
    }

    #[test]
    fn bounds_of_assertions_are_checked() {
        type Change = fn(&mut Config);
        let seconds = Duration::from_secs;
        let cases: [(Change, &str); 7] = [
            (|config| config.clock_skew = Duration::from_secs(61), "clock_skew is 61 s; 0 s to 60 s are accepted"),
            (
                |config| config.assertion_lifetime = Duration::from_secs(59),
                "assertion_lifetime is 59 s; 60 s to 3600 s are accepted",
            ),
            (
                |config| config.assertion_lifetime = Duration::from_secs(3601),
                "assertion_lifetime is 3601 s; 60 s to 3600 s are accepted",
            ),
            (|config| config.assertion_bytes = 1023, "assertion_bytes is 1023; 1024 to 16384 are accepted"),
            (|config| config.assertion_bytes = 16_385, "assertion_bytes is 16385; 1024 to 16384 are accepted"),
            (|config| config.body_bytes = 8192, "assertion_bytes is 8192; less than body_bytes (8192) is accepted"),
            (
                |config| config.authentication_methods = AuthenticationMethods::PUBLIC,
                "authentication_methods is none; client_secret_basic, client_secret_post and private_key_jwt are accepted; \
                 for the method none, set public_clients",
            ),
        ];
        for (change, expected) in cases {
            assert_eq!(refused(change).as_deref(), Some(expected));
        }
        assert_eq!(refused(|config| config.clock_skew = Duration::ZERO), None);
        assert_eq!(refused(|config| config.clock_skew = seconds(60)), None);
        assert_eq!(refused(|config| (config.assertion_lifetime, config.assertion_bytes) = (seconds(60), 1024)), None);
    }

    #[test]
    fn no_method_at_all_needs_public_clients() {
        let none = AuthenticationMethods::SECRET
            .without(AuthenticationMethod::ClientSecretBasic)
            .without(AuthenticationMethod::ClientSecretPost);
        let error = refused(|config| config.authentication_methods = none).unwrap();
        assert_eq!(error, format!("authentication_methods is an empty set; {NO_METHOD}"));
        assert_eq!(refused(|config| (config.authentication_methods, config.public_clients) = (none, true)), None);
    }

    /// 7523-3-07
    #[test]
    fn private_key_jwt_needs_the_feature_and_a_replay_store() {
        let mut config = Config::fapi("https://auth.example");
        assert_eq!(config.check_authentication(ALL), Ok(()));
        for (needs, remedy) in
            [(KeyNeeds { has_jose: false, ..ALL }, JOSE), (KeyNeeds { has_replays: false, ..ALL }, REPLAYS)]
        {
            let error = config.check_authentication(needs).unwrap_err();
            let expected = ("authentication_methods", "private_key_jwt", remedy);
            assert_eq!((error.field(), error.value(), error.remedy()), expected);
            config.authentication_methods = AuthenticationMethods::SECRET;
            assert_eq!(config.check_authentication(needs), Ok(()));
            config.authentication_methods = AuthenticationMethods::KEY;
        }
    }

    #[test]
    fn bounds_of_key_sets_are_checked() {
        type Change = fn(&mut KeySets);
        let cases: [(Change, &str); 11] = [
            (|sets| sets.most_bytes = 1023, "most_bytes is 1023; 1024 to 262144 are accepted"),
            (|sets| sets.most_bytes = 262_145, "most_bytes is 262145; 1024 to 262144 are accepted"),
            (|sets| sets.most_keys = 0, "most_keys is 0; 1 to 100 are accepted"),
            (|sets| sets.most_keys = 101, "most_keys is 101; 1 to 100 are accepted"),
            (|sets| sets.most_cached = 0, "most_cached is 0; 1 to 100000 are accepted"),
            (|sets| sets.fresh = Duration::from_secs(59), "fresh is 59 s; 60 s to 86400 s are accepted"),
            (|sets| sets.fresh = Duration::from_secs(86_401), "fresh is 86401 s; 60 s to 86400 s are accepted"),
            (
                |sets| sets.stale = Duration::from_secs(3599),
                "stale is 3599 s; at least key_sets.fresh (3600 s) is accepted",
            ),
            (|sets| sets.pause = Duration::from_secs(9), "pause is 9 s; 10 s to 3600 s are accepted"),
            (|sets| sets.pause = Duration::from_secs(3601), "pause is 3601 s; 10 s to 3600 s are accepted"),
            (|sets| sets.timeout = Duration::ZERO, "timeout is 0 s; 1 s to 30 s are accepted"),
        ];
        for (change, expected) in cases {
            let error = refused(|config| change(&mut config.key_sets));
            assert_eq!(error, Some(format!("key_sets.{expected}")));
        }
        assert_eq!(refused(|config| config.key_sets.stale = config.key_sets.fresh), None);
    }
}
