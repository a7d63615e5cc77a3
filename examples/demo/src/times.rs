//! The lifetimes of tokens and the speed of the server's clock, to watch tokens expire.

use std::time::Duration;

use grantor::{Clock, Config, SystemClock, Timestamp};
use tokio::time::Instant;

/// The options about times.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    access_token_lifetime: Option<u32>,
    refresh_token_lifetime: Option<u32>,
    request_uri_lifetime: Option<u32>,
    clock_speed: u32,
}

/// Returns the help for these options, for a server with that grace in seconds.
#[must_use]
pub fn usage(grace: u32) -> String {
    format!(
        "\
\x20 --access-token-lifetime SECONDS   28800 by default
  --refresh-token-lifetime SECONDS  15552000 by default; {grace} or less also shortens the grace of old refresh tokens
  --request-uri-lifetime SECONDS    of pushed requests, 300 by default; 30 to 599
  --clock-speed N                   makes the server's clock N times as fast, at max 1000; a consent page then
                                    lasts 1800/N seconds and a code 600/N"
    )
}

const FASTEST: u32 = 1000;

impl Default for Times {
    fn default() -> Self {
        Self { access_token_lifetime: None, refresh_token_lifetime: None, request_uri_lifetime: None, clock_speed: 1 }
    }
}

impl Times {
    /// Takes an option with its value, if it is one of these.
    ///
    /// # Errors
    ///
    /// A message that says what is wrong with the value.
    pub fn take(&mut self, option: &str, value: impl FnOnce() -> Option<String>) -> Result<bool, String> {
        let number = || {
            let text = value().ok_or_else(|| format!("{option} needs a value"))?;
            text.parse::<u32>().map_err(|_| format!("{option} needs a number, not {text}"))
        };
        match option {
            "--access-token-lifetime" => self.access_token_lifetime = Some(number()?),
            "--refresh-token-lifetime" => self.refresh_token_lifetime = Some(number()?),
            "--request-uri-lifetime" => self.request_uri_lifetime = Some(number()?),
            "--clock-speed" => {
                self.clock_speed = number()?;
                if !(1..=FASTEST).contains(&self.clock_speed) {
                    return Err(format!("--clock-speed must be 1 to {FASTEST}"));
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Sets the lifetimes that were named.
    pub fn apply(self, config: &mut Config) {
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        config.tokens.access_lifetime = self.access_token_lifetime.map_or(config.tokens.access_lifetime, seconds);
        config.tokens.refresh_lifetime = self.refresh_token_lifetime.map_or(config.tokens.refresh_lifetime, seconds);
        config.pushed_requests.lifetime = self.request_uri_lifetime.map_or(config.pushed_requests.lifetime, seconds);
        let last_second = config.tokens.refresh_lifetime.saturating_sub(Duration::from_secs(1));
        config.refresh.grace = config.refresh.grace.min(last_second);
    }

    /// Returns the clock of the server, which starts now.
    pub fn clock(self) -> FastClock {
        FastClock { begun: SystemClock.now(), since: Instant::now(), speed: self.clock_speed }
    }

    /// Returns how long a minute of that clock takes.
    pub fn minute(self) -> Duration {
        Duration::from_secs(60) / self.clock_speed
    }
}

/// The system's clock, or one that runs faster from the start on.
#[derive(Clone, Copy, Debug)]
pub struct FastClock {
    begun: Timestamp,
    since: Instant,
    speed: u32,
}

impl Clock for FastClock {
    fn now(&self) -> Timestamp {
        if self.speed == 1 {
            return SystemClock.now();
        }
        self.begun.plus(self.since.elapsed() * self.speed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lifetime_of_refresh_tokens_shortens_the_grace() {
        for (option, value, grace) in [
            ("--access-token-lifetime", 60, 300),
            ("--refresh-token-lifetime", 301, 300),
            ("--refresh-token-lifetime", 300, 299),
        ] {
            let (mut times, mut config) = (Times::default(), Config::platform("https://auth.example"));
            assert_eq!(times.take(option, || Some(value.to_string())), Ok(true));
            times.apply(&mut config);
            assert_eq!(config.refresh.grace, Duration::from_secs(grace), "{option} {value}");
        }
    }
}
