//! A list is read in pages.

/// The most items of a page.
const MOST_ITEMS: usize = 1000;

/// A part of a list: at most `limit` items whose ids come after a given one.
///
/// Whoever reads on gives the id of the last item that came; a list ends with a page that is not full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<Id> {
    after: Option<Id>,
    limit: usize,
}

impl<Id: Ord> Page<Id> {
    /// Returns the first `limit` items, from 1 to 1000: a number beyond is taken for the nearest of them.
    #[must_use]
    pub fn first(limit: usize) -> Self {
        Self { after: None, limit: limit.clamp(1, MOST_ITEMS) }
    }

    /// Returns the first `limit` items after `id`, from 1 to 1000 as in [`first`](Self::first).
    #[must_use]
    pub fn after(id: Id, limit: usize) -> Self {
        Self { after: Some(id), limit: limit.clamp(1, MOST_ITEMS) }
    }

    pub(crate) fn with_limit(self, limit: usize) -> Self {
        Self { limit: limit.max(1), ..self }
    }

    /// Returns the id after which the page begins.
    #[must_use]
    pub const fn start(&self) -> Option<&Id> {
        self.after.as_ref()
    }

    /// Returns the most items that may come.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// Returns whether an item of that id belongs on this page or a later one.
    #[must_use]
    pub fn admits(&self, id: &Id) -> bool {
        self.after.as_ref().is_none_or(|start| id > start)
    }
}
