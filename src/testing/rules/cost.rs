//! A call costs the same, however much is stored.

use crate::store::{Insertion, Replacement};
use crate::testing::records;
use crate::testing::rows::Rows;
use crate::testing::rules::{add, change, far};

/// Rows that are there when the calls are counted again.
const ROWS: usize = 400;

pub(in crate::testing) async fn of_calls_stays_the_same<R: Rows>(rows: &R, count: impl Fn() -> u64 + Send + Sync) {
    let subject = records::subject();
    // What is prepared once is prepared now.
    let _ = costs(rows, &count).await;
    let before = costs(rows, &count).await;
    for _ in 0..ROWS {
        add(rows, &R::first(&subject, far())).await;
    }
    let after = costs(rows, &count).await;
    assert_eq!(
        before, after,
        "a find of nothing, an insert, a find, a replace, and those that lose, before and after {ROWS} more rows"
    );
}

async fn costs<R: Rows>(rows: &R, count: &(impl Fn() -> u64 + Send + Sync)) -> [u64; 6] {
    let row = R::first(&records::subject(), far());
    let next = R::next(&row, far());
    let start = count();
    let missing = rows.find(R::id(&row)).await;
    let no_row = count();
    add(rows, &row).await;
    let inserted = count();
    let found = rows.find(R::id(&row)).await;
    let row_found = count();
    change(rows, &row, &next).await;
    let replaced = count();
    assert_eq!(rows.insert(&row).await, Insertion::Exists);
    let exists = count();
    assert_eq!(rows.replace(R::version(&row), &next).await, Replacement::Lost);
    let lost = count();
    assert!(missing.is_none() && found == Some(row), "what was counted was done");
    [no_row - start, inserted - no_row, row_found - inserted, replaced - row_found, exists - replaced, lost - exists]
}
