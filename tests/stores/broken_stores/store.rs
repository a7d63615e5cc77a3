//! A store with at most one fault.

use std::collections::BTreeMap;
use std::future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use grantor::store::{
    ClientStore, Engine, Grant, Insertion, List, Purge, Record as _, Replacement, Row as Listed, Store, StoreError,
    Table, Write,
};
use grantor::{Client, ClientId, Clock, SystemClock, Timestamp};

use crate::broken_stores::store::Fault::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Sound,
    // Keys.
    KeysInAnyCase,
    KeysOf15Bytes,
    KeysWithoutTrailingBlanks,
    KindsShareTheirKeys,
    // Writes.
    InsertLooksThenWrites,
    InsertOverRevoked,
    InsertOverwrites,
    InsertSaysExistsAndOverwrites,
    RecordsEndAt(usize),
    RecordsEndAtNul,
    OlderVersionsReplace,
    ReplaceInsertsMissingRows,
    ReplaceLooksThenWrites,
    RevocationsAreForgotten,
    VersionsHave31Bits,
    ConfirmComparesVersionsAlone,
    ConfirmHasOneWinner,
    ConfirmLooksThenWrites,
    ConfirmRaisesTheVersion,
    // Look-ups.
    FindForgets(Table),
    FindLags,
    FindLagsNowAndThen,
    FindReadsEveryRow,
    // Lists.
    KeysSortAsSigned,
    ListLags,
    ListLeavesOutRevoked,
    ListLeavesOutTheUnreadable,
    ListReadsEveryRow,
    ListsAreNotMoved,
    ListsAreWildcards,
    ListsEndAtNul,
    ListsInAnyCase,
    ListsOf254Bytes,
    ListsWithoutTrailingBlanks,
    NoListIsNull,
    PageEndsAtAMebibyte,
    PageIsCutBeforeItIsFiltered,
    PageNeedsItsStart,
    PageRepeatsItsStart,
    PurgedEntriesFillPages,
    // Purges.
    PurgeASecondEarly,
    PurgeASecondLate,
    PurgeByTheInsertedEnd,
    PurgeCountsWhatOthersRemoved,
    PurgeFailsAtTheUnreadable,
    PurgeFinishesAtOnce,
    PurgeFinishesWhenItOnlyMovedRows,
    PurgeIgnoresItsLimit,
    PurgeIsUnconditional,
    PurgeKeepsTheUnreadable,
    PurgeNeverFinishes,
    PurgeReadsEveryRow,
    PurgeRemovesTheUnreadable,
    PurgeRemovesWhatHasNoEnd,
    PurgeSparesRevoked,
    PurgeSparesRowsOnNoList,
    PurgeWalksOverTheLiving,
    // An engine that removes rows by its own clock.
    ExpiresEarly,
    // A purge index that follows the writes; see `lagging`.
    PurgeIndexLags,
}

type Key = (Table, Vec<u8>);
type Rows = BTreeMap<Key, Row>;

/// A store with a fault. Clones share their contents.
#[derive(Clone, Debug)]
pub(crate) struct Broken {
    fault: Fault,
    rows: Arc<Mutex<Rows>>,
    rows_read: Arc<AtomicU64>,
    /// Whether the purge index is behind the rows.
    is_behind: Arc<AtomicBool>,
}

#[derive(Clone, Debug)]
struct Row {
    bytes: Vec<u8>,
    /// What was stored before the last write.
    before: Option<Vec<u8>>,
    version: u32,
    lists: Vec<Vec<u8>>,
    due: Option<Timestamp>,
    inserted_due: Option<Timestamp>,
    /// When the purge reads the row.
    indexed: Option<Timestamp>,
    is_revoked: bool,
    /// Purged, but still listed.
    is_purged: bool,
    reads: u32,
    confirms: u32,
}

impl Row {
    fn new(write: &Write) -> Self {
        let due = write.due;
        Self {
            bytes: write.record.clone(),
            before: None,
            version: write.version,
            lists: write.lists.clone(),
            due,
            inserted_due: due,
            indexed: due,
            is_revoked: write.columns.ended.is_some(),
            is_purged: false,
            reads: 0,
            confirms: 0,
        }
    }
}

impl Broken {
    pub(crate) fn with(fault: Fault) -> Self {
        let (rows, rows_read, is_behind) = Default::default();
        Self { fault, rows, rows_read, is_behind }
    }

    /// Lets the purge index catch up.
    pub(crate) async fn settle(store: Self) {
        store.is_behind.store(false, Ordering::SeqCst);
    }

    /// What a database reports of its work.
    pub(crate) fn rows_read(&self) -> u64 {
        self.rows_read.load(Ordering::SeqCst)
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap()
    }

    fn key(&self, table: Table, bytes: &[u8]) -> Key {
        let bytes = match self.fault {
            KeysInAnyCase => bytes.to_ascii_lowercase(),
            KeysOf15Bytes => bytes.iter().copied().take(15).collect(),
            KeysWithoutTrailingBlanks => bytes.trim_ascii_end().to_vec(),
            _ => bytes.to_vec(),
        };
        (if self.has(KindsShareTheirKeys) { Table::Grants } else { table }, bytes)
    }

    /// Whether a row prevents the insert of another.
    fn is_there(&self, row: &Row) -> bool {
        let gives_way = self.has(InsertOverRevoked) && row.is_revoked;
        !(row.is_purged || self.has_expired(row) || gives_way)
    }

    /// Whether the engine has removed the row by its own clock.
    fn has_expired(&self, row: &Row) -> bool {
        let now = SystemClock.now();
        match self.fault {
            ExpiresEarly => row.due.is_some_and(|due| due <= now.plus(Duration::from_secs(1))),
            PurgeByTheInsertedEnd => row.inserted_due.is_some_and(|due| due <= now),
            _ => false,
        }
    }

    /// Whether a row is on a list, by the name of which it is asked.
    fn is_on(&self, row: &Row, asked: &[u8]) -> bool {
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let is_asked = |own: &Vec<u8>| match self.fault {
            ListsInAnyCase => text(own).to_lowercase() == text(asked).to_lowercase(),
            ListsWithoutTrailingBlanks => text(own).trim_end_matches(' ') == text(asked).trim_end_matches(' '),
            ListsEndAtNul => own.split(|byte| *byte == 0).next() == asked.split(|byte| *byte == 0).next(),
            ListsAreWildcards => own == asked || asked.strip_suffix(b"%").is_some_and(|asked| own.starts_with(asked)),
            ListsOf254Bytes => own.iter().take(254).eq(asked.iter().take(254)),
            _ => own == asked,
        };
        row.lists.iter().any(is_asked) || self.has(NoListIsNull) && row.lists.is_empty() && asked == b"null"
    }

    /// Whether a list leaves the row out.
    fn leaves_out(&self, row: &Row) -> bool {
        match self.fault {
            ListLags => row.reads == 0,
            ListLeavesOutRevoked => row.is_revoked,
            ListLeavesOutTheUnreadable => !is_readable(&row.bytes),
            PurgedEntriesFillPages => false,
            _ => row.is_purged,
        }
    }

    fn count(&self, rows: usize, fault: Fault, all: usize) {
        let read = if self.has(fault) { all } else { rows };
        self.rows_read.fetch_add(read.try_into().unwrap(), Ordering::SeqCst);
    }
}

/// An engine must not read records; the kit writes none that a release could read.
fn is_readable(record: &[u8]) -> bool {
    Grant::decode(record).is_ok()
}

impl Store for Broken {}

impl Engine for Broken {
    async fn find(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let mut rows = self.rows();
        self.count(1, FindReadsEveryRow, rows.len());
        let found = rows.get_mut(&self.key(table, key)).filter(|row| !row.is_purged && !self.has_expired(row));
        let Some(row) = found.filter(|_| !self.has(FindForgets(table))) else { return Ok(None) };
        row.reads += 1;
        let lags = self.has(FindLags) || self.has(FindLagsNowAndThen) && row.reads.is_multiple_of(7);
        Ok(Some(row.before.as_ref().filter(|_| lags).unwrap_or(&row.bytes).clone()))
    }

    async fn insert(&self, write: Write) -> Result<Insertion, StoreError> {
        let (key, mut row) = (self.key(write.table, &write.key), Row::new(&write));
        if let RecordsEndAt(end) = self.fault
            && row.bytes.len() > end
        {
            return Err(StoreError::permanent("the value is too large"));
        }
        if self.has(RecordsEndAtNul) {
            row.bytes.truncate(row.bytes.iter().position(|byte| *byte == 0).unwrap_or(row.bytes.len()));
        }
        self.is_behind.store(true, Ordering::SeqCst);
        let seen = self.rows().get(&key).is_some_and(|row| self.is_there(row));
        if self.has(InsertLooksThenWrites) {
            wait().await;
        }
        let mut rows = self.rows();
        let exists = match self.fault {
            InsertLooksThenWrites => seen,
            InsertOverwrites => false,
            _ => rows.get(&key).is_some_and(|row| self.is_there(row)),
        };
        if !exists || self.has(InsertSaysExistsAndOverwrites) {
            rows.insert(key, row);
        }
        Ok(if exists { Insertion::Exists } else { Insertion::Inserted })
    }

    async fn replace(&self, version: u32, write: Write) -> Result<Replacement, StoreError> {
        let (key, next) = (self.key(write.table, &write.key), Row::new(&write));
        self.is_behind.store(true, Ordering::SeqCst);
        let version_of = |rows: &Rows| rows.get(&key).filter(|row| !row.is_purged).map(|row| row.version);
        let seen = version_of(&self.rows());
        if self.has(ReplaceLooksThenWrites) {
            wait().await;
        }
        let mut rows = self.rows();
        let own = if self.has(ReplaceLooksThenWrites) { seen } else { version_of(&rows) };
        let may_replace = own.is_some_and(|own| match self.fault {
            OlderVersionsReplace => version <= own,
            VersionsHave31Bits => own << 1 == version << 1,
            _ => own == version,
        });
        if own.is_none() && self.has(ReplaceInsertsMissingRows) {
            rows.insert(key, next);
            return Ok(Replacement::Replaced);
        }
        let Some(row) = rows.get_mut(&key).filter(|_| may_replace) else { return Ok(Replacement::Lost) };
        let before = row.bytes.clone();
        let lists = if self.has(ListsAreNotMoved) { row.lists.clone() } else { next.lists };
        // What is due sooner than before is moved in the purge index.
        let indexed = if write.due_moved || row.indexed.is_none() { next.due } else { row.indexed };
        let bytes = if self.has(RevocationsAreForgotten) && next.is_revoked { before.clone() } else { next.bytes };
        *row = Row {
            bytes,
            before: Some(before),
            lists,
            indexed,
            inserted_due: row.inserted_due,
            reads: row.reads,
            ..next
        };
        Ok(Replacement::Replaced)
    }

    async fn confirm(&self, write: Write) -> Result<Replacement, StoreError> {
        let (key, own) = (self.key(write.table, &write.key), Row::new(&write));
        let is_same = |row: &&mut Row| {
            let same_bytes = row.bytes == own.bytes || self.has(ConfirmComparesVersionsAlone);
            !row.is_purged && row.version == own.version && same_bytes
        };
        let seen = self.rows().get_mut(&key).filter(is_same).map(|row| row.confirms);
        if matches!(self.fault, ConfirmHasOneWinner | ConfirmLooksThenWrites) {
            wait().await;
        }
        let mut rows = self.rows();
        let row = match self.fault {
            ConfirmLooksThenWrites if seen.is_some() => rows.get_mut(&key),
            // Each write counts as a revision, even with the same bytes.
            ConfirmHasOneWinner => rows.get_mut(&key).filter(is_same).filter(|row| Some(row.confirms) == seen),
            _ => rows.get_mut(&key).filter(is_same),
        };
        let Some(row) = row else { return Ok(Replacement::Lost) };
        row.confirms += 1;
        row.version = own.version + u32::from(self.has(ConfirmRaisesTheVersion));
        row.bytes = own.bytes;
        Ok(Replacement::Replaced)
    }

    async fn list(&self, list: &List, start: Option<&[u8]>, limit: usize) -> Result<Vec<Listed>, StoreError> {
        let rows = self.rows();
        let is_after =
            |key: &[u8]| start.is_none_or(|start| key > start || self.has(PageRepeatsItsStart) && key == start);
        let mut shown: Vec<_> = rows.iter().filter(|((table, key), _)| *table == list.table && is_after(key)).collect();
        if self.has(PageNeedsItsStart) && start.is_some_and(|start| !rows.contains_key(&(list.table, start.to_vec()))) {
            shown.clear();
        }
        if self.has(KeysSortAsSigned) {
            shown.sort_by_key(|((_, key), _)| key.iter().map(|byte| byte ^ 0x80).collect::<Vec<_>>());
        }
        if self.has(PageIsCutBeforeItIsFiltered) {
            shown.truncate(limit);
        }
        shown.retain(|(_, row)| self.is_on(row, &list.name) && !self.leaves_out(row));
        shown.truncate(limit);
        shown.retain(|(_, row)| !row.is_purged);
        if self.has(PageEndsAtAMebibyte) {
            let mut bytes = 0;
            shown.retain(|(_, row)| {
                bytes += row.bytes.len();
                bytes <= 1 << 20
            });
        }
        self.count(shown.len(), ListReadsEveryRow, rows.len());
        Ok(shown.into_iter().map(|((_, key), row)| Listed::new(key.clone(), row.bytes.clone())).collect())
    }

    async fn purge(&self, table: Table, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        if self.has(PurgeIndexLags) && self.is_behind.load(Ordering::SeqCst) {
            return Ok(Purge::new(0).finished());
        }
        let now = match self.fault {
            PurgeASecondEarly => now.plus(Duration::from_secs(1)),
            PurgeASecondLate => Timestamp::from_seconds(now.seconds().saturating_sub(1)),
            _ => now,
        };
        let limit = if self.has(PurgeIgnoresItsLimit) { usize::MAX } else { limit };
        let is_due = |row: &Row, time: Option<Timestamp>| match self.fault {
            PurgeRemovesWhatHasNoEnd if row.due.is_none() => true,
            PurgeByTheInsertedEnd => row.inserted_due.is_some_and(|due| due <= now),
            _ => time.is_some_and(|time| time <= now),
        };
        let is_spared = |row: &Row| {
            self.has(PurgeSparesRevoked) && row.is_revoked || self.has(PurgeSparesRowsOnNoList) && row.lists.is_empty()
        };
        let due = {
            let rows = self.rows();
            let walked = rows.iter().filter(|((own, _), row)| *own == table && !row.is_purged);
            let walked = walked.take(if self.has(PurgeWalksOverTheLiving) { limit } else { usize::MAX });
            let due = walked.filter(|(_, row)| is_due(row, row.indexed) && !is_spared(row));
            let mut due: Vec<_> = due.map(|(key, row)| (row.indexed, key.clone(), row.version)).collect();
            due.sort();
            due.truncate(limit);
            self.count(due.len(), PurgeReadsEveryRow, rows.len());
            due
        };
        if matches!(self.fault, PurgeIsUnconditional | PurgeCountsWhatOthersRemoved) {
            wait().await;
        }
        let mut removed = 0;
        for (_, key, version) in &due {
            // One statement for each row; the statements of one step are not one transaction.
            let mut rows = self.rows();
            let Some(row) = rows.get_mut(key).filter(|row| !row.is_purged) else {
                removed += usize::from(self.has(PurgeCountsWhatOthersRemoved));
                continue;
            };
            match self.fault {
                PurgeFailsAtTheUnreadable if !is_readable(&row.bytes) => {
                    return Err(StoreError::permanent("unreadable"));
                }
                PurgeKeepsTheUnreadable if !is_readable(&row.bytes) => row.due = None,
                PurgeRemovesTheUnreadable if !is_readable(&row.bytes) => row.due = Some(now),
                PurgeIsUnconditional if row.version != *version => row.due = Some(now),
                _ => {}
            }
            if !is_due(row, row.due) {
                row.indexed = row.due;
                continue;
            }
            removed += 1;
            if self.has(PurgedEntriesFillPages) {
                row.is_purged = true;
            } else {
                rows.remove(key);
            }
        }
        let is_finished = match self.fault {
            PurgeNeverFinishes => false,
            PurgeFinishesAtOnce => true,
            PurgeFinishesWhenItOnlyMovedRows => due.len() < limit || removed == 0 && limit > 0,
            _ => due.len() < limit,
        };
        Ok(if is_finished { Purge::new(removed).finished() } else { Purge::new(removed) })
    }
}

/// A directory of clients with a fault, or none.
#[derive(Clone, Debug)]
pub(crate) struct Directory {
    fault: DirectoryFault,
    clients: Arc<Mutex<BTreeMap<ClientId, Arc<Client>>>>,
    cache: Arc<Mutex<BTreeMap<ClientId, Arc<Client>>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DirectoryFault {
    Sound,
    ClientMixesVersions,
    CurrentClientIsCached,
    UnknownIdsHaveAClient,
}

impl Directory {
    pub(crate) fn with(fault: DirectoryFault) -> Self {
        Self { fault, clients: Arc::default(), cache: Arc::default() }
    }

    pub(crate) fn write(&self, client: Arc<Client>) -> future::Ready<()> {
        self.clients.lock().unwrap().insert(client.id().clone(), client);
        future::ready(())
    }
}

#[async_trait]
impl ClientStore for Directory {
    /// Answers from the cache what it has answered before.
    async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        let nobody = || Arc::new(Client::builder(id.clone()).build());
        let Some(written) = self.clients.lock().unwrap().get(id).cloned() else {
            return Ok((self.fault == DirectoryFault::UnknownIdsHaveAClient).then(nobody));
        };
        if self.fault == DirectoryFault::ClientMixesVersions {
            return Ok(Some(nobody()));
        }
        Ok(Some(self.cache.lock().unwrap().entry(id.clone()).or_insert(written).clone()))
    }

    async fn current_client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        if self.fault == DirectoryFault::Sound {
            return Ok(self.clients.lock().unwrap().get(id).cloned());
        }
        self.client(id).await
    }
}

/// Yields, like a store that waits for its database between two statements.
async fn wait() {
    let mut waited = false;
    future::poll_fn(|context| {
        context.waker().wake_by_ref();
        if std::mem::replace(&mut waited, true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
