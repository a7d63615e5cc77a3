//! The settings that applications are checked against.

use std::time::Duration;

use crate::model::application::RegistrationLimits;
use crate::model::client::{GrantTypes, KeyRules};
use crate::model::redirect_uri::RedirectUriPolicy;
use crate::scope::ScopeCatalog;

/// The part of the configuration that registrations are checked against, built once. The checks are above, in
/// `registration`.
#[derive(Clone, Debug)]
pub(crate) struct RegistrationRules {
    pub(crate) catalog: ScopeCatalog,
    pub(crate) limits: RegistrationLimits,
    pub(crate) redirect_uris: RedirectUriPolicy,
    pub(crate) public_clients: bool,
    /// Whether users are asked for consent each time, whatever a client has.
    pub(crate) always_asks: bool,
    pub(crate) grant_types: GrantTypes,
    pub(crate) keys: KeyRules,
    /// How long the id of a deleted client is kept.
    pub(crate) reservation: Duration,
}
