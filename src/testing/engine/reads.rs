//! Reads: acknowledged writes are found, byte for byte, and each call costs the same.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::store::{Engine, Insertion, Replacement, Table, Write};
use crate::testing::at_once::{at_once, pause};
use crate::testing::rows::{
    CALLERS, FAR, Rows, ended, many_races, next, numbered, races, shown, tables, unique, version_in,
};

/// The version with which a writer ends while others read.
const LAST_VERSION: u32 = 32;
/// How many rows are stored before the costs of calls are counted again.
const ROWS: usize = 400;

/// Rule 4: an acknowledged write is found by all callers at once.
///
/// All callers at once, each with its own row, which it reads through both handles.
pub async fn acknowledged_writes_are_found<E: Engine>(store: &E, another: &E) {
    for race in races(store, another) {
        let (store, another) = (race.store, race.another);
        let calls = race.handles().take(CALLERS).map(|handle| async move {
            let mut row = store.row(&unique(), FAR);
            handle.add(&row).await;
            for round in 0..4 {
                store.assert_there(&row, "at once after the write").await;
                another.assert_there(&row, "at once after the write, by another handle").await;
                let next = next(&row, FAR);
                let writer = if round % 2 == 0 { another } else { store };
                writer.change(&row, &next).await;
                row = next;
            }
            store.assert_there(&row, "at once after the last write").await;
        });
        at_once(race.meeting, calls).await;
    }
}

/// Rule 4: a caller that gets `Lost` finds the version that won.
pub async fn losers_find_the_winner<E: Engine>(store: &E, another: &E) {
    for race in many_races(store, another) {
        let first = &race.store.row(&unique(), FAR);
        race.store.add(first).await;
        let calls = race.handles().take(CALLERS).map(|handle| async move {
            let own = next(first, FAR);
            let answer = handle.replace(first.version, &own).await;
            let found = handle.find(&first.key).await;
            let (is_own, is_first) = (found.as_ref() == Some(&own.record), found.as_ref() == Some(&first.record));
            let shown = shown(found.as_deref());
            match answer {
                Replacement::Replaced => assert!(is_own, "the winner finds {shown}"),
                Replacement::Lost => {
                    let is_winner = found.is_some() && !is_own && !is_first;
                    assert!(is_winner, "a caller that got `Lost` finds {shown}");
                }
            }
        });
        at_once(race.meeting, calls).await;
    }
}

/// Rule 4: while versions are written, no reader finds one older than the last that was acknowledged or seen.
///
/// One caller writes version after version. The others never find one older than was acknowledged before they read.
pub async fn readers_never_go_back<E: Engine>(store: &E, another: &E) {
    for race in races(store, another) {
        let first = &race.store.row(&unique(), FAR);
        race.store.add(first).await;
        let acknowledged = &AtomicU32::new(first.version);
        let calls = race.handles().take(CALLERS / 2).zip(0..).map(|(handle, number)| async move {
            if number == 0 {
                write_versions(handle, first, acknowledged).await;
            } else {
                read_versions(handle, &first.key, acknowledged).await;
            }
        });
        at_once(race.meeting, calls).await;
    }
}

async fn write_versions<E: Engine>(rows: Rows<'_, E>, first: &Write, acknowledged: &AtomicU32) {
    for version in first.version..LAST_VERSION {
        let answer = rows.replace(version, &numbered(first, version + 1, FAR)).await;
        assert_eq!(answer, Replacement::Replaced, "the only writer of version {version}");
        acknowledged.store(version + 1, Ordering::SeqCst);
        pause().await;
    }
}

async fn read_versions<E: Engine>(rows: Rows<'_, E>, key: &[u8], acknowledged: &AtomicU32) {
    let mut seen = 0;
    while seen < LAST_VERSION {
        let before = acknowledged.load(Ordering::SeqCst).max(seen);
        let found = rows.find(key).await;
        seen = found.as_deref().map_or(0, version_in);
        assert!(seen >= before, "after version {before} `find` returned {}", shown(found.as_deref()));
        pause().await;
    }
}

/// Rule 5: a record is read back equal, whatever its bytes, in every state and on any list.
pub async fn every_record_comes_back<E: Engine>(store: &E) {
    let bytes = (0..=255).collect::<Vec<u8>>();
    let records = [bytes.as_slice(), &[0], &[0; 64], &[0xff; 64], "{}\u{1f600}'\"\\\r\n".as_bytes(), b" blank "];
    for rows in tables(store) {
        for record in records {
            let row = Write { record: record.to_vec(), ..rows.row(&unique(), FAR) };
            comes_back(rows, &row).await;
        }
        let (first, second) = (rows.row(&unique(), FAR), rows.unlisted(FAR));
        comes_back(rows, &ended(&first, FAR)).await;
        comes_back(rows, &second).await;
    }
}

/// Rule 5: the largest record is read back equal.
pub async fn the_largest_record_comes_back<E: Engine>(store: &E) {
    for rows in tables(store) {
        comes_back(rows, &largest(rows.row(&"x".repeat(255), FAR))).await;
    }
}

/// Writes the row by an insert, then by a replacement of a smaller one, which is then written back.
async fn comes_back<E: Engine>(rows: Rows<'_, E>, row: &Write) {
    rows.add(row).await;
    rows.assert_there(row, "after its insert").await;
    assert_eq!(rows.insert(row).await, Insertion::Exists, "a second insert of {row:?}");
    assert_eq!(rows.confirm(row).await, Replacement::Replaced, "a confirm of {row:?}");

    let plain = Write { key: rows.new_key(), record: b"plain".to_vec(), version: row.version - 1, ..row.clone() };
    let row = Write { key: plain.key.clone(), ..row.clone() };
    rows.add(&plain).await;
    rows.change(&plain, &row).await;
    rows.assert_there(&row, "after a replace").await;
    rows.change(&row, &plain).await;
    rows.assert_there(&plain, "after another replace").await;
}

/// Returns the row with a record as large as a server writes for its table.
pub(super) fn largest(row: Write) -> Write {
    let bytes = largest_record(row.table);
    Write { record: (0..=255).cycle().take(bytes).collect(), ..row }
}

/// Returns how many bytes a record of that table has at most. The guide has the same table.
pub(crate) const fn largest_record(table: Table) -> usize {
    match table {
        Table::ApplicationLogos => 1_050_000,
        Table::Applications => 220_000,
        Table::Authorizations => 41_000,
        Table::DeviceRequests => 12_000,
        Table::Grants => 300_000,
        Table::InitialTokens => 16_000,
        Table::PushedRequests => 265_000,
        Table::LastPurge | Table::Replays | Table::UserCodes => 100,
    }
}

/// Rule 8: each call costs the same, however much is stored.
///
/// `count` returns the cost so far: examined rows, statements or round trips. A table scan is a single
/// statement too, so only a count of rows shows that there is none. Not every store can count, so the macro
/// does not include this rule.
pub async fn calls_cost_the_same<E: Engine>(store: &E, count: impl Fn() -> u64 + Send + Sync) {
    for rows in tables(store) {
        // This prepares all that is prepared only once.
        let _ = costs(rows, &count).await;
        let before = costs(rows, &count).await;
        let owner = unique();
        for _ in 0..ROWS {
            rows.add(&rows.row(&owner, FAR)).await;
        }
        let after = costs(rows, &count).await;
        for ((call, before), (_, after)) in before.into_iter().zip(after) {
            assert_eq!(after, before, "{call} of {:?} costs more after {ROWS} more rows than before", rows.table);
        }
    }
}

/// Returns the cost of each call, one after the other.
async fn costs<E: Engine>(rows: Rows<'_, E>, count: &(impl Fn() -> u64 + Sync)) -> [(&'static str, u64); 9] {
    let owner = unique();
    let row = rows.row(&owner, FAR);
    let next = next(&row, FAR);
    let end = rows.emptied(0).await;
    rows.add(&rows.row(&unique(), end)).await;
    let mut spent = count();
    let mut costs = |call| {
        let before = std::mem::replace(&mut spent, count());
        (call, spent - before)
    };
    assert_eq!(rows.find(&row.key).await, None);
    let missing = costs("a find of nothing");
    rows.add(&row).await;
    let inserted = costs("an insert");
    assert_eq!(rows.find(&row.key).await.as_ref(), Some(&row.record));
    let found = costs("a find");
    rows.change(&row, &next).await;
    let replaced = costs("a replace");
    assert_eq!(rows.confirm(&next).await, Replacement::Replaced);
    let confirmed = costs("a confirm");
    assert_eq!(rows.insert(&row).await, Insertion::Exists);
    let exists = costs("an insert of what exists");
    assert_eq!(rows.replace(row.version, &next).await, Replacement::Lost);
    let lost = costs("a replace that loses");
    rows.assert_listed(&owner, &[next], "alone").await;
    let listed = costs("a page of a list");
    assert_eq!(rows.purge_step(end, 4).await.removed(), 1, "the one row that is due");
    let purged = costs("a step of a purge");
    [missing, inserted, found, replaced, confirmed, exists, lost, listed, purged]
}
