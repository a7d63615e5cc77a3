//! Implements all store traits for every [`Engine`]: encoding, decoding and lists.

use std::sync::Arc;

use async_trait::async_trait;

use crate::clock::Timestamp;
use crate::model::application::{Application, ApplicationFilter, Logo, LogoSlot};
use crate::model::client::{Client, ClientState};
use crate::model::codec::DecodeError;
use crate::model::id::{AuthorizationId, ClientId, GrantId, PushedRequestId};
use crate::model::subject::Subject;
use crate::model::{Authorization, Grant, LastPurge, PushedRequest, Record, Replay};
use crate::secret::Digest;
use crate::store::answer::{Insertion, Replacement};
use crate::store::client_registry::ClientRegistry;
use crate::store::client_store::ClientStore;
use crate::store::code_store::CodeStore;
use crate::store::engine::{Columns, Ended, Engine, List, Part, Row, Table, Write};
use crate::store::error::StoreError;
use crate::store::page::Page;
use crate::store::purge::Purge;
use crate::store::purge_store::PurgeStore;
use crate::store::pushed_request_store::PushedRequestStore;
use crate::store::registration::{LogoWrite, Registration};
use crate::store::replay_store::ReplayStore;
use crate::store::token_store::TokenStore;

/// A record with its own table, listed by its subject if it has one.
trait Tabled: Record + PartialEq {
    const TABLE: Table;
}

impl Tabled for Authorization {
    const TABLE: Table = Table::Authorizations;
}

impl Tabled for Grant {
    const TABLE: Table = Table::Grants;
}

impl Tabled for PushedRequest {
    const TABLE: Table = Table::PushedRequests;
}

fn write_of<R: Tabled>(record: &R) -> Write {
    let ended = record.revoked().map(|revoked| Ended { at: revoked.at, why: revoked.reason.as_str() });
    Write {
        table: R::TABLE,
        key: record.key().to_vec(),
        version: record.version(),
        record: record.encode(),
        parts: Vec::new(),
        lists: record.subject().map(|subject| subject.as_str().as_bytes().to_vec()).into_iter().collect(),
        lists_moved: false,
        due: Some(record.purge_after()),
        due_moved: record.is_due_sooner(),
        columns: Columns {
            client: Some(record.client().clone()),
            subject: record.subject().cloned(),
            created: Some(record.created()),
            state: record.state(),
            ended,
        },
    }
}

async fn find_record<R: Tabled>(engine: &impl Engine, key: &[u8; 16]) -> Result<Option<Arc<R>>, StoreError> {
    let bytes = engine.find(R::TABLE, key, Part::Record).await?;
    bytes.map(|bytes| decoded(key, R::decode(&bytes))).transpose()
}

async fn list_records<R: Tabled>(
    engine: &impl Engine,
    subject: &Subject,
    after: Option<&[u8; 16]>,
    limit: usize,
) -> Result<Vec<Arc<R>>, StoreError> {
    let list = List::new(R::TABLE, subject.as_str());
    let read = |row: &Row| {
        let record: Arc<R> = decoded(row.key(), R::decode(row.bytes()))?;
        Ok((record.subject() == Some(subject)).then_some(record))
    };
    list_rows(engine, &list, after.map(<[u8; 16]>::as_slice), limit, read).await
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
impl<E: Engine> CodeStore for E {
    fn reads_settled(&self) -> bool {
        Engine::reads_settled(self)
    }

    async fn find(&self, id: &AuthorizationId) -> Result<Option<Arc<Authorization>>, StoreError> {
        find_record(self, id.as_bytes()).await
    }

    async fn insert(&self, record: Arc<Authorization>) -> Result<Insertion, StoreError> {
        Engine::insert(self, write_of(&*record)).await
    }

    async fn replace(&self, version: u32, record: Arc<Authorization>) -> Result<Replacement, StoreError> {
        Engine::replace(self, version, write_of(&*record)).await
    }

    async fn confirm(&self, record: Arc<Authorization>) -> Result<Replacement, StoreError> {
        Engine::confirm(self, write_of(&*record)).await
    }

    async fn authorizations_of(
        &self,
        subject: &Subject,
        page: Page<AuthorizationId>,
    ) -> Result<Vec<Arc<Authorization>>, StoreError> {
        list_records(self, subject, page.start().map(AuthorizationId::as_bytes), page.limit()).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        Engine::purge(self, Table::Authorizations, now, limit).await
    }
}

#[async_trait]
impl<E: Engine> TokenStore for E {
    fn reads_settled(&self) -> bool {
        Engine::reads_settled(self)
    }

    async fn find(&self, id: &GrantId) -> Result<Option<Arc<Grant>>, StoreError> {
        find_record(self, id.as_bytes()).await
    }

    async fn insert(&self, record: Arc<Grant>) -> Result<Insertion, StoreError> {
        Engine::insert(self, write_of(&*record)).await
    }

    async fn replace(&self, version: u32, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        Engine::replace(self, version, write_of(&*record)).await
    }

    async fn confirm(&self, record: Arc<Grant>) -> Result<Replacement, StoreError> {
        Engine::confirm(self, write_of(&*record)).await
    }

    async fn grants_of(&self, subject: &Subject, page: Page<GrantId>) -> Result<Vec<Arc<Grant>>, StoreError> {
        list_records(self, subject, page.start().map(GrantId::as_bytes), page.limit()).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        Engine::purge(self, Table::Grants, now, limit).await
    }
}

#[async_trait]
impl<E: Engine> PushedRequestStore for E {
    fn reads_settled(&self) -> bool {
        Engine::reads_settled(self)
    }

    async fn find(&self, id: &PushedRequestId) -> Result<Option<Arc<PushedRequest>>, StoreError> {
        find_record(self, id.as_bytes()).await
    }

    async fn insert(&self, record: Arc<PushedRequest>) -> Result<Insertion, StoreError> {
        Engine::insert(self, write_of(&*record)).await
    }

    async fn replace(&self, version: u32, record: Arc<PushedRequest>) -> Result<Replacement, StoreError> {
        Engine::replace(self, version, write_of(&*record)).await
    }

    async fn confirm(&self, record: Arc<PushedRequest>) -> Result<Replacement, StoreError> {
        Engine::confirm(self, write_of(&*record)).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        Engine::purge(self, Table::PushedRequests, now, limit).await
    }
}

#[async_trait]
impl<E: Engine> ReplayStore for E {
    async fn insert(&self, record: Replay) -> Result<Insertion, StoreError> {
        let write = Write {
            table: Table::Replays,
            key: record.digest().to_vec(),
            version: 1,
            record: record.encode(),
            parts: Vec::new(),
            lists: Vec::new(),
            lists_moved: false,
            due: Some(record.end()),
            due_moved: false,
            columns: Columns { state: "used", ..Columns::default() },
        };
        Engine::insert(self, write).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        Engine::purge(self, Table::Replays, now, limit).await
    }
}

/// Returns the key of the last purge in the table of replays. [`Replay::new`] never produces it, since what it hashes
/// begins with a length.
fn key_of_last_purge() -> Vec<u8> {
    Digest::of(b"last purge").bytes().to_vec()
}

/// Returns a row without a due time, which no purge removes.
fn write_of_last_purge(record: LastPurge) -> Write {
    Write {
        table: Table::Replays,
        key: key_of_last_purge(),
        version: record.version(),
        record: record.encode(),
        parts: Vec::new(),
        lists: Vec::new(),
        lists_moved: false,
        due: None,
        due_moved: false,
        columns: Columns { state: "purged", ..Columns::default() },
    }
}

#[async_trait]
impl<E: Engine> PurgeStore for E {
    fn reads_settled(&self) -> bool {
        Engine::reads_settled(self)
    }

    async fn find(&self) -> Result<Option<Arc<LastPurge>>, StoreError> {
        let key = key_of_last_purge();
        let bytes = Engine::find(self, Table::Replays, &key, Part::Record).await?;
        bytes.map(|bytes| decoded(&key, LastPurge::decode(&bytes))).transpose()
    }

    async fn insert(&self, record: LastPurge) -> Result<Insertion, StoreError> {
        Engine::insert(self, write_of_last_purge(record)).await
    }

    async fn replace(&self, version: u32, record: LastPurge) -> Result<Replacement, StoreError> {
        Engine::replace(self, version, write_of_last_purge(record)).await
    }

    async fn confirm(&self, record: LastPurge) -> Result<Replacement, StoreError> {
        Engine::confirm(self, write_of_last_purge(record)).await
    }
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
    fn reads_settled(&self) -> bool {
        Engine::reads_settled(self)
    }

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
