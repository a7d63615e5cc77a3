//! The values of a record: random ids, digests and names that are unique, and the time.

use std::time::Duration;

use crate::base::clock::{Clock, SystemClock, Timestamp};
use crate::base::entropy::{Entropy, SystemEntropy};
use crate::base::id::{AuthorizationId, letters_and_digits};
use crate::base::subject::Subject;
use crate::model::RETENTION;
use crate::scope::ScopeSet;
use crate::secret::Digest;

/// Returns a user that no other call returns.
#[must_use]
pub fn subject() -> Subject {
    subject_of(&unique())
}

/// Returns letters and digits that no other call returns.
pub(super) fn unique() -> String {
    letters_and_digits::<22>(&SystemEntropy)
}

pub(super) fn subject_of(text: &str) -> Subject {
    sound(Subject::new(text))
}

pub(super) fn now() -> Timestamp {
    SystemClock.now()
}

/// Unwraps a value that the kit itself made.
#[expect(clippy::panic, reason = "the kit's own texts are sound; if one is not, no test may pass")]
pub(super) fn sound<T, E: std::fmt::Debug>(made: Result<T, E>) -> T {
    match made {
        Ok(made) => made,
        Err(error) => panic!("the kit made an invalid record: {error:?}"),
    }
}

pub(super) fn new_id() -> AuthorizationId {
    AuthorizationId::new(now(), &SystemEntropy)
}

pub(super) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemEntropy.fill(&mut bytes);
    bytes
}

pub(super) fn digest() -> Digest {
    Digest::from_bytes(bytes())
}

/// Returns the end of a record that may be purged from that time.
pub(super) fn end(purge_after: Timestamp) -> Timestamp {
    before(purge_after, RETENTION)
}

pub(super) fn before(time: Timestamp, span: Duration) -> Timestamp {
    let seconds = u32::try_from(span.as_secs()).unwrap_or(u32::MAX);
    Timestamp::from_seconds(time.seconds().saturating_sub(seconds))
}

#[expect(clippy::panic, reason = "as in `sound`")]
pub(super) fn scopes(text: &str) -> ScopeSet {
    ScopeSet::read(text).unwrap_or_else(|| panic!("the kit made invalid scopes: {text:?}"))
}
