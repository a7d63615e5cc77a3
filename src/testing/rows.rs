//! Rows that the kit makes up, calls on them, and what must be true after the calls. Each call panics with a
//! description.
//!
//! A store under test may hold other rows, so every rule reads only its own. Only a purge goes further: it removes all
//! rows that are due.

use std::iter;

use crate::base::clock::{Clock, SystemClock, Timestamp};
use crate::base::entropy::{Entropy, SystemEntropy};
use crate::base::id::{ClientId, Subject, letters_and_digits};
use crate::model::record::{Columns, Ended};
use crate::store::{Engine, Insertion, List, Lists, Purge, Replacement, Row, StoreError, Table, Write};
use crate::testing::at_once::{Meeting, at_once};

/// How many calls meet.
pub(super) const CALLERS: usize = 12;
/// How often each kind of meeting takes place on each table.
const ROUNDS: usize = 6;
/// More than any list of the kit holds.
const ALL: usize = 1000;
/// What an author must know whose list is a secondary index.
pub(super) const LISTS_DO_NOT_LAG: &str = "a purge index may lag, a list must not: a revocation would miss a grant";
/// Steps after which a purge should have finished.
const PATIENCE: usize = 10_000;

/// A time that no purge of the kit reaches, except those of the last purge, which has no end.
pub(super) const FAR: Timestamp = Timestamp::from_seconds(4_000_000_000);

/// Returns the time from which the rows of one purge may be removed, another one each time. It is after now, since a
/// store may remove past rows by the clock, and before [`FAR`].
pub(super) fn due() -> Timestamp {
    Timestamp::from_seconds(3_000_000_000 + u32::from_be_bytes(random()) % 900_000_000)
}

pub(super) fn now() -> Timestamp {
    SystemClock.now()
}

pub(super) const fn later(time: Timestamp, seconds: u32) -> Timestamp {
    Timestamp::from_seconds(time.seconds() + seconds)
}

pub(super) const fn earlier(time: Timestamp, seconds: u32) -> Timestamp {
    Timestamp::from_seconds(time.seconds() - seconds)
}

pub(super) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemEntropy.fill(&mut bytes);
    bytes
}

/// Returns letters and digits that no other call returns: the name of a list, for example.
pub(super) fn unique() -> String {
    letters_and_digits::<22>(&SystemEntropy)
}

/// Returns the next version of a row, with another record each time.
pub(super) fn next(row: &Write, due: Timestamp) -> Write {
    numbered(row, row.version.wrapping_add(1), due)
}

/// Returns the row with that version, with another record each time.
pub(super) fn numbered(row: &Write, version: u32, due: Timestamp) -> Write {
    Write { version, record: record(row.table, version), due: Some(due), due_moved: false, ..row.clone() }
}

/// Returns the next version, revoked: it may be removed from `due`, which may be sooner than before.
pub(super) fn ended(row: &Write, due: Timestamp) -> Write {
    let mut next = Write { due_moved: true, ..next(row, due) };
    next.columns.state = "revoked";
    next.columns.ended = Some(Ended { at: now(), why: "revoked_by_user" });
    next
}

/// Returns the row with another record.
pub(super) fn rival(row: &Write) -> Write {
    Write { record: record(row.table, row.version), ..row.clone() }
}

/// Bytes that no release could read as a record of the table: an engine never reads them. The text at the beginning is
/// for descriptions.
fn record(table: Table, version: u32) -> Vec<u8> {
    [format!("{} {version} {} ", table.as_str(), unique()).as_bytes(), &random::<16>()].concat()
}

/// Returns the version in a record; 0 if the kit did not write it.
pub(super) fn version_in(record: &[u8]) -> u32 {
    let mut words = record.split(|byte| *byte == b' ').filter_map(|word| str::from_utf8(word).ok());
    words.nth(1).and_then(|word| word.parse().ok()).unwrap_or_default()
}

/// Returns rows as a list gives them.
pub(super) fn as_listed<'w>(rows: impl IntoIterator<Item = &'w Write>) -> Vec<Row> {
    rows.into_iter().map(|row| Row::new(row.key.clone(), row.record.clone())).collect()
}

/// Describes what a store returned: the beginning of the record.
pub(super) fn shown(record: Option<&[u8]>) -> String {
    let Some(record) = record else { return "nothing".to_owned() };
    let text: String = record.escape_ascii().to_string().chars().take(60).collect();
    format!("\"{text}...\" ({} bytes)", record.len())
}

/// A table of a store under test.
#[derive(Debug)]
pub(super) struct Rows<'s, E> {
    store: &'s E,
    pub(super) table: Table,
}

impl<E> Clone for Rows<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Rows<'_, E> {}

/// Returns every table, except that of the last purge, which is a single row.
pub(super) fn tables<E: Engine>(store: &E) -> impl Iterator<Item = Rows<'_, E>> {
    let tables = Table::ALL.into_iter().filter(|table| *table != Table::LastPurge);
    tables.map(move |table| Rows { store, table })
}

/// Returns the table of the last purge.
pub(super) fn last_purge<E: Engine>(store: &E) -> Rows<'_, E> {
    Rows { store, table: Table::LastPurge }
}

/// Returns the tables whose rows are on lists.
pub(super) fn listed_tables<E: Engine>(store: &E) -> impl Iterator<Item = Rows<'_, E>> {
    tables(store).filter(|rows| rows.table.lists() != Lists::None)
}

/// Two handles on one table, and how their calls meet.
pub(super) struct Race<'s, E> {
    pub(super) meeting: Meeting,
    pub(super) store: Rows<'s, E>,
    pub(super) another: Rows<'s, E>,
}

impl<'s, E: Engine> Race<'s, E> {
    /// Returns the two handles in turn.
    pub(super) fn handles(&self) -> impl Iterator<Item = Rows<'s, E>> + use<'s, E> {
        [self.store, self.another].into_iter().cycle()
    }
}

/// Returns a race of each kind on every table.
pub(super) fn races<'s, E: Engine>(store: &'s E, another: &'s E) -> impl Iterator<Item = Race<'s, E>> {
    tables(store).flat_map(move |store| {
        let another = Rows { store: another, ..store };
        [Meeting::OneTask, Meeting::Threads].map(|meeting| Race { meeting, store, another })
    })
}

/// Returns many races of each kind, for what goes wrong only now and then.
pub(super) fn many_races<'s, E: Engine>(store: &'s E, another: &'s E) -> impl Iterator<Item = Race<'s, E>> {
    let again = |race: Race<'s, E>| iter::repeat_with(move || Race { ..race }).take(ROUNDS);
    races(store, another).flat_map(again)
}

impl<'s, E: Engine> Rows<'s, E> {
    /// Returns a row of version 1 under a new key, on the lists of `owner`, to be removed from `due`.
    ///
    /// The kit counts versions, so that its descriptions are readable; the server draws them at random, which
    /// `large_versions_are_compared` covers.
    pub(super) fn row(self, owner: &str, due: Timestamp) -> Write {
        self.row_under(self.new_key(), owner, due)
    }

    pub(super) fn row_under(self, key: Vec<u8>, owner: &str, due: Timestamp) -> Write {
        let Self { table, .. } = self;
        let lists = match table.lists() {
            Lists::None => Vec::new(),
            Lists::One => vec![owner.as_bytes().to_vec()],
            Lists::Many => vec![self.list_of(owner), format!("also:{owner}").into_bytes()],
        };
        let columns = Columns {
            client: ClientId::new("kit").ok(),
            // A store may find the one list of a row by this column.
            subject: (table.lists() != Lists::None).then(|| Subject::new(owner).ok()).flatten(),
            created: Some(now()),
            state: "held",
            ended: None,
        };
        let (version, due) = (1, Some(due));
        Write { table, key, version, record: record(table, version), lists, due, due_moved: false, columns }
    }

    /// Returns a row that is on no list.
    pub(super) fn unlisted(self, due: Timestamp) -> Write {
        let mut row = self.row("nobody", due);
        row.lists.clear();
        row.columns.subject = None;
        row
    }

    /// Returns a key that no other call returns. Client ids are text, and so are the ids of initial access tokens.
    pub(super) fn new_key(self) -> Vec<u8> {
        match self.table {
            Table::Applications | Table::InitialTokens => unique().into_bytes(),
            Table::Replays | Table::UserCodes => random::<32>().to_vec(),
            Table::ApplicationLogos
            | Table::Authorizations
            | Table::DeviceRequests
            | Table::Grants
            | Table::LastPurge
            | Table::PushedRequests => random::<16>().to_vec(),
        }
    }

    /// Returns whether keys are text.
    pub(super) fn has_text_keys(self) -> bool {
        matches!(self.table, Table::Applications | Table::InitialTokens)
    }

    /// Returns the name of the first list of that owner's rows.
    pub(super) fn list_of(self, owner: &str) -> Vec<u8> {
        if self.table.lists() == Lists::Many { format!("owner:{owner}").into_bytes() } else { owner.into() }
    }

    pub(super) async fn find(self, key: &[u8]) -> Option<Vec<u8>> {
        answer("find", self.store.find(self.table, key).await)
    }

    pub(super) async fn insert(self, row: &Write) -> Insertion {
        answer("insert", self.store.insert(row.clone()).await)
    }

    pub(super) async fn replace(self, version: u32, row: &Write) -> Replacement {
        answer("replace", self.store.replace(version, row.clone()).await)
    }

    pub(super) async fn confirm(self, row: &Write) -> Replacement {
        answer("confirm", self.store.confirm(row.clone()).await)
    }

    /// Returns a page of the list of that name.
    pub(super) async fn page(self, name: &[u8], after: Option<&[u8]>, limit: usize) -> Vec<Row> {
        let page = answer("list", self.store.list(&List::new(self.table, name), after, limit).await);
        assert!(page.len() <= limit, "a page of {limit} {:?} holds {} rows", self.table, page.len());
        page
    }

    /// Returns all rows of that owner, or nothing where rows are on no list.
    pub(super) async fn listed(self, owner: &str) -> Vec<Row> {
        if self.table.lists() == Lists::None {
            return Vec::new();
        }
        self.page(&self.list_of(owner), None, ALL).await
    }

    /// Fails unless the list of that owner has these rows and no others, as they are, in the order of their keys. Where
    /// rows are on no list, each is looked up.
    pub(super) async fn assert_listed(self, owner: &str, rows: &[Write], when: &str) {
        if self.table.lists() == Lists::None {
            for (row, found) in rows.iter().zip(self.find_all(rows).await) {
                assert!(found.as_ref() == Some(&row.record), "{when}: {} in place of {row:?}", shown(found.as_deref()));
            }
            return;
        }
        let mut expected = as_listed(rows);
        expected.sort_by(|one, other| one.key().cmp(other.key()));
        let found = self.listed(owner).await;
        let table = self.table;
        assert!(
            found == expected,
            "{when}: the list of {table:?} holds {} rows, not these {}",
            found.len(),
            rows.len()
        );
    }

    /// Inserts a row whose key is new.
    pub(super) async fn add(self, row: &Write) {
        assert_eq!(self.insert(row).await, Insertion::Inserted, "the only insert of {row:?}");
    }

    /// Inserts rows whose keys are new, all at once: a store on a server needs as long for all as for one.
    pub(super) async fn add_all(self, rows: &[Write]) {
        at_once(Meeting::OneTask, rows.iter().map(|row| self.add(row))).await;
    }

    pub(super) async fn find_all(self, rows: &[Write]) -> Vec<Option<Vec<u8>>> {
        at_once(Meeting::OneTask, rows.iter().map(|row| self.find(&row.key))).await
    }

    /// Replaces a row that no other caller writes.
    pub(super) async fn change(self, from: &Write, to: &Write) {
        let answer = self.replace(from.version, to).await;
        assert_eq!(answer, Replacement::Replaced, "the only replace of {from:?}");
    }

    /// Fails unless the row is found, and is on each of its lists, as it was written.
    pub(super) async fn assert_there(self, row: &Write, when: &str) {
        let found = self.find(&row.key).await;
        let is_there = found.as_ref() == Some(&row.record);
        assert!(is_there, "{when}: `find` returns {} in place of {row:?}", shown(found.as_deref()));
        for name in &row.lists {
            let listed = self.page(name, None, ALL).await;
            let own = listed.iter().find(|own| own.key() == row.key).map(Row::bytes);
            let is_there = own == Some(&row.record);
            assert!(is_there, "{when}: a list has {} in place of {row:?}; {LISTS_DO_NOT_LAG}", shown(own));
        }
    }

    /// Fails if the row is found or listed, in any version.
    pub(super) async fn assert_gone(self, row: &Write, when: &str) {
        let found = self.find(&row.key).await;
        assert!(found.is_none(), "{when}: there should be no row, `find` returns {}", shown(found.as_deref()));
        for name in &row.lists {
            let is_listed = self.page(name, None, ALL).await.iter().any(|own| own.key() == row.key);
            assert!(!is_listed, "{when}: there should be no row, it is still listed: {row:?}");
        }
    }

    /// Purges in steps until it is finished, and returns the number of rows removed.
    pub(super) async fn purge_all(self, now: Timestamp, limit: usize) -> usize {
        let mut removed = 0;
        for _ in 0..PATIENCE {
            let step = self.purge_step(now, limit).await;
            removed += step.removed();
            if step.is_finished() {
                return removed;
            }
        }
        never_ends(PATIENCE)
    }

    pub(super) async fn purge_step(self, now: Timestamp, limit: usize) -> Purge {
        let step = answer("purge", self.store.purge(self.table, now, limit).await);
        assert!(step.removed() <= limit, "a step of a purge with limit {limit} removed {} rows", step.removed());
        step
    }

    /// Returns a time at which nothing is due, nor in so many seconds after it.
    pub(super) async fn emptied(self, span: u32) -> Timestamp {
        let end = due();
        self.purge_all(later(end, span), 1000).await;
        end
    }
}

#[expect(clippy::panic, reason = "a rule fails by panicking, as every test does")]
pub(super) fn never_ends(steps: usize) -> ! {
    panic!("a purge did not finish within {steps} steps")
}

/// Unwraps the answer of a store, which must not fail.
#[expect(clippy::panic, reason = "a rule fails by panicking, as every test does")]
#[track_caller]
pub(super) fn answer<T>(call: &str, answered: Result<T, StoreError>) -> T {
    match answered {
        Ok(answer) => answer,
        Err(error) => panic!("{call} failed where it should answer: {error:?}"),
    }
}
