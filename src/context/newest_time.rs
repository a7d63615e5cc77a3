//! The newest time that this process has seen, used to recognize a clock jump.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::base::clock::Timestamp;

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
