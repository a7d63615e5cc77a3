//! Time and randomness that a test sets.

mod clock;
mod entropy;

pub use clock::ManualClock;
pub use entropy::SeededEntropy;
