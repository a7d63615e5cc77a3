//! Reads a list to its end, and skips records that cannot be read.

use std::sync::Arc;

use crate::store::{Page, Record, RecordStore, StoreError};

/// Items that are read at once.
const PAGE: usize = 100;

/// A reader of one list. An unreadable record does not hide others.
pub(crate) struct Reader<R: Record> {
    next: Option<Page<R::Key>>,
    id: fn([u8; 16]) -> R::Key,
    /// Whether to read row by row, in order to find the unreadable one.
    reduce: bool,
    failure: Option<StoreError>,
}

impl<R: Record> Reader<R> {
    pub(crate) fn new(id: fn([u8; 16]) -> R::Key) -> Self {
        Self { next: Some(Page::first(PAGE)), id, reduce: false, failure: None }
    }

    /// Reads the next page, and returns the rows that could be read; `None` at the end of the list.
    pub(crate) async fn next(&mut self, store: &dyn RecordStore<R>, list: &str) -> Option<Vec<Arc<R>>> {
        let page = self.next_page()?;
        let answer = store.list(list, page.clone()).await;
        Some(self.take(page, answer))
    }

    /// Returns the page to read next.
    fn next_page(&mut self) -> Option<Page<R::Key>> {
        self.next.take()
    }

    /// Takes the store's answer for `page`, and returns the rows that could be read.
    fn take(&mut self, page: Page<R::Key>, answer: Result<Vec<Arc<R>>, StoreError>) -> Vec<Arc<R>> {
        let rows = match answer {
            Ok(rows) => rows,
            Err(error) => {
                self.next = self.around(page, &error);
                self.fail(error);
                return Vec::new();
            }
        };
        let last = rows.last().filter(|_| rows.len() >= page.limit());
        self.next = last.map(|last| self.after(last.key().clone()));
        rows
    }

    /// Returns whether another page follows.
    pub(crate) const fn has_more(&self) -> bool {
        self.next.is_some()
    }

    /// Keeps a failure for [`finish`](Self::finish). Only the first one is kept.
    pub(crate) fn fail(&mut self, error: StoreError) {
        self.failure.get_or_insert(error);
    }

    /// Returns the first failure, if there was one.
    pub(crate) fn finish(self) -> Result<(), StoreError> {
        self.failure.map_or(Ok(()), Err)
    }

    /// Returns the page that leads past an unreadable record: one row at a time up to it, then the rows after it.
    fn around(&mut self, page: Page<R::Key>, error: &StoreError) -> Option<Page<R::Key>> {
        let unreadable = (self.id)(*error.unreadable_key()?.first_chunk::<16>()?);
        if !page.admits(&unreadable) {
            return None;
        }
        self.reduce = page.limit() > 1;
        Some(if self.reduce { page.with_limit(1) } else { self.after(unreadable) })
    }

    fn after(&self, key: R::Key) -> Page<R::Key> {
        Page::after(key, if self.reduce { 1 } else { PAGE })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::codec::DecodeError;
    use crate::base::id::GrantId;
    use crate::model::Grant;

    fn id(number: u8) -> GrantId {
        GrantId::from_bytes([number; 16])
    }

    fn unreadable(number: u8) -> Result<Vec<Arc<Grant>>, StoreError> {
        Err(StoreError::unreadable(&[number; 16], DecodeError::UnknownLayout))
    }

    /// The pages that are requested after answers without rows.
    fn pages_after(answers: Vec<Result<Vec<Arc<Grant>>, StoreError>>) -> Vec<Page<GrantId>> {
        let mut reader = Reader::<Grant>::new(GrantId::from_bytes);
        let mut asked = Vec::new();
        for answer in answers {
            let page = reader.next_page().unwrap();
            asked.push(page.clone());
            assert!(reader.take(page, answer).is_empty());
        }
        asked.extend(reader.next_page());
        asked
    }

    #[test]
    fn an_unreadable_record_is_passed_row_by_row() {
        let first = Page::first(PAGE);
        assert_eq!(pages_after(vec![unreadable(3)]), [first.clone(), Page::first(1)]);
        let passed = Page::after(id(3), PAGE);
        assert_eq!(pages_after(vec![unreadable(3), unreadable(3)]), [first.clone(), Page::first(1), passed.clone()]);
        let row = Page::after(id(3), 1);
        assert_eq!(
            pages_after(vec![unreadable(3), unreadable(3), unreadable(9)]),
            [first, Page::first(1), passed, row]
        );
    }

    #[test]
    fn a_list_ends_where_the_store_fails_or_names_what_was_passed_before() {
        let lost = || Err(StoreError::transient("lost"));
        assert_eq!(pages_after(vec![lost()]), [Page::first(PAGE)]);
        assert_eq!(pages_after(vec![unreadable(3), unreadable(3), unreadable(3)]).len(), 3);
        assert_eq!(pages_after(vec![unreadable(3), unreadable(3), unreadable(2)]).len(), 3);
    }

    #[test]
    fn the_first_failure_is_returned_at_the_end() {
        let mut reader = Reader::<Grant>::new(GrantId::from_bytes);
        reader.fail(StoreError::transient("first"));
        reader.fail(StoreError::permanent("second"));
        assert!(reader.finish().unwrap_err().is_transient());
        assert!(Reader::<Grant>::new(GrantId::from_bytes).finish().is_ok());
        let mut reader = Reader::<Grant>::new(GrantId::from_bytes);
        let page = reader.next_page().unwrap();
        assert!(reader.take(page, unreadable(3)).is_empty());
        assert_eq!(reader.finish().unwrap_err().unreadable_key(), Some(&[3; 16][..]));
    }
}
