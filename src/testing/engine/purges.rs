//! Purges: what is due is removed, nothing else, in steps, and beside writers and other purges.

use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::model::LastPurge;
use crate::store::{Engine, Insertion, Replacement, Write};
use crate::testing::at_once::{at_once, pause};
use crate::testing::rows::{
    FAR, Race, Rows, as_listed, due, earlier, ended, last_purge, later, listed_tables, many_races, never_ends, next,
    now, races, rival, tables, unique,
};

/// Seconds in an hour.
const HOUR: u32 = 3600;
/// Steps that a purge may make beyond those that remove a row.
const SPARE_STEPS: usize = 4;
/// Rows that writers and purges meet at: more than the first steps of the purges take.
const ROWS: usize = 40;
/// Pauses of the writers, so that some write during each of the steps.
const PAUSES: [usize; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
const PURGES: usize = 3;
/// Rows that are inserted in the meantime.
const NEWCOMERS: usize = 10;
/// More steps than any purge needs.
const STEPS: usize = 500;

/// Rule 7: a row exists until a second before its `due`, and a purge at that time removes it from all lists.
pub async fn a_purge_waits_for_the_end<E: Engine>(store: &E) {
    for rows in tables(store) {
        let end = rows.emptied(0).await;
        let row = rows.row(&unique(), end);
        rows.add(&row).await;
        // An insert that is refused leaves no second end.
        let sooner = Write { due: Some(earlier(end, 2)), ..rival(&row) };
        assert_eq!(rows.insert(&sooner).await, Insertion::Exists, "a second insert of {row:?}");
        for before in [Timestamp::default(), earlier(end, HOUR), earlier(end, 1)] {
            assert_eq!(rows.purge_all(before, 100).await, 0, "nothing is due yet");
            rows.assert_there(&row, "after a purge before its time").await;
        }
        assert_eq!(rows.purge_all(end, 100).await, 1, "the row is due: {row:?}");
        rows.assert_gone(&row, "after a purge at its time").await;
        assert_eq!(rows.replace(row.version, &next(&row, FAR)).await, Replacement::Lost, "a replace of a purged row");
        rows.assert_gone(&row, "after a replace of what was purged").await;
        assert_eq!(rows.purge_all(end, 100).await, 0, "the row was removed before");

        // A purged key can be used again like any other.
        rows.add(&row).await;
        rows.assert_there(&row, "after a second insert").await;
        assert_eq!(rows.purge_all(end, 100).await, 1, "the row is due again: {row:?}");
        rows.assert_gone(&row, "after its second purge").await;
    }
}

/// Rule 6: a purged row leaves no entry behind that cuts a page short or lists another row under its key.
///
/// Entries of purged rows, if there are any, are neither counted nor listed.
pub async fn a_purge_leaves_no_list_entry<E: Engine>(store: &E) {
    for rows in listed_tables(store) {
        let (owner, other, end) = (unique(), unique(), rows.emptied(0).await);
        let dead: Vec<_> = (0..6).map(|_| rows.row(&owner, end)).collect();
        let mut alive: Vec<_> = (0..6).map(|_| rows.row(&owner, FAR)).collect();
        for row in dead.iter().chain(&alive) {
            rows.add(row).await;
        }
        assert_eq!(rows.purge_all(end, 100).await, dead.len(), "so many rows are due");
        alive.sort_by(|one, other| one.key.cmp(&other.key));
        // The first page may drop entries, the second one shows that it dropped no others.
        for _ in 0..2 {
            let page = rows.page(&rows.list_of(&owner), None, alive.len()).await;
            assert!(page == as_listed(&alive), "after a purge a page of {} holds {}", alive.len(), page.len());
        }
        for row in &dead {
            let reborn = rows.row_under(row.key.clone(), &other, FAR);
            rows.add(&reborn).await;
            rows.assert_there(&reborn, "under a key that was purged from another list").await;
        }
        rows.assert_listed(&owner, &alive, "after purged keys were given to another list").await;
        let newcomer = rows.row(&owner, FAR);
        rows.add(&newcomer).await;
        alive.push(newcomer);
        rows.assert_listed(&owner, &alive, "after a purge and an insert").await;
    }
}

/// Rule 7: a row whose end was moved stays until the new end, and is removed then.
///
/// An end that is moved earlier takes effect at once only if the write has `due_moved`, as for a revoked grant.
pub async fn a_purge_follows_a_moved_end<E: Engine>(store: &E) {
    for rows in tables(store) {
        let end = rows.emptied(3 * HOUR).await;
        let mut row = rows.row(&unique(), end);
        rows.add(&row).await;
        let mut indexed = end;
        for (moved, due_moved) in [(later(end, HOUR), false), (later(end, 2 * HOUR), true)] {
            let next = Write { due_moved, ..next(&row, moved) };
            rows.change(&row, &next).await;
            row = next;
            for early in [indexed, indexed, earlier(moved, 1)] {
                assert_eq!(rows.purge_all(early, 100).await, 0, "the end was postponed: {row:?}");
                rows.assert_there(&row, "after a purge at an end that was postponed").await;
            }
            indexed = moved;
        }
        assert_eq!(rows.purge_all(indexed, 100).await, 1, "the moved end has come: {row:?}");
        rows.assert_gone(&row, "after a purge at the moved end").await;

        // The row may stay until either end, but not after both.
        let first = rows.row(&unique(), later(end, 3 * HOUR));
        let shorter = next(&first, later(end, HOUR));
        rows.add(&first).await;
        rows.change(&first, &shorter).await;
        rows.purge_all(later(end, HOUR - 1), 100).await;
        rows.assert_there(&shorter, "before either end").await;
        rows.purge_all(later(end, 3 * HOUR), 100).await;
        rows.assert_gone(&shorter, "after both ends").await;

        let first = rows.row(&unique(), FAR);
        let revoked = ended(&first, end);
        rows.add(&first).await;
        rows.change(&first, &revoked).await;
        assert_eq!(rows.purge_all(earlier(end, 1), 100).await, 0, "the end of {revoked:?} has not come");
        rows.assert_there(&revoked, "before its end").await;
        assert_eq!(rows.purge_all(end, 100).await, 1, "a revoked row is removed at its own end: {revoked:?}");
        rows.assert_gone(&revoked, "after its end").await;
    }
}

/// Rule 7: rows are removed at their time in every state, and on no list.
pub async fn a_purge_takes_rows_in_every_state<E: Engine>(store: &E) {
    for rows in tables(store) {
        let end = rows.emptied(0).await;
        let (held, replaced, stays) = (rows.row(&unique(), end), rows.row(&unique(), end), rows.unlisted(FAR));
        let (unlisted, inserted_revoked) =
            (rows.unlisted(end), Write { version: 1, ..ended(&rows.row(&unique(), FAR), end) });
        let moved = rows.unlisted(end);
        for row in [&held, &replaced, &unlisted, &inserted_revoked, &moved, &stays] {
            rows.add(row).await;
        }
        let (revoked, next) = (ended(&replaced, end), next(&moved, end));
        rows.change(&replaced, &revoked).await;
        rows.change(&moved, &next).await;
        let dead = [held, revoked, unlisted, inserted_revoked, next];
        rows.purge_all(earlier(end, 1), 2).await;
        for row in &dead {
            rows.assert_there(row, "before its time").await;
        }
        assert_eq!(rows.purge_all(end, 2).await, dead.len(), "so many rows of {:?} are due", rows.table);
        for row in &dead {
            rows.assert_gone(row, "after a purge at its time").await;
        }
        rows.assert_there(&stays, "after a purge of others").await;
    }
}

/// Rule 7: a row without `due` stays, and is removed at the end that a later write gives it.
///
/// The record of the last purge is such a row: no purge removes it, at any time.
pub async fn a_purge_leaves_what_has_no_end<E: Engine>(store: &E) {
    for rows in tables(store) {
        let end = rows.emptied(0).await;
        let begun = rows.row(&unique(), end);
        let kept = Write { due: None, ..next(&begun, end) };
        let dropped = ended(&kept, end);
        let unended = Write { due: None, ..rows.row(&unique(), end) };
        rows.add(&begun).await;
        rows.add(&unended).await;
        rows.change(&begun, &kept).await;
        rows.purge_all(end, 1000).await;
        rows.assert_there(&kept, "a row that has no end any more").await;
        rows.assert_there(&unended, "a row that never had an end").await;
        rows.change(&kept, &dropped).await;
        rows.purge_all(end, 1000).await;
        rows.assert_gone(&dropped, "after its end").await;
    }
    let rows = last_purge(store);
    let mut row = Write { due: None, ..rows.row_under(LastPurge::KEY.as_ref().to_vec(), "", FAR) };
    // A server or another rule may have written it before.
    if rows.insert(&row).await == Insertion::Inserted {
        let next = Write { due: None, ..next(&row, FAR) };
        rows.change(&row, &next).await;
        row = next;
    } else {
        row.record = rows.find(&row.key).await.unwrap_or_default();
    }
    for now in [0, 101, 4_000_000_000, u32::MAX] {
        let _ = rows.purge_step(Timestamp::from_seconds(now), 1000).await;
        rows.assert_there(&row, "the record of the last purge, after a purge").await;
    }
}

/// Rule 7: a step removes no more than its limit, and repeated steps remove all that is due.
pub async fn a_purge_is_bounded_and_finishes<E: Engine>(store: &E) {
    const DEAD: usize = 25;
    /// Rows that a purge meets first, more of them than a step may examine.
    const ALIVE_IN_FRONT: usize = 3 * LIMIT;
    const ALIVE: usize = ALIVE_IN_FRONT + 5;
    const LIMIT: usize = 4;
    for rows in tables(store) {
        let (owner, end) = (unique(), rows.emptied(0).await);
        let mut alive = Vec::new();
        for number in 0..DEAD + ALIVE {
            let in_front = number < ALIVE_IN_FRONT;
            let row = rows.row(&owner, if in_front { earlier(end, 1) } else { end });
            rows.add(&row).await;
            // Alive by its current due time, due by the one of its insert.
            if in_front || number % 6 == 0 {
                let next = next(&row, FAR);
                rows.change(&row, &next).await;
                alive.push(next);
            }
        }
        assert_eq!(alive.len(), ALIVE);
        let mut removed = 0;
        let mut steps = 0;
        loop {
            let step = rows.purge_step(end, LIMIT).await;
            removed += step.removed();
            steps += 1;
            if step.is_finished() {
                break;
            }
            assert!(steps <= DEAD + ALIVE + SPARE_STEPS, "a purge of {DEAD} {:?} does not finish", rows.table);
        }
        assert_eq!(removed, DEAD, "a purge that says it finished has removed all that is due, in {steps} steps");
        rows.assert_listed(&owner, &alive, "after a purge").await;

        rows.add(&rows.row(&owner, end)).await;
        let none = rows.purge_step(end, 0).await;
        assert!(!none.is_finished(), "a step with limit 0 examines nothing, and cannot know that it finished");
    }
}

/// Rule 7: a few steps find the one row that is due among many that are not.
pub async fn a_purge_steps_over_nothing_alive<E: Engine>(store: &E) {
    const ALIVE: u32 = 120;
    for rows in tables(store) {
        let (owner, end) = (unique(), rows.emptied(0).await);
        let mut alive: Vec<_> = (0..ALIVE).map(|number| rows.row(&owner, later(FAR, number))).collect();
        alive.sort_by(|one, other| one.key.cmp(&other.key));
        let (front, back) = alive.split_at(alive.len() / 2);
        // Alive ones are older and younger than the one that is due, by insert and by key.
        let mut key = rows.new_key();
        if let Some(between) = front.last() {
            key.clone_from(&between.key);
            key.iter_mut().last().into_iter().for_each(|byte| *byte ^= 1);
        }
        let dead = rows.row_under(key, &owner, end);
        for row in front.iter().chain([&dead]).chain(back) {
            rows.add(row).await;
        }
        let mut removed = 0;
        for _ in 0..=SPARE_STEPS {
            removed += rows.purge_step(end, 1).await.removed();
        }
        assert_eq!(removed, 1, "a few steps are enough for {dead:?} among {ALIVE} rows that are not due");
        rows.assert_gone(&dead, "after a purge at its time").await;
        rows.assert_listed(&owner, &alive, "after a purge of another").await;
    }
}

/// Rule 7: of a write and a purge that race for a row, one wins, and an acknowledged write stays.
///
/// A row is either kept by an acknowledged write that moves its end, or removed.
pub async fn a_purge_loses_no_write<E: Engine>(store: &E, another: &E) {
    for race in many_races(store, another) {
        let (owner, end, rows) = (unique(), due(), race.store);
        rows.purge_all(end, 1000).await;
        let dead: Vec<_> = (0..ROWS).map(|_| rows.row(&owner, end)).collect();
        rows.add_all(&dead).await;
        let saved: Vec<_> = dead.iter().map(|row| next(row, FAR)).collect();
        let fresh: Vec<_> = (0..NEWCOMERS).map(|_| rows.row(&owner, FAR)).collect();
        let answers = race_for(&race, &dead, &saved, &fresh, end).await;
        race.another.purge_all(end, 100).await;
        let won = |answer: &Option<Replacement>| *answer == Some(Replacement::Replaced);
        let (kept, lost): (Vec<_>, Vec<_>) = saved.iter().zip(answers).partition(|(_, answer)| won(answer));
        for (row, _) in lost {
            rows.assert_gone(row, "a write that lost to a purge").await;
        }
        let left: Vec<_> = kept.into_iter().map(|(row, _)| row).chain(&fresh).cloned().collect();
        for row in &left {
            rows.assert_there(row, "an acknowledged write beside a purge").await;
        }
        rows.assert_listed(&owner, &left, "after writes beside purges").await;
    }
}

/// Lets writers save `dead` rows as `saved` while others insert and purge, and returns the answers of the writers
/// first.
async fn race_for<E: Engine>(
    race: &Race<'_, E>,
    dead: &[Write],
    saved: &[Write],
    fresh: &[Write],
    end: Timestamp,
) -> Vec<Option<Replacement>> {
    let writers = dead.iter().zip(saved).zip(PAUSES.into_iter().cycle());
    let writers = writers.map(|((row, next), pauses)| Caller::Writer { version: row.version, next, pauses });
    let callers = writers.chain(fresh.iter().map(Caller::Newcomer)).chain((0..PURGES).map(|_| Caller::Purge(end)));
    let calls = race.handles().zip(callers).map(|(handle, caller)| caller.call(handle));
    at_once(race.meeting, calls).await
}

enum Caller<'r> {
    Writer { version: u32, next: &'r Write, pauses: usize },
    Newcomer(&'r Write),
    Purge(Timestamp),
}

impl Caller<'_> {
    async fn call<E: Engine>(self, rows: Rows<'_, E>) -> Option<Replacement> {
        match self {
            Self::Writer { version, next, pauses } => {
                for _ in 0..pauses {
                    pause().await;
                }
                return Some(rows.replace(version, next).await);
            }
            Self::Newcomer(row) => rows.add(row).await,
            Self::Purge(end) => drop(purge_with_pauses(rows, end).await),
        }
        None
    }
}

/// Rule 7: concurrent purges remove each row once, and count it once.
pub async fn purges_share_the_work<E: Engine>(store: &E, another: &E) {
    const DEAD: usize = 40;
    for race in races(store, another) {
        let (owner, end, rows) = (unique(), due(), race.store);
        rows.purge_all(end, 1000).await;
        let stays = rows.row(&owner, FAR);
        rows.add(&stays).await;
        let dead: Vec<_> = (0..DEAD).map(|_| rows.row(&owner, end)).collect();
        rows.add_all(&dead).await;
        let calls = race.handles().take(PURGES + 1).map(|handle| purge_with_pauses(handle, end));
        let mut removed: usize = at_once(race.meeting, calls).await.into_iter().sum();
        removed += rows.purge_all(end, 1000).await;
        assert_eq!(removed, DEAD, "concurrent purges remove each row once");
        rows.assert_listed(&owner, &[stays], "after concurrent purges").await;
    }
}

async fn purge_with_pauses<E: Engine>(rows: Rows<'_, E>, end: Timestamp) -> usize {
    let mut removed = 0;
    for _ in 0..STEPS {
        let step = rows.purge_step(end, 3).await;
        removed += step.removed();
        if step.is_finished() {
            return removed;
        }
        pause().await;
    }
    never_ends(STEPS)
}

/// Rule 7: if the engine removes rows by its own clock, it removes none before its `due`, even if that was moved.
///
/// It takes four seconds and calls `sleep` of the runtime, so the macro does not include this rule.
pub async fn a_row_does_not_expire_early<E: Engine, F: Future<Output = ()>>(store: &E, sleep: impl Fn(Duration) -> F) {
    let end = later(now(), 3);
    let mut written = Vec::new();
    for rows in tables(store) {
        let (row, first) = (rows.row(&unique(), end), rows.row(&unique(), end));
        let moved = next(&first, FAR);
        rows.add(&row).await;
        rows.add(&first).await;
        rows.change(&first, &moved).await;
        written.push((rows, row, moved));
    }
    loop {
        for (rows, row, _) in &written {
            let found = rows.find(&row.key).await;
            let exists = rows.insert(row).await == Insertion::Exists;
            if now() < end {
                let is_there = exists && found.as_ref() == Some(&row.record);
                assert!(is_there, "{row:?} was removed before its time");
            }
        }
        if now() >= end {
            break;
        }
        sleep(Duration::from_millis(100)).await;
    }
    sleep(Duration::from_secs(1)).await;
    for (rows, _, moved) in &written {
        rows.assert_there(moved, "after the first of its ends, which was moved").await;
    }
}
