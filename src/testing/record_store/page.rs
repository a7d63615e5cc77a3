//! A list is read in pages.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::base::subject::Subject;
use crate::store::{Page, RecordStore};
use crate::testing::calls::{add, change, due, far, insert, list, purge_all, sort};
use crate::testing::records;
use crate::testing::sample::Sample;
use crate::testing::told::cut;

/// Rule 6: pages of any size hold every row once, and all but the last one are full.
pub async fn pages_hold_every_row_once<R: Sample>(store: &dyn RecordStore<R>) {
    let (subject, other) = (records::subject(), records::subject());
    let mut all: Vec<_> = (0..12).map(|_| R::first(&subject, far())).collect();
    for row in &all {
        add(store, row).await;
        add(store, &R::first(&other, far())).await;
    }
    sort(&mut all);
    for limit in [1, 3, 4, 11, 12, 13, 1000] {
        let mut reader = Reader::<R>::new(limit);
        while reader.read_on(store, &subject).await {}
        assert!(reader.found == all, "in pages of {limit}: {} in place of {}", cut(&reader.found), cut(&all));
        let pages = all.len() / limit + 1;
        assert_eq!(reader.pages, pages, "pages of {limit} are full except for the last one");
    }
    let least = list(store, &subject, Page::first(0)).await;
    assert_eq!(least.len(), 1, "a page has one item at least");
}

/// Rule 6: a page of the largest records, more than a mebibyte together, is complete.
///
/// More than a mebibyte together, where some engines truncate their answers.
pub async fn a_page_of_the_largest_records_is_full<R: Sample>(store: &dyn RecordStore<R>) {
    const ROWS: usize = 16;
    let subject = records::subject();
    let largest = R::huge(&subject, far());
    let ids = (0..ROWS).map(|_| R::bytes(R::first(&subject, far()).key()));
    let mut all: Vec<_> = ids.map(|id| R::under(&largest, id)).collect();
    for row in &all {
        add(store, row).await;
    }
    sort(&mut all);
    let page = list(store, &subject, Page::first(ROWS)).await;
    assert!(page == all, "a page of {ROWS} of the largest records holds {}", page.len());
}

/// Rule 6: a page may start after a row that was removed.
pub async fn a_page_starts_after_an_id_that_is_gone<R: Sample>(store: &dyn RecordStore<R>) {
    let (subject, end) = (records::subject(), due());
    let mut ids = Vec::new();
    for number in 0..12 {
        let row = R::first(&subject, if number % 2 == 0 { end } else { far() });
        add(store, &row).await;
        ids.push(row.key().clone());
    }
    ids.sort();
    purge_all(store, end, 100).await;
    let left = list(store, &subject, Page::first(100)).await;
    for id in ids {
        let page = list(store, &subject, Page::after(id.clone(), 100)).await;
        let found: Vec<_> = page.iter().map(|row| row.key()).collect();
        let expected: Vec<_> = left.iter().map(|row| row.key()).filter(|own| **own > id).collect();
        assert_eq!(found, expected, "the page after {id:?}");
    }
}

/// Rule 6: while rows are added and removed, a reader of pages finds each row that stays once.
pub async fn pages_miss_nothing_that_stays<R: Sample>(store: &dyn RecordStore<R>) {
    let (subject, end) = (records::subject(), due());
    let mut stay = BTreeSet::new();
    for number in 0..20 {
        let first = R::first(&subject, end);
        add(store, &first).await;
        if number % 2 == 1 {
            let longer = R::next(&first, far());
            change(store, &first, &longer).await;
            stay.insert(first.key().clone());
        }
    }
    let mut reader = Reader::<R>::new(3);
    while reader.read_on(store, &subject).await {
        if reader.pages == 1 {
            purge_all(store, end, 100).await;
        } else if reader.pages < 6 {
            let _ = insert(store, &R::first(&subject, far())).await;
        }
    }
    assert!(reader.pages > 3, "there was time for others to come and go");
    let ids: Vec<_> = reader.found.iter().map(|row| row.key()).collect();
    assert!(ids.is_sorted_by(|one, other| one < other), "a row came twice, or out of order: {ids:?}");
    let missed: Vec<_> = stay.iter().filter(|id| !ids.contains(id)).collect();
    assert!(missed.is_empty(), "rows that were there all the time were missed: {missed:?}");
}

/// Reads as the contract says: each page after the last item, until a page is not full.
struct Reader<R: Sample> {
    limit: usize,
    next: Option<Page<R::Key>>,
    found: Vec<Arc<R>>,
    pages: usize,
}

impl<R: Sample> Reader<R> {
    fn new(limit: usize) -> Self {
        Self { limit, next: Some(Page::first(limit)), found: Vec::new(), pages: 0 }
    }

    /// Reads one page; returns whether there is another.
    async fn read_on(&mut self, store: &dyn RecordStore<R>, subject: &Subject) -> bool {
        let Some(page) = self.next.take() else { return false };
        let items = list(store, subject, page).await;
        assert!(items.len() <= self.limit, "a page of {} holds {} items", self.limit, items.len());
        assert!(self.pages <= 1000, "a list in pages of {} did not end", self.limit);
        self.pages += 1;
        if items.len() == self.limit {
            self.next = items.last().map(|last| Page::after(last.key().clone(), self.limit));
        }
        self.found.extend(items);
        self.next.is_some()
    }
}
