//! The limits of a [`MemoryThrottle`](crate::MemoryThrottle).

use std::time::Duration;

/// The rate of a token bucket: a burst, and one more token after each interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    burst: u32,
    interval: Duration,
}

/// The longest wait that a response requests, and therefore the longest interval.
const LONGEST_WAIT: Duration = Duration::from_secs(60 * 60);

impl Rate {
    /// Creates a rate with `burst` tokens, at least one. One token is refilled every `interval`, at most an hour. An
    /// interval of zero means no limit.
    #[must_use]
    pub const fn new(burst: u32, interval: Duration) -> Self {
        Self {
            burst: if burst == 0 { 1 } else { burst },
            interval: if interval.as_secs() < LONGEST_WAIT.as_secs() { interval } else { LONGEST_WAIT },
        }
    }

    /// Returns a rate with so many times the tokens, at once and later.
    pub(super) fn times(self, number: u32) -> Self {
        Self { burst: self.burst.saturating_mul(number), interval: self.interval / number.max(1) }
    }

    /// Returns the microseconds in which one token is refilled.
    pub(super) fn interval(self) -> u64 {
        microseconds(self.interval)
    }

    /// Returns the microseconds in which an empty bucket is refilled.
    pub(super) fn span(self) -> u64 {
        self.interval().saturating_mul(self.burst.into())
    }

    /// Returns the microseconds until a bucket with the longest wait for one token is full.
    pub(super) fn longest_debt(self) -> u64 {
        self.span().saturating_sub(self.interval()).saturating_add(microseconds(LONGEST_WAIT))
    }
}

fn microseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// The limits of a [`MemoryThrottle`](crate::MemoryThrottle).
///
/// Honest people and programs do not reach them, and guessing is slow. Secrets that this crate generates have 256
/// random bits and cannot be guessed at any rate. The limits bound the cost of guesses, and protect secrets that your
/// service chose.
///
/// ```
/// use std::time::Duration;
///
/// use grantor::MemoryThrottle;
/// use grantor::hooks::{Rate, ThrottleLimits};
///
/// // Four servers share the requests, so each one allows a quarter of the default.
/// let mut limits = ThrottleLimits::default();
/// limits.network = Rate::new(100, Duration::from_millis(100));
/// limits.client_failures = Rate::new(3, Duration::from_secs(24));
/// limits.consent_requests = Rate::new(5, Duration::from_secs(40));
/// let throttle = MemoryThrottle::with_limits(limits);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThrottleLimits {
    /// Attempts of one network, an IPv4 address or the first 64 bits of an IPv6 address: 400 in a burst, then 40 a
    /// second.
    ///
    /// It bounds load alone. Many people may share one address, and a page that one of them has open can send 20 forms
    /// a second. An attempt of a client that authenticates returns its token, and one with a secret that was right
    /// within the last hour takes none. Neither does one with the id of a public client and a code or token. The id of
    /// no such client takes one after the look-up.
    pub network: Rate,
    /// Wrong secrets of one claimed client from one network: 10 in a burst, then one every 6 seconds. Then every secret
    /// is refused before it is compared, unless it was right within the last hour. Assertions do not count, since
    /// nobody can guess a signature.
    ///
    /// Ten are enough for a person who pastes the wrong secret. Ten a minute after that are too few to guess a secret.
    pub client_failures: Rate,
    /// Wrong user codes that are typed in one network [RFC 8628 section 5.1]: 10 in a burst, then one every 60 seconds.
    /// A right one does not count, and gives none back.
    ///
    /// With 8 letters and 1000 open codes, 500 networks and 5000 accounts that guess all day hit one of them in 18
    /// days.
    pub user_codes_of_network: Rate,
    /// Wrong user codes in one network that are the first of their user for a time: 100 in a burst, then one every 60
    /// seconds. So a few accounts that guess do not lock out the other users of their network.
    pub first_user_codes_of_network: Rate,
    /// Wrong user codes that one user types: 5 in a burst, then one every 300 seconds.
    pub user_codes_of_user: Rate,
    /// Device requests [RFC 8628] of one network: 30 in a burst, then one every 10 seconds. Refused ones count too. An
    /// IPv6 network of 56 bits has twice as many, one of 48 bits ten times.
    ///
    /// Each takes one of the 1000 places of its client for `devices.lifetime`. In 10 minutes these are at most 90
    /// places of one network, and 900 of a network of 48 bits; in 30 minutes, 210 and 2100.
    pub device_requests: Rate,
    /// Requests that are held for one user, and user codes that one user types: 20 in a burst, then one every 10
    /// seconds.
    ///
    /// Each of them is a record in the store. Twenty are more consent pages than a person has open at once.
    pub consent_requests: Rate,
    /// Registrations and updates of registrations [RFC 7592] from one network, an IPv4 address or the first 64 bits of
    /// an IPv6 address: 20 in a burst, then one every 60 seconds. Refused ones count too. An IPv6 network of 56 bits
    /// has twice as many, one of 48 bits ten times.
    ///
    /// An application registers once for each installation, and many people may share one address. Requests that a web
    /// page sends are counted apart, so no page that a person has open uses up the registrations of other applications.
    pub registrations: Rate,
    /// Metadata documents that are fetched for one user, and key sets of unreviewed clients for one network: 20 in a
    /// burst, then one every 30 seconds.
    ///
    /// A document is cached for at least five minutes, and a person connects few applications in a short time.
    pub document_fetches: Rate,
    /// Fetches from one host, for all users: 30 in a burst, then one every 2 seconds. Counted are metadata documents,
    /// and key sets of unreviewed clients that registered themselves.
    ///
    /// Most hosts have few documents; a hosting service may have many. The document of a stored and approved client
    /// does not count, so requests for other documents of its host do not lock out its users.
    pub document_hosts: Rate,
}

impl Default for ThrottleLimits {
    fn default() -> Self {
        Self {
            network: Rate::new(400, Duration::from_millis(25)),
            client_failures: Rate::new(10, Duration::from_secs(6)),
            device_requests: Rate::new(30, Duration::from_secs(10)),
            user_codes_of_network: Rate::new(10, Duration::from_secs(60)),
            first_user_codes_of_network: Rate::new(100, Duration::from_secs(60)),
            user_codes_of_user: Rate::new(5, Duration::from_secs(300)),
            consent_requests: Rate::new(20, Duration::from_secs(10)),
            registrations: Rate::new(20, Duration::from_secs(60)),
            document_fetches: Rate::new(20, Duration::from_secs(30)),
            document_hosts: Rate::new(30, Duration::from_secs(2)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_stays_within_its_bounds() {
        assert_eq!(Rate::new(0, Duration::ZERO), Rate::new(1, Duration::ZERO));
        assert_eq!(Rate::new(1, Duration::MAX), Rate::new(1, Duration::from_secs(3600)));
        let rate = Rate::new(200, Duration::from_millis(50));
        assert_eq!((rate.interval(), rate.span()), (50_000, 10_000_000));
        assert_eq!(Rate::new(20, Duration::from_secs(60)).times(10), Rate::new(200, Duration::from_secs(6)));
        assert_eq!(Rate::new(u32::MAX, Duration::MAX).span(), u64::from(u32::MAX) * 3_600_000_000);
    }
}
