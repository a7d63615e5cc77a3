//! How many cases are tried, and which.
//!
//! Every run draws the same cases. `GRANTOR_CASES=100000` tries that many new ones of each property. A case that fails
//! is made smaller and shown.

use std::env::{self, VarError};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use tokio::runtime::{Builder, Runtime};

const VARIABLE: &str = "GRANTOR_CASES";
/// Steps on the way to a smaller case.
const SHRINKING: u32 = 20_000;

thread_local! {
    /// Some stores need one.
    static RUNTIME: Runtime = Builder::new_current_thread().enable_all().build().unwrap();
}

/// Waits for what a server answers.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    RUNTIME.with(|runtime| runtime.block_on(future))
}

/// Returns how many cases to try where this many are meant.
pub(crate) fn count(meant: u32) -> u32 {
    asked().unwrap_or(meant)
}

/// The count that the environment sets.
fn asked() -> Option<u32> {
    match env::var(VARIABLE) {
        Ok(asked) => Some(asked.parse().unwrap()),
        Err(VarError::NotPresent) => None,
        Err(error) => panic!("{VARIABLE}: {error}"),
    }
}

/// Tries a property on so many cases, unless another count was asked for.
#[track_caller]
pub(crate) fn check<S: Strategy>(meant: u32, cases: &S, property: impl Fn(S::Value) -> Result<(), String>) {
    let config =
        Config { cases: count(meant), failure_persistence: None, max_shrink_iters: SHRINKING, ..Config::default() };
    let mut runner = match asked() {
        Some(_) => TestRunner::new(config),
        None => TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32])),
    };
    if let Err(failure) = runner.run(cases, |case| property(case).map_err(TestCaseError::fail)) {
        panic!("{failure}");
    }
}

/// A difference as an error.
pub(crate) fn holds(condition: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if condition { Ok(()) } else { Err(what()) }
}
