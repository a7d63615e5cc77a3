//! Implements all store traits for every [`Engine`]: encoding, decoding and lists.

use std::sync::Arc;

use async_trait::async_trait;

use crate::clock::Timestamp;
use crate::model::application::{Application, ApplicationFilter, Logo, LogoSlot};
use crate::model::client::{Client, ClientState};
use crate::model::codec::DecodeError;
use crate::model::id::ClientId;
use crate::model::subject::Subject;
use crate::store::answer::{Insertion, Replacement};
use crate::store::client_registry::ClientRegistry;
use crate::store::client_store::ClientStore;
use crate::store::engine::{Engine, List, Row, Write};
use crate::store::error::StoreError;
use crate::store::kinds::Record;
use crate::store::page::Page;
use crate::store::purge::Purge;
use crate::store::record_store::RecordStore;
use crate::store::registration::{LogoWrite, Registration};
use crate::store::table::{Columns, Part, Table};

#[async_trait]
impl<E: Engine, R: Record> RecordStore<R> for E {
    async fn find(&self, key: &R::Key) -> Result<Option<Arc<R>>, StoreError> {
        let bytes = Engine::find(self, R::TABLE, key.as_ref(), Part::Record).await?;
        bytes.map(|bytes| decoded(key.as_ref(), R::decode(&bytes))).transpose()
    }

    async fn insert(&self, record: Arc<R>) -> Result<Insertion, StoreError> {
        Engine::insert(self, write_of(&*record)).await
    }

    async fn replace(&self, version: u32, record: Arc<R>) -> Result<Replacement, StoreError> {
        Engine::replace(self, version, write_of(&*record)).await
    }

    async fn confirm(&self, record: Arc<R>) -> Result<Replacement, StoreError> {
        Engine::confirm(self, write_of(&*record)).await
    }

    async fn list(&self, subject: &Subject, page: Page<R::Key>) -> Result<Vec<Arc<R>>, StoreError> {
        let list = List::new(R::TABLE, subject.as_str());
        let read = |row: &Row| {
            let record: Arc<R> = decoded(row.key(), R::decode(row.bytes()))?;
            Ok((record.subject() == Some(subject)).then_some(record))
        };
        list_rows(self, &list, page.start().map(AsRef::as_ref), page.limit(), read).await
    }

    async fn purge(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        Engine::purge(self, R::TABLE, now, limit).await
    }
}

fn write_of<R: Record>(record: &R) -> Write {
    Write {
        table: R::TABLE,
        key: record.key().as_ref().to_vec(),
        version: record.version(),
        record: record.encode(),
        parts: Vec::new(),
        lists: record.subject().map(|subject| subject.as_str().as_bytes().to_vec()).into_iter().collect(),
        lists_moved: false,
        due: record.purge_after(),
        due_moved: record.is_due_sooner(),
        columns: record.columns(),
    }
}

/// Reads a page, and skips rows that have left the list.
async fn list_rows<T: Send>(
    engine: &impl Engine,
    list: &List,
    after: Option<&[u8]>,
    limit: usize,
    read: impl Fn(&Row) -> Result<Option<T>, StoreError> + Send + Sync,
) -> Result<Vec<T>, StoreError> {
    let mut listed = Vec::new();
    let mut after = after.map(<[u8]>::to_vec);
    loop {
        let wanted = limit - listed.len();
        let rows = engine.list(list, after.as_deref(), wanted).await?;
        for row in &rows {
            listed.extend(read(row)?);
        }
        match rows.last() {
            Some(last) if rows.len() >= wanted && listed.len() < limit => after = Some(last.key().to_vec()),
            _ => return Ok(listed),
        }
    }
}

fn decoded<T>(key: &[u8], decoded: Result<T, DecodeError>) -> Result<Arc<T>, StoreError> {
    decoded.map(Arc::new).map_err(|error| StoreError::unreadable(key, error))
}

#[async_trait]
impl<E: Engine> ClientStore for E {
    async fn find(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.current(id).await
    }

    async fn current(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        find_part(self, id, Part::Record, |bytes| Client::decode(&bytes)).await
    }
}

async fn find_part<T>(
    engine: &impl Engine,
    id: &ClientId,
    part: Part,
    decode: impl Fn(Vec<u8>) -> Result<T, DecodeError> + Send + Sync,
) -> Result<Option<Arc<T>>, StoreError> {
    let key = id.as_str().as_bytes();
    let bytes = engine.find(Table::Clients, key, part).await?;
    bytes.map(|bytes| decoded(key, decode(bytes))).transpose()
}

fn write_of_registration(registration: &Registration) -> Write {
    let Registration { client, application, logo, proposed_logo } = registration;
    let mut parts = vec![(Part::Application, Some(application.encode()))];
    for (part, write) in [(Part::Logo, logo), (Part::ProposedLogo, proposed_logo)] {
        match write {
            LogoWrite::Keep => {}
            LogoWrite::Clear => parts.push((part, None)),
            LogoWrite::Put(logo) => parts.push((part, Some(logo.bytes().to_vec()))),
        }
    }
    Write {
        table: Table::Clients,
        key: client.id.as_str().as_bytes().to_vec(),
        version: client.version,
        record: client.encode(),
        parts,
        lists: application.filters().map(|filter| filter.key().into_bytes()).collect(),
        lists_moved: true,
        due: application.purge_after(),
        due_moved: application.purge_after().is_some(),
        columns: Columns {
            client: Some(client.id.clone()),
            subject: application.owner.clone(),
            created: Some(application.submitted),
            state: state_of(application.state),
            ended: None,
        },
    }
}

const fn state_of(state: ClientState) -> &'static str {
    match state {
        ClientState::Pending => "pending",
        ClientState::Approved => "approved",
        ClientState::Rejected => "rejected",
        ClientState::Suspended => "suspended",
        ClientState::Deleted => "deleted",
    }
}

#[async_trait]
impl<E: Engine> ClientRegistry for E {
    async fn insert(&self, registration: Registration) -> Result<Insertion, StoreError> {
        Engine::insert(self, write_of_registration(&registration)).await
    }

    async fn replace(&self, version: u32, registration: Registration) -> Result<Replacement, StoreError> {
        Engine::replace(self, version, write_of_registration(&registration)).await
    }

    async fn confirm(&self, registration: Registration) -> Result<Replacement, StoreError> {
        Engine::confirm(self, write_of_registration(&registration)).await
    }

    async fn application(&self, id: &ClientId) -> Result<Option<Arc<Application>>, StoreError> {
        find_part(self, id, Part::Application, |bytes| Application::decode(&bytes)).await
    }

    async fn logo(&self, id: &ClientId, slot: LogoSlot) -> Result<Option<Arc<Logo>>, StoreError> {
        let part = match slot {
            LogoSlot::InForce => Part::Logo,
            LogoSlot::Proposed => Part::ProposedLogo,
        };
        find_part(self, id, part, Logo::decode).await
    }

    async fn purge_deleted(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        Engine::purge(self, Table::Clients, now, limit).await
    }

    async fn list(
        &self,
        filter: &ApplicationFilter,
        page: Page<ClientId>,
    ) -> Result<Vec<Arc<Application>>, StoreError> {
        let list = List::new(Table::Clients, filter.key());
        let read = |row: &Row| {
            let application = decoded(row.key(), Application::decode(row.bytes()))?;
            let is_listed = application.filters().any(|own| own == *filter);
            Ok(is_listed.then_some(application))
        };
        let after = page.start().map(|id| id.as_str().as_bytes());
        list_rows(self, &list, after, page.limit(), read).await
    }
}
