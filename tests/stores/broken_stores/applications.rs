//! A registry with at most one fault.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use grantor::application::{ApplicationFilter, Logo, LogoSlot};
use grantor::client::ClientState;
use grantor::store::{
    ClientRegistry, ClientStore, Insertion, LogoWrite, Page, Purge, Registration, Replacement, Store, StoreError,
};
use grantor::testing::records;
use grantor::{Application, Client, ClientId, Subject, Timestamp};

use crate::broken_stores::Noticed::{self, AmongOthersBy, By};
use crate::broken_stores::wait;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    InsertOverwrites,
    InsertLooksThenWrites,
    IdsInAnyCase,
    IdsWithoutTrailingBlanks,
    ReplaceIgnoresVersions,
    ReplaceLooksThenWrites,
    ReplaceInsertsMissingClients,
    VersionsHave31Bits,
    ConfirmRaisesTheVersion,
    ConfirmComparesTheClientAlone,
    ConfirmHasOneWinner,
    ConfirmLooksThenWrites,
    LostReplaceWritesTheLogo,
    PutKeepsTheLogo,
    ClearKeepsTheLogo,
    KeepClearsTheLogo,
    OneLogoForBothSlots,
    LogosEndAt64KiB,
    ApplicationIsWrittenLater,
    CurrentIsCached,
    UnknownIdsHaveAClient,
    FindMixesVersions,
    EmptyTextsAreNone,
    FiltersAreNotMoved,
    ProposalsDoNotAwaitReview,
    OwnersInAnyCase,
    IdsSortInAnyCase,
    PageRepeatsItsStart,
    PageIsCutBeforeItIsFiltered,
    PageEndsAtAMebibyte,
    ReplaceReadsEveryRow,
    PurgeIgnoresTheTime,
    PurgeKeepsTheDeleted,
    PurgeTakesAnyClient,
}

#[derive(Debug)]
pub(crate) struct Applications {
    fault: Fault,
    rows: Mutex<BTreeMap<ClientId, Row>>,
    cache: Mutex<BTreeMap<ClientId, Arc<Client>>>,
    rows_read: AtomicU64,
}

#[derive(Clone, Debug)]
struct Row {
    client: Arc<Client>,
    application: Arc<Application>,
    logos: [Option<Arc<Logo>>; 2],
    filters: Vec<ApplicationFilter>,
    /// The number of writes of this row, including confirms.
    revision: u32,
}

impl Applications {
    pub(crate) fn with(fault: Fault) -> Self {
        Self { fault, rows: Mutex::default(), cache: Mutex::default(), rows_read: AtomicU64::new(0) }
    }

    /// What a database reports of its work.
    pub(crate) fn rows_read(&self) -> u64 {
        self.rows_read.load(Ordering::SeqCst)
    }

    fn rows(&self) -> MutexGuard<'_, BTreeMap<ClientId, Row>> {
        self.rows.lock().unwrap()
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn key(&self, id: &ClientId) -> ClientId {
        match self.fault {
            Fault::IdsInAnyCase => ClientId::new(id.as_str().to_lowercase()).unwrap(),
            Fault::IdsWithoutTrailingBlanks => ClientId::new(id.as_str().trim_end()).unwrap(),
            _ => id.clone(),
        }
    }

    fn row(&self, written: Registration, before: Option<&Row>) -> Row {
        let [logo, proposed] = before.map(|row| row.logos.clone()).unwrap_or_default();
        let mut logos = [self.logo_after(written.logo, logo), self.logo_after(written.proposed_logo, proposed)];
        if self.has(Fault::OneLogoForBothSlots) {
            logos[0] = logos[1].clone().or_else(|| logos[0].clone());
            logos[1] = logos[0].clone();
        }
        let mut filters: Vec<_> = written.application.filters().collect();
        if self.has(Fault::FiltersAreNotMoved) {
            filters.extend(before.into_iter().flat_map(|row| row.filters.clone()));
        }
        if self.has(Fault::ProposalsDoNotAwaitReview) && written.application.proposed().is_some() {
            filters.retain(|filter| *filter != ApplicationFilter::AwaitingReview);
        }
        let revision = before.map_or(0, |row| row.revision + 1);
        Row { client: Arc::new(written.client), application: Arc::new(written.application), logos, filters, revision }
    }

    fn logo_after(&self, write: LogoWrite, before: Option<Arc<Logo>>) -> Option<Arc<Logo>> {
        match (write, self.fault) {
            (LogoWrite::Put(_), Fault::PutKeepsTheLogo) if before.is_some() => before,
            (LogoWrite::Put(logo), Fault::LogosEndAt64KiB) => {
                let bytes = &logo.bytes()[..logo.bytes().len().min(1 << 16)];
                Some(Arc::new(Logo::decode(bytes).unwrap()))
            }
            (LogoWrite::Put(logo), _) => Some(logo),
            (LogoWrite::Keep, Fault::KeepClearsTheLogo) => None,
            (LogoWrite::Keep, _) | (LogoWrite::Clear, Fault::ClearKeepsTheLogo) => before,
            _ => None,
        }
    }

    fn is_same(&self, row: &Row, registration: &Registration) -> bool {
        let Registration { client, application, logo, proposed_logo, .. } = registration;
        let is_logo = |write: &LogoWrite, stored: &Option<Arc<Logo>>| match write {
            LogoWrite::Keep => true,
            LogoWrite::Clear => stored.is_none(),
            LogoWrite::Put(logo) => stored.as_ref() == Some(logo),
        };
        *row.client == *client
            && (self.has(Fault::ConfirmComparesTheClientAlone)
                || *row.application == *application
                    && is_logo(logo, &row.logos[0])
                    && is_logo(proposed_logo, &row.logos[1]))
    }

    fn is_under(&self, row: &Row, filter: &ApplicationFilter) -> bool {
        match (self.fault, filter) {
            (Fault::OwnersInAnyCase, ApplicationFilter::OwnedBy(owner)) => {
                let in_lower_case = |subject: &Subject| subject.as_str().to_lowercase();
                row.filters.iter().any(
                    |own| matches!(own, ApplicationFilter::OwnedBy(own) if in_lower_case(owner) == in_lower_case(own)),
                )
            }
            _ => row.filters.contains(filter),
        }
    }
}

#[async_trait]
impl ClientStore for Applications {
    async fn find(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        let found = self.rows().get(&self.key(id)).map(|row| row.client.clone());
        if let Some(client) = &found {
            self.cache.lock().unwrap().entry(id.clone()).or_insert_with(|| client.clone());
        }
        match self.fault {
            Fault::UnknownIdsHaveAClient => Ok(found.or_else(|| Some(Arc::new(Client::builder(id.clone()).build())))),
            Fault::FindMixesVersions => Ok(found.map(|client| match client.version() {
                version if version.is_multiple_of(3) => Arc::new(Client::builder(id.clone()).build()),
                _ => client,
            })),
            _ => Ok(found),
        }
    }

    async fn current(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        if self.has(Fault::CurrentIsCached)
            && let Some(client) = self.cache.lock().unwrap().get(id)
        {
            return Ok(Some(client.clone()));
        }
        Ok(self.rows().get(&self.key(id)).map(|row| row.client.clone()))
    }
}

impl Store for Applications {}

#[async_trait]
impl ClientRegistry for Applications {
    async fn insert(&self, registration: Registration) -> Result<Insertion, StoreError> {
        let id = self.key(registration.client.id());
        if self.has(Fault::InsertLooksThenWrites) {
            let exists = self.rows().contains_key(&id);
            wait().await;
            if !exists {
                let row = self.row(registration, None);
                self.rows().insert(id, row);
            }
            return Ok(if exists { Insertion::Exists } else { Insertion::Inserted });
        }
        let mut rows = self.rows();
        if rows.contains_key(&id) && !self.has(Fault::InsertOverwrites) {
            return Ok(Insertion::Exists);
        }
        let row = self.row(registration, None);
        rows.insert(id, row);
        Ok(Insertion::Inserted)
    }

    async fn replace(&self, version: u32, registration: Registration) -> Result<Replacement, StoreError> {
        let id = self.key(registration.client.id());
        if self.has(Fault::ReplaceLooksThenWrites) {
            let own = self.rows().get(&id).map(|row| row.client.version());
            wait().await;
            if own != Some(version) {
                return Ok(Replacement::Lost);
            }
        }
        let later = registration.application.clone();
        let applied = {
            let mut rows = self.rows();
            let read = if self.has(Fault::ReplaceReadsEveryRow) { rows.len() } else { 1 };
            self.rows_read.fetch_add(read.try_into().unwrap(), Ordering::SeqCst);
            match rows.get_mut(&id) {
                None if self.has(Fault::ReplaceInsertsMissingClients) => {
                    let row = self.row(registration, None);
                    rows.insert(id.clone(), row);
                    true
                }
                Some(row) => {
                    let own = row.client.version();
                    let applies = match self.fault {
                        Fault::ReplaceIgnoresVersions | Fault::ReplaceLooksThenWrites => true,
                        Fault::VersionsHave31Bits => own << 1 == version << 1,
                        _ => own == version,
                    };
                    let next = self.row(registration, Some(row));
                    match (applies, self.fault) {
                        (true, Fault::ApplicationIsWrittenLater) => {
                            *row = Row { application: row.application.clone(), ..next };
                        }
                        (true, _) => *row = next,
                        (false, Fault::LostReplaceWritesTheLogo) => row.logos = next.logos,
                        (false, _) => {}
                    }
                    applies
                }
                None => false,
            }
        };
        if applied && self.has(Fault::ApplicationIsWrittenLater) {
            wait().await;
            self.rows().get_mut(&id).unwrap().application = Arc::new(later);
        }
        Ok(if applied { Replacement::Replaced } else { Replacement::Lost })
    }

    async fn confirm(&self, registration: Registration) -> Result<Replacement, StoreError> {
        let id = self.key(registration.client.id());
        let revision = match self.rows().get(&id).filter(|row| self.is_same(row, &registration)) {
            Some(row) => row.revision,
            None => return Ok(Replacement::Lost),
        };
        if matches!(self.fault, Fault::ConfirmHasOneWinner | Fault::ConfirmLooksThenWrites) {
            wait().await;
        }
        let mut rows = self.rows();
        let Some(row) = rows.get_mut(&id) else { return Ok(Replacement::Lost) };
        match self.fault {
            // Each write counts as a revision, even with the same bytes.
            Fault::ConfirmHasOneWinner if row.revision != revision => return Ok(Replacement::Lost),
            Fault::ConfirmRaisesTheVersion => {
                *row = self.row(records::approved(&registration), Some(row));
                return Ok(Replacement::Replaced);
            }
            Fault::ConfirmLooksThenWrites => {}
            _ if !self.is_same(row, &registration) => return Ok(Replacement::Lost),
            _ => {}
        }
        *row = self.row(registration, Some(row));
        Ok(Replacement::Replaced)
    }

    async fn application(&self, id: &ClientId) -> Result<Option<Arc<Application>>, StoreError> {
        let found = self.rows().get(&self.key(id)).map(|row| row.application.clone());
        Ok(found.filter(|found| !(self.has(Fault::EmptyTextsAreNone) && found.rejection() == Some(""))))
    }

    async fn logo(&self, id: &ClientId, slot: LogoSlot) -> Result<Option<Arc<Logo>>, StoreError> {
        let number = usize::from(slot == LogoSlot::Proposed);
        Ok(self.rows().get(&self.key(id)).and_then(|row| row.logos[number].clone()))
    }

    async fn purge_deleted(&self, now: Timestamp, _: usize) -> Result<Purge, StoreError> {
        let mut rows = self.rows();
        let before = rows.len();
        rows.retain(|_, row| match row.application.purge_after() {
            Some(_) if self.has(Fault::PurgeIgnoresTheTime) => false,
            Some(due) => now < due || self.has(Fault::PurgeKeepsTheDeleted),
            None => row.application.state() == ClientState::Deleted || !self.has(Fault::PurgeTakesAnyClient),
        });
        Ok(Purge::new(before - rows.len()).finished())
    }

    async fn list(
        &self,
        filter: &ApplicationFilter,
        page: Page<ClientId>,
    ) -> Result<Vec<Arc<Application>>, StoreError> {
        let rows = self.rows();
        let mut all: Vec<_> = rows.values().collect();
        if self.has(Fault::IdsSortInAnyCase) {
            all.sort_by_key(|row| row.client.id().as_str().to_lowercase());
        }
        let admits = |id: &ClientId| match (self.fault, page.start()) {
            (Fault::PageRepeatsItsStart, Some(start)) => id >= start,
            (Fault::IdsSortInAnyCase, Some(start)) => id.as_str().to_lowercase() > start.as_str().to_lowercase(),
            _ => page.admits(id),
        };
        all.retain(|row| admits(row.client.id()));
        if self.has(Fault::PageIsCutBeforeItIsFiltered) {
            all.truncate(page.limit());
        }
        let mut bytes = 0;
        let own = all.into_iter().filter(|row| self.is_under(row, filter)).take(page.limit()).take_while(|row| {
            bytes += row.application.encode().len();
            !self.has(Fault::PageEndsAtAMebibyte) || bytes <= 1 << 20
        });
        Ok(own.map(|row| row.application.clone()).collect())
    }
}

/// Each fault, and the rules that notice it.
pub(crate) const FAULTS: [(Fault, Noticed); 33] = [
    (Fault::InsertOverwrites, By(&["insert_has_one_winner", "insert_leaves_what_is_there"])),
    (Fault::InsertLooksThenWrites, By(&["insert_has_one_winner"])),
    (Fault::IdsInAnyCase, AmongOthersBy(&["ids_are_distinguished"])),
    (Fault::IdsWithoutTrailingBlanks, By(&["ids_are_distinguished"])),
    (
        Fault::ReplaceIgnoresVersions,
        AmongOthersBy(&["replace_has_one_winner", "replace_of_another_version_is_lost", "no_update_is_lost"]),
    ),
    (Fault::ReplaceLooksThenWrites, By(&["replace_has_one_winner", "no_update_is_lost"])),
    (Fault::ReplaceInsertsMissingClients, By(&["replace_of_a_missing_client_is_lost"])),
    (Fault::VersionsHave31Bits, By(&["large_versions_are_compared"])),
    (Fault::ConfirmRaisesTheVersion, AmongOthersBy(&["a_confirm_leaves_what_is_there"])),
    (Fault::ConfirmComparesTheClientAlone, By(&["a_confirm_of_another_registration_is_lost"])),
    (Fault::ConfirmHasOneWinner, By(&["confirms_at_once_all_succeed"])),
    (Fault::ConfirmLooksThenWrites, By(&["a_confirm_undoes_no_write"])),
    (Fault::LostReplaceWritesTheLogo, By(&["replace_of_another_version_is_lost", "replace_has_one_winner"])),
    (Fault::PutKeepsTheLogo, AmongOthersBy(&["all_parts_change_together", "acknowledged_writes_are_found"])),
    (Fault::ClearKeepsTheLogo, By(&["all_parts_change_together"])),
    (Fault::KeepClearsTheLogo, AmongOthersBy(&["all_parts_change_together"])),
    (Fault::OneLogoForBothSlots, AmongOthersBy(&["all_parts_change_together"])),
    (Fault::LogosEndAt64KiB, By(&["the_largest_registration_comes_back"])),
    (Fault::PurgeIgnoresTheTime, By(&["only_deleted_clients_are_purged"])),
    (Fault::PurgeKeepsTheDeleted, By(&["only_deleted_clients_are_purged"])),
    (Fault::PurgeTakesAnyClient, By(&["only_deleted_clients_are_purged"])),
    (Fault::ApplicationIsWrittenLater, By(&["readers_see_no_half_of_a_write"])),
    (Fault::CurrentIsCached, By(&["current_answers_the_last_write"])),
    (Fault::UnknownIdsHaveAClient, By(&["an_unknown_id_has_no_client", "replace_of_a_missing_client_is_lost"])),
    (Fault::FindMixesVersions, AmongOthersBy(&["find_answers_what_was_written"])),
    (Fault::EmptyTextsAreNone, By(&["every_field_comes_back", "a_confirm_leaves_what_is_there"])),
    (Fault::FiltersAreNotMoved, By(&["lists_follow_every_move"])),
    (Fault::ProposalsDoNotAwaitReview, AmongOthersBy(&["lists_follow_every_move"])),
    (Fault::OwnersInAnyCase, By(&["a_list_is_of_one_owner"])),
    (Fault::IdsSortInAnyCase, AmongOthersBy(&["a_list_is_in_the_order_of_ids"])),
    (
        Fault::PageRepeatsItsStart,
        By(&["pages_hold_every_application_once", "pages_miss_nothing_that_stays", "a_list_is_in_the_order_of_ids"]),
    ),
    (Fault::PageIsCutBeforeItIsFiltered, AmongOthersBy(&["pages_hold_every_application_once"])),
    (Fault::PageEndsAtAMebibyte, By(&["a_page_of_the_largest_applications_is_full"])),
];
