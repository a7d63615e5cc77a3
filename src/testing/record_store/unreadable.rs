//! An unreadable record affects no other record.

use std::future::Future;

use crate::store::{Insertion, Page, RecordStore, StoreError};
use crate::testing::calls::{
    ALL, add, change, earlier, emptied, far, find, insert, later, purge_all, purge_step, sort,
};
use crate::testing::records;
use crate::testing::sample::Sample;

/// Rule 6: a page with an unreadable record is an error that names it, and the list continues after it.
///
/// `spoil` is that of [`a_purge_steps_over_what_cannot_be_read`].
pub async fn a_list_names_what_cannot_be_read<R: Sample, F>(
    store: &dyn RecordStore<R>,
    spoil: impl Fn([u8; 16]) -> F + Send + Sync,
) where
    F: Future<Output = ()> + Send,
{
    let subject = records::subject();
    let mut all: Vec<_> = (0..6).map(|_| R::first(&subject, far())).collect();
    for row in &all {
        add(store, row).await;
    }
    sort(&mut all);
    let spoiled: Vec<_> = [1, 2, 5].iter().filter_map(|place| all.get(*place)).map(|row| row.key()).collect();
    for id in &spoiled {
        spoil(R::bytes(id)).await;
    }
    let named = |error: StoreError| error.unreadable_key().and_then(<[u8]>::first_chunk).copied();
    let mut page = Page::first(1);
    for row in &all {
        let found = store.list(&R::list_of(&subject), page).await.map_err(named);
        let expected =
            if spoiled.contains(&row.key()) { Err(Some(R::bytes(row.key()))) } else { Ok(vec![row.clone()]) };
        assert!(found == expected, "a page of one has the record, or an error that names it: {found:?}");
        page = Page::after(row.key().clone(), 1);
    }
    let found = store.list(&R::list_of(&subject), Page::first(ALL)).await.map_err(named);
    let named = spoiled.iter().any(|id| found == Err(Some(R::bytes(id))));
    assert!(named, "a page that holds what cannot be read is an error that names it: {found:?}");
}

/// Rule 7: an unreadable record does not keep a purge from due rows behind it.
///
/// `spoil` replaces the record with that id by bytes that are not a record, and changes nothing else. Only the
/// author of a store can write it, so the macro does not include this rule.
pub async fn a_purge_steps_over_what_cannot_be_read<R: Sample, F>(
    store: &dyn RecordStore<R>,
    spoil: impl Fn([u8; 16]) -> F + Send + Sync,
) where
    F: Future<Output = ()> + Send,
{
    const UNREADABLE: usize = 5;
    const DEAD: usize = 7;
    let (subject, end) = (records::subject(), emptied(store, 0).await);
    // More of them than a step examines, and before all others.
    for _ in 0..UNREADABLE {
        let row = R::first(&subject, earlier(end, 1));
        add(store, &row).await;
        spoil(R::bytes(row.key())).await;
    }
    let dead: Vec<_> = (0..DEAD).map(|_| R::first(&subject, end)).collect();
    for row in &dead {
        add(store, row).await;
    }
    let mut steps = 0;
    while !purge_step(store, end, 2).await.is_finished() {
        steps += 1;
        assert!(steps <= 2 * (UNREADABLE + DEAD), "a purge does not finish because of unreadable records");
    }
    for row in &dead {
        let found = find(store, row.key()).await;
        assert!(found.is_none(), "a due row behind an unreadable record was not removed");
    }
}

/// Rule 7: an unreadable record stays until the `purge_after` that was written last, and is removed then.
///
/// `spoil` is that of [`a_purge_steps_over_what_cannot_be_read`].
///
/// The end that was written last counts, which is stored beside the record, not the one in the purge index.
pub async fn a_purge_keeps_what_cannot_be_read<R: Sample, F>(
    store: &dyn RecordStore<R>,
    spoil: impl Fn([u8; 16]) -> F + Send + Sync,
) where
    F: Future<Output = ()> + Send,
{
    let (subject, end) = (records::subject(), emptied(store, 0).await);
    let (first, moved) = (R::first(&subject, end), R::first(&subject, earlier(end, 1)));
    let longer = R::next(&moved, far());
    add(store, &first).await;
    add(store, &moved).await;
    change(store, &moved, &longer).await;
    spoil(R::bytes(first.key())).await;
    spoil(R::bytes(longer.key())).await;
    for (now, kept) in
        [(earlier(end, 1), [&first, &longer].as_slice()), (end, &[&longer]), (later(end, 86_400), &[&longer])]
    {
        purge_all(store, now, 10).await;
        for row in kept {
            let is_there = store.find(row.key()).await.is_err();
            let exists = insert(store, row).await == Insertion::Exists;
            assert!(is_there && exists, "a row that cannot be read was removed before its end");
        }
    }
    let found = store.find(first.key()).await;
    assert!(matches!(found, Ok(None)), "a row that cannot be read is kept after its end: {found:?}");
}
