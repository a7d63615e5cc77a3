//! A record is read back equal in every field.

use std::sync::Arc;

use crate::store::RecordStore;
use crate::testing::calls::{add, assert_there, change, far, listed, sort};
use crate::testing::records;
use crate::testing::sample::Sample;
use crate::testing::told::cut;

/// Rule 5: every field is read back equal in every state, with any bytes.
pub async fn every_field_comes_back<R: Sample>(store: &dyn RecordStore<R>) {
    for row in R::of_every_kind(&records::subject(), far()) {
        comes_back(store, &Arc::new(row)).await;
    }
}

/// Rule 5: the largest record is read back equal.
pub async fn the_largest_record_comes_back<R: Sample>(store: &dyn RecordStore<R>) {
    comes_back(store, &R::huge(&records::long_subject(), far())).await;
}

/// Writes the row by an insert, then by a replace of a smaller one, which is then written back.
async fn comes_back<R: Sample>(store: &dyn RecordStore<R>, row: &Arc<R>) {
    add(store, row).await;
    assert_there(store, row, "after its insert").await;

    let subject = R::subject_of(row).cloned().unwrap_or_else(records::subject);
    let plain = R::first(&subject, far());
    // A row stays on the list that it was inserted into, or on none.
    if R::subject_of(&plain) != R::subject_of(row) {
        return;
    }
    let row = R::under(row, R::bytes(plain.key()));
    add(store, &plain).await;
    change(store, &plain, &row).await;
    assert_there(store, &row, "after a replace").await;
    change(store, &row, &plain).await;
    assert_there(store, &plain, "after another replace").await;
}

/// Rule 6: records in every state are listed, including expired and revoked ones.
///
/// Held and decided, live and revoked: a list leaves nothing out.
pub async fn rows_of_every_kind_are_listed<R: Sample>(store: &dyn RecordStore<R>) {
    let subject = records::subject();
    let mut all: Vec<_> = R::of_every_kind(&subject, far()).into_iter().map(Arc::new).collect();
    for row in &all {
        add(store, row).await;
    }
    all.retain(|row| R::subject_of(row) == Some(&subject));
    sort(&mut all);
    let listed = listed(store, &subject).await;
    assert!(listed == all, "the list of a subject holds {} in place of {}", cut(&listed), cut(&all));
}
