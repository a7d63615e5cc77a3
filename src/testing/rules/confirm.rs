//! A confirm writes a row again as it is, and changes nothing else.

use crate::store::Replacement;
use crate::testing::at_once::{MEETINGS, at_once, pause};
use crate::testing::records;
use crate::testing::rows::{Rows, Sample};
use crate::testing::rules::{CALLERS, add, assert_gone, assert_there, change, far, in_turn, left, meetings};
use crate::testing::told::{cut, difference};
use std::slice::from_ref;

pub(in crate::testing) async fn leaves_the_row_as_it_is<R: Sample>(rows: &Rows<'_, R>) {
    for row in R::of_every_kind(&records::subject(), far()) {
        let row = row.into();
        add(rows, &row).await;
        for _ in 0..3 {
            assert_eq!(rows.confirm(&row).await, Replacement::Replaced, "a confirm of what is stored");
            assert_there(rows, &row, "after a confirm").await;
        }
    }
    let first = R::first(&records::subject(), far());
    let next = R::next(&first, far());
    add(rows, &first).await;
    assert_eq!(rows.confirm(&first).await, Replacement::Replaced, "a confirm of what is stored");
    change(rows, &first, &next).await;
    assert_eq!(rows.confirm(&next).await, Replacement::Replaced, "a confirm of the next version");
    assert_there(rows, &next, "after a confirm of the next version").await;
}

pub(in crate::testing) async fn of_another_row_is_lost<R: Sample>(rows: &Rows<'_, R>) {
    let subject = records::subject();
    let first = R::first(&subject, far());
    assert_eq!(rows.confirm(&first).await, Replacement::Lost, "a confirm of a missing row");
    assert_gone(rows, &first, "after a confirm of a missing row").await;

    let row = R::next(&first, far());
    let rival = R::numbered(&R::next(&first, far()), row.version());
    add(rows, &first).await;
    assert_eq!(rows.confirm(&row).await, Replacement::Lost, "a confirm of a version that is not yet written");
    assert_there(rows, &first, "after a confirm of another version").await;
    change(rows, &first, &row).await;
    let others = [
        ("an earlier version", first),
        ("the same version with other bytes", rival),
        ("the same bytes under a later version", R::numbered(&row, row.version() + 1)),
        ("the same bytes under an earlier version", R::numbered(&row, row.version() - 1)),
        ("a later version", R::next(&row, far())),
    ];
    for (what, other) in &others {
        assert_eq!(rows.confirm(other).await, Replacement::Lost, "a confirm of {what}");
        assert_there(rows, &row, "after a confirm that lost").await;
    }
}

pub(in crate::testing) async fn all_succeed_at_once<R: Sample>(rows: &Rows<'_, R>, another: &Rows<'_, R>) {
    for meeting in MEETINGS {
        let subject = records::subject();
        let row = R::first(&subject, far());
        add(rows, &row).await;
        let calls = in_turn(rows, another).take(CALLERS).map(|handle| handle.confirm(&row));
        let answers = at_once(meeting, calls).await;
        let won = answers.iter().filter(|answer| **answer == Replacement::Replaced).count();
        assert_eq!(won, CALLERS, "all {CALLERS} callers that confirm one row should succeed");
        assert_there(another, &row, "after many confirms").await;
        let left = left(rows, &subject, from_ref(&row)).await;
        assert!(left == [row.clone()], "after many confirms the list holds {}", cut(&left));
        change(rows, &row, &R::next(&row, far())).await;
    }
}

pub(in crate::testing) async fn undoes_no_write<R: Sample>(rows: &Rows<'_, R>, another: &Rows<'_, R>) {
    for meeting in meetings() {
        let first = R::first(&records::subject(), far());
        let next = R::next(&first, far());
        add(rows, &first).await;
        let (first, next) = (&first, &next);
        let calls = in_turn(rows, another).take(CALLERS).zip(0..).map(|(handle, number)| async move {
            if number == CALLERS / 2 {
                pause().await;
                change(handle, first, next).await;
            } else {
                let _ = handle.confirm(first).await;
            }
        });
        at_once(meeting, calls).await;
        let found = rows.find(R::id(next)).await;
        let is_next = found.as_ref() == Some(next);
        assert!(is_next, "after confirms beside a replace `find` returns {}", difference(&**next, found.as_deref()));
    }
}
