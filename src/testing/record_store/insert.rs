//! Exactly one of all callers adds a row.

use std::slice::from_ref;
use std::sync::Arc;

use crate::store::{Insertion, RecordStore};
use crate::testing::at_once::at_once;
use crate::testing::calls::{
    CALLERS, add, assert_gone, assert_there, change, far, in_turn, insert, left, listed, meetings, with_answer,
};
use crate::testing::draw;
use crate::testing::records;
use crate::testing::sample::Sample;
use crate::testing::told::cut;

/// Rule 1: of many callers that insert one id, one gets `Inserted`, and the stored row is its own.
pub async fn insert_has_one_winner<R: Sample>(store: &dyn RecordStore<R>, another: &dyn RecordStore<R>) {
    for meeting in meetings() {
        let subject = records::subject();
        let first = R::first(&subject, far());
        let rivals: Vec<_> = (0..CALLERS).map(|_| R::rival(&first, &subject, far())).collect();
        let calls = in_turn(store, another).zip(&rivals).map(|(handle, rival)| insert(handle, rival));
        let answers = at_once(meeting, calls).await;
        let winners = with_answer(&rivals, &answers, Insertion::Inserted);
        assert_eq!(winners.len(), 1, "of {CALLERS} callers that insert one id, one should get `Inserted`");
        for winner in winners {
            assert_there(store, winner, "after a race of inserts").await;
            let left = left(another, &subject, from_ref(winner)).await;
            assert!(left == [winner.clone()], "only the winner's row may be listed, not {}", cut(&left));
        }
    }
}

/// Rule 1: an insert of an existing id returns `Exists` and changes nothing, not even a list.
pub async fn insert_leaves_the_row_that_is_there<R: Sample>(store: &dyn RecordStore<R>) {
    let (subject, other) = (records::subject(), records::subject());
    let row = R::first(&subject, far());
    add(store, &row).await;
    let others = [row.clone(), R::rival(&row, &subject, far()), R::next(&row, far()), R::rival(&row, &other, far())];
    for late in &others {
        assert_eq!(insert(store, late).await, Insertion::Exists, "a second insert of one id");
        assert_there(store, &row, "after a second insert of its id").await;
    }
    let listed = listed(store, &other).await;
    assert!(listed.is_empty(), "an insert that returned `Exists` left {} in a list", cut(&listed));
}

/// Rule 1: a revoked or denied row exists like any other: an insert of its id changes nothing.
///
/// A row that has ended, by a replace or in its first version, exists until it is purged.
pub async fn insert_leaves_what_was_revoked<R: Sample>(store: &dyn RecordStore<R>) {
    let subject = records::subject();
    let (replaced, inserted) = (R::first(&subject, far()), R::first(&subject, far()));
    let ended = [R::ended(&replaced), R::numbered(&R::ended(&inserted), inserted.version())];
    let [revoked, tombstone] = &ended;
    add(store, &replaced).await;
    change(store, &replaced, revoked).await;
    add(store, tombstone).await;
    for (first, ended) in [replaced, inserted].iter().zip(&ended) {
        for late in [first, &R::rival(first, &subject, far()), &R::next(first, far()), ended] {
            assert_eq!(insert(store, late).await, Insertion::Exists, "an insert over a row that was revoked or denied");
            assert_there(store, ended, "after an insert over what was revoked or denied").await;
        }
    }
}

/// Rule 1: ids that differ in a single bit are different ids.
///
/// Ids that a careless key confuses: they differ in one bit, or their texts in the case of a letter.
pub async fn ids_are_distinguished<R: Sample>(store: &dyn RecordStore<R>) {
    let subject = records::subject();
    let bytes = draw::bytes::<16>();
    let flipped = (0..16).flat_map(|place| [1, 0x20, 0x80].map(|bit| (place, bit)));
    let similar = flipped.map(|(place, bit)| {
        let mut bytes = bytes;
        bytes.iter_mut().skip(place).take(1).for_each(|byte| *byte ^= bit);
        bytes
    });
    let row = |bytes| R::under(&R::first(&subject, far()), bytes);
    let mut similar: Vec<Arc<R>> = similar.chain([bytes]).map(row).collect();
    similar.push(R::in_other_case(&row(bytes)));
    for row in &similar {
        assert_gone(store, row, "before its insert").await;
        add(store, row).await;
    }
    for row in &similar {
        assert_there(store, row, "beside others with similar ids").await;
    }
}
