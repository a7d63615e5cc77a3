//! Reading a list to its end, past what cannot be read.

use std::sync::Arc;

use crate::store::record::Record;
use crate::store::{Page, StoreError};

/// Items that are read at once.
const PAGE: usize = 100;

/// A reader of one list: a record that cannot be read takes nothing from those around it.
pub(crate) struct Reader<Id> {
    next: Option<Page<Id>>,
    id: fn([u8; 16]) -> Id,
    /// Whether a page has to be read row by row, to come to the one that cannot be read.
    narrow: bool,
    failure: Option<StoreError>,
}

impl<Id: Ord> Reader<Id> {
    pub(crate) fn new(id: fn([u8; 16]) -> Id) -> Self {
        Self { next: Some(Page::first(PAGE)), id, narrow: false, failure: None }
    }

    /// The page that is to be asked for next.
    pub(crate) fn next_page(&mut self) -> Option<Page<Id>> {
        self.next.take()
    }

    /// Takes what the store answered for `page`, and returns what could be read of it.
    pub(crate) fn take<R: Record>(&mut self, page: Page<Id>, answer: Result<Vec<Arc<R>>, StoreError>) -> Vec<Arc<R>> {
        let rows = match answer {
            Ok(rows) => rows,
            Err(error) => {
                self.next = self.around(page, &error);
                self.fail(error);
                return Vec::new();
            }
        };
        let last = rows.last().filter(|_| rows.len() >= page.limit());
        self.next = last.map(|last| self.after(last.key()));
        rows
    }

    /// Keeps a failure for the end; the first one tells most.
    pub(crate) fn fail(&mut self, error: StoreError) {
        self.failure.get_or_insert(error);
    }

    /// Says how the reading went.
    pub(crate) fn finish(self) -> Result<(), StoreError> {
        self.failure.map_or(Ok(()), Err)
    }

    /// The way past a record that is named: row by row up to it, then on behind it.
    fn around(&mut self, page: Page<Id>, error: &StoreError) -> Option<Page<Id>> {
        let unreadable = error.unreadable_id().filter(|id| page.admits(&(self.id)(**id)))?;
        self.narrow = page.limit() > 1;
        Some(if self.narrow { page.with_limit(1) } else { self.after(unreadable) })
    }

    fn after(&self, key: &[u8; 16]) -> Page<Id> {
        Page::after((self.id)(*key), if self.narrow { 1 } else { PAGE })
    }
}
