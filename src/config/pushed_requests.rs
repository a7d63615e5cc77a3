//! The settings of pushed authorization requests [RFC 9126].

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::config::error::{ConfigError, seconds};

/// The settings of pushed authorization requests [RFC 9126].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PushedRequestSettings {
    /// Whether clients may push their authorization requests, or must [RFC 9126]; off, in the FAPI profile required.
    ///
    /// Unless it is [`PushedRequests::Off`], the metadata has `pushed_authorization_request_endpoint`. Where it is
    /// [`PushedRequests::Required`], a request that was not pushed is refused [RFC 9126 section 5], and a pushed one must
    /// name its `redirect_uri`.
    pub mode: PushedRequests,
    /// How long a `request_uri` is valid; 300 s. 30 to 599 s are accepted.
    ///
    /// A browser session that presents it in this time may present it again within
    /// [`authorization.hold_lifetime`](crate::Config::authorization), so that the user has more time to sign in.
    pub lifetime: Duration,
}

impl Default for PushedRequestSettings {
    fn default() -> Self {
        Self { mode: PushedRequests::Off, lifetime: Duration::from_secs(300) }
    }
}

/// Whether clients may push their authorization requests, or must [RFC 9126].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PushedRequests {
    /// There is no endpoint for them.
    Off,
    /// Clients may push their requests.
    Optional,
    /// All clients must push their requests [RFC 9126 section 5].
    Required,
}

impl PushedRequestSettings {
    /// Returns whether clients may push their requests.
    pub(crate) fn are_taken(&self) -> bool {
        self.mode != PushedRequests::Off
    }

    /// Returns whether all clients must push their requests.
    pub(crate) fn are_required(&self) -> bool {
        self.mode == PushedRequests::Required
    }

    /// Checks the settings of pushed requests.
    pub(super) fn check(&self, count: u32) -> Result<(), ConfigError> {
        let life = self.lifetime;
        if !LIFETIMES.contains(&life) {
            return Err(ConfigError::new("pushed_requests.lifetime", seconds(life), "30 to 599 s are accepted"));
        }
        if !COUNTS.contains(&count) {
            return Err(ConfigError::new("limits.pushed_requests", count, "1 to 1000 are accepted"));
        }
        Ok(())
    }
}

/// FAPI 2.0 Security Profile section 5.3.2.2 requires less than 600 s.
const LIFETIMES: RangeInclusive<Duration> = Duration::from_secs(30)..=Duration::from_secs(599);
const COUNTS: RangeInclusive<u32> = 1..=1000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    /// FAPI-5.3.2.2-12
    #[test]
    fn a_request_uri_lives_for_less_than_ten_minutes() {
        for (accepted, life) in [
            (false, Duration::from_millis(29_999)),
            (true, Duration::from_secs(30)),
            (true, Duration::from_secs(599)),
            (false, Duration::from_millis(599_001)),
            (false, Duration::from_secs(600)),
        ] {
            let mut config = Config::strict("https://auth.example");
            config.pushed_requests.lifetime = life;
            assert_eq!(config.pushed_requests.check(config.limits.pushed_requests).is_ok(), accepted, "{life:?}");
        }
        let mut config = Config::strict("https://auth.example");
        config.pushed_requests.lifetime = Duration::from_secs(600);
        let error = config.check().unwrap_err();
        assert_eq!(error.to_string(), "pushed_requests.lifetime is 600 s; 30 to 599 s are accepted");
    }

    /// 9126-2.3-01
    #[test]
    fn a_client_has_at_most_a_thousand_open_requests() {
        for (count, accepted) in [(0, false), (1, true), (1000, true), (1001, false)] {
            let mut config = Config::strict("https://auth.example");
            config.limits.pushed_requests = count;
            assert_eq!(config.pushed_requests.check(config.limits.pushed_requests).is_ok(), accepted, "{count}");
        }
    }
}
