//! When devices polled last.

use std::sync::{Mutex, PoisonError};

use crate::base::clock::Timestamp;
use crate::base::generations::{Generations, OnHeap};
use crate::secret::Digest;

/// How many device codes are remembered at most.
const MAX: usize = 65_536;

/// The times of the last polls with at most 65 536 device codes, in less than 2 MB. If there are more, the older half
/// is forgotten, which costs a device nothing.
///
/// The key is the first bytes of the code's digest.
#[derive(Debug)]
pub(crate) struct Polls(Mutex<Generations<[u8; 8], Timestamp>>);

impl OnHeap for Timestamp {}

impl Default for Polls {
    fn default() -> Self {
        Self(Mutex::new(Generations::new(MAX, usize::MAX)))
    }
}

impl Polls {
    /// Notes a poll, and returns the time of the one before it, if it is remembered.
    pub(crate) fn note(&self, code: &Digest, now: Timestamp) -> Option<Timestamp> {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let code = code.first_bytes();
        let before = times.find(&code).copied();
        times.keep(code, now);
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
        assert!((MAX / 2 + 1..=MAX).contains(&polls.0.lock().unwrap().len()));
        assert_eq!(polls.note(&code(0), at(9)), None, "it was forgotten");
        assert_eq!(polls.note(&code(999_999), at(9)), Some(at(7)));
    }
}
