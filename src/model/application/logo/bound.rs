//! How long the sides of an image may be.

use crate::model::application::field::Problem;

/// The most pixels of a side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound(u32);

impl Bound {
    pub(super) const fn new(limit: u32) -> Self {
        Self(limit)
    }

    /// Checks the sides that a header states.
    pub(super) fn check(self, width: u32, height: u32) -> Result<(), Problem> {
        let sides = 1..=self.0;
        if sides.contains(&width) && sides.contains(&height) {
            return Ok(());
        }
        Err(Problem::Dimensions { limit: self.0 })
    }
}
