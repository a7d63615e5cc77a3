//! What a store needs to know about each kind of record.

use std::borrow::Cow;
use std::fmt;
use std::hash::Hash;

use crate::clock::Timestamp;
use crate::model::application::Application;
use crate::model::client::ClientState;
use crate::model::codec::DecodeError;
use crate::model::id::{AuthorizationId, ClientId, GrantId, LogoId, PushedRequestId};
use crate::model::{ApplicationLogo, Authorization, Grant, InitialToken, LastPurge, PushedRequest, Replay};
use crate::store::table::{Columns, Ended, Table};

/// A kind of record, as a [`RecordStore`](crate::store::RecordStore) sees it: bytes under a key, with a version.
///
/// The server defines all kinds: [`Application`], [`ApplicationLogo`], [`Authorization`], [`Grant`], [`InitialToken`],
/// [`LastPurge`], [`PushedRequest`] and [`Replay`]. A store implements [`RecordStore`](crate::store::RecordStore) once for
/// `R: Record`.
pub trait Record: Kind + Clone + fmt::Debug + PartialEq + Send + Sync + 'static {
    /// The primary key. Keys are compared, and lists are sorted, by their bytes.
    type Key: AsRef<[u8]> + Clone + fmt::Debug + Hash + Ord + Send + Sync + 'static;

    /// The table for this kind, whose keys are its own.
    const TABLE: Table;

    /// Returns the primary key.
    fn key(&self) -> &Self::Key;

    /// Returns the version, which the next write of the record must name.
    fn version(&self) -> u32;

    /// Returns the names of the lists that the record is on, each at most 261 bytes. [`Table::lists`] says how many there
    /// may be.
    fn lists(&self) -> Vec<Cow<'_, str>> {
        Vec::new()
    }

    /// Returns the time from which a purge may remove the record; `None` if it stays.
    fn purge_after(&self) -> Option<Timestamp>;

    /// Encodes the record as bytes.
    fn encode(&self) -> Vec<u8>;

    /// Decodes a record that [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the bytes are not such a record, or were written by an unknown release.
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError>;
}

/// What the server itself needs of a kind.
#[expect(unnameable_types, reason = "it keeps other crates from adding kinds")]
pub trait Kind {
    fn set_version(&mut self, version: u32);

    /// Returns whether the record may be removed much sooner than its previous version, or that one stayed.
    fn is_due_sooner(&self) -> bool {
        false
    }

    /// Returns the values of the columns that operators query.
    fn columns(&self) -> Columns;
}

impl Record for Application {
    type Key = ClientId;

    const TABLE: Table = Table::Applications;

    fn key(&self) -> &ClientId {
        self.id()
    }

    fn version(&self) -> u32 {
        self.version()
    }

    fn lists(&self) -> Vec<Cow<'_, str>> {
        self.filters().map(|filter| filter.key().into()).collect()
    }

    fn purge_after(&self) -> Option<Timestamp> {
        self.purge_after()
    }

    fn encode(&self) -> Vec<u8> {
        self.encode()
    }

    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::decode(bytes)
    }
}

impl Kind for Application {
    fn set_version(&mut self, version: u32) {
        self.client_mut().version = version;
    }

    fn is_due_sooner(&self) -> bool {
        self.purge_after().is_some()
    }

    fn columns(&self) -> Columns {
        Columns {
            client: Some(self.id().clone()),
            subject: self.owner.clone(),
            created: Some(self.submitted),
            state: match self.state() {
                ClientState::Pending => "pending",
                ClientState::Approved => "approved",
                ClientState::Rejected => "rejected",
                ClientState::Suspended => "suspended",
                ClientState::Deleted => "deleted",
            },
            ended: None,
        }
    }
}

impl Record for ApplicationLogo {
    type Key = LogoId;

    const TABLE: Table = Table::ApplicationLogos;

    fn key(&self) -> &LogoId {
        &self.id
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn purge_after(&self) -> Option<Timestamp> {
        self.end
    }

    fn encode(&self) -> Vec<u8> {
        self.encode()
    }

    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::decode(bytes)
    }
}

impl Kind for ApplicationLogo {
    fn set_version(&mut self, version: u32) {
        self.version = version;
    }

    fn is_due_sooner(&self) -> bool {
        self.end.is_some()
    }

    fn columns(&self) -> Columns {
        Columns { state: if self.end.is_none() { "named" } else { "unnamed" }, ..Columns::default() }
    }
}

impl Record for Authorization {
    type Key = AuthorizationId;

    const TABLE: Table = Table::Authorizations;

    fn key(&self) -> &AuthorizationId {
        &self.id
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn lists(&self) -> Vec<Cow<'_, str>> {
        self.subject().map(|subject| subject.as_str().into()).into_iter().collect()
    }

    fn purge_after(&self) -> Option<Timestamp> {
        Some(self.purge_after())
    }

    fn encode(&self) -> Vec<u8> {
        self.encode()
    }

    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::decode(bytes)
    }
}

impl Kind for Authorization {
    fn set_version(&mut self, version: u32) {
        self.version = version;
    }

    fn columns(&self) -> Columns {
        Columns {
            client: Some(self.client.clone()),
            subject: self.subject().cloned(),
            created: Some(self.created),
            state: self.stage.as_str(),
            ended: None,
        }
    }
}

impl Record for Grant {
    type Key = GrantId;

    const TABLE: Table = Table::Grants;

    fn key(&self) -> &GrantId {
        &self.id
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn lists(&self) -> Vec<Cow<'_, str>> {
        self.subject().map(|subject| subject.as_str().into()).into_iter().collect()
    }

    fn purge_after(&self) -> Option<Timestamp> {
        Some(self.purge_after())
    }

    fn encode(&self) -> Vec<u8> {
        self.encode()
    }

    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::decode(bytes)
    }
}

impl Kind for Grant {
    fn set_version(&mut self, version: u32) {
        self.version = version;
    }

    fn is_due_sooner(&self) -> bool {
        self.revoked.is_some()
    }

    fn columns(&self) -> Columns {
        Columns {
            client: Some(self.client.clone()),
            subject: self.subject().cloned(),
            created: Some(self.created),
            state: if self.revoked.is_some() { "revoked" } else { "granted" },
            ended: self.revoked.map(|revoked| Ended { at: revoked.at, why: revoked.reason.as_str() }),
        }
    }
}

impl Record for InitialToken {
    type Key = ClientId;

    const TABLE: Table = Table::InitialTokens;

    fn key(&self) -> &ClientId {
        &self.id
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn purge_after(&self) -> Option<Timestamp> {
        Some(self.end)
    }

    fn encode(&self) -> Vec<u8> {
        self.encode()
    }

    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::decode(bytes)
    }
}

impl Kind for InitialToken {
    fn set_version(&mut self, version: u32) {
        self.version = version;
    }

    fn columns(&self) -> Columns {
        let state = if self.uses_left == 0 { "used_up" } else { "usable" };
        Columns { created: Some(self.made), state, ..Columns::default() }
    }
}

impl Record for PushedRequest {
    type Key = PushedRequestId;

    const TABLE: Table = Table::PushedRequests;

    fn key(&self) -> &PushedRequestId {
        &self.id
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn purge_after(&self) -> Option<Timestamp> {
        Some(self.purge_after())
    }

    fn encode(&self) -> Vec<u8> {
        self.encode()
    }

    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::decode(bytes)
    }
}

impl Kind for PushedRequest {
    fn set_version(&mut self, version: u32) {
        self.version = version;
    }

    fn columns(&self) -> Columns {
        Columns {
            client: Some(self.client.clone()),
            subject: None,
            created: Some(self.created),
            state: if self.is_used() { "used" } else { "pushed" },
            ended: None,
        }
    }
}

/// It is inserted and never replaced.
impl Record for Replay {
    type Key = [u8; 32];

    const TABLE: Table = Table::Replays;

    fn key(&self) -> &[u8; 32] {
        self.digest()
    }

    fn version(&self) -> u32 {
        1
    }

    fn purge_after(&self) -> Option<Timestamp> {
        Some(self.end())
    }

    fn encode(&self) -> Vec<u8> {
        self.encode()
    }

    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::decode(bytes)
    }
}

impl Kind for Replay {
    fn set_version(&mut self, _: u32) {}

    fn columns(&self) -> Columns {
        Columns { state: "used", ..Columns::default() }
    }
}

/// A store has one such record. It is never purged.
impl Record for LastPurge {
    type Key = [u8; 4];

    const TABLE: Table = Table::LastPurge;

    fn key(&self) -> &[u8; 4] {
        &Self::KEY
    }

    fn version(&self) -> u32 {
        self.version()
    }

    fn purge_after(&self) -> Option<Timestamp> {
        None
    }

    fn encode(&self) -> Vec<u8> {
        self.encode()
    }

    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::decode(bytes)
    }
}

impl Kind for LastPurge {
    fn set_version(&mut self, version: u32) {
        *self = Self::new(version, self.time());
    }

    fn columns(&self) -> Columns {
        Columns { state: "purged", ..Columns::default() }
    }
}
