//! The result of a purge step.

/// The result of one step of a purge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Purge {
    removed: usize,
    finished: bool,
}

impl Purge {
    /// Creates the result of a step that removed `removed` records and may have left some.
    pub const fn new(removed: usize) -> Self {
        Self { removed, finished: false }
    }

    /// Marks the purge as finished: nothing was left to remove.
    pub const fn finished(self) -> Self {
        Self { finished: true, ..self }
    }

    /// Returns the number of removed records.
    #[must_use]
    pub const fn removed(&self) -> usize {
        self.removed
    }

    /// Returns whether nothing was left to remove.
    #[must_use]
    pub const fn is_finished(&self) -> bool {
        self.finished
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        Self { removed: self.removed + other.removed, finished: self.finished && other.finished }
    }
}
