//! A call costs the same, however much is stored.

use crate::store::{Insertion, Replacement};
use crate::testing::records;
use crate::testing::rows::{Rows, Sample};
use crate::testing::rules::purge::emptied;
use crate::testing::rules::{add, change, far, purge_step};

/// How many rows are stored before the calls are counted again.
const ROWS: usize = 400;

pub(in crate::testing) async fn of_calls_stays_the_same<R: Sample>(
    rows: &Rows<'_, R>,
    count: impl Fn() -> u64 + Send + Sync,
) {
    let subject = records::subject();
    // This prepares all that is prepared only once.
    let _ = costs(rows, &count).await;
    let before = costs(rows, &count).await;
    for _ in 0..ROWS {
        add(rows, &R::first(&subject, far())).await;
    }
    let after = costs(rows, &count).await;
    for ((call, before), (_, after)) in before.into_iter().zip(after) {
        assert_eq!(after, before, "{call} costs more after {ROWS} more rows than before");
    }
}

/// Returns the cost of each call, one after the other.
async fn costs<R: Sample>(rows: &Rows<'_, R>, count: &(impl Fn() -> u64 + Send + Sync)) -> [(&'static str, u64); 9] {
    let row = R::first(&records::subject(), far());
    let next = R::next(&row, far());
    let end = emptied(rows, 0).await;
    let dead = R::first(&records::subject(), end);
    add(rows, &dead).await;
    let mut spent = count();
    let mut costs = |call| {
        let before = std::mem::replace(&mut spent, count());
        (call, spent - before)
    };
    assert_eq!(rows.find(R::id(&row)).await, None);
    let missing = costs("a find of nothing");
    add(rows, &row).await;
    let inserted = costs("an insert");
    assert_eq!(rows.find(R::id(&row)).await.as_ref(), Some(&row));
    let found = costs("a find");
    change(rows, &row, &next).await;
    let replaced = costs("a replace");
    assert_eq!(rows.confirm(&next).await, Replacement::Replaced);
    let confirmed = costs("a confirm");
    assert_eq!(rows.insert(&row).await, Insertion::Exists);
    let exists = costs("an insert of what exists");
    assert_eq!(rows.replace(row.version(), &next).await, Replacement::Lost);
    let lost = costs("a replace that loses");
    assert_eq!(crate::testing::rules::listed_beside(rows, &row, 10).await, [next]);
    let listed = costs("a page of a list");
    assert_eq!(purge_step(rows, end, 4).await.removed(), 1, "the one row that is due");
    let purged = costs("a step of a purge");
    [missing, inserted, found, replaced, confirmed, exists, lost, listed, purged]
}
