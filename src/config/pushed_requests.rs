//! Checks the settings of pushed requests [RFC 9126].

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::config::Config;
use crate::config::error::{ConfigError, seconds};

impl Config {
    /// Checks the settings of pushed requests, and that there is a store for them.
    pub(crate) fn check_pushed_requests(&self, has_store: bool) -> Result<(), ConfigError> {
        if self.pushed_requests && !has_store {
            return Err(ConfigError::new("pushed_requests", true, STORE));
        }
        if self.require_pushed_requests && !self.pushed_requests {
            return Err(ConfigError::new(
                "require_pushed_requests",
                true,
                "set it to false, or pushed_requests to true",
            ));
        }
        let (life, count) = (self.request_uri_lifetime, self.pushed_requests_per_client);
        if !LIFETIMES.contains(&life) {
            return Err(ConfigError::new("request_uri_lifetime", seconds(life), "30 to 599 s are accepted"));
        }
        if !COUNTS.contains(&count) {
            return Err(ConfigError::new("pushed_requests_per_client", count, "1 to 1000 are accepted"));
        }
        Ok(())
    }
}

const STORE: &str = "set it to false, or add a store for pushed requests: Stores::with_pushed_requests(…)";
/// FAPI 2.0 Security Profile section 5.3.2.2 requires less than 600 s.
const LIFETIMES: RangeInclusive<Duration> = Duration::from_secs(30)..=Duration::from_secs(599);
const COUNTS: RangeInclusive<usize> = 1..=1000;

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(has_store: bool, change: fn(&mut Config)) -> Option<String> {
        let mut config = Config::strict("https://auth.example");
        config.pushed_requests = true;
        change(&mut config);
        config.check_pushed_requests(has_store).err().map(|error| error.to_string())
    }

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
            config.request_uri_lifetime = life;
            assert_eq!(config.check_pushed_requests(true).is_ok(), accepted, "{life:?}");
        }
        let shown = "request_uri_lifetime is 600 s; 30 to 599 s are accepted";
        assert_eq!(refused(true, |config| config.request_uri_lifetime = Duration::from_secs(600)).unwrap(), shown);
    }

    /// 9126-5-01
    #[test]
    fn pushed_requests_need_a_store_and_an_endpoint() {
        assert_eq!(refused(true, |_| ()), None);
        assert_eq!(refused(true, |config| config.require_pushed_requests = true), None);
        assert_eq!(refused(false, |config| config.pushed_requests = false), None);
        assert_eq!(refused(false, |_| ()), Some(format!("pushed_requests is true; {STORE}")));
        let without = |config: &mut Config| {
            (config.pushed_requests, config.require_pushed_requests) = (false, true);
        };
        assert!(refused(true, without).unwrap().starts_with("require_pushed_requests is true; set it to false"));
    }

    /// 9126-2.3-01
    #[test]
    fn a_client_has_at_most_a_thousand_open_requests() {
        for (count, accepted) in [(0, false), (1, true), (1000, true), (1001, false)] {
            let mut config = Config::strict("https://auth.example");
            config.pushed_requests_per_client = count;
            assert_eq!(config.check_pushed_requests(true).is_ok(), accepted, "{count}");
        }
    }
}
