//! The records of applications and their logos, authorizations, grants, pushed requests, device requests and their user
//! codes, replays, initial access tokens and the last purge. They contain digests of secrets, never a secret that a
//! client presents.

pub mod application;
mod authorization;
pub mod client;
pub mod client_metadata;
mod destination;
mod device_request;
#[cfg(test)]
pub(crate) mod fixtures;
mod grant;
pub(crate) mod grant_data;
mod grant_encoding;
mod initial_token;
mod last_purge;
pub(crate) mod members;
mod pairs;
pub mod protected_resource;
mod pushed_request;
pub(crate) mod record;
pub mod redirect_uri;
mod replay;
pub(crate) mod sign_in;
pub(crate) mod target_uri;
pub(crate) mod terms;
pub(crate) mod user_code;

use std::time::Duration;

pub use self::authorization::Authorization;
pub(crate) use self::authorization::{GivenAnswer, PushedFrom, RETENTION, SAME_ANSWER, STATE_BYTES, Stage};
pub(crate) use self::destination::{Destination, DeviceFrom, Redirection};
pub use self::device_request::DeviceRequest;
pub(crate) use self::device_request::{DeviceDecision, USER_AGENT_BYTES};
pub use self::grant::{Grant, Revocation, RevocationReason};
pub use self::initial_token::InitialToken;
pub use self::last_purge::LastPurge;
pub(crate) use self::pairs::{
    AccessRecord, GraceEnds, OwnAccess, Pairs, Placed, RETAINED, RefreshRecord, Restrictions, SupersededPair, TokenPair,
};
pub use self::pushed_request::PushedRequest;
pub(crate) use self::pushed_request::{VISITS, Visit};
pub(crate) use self::replay::MAX_JTI_BYTES;
pub use self::replay::Replay;
pub use self::user_code::UserCodeRecord;
pub use application::logo::ApplicationLogo;

/// A store applies a write within this time of the call, or never.
pub(crate) const WRITE_BOUND: Duration = Duration::from_secs(60 * 60);

/// How long the place of a code is kept after the code expired. For one hour a late insert of its grant may still be
/// applied, and clocks may differ by another hour.
pub(crate) const PLACE_KEPT: Duration = Duration::from_secs(2 * WRITE_BOUND.as_secs());

const _: () = assert!(RETENTION.as_secs() >= WRITE_BOUND.as_secs(), "a late insert would restore what was purged");
