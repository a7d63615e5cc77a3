//! Lists: each has all its rows at once and no others, in order, page by page.

use std::collections::BTreeSet;

use crate::store::{Engine, Lists, Row, Write};
use crate::testing::at_once::at_once;
use crate::testing::engine::reads::largest;
use crate::testing::rows::{
    CALLERS, FAR, LISTS_DO_NOT_LAG, Rows, as_listed, due, ended, listed_tables, next, races, tables, unique,
};

/// Rows of each caller.
const EACH: usize = 4;

/// Rule 6: an acknowledged row is listed at once, as it is, among many callers.
pub async fn a_row_is_listed_at_once<E: Engine>(store: &E, another: &E) {
    for race in races(store, another).filter(|race| race.store.table.lists() != Lists::None) {
        let (owner, readers) = (&unique(), [race.store, race.another]);
        let calls = race.handles().take(CALLERS).map(|handle| async move {
            let mut own = Vec::new();
            for _ in 0..EACH {
                let first = handle.row(owner, FAR);
                let next = next(&first, FAR);
                handle.add(&first).await;
                assert_in_place(readers, owner, &first, None).await;
                handle.change(&first, &next).await;
                assert_in_place(readers, owner, &next, Some(&first)).await;
                own.push(next);
            }
            own
        });
        let all: Vec<_> = at_once(race.meeting, calls).await.into_iter().flatten().collect();
        race.store.assert_listed(owner, &all, "after many writes").await;
    }
}

async fn assert_in_place<E: Engine>(readers: [Rows<'_, E>; 2], owner: &str, row: &Write, before: Option<&Write>) {
    for reader in readers {
        let listed = reader.listed(owner).await;
        let is_listed = |row| as_listed([row]).iter().all(|row| listed.contains(row));
        assert!(is_listed(row), "{row:?} was acknowledged and is not listed as it is; {LISTS_DO_NOT_LAG}");
        assert!(!before.is_some_and(is_listed), "{before:?} was replaced and is still listed");
    }
}

/// Rule 6: rows in every state are listed: revoked ones, those that are due, and those that stay.
pub async fn rows_in_every_state_are_listed<E: Engine>(store: &E) {
    for rows in listed_tables(store) {
        let owner = unique();
        let row = || rows.row(&owner, FAR);
        let inserted_revoked = Write { version: 1, ..ended(&row(), FAR) };
        let first = row();
        let mut all = vec![rows.row(&owner, due()), Write { due: None, ..row() }, inserted_revoked];
        for row in all.iter().chain([&first]) {
            rows.add(row).await;
        }
        let revoked = ended(&first, FAR);
        rows.change(&first, &revoked).await;
        all.push(revoked);
        rows.assert_listed(&owner, &all, "rows in every state").await;
    }
}

/// Rule 6: names that differ in case, blanks, normalization or length are different lists, and a row on no list is on
/// none.
pub async fn a_list_has_its_own_rows<E: Engine>(store: &E) {
    for rows in listed_tables(store) {
        let owners = similar_owners();
        let written: Vec<_> = owners.iter().map(|owner| rows.row(owner, FAR)).collect();
        for row in &written {
            rows.add(row).await;
        }
        for (owner, row) in owners.iter().zip(written) {
            rows.assert_listed(owner, &[row], &format!("the rows of {owner:?} alone")).await;
        }
        rows.assert_listed(&unique(), &[], "a list without rows").await;

        let nobody = rows.unlisted(FAR);
        rows.add(&nobody).await;
        rows.assert_there(&nobody, "on no list").await;
        for name in ["", "null", "NULL", "none", "None", "nil", "undefined", "anonymous", "-", "0", "\0"] {
            let is_listed = rows.page(name.as_bytes(), None, 1000).await.iter().any(|own| own.key() == nobody.key);
            assert!(!is_listed, "a row on no list is on the list {name:?}");
        }
    }
}

/// Returns names that a careless comparison takes for the first one, and names that are hard to store.
fn similar_owners() -> Vec<String> {
    let name = unique();
    let plain = format!("Stra\u{df}e \u{e9} {name}x");
    let long = format!("{plain}{}", "x".repeat(254 - plain.len()));
    let similar = [
        plain.clone(),
        format!("stra\u{df}e \u{e9} {name}x"),
        format!("STRASSE \u{c9} {}X", name.to_uppercase()),
        format!("Stra\u{df}e e\u{301} {name}x"),
        format!("Strasse e {name}x"),
        format!("{plain} "),
        format!(" {plain}"),
        format!("{plain}\0"),
        format!("{plain}\u{200b}"),
        format!("{plain}x"),
        format!("Stra\u{df}e \u{e9} {name}"),
        format!("Stra\u{df}e \u{e9} {name}_"),
        format!("Stra\u{df}e \u{e9} {name}%"),
        format!("{long}1"),
        format!("{long}2"),
        format!("\0{name}"),
        format!("'; DROP TABLE {name}; --\"\\\\x00\\'%_*?[a-z]{{1}}:$1?1@p"),
        format!("\u{feff}\u{202e}{name}\r\n\t\u{1b}[31m\u{10ffff}"),
    ];
    similar.into()
}

/// Rule 6: a list is in the ascending order of keys, compared as bytes without sign.
pub async fn a_list_is_in_the_order_of_keys<E: Engine>(store: &E) {
    for rows in listed_tables(store) {
        let (owner, base) = (unique(), rows.new_key());
        let is_sound = |byte: &u8| !rows.has_text_keys() || (b' '..=b'~').contains(byte);
        let values = [0, 0x20, 0x41, 0x61, 0x7e, 0x7f, 0x80, 0xff].into_iter().filter(is_sound);
        let places = (0..base.len()).flat_map(|place| values.clone().map(move |value| (place, value)));
        let key = |(place, value)| {
            let mut key = base.clone();
            key.iter_mut().skip(place).take(1).for_each(|byte| *byte = value);
            key
        };
        let keys: BTreeSet<_> = places.map(key).collect();
        let all: Vec<_> = keys.into_iter().map(|key| rows.row_under(key, &owner, FAR)).collect();
        // Neither first to last nor the other way round.
        let (front, back) = all.split_at(all.len() / 2);
        let (even, odd): (Vec<_>, Vec<_>) = back.iter().chain(front).enumerate().partition(|(place, _)| place % 2 == 0);
        for (_, row) in even.into_iter().chain(odd) {
            rows.add(row).await;
        }
        rows.assert_listed(&owner, &all, "rows in the ascending order of keys").await;
    }
}

/// Rule 6: pages of any size hold every row once, and all but the last one are full.
pub async fn pages_hold_every_row_once<E: Engine>(store: &E) {
    for rows in listed_tables(store) {
        let (owner, other) = (unique(), unique());
        let mut all: Vec<_> = (0..12).map(|_| rows.row(&owner, FAR)).collect();
        for row in &all {
            rows.add(row).await;
            rows.add(&rows.row(&other, FAR)).await;
        }
        all.sort_by(|one, other| one.key.cmp(&other.key));
        for limit in [1, 3, 4, 11, 12, 13, 1000] {
            let mut reader = Reader::new(rows, &owner, limit);
            while reader.reads_on().await {}
            assert!(reader.found == as_listed(&all), "pages of {limit} hold {} rows of 12", reader.found.len());
            assert_eq!(reader.pages, all.len() / limit + 1, "pages of {limit} are full except for the last one");
        }
    }
}

/// Rule 6: a page of the largest records, more than a mebibyte together, is complete.
///
/// Some engines truncate their answers there.
pub async fn a_page_of_the_largest_records_is_full<E: Engine>(store: &E) {
    for rows in listed_tables(store) {
        let owner = unique();
        let all: Vec<_> = (0..32).map(|_| largest(rows.row(&owner, FAR))).collect();
        for row in &all {
            rows.add(row).await;
        }
        rows.assert_listed(&owner, &all, "a page of the largest records").await;
    }
}

/// Rule 6: a page may start after a row that was removed.
pub async fn a_page_starts_after_a_key_that_is_gone<E: Engine>(store: &E) {
    for rows in listed_tables(store) {
        let (owner, end) = (unique(), due());
        let all: Vec<_> = (0..12).map(|number| rows.row(&owner, if number % 2 == 0 { end } else { FAR })).collect();
        for row in &all {
            rows.add(row).await;
        }
        rows.purge_all(end, 100).await;
        let left = rows.listed(&owner).await;
        for row in &all {
            let page = rows.page(&rows.list_of(&owner), Some(&row.key), 100).await;
            let expected: Vec<_> = left.iter().filter(|own| own.key() > row.key.as_slice()).cloned().collect();
            assert!(page == expected, "the page after {row:?} holds {} rows, not {}", page.len(), expected.len());
        }
    }
}

/// Rule 6: while rows are added and removed, a reader of pages finds each row that stays once.
pub async fn pages_miss_nothing_that_stays<E: Engine>(store: &E) {
    for rows in listed_tables(store) {
        let (owner, end) = (unique(), due());
        let mut stay = BTreeSet::new();
        for number in 0..20 {
            let first = rows.row(&owner, end);
            rows.add(&first).await;
            if number % 2 == 1 {
                rows.change(&first, &next(&first, FAR)).await;
                stay.insert(first.key);
            }
        }
        let mut reader = Reader::new(rows, &owner, 3);
        while reader.reads_on().await {
            if reader.pages == 1 {
                rows.purge_all(end, 100).await;
            } else if reader.pages < 6 {
                rows.add(&rows.row(&owner, FAR)).await;
            }
        }
        assert!(reader.pages > 3, "there was time for others to come and go");
        let keys: Vec<_> = reader.found.iter().map(Row::key).collect();
        assert!(keys.is_sorted_by(|one, other| one < other), "a row came twice, or out of order");
        let missed = stay.iter().filter(|key| !keys.contains(&key.as_slice())).count();
        assert_eq!(missed, 0, "rows that were there all the time were missed");
    }
}

/// Reads as the contract says: each page after the last row, until a page is not full.
struct Reader<'s, E> {
    rows: Rows<'s, E>,
    list: Vec<u8>,
    limit: usize,
    found: Vec<Row>,
    pages: usize,
}

impl<'s, E: Engine> Reader<'s, E> {
    fn new(rows: Rows<'s, E>, owner: &str, limit: usize) -> Self {
        Self { rows, list: rows.list_of(owner), limit, found: Vec::new(), pages: 0 }
    }

    /// Reads one page; returns whether there may be another.
    async fn reads_on(&mut self) -> bool {
        let page = self.rows.page(&self.list, self.found.last().map(Row::key), self.limit).await;
        assert!(self.pages <= 1000, "a list in pages of {} did not end", self.limit);
        self.pages += 1;
        let is_full = page.len() == self.limit;
        self.found.extend(page);
        is_full
    }
}

/// Rule 6: every write of a row on several lists puts it on those that it names.
///
/// A list may return a row that has left it: the caller reads in the record which lists it is on. It never returns a
/// row that was not on it.
pub async fn lists_follow_every_write<E: Engine>(store: &E) {
    for rows in tables(store).filter(|rows| rows.table.lists() == Lists::Many) {
        let names: Vec<_> =
            (0..3).map(|place| format!("{place}:{}{}", unique(), "x".repeat(237)).into_bytes()).collect();
        let mut row = Write { lists: Vec::new(), ..rows.row(&unique(), FAR) };
        rows.add(&row).await;
        let mut was_on = BTreeSet::new();
        // Every set of lists after every other one.
        for set in (0..8).flat_map(|from| (0..8).flat_map(move |to| [from, to])) {
            let lists = names.iter().enumerate().filter(|(place, _)| set >> place & 1 == 1);
            let next = Write { lists: lists.map(|(_, name)| name.clone()).collect(), ..next(&row, FAR) };
            rows.change(&row, &next).await;
            row = next;
            was_on.extend(row.lists.clone());
            rows.assert_there(&row, "after a write that changes its lists").await;
            for name in &names {
                let listed = rows.page(name, None, 10).await;
                assert!(listed.is_empty() || was_on.contains(name), "a row is on a list that it was never on");
            }
        }
    }
}
