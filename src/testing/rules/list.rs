//! A list has all rows of its subject at once, and no others.

use std::sync::Arc;

use crate::testing::at_once::{MEETINGS, at_once};
use crate::testing::draw;
use crate::testing::records;
use crate::testing::rows::{Rows, Sample};
use crate::testing::rules::{CALLERS, LISTS_DO_NOT_LAG, add, change, far, in_turn, listed};
use crate::testing::told::cut;

/// Rows of each caller.
const EACH: usize = 4;

pub(in crate::testing) async fn shows_a_row_at_once<R: Sample>(rows: &Rows<'_, R>, another: &Rows<'_, R>) {
    for meeting in MEETINGS {
        let subject = &records::subject();
        let calls = in_turn(rows, another).take(CALLERS).map(|handle| async move {
            let mut own = Vec::new();
            for _ in 0..EACH {
                let first = R::first(subject, far());
                add(handle, &first).await;
                for reader in [rows, another] {
                    let listed = listed(reader, subject).await;
                    assert!(
                        listed.contains(&first),
                        "{} was acknowledged and is not listed; {LISTS_DO_NOT_LAG}",
                        cut(&first)
                    );
                }
                let next = R::next(&first, far());
                change(handle, &first, &next).await;
                for reader in [rows, another] {
                    let listed = listed(reader, subject).await;
                    assert!(
                        listed.contains(&next),
                        "{} was acknowledged and is not listed as it is; {LISTS_DO_NOT_LAG}",
                        cut(&next)
                    );
                    assert!(!listed.contains(&first), "{} was replaced and is still listed", cut(&first));
                }
                own.push(next);
            }
            own
        });
        let mut all: Vec<_> = at_once(meeting, calls).await.into_iter().flatten().collect();
        all.sort_by_key(|row| R::id(row));
        let listed = listed(rows, subject).await;
        assert!(listed == all, "{} rows were acknowledged, {} are listed", all.len(), listed.len());
    }
}

pub(in crate::testing) async fn is_of_one_subject<R: Sample>(rows: &Rows<'_, R>) {
    let subjects = records::similar_subjects();
    let mut written = Vec::new();
    for subject in &subjects {
        let row = R::first(subject, far());
        add(rows, &row).await;
        written.push(row);
    }
    for (subject, row) in subjects.iter().zip(&written) {
        let listed = listed(rows, subject).await;
        let (holds, row) = (cut(&listed), [row.clone()]);
        assert!(listed == row, "the list of {subject:?} holds {holds} in place of {} alone", cut(&row));
    }
    let empty = listed(rows, &records::subject()).await;
    assert!(empty.is_empty(), "the list of a subject without rows holds {}", cut(&empty));
}

/// Ids sort as bytes without sign: by time, then by their random part.
pub(in crate::testing) async fn is_in_the_order_of_ids<R: Sample>(rows: &Rows<'_, R>) {
    let subject = records::subject();
    let bytes = || (0..16).flat_map(|place| [0, 0x20, 0x41, 0x61, 0x7f, 0x80, 0xff].map(|byte| (place, byte)));
    let base = draw::bytes::<16>();
    let under = |(place, value): (usize, u8)| {
        let mut bytes = base;
        bytes.iter_mut().skip(place).take(1).for_each(|byte| *byte = value);
        R::under(&R::first(&subject, far()), bytes)
    };
    let mut all: Vec<Arc<R>> = bytes().map(under).collect();
    all.sort_by_key(|row| R::id(row));
    all.dedup_by_key(|row| R::id(row));
    // Neither first to last nor the other way round.
    let (front, back) = all.split_at(all.len() / 2);
    for row in back.iter().zip(front).flat_map(|(back, front)| [back, front]).chain(&all) {
        let _ = rows.insert(row).await;
    }
    let listed = listed(rows, &subject).await;
    let ids: Vec<_> = listed.iter().map(|row| R::id(row)).collect();
    let expected: Vec<_> = all.iter().map(|row| R::id(row)).collect();
    assert_eq!(ids, expected, "a list is in the ascending order of ids");
}
