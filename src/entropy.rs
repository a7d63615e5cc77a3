//! Random octets, and where they come from.

use std::cell::RefCell;
use std::fmt;

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use zeroize::Zeroizing;

/// A cryptographic source of random octets.
///
/// Ids, codes, tokens and client secrets are drawn from it, so whoever can guess its output can
/// forge them. To use a generator of your own, wrap it. This one is of the crate `chacha20` 0.10 with its feature `rng`:
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
/// impl grantor::Entropy for OwnGenerator {
///     fn fill(&self, octets: &mut [u8]) {
///         self.0.lock().expect("no thread panicked while drawing").fill_bytes(octets);
///     }
/// }
/// ```
pub trait Entropy: fmt::Debug + Send + Sync + 'static {
    /// Fills `octets` with random octets of cryptographic quality.
    fn fill(&self, octets: &mut [u8]);
}

/// ChaCha20, one generator per thread, seeded by the operating system and seeded anew after each
/// mebibyte.
///
/// A process that forks without starting another program must not use it in both halves.
///
/// # Panics
///
/// If the operating system has no random numbers to give: there is no safe way on.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "it holds nothing and is written as a value")]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, octets: &mut [u8]) {
        GENERATOR.with_borrow_mut(|generator| generator.fill(octets));
    }
}

/// Octets drawn from one seed.
const OCTETS_PER_SEED: usize = 1 << 20;

thread_local! {
    static GENERATOR: RefCell<Generator> = RefCell::new(Generator::seeded());
}

struct Generator {
    stream: ChaCha20Rng,
    left: usize,
}

impl Generator {
    #[expect(clippy::disallowed_methods, reason = "the one place that asks the operating system for random octets")]
    #[expect(
        clippy::panic,
        reason = "a token from a generator without a seed could be guessed; there is no safe answer"
    )]
    fn seeded() -> Self {
        let mut seed = Zeroizing::new([0; 32]);
        if let Err(error) = getrandom::fill(seed.as_mut_slice()) {
            panic!("the operating system gave no random octets: {error}");
        }
        Self { stream: ChaCha20Rng::from_seed(*seed), left: OCTETS_PER_SEED }
    }

    fn fill(&mut self, octets: &mut [u8]) {
        if self.left < octets.len() {
            *self = Self::seeded();
        }
        self.left = self.left.saturating_sub(octets.len());
        self.stream.fill_bytes(octets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_draw_different_octets_and_seeds_are_renewed() {
        let draw = || {
            let mut octets = [0; 32];
            SystemEntropy.fill(&mut octets);
            octets
        };
        let other = std::thread::spawn(draw).join().unwrap();
        assert_ne!(draw(), other);
        let mut generator = Generator::seeded();
        generator.fill(&mut vec![0; OCTETS_PER_SEED]);
        assert_eq!(generator.left, 0);
        generator.fill(&mut [0; 8]);
        assert_eq!(generator.left, OCTETS_PER_SEED - 8);
    }
}
