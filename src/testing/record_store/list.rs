//! A list has all rows of its subject at once, and no others.

use std::sync::Arc;

use crate::store::RecordStore;
use crate::testing::at_once::{MEETINGS, at_once};
use crate::testing::calls::{CALLERS, LISTS_DO_NOT_LAG, add, change, far, in_turn, insert, listed, sort};
use crate::testing::draw;
use crate::testing::records;
use crate::testing::sample::Sample;
use crate::testing::told::cut;

/// Rows of each caller.
const EACH: usize = 4;

/// Rule 6: an acknowledged row is listed at once, as it is, among many callers.
pub async fn a_row_is_listed_at_once<R: Sample>(store: &dyn RecordStore<R>, another: &dyn RecordStore<R>) {
    for meeting in MEETINGS {
        let subject = &records::subject();
        let calls = in_turn(store, another).take(CALLERS).map(|handle| async move {
            let mut own = Vec::new();
            for _ in 0..EACH {
                let first = R::first(subject, far());
                add(handle, &first).await;
                for reader in [store, another] {
                    let listed = listed(reader, subject).await;
                    assert!(
                        listed.contains(&first),
                        "{} was acknowledged and is not listed; {LISTS_DO_NOT_LAG}",
                        cut(&first)
                    );
                }
                let next = R::next(&first, far());
                change(handle, &first, &next).await;
                for reader in [store, another] {
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
        sort(&mut all);
        let listed = listed(store, subject).await;
        assert!(listed == all, "{} rows were acknowledged, {} are listed", all.len(), listed.len());
    }
}

/// Rule 6: subjects that differ in case, blanks, normalization or length are different subjects.
pub async fn a_list_is_of_one_subject<R: Sample>(store: &dyn RecordStore<R>) {
    let subjects = records::similar_subjects();
    let mut written = Vec::new();
    for subject in &subjects {
        let row = R::first(subject, far());
        add(store, &row).await;
        written.push(row);
    }
    for (subject, row) in subjects.iter().zip(&written) {
        let listed = listed(store, subject).await;
        let (holds, row) = (cut(&listed), [row.clone()]);
        assert!(listed == row, "the list of {subject:?} holds {holds} in place of {} alone", cut(&row));
    }
    let empty = listed(store, &records::subject()).await;
    assert!(empty.is_empty(), "the list of a subject without rows holds {}", cut(&empty));
}

/// Rule 6: a list is in the ascending order of ids, compared as bytes.
///
/// Ids sort as bytes without sign: by time, then by their random part.
pub async fn a_list_is_in_the_order_of_ids<R: Sample>(store: &dyn RecordStore<R>) {
    let subject = records::subject();
    let bytes = || (0..16).flat_map(|place| [0, 0x20, 0x41, 0x61, 0x7f, 0x80, 0xff].map(|byte| (place, byte)));
    let base = draw::bytes::<16>();
    let under = |(place, value): (usize, u8)| {
        let mut bytes = base;
        bytes.iter_mut().skip(place).take(1).for_each(|byte| *byte = value);
        R::under(&R::first(&subject, far()), bytes)
    };
    let mut all: Vec<Arc<R>> = bytes().map(under).collect();
    sort(&mut all);
    all.dedup_by(|one, other| one.key() == other.key());
    // Neither first to last nor the other way round.
    let (front, back) = all.split_at(all.len() / 2);
    for row in back.iter().zip(front).flat_map(|(back, front)| [back, front]).chain(&all) {
        let _ = insert(store, row).await;
    }
    let listed = listed(store, &subject).await;
    let ids: Vec<_> = listed.iter().map(|row| row.key()).collect();
    let expected: Vec<_> = all.iter().map(|row| row.key()).collect();
    assert_eq!(ids, expected, "a list is in the ascending order of ids");
}
