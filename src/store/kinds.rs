//! The kinds of records, and what a store needs to know about each.

use std::fmt;
use std::hash::Hash;

use crate::clock::Timestamp;
use crate::model::codec::DecodeError;
use crate::model::id::{AuthorizationId, GrantId, PushedRequestId};
use crate::model::subject::Subject;
use crate::model::{Authorization, Grant, LastPurge, PushedRequest, Replay};
use crate::store::table::{Columns, Ended, Table};

/// Calls a macro with every kind of record, each under the name of its store in [`Stores`](crate::store::Stores).
macro_rules! kinds {
    ($then:ident) => {
        $then! {
            codes: Authorization,
            tokens: Grant,
            pushed_requests: PushedRequest,
            replays: Replay,
            last_purge: LastPurge,
        }
    };
}

pub(crate) use kinds;

/// A kind of record, as a [`RecordStore`](crate::store::RecordStore) sees it: bytes under a key, with a version.
///
/// The server defines all kinds: [`Authorization`], [`Grant`], [`PushedRequest`], [`Replay`] and [`LastPurge`]. A store
/// implements [`RecordStore`](crate::store::RecordStore) once for `R: Record`.
pub trait Record: Kind + Clone + fmt::Debug + PartialEq + Send + Sync + 'static {
    /// The primary key. Keys are compared, and lists are sorted, by their bytes.
    type Key: AsRef<[u8]> + Clone + fmt::Debug + Hash + Ord + Send + Sync + 'static;

    /// The table for this kind, whose keys are its own.
    const TABLE: Table;

    /// Returns the primary key.
    fn key(&self) -> &Self::Key;

    /// Returns the version, which the next write of the record must name.
    fn version(&self) -> u32;

    /// Returns the user whose list the record is on; a record without a user is on no list. It never changes.
    fn subject(&self) -> Option<&Subject>;

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

    /// Returns whether the record may be removed much sooner than its previous version.
    fn is_due_sooner(&self) -> bool;

    /// Returns the values of the columns that operators query.
    fn columns(&self) -> Columns;
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

    fn subject(&self) -> Option<&Subject> {
        self.subject()
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

    fn is_due_sooner(&self) -> bool {
        false
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

    fn subject(&self) -> Option<&Subject> {
        self.subject()
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

/// It has no user, so it is on no list.
impl Record for PushedRequest {
    type Key = PushedRequestId;

    const TABLE: Table = Table::PushedRequests;

    fn key(&self) -> &PushedRequestId {
        &self.id
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn subject(&self) -> Option<&Subject> {
        None
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

    fn is_due_sooner(&self) -> bool {
        false
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

/// It is inserted and never replaced, and it is on no list.
impl Record for Replay {
    type Key = [u8; 32];

    const TABLE: Table = Table::Replays;

    fn key(&self) -> &[u8; 32] {
        self.digest()
    }

    fn version(&self) -> u32 {
        1
    }

    fn subject(&self) -> Option<&Subject> {
        None
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

    fn is_due_sooner(&self) -> bool {
        false
    }

    fn columns(&self) -> Columns {
        Columns { state: "used", ..Columns::default() }
    }
}

/// A store has one such record. It is never purged, and it is on no list.
impl Record for LastPurge {
    type Key = [u8; 4];

    const TABLE: Table = Table::LastPurge;

    fn key(&self) -> &[u8; 4] {
        &Self::KEY
    }

    fn version(&self) -> u32 {
        self.version()
    }

    fn subject(&self) -> Option<&Subject> {
        None
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

    fn is_due_sooner(&self) -> bool {
        false
    }

    fn columns(&self) -> Columns {
        Columns { state: "purged", ..Columns::default() }
    }
}
