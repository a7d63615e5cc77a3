//! Pages of a list, and the results of writes and purges.

/// The maximum number of items on a page.
const MAX_ITEMS: usize = 1000;

/// A part of a list: at most `limit` items whose ids come after a given one.
///
/// To read the next page, pass the id of the last item. A page that is not full is the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<Id> {
    after: Option<Id>,
    limit: usize,
}

impl<Id: Ord> Page<Id> {
    /// Returns a page of the first `limit` items. The limit is clamped to the range 1 to 1000.
    #[must_use]
    pub fn first(limit: usize) -> Self {
        Self { after: None, limit: limit.clamp(1, MAX_ITEMS) }
    }

    /// Returns a page of the first `limit` items after `id`. The limit is clamped as in [`first`](Self::first).
    #[must_use]
    pub fn after(id: Id, limit: usize) -> Self {
        Self { after: Some(id), limit: limit.clamp(1, MAX_ITEMS) }
    }

    pub(crate) fn with_limit(self, limit: usize) -> Self {
        Self { limit: limit.max(1), ..self }
    }

    /// Returns the id after which the page begins.
    #[must_use]
    pub const fn start(&self) -> Option<&Id> {
        self.after.as_ref()
    }

    /// Returns the maximum number of items.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// Returns whether an item with that id belongs on this page or a later one.
    #[must_use]
    pub fn admits(&self, id: &Id) -> bool {
        self.after.as_ref().is_none_or(|start| id > start)
    }
}

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

/// The result of an `insert`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "a store has exactly these two answers")]
pub enum Insertion {
    /// The row was added, as durably as the store promises.
    Inserted,
    /// A row with that key already exists; nothing was written.
    Exists,
}

/// The result of a `replace` or a `confirm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "a store has exactly these two answers")]
pub enum Replacement {
    /// The row was replaced, as durably as the store promises.
    Replaced,
    /// The row has another version, or for a `confirm` other bytes, or is missing; nothing was written.
    Lost,
}
