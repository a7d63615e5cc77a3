//! What is remembered of a consent and of all that grew from it: digests, never secrets.

mod authorization;
mod grant;
mod grant_encoding;

pub use self::authorization::Authorization;
pub(crate) use self::authorization::{RETENTION, Stage};
pub use self::grant::{Grant, Revocation, RevocationReason};
pub(crate) use self::grant::{Pairs, TokenPair};
