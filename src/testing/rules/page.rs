//! A list is read in pages.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::model::subject::Subject;
use crate::store::Page;
use crate::testing::records;
use crate::testing::rows::{Rows, Sample};
use crate::testing::rules::{add, change, due, far, purge_all};
use crate::testing::told::cut;

pub(in crate::testing) async fn holds_every_row_once<R: Sample>(rows: &Rows<'_, R>) {
    let (subject, other) = (records::subject(), records::subject());
    let mut all: Vec<_> = (0..12).map(|_| R::first(&subject, far())).collect();
    for row in &all {
        add(rows, row).await;
        add(rows, &R::first(&other, far())).await;
    }
    all.sort_by_key(|row| R::id(row));
    for limit in [1, 3, 4, 11, 12, 13, 1000] {
        let mut reader = Reader::<R>::new(limit);
        while reader.read_on(rows, &subject).await {}
        assert!(reader.found == all, "in pages of {limit}: {} in place of {}", cut(&reader.found), cut(&all));
        let pages = all.len() / limit + 1;
        assert_eq!(reader.pages, pages, "pages of {limit} are full except for the last one");
    }
    let least = rows.list(&subject, Page::first(0)).await;
    assert_eq!(least.len(), 1, "a page has one item at least");
}

/// More than a mebibyte together, where some engines truncate their answers.
pub(in crate::testing) async fn of_the_largest_is_full<R: Sample>(rows: &Rows<'_, R>) {
    const ROWS: usize = 16;
    let subject = records::subject();
    let largest = R::huge(&subject, far());
    let ids = (0..ROWS).map(|_| R::bytes(R::first(&subject, far()).key()));
    let mut all: Vec<_> = ids.map(|id| R::under(&largest, id)).collect();
    for row in &all {
        add(rows, row).await;
    }
    all.sort_by_key(|row| R::id(row));
    let page = rows.list(&subject, Page::first(ROWS)).await;
    assert!(page == all, "a page of {ROWS} of the largest records holds {}", page.len());
}

pub(in crate::testing) async fn starts_after_an_id_that_is_gone<R: Sample>(rows: &Rows<'_, R>) {
    let (subject, end) = (records::subject(), due());
    let mut ids = Vec::new();
    for number in 0..12 {
        let row = R::first(&subject, if number % 2 == 0 { end } else { far() });
        add(rows, &row).await;
        ids.push(R::id(&row));
    }
    ids.sort();
    purge_all(rows, end, 100).await;
    let left: Vec<_> = rows.list(&subject, Page::first(100)).await.iter().map(|row| R::id(row)).collect();
    for id in ids {
        let page = rows.list(&subject, Page::after(id.clone(), 100)).await;
        let found: Vec<_> = page.iter().map(|row| R::id(row)).collect();
        let expected: Vec<_> = left.iter().filter(|own| **own > id).cloned().collect();
        assert_eq!(found, expected, "the page after {id:?}");
    }
}

pub(in crate::testing) async fn misses_nothing_that_stays<R: Sample>(rows: &Rows<'_, R>) {
    let (subject, end) = (records::subject(), due());
    let mut stay = BTreeSet::new();
    for number in 0..20 {
        let first = R::first(&subject, end);
        add(rows, &first).await;
        if number % 2 == 1 {
            let longer = R::next(&first, far());
            change(rows, &first, &longer).await;
            stay.insert(R::id(&first));
        }
    }
    let mut reader = Reader::<R>::new(3);
    while reader.read_on(rows, &subject).await {
        if reader.pages == 1 {
            purge_all(rows, end, 100).await;
        } else if reader.pages < 6 {
            let _ = rows.insert(&R::first(&subject, far())).await;
        }
    }
    assert!(reader.pages > 3, "there was time for others to come and go");
    let ids: Vec<_> = reader.found.iter().map(|row| R::id(row)).collect();
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
    async fn read_on(&mut self, rows: &Rows<'_, R>, subject: &Subject) -> bool {
        let Some(page) = self.next.take() else { return false };
        let items = rows.list(subject, page).await;
        assert!(items.len() <= self.limit, "a page of {} holds {} items", self.limit, items.len());
        assert!(self.pages <= 1000, "a list in pages of {} did not end", self.limit);
        self.pages += 1;
        if items.len() == self.limit {
            self.next = items.last().map(|last| Page::after(R::id(last), self.limit));
        }
        self.found.extend(items);
        self.next.is_some()
    }
}
