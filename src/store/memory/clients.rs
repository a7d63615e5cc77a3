//! The registered applications, by id and by list.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use crate::clock::Timestamp;
use crate::model::application::{Application, ApplicationFilter, Logo, LogoSlot};
use crate::model::client::Client;
use crate::model::id::ClientId;
use crate::store::{Insertion, LogoWrite, Page, Purge, Registration, Replacement};

#[derive(Debug, Default)]
pub(super) struct Clients {
    contents: RwLock<Contents>,
}

#[derive(Debug, Default)]
struct Contents {
    rows: HashMap<ClientId, Row>,
    listed: BTreeMap<ApplicationFilter, BTreeSet<ClientId>>,
    /// The ids of those that have a `purge_after`, by that time.
    deleted: BTreeSet<(Timestamp, ClientId)>,
}

#[derive(Debug)]
struct Row {
    client: Arc<Client>,
    application: Arc<Application>,
    logo: Option<Arc<Logo>>,
    proposed_logo: Option<Arc<Logo>>,
}

impl Clients {
    pub(super) fn find(&self, id: &ClientId) -> Option<Arc<Client>> {
        self.read().rows.get(id).map(|row| row.client.clone())
    }

    pub(super) fn application(&self, id: &ClientId) -> Option<Arc<Application>> {
        self.read().rows.get(id).map(|row| row.application.clone())
    }

    pub(super) fn logo(&self, id: &ClientId, slot: LogoSlot) -> Option<Arc<Logo>> {
        let contents = self.read();
        let row = contents.rows.get(id)?;
        match slot {
            LogoSlot::InForce => row.logo.clone(),
            LogoSlot::Proposed => row.proposed_logo.clone(),
        }
    }

    pub(super) fn list(&self, filter: &ApplicationFilter, page: &Page<ClientId>) -> Vec<Arc<Application>> {
        let contents = self.read();
        let Some(ids) = contents.listed.get(filter) else { return Vec::new() };
        let start = page.start().map_or(Bound::Unbounded, Bound::Excluded);
        let rows = ids.range((start, Bound::Unbounded)).filter_map(|id| contents.rows.get(id));
        rows.take(page.limit()).map(|row| row.application.clone()).collect()
    }

    pub(super) fn insert(&self, registration: Registration) -> Insertion {
        let mut contents = self.contents.write().unwrap_or_else(PoisonError::into_inner);
        if contents.rows.contains_key(&registration.client.id) {
            return Insertion::Exists;
        }
        contents.put(registration, None);
        Insertion::Inserted
    }

    pub(super) fn replace(&self, version: u32, registration: Registration) -> Replacement {
        let mut contents = self.contents.write().unwrap_or_else(PoisonError::into_inner);
        let id = &registration.client.id;
        if contents.rows.get(id).is_none_or(|row| row.client.version != version) {
            return Replacement::Lost;
        }
        let before = contents.take(id);
        contents.put(registration, before);
        Replacement::Replaced
    }

    pub(super) fn confirm(&self, registration: &Registration) -> Replacement {
        let contents = self.read();
        let Registration { client, application, logo, proposed_logo } = registration;
        let is_same = contents.rows.get(&client.id).is_some_and(|row| {
            *row.client == *client
                && *row.application == *application
                && logo.leaves(&row.logo)
                && proposed_logo.leaves(&row.proposed_logo)
        });
        if is_same { Replacement::Replaced } else { Replacement::Lost }
    }

    pub(super) fn purge_deleted(&self, now: Timestamp, limit: usize) -> Purge {
        let mut contents = self.contents.write().unwrap_or_else(PoisonError::into_inner);
        for removed in 0..limit {
            let first = contents.deleted.first().filter(|(due, _)| *due <= now);
            let Some((_, id)) = first.cloned() else { return Purge::new(removed).finished() };
            contents.take(&id);
        }
        Purge::new(limit)
    }

    fn read(&self) -> RwLockReadGuard<'_, Contents> {
        self.contents.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Contents {
    fn take(&mut self, id: &ClientId) -> Option<Row> {
        let row = self.rows.remove(id)?;
        if let Some(due) = row.application.purge_after() {
            self.deleted.remove(&(due, id.clone()));
        }
        for filter in row.application.filters() {
            if let Some(ids) = self.listed.get_mut(&filter) {
                ids.remove(id);
            }
        }
        Some(row)
    }

    fn put(&mut self, registration: Registration, before: Option<Row>) {
        let Registration { client, application, logo, proposed_logo } = registration;
        let (logo_before, proposed_before) = before.map_or((None, None), |row| (row.logo, row.proposed_logo));
        for filter in application.filters() {
            self.listed.entry(filter).or_default().insert(client.id.clone());
        }
        if let Some(due) = application.purge_after() {
            self.deleted.insert((due, client.id.clone()));
        }
        let row = Row {
            client: Arc::new(client),
            logo: logo.applied_to(logo_before),
            proposed_logo: proposed_logo.applied_to(proposed_before),
            application: Arc::new(application),
        };
        self.rows.insert(row.client.id.clone(), row);
    }
}

impl LogoWrite {
    fn leaves(&self, stored: &Option<Arc<Logo>>) -> bool {
        match self {
            Self::Keep => true,
            Self::Clear => stored.is_none(),
            Self::Put(logo) => stored.as_ref() == Some(logo),
        }
    }

    fn applied_to(self, before: Option<Arc<Logo>>) -> Option<Arc<Logo>> {
        match self {
            Self::Keep => before,
            Self::Clear => None,
            Self::Put(logo) => Some(logo),
        }
    }
}
