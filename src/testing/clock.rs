//! A manual clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::base::clock::{Clock, Timestamp};

/// A clock that changes only when it is set. Clones share their time.
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<AtomicU32>);

impl ManualClock {
    /// Creates a clock that shows `now`.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self(Arc::new(AtomicU32::new(now.seconds())))
    }

    /// Moves the clock forward.
    pub fn advance(&self, span: Duration) {
        self.set(self.now().plus(span));
    }

    /// Sets the clock, also to an earlier time.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.seconds(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_seconds(self.0.load(Ordering::SeqCst))
    }
}
