//! Records as a server would write them, for tests of stores.
//!
//! Every call draws a new id, and names and digests that no other call draws, so that tests can share a
//! database. Rows are made now; when they may be purged is the test's choice.

mod authorization;
mod grant;
mod hostile;
mod registration;

pub use crate::testing::draw::subject;
pub use authorization::{authorization, with_code};
pub(super) use authorization::{authorizations_of_every_kind, huge_authorization};
pub use grant::{grant, refreshed, revoked};
pub(super) use grant::{grants_of_every_kind, huge_grant};
pub(super) use hostile::{client_ids_alike, subjects_alike};
pub use registration::{approved, registration};
pub(super) use registration::{
    changed, huge_registration, in_state, logo, number_of, numbered, numbered_logo, registration_of,
    registrations_of_every_kind, under, with_new_logos,
};
