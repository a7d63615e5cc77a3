//! Pages of a list.

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
