//! A store of grants with at most one fault.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use grantor::id::GrantId;
use grantor::store::{DecodeError, Record, RecordStore, Store};
use grantor::store::{Grant, Insertion, Page, Purge, Replacement, StoreError};
use grantor::testing::records;
use grantor::{Clock, Subject, SystemClock, Timestamp};

use crate::broken_stores::Noticed::{self, AmongOthersBy, By};
use crate::broken_stores::wait;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    // Writes.
    InsertOverwrites,
    InsertSaysExistsAndOverwrites,
    InsertLooksThenWrites,
    InsertLooksThenWritesUnlocked,
    InsertOverRevoked,
    IdsInAnyCase,
    ReplaceLooksThenWrites,
    ReplaceIgnoresVersions,
    ReplaceAcceptsOlderVersions,
    ReplaceInsertsMissingRows,
    VersionsHave31Bits,
    VersionsOnlyGrow,
    LostReplaceWrites,
    // Confirms.
    ConfirmRaisesTheVersion,
    ConfirmComparesVersionsAlone,
    ConfirmHasOneWinner,
    ConfirmLooksThenWrites,
    // Look-ups.
    FindReadsEveryRow,
    ListReadsEveryRow,
    PurgeReadsEveryRow,
    FindLags,
    FindLagsNowAndThen,
    RecordsEndAt64KiB,
    RevocationsAreForgotten,
    // Lists.
    ListLags,
    ListShowsTheInsertedVersion,
    ListLeavesOutRevoked,
    SubjectsInAnyCase,
    SubjectsWithoutTrailingBlanks,
    SubjectsEndAtNul,
    SubjectsAreWildcards,
    SubjectsOf254Bytes,
    IdsSortAsText,
    PageRepeatsItsStart,
    PageIsCutBeforeItIsFiltered,
    PageNeedsItsStart,
    PageZeroIsEmpty,
    PageEndsAtAMebibyte,
    PurgedEntriesFillPages,
    PurgedEntriesAreBelieved,
    NoSubjectIsNull,
    // Purges.
    PurgeASecondEarly,
    PurgeASecondLate,
    PurgeByTheInsertedEnd,
    PurgeByTheInsertedEndForEver,
    PurgeIgnoresItsLimit,
    PurgeNeverFinishes,
    PurgeFinishesAtOnce,
    PurgeWalksOverTheLiving,
    PurgeSparesRevoked,
    PurgeSparesRowsWithoutSubject,
    PurgeForgetsTheList,
    PurgeIsUnconditional,
    PurgeIsUnconditionalUnlocked,
    PurgeFinishesWhenItRemovedNothing,
    PurgeFinishesWhenItOnlyMovedRows,
    PurgeCountsWhatOthersRemoved,
    // Records that cannot be read.
    ListLeavesOutTheUnreadable,
    ListNamesNothing,
    PurgeFailsAtTheUnreadable,
    PurgeStaysAtTheUnreadable,
    PurgeRemovesTheUnreadable,
    PurgeKeepsTheUnreadable,
    // Rows that an engine removes by its own clock.
    ExpiresEarly,
    ExpiresByTheInsertedEnd,
}

#[derive(Debug)]
pub(crate) struct Grants {
    fault: Fault,
    rows: Mutex<BTreeMap<GrantId, Row>>,
    rows_read: AtomicU64,
}

#[derive(Clone, Debug)]
struct Row {
    record: Arc<Grant>,
    /// As it was inserted, and as it was before the last write.
    inserted: Arc<Grant>,
    before: Option<Arc<Grant>>,
    looks: u32,
    /// The purge index: when the purge reads the row.
    purge_check: Timestamp,
    /// Whether its layout is one that no release reads.
    spoiled: bool,
    /// Purged, but still listed.
    ghost: bool,
    /// The list that a row of this id was on before it was purged.
    former: Option<Subject>,
    /// Of confirms that began and did not end.
    confirms: u32,
}

impl Grants {
    pub(crate) fn with(fault: Fault) -> Self {
        Self { fault, rows: Mutex::default(), rows_read: AtomicU64::new(0) }
    }

    /// Makes the record one that a later release wrote.
    pub(crate) fn spoil(&self, id: [u8; 16]) {
        self.rows().get_mut(&GrantId::from_bytes(id)).unwrap().spoiled = true;
    }

    /// What a database reports of its work.
    pub(crate) fn rows_read(&self) -> u64 {
        self.rows_read.load(Ordering::SeqCst)
    }

    fn rows(&self) -> MutexGuard<'_, BTreeMap<GrantId, Row>> {
        self.rows.lock().unwrap()
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn count_reads(&self, rows: usize, fault: Fault, all: usize) {
        let read = if self.has(fault) { all } else { rows };
        self.rows_read.fetch_add(read.try_into().unwrap(), Ordering::SeqCst);
    }

    fn row(&self, record: Arc<Grant>) -> Row {
        let purge_check = Timestamp::default();
        let inserted = record.clone();
        let mut row = Row {
            inserted,
            record,
            before: None,
            looks: 0,
            purge_check,
            spoiled: false,
            ghost: false,
            former: None,
            confirms: 0,
        };
        row.purge_check = self.due(&row);
        row
    }

    fn key(&self, id: &GrantId) -> GrantId {
        let text = id.to_string();
        if self.has(Fault::IdsInAnyCase) { (text[..21].to_lowercase() + &text[21..]).parse().unwrap() } else { *id }
    }

    /// Returns the record as it is read from disk.
    fn written(&self, record: &Arc<Grant>) -> Result<Arc<Grant>, StoreError> {
        let mut bytes = record.encode();
        if self.has(Fault::RecordsEndAt64KiB) {
            bytes.truncate(1 << 16);
        }
        Ok(Arc::new(Grant::decode(&bytes)?))
    }

    fn may_replace(&self, own: u32, version: u32, next: u32) -> bool {
        match self.fault {
            Fault::ReplaceIgnoresVersions => true,
            Fault::ReplaceAcceptsOlderVersions => version <= own,
            Fault::VersionsHave31Bits => own << 1 == version << 1,
            Fault::VersionsOnlyGrow => own == version && own < next,
            _ => own == version,
        }
    }

    fn is_of(&self, record: &Grant, asked: &str) -> bool {
        let Some(own) = record.subject() else {
            return self.has(Fault::NoSubjectIsNull) && asked == "null";
        };
        let own = own.as_str();
        match self.fault {
            Fault::SubjectsInAnyCase => own.to_lowercase() == asked.to_lowercase(),
            Fault::SubjectsWithoutTrailingBlanks => own.trim_end_matches(' ') == asked.trim_end_matches(' '),
            Fault::SubjectsEndAtNul => own.split('\0').next() == asked.split('\0').next(),
            Fault::SubjectsAreWildcards => own == asked || asked.strip_suffix('%').is_some_and(|p| own.starts_with(p)),
            Fault::SubjectsOf254Bytes => own.bytes().take(254).eq(asked.bytes().take(254)),
            _ => own == asked,
        }
    }

    /// Whether a row with that id prevents the insertion of another.
    fn is_there(&self, row: &Row) -> bool {
        let is_free = self.has(Fault::InsertOverRevoked) && row.record.revoked().is_some();
        !row.ghost && !is_free
    }

    /// Whether the engine has removed the row by its own clock.
    fn has_expired(&self, row: &Row) -> bool {
        let now = SystemClock.now();
        match self.fault {
            Fault::ExpiresEarly => row.record.purge_after().unwrap() <= Timestamp::from_seconds(now.seconds() + 1),
            Fault::ExpiresByTheInsertedEnd => row.inserted.purge_after().unwrap() <= now,
            _ => false,
        }
    }

    fn due(&self, row: &Row) -> Timestamp {
        let end = match self.fault {
            Fault::PurgeByTheInsertedEnd => row.inserted.purge_after().unwrap().min(row.record.purge_after().unwrap()),
            Fault::PurgeByTheInsertedEndForEver if row.record.version() > 1 => Timestamp::from_seconds(u32::MAX),
            _ => row.record.purge_after().unwrap(),
        };
        match self.fault {
            Fault::PurgeASecondEarly => Timestamp::from_seconds(end.seconds() - 1),
            Fault::PurgeASecondLate => Timestamp::from_seconds(end.seconds() + 1),
            _ => end,
        }
    }
}

impl Store for Grants {}

#[async_trait]
impl RecordStore<Grant> for Grants {
    async fn find(&self, id: &GrantId) -> Result<Option<Arc<Grant>>, StoreError> {
        let mut rows = self.rows();
        self.count_reads(1, Fault::FindReadsEveryRow, rows.len());
        let found = rows.get_mut(&self.key(id)).filter(|row| !row.ghost && !self.has_expired(row));
        let Some(row) = found else { return Ok(None) };
        if row.spoiled {
            return Err(StoreError::unreadable(id.as_bytes(), DecodeError::UnknownLayout));
        }
        row.looks += 1;
        let old = match self.fault {
            Fault::FindLags => row.before.clone(),
            Fault::FindLagsNowAndThen if row.looks.is_multiple_of(7) => row.before.clone(),
            _ => None,
        };
        Ok(Some(old.unwrap_or_else(|| row.record.clone())))
    }

    async fn insert(&self, record: Arc<Grant>) -> Result<Insertion, StoreError> {
        let record = self.written(&record)?;
        let id = self.key(&record.id());
        let mut row = self.row(record);
        row.former = self.rows().get(&id).and_then(|row| row.inserted.subject().cloned());
        let exists = self.rows().get(&id).is_some_and(|row| self.is_there(row));
        match self.fault {
            Fault::InsertLooksThenWrites => wait().await,
            Fault::InsertLooksThenWritesUnlocked => thread::sleep(Duration::from_millis(1)),
            _ => {}
        }
        match self.fault {
            Fault::InsertOverwrites => drop(self.rows().insert(id, row)),
            Fault::InsertSaysExistsAndOverwrites => {
                return Ok(if self.rows().insert(id, row).is_some() { Insertion::Exists } else { Insertion::Inserted });
            }
            Fault::InsertLooksThenWrites | Fault::InsertLooksThenWritesUnlocked if exists => {
                return Ok(Insertion::Exists);
            }
            Fault::InsertLooksThenWrites | Fault::InsertLooksThenWritesUnlocked => drop(self.rows().insert(id, row)),
            _ => {
                let mut rows = self.rows();
                if rows.get(&id).is_some_and(|row| self.is_there(row)) {
                    return Ok(Insertion::Exists);
                }
                rows.insert(id, row);
            }
        }
        Ok(Insertion::Inserted)
    }

    async fn replace(&self, version: u32, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        let record = self.written(&record)?;
        let id = self.key(&record.id());
        let own = self.rows().get(&id).filter(|row| !row.ghost).map(|row| row.record.version());
        if self.has(Fault::ReplaceLooksThenWrites) {
            wait().await;
        }
        let mut rows = self.rows();
        let own = if self.has(Fault::ReplaceLooksThenWrites) {
            own
        } else {
            rows.get(&id).filter(|row| !row.ghost).map(|row| row.record.version())
        };
        let Some(own) = own else {
            if self.has(Fault::ReplaceInsertsMissingRows) {
                rows.insert(id, self.row(record));
                return Ok(Replacement::Replaced);
            }
            return Ok(Replacement::Lost);
        };
        let Some(row) = rows.get_mut(&id) else { return Ok(Replacement::Lost) };
        if !self.may_replace(own, version, record.version()) {
            if self.has(Fault::LostReplaceWrites) {
                row.record = record;
            }
            return Ok(Replacement::Lost);
        }
        let revoked = self.has(Fault::RevocationsAreForgotten) && record.revoked().is_some();
        row.before = Some(row.record.clone());
        if !revoked {
            // A revoked grant is due earlier than before.
            if record.revoked().is_some() {
                row.purge_check = row.purge_check.min(record.purge_after().unwrap());
            }
            row.record = record;
        }
        Ok(Replacement::Replaced)
    }

    async fn confirm(&self, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        let id = self.key(&record.id());
        let is_same = |row: &Row| match self.fault {
            Fault::ConfirmComparesVersionsAlone => row.record.version() == record.version(),
            _ => row.record == record,
        };
        let waits = matches!(self.fault, Fault::ConfirmHasOneWinner | Fault::ConfirmLooksThenWrites);
        let confirms = {
            let mut rows = self.rows();
            let Some(row) = rows.get_mut(&id).filter(|row| !row.ghost && is_same(row)) else {
                return Ok(Replacement::Lost);
            };
            row.confirms
        };
        if waits {
            wait().await;
        }
        let mut rows = self.rows();
        let Some(row) = rows.get_mut(&id) else { return Ok(Replacement::Lost) };
        match self.fault {
            // Each write counts as a revision, even with the same bytes.
            Fault::ConfirmHasOneWinner if row.confirms != confirms => return Ok(Replacement::Lost),
            Fault::ConfirmRaisesTheVersion => {
                row.record = Arc::new(records::refreshed(&record, record.purge_after().unwrap()));
                return Ok(Replacement::Replaced);
            }
            Fault::ConfirmLooksThenWrites => {}
            _ if !is_same(row) => return Ok(Replacement::Lost),
            _ => {}
        }
        row.confirms += 1;
        row.record = record;
        Ok(Replacement::Replaced)
    }

    async fn list(&self, list: &str, page: Page<GrantId>) -> Result<Vec<Arc<Grant>>, StoreError> {
        let rows = self.rows();
        let mut ids: Vec<_> = rows.keys().copied().collect();
        if self.has(Fault::IdsSortAsText) {
            ids.sort_by_key(GrantId::to_string);
        }
        let start = page.start();
        match self.fault {
            Fault::PageRepeatsItsStart => ids.retain(|id| start.is_none_or(|start| id >= start)),
            Fault::IdsSortAsText => ids.retain(|id| start.is_none_or(|start| id.to_string() > start.to_string())),
            Fault::PageNeedsItsStart if start.is_some_and(|start| !rows.contains_key(start)) => ids.clear(),
            _ => ids.retain(|id| page.admits(id)),
        }
        let limit = if self.has(Fault::PageZeroIsEmpty) && page == Page::first(0) { 0 } else { page.limit() };
        if self.has(Fault::PageIsCutBeforeItIsFiltered) {
            ids.truncate(limit);
        }
        let believed = |row: &Row| {
            self.has(Fault::PurgedEntriesAreBelieved)
                && row.former.as_ref().is_some_and(|former| former.as_str() == list)
        };
        let own = ids.iter().map(|id| &rows[id]).filter(|row| believed(row) || self.is_of(&row.record, list));
        let own = own.filter(|row| !(self.has(Fault::PurgedEntriesAreBelieved) && row.ghost));
        let own = own.filter(|row| !(self.has(Fault::ListLeavesOutRevoked) && row.record.revoked().is_some()));
        let own = own.filter(|row| !(self.has(Fault::ListLags) && row.looks == 0));
        let own = own.filter(|row| !(self.has(Fault::ListLeavesOutTheUnreadable) && row.spoiled));
        let mut shown: Vec<_> = own.take(limit).collect();
        match self.fault {
            Fault::PurgedEntriesFillPages => shown.retain(|row| !row.ghost),
            Fault::PageEndsAtAMebibyte => {
                let mut bytes = 0;
                shown.retain(|row| {
                    bytes += row.record.encode().len();
                    bytes <= 1 << 20
                });
            }
            _ => {}
        }
        self.count_reads(shown.len(), Fault::ListReadsEveryRow, rows.len());
        let read = |row: &&Row| match self.fault {
            Fault::ListNamesNothing if row.spoiled => Err(DecodeError::UnknownLayout.into()),
            _ if row.spoiled => Err(StoreError::unreadable(row.record.id().as_bytes(), DecodeError::UnknownLayout)),
            Fault::ListShowsTheInsertedVersion => Ok(row.inserted.clone()),
            _ => Ok(row.record.clone()),
        };
        shown.iter().map(read).collect()
    }

    async fn purge(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        let limit = if self.has(Fault::PurgeIgnoresItsLimit) { usize::MAX } else { limit };
        let due: Vec<_> = {
            let rows = self.rows();
            let all = rows.iter().filter(|(_, row)| !row.ghost);
            let walked = all.take(if self.has(Fault::PurgeWalksOverTheLiving) { limit } else { usize::MAX });
            let due = walked.filter(|(_, row)| row.purge_check <= now);
            let due = due.filter(|(_, row)| match self.fault {
                Fault::PurgeSparesRevoked => row.record.revoked().is_none(),
                Fault::PurgeSparesRowsWithoutSubject => row.record.subject().is_some(),
                _ => true,
            });
            let mut due: Vec<_> = due.map(|(id, row)| (row.purge_check, *id, row.record.version())).collect();
            due.sort();
            due.truncate(limit);
            self.count_reads(due.len(), Fault::PurgeReadsEveryRow, rows.len());
            due
        };
        if matches!(self.fault, Fault::PurgeIsUnconditional | Fault::PurgeCountsWhatOthersRemoved) {
            wait().await;
        }
        if self.has(Fault::PurgeIsUnconditionalUnlocked) {
            thread::sleep(Duration::from_micros(10));
        }
        let mut removed = 0;
        for (_, id, version) in &due {
            // One statement for each row; the statements of one step are not one transaction.
            let mut rows = self.rows();
            let Some(row) = rows.get_mut(id).filter(|row| !row.ghost) else {
                removed += usize::from(self.has(Fault::PurgeCountsWhatOthersRemoved));
                continue;
            };
            match self.fault {
                _ if !row.spoiled => {}
                Fault::PurgeFailsAtTheUnreadable => return Err(DecodeError::UnknownLayout.into()),
                Fault::PurgeStaysAtTheUnreadable => continue,
                Fault::PurgeRemovesTheUnreadable => {
                    rows.remove(id);
                    continue;
                }
                Fault::PurgeKeepsTheUnreadable => {
                    row.purge_check = Timestamp::from_seconds(now.seconds() + 24 * 3600);
                    continue;
                }
                _ => {}
            }
            let unconditional = matches!(self.fault, Fault::PurgeIsUnconditional | Fault::PurgeIsUnconditionalUnlocked);
            let end = self.due(row);
            if now < end && !(unconditional && row.record.version() != *version) {
                row.purge_check = end;
            } else if row.record.version() == *version || unconditional {
                removed += 1;
                let leaves_an_entry =
                    [Fault::PurgeForgetsTheList, Fault::PurgedEntriesFillPages, Fault::PurgedEntriesAreBelieved];
                if leaves_an_entry.contains(&self.fault) {
                    row.ghost = true;
                } else {
                    rows.remove(id);
                }
            }
        }
        let purge = Purge::new(removed);
        let is_finished = match self.fault {
            Fault::PurgeNeverFinishes => false,
            Fault::PurgeFinishesAtOnce => true,
            Fault::PurgeFinishesWhenItRemovedNothing => removed == 0,
            Fault::PurgeFinishesWhenItOnlyMovedRows => due.len() < limit || removed == 0 && limit > 0,
            _ => due.len() < limit,
        };
        Ok(if is_finished { purge.finished() } else { purge })
    }
}

/// Each fault, and the rules that notice it.
pub(crate) const FAULTS: [(Fault, Noticed); 54] = [
    (
        Fault::InsertOverwrites,
        By(&["insert_has_one_winner", "insert_leaves_the_row_that_is_there", "insert_leaves_what_was_revoked"]),
    ),
    (
        Fault::InsertSaysExistsAndOverwrites,
        By(&["insert_has_one_winner", "insert_leaves_the_row_that_is_there", "insert_leaves_what_was_revoked"]),
    ),
    (Fault::InsertLooksThenWrites, By(&["insert_has_one_winner"])),
    (Fault::InsertLooksThenWritesUnlocked, By(&["insert_has_one_winner"])),
    (Fault::InsertOverRevoked, By(&["insert_leaves_what_was_revoked"])),
    (Fault::IdsInAnyCase, AmongOthersBy(&["ids_are_distinguished"])),
    (Fault::ReplaceLooksThenWrites, AmongOthersBy(&["replace_has_one_winner", "no_update_is_lost"])),
    (
        Fault::ReplaceIgnoresVersions,
        AmongOthersBy(&["replace_has_one_winner", "replace_of_another_version_is_lost", "no_update_is_lost"]),
    ),
    (Fault::ReplaceAcceptsOlderVersions, AmongOthersBy(&["replace_of_another_version_is_lost", "no_update_is_lost"])),
    (Fault::ReplaceInsertsMissingRows, By(&["replace_of_a_missing_row_is_lost", "a_purge_waits_for_the_end"])),
    (Fault::VersionsHave31Bits, By(&["large_versions_are_compared"])),
    (Fault::VersionsOnlyGrow, AmongOthersBy(&["large_versions_are_compared"])),
    (Fault::LostReplaceWrites, AmongOthersBy(&["replace_of_another_version_is_lost", "replace_has_one_winner"])),
    (Fault::ConfirmRaisesTheVersion, AmongOthersBy(&["a_confirm_leaves_the_row_as_it_is"])),
    (Fault::ConfirmComparesVersionsAlone, By(&["a_confirm_of_another_row_is_lost"])),
    (Fault::ConfirmHasOneWinner, By(&["confirms_at_once_all_succeed"])),
    (Fault::ConfirmLooksThenWrites, By(&["a_confirm_undoes_no_write"])),
    (
        Fault::FindLags,
        AmongOthersBy(&["acknowledged_writes_are_found", "losers_find_the_winner", "readers_never_go_back"]),
    ),
    (Fault::FindLagsNowAndThen, AmongOthersBy(&["readers_never_go_back", "acknowledged_writes_are_found"])),
    (Fault::RecordsEndAt64KiB, By(&["the_largest_record_comes_back", "a_page_of_the_largest_records_is_full"])),
    (
        Fault::RevocationsAreForgotten,
        By(&["a_purge_follows_a_moved_end", "every_field_comes_back", "insert_leaves_what_was_revoked"]),
    ),
    (Fault::ListLags, AmongOthersBy(&["a_row_is_listed_at_once"])),
    (Fault::ListShowsTheInsertedVersion, AmongOthersBy(&["a_row_is_listed_at_once", "acknowledged_writes_are_found"])),
    (
        Fault::ListLeavesOutRevoked,
        AmongOthersBy(&["rows_of_every_kind_are_listed", "every_field_comes_back", "a_purge_takes_rows_of_every_kind"]),
    ),
    (Fault::SubjectsInAnyCase, By(&["a_list_is_of_one_subject"])),
    (Fault::SubjectsWithoutTrailingBlanks, By(&["a_list_is_of_one_subject"])),
    (Fault::SubjectsEndAtNul, By(&["a_list_is_of_one_subject"])),
    (Fault::SubjectsAreWildcards, By(&["a_list_is_of_one_subject"])),
    (Fault::SubjectsOf254Bytes, By(&["a_list_is_of_one_subject"])),
    (Fault::IdsSortAsText, AmongOthersBy(&["a_list_is_in_the_order_of_ids"])),
    (
        Fault::PageRepeatsItsStart,
        By(&["pages_hold_every_row_once", "pages_miss_nothing_that_stays", "a_page_starts_after_an_id_that_is_gone"]),
    ),
    (Fault::PageIsCutBeforeItIsFiltered, By(&["pages_hold_every_row_once"])),
    (Fault::PageNeedsItsStart, AmongOthersBy(&["a_page_starts_after_an_id_that_is_gone"])),
    (Fault::PageZeroIsEmpty, By(&["pages_hold_every_row_once"])),
    (Fault::PageEndsAtAMebibyte, By(&["a_page_of_the_largest_records_is_full"])),
    (Fault::PurgedEntriesFillPages, By(&["a_purge_leaves_no_list_entry", "pages_miss_nothing_that_stays"])),
    (Fault::PurgedEntriesAreBelieved, By(&["a_purge_leaves_no_list_entry"])),
    (Fault::NoSubjectIsNull, By(&["a_purge_takes_rows_without_a_subject"])),
    (
        Fault::PurgeASecondEarly,
        By(&[
            "a_purge_waits_for_the_end",
            "a_purge_follows_a_moved_end",
            "a_purge_takes_rows_of_every_kind",
            "a_purge_takes_rows_without_a_subject",
        ]),
    ),
    (Fault::PurgeASecondLate, AmongOthersBy(&["a_purge_waits_for_the_end", "a_purge_follows_a_moved_end"])),
    (Fault::PurgeByTheInsertedEnd, AmongOthersBy(&["a_purge_follows_a_moved_end", "pages_miss_nothing_that_stays"])),
    (
        Fault::PurgeByTheInsertedEndForEver,
        AmongOthersBy(&["a_purge_follows_a_moved_end", "a_purge_takes_rows_of_every_kind"]),
    ),
    (Fault::PurgeIgnoresItsLimit, AmongOthersBy(&["a_purge_is_bounded_and_finishes"])),
    (Fault::PurgeNeverFinishes, AmongOthersBy(&["a_purge_is_bounded_and_finishes"])),
    (Fault::PurgeFinishesAtOnce, AmongOthersBy(&["a_purge_is_bounded_and_finishes"])),
    (Fault::PurgeWalksOverTheLiving, AmongOthersBy(&["a_purge_steps_over_nothing_alive"])),
    (Fault::PurgeSparesRevoked, By(&["a_purge_follows_a_moved_end", "a_purge_takes_rows_of_every_kind"])),
    (Fault::PurgeSparesRowsWithoutSubject, AmongOthersBy(&["a_purge_takes_rows_without_a_subject"])),
    (Fault::PurgeForgetsTheList, AmongOthersBy(&["a_purge_waits_for_the_end"])),
    (Fault::PurgeIsUnconditional, By(&["a_purge_loses_no_write"])),
    (Fault::PurgeIsUnconditionalUnlocked, By(&["a_purge_loses_no_write"])),
    (Fault::PurgeFinishesWhenItRemovedNothing, AmongOthersBy(&["a_purge_is_bounded_and_finishes"])),
    (Fault::PurgeFinishesWhenItOnlyMovedRows, By(&["a_purge_is_bounded_and_finishes"])),
    (Fault::PurgeCountsWhatOthersRemoved, By(&["purges_share_the_work"])),
];
