//! What a purge tells, step by step.

/// What one step of a purge did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Purge {
    removed: usize,
    finished: bool,
}

impl Purge {
    /// A step that removed so many records and may have left some.
    pub const fn new(removed: usize) -> Self {
        Self { removed, finished: false }
    }

    /// Says that nothing was left to remove.
    pub const fn finished(self) -> Self {
        Self { finished: true, ..self }
    }

    /// Returns the count of records removed.
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
