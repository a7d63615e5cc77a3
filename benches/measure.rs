//! Rounds that alternate between the contenders, so that noise of the machine affects all of them equally.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// One of the things that are compared. Its round does some operations and returns how many.
pub(crate) struct Contender<'a> {
    pub(crate) name: &'static str,
    pub(crate) round: &'a mut dyn FnMut() -> u64,
}

/// The median time of an operation of each contender, in nanoseconds, in the order of the contenders.
///
/// Every contender runs once unmeasured, then `rounds` times, taking turns.
pub(crate) fn interleaved(rounds: usize, contenders: &mut [Contender<'_>]) -> Vec<f64> {
    let mut laps: Vec<_> = contenders
        .iter_mut()
        .map(|contender| {
            || {
                let (operations, time) = timed(&mut *contender.round);
                assert!(operations > 0, "{} did nothing", contender.name);
                Lap { operations, time }
            }
        })
        .collect();
    let mut laps: Vec<_> = laps.iter_mut().map(|lap| lap as &mut dyn FnMut() -> Lap).collect();
    in_turns(rounds, &mut laps)
}

/// The number of operations of a round, and how long they took without the preparation.
#[derive(Clone, Copy, Default)]
pub(crate) struct Lap {
    pub(crate) operations: u64,
    pub(crate) time: Duration,
}

/// Like [`interleaved`], for rounds with preparation or cleanup.
pub(crate) fn in_turns(rounds: usize, contenders: &mut [&mut dyn FnMut() -> Lap]) -> Vec<f64> {
    for contender in contenders.iter_mut() {
        contender();
    }
    let mut times = vec![Vec::with_capacity(rounds); contenders.len()];
    for _ in 0..rounds {
        for (contender, times) in contenders.iter_mut().zip(&mut times) {
            let lap = contender();
            times.push(per_operation(lap.time, lap.operations));
        }
    }
    times.into_iter().map(median).collect()
}

/// Does the work and returns how long it took.
#[expect(clippy::disallowed_methods, reason = "a bench measures the time that passes")]
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = Instant::now();
    let done = work();
    (done, begun.elapsed())
}

/// Does all parts at once, each on its own thread. A single part runs on this thread. Returns the time from the first
/// start to the last end, as measured by the threads themselves.
#[expect(clippy::disallowed_methods, reason = "a bench measures the time that passes")]
pub(crate) fn at_once<T: Send>(parts: Vec<T>, work: impl Fn(T) + Sync) -> Duration {
    if parts.len() < 2 {
        return timed(|| parts.into_iter().for_each(&work)).1;
    }
    let start = Barrier::new(parts.len());
    let times: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = parts
            .into_iter()
            .map(|part| {
                scope.spawn(|| {
                    start.wait();
                    let begun = Instant::now();
                    work(part);
                    (begun, Instant::now())
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
    });
    let begun = times.iter().map(|(begun, _)| *begun).min();
    let ended = times.iter().map(|(_, ended)| *ended).max();
    ended.zip(begun).map_or(Duration::ZERO, |(ended, begun)| ended - begun)
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
