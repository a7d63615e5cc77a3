//! Random bytes, and where they come from.

use std::cell::RefCell;
use std::fmt;

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use zeroize::Zeroizing;

/// A cryptographic source of random bytes.
///
/// Ids, codes, tokens and client secrets are drawn from it: an attacker who can guess its output can forge them.
/// Versions of records are drawn from it too: if two processes draw the same bytes, one write may replace another
/// unnoticed. To use your own generator, wrap it. This one is from the crate `chacha20` 0.10 with its feature `rng`:
///
/// ```
/// use std::sync::Mutex;
///
/// use chacha20::ChaCha20Rng;
/// use rand_core::Rng;
///
/// #[derive(Debug)]
/// struct OwnGenerator(Mutex<ChaCha20Rng>);
///
/// impl grantor::secret::Entropy for OwnGenerator {
///     fn fill(&self, bytes: &mut [u8]) {
///         self.0.lock().expect("no thread panicked while drawing").fill_bytes(bytes);
///     }
/// }
/// ```
pub trait Entropy: fmt::Debug + Send + Sync + 'static {
    /// Fills `bytes` with random bytes of cryptographic quality.
    fn fill(&self, bytes: &mut [u8]);
}

/// ChaCha20, one generator per thread, seeded by the operating system and reseeded after each mebibyte.
///
/// A process that forks without starting another program must not use it in both the parent and the child.
///
/// # Panics
///
/// If the operating system returns no random bytes: there is no safe way to continue.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "it holds nothing and is written as a value")]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        GENERATOR.with_borrow_mut(|generator| generator.fill(bytes));
    }
}

/// Bytes drawn from one seed.
const BYTES_PER_SEED: usize = 1 << 20;

thread_local! {
    static GENERATOR: RefCell<Generator> = RefCell::new(Generator::seeded());
}

struct Generator {
    stream: ChaCha20Rng,
    left: usize,
}

impl Generator {
    #[expect(clippy::disallowed_methods, reason = "the one place that asks the operating system for random bytes")]
    #[expect(
        clippy::panic,
        reason = "a token from a generator without a seed could be guessed; there is no safe answer"
    )]
    fn seeded() -> Self {
        let mut seed = Zeroizing::new([0; 32]);
        if let Err(error) = getrandom::fill(seed.as_mut_slice()) {
            panic!("the operating system gave no random bytes: {error}");
        }
        Self { stream: ChaCha20Rng::from_seed(*seed), left: BYTES_PER_SEED }
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        if self.left < bytes.len() {
            *self = Self::seeded();
        }
        self.left = self.left.saturating_sub(bytes.len());
        self.stream.fill_bytes(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_draw_different_bytes_and_seeds_are_renewed() {
        let take = || {
            let mut bytes = [0; 32];
            SystemEntropy.fill(&mut bytes);
            bytes
        };
        let other = std::thread::spawn(take).join().unwrap();
        assert_ne!(take(), other);
        let mut generator = Generator::seeded();
        generator.fill(&mut vec![0; BYTES_PER_SEED]);
        assert_eq!(generator.left, 0);
        generator.fill(&mut [0; 8]);
        assert_eq!(generator.left, BYTES_PER_SEED - 8);
    }
}
