//! Latencies in fixed buckets.

use std::time::Duration;

/// Buckets for each doubling, so that a bucket is at most 1/32 wide.
const PER_DOUBLING: usize = 32;
/// The last begins at half an hour.
const BUCKETS: usize = PER_DOUBLING * 28;

/// Counts of latencies in microseconds.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    max: Duration,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self { counts: vec![0; BUCKETS], max: Duration::ZERO }
    }

    pub(crate) fn add(&mut self, latency: Duration) {
        let bucket = bucket(u64::try_from(latency.as_micros()).unwrap());
        self.counts[bucket.min(BUCKETS - 1)] += 1;
        self.max = self.max.max(latency);
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub(crate) const fn max(&self) -> Duration {
        self.max
    }

    /// What `per_thousand` of the latencies do not exceed, by the upper end of their bucket.
    pub(crate) fn quantile(&self, per_thousand: u64) -> Duration {
        let mut left = (self.count() * per_thousand).div_ceil(1000);
        for (bucket, count) in self.counts.iter().enumerate() {
            left = left.saturating_sub(*count);
            if left == 0 {
                return upper_end(bucket).min(self.max);
            }
        }
        self.max
    }
}

/// Below 32 the number itself; above, the five bits after the first and how far they are shifted.
fn bucket(microseconds: u64) -> usize {
    let bits = usize::try_from(u64::BITS - microseconds.leading_zeros()).unwrap();
    let shift = bits.saturating_sub(6);
    shift * PER_DOUBLING + usize::try_from(microseconds >> shift).unwrap()
}

fn upper_end(bucket: usize) -> Duration {
    let shift = (bucket / PER_DOUBLING).saturating_sub(1);
    let start = bucket - shift * PER_DOUBLING;
    Duration::from_micros(((u64::try_from(start).unwrap() + 1) << shift) - 1)
}

#[test]
fn quantiles_are_within_a_thirty_second_of_the_latencies() {
    let mut histogram = Histogram::new();
    for microseconds in 1..=100_000 {
        histogram.add(Duration::from_micros(microseconds));
    }
    assert_eq!((histogram.count(), histogram.max()), (100_000, Duration::from_micros(100_000)));
    for (per_thousand, exact) in [(1, 100), (500, 50_000), (990, 99_000), (1000, 100_000)] {
        let found = u64::try_from(histogram.quantile(per_thousand).as_micros()).unwrap();
        assert!((exact..=exact + exact / 32 + 1).contains(&found), "{per_thousand}: {found}");
    }
}
