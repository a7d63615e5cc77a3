//! When devices polled last.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::base::clock::Timestamp;
use crate::secret::Digest;

/// Half of the device codes that are remembered at most.
const GENERATION: usize = 32_768;

/// The times of the last polls with at most 65 536 device codes, in less than 2 MB. If there are more, the older half is
/// forgotten, which costs a device nothing.
#[derive(Debug, Default)]
pub(crate) struct Polls(Mutex<Generations>);

/// By the first bytes of the code's digest.
type Times = HashMap<[u8; 8], Timestamp>;

#[derive(Debug, Default)]
struct Generations {
    young: Times,
    old: Times,
}

impl Polls {
    /// Notes a poll, and returns the time of the one before it, if it is remembered.
    pub(crate) fn note(&self, code: &Digest, now: Timestamp) -> Option<Timestamp> {
        let mut generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Generations { young, old } = &mut *generations;
        let code = code.first_bytes();
        let before = young.get(&code).or_else(|| old.get(&code)).copied();
        if young.len() >= GENERATION && !young.contains_key(&code) {
            *old = std::mem::take(young);
        }
        young.insert(code, now);
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8628-3.5-03
    #[test]
    fn no_more_than_65_536_codes_are_remembered() {
        let (polls, at) = (Polls::default(), Timestamp::from_seconds);
        let code = |number: u32| Digest::of(&number.to_be_bytes());
        assert_eq!(polls.note(&code(0), at(1)), None);
        assert_eq!(polls.note(&code(0), at(6)), Some(at(1)));
        for number in 1..1_000_000 {
            assert_eq!(polls.note(&code(number), at(7)), None);
        }
        let generations = polls.0.lock().unwrap();
        assert!(generations.young.len() <= GENERATION && generations.old.len() == GENERATION);
        drop(generations);
        assert_eq!(polls.note(&code(0), at(9)), None, "it was forgotten");
        assert_eq!(polls.note(&code(999_999), at(9)), Some(at(7)));
    }
}
