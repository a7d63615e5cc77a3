//! Inserts, replacements and confirmations: who wins, and what a caller that lost has changed.

use std::slice::from_ref;

use crate::store::{Engine, Insertion, Replacement, Table, Write};
use crate::testing::at_once::{at_once, pause};
use crate::testing::rows::{
    CALLERS, FAR, Rows, earlier, ended, many_races, next, numbered, races, random, rival, shown, tables, unique,
    version_in,
};

/// How often each caller must win.
const WINS: usize = 4;
/// The most attempts of each caller. Each lost one is a win of another caller, so no more are needed.
const ATTEMPTS: usize = CALLERS * WINS;

/// Rule 1: of many callers that insert one key, one gets `Inserted`, and the stored row is its own.
pub async fn insert_has_one_winner<E: Engine>(store: &E, another: &E) {
    for race in many_races(store, another) {
        let owner = unique();
        let first = race.store.row(&owner, FAR);
        // Each caller has its own clock.
        let ending = |seconds| Write { due: Some(earlier(FAR, seconds)), ..rival(&first) };
        let rivals: Vec<_> = (0..12).map(ending).collect();
        let calls = race.handles().zip(&rivals).map(|(handle, rival)| handle.insert(rival));
        let answers = at_once(race.meeting, calls).await;
        let winner = only_winner(&rivals, &answers, Insertion::Inserted);
        race.store.assert_there(winner, "after a race of inserts").await;
        race.another.assert_listed(&owner, from_ref(winner), "after a race of inserts").await;
    }
}

/// Rule 1: an insert of an existing key returns `Exists` and changes nothing, not even a list.
pub async fn insert_leaves_the_row_that_is_there<E: Engine>(store: &E) {
    for rows in tables(store) {
        let (owner, other) = (unique(), unique());
        let row = rows.row(&owner, FAR);
        rows.add(&row).await;
        let elsewhere = rows.row_under(row.key.clone(), &other, FAR);
        for late in [&row, &rival(&row), &next(&row, FAR), &elsewhere] {
            assert_eq!(rows.insert(late).await, Insertion::Exists, "a second insert of the key of {row:?}");
            rows.assert_there(&row, "after a second insert of its key").await;
        }
        rows.assert_listed(&owner, &[row], "after more inserts of its key").await;
        let listed = rows.listed(&other).await;
        assert!(listed.is_empty(), "an insert that returned `Exists` left {} rows in a list", listed.len());
    }
}

/// Rule 1: a revoked row exists like any other until it is purged: an insert of its key changes nothing.
///
/// It was revoked by a replacement, or in its first version.
pub async fn insert_leaves_what_was_revoked<E: Engine>(store: &E) {
    for rows in tables(store) {
        let replaced = rows.row(&unique(), FAR);
        let inserted = rows.row(&unique(), FAR);
        let revoked = ended(&replaced, FAR);
        let inserted_revoked = Write { version: 1, ..ended(&inserted, FAR) };
        rows.add(&replaced).await;
        rows.change(&replaced, &revoked).await;
        rows.add(&inserted_revoked).await;
        for (first, ended) in [(&replaced, &revoked), (&inserted, &inserted_revoked)] {
            for late in [first, &rival(first), &next(first, FAR), ended] {
                assert_eq!(rows.insert(late).await, Insertion::Exists, "an insert over the revoked {ended:?}");
                rows.assert_there(ended, "after an insert over what was revoked").await;
            }
        }
    }
}

/// Rule 1: keys that differ in a single bit, in case or in blanks are different keys.
pub async fn keys_are_distinguished<E: Engine>(store: &E) {
    for rows in tables(store) {
        let owner = unique();
        let similar: Vec<_> = similar_keys(rows).into_iter().map(|key| rows.row_under(key, &owner, FAR)).collect();
        for row in &similar {
            rows.assert_gone(row, "before its insert").await;
            rows.add(row).await;
        }
        for row in &similar {
            rows.assert_there(row, "beside others with similar keys").await;
        }
    }
}

/// Returns keys that a careless comparison takes for the first one.
fn similar_keys<E: Engine>(rows: Rows<'_, E>) -> Vec<Vec<u8>> {
    let name = unique();
    if rows.table == Table::Applications {
        let similar = [
            format!("Client {name}x"),
            format!("client {name}x"),
            format!("CLIENT {}X", name.to_uppercase()),
            format!("Client {name}x "),
            format!(" Client {name}x"),
            format!("Client  {name}x"),
            format!("Client {name}"),
            format!("Client {name}_"),
            format!("Client {name}%"),
            format!("\"Client {name}x\""),
            format!("Client {name}{}", "x".repeat(512 - 7 - name.len())),
        ];
        return similar.map(String::into_bytes).into();
    }
    let key = rows.new_key();
    // Another bit, or another case of the letter in text that stands for the key.
    let bits: &[u8] = if rows.has_text_keys() { &[1, 0x20] } else { &[1, 0x20, 0x80] };
    let flipped = (0..key.len()).flat_map(|place| bits.iter().map(move |bit| (place, bit)));
    let flip = |(place, bit): (usize, &u8)| {
        let mut key = key.clone();
        key.iter_mut().skip(place).take(1).for_each(|byte| *byte ^= bit);
        key
    };
    let mut similar: Vec<_> = flipped.map(flip).chain([key.clone()]).collect();
    if rows.has_text_keys() {
        similar.retain(|key| key.iter().all(u8::is_ascii_alphanumeric));
    }
    similar
}

/// Rule 1: rows of different tables are different rows, even under keys of the same bytes.
pub async fn tables_are_distinguished<E: Engine>(store: &E) {
    let (key, owner) = (random::<16>().to_vec(), unique());
    let alike = || tables(store).filter(|rows| rows.new_key().len() == key.len());
    let written: Vec<_> = alike().map(|rows| rows.row_under(key.clone(), &owner, FAR)).collect();
    for (rows, row) in alike().zip(&written) {
        rows.add(row).await;
    }
    for (rows, row) in alike().zip(&written) {
        rows.assert_there(row, "under a key that rows of other tables have too").await;
        rows.assert_listed(&owner, from_ref(row), "beside lists of that name in other tables").await;
    }
}

/// Rule 2: of many callers that replace one version, one gets `Replaced`, and the stored row is its own.
pub async fn replace_has_one_winner<E: Engine>(store: &E, another: &E) {
    for race in many_races(store, another) {
        let owner = unique();
        let first = race.store.row(&owner, FAR);
        race.store.add(&first).await;
        let rivals: Vec<_> = (0..CALLERS).map(|_| next(&first, FAR)).collect();
        let calls = race.handles().zip(&rivals).map(|(handle, rival)| handle.replace(first.version, rival));
        let answers = at_once(race.meeting, calls).await;
        let winner = only_winner(&rivals, &answers, Replacement::Replaced);
        race.store.assert_there(winner, "after a race of replaces").await;
        race.another.assert_listed(&owner, from_ref(winner), "after a race of replaces").await;
    }
}

#[expect(clippy::panic, reason = "a rule fails by panicking, as every test does")]
fn only_winner<'r, A: PartialEq + std::fmt::Debug>(rivals: &'r [Write], answers: &[A], won: A) -> &'r Write {
    let mut winners = rivals.iter().zip(answers).filter(|(_, answer)| **answer == won).map(|(rival, _)| rival);
    match (winners.next(), winners.next()) {
        (Some(winner), None) => winner,
        _ => panic!("of {CALLERS} callers that write one row, exactly one should get `{won:?}`: {answers:?}"),
    }
}

/// Rule 2: a replace of a missing row is `Lost` and creates none.
pub async fn replace_of_a_missing_row_is_lost<E: Engine>(store: &E) {
    for rows in tables(store) {
        let row = rows.row(&unique(), FAR);
        let next = next(&row, FAR);
        for version in [0, row.version, next.version, u32::MAX] {
            assert_eq!(
                rows.replace(version, &next).await,
                Replacement::Lost,
                "a replace of version {version} of no row"
            );
            rows.assert_gone(&row, "after a replace of a missing row").await;
        }
    }
}

/// Rule 2: a replace of any version but the row's own is `Lost` and changes nothing.
pub async fn replace_of_another_version_is_lost<E: Engine>(store: &E) {
    for rows in tables(store) {
        let row = rows.row(&unique(), FAR);
        rows.add(&row).await;
        let (next, rival) = (next(&row, FAR), next(&row, FAR));
        for version in [0, next.version, next.version + 1, 1 << 31, u32::MAX] {
            assert_eq!(rows.replace(version, &next).await, Replacement::Lost, "a replace of version {version}, not 1");
            rows.assert_there(&row, "after a replace of another version").await;
        }
        rows.change(&row, &next).await;
        for late in [&rival, &row, &next] {
            assert_eq!(rows.replace(row.version, late).await, Replacement::Lost, "a replace of an earlier version");
            rows.assert_there(&next, "after a replace of an earlier version").await;
        }
    }
}

/// Rule 2: versions are compared up to the largest of 32 bits, without sign.
///
/// The server draws them at random, so they exceed what signed numbers of 32 bits hold, and one may be lower than the
/// version before it.
pub async fn large_versions_are_compared<E: Engine>(store: &E) {
    const VERSIONS: [u32; 9] = [1, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, u32::MAX - 1, u32::MAX, 7, 0, 9];
    for rows in tables(store) {
        let row = rows.row(&unique(), FAR);
        rows.add(&row).await;
        for (from, to) in VERSIONS.into_iter().zip(VERSIONS.into_iter().skip(1)) {
            let next = numbered(&row, to, FAR);
            for version in [from ^ 1, from.wrapping_add(1 << 31), from.wrapping_sub(1)] {
                let answer = rows.replace(version, &next).await;
                assert_eq!(answer, Replacement::Lost, "a replace of version {version}, where {from} is stored");
            }
            assert_eq!(rows.replace(from, &next).await, Replacement::Replaced, "a replace of version {from}");
            rows.assert_there(&next, "under a large version").await;
            assert_eq!(rows.confirm(&next).await, Replacement::Replaced, "a confirm of version {to}");
        }
    }
}

/// Rule 2: callers that try again after every loss win every version exactly once.
///
/// As refresh and revocation do: make the next version, replace, and go on from the one that won after a loss.
pub async fn no_update_is_lost<E: Engine>(store: &E, another: &E) {
    for race in races(store, another) {
        let row = race.store.row(&unique(), FAR);
        race.store.add(&row).await;
        let calls = race.handles().take(CALLERS / 2).map(|handle| wins(handle, &row));
        let mut acknowledged: Vec<_> = at_once(race.meeting, calls).await.into_iter().flatten().collect();
        acknowledged.sort_by_key(|won| won.version);
        let versions: Vec<_> = acknowledged.iter().map(|won| won.version).collect();
        let expected: Vec<_> = (row.version + 1..).take(CALLERS / 2 * WINS).collect();
        assert_eq!(versions, expected, "every acknowledged version is won once, none is left out");
        if let Some(last) = acknowledged.last() {
            race.store.assert_there(last, "after the last of many updates").await;
        }
    }
}

async fn wins<E: Engine>(rows: Rows<'_, E>, row: &Write) -> Vec<Write> {
    let (mut won, mut version) = (Vec::new(), row.version);
    for _ in 0..ATTEMPTS {
        if let Some(read) = rows.find(&row.key).await {
            version = version_in(&read);
        }
        pause().await;
        let next = numbered(row, version + 1, FAR);
        if rows.replace(version, &next).await == Replacement::Replaced {
            won.push(next);
        }
        if won.len() == WINS {
            break;
        }
    }
    assert_eq!(won.len(), WINS, "a caller that reads again after every loss wins in the end");
    won
}

/// Rule 3: a row that equals the stored one is confirmed, any number of times, and stays as it is.
pub async fn a_confirm_leaves_the_row_as_it_is<E: Engine>(store: &E) {
    for rows in tables(store) {
        let first = rows.row(&unique(), FAR);
        let second = next(&first, FAR);
        let revoked = ended(&second, FAR);
        rows.add(&first).await;
        for (row, next) in [(&first, &second), (&second, &revoked), (&revoked, &revoked)] {
            for _ in 0..3 {
                assert_eq!(rows.confirm(row).await, Replacement::Replaced, "a confirm of the stored {row:?}");
                rows.assert_there(row, "after a confirm").await;
            }
            rows.change(row, next).await;
        }
    }
}

/// Rule 3: a confirm of a missing row, of another version or of other bytes is `Lost` and changes nothing.
pub async fn a_confirm_of_another_row_is_lost<E: Engine>(store: &E) {
    for rows in tables(store) {
        let first = rows.row(&unique(), FAR);
        assert_eq!(rows.confirm(&first).await, Replacement::Lost, "a confirm of a missing row");
        rows.assert_gone(&first, "after a confirm of a missing row").await;

        let row = next(&first, FAR);
        rows.add(&first).await;
        assert_eq!(rows.confirm(&row).await, Replacement::Lost, "a confirm of a version that is not yet written");
        rows.assert_there(&first, "after a confirm of another version").await;
        rows.change(&first, &row).await;
        let others = [
            ("an earlier version", first),
            ("the same version with other bytes", rival(&row)),
            ("the same bytes under a later version", Write { version: row.version + 1, ..row.clone() }),
            ("the same bytes under an earlier version", Write { version: row.version - 1, ..row.clone() }),
            ("a later version", next(&row, FAR)),
        ];
        for (what, other) in &others {
            assert_eq!(rows.confirm(other).await, Replacement::Lost, "a confirm of {what}");
            rows.assert_there(&row, "after a confirm that lost").await;
        }
    }
}

/// Rule 3: any number of callers confirm one row at once, and none of them raises its version.
pub async fn confirms_at_once_all_succeed<E: Engine>(store: &E, another: &E) {
    for race in races(store, another) {
        let owner = unique();
        let row = race.store.row(&owner, FAR);
        race.store.add(&row).await;
        let calls = race.handles().take(CALLERS).map(|handle| handle.confirm(&row));
        let answers = at_once(race.meeting, calls).await;
        let won = answers.iter().filter(|answer| **answer == Replacement::Replaced).count();
        assert_eq!(won, CALLERS, "all {CALLERS} callers that confirm {row:?} should succeed");
        race.another.assert_there(&row, "after many confirms").await;
        race.store.assert_listed(&owner, from_ref(&row), "after many confirms").await;
        race.store.change(&row, &next(&row, FAR)).await;
    }
}

/// Rule 3: a confirm during a replace neither restores the old version nor stops the replace.
pub async fn a_confirm_undoes_no_write<E: Engine>(store: &E, another: &E) {
    for race in many_races(store, another) {
        let first = &race.store.row(&unique(), FAR);
        let next = &next(first, FAR);
        race.store.add(first).await;
        let calls = race.handles().take(CALLERS).zip(0..).map(|(handle, number)| async move {
            if number == CALLERS / 2 {
                pause().await;
                handle.change(first, next).await;
            } else {
                let _ = handle.confirm(first).await;
            }
        });
        at_once(race.meeting, calls).await;
        let found = race.store.find(&next.key).await;
        let is_next = found.as_ref() == Some(&next.record);
        assert!(is_next, "after confirms beside a replace `find` returns {}", shown(found.as_deref()));
    }
}
