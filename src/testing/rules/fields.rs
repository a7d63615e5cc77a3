//! A record is read back equal in every field.

use std::sync::Arc;

use crate::testing::records;
use crate::testing::rows::{Rows, Sample};
use crate::testing::rules::{add, assert_there, change, far, listed};
use crate::testing::told::cut;

pub(in crate::testing) async fn of_every_kind_come_back<R: Sample>(rows: &Rows<'_, R>) {
    for row in R::of_every_kind(&records::subject(), far()) {
        comes_back(rows, &Arc::new(row)).await;
    }
}

pub(in crate::testing) async fn of_the_largest_size_come_back<R: Sample>(rows: &Rows<'_, R>) {
    comes_back(rows, &R::huge(&records::long_subject(), far())).await;
}

/// Writes the row by an insert, then by a replace of a smaller one, which is then written back.
async fn comes_back<R: Sample>(rows: &Rows<'_, R>, row: &Arc<R>) {
    add(rows, row).await;
    assert_there(rows, row, "after its insert").await;

    let subject = R::subject_of(row).cloned().unwrap_or_else(records::subject);
    let plain = R::first(&subject, far());
    // A row stays on the list that it was inserted into, or on none.
    if R::subject_of(&plain) != R::subject_of(row) {
        return;
    }
    let row = R::under(row, R::bytes(plain.key()));
    add(rows, &plain).await;
    change(rows, &plain, &row).await;
    assert_there(rows, &row, "after a replace").await;
    change(rows, &row, &plain).await;
    assert_there(rows, &plain, "after another replace").await;
}

/// Held and decided, live and revoked: a list leaves nothing out.
pub(in crate::testing) async fn of_every_kind_are_listed<R: Sample>(rows: &Rows<'_, R>) {
    let subject = records::subject();
    let mut all: Vec<_> = R::of_every_kind(&subject, far()).into_iter().map(Arc::new).collect();
    for row in &all {
        add(rows, row).await;
    }
    all.retain(|row| R::subject_of(row) == Some(&subject));
    all.sort_by_key(|row| R::id(row));
    let listed = listed(rows, &subject).await;
    assert!(listed == all, "the list of a subject holds {} in place of {}", cut(&listed), cut(&all));
}
