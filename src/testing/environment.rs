//! A manual clock and a reproducible generator.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::base::clock::{Clock, Timestamp};
use crate::base::entropy::Entropy;

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

/// A generator of the same bytes for the same seed, in the order of the calls. Clones share their position.
///
/// # Security
///
/// Anyone who knows the seed knows every secret: use it only in tests.
#[derive(Clone, Debug)]
pub struct SeededEntropy(Arc<Mutex<ChaCha20Rng>>);

impl SeededEntropy {
    /// Creates a generator from a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(ChaCha20Rng::seed_from_u64(seed))))
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(bytes);
    }
}
