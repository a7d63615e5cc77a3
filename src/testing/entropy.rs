//! A generator that repeats itself.

use std::sync::{Arc, Mutex, PoisonError};

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::entropy::Entropy;

/// The same octets for the same seed, in the order of the calls; clones share their place.
///
/// # Security
///
/// Whoever knows the seed knows every secret: for tests alone.
#[derive(Clone, Debug)]
pub struct SeededEntropy(Arc<Mutex<ChaCha20Rng>>);

impl SeededEntropy {
    /// Makes a generator from a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(ChaCha20Rng::seed_from_u64(seed))))
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, octets: &mut [u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(octets);
    }
}
