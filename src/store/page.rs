//! A list is read in pages.

/// A part of a list: at most `limit` items whose ids come after a given one.
///
/// Whoever reads on gives the id of the last item that came; a list ends with a page that is not full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<Id> {
    after: Option<Id>,
    limit: usize,
}

impl<Id: Ord> Page<Id> {
    /// Returns the first `limit` items, at least one.
    #[must_use]
    pub fn first(limit: usize) -> Self {
        Self { after: None, limit: limit.max(1) }
    }

    /// Returns the first `limit` items after `id`, at least one.
    #[must_use]
    pub fn after(id: Id, limit: usize) -> Self {
        Self { after: Some(id), limit: limit.max(1) }
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
