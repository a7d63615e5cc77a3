//! An unreadable record affects no other record.

use std::future::Future;

use crate::store::{Insertion, Page, StoreError};
use crate::testing::records;
use crate::testing::rows::{Rows, Sample};
use crate::testing::rules::purge::emptied;
use crate::testing::rules::{ALL, add, change, earlier, far, later, purge_all, purge_step};

pub(in crate::testing) async fn is_named_by_a_list<R: Sample, F>(
    rows: &Rows<'_, R>,
    spoil: impl Fn([u8; 16]) -> F + Send + Sync,
) where
    F: Future<Output = ()> + Send,
{
    let subject = records::subject();
    let mut all: Vec<_> = (0..6).map(|_| R::first(&subject, far())).collect();
    for row in &all {
        add(rows, row).await;
    }
    all.sort_by_key(|row| R::id(row));
    let spoiled: Vec<_> = [1, 2, 5].iter().filter_map(|place| all.get(*place)).map(|row| R::id(row)).collect();
    for id in &spoiled {
        spoil(R::bytes(id)).await;
    }
    let named = |error: StoreError| error.unreadable_key().and_then(<[u8]>::first_chunk).copied();
    let mut page = Page::first(1);
    for row in &all {
        let found = rows.try_list(&subject, page).await.map_err(named);
        let expected =
            if spoiled.contains(&R::id(row)) { Err(Some(R::bytes(row.key()))) } else { Ok(vec![row.clone()]) };
        assert!(found == expected, "a page of one has the record, or an error that names it: {found:?}");
        page = Page::after(R::id(row), 1);
    }
    let found = rows.try_list(&subject, Page::first(ALL)).await.map_err(named);
    let named = spoiled.iter().any(|id| found == Err(Some(R::bytes(id))));
    assert!(named, "a page that holds what cannot be read is an error that names it: {found:?}");
}

pub(in crate::testing) async fn is_stepped_over_by_a_purge<R: Sample, F>(
    rows: &Rows<'_, R>,
    spoil: impl Fn([u8; 16]) -> F + Send + Sync,
) where
    F: Future<Output = ()> + Send,
{
    const UNREADABLE: usize = 5;
    const DEAD: usize = 7;
    let (subject, end) = (records::subject(), emptied(rows, 0).await);
    // More of them than a step examines, and before all others.
    for _ in 0..UNREADABLE {
        let row = R::first(&subject, earlier(end, 1));
        add(rows, &row).await;
        spoil(R::bytes(row.key())).await;
    }
    let dead: Vec<_> = (0..DEAD).map(|_| R::first(&subject, end)).collect();
    for row in &dead {
        add(rows, row).await;
    }
    let mut steps = 0;
    while !purge_step(rows, end, 2).await.is_finished() {
        steps += 1;
        assert!(steps <= 2 * (UNREADABLE + DEAD), "a purge does not finish because of unreadable records");
    }
    for row in &dead {
        let found = rows.find(R::id(row)).await;
        assert!(found.is_none(), "a due row behind an unreadable record was not removed");
    }
}

/// The end that was written last counts, which is stored beside the record, not the one in the purge index.
pub(in crate::testing) async fn is_kept_until_its_end<R: Sample, F>(
    rows: &Rows<'_, R>,
    spoil: impl Fn([u8; 16]) -> F + Send + Sync,
) where
    F: Future<Output = ()> + Send,
{
    let (subject, end) = (records::subject(), emptied(rows, 0).await);
    let (first, moved) = (R::first(&subject, end), R::first(&subject, earlier(end, 1)));
    let longer = R::next(&moved, far());
    add(rows, &first).await;
    add(rows, &moved).await;
    change(rows, &moved, &longer).await;
    spoil(R::bytes(first.key())).await;
    spoil(R::bytes(longer.key())).await;
    for (now, kept) in
        [(earlier(end, 1), [&first, &longer].as_slice()), (end, &[&longer]), (later(end, 86_400), &[&longer])]
    {
        purge_all(rows, now, 10).await;
        for row in kept {
            let is_there = rows.try_find(R::id(row)).await.is_err();
            let exists = rows.insert(row).await == Insertion::Exists;
            assert!(is_there && exists, "a row that cannot be read was removed before its end");
        }
    }
    let found = rows.try_find(R::id(&first)).await;
    assert!(matches!(found, Ok(None)), "a row that cannot be read is kept after its end: {found:?}");
}
