//! A call costs the same, however much is stored.

use crate::store::{Insertion, RecordStore, Replacement};
use crate::testing::calls::{add, change, confirm, emptied, far, find, insert, listed_beside, purge_step, replace};
use crate::testing::records;
use crate::testing::sample::Sample;

/// How many rows are stored before the calls are counted again.
const ROWS: usize = 400;

/// Rule 8: each call costs the same, however much is stored.
///
/// `count` returns the cost so far: examined rows, statements or round trips. A table scan is a single
/// statement too, so only a count of rows shows that there is none. Not every store can count, so the macro
/// does not include this rule.
pub async fn calls_cost_the_same<R: Sample>(store: &dyn RecordStore<R>, count: impl Fn() -> u64 + Send + Sync) {
    let subject = records::subject();
    // This prepares all that is prepared only once.
    let _ = costs(store, &count).await;
    let before = costs(store, &count).await;
    for _ in 0..ROWS {
        add(store, &R::first(&subject, far())).await;
    }
    let after = costs(store, &count).await;
    for ((call, before), (_, after)) in before.into_iter().zip(after) {
        assert_eq!(after, before, "{call} costs more after {ROWS} more rows than before");
    }
}

/// Returns the cost of each call, one after the other.
async fn costs<R: Sample>(
    store: &dyn RecordStore<R>,
    count: &(impl Fn() -> u64 + Send + Sync),
) -> [(&'static str, u64); 9] {
    let row = R::first(&records::subject(), far());
    let next = R::next(&row, far());
    let end = emptied(store, 0).await;
    let dead = R::first(&records::subject(), end);
    add(store, &dead).await;
    let mut spent = count();
    let mut costs = |call| {
        let before = std::mem::replace(&mut spent, count());
        (call, spent - before)
    };
    assert_eq!(find(store, row.key()).await, None);
    let missing = costs("a find of nothing");
    add(store, &row).await;
    let inserted = costs("an insert");
    assert_eq!(find(store, row.key()).await.as_ref(), Some(&row));
    let found = costs("a find");
    change(store, &row, &next).await;
    let replaced = costs("a replace");
    assert_eq!(confirm(store, &next).await, Replacement::Replaced);
    let confirmed = costs("a confirm");
    assert_eq!(insert(store, &row).await, Insertion::Exists);
    let exists = costs("an insert of what exists");
    assert_eq!(replace(store, row.version(), &next).await, Replacement::Lost);
    let lost = costs("a replace that loses");
    assert_eq!(listed_beside(store, &row, 10).await, [next]);
    let listed = costs("a page of a list");
    assert_eq!(purge_step(store, end, 4).await.removed(), 1, "the one row that is due");
    let purged = costs("a step of a purge");
    [missing, inserted, found, replaced, confirmed, exists, lost, listed, purged]
}
