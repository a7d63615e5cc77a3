//! The records of authorizations, grants, pushed requests, replays and the last purge. They contain digests of secrets,
//! never a secret that a client presents.

pub mod application;
mod authorization;
pub mod client;
pub mod client_metadata;
pub(crate) mod codec;
mod grant;
mod grant_encoding;
pub mod id;
mod last_purge;
mod pairs;
pub mod protected_resource;
mod pushed_request;
pub mod redirect_uri;
mod replay;
pub mod subject;

use std::time::Duration;

use crate::clock::Timestamp;
use crate::model::codec::DecodeError;
use crate::model::id::ClientId;
use crate::model::subject::Subject;

pub use self::authorization::Authorization;
pub(crate) use self::authorization::{PushedFrom, RETENTION, STATE_BYTES, Stage};
pub use self::grant::{Grant, Revocation, RevocationReason};
pub use self::last_purge::LastPurge;
pub(crate) use self::pairs::{
    AccessPart, FurtherAccess, GraceEnds, OwnAccess, Pairs, Placed, RETAINED, SupersededPair, TokenPair,
};
pub use self::pushed_request::PushedRequest;
pub(crate) use self::pushed_request::{VISITS, Visit};
pub(crate) use self::replay::MAX_JTI_BYTES;
pub use self::replay::Replay;

/// A store applies a write within this time of the call, or never.
pub(crate) const WRITE_BOUND: Duration = Duration::from_secs(60 * 60);

/// How long the place of a code is kept after the code expired. For one hour a late insert of its grant may still be
/// applied, and clocks may differ by another hour.
pub(crate) const PLACE_KEPT: Duration = Duration::from_secs(2 * WRITE_BOUND.as_secs());

const _: () = assert!(RETENTION.as_secs() >= WRITE_BOUND.as_secs(), "a late insert would restore what was purged");

/// What a store knows about an authorization, a grant or a pushed request.
pub(crate) trait Record: Sized + Send + Sync + 'static {
    fn key(&self) -> &[u8; 16];
    fn version(&self) -> u32;
    fn client(&self) -> &ClientId;
    /// Returns the user whose list the record is on; a record without a user is on no list.
    fn subject(&self) -> Option<&Subject>;
    fn created(&self) -> Timestamp;
    fn state(&self) -> &'static str;
    fn revoked(&self) -> Option<Revocation>;
    fn purge_after(&self) -> Timestamp;
    /// Returns whether the record may be removed much sooner than its previous version. By default, this is the case if
    /// it was revoked.
    fn is_due_sooner(&self) -> bool {
        self.revoked().is_some()
    }
    fn encode(&self) -> Vec<u8>;
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError>;
}

impl Record for Authorization {
    fn key(&self) -> &[u8; 16] {
        self.id.as_bytes()
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn client(&self) -> &ClientId {
        &self.client
    }

    fn subject(&self) -> Option<&Subject> {
        self.subject()
    }

    fn created(&self) -> Timestamp {
        self.created
    }

    fn state(&self) -> &'static str {
        self.stage.as_str()
    }

    fn revoked(&self) -> Option<Revocation> {
        None
    }

    fn purge_after(&self) -> Timestamp {
        self.purge_after()
    }

    fn encode(&self) -> Vec<u8> {
        self.encode()
    }

    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::decode(bytes)
    }
}

impl Record for Grant {
    fn key(&self) -> &[u8; 16] {
        self.id.as_bytes()
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn client(&self) -> &ClientId {
        &self.client
    }

    fn subject(&self) -> Option<&Subject> {
        self.subject()
    }

    fn created(&self) -> Timestamp {
        self.created
    }

    fn state(&self) -> &'static str {
        if self.revoked.is_some() { "revoked" } else { "granted" }
    }

    fn revoked(&self) -> Option<Revocation> {
        self.revoked
    }

    fn purge_after(&self) -> Timestamp {
        self.purge_after()
    }

    fn encode(&self) -> Vec<u8> {
        self.encode()
    }

    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::decode(bytes)
    }
}

impl Record for PushedRequest {
    fn key(&self) -> &[u8; 16] {
        self.id.as_bytes()
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn client(&self) -> &ClientId {
        &self.client
    }

    fn subject(&self) -> Option<&Subject> {
        None
    }

    fn created(&self) -> Timestamp {
        self.created
    }

    fn state(&self) -> &'static str {
        if self.is_used() { "used" } else { "pushed" }
    }

    fn revoked(&self) -> Option<Revocation> {
        None
    }

    fn purge_after(&self) -> Timestamp {
        self.purge_after()
    }

    fn encode(&self) -> Vec<u8> {
        self.encode()
    }

    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::decode(bytes)
    }
}
