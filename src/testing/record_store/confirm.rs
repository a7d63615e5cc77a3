//! A confirm writes a row again as it is, and changes nothing else.

use crate::store::{RecordStore, Replacement};
use crate::testing::at_once::{MEETINGS, at_once, pause};
use crate::testing::calls::{
    CALLERS, add, assert_gone, assert_there, change, confirm, far, find, in_turn, left, meetings,
};
use crate::testing::records;
use crate::testing::sample::Sample;
use crate::testing::told::{cut, difference};
use std::slice::from_ref;

/// Rule 3: a row that equals the stored one is confirmed, any number of times, and stays as it is.
pub async fn a_confirm_leaves_the_row_as_it_is<R: Sample>(store: &dyn RecordStore<R>) {
    for row in R::of_every_kind(&records::subject(), far()) {
        let row = row.into();
        add(store, &row).await;
        for _ in 0..3 {
            assert_eq!(confirm(store, &row).await, Replacement::Replaced, "a confirm of what is stored");
            assert_there(store, &row, "after a confirm").await;
        }
    }
    let first = R::first(&records::subject(), far());
    let next = R::next(&first, far());
    add(store, &first).await;
    assert_eq!(confirm(store, &first).await, Replacement::Replaced, "a confirm of what is stored");
    change(store, &first, &next).await;
    assert_eq!(confirm(store, &next).await, Replacement::Replaced, "a confirm of the next version");
    assert_there(store, &next, "after a confirm of the next version").await;
}

/// Rule 3: a confirm of a missing row, of another version or of other bytes is `Lost` and changes nothing.
pub async fn a_confirm_of_another_row_is_lost<R: Sample>(store: &dyn RecordStore<R>) {
    let subject = records::subject();
    let first = R::first(&subject, far());
    assert_eq!(confirm(store, &first).await, Replacement::Lost, "a confirm of a missing row");
    assert_gone(store, &first, "after a confirm of a missing row").await;

    let row = R::next(&first, far());
    let rival = R::numbered(&R::next(&first, far()), row.version());
    add(store, &first).await;
    assert_eq!(confirm(store, &row).await, Replacement::Lost, "a confirm of a version that is not yet written");
    assert_there(store, &first, "after a confirm of another version").await;
    change(store, &first, &row).await;
    let others = [
        ("an earlier version", first),
        ("the same version with other bytes", rival),
        ("the same bytes under a later version", R::numbered(&row, row.version() + 1)),
        ("the same bytes under an earlier version", R::numbered(&row, row.version() - 1)),
        ("a later version", R::next(&row, far())),
    ];
    for (what, other) in &others {
        assert_eq!(confirm(store, other).await, Replacement::Lost, "a confirm of {what}");
        assert_there(store, &row, "after a confirm that lost").await;
    }
}

/// Rule 3: any number of callers confirm one row at once, and none of them raises its version.
pub async fn confirms_at_once_all_succeed<R: Sample>(store: &dyn RecordStore<R>, another: &dyn RecordStore<R>) {
    for meeting in MEETINGS {
        let subject = records::subject();
        let row = R::first(&subject, far());
        add(store, &row).await;
        let calls = in_turn(store, another).take(CALLERS).map(|handle| confirm(handle, &row));
        let answers = at_once(meeting, calls).await;
        let won = answers.iter().filter(|answer| **answer == Replacement::Replaced).count();
        assert_eq!(won, CALLERS, "all {CALLERS} callers that confirm one row should succeed");
        assert_there(another, &row, "after many confirms").await;
        let left = left(store, &subject, from_ref(&row)).await;
        assert!(left == [row.clone()], "after many confirms the list holds {}", cut(&left));
        change(store, &row, &R::next(&row, far())).await;
    }
}

/// Rule 3: a confirm during a replace neither restores the old version nor stops the replace.
pub async fn a_confirm_undoes_no_write<R: Sample>(store: &dyn RecordStore<R>, another: &dyn RecordStore<R>) {
    for meeting in meetings() {
        let first = R::first(&records::subject(), far());
        let next = R::next(&first, far());
        add(store, &first).await;
        let (first, next) = (&first, &next);
        let calls = in_turn(store, another).take(CALLERS).zip(0..).map(|(handle, number)| async move {
            if number == CALLERS / 2 {
                pause().await;
                change(handle, first, next).await;
            } else {
                let _ = confirm(handle, first).await;
            }
        });
        at_once(meeting, calls).await;
        let found = find(store, next.key()).await;
        let is_next = found.as_ref() == Some(next);
        assert!(is_next, "after confirms beside a replace `find` returns {}", difference(&**next, found.as_deref()));
    }
}
