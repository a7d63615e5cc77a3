//! Rounds that alternate between what is compared, so that noise of the machine hits all of them alike.

use std::time::{Duration, Instant};

/// One of the things that are compared: it does some operations and says how many.
pub(crate) struct Contender<'a> {
    pub(crate) name: &'static str,
    pub(crate) round: &'a mut dyn FnMut() -> u64,
}

/// The median time of an operation of each contender, in nanoseconds, in the order of the contenders.
///
/// Every contender runs once unmeasured, then `rounds` times, taking turns.
#[expect(clippy::disallowed_methods, reason = "a bench measures the time that passes")]
pub(crate) fn interleaved(rounds: usize, contenders: &mut [Contender<'_>]) -> Vec<f64> {
    for contender in contenders.iter_mut() {
        (contender.round)();
    }
    let mut times = vec![Vec::with_capacity(rounds); contenders.len()];
    for _ in 0..rounds {
        for (contender, times) in contenders.iter_mut().zip(&mut times) {
            let begun = Instant::now();
            let operations = (contender.round)();
            times.push(per_operation(begun.elapsed(), operations));
        }
    }
    times.into_iter().map(median).collect()
}

/// Nanoseconds an operation.
pub(crate) fn per_operation(elapsed: Duration, operations: u64) -> f64 {
    elapsed.as_secs_f64() * 1e9 / operations as f64
}

/// The middle of the values, or the mean of the two in the middle.
///
/// # Panics
///
/// If there are no values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) { values[middle - 1].midpoint(values[middle]) } else { values[middle] }
}

/// The value that `share` (0 to 1) of the values do not exceed.
///
/// # Panics
///
/// If there are no values.
pub(crate) fn percentile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len() - 1;
    values[(last as f64 * share).ceil() as usize]
}
