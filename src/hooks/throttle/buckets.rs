//! A bounded number of token buckets of one rate. Each kind of bucket has its own, since buckets of different rates
//! have no common order of fullness. So a flood of client names cannot evict a network.

use std::collections::{BTreeSet, HashMap};

use crate::hooks::throttle::limits::Rate;

/// The buckets that are not full. All other buckets are full.
///
/// A bucket is one number: the time at which it will be full again, in microseconds. Taking a token moves this time
/// forward, returning one moves it back. The order of these times is the order of fullness at any time.
#[derive(Debug)]
pub(super) struct Buckets {
    rate: Rate,
    max: usize,
    full_at: HashMap<u64, u64>,
    by_fullness: BTreeSet<(u64, u64)>,
}

impl Buckets {
    /// Creates buckets with a debt of at most what an hour refills.
    pub(super) fn new(rate: Rate, max: usize) -> Self {
        Self { rate, max, full_at: HashMap::new(), by_fullness: BTreeSet::new() }
    }

    /// Returns the microseconds until the bucket has a token, 0 if it has one.
    pub(super) fn wait(&self, key: u64, now: u64) -> u64 {
        let with_one_less = self.full_at(key, now).saturating_add(self.rate.interval());
        with_one_less.saturating_sub(now).saturating_sub(self.rate.span())
    }

    /// Returns how many buckets have no token.
    pub(super) fn empty(&self, now: u64) -> usize {
        let full_at = now.saturating_add(self.rate.span()).saturating_sub(self.rate.interval());
        self.by_fullness.range((full_at.saturating_add(1), 0)..).count()
    }

    /// Returns whether no token of the bucket is missing.
    pub(super) fn is_full(&self, key: u64, now: u64) -> bool {
        self.full_at(key, now) == now
    }

    /// Takes tokens, even more than the bucket has: attempts that were allowed together may fail together. The debt is
    /// refilled first.
    pub(super) fn take(&mut self, key: u64, tokens: u32, now: u64) {
        let later = self.full_at(key, now).saturating_add(self.worth(tokens));
        let full_at = later.min(now.saturating_add(self.rate.longest_debt()));
        self.set(key, full_at, now);
    }

    /// Returns taken tokens to the bucket.
    pub(super) fn refund(&mut self, key: u64, tokens: u32, now: u64) {
        let full_at = self.full_at(key, now).saturating_sub(self.worth(tokens));
        self.set(key, full_at, now);
    }

    fn worth(&self, tokens: u32) -> u64 {
        self.rate.interval().saturating_mul(tokens.into())
    }

    fn full_at(&self, key: u64, now: u64) -> u64 {
        self.full_at.get(&key).copied().unwrap_or_default().max(now)
    }

    fn set(&mut self, key: u64, full_at: u64, now: u64) {
        if let Some(before) = self.full_at.remove(&key) {
            self.by_fullness.remove(&(before, key));
        }
        if full_at <= now {
            return;
        }
        self.make_room(now);
        self.full_at.insert(key, full_at);
        self.by_fullness.insert((full_at, key));
    }

    /// Drops buckets that have become full, two for each new one. If none has and the bound is reached, it drops the
    /// fullest one.
    fn make_room(&mut self, now: u64) {
        for _ in 0..2 {
            let Some(&(full_at, key)) = self.by_fullness.first() else { return };
            if full_at > now && self.full_at.len() < self.max {
                return;
            }
            self.by_fullness.pop_first();
            self.full_at.remove(&key);
        }
    }

    #[cfg(test)]
    fn keys(&self) -> Vec<u64> {
        self.by_fullness.iter().map(|(_, key)| *key).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SECOND: u64 = 1_000_000;

    /// Returns buckets of three tokens; one is refilled every two seconds.
    fn buckets(max: usize) -> Buckets {
        Buckets::new(Rate::new(3, Duration::from_secs(2)), max)
    }

    #[test]
    fn a_bucket_empties_and_refills() {
        let mut buckets = buckets(9);
        for _ in 0..3 {
            assert_eq!(buckets.wait(1, SECOND), 0);
            buckets.take(1, 1, SECOND);
        }
        assert_eq!(buckets.wait(1, SECOND), 2 * SECOND);
        assert_eq!(buckets.wait(1, 2 * SECOND), SECOND);
        assert_eq!(buckets.wait(1, 3 * SECOND), 0);
        assert_eq!(buckets.wait(2, SECOND), 0, "another one is full");
        // It is full, and not fuller.
        buckets.take(1, 3, 1000 * SECOND);
        assert_eq!(buckets.wait(1, 1000 * SECOND), 2 * SECOND);
    }

    #[test]
    fn what_is_owed_is_refilled_first_within_an_hour() {
        let mut buckets = buckets(9);
        buckets.take(1, 5, 0);
        assert_eq!(buckets.wait(1, 0), 3 * 2 * SECOND);
        buckets.take(1, u32::MAX, 0);
        assert_eq!(buckets.wait(1, 0), 3600 * SECOND);
    }

    #[test]
    fn what_is_given_back_is_there_again() {
        let mut buckets = buckets(9);
        buckets.take(1, 3, 0);
        buckets.refund(1, 1, 0);
        assert_eq!(buckets.wait(1, 0), 0);
        buckets.refund(1, 9, SECOND);
        assert_eq!(buckets.keys(), [0; 0], "a full bucket is not kept");
        buckets.refund(2, 1, SECOND);
        buckets.take(2, 3, SECOND);
        assert_eq!(buckets.wait(2, SECOND), 2 * SECOND, "none has more than its burst");
    }

    #[test]
    fn the_fullest_goes_first_and_the_full_ones_at_once() {
        let mut buckets = buckets(3);
        buckets.take(1, 3, 0);
        buckets.take(2, 1, 0);
        buckets.take(3, 2, 0);
        buckets.take(4, 2, 0);
        assert_eq!(buckets.keys(), [3, 4, 1]);
        buckets.take(5, 1, 4 * SECOND);
        assert_eq!(buckets.keys(), [1, 5]);
        assert_eq!(buckets.full_at.len(), 2);
    }

    #[test]
    fn without_an_interval_nothing_is_limited() {
        let mut buckets = Buckets::new(Rate::new(1, Duration::ZERO), 3);
        buckets.take(1, u32::MAX, SECOND);
        assert_eq!(buckets.wait(1, SECOND), 0);
        assert_eq!(buckets.keys(), [0; 0]);
    }
}
