//! Exactly one of all callers adds a row.

use std::slice::from_ref;
use std::sync::Arc;

use crate::store::Insertion;
use crate::testing::at_once::at_once;
use crate::testing::draw;
use crate::testing::records;
use crate::testing::rows::{Rows, Sample};
use crate::testing::rules::{
    CALLERS, add, assert_gone, assert_there, change, far, in_turn, left, listed, meetings, with_answer,
};
use crate::testing::told::cut;

pub(in crate::testing) async fn has_one_winner<R: Sample>(rows: &Rows<'_, R>, another: &Rows<'_, R>) {
    for meeting in meetings() {
        let subject = records::subject();
        let first = R::first(&subject, far());
        let rivals: Vec<_> = (0..CALLERS).map(|_| R::rival(&first, &subject, far())).collect();
        let calls = in_turn(rows, another).zip(&rivals).map(|(handle, rival)| handle.insert(rival));
        let answers = at_once(meeting, calls).await;
        let winners = with_answer(&rivals, &answers, Insertion::Inserted);
        assert_eq!(winners.len(), 1, "of {CALLERS} callers that insert one id, one should get `Inserted`");
        for winner in winners {
            assert_there(rows, winner, "after a race of inserts").await;
            let left = left(another, &subject, from_ref(winner)).await;
            assert!(left == [winner.clone()], "only the winner's row may be listed, not {}", cut(&left));
        }
    }
}

pub(in crate::testing) async fn leaves_the_row_that_is_there<R: Sample>(rows: &Rows<'_, R>) {
    let (subject, other) = (records::subject(), records::subject());
    let row = R::first(&subject, far());
    add(rows, &row).await;
    let others = [row.clone(), R::rival(&row, &subject, far()), R::next(&row, far()), R::rival(&row, &other, far())];
    for late in &others {
        assert_eq!(rows.insert(late).await, Insertion::Exists, "a second insert of one id");
        assert_there(rows, &row, "after a second insert of its id").await;
    }
    let listed = listed(rows, &other).await;
    assert!(listed.is_empty(), "an insert that returned `Exists` left {} in a list", cut(&listed));
}

/// A row that has ended, by a replace or in its first version, exists until it is purged.
pub(in crate::testing) async fn leaves_what_was_revoked<R: Sample>(rows: &Rows<'_, R>) {
    let subject = records::subject();
    let (replaced, inserted) = (R::first(&subject, far()), R::first(&subject, far()));
    let ended = [R::ended(&replaced), R::numbered(&R::ended(&inserted), inserted.version())];
    let [revoked, tombstone] = &ended;
    add(rows, &replaced).await;
    change(rows, &replaced, revoked).await;
    add(rows, tombstone).await;
    for (first, ended) in [replaced, inserted].iter().zip(&ended) {
        for late in [first, &R::rival(first, &subject, far()), &R::next(first, far()), ended] {
            assert_eq!(rows.insert(late).await, Insertion::Exists, "an insert over a row that was revoked or denied");
            assert_there(rows, ended, "after an insert over what was revoked or denied").await;
        }
    }
}

/// Ids that a careless key confuses: they differ in one bit, or their texts in the case of a letter.
pub(in crate::testing) async fn tells_ids_apart<R: Sample>(rows: &Rows<'_, R>) {
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
        assert_gone(rows, row, "before its insert").await;
        add(rows, row).await;
    }
    for row in &similar {
        assert_there(rows, row, "beside others with similar ids").await;
    }
}
