//! Points in time, where they come from, and the newest one that this process has seen.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::base::ValueError;

/// How far the clocks of servers that share one store may differ.
pub(crate) const ALLOWED_SKEW: u32 = 60;

/// How far the clocks may differ so that the difference is taken for a mistake that is corrected soon: 15 minutes.
const CORRECTED_SOON: u32 = 900;

/// A point in time in whole seconds since 1970-01-01T00:00:00Z, up to the year 2106.
///
/// Every lifetime is half-open: something issued at `t` with lifetime `n` is valid while `now < t + n`. Thirty-two bits
/// keep the records small. Sums saturate at the ends of the range.
///
/// It displays as RFC 3339 in UTC, such as `2026-11-22T12:00:00Z`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u32);

impl Timestamp {
    /// Creates a timestamp from the seconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub const fn from_seconds(seconds: u32) -> Self {
        Self(seconds)
    }

    /// Returns the seconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub const fn seconds(self) -> u32 {
        self.0
    }

    /// Returns this time plus the whole seconds of `life`.
    #[must_use]
    pub fn plus(self, life: Duration) -> Self {
        Self(self.0.saturating_add(u32::try_from(life.as_secs()).unwrap_or(u32::MAX)))
    }

    /// Returns this time minus the whole seconds of `life`.
    pub(crate) fn minus(self, life: Duration) -> Self {
        Self(self.0.saturating_sub(u32::try_from(life.as_secs()).unwrap_or(u32::MAX)))
    }

    /// Returns whether something issued at this time may be used at `now`. The clock of the server that issued it may
    /// be ahead by the allowed skew of 60 seconds.
    pub(crate) const fn has_come(self, now: Self) -> bool {
        self.0 <= now.0.saturating_add(ALLOWED_SKEW)
    }

    /// Returns by how many seconds this time of issue is ahead of `now`, if it is more than the allowed skew and at
    /// most 15 minutes. Then the clock of this server or of the one that issued is wrong, and what was issued is
    /// genuine.
    pub(crate) const fn ahead_of(self, now: Self) -> Option<u32> {
        let ahead = self.seconds_since(now);
        if ahead > ALLOWED_SKEW && ahead <= CORRECTED_SOON { Some(ahead) } else { None }
    }

    /// Returns whether something issued at this time is kept, though it may be too early to use it: the clock that is
    /// wrong may be the one of this server, by at most 15 minutes.
    pub(crate) const fn may_have_come(self, now: Self) -> bool {
        self.seconds_since(now) <= CORRECTED_SOON
    }

    /// Returns the seconds from `earlier` to this time, 0 if `earlier` is not earlier.
    #[must_use]
    pub const fn seconds_since(self, earlier: Self) -> u32 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&OffsetDateTime::from(*self).format(&Rfc3339).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Timestamp> for OffsetDateTime {
    fn from(timestamp: Timestamp) -> Self {
        Self::UNIX_EPOCH + Duration::from_secs(timestamp.0.into())
    }
}

impl TryFrom<OffsetDateTime> for Timestamp {
    type Error = ValueError;

    /// Creates a timestamp from the whole seconds of `time`.
    ///
    /// # Errors
    ///
    /// [`ValueError`] for a time before 1970 or after 2106.
    fn try_from(time: OffsetDateTime) -> Result<Self, Self::Error> {
        u32::try_from(time.unix_timestamp()).map(Self).map_err(|_| NO_TIMESTAMP)
    }
}

const NO_TIMESTAMP: ValueError = ValueError("the time lies outside 1970-01-01 to 2106-02-07");

/// A source of the time of day.
///
/// It is read once per request. The clocks of servers that share one store may differ by at most 60 seconds: requests
/// with anything issued further in the future are answered with 503, and beyond 15 minutes it is refused until then.
/// The [guide](crate::guide::operating#clocks) lists the other requirements.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Returns the time of day.
    fn now(&self) -> Timestamp;
}

/// Admits one report a minute.
#[derive(Debug, Default)]
pub(crate) struct OnceAMinute(AtomicU32);

impl OnceAMinute {
    const BETWEEN: u32 = 60;

    /// Returns whether a report is due, and counts it.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        let last = self.0.load(Ordering::Relaxed);
        let is_recent = last != 0 && last <= now.0 && now.0 - last < Self::BETWEEN;
        !is_recent && self.0.compare_exchange(last, now.0.max(1), Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

/// The clock of the operating system.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "it holds nothing and is written as a value")]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock of the operating system")]
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(u32::try_from(since_epoch.as_secs()).unwrap_or(u32::MAX))
    }
}

/// Seconds by which the clock must be ahead before the newest time advances. Requests write it once a minute, and
/// otherwise only read it.
const STEP: u32 = 60;

/// The newest time that this process has seen. It is unknown until a purge is accepted. Then it follows the clock,
/// except for jumps.
#[derive(Debug, Default)]
pub(crate) struct NewestTime(AtomicU32);

impl NewestTime {
    /// Returns the time, or the earliest timestamp while it is unknown.
    pub(crate) fn time(&self) -> Timestamp {
        Timestamp::from_seconds(self.0.load(Ordering::Relaxed))
    }

    /// Follows the clock, unless it is more than `jump` ahead.
    pub(crate) fn follow(&self, now: Timestamp, jump: Duration) {
        let newest = self.time();
        if now.seconds_since(newest) >= STEP && newest != Timestamp::default() && now <= newest.plus(jump) {
            self.advance_to(now);
        }
    }

    /// Records an accepted time, unless a newer one is known.
    pub(crate) fn advance_to(&self, time: Timestamp) {
        self.0.fetch_max(time.seconds(), Ordering::Relaxed);
    }

    /// Records a confirmed time, even an earlier one.
    pub(crate) fn set(&self, time: Timestamp) {
        self.0.store(time.seconds(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_stay_within_the_range() {
        assert_eq!(Timestamp(10).plus(Duration::from_millis(5_999)), Timestamp(15));
        assert_eq!(Timestamp(u32::MAX).plus(Duration::from_secs(1)), Timestamp(u32::MAX));
        assert_eq!(Timestamp(10).plus(Duration::MAX), Timestamp(u32::MAX));
        assert_eq!(Timestamp(5).seconds_since(Timestamp(9)), 0);
    }

    #[test]
    fn a_time_has_come_from_a_minute_before_it() {
        for (now, expected) in [(939, false), (940, true), (1000, true), (u32::MAX, true)] {
            assert_eq!(Timestamp(1000).has_come(Timestamp(now)), expected, "{now}");
        }
    }

    #[test]
    fn a_clock_that_differs_is_recognized_up_to_15_minutes() {
        let now = Timestamp(1000);
        for (issued, expected) in [(0, None), (1060, None), (1061, Some(61)), (1900, Some(900)), (1901, None)] {
            assert_eq!(Timestamp(issued).ahead_of(now), expected, "{issued}");
        }
    }

    #[test]
    fn one_report_a_minute_is_due() {
        let reports = OnceAMinute::default();
        let due = [(100, true), (159, false), (160, true), (161, false), (10, true), (11, false)];
        for (now, expected) in due {
            assert_eq!(reports.is_due(Timestamp(now)), expected, "{now}");
        }
    }

    #[test]
    fn prints_rfc_3339_and_converts_both_ways() {
        let timestamp = Timestamp(1_000_000_000);
        assert_eq!(timestamp.to_string(), "2001-09-09T01:46:40Z");
        assert_eq!(Timestamp::try_from(OffsetDateTime::from(timestamp)), Ok(timestamp));
        assert_eq!(Timestamp::try_from(OffsetDateTime::UNIX_EPOCH - Duration::from_secs(1)), Err(NO_TIMESTAMP));
    }

    #[test]
    fn follows_the_clock_but_no_clock_jump() {
        const LEAP: Duration = Duration::from_secs(1000);
        let newest = NewestTime::default();
        let seen = |now: u32| {
            newest.follow(Timestamp::from_seconds(now), LEAP);
            newest.time().seconds()
        };
        assert_eq!(seen(100), 0, "unknown until a purge was accepted");
        newest.advance_to(Timestamp::from_seconds(5000));
        for (now, expected) in [(5059, 5000), (5060, 5060), (6061, 5060), (6060, 6060), (9999, 6060), (100, 6060)] {
            assert_eq!(seen(now), expected, "{now}");
        }
        newest.advance_to(Timestamp::from_seconds(100));
        assert_eq!(newest.time().seconds(), 6060);
        newest.set(Timestamp::from_seconds(100));
        assert_eq!(newest.time().seconds(), 100);
    }
}
