//! Two kinds of calls, timed in random order.

use std::hint::black_box;
use std::time::Instant;

/// Calls of each kind.
const CALLS: usize = 500_000;
const LONGEST: usize = 256;
const WARM_UP: usize = 20_000;
/// The fractions of all times that are kept, the slowest cut off: interruptions are slower than any difference.
const KEPT: [f64; 5] = [0.5, 0.8, 0.9, 0.99, 1.0];

/// The result where the difference is clearest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Difference {
    /// Welch's t.
    pub(crate) t: f64,
    /// The difference of the means of nine tenths, without the slowest.
    pub(crate) nanoseconds: f64,
}

/// Times calls with inputs of both kinds.
///
/// All inputs lie side by side, the kinds in turns, and each is copied to one place before its call. Even so, times
/// differ between inputs by a nanosecond or two, so the mean of one input counts as one observation.
#[expect(clippy::disallowed_methods, reason = "the time that passes is what is measured")]
pub(crate) fn compare(name: &str, inputs: [Vec<Vec<u8>>; 2], call: impl Fn(&[u8])) -> Difference {
    let count = inputs[0].len().min(inputs[1].len());
    let side_by_side: Vec<_> = (0..2 * count).flat_map(|number| padded(&inputs[number % 2][number / 2])).collect();
    let mut times = [const { Vec::new() }; 2].map(|_: Vec<f64>| vec![Vec::new(); count]);
    let mut place = Vec::with_capacity(LONGEST);
    let mut drawn = 0x9e37_79b9_7f4a_7c15_u64;
    for number in 0..WARM_UP + 2 * CALLS {
        // xorshift64
        drawn ^= drawn << 13;
        drawn ^= drawn >> 7;
        drawn ^= drawn << 17;
        let kind = usize::from(drawn & 1 == 1);
        let input = usize::try_from(drawn >> 8).unwrap() % count;
        place.clear();
        place.extend_from_slice(&side_by_side[(2 * input + kind) * LONGEST..][..inputs[kind][input].len()]);
        let begun = Instant::now();
        call(black_box(&place));
        let time = u32::try_from(begun.elapsed().as_nanos()).unwrap_or(u32::MAX);
        if number >= WARM_UP {
            times[kind][input].push(f64::from(time));
        }
    }
    report(name, &times)
}

fn report(name: &str, times: &[Vec<Vec<f64>>; 2]) -> Difference {
    let mut all = times.concat().concat();
    all.sort_by(f64::total_cmp);
    println!("{name}");
    let mut largest = Difference { t: 0.0, nanoseconds: 0.0 };
    for kept in KEPT {
        let limit = all[((all.len() - 1) as f64 * kept) as usize];
        let [Some(first), Some(second)] = times.each_ref().map(|times| Sample::of(times, limit)) else { continue };
        let (nanoseconds, error) = (first.mean - second.mean, (first.error + second.error).sqrt());
        let t = nanoseconds / error;
        println!(
            "  fastest {:3.0} %: {:.1} and {:.1} ns, difference {nanoseconds:+.2} ± {error:.2} ns, t = {t:+.2}",
            kept * 100.0,
            first.mean,
            second.mean
        );
        if kept == 0.9 {
            largest.nanoseconds = nanoseconds;
        }
        if t.abs() > largest.t.abs() {
            largest.t = t;
        }
    }
    largest
}

fn padded(input: &[u8]) -> [u8; LONGEST] {
    let mut padded = [0; LONGEST];
    padded[..input.len()].copy_from_slice(input);
    padded
}

struct Sample {
    mean: f64,
    /// The square of the mean's standard error.
    error: f64,
}

impl Sample {
    /// The means of the inputs, of times up to a limit that is the same for both kinds; `None` if an input has none
    /// left.
    fn of(times: &[Vec<f64>], limit: f64) -> Option<Self> {
        let means: Option<Vec<_>> =
            times.iter().map(|times| mean(times.iter().filter(|time| **time <= limit))).collect();
        let means = means?;
        let count = means.len() as f64;
        let mean = mean(means.iter())?;
        let variance = means.iter().map(|own| (own - mean).powi(2)).sum::<f64>() / (count - 1.0);
        Some(Self { mean, error: variance / count })
    }
}

fn mean<'t>(times: impl Iterator<Item = &'t f64> + Clone) -> Option<f64> {
    let count = times.clone().count();
    (count > 0).then(|| times.sum::<f64>() / count as f64)
}
