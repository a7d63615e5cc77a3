//! A store of applications with at most one fault in what only applications have: their ids, lists that move, and clients.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use grantor::application::ApplicationFilter;
use grantor::store::{ClientStore, Insertion, Page, Purge, Record, RecordStore, Replacement, Store, StoreError};
use grantor::{Application, Client, ClientId, Timestamp};

use crate::broken_stores::Noticed::{self, AmongOthersBy, By};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    IdsInAnyCase,
    IdsWithoutTrailingBlanks,
    ListsAreNotMoved,
    ProposalsDoNotAwaitReview,
    ClientIsWrittenLater,
    CurrentIsCached,
    UnknownIdsHaveAClient,
    ClientMixesVersions,
}

#[derive(Debug)]
pub(crate) struct Applications {
    fault: Fault,
    rows: Mutex<BTreeMap<ClientId, Row>>,
    cache: Mutex<BTreeMap<ClientId, Arc<Client>>>,
}

#[derive(Clone, Debug)]
struct Row {
    application: Arc<Application>,
    client: Arc<Client>,
    lists: Vec<String>,
}

impl Applications {
    pub(crate) fn with(fault: Fault) -> Self {
        Self { fault, rows: Mutex::default(), cache: Mutex::default() }
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

    fn row(&self, application: Arc<Application>, before: Option<&Row>) -> Row {
        let mut lists: Vec<_> = application.lists().into_iter().map(String::from).collect();
        if self.has(Fault::ListsAreNotMoved) {
            lists.extend(before.into_iter().flat_map(|row| row.lists.clone()));
        }
        if self.has(Fault::ProposalsDoNotAwaitReview) && application.proposed.is_some() {
            lists.retain(|list| *list != ApplicationFilter::AwaitingReview.key());
        }
        let client = match before {
            Some(row) if self.has(Fault::ClientIsWrittenLater) => row.application.client().clone(),
            _ => application.client().clone(),
        };
        Row { application, client, lists }
    }
}

#[async_trait]
impl ClientStore for Applications {
    async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        let found = self.rows().get(&self.key(id)).map(|row| row.client.clone());
        if let Some(client) = &found {
            self.cache.lock().unwrap().entry(id.clone()).or_insert_with(|| client.clone());
        }
        match self.fault {
            Fault::UnknownIdsHaveAClient => Ok(found.or_else(|| Some(Arc::new(Client::builder(id.clone()).build())))),
            Fault::ClientMixesVersions => Ok(found.map(|client| match client.version() {
                version if version.is_multiple_of(3) => Arc::new(Client::builder(id.clone()).build()),
                _ => client,
            })),
            _ => Ok(found),
        }
    }

    async fn current_client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
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
impl RecordStore<Application> for Applications {
    async fn find(&self, id: &ClientId) -> Result<Option<Arc<Application>>, StoreError> {
        Ok(self.rows().get(&self.key(id)).map(|row| row.application.clone()))
    }

    async fn insert(&self, application: Arc<Application>) -> Result<Insertion, StoreError> {
        let (id, mut rows) = (self.key(application.id()), self.rows());
        if rows.contains_key(&id) {
            return Ok(Insertion::Exists);
        }
        rows.insert(id, self.row(application, None));
        Ok(Insertion::Inserted)
    }

    async fn replace(&self, version: u32, application: Arc<Application>) -> Result<Replacement, StoreError> {
        let mut rows = self.rows();
        let row = rows.get_mut(&self.key(application.id()));
        let Some(row) = row.filter(|row| row.application.version() == version) else { return Ok(Replacement::Lost) };
        *row = self.row(application, Some(row));
        Ok(Replacement::Replaced)
    }

    async fn confirm(&self, _: Arc<Application>) -> Result<Replacement, StoreError> {
        unreachable!("no rule that is tried here confirms")
    }

    async fn list(&self, list: &str, page: Page<ClientId>) -> Result<Vec<Arc<Application>>, StoreError> {
        let rows = self.rows();
        let listed =
            rows.values().filter(|row| page.admits(row.application.id()) && row.lists.iter().any(|own| own == list));
        Ok(listed.take(page.limit()).map(|row| row.application.clone()).collect())
    }

    async fn purge(&self, _: Timestamp, _: usize) -> Result<Purge, StoreError> {
        unreachable!("no rule that is tried here purges")
    }
}

/// Each fault, and the rules that notice it.
pub(crate) const FAULTS: [(Fault, Noticed); 8] = [
    (Fault::IdsInAnyCase, By(&["similar_client_ids_are_distinguished"])),
    (Fault::IdsWithoutTrailingBlanks, By(&["similar_client_ids_are_distinguished"])),
    (Fault::ListsAreNotMoved, By(&["lists_follow_every_move"])),
    (Fault::ProposalsDoNotAwaitReview, AmongOthersBy(&["lists_follow_every_move"])),
    (Fault::ClientIsWrittenLater, AmongOthersBy(&["current_client_answers_the_last_write", "every_field_comes_back"])),
    (Fault::CurrentIsCached, By(&["current_client_answers_the_last_write"])),
    (Fault::UnknownIdsHaveAClient, By(&["an_unknown_id_has_no_client"])),
    (Fault::ClientMixesVersions, AmongOthersBy(&["client_answers_what_was_written"])),
];
