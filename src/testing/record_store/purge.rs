//! A purge removes what is due, nothing else, and in steps.

use std::sync::Arc;
use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::store::{Insertion, Page, RecordStore, Replacement};
use crate::testing::calls::{
    add, assert_gone, assert_there, change, earlier, emptied, far, find, insert, later, left, list, listed, purge_all,
    purge_step, replace, sort,
};
use crate::testing::draw;
use crate::testing::records;
use crate::testing::sample::Sample;
use crate::testing::told::cut;

/// Seconds in an hour.
const HOUR: u32 = 3600;
/// Steps that a purge may make beyond those that remove a row.
const SPARE_STEPS: usize = 4;

/// Rule 7: a row exists until a second before its `purge_after`, and a purge at that time removes it from all
/// lists.
pub async fn a_purge_waits_for_the_end<R: Sample>(store: &dyn RecordStore<R>) {
    let (subject, end) = (records::subject(), emptied(store, 0).await);
    let row = R::first(&subject, end);
    add(store, &row).await;
    for before in [Timestamp::default(), earlier(end, HOUR), earlier(end, 1)] {
        assert_eq!(purge_all(store, before, 100).await, 0, "nothing is due yet");
        assert_there(store, &row, "after a purge before its time").await;
    }
    assert_eq!(purge_all(store, end, 100).await, 1, "the row is due");
    assert_gone(store, &row, "after a purge at its time").await;
    assert_eq!(replace(store, row.version(), &R::next(&row, far())).await, Replacement::Lost, "a purged row");
    assert_gone(store, &row, "after a replace of what was purged").await;
    assert_eq!(purge_all(store, end, 100).await, 0, "the row was removed before");

    // A purged id can be used again like any other.
    assert_eq!(insert(store, &row).await, Insertion::Inserted, "a purged id is free");
    assert_there(store, &row, "after a second insert").await;
    assert_eq!(purge_all(store, end, 100).await, 1, "the row is due again");
    assert_gone(store, &row, "after its second purge").await;
}

/// Rule 6: a purged row leaves no entry behind that cuts a page short or lists another row under its id.
///
/// Entries of purged rows, if there are any, are neither counted nor listed.
pub async fn a_purge_leaves_no_list_entry<R: Sample>(store: &dyn RecordStore<R>) {
    const ROWS: usize = 12;
    let (subject, other, end) = (records::subject(), records::subject(), emptied(store, 0).await);
    let (mut alive, mut dead) = (Vec::new(), Vec::new());
    for number in 0..ROWS {
        let row = R::first(&subject, if number < ROWS / 2 { end } else { far() });
        add(store, &row).await;
        if number < ROWS / 2 { dead.push(row) } else { alive.push(row) }
    }
    assert_eq!(purge_all(store, end, 100).await, dead.len(), "so many rows are due");
    sort(&mut alive);
    // The first page may drop entries, the second one shows that it dropped no others.
    for _ in 0..2 {
        let page = list(store, &subject, Page::first(alive.len())).await;
        assert!(page == alive, "after a purge a page of {} holds {}", alive.len(), cut(&page));
    }
    let reborn: Vec<_> = dead.iter().map(|row| R::rival(row, &other, far())).collect();
    for row in &reborn {
        add(store, row).await;
        assert_there(store, row, "under an id that was purged from another list").await;
    }
    let left = listed(store, &subject).await;
    assert!(left == alive, "ids that were purged and given to another subject are still listed: {}", cut(&left));

    let newcomer = R::first(&subject, far());
    add(store, &newcomer).await;
    let left = listed(store, &subject).await;
    let is_listed = left.contains(&newcomer) && left.len() == alive.len() + 1;
    assert!(is_listed, "after a purge and an insert the list holds {}", cut(&left));
}

/// Rule 7: a record without a subject is found, is on no list, and is removed at its time.
pub async fn a_purge_takes_rows_without_a_subject<R: Sample>(store: &dyn RecordStore<R>) {
    let end = emptied(store, 0).await;
    let row = R::without_subject(&R::first(&records::subject(), end));
    let stays = R::without_subject(&R::first(&records::subject(), far()));
    for row in [&row, &stays] {
        add(store, row).await;
        assert_there(store, row, "after an insert without a subject").await;
    }
    for text in ["null", "NULL", "none", "None", "nil", "undefined", "anonymous", "-", "0", "\0"] {
        let listed = listed(store, &draw::subject_of(text)).await;
        let is_listed = listed.iter().any(|own| R::subject_of(own).is_none());
        assert!(!is_listed, "a row without a subject is on the list of {text:?}");
    }
    let next = R::without_subject(&R::next(&row, end));
    change(store, &row, &next).await;
    assert_eq!(purge_all(store, earlier(end, 1), 100).await, 0, "nothing is due yet");
    assert_there(store, &next, "before its time").await;
    assert_eq!(purge_all(store, end, 100).await, 1, "the row without a subject is due");
    assert_gone(store, &next, "after a purge at its time").await;
    assert_there(store, &stays, "after a purge of another").await;
}

/// Rule 7: a row whose end was postponed stays until the new end, and is removed then.
pub async fn a_purge_follows_a_moved_end<R: Sample>(store: &dyn RecordStore<R>) {
    let (subject, end) = (records::subject(), emptied(store, 3 * HOUR).await);
    let first = R::first(&subject, end);
    add(store, &first).await;
    let mut row = first;
    let mut indexed = end;
    for moved in [later(end, HOUR), later(end, 2 * HOUR)] {
        let next = R::next(&row, moved);
        change(store, &row, &next).await;
        row = next;
        for early in [indexed, indexed, earlier(moved, 1)] {
            assert_eq!(purge_all(store, early, 100).await, 0, "the end was postponed");
            assert_there(store, &row, "after a purge at an end that was postponed").await;
        }
        indexed = moved;
    }
    assert_eq!(purge_all(store, indexed, 100).await, 1, "the moved end has come");
    assert_gone(store, &row, "after a purge at the moved end").await;

    // If the end is moved to an earlier time, the row may stay until either end, but not after both.
    let first = R::first(&subject, later(end, 3 * HOUR));
    add(store, &first).await;
    let shorter = R::next(&first, later(end, HOUR));
    change(store, &first, &shorter).await;
    purge_all(store, later(end, HOUR - 1), 100).await;
    assert_there(store, &shorter, "before either end").await;
    purge_all(store, later(end, 3 * HOUR), 100).await;
    assert_gone(store, &shorter, "after both ends").await;

    // A revoked row is removed at its own end.
    let first = R::first(&subject, far());
    if let Some(revoked) = R::ended_sooner(&first, end) {
        add(store, &first).await;
        change(store, &first, &revoked).await;
        assert_eq!(purge_all(store, earlier(end, 1), 100).await, 0, "the end of the revoked row has not come");
        assert_there(store, &revoked, "before its end").await;
        assert_eq!(purge_all(store, end, 100).await, 1, "a revoked row is removed at its own end, which is sooner");
        assert_gone(store, &revoked, "after its end").await;
    }
}

/// Rule 7: rows in every state are removed at their time.
pub async fn a_purge_takes_rows_of_every_kind<R: Sample>(store: &dyn RecordStore<R>) {
    let end = emptied(store, 0).await;
    let all: Vec<_> = R::of_every_kind(&records::subject(), end).into_iter().map(Arc::new).collect();
    for row in &all {
        add(store, row).await;
    }
    let (dead, alive): (Vec<_>, Vec<_>) = all.iter().partition(|row| row.purge_after().is_some_and(|own| own <= end));
    purge_all(store, earlier(end, 1), 7).await;
    for row in &all {
        assert_there(store, row, "before its time").await;
    }
    assert_eq!(purge_all(store, end, 7).await, dead.len(), "so many rows are due");
    for row in dead {
        assert_gone(store, row, "after a purge at its time").await;
    }
    for row in alive {
        assert_there(store, row, "after a purge of others").await;
    }
}

/// Rule 7: a step removes no more than its limit, and repeated steps remove all that is due.
pub async fn a_purge_is_bounded_and_finishes<R: Sample>(store: &dyn RecordStore<R>) {
    const DEAD: usize = 25;
    /// Rows that a purge meets first, more of them than a step may examine.
    const ALIVE_IN_FRONT: usize = 3 * LIMIT;
    const ALIVE: usize = ALIVE_IN_FRONT + 5;
    const LIMIT: usize = 4;
    let (subject, end) = (records::subject(), emptied(store, 0).await);
    let mut alive = Vec::new();
    for number in 0..DEAD + ALIVE {
        let in_front = number < ALIVE_IN_FRONT;
        let row = R::first(&subject, if in_front { earlier(end, 1) } else { end });
        add(store, &row).await;
        // Alive by its current due time, due by the one of its insert.
        if in_front || number % 6 == 0 {
            let next = R::next(&row, far());
            change(store, &row, &next).await;
            alive.push(next);
        }
    }
    sort(&mut alive);
    assert_eq!(alive.len(), ALIVE);
    let mut removed = 0;
    let mut steps = 0;
    loop {
        let step = purge_step(store, end, LIMIT).await;
        removed += step.removed();
        steps += 1;
        if step.is_finished() {
            break;
        }
        assert!(steps <= DEAD + ALIVE + SPARE_STEPS, "a purge of {DEAD} rows does not finish");
    }
    assert_eq!(removed, DEAD, "a purge that says it finished has removed all that is due, in {steps} steps");
    let left = left(store, &subject, &alive).await;
    assert!(left == alive, "after a purge {} are left in place of {}", cut(&left), cut(&alive));

    add(store, &R::first(&subject, end)).await;
    let none = purge_step(store, end, 0).await;
    assert!(!none.is_finished(), "a step with limit 0 examines nothing, and cannot know that it finished");
}

/// Rule 7: a few steps find the one row that is due among many that are not.
pub async fn a_purge_steps_over_nothing_alive<R: Sample>(store: &dyn RecordStore<R>) {
    const ALIVE: usize = 120;
    let (subject, end) = (records::subject(), emptied(store, 0).await);
    let mut alive = Vec::new();
    for number in 0..ALIVE {
        let row = R::first(&subject, later(far(), u32::try_from(number).unwrap_or_default()));
        alive.push(row);
    }
    sort(&mut alive);
    let (front, back) = alive.split_at(ALIVE / 2);
    let mut dead = R::first(&subject, end);
    if let Some(between) = front.last() {
        // Alive ones are older and younger than the one that is due, by insert and by id.
        let mut bytes = R::bytes(between.key());
        bytes.iter_mut().skip(15).for_each(|byte| *byte ^= 1);
        dead = R::under(&dead, bytes);
    }
    for row in front.iter().chain([&dead]).chain(back) {
        add(store, row).await;
    }
    let mut removed = 0;
    for _ in 0..=SPARE_STEPS {
        removed += purge_step(store, end, 1).await.removed();
    }
    assert_eq!(removed, 1, "a few steps are enough for the one row that is due among {ALIVE} that are not");
    assert_gone(store, &dead, "after a purge at its time").await;
    let left = left(store, &subject, &alive).await;
    assert!(left == alive, "{} rows are left in place of {ALIVE}", left.len());
}

/// Rule 7: if the engine removes rows by its own clock, it removes none before its `purge_after`, even if that
/// was moved.
///
/// It takes four seconds and calls `sleep` of the runtime, so the macro does not include this rule.
pub async fn a_row_does_not_expire_early<R: Sample, F>(
    store: &dyn RecordStore<R>,
    sleep: impl Fn(Duration) -> F + Send + Sync,
) where
    F: Future<Output = ()> + Send,
{
    let subject = records::subject();
    let end = later(draw::now(), 3);
    let (row, first) = (R::first(&subject, end), R::first(&subject, end));
    let moved = R::next(&first, far());
    add(store, &row).await;
    add(store, &first).await;
    change(store, &first, &moved).await;
    loop {
        let found = find(store, row.key()).await;
        if draw::now() >= end {
            break;
        }
        assert!(found.as_ref() == Some(&row), "a row that is kept until {end:?} was removed earlier");
        sleep(Duration::from_millis(100)).await;
    }
    sleep(Duration::from_secs(1)).await;
    assert_there(store, &moved, "after the first of its ends, which was moved").await;
}
