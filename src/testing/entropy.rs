//! A reproducible generator.

use std::sync::{Arc, Mutex, PoisonError};

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::base::entropy::Entropy;

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
