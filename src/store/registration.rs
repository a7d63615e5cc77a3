//! The input of a registry's writes.

use std::sync::Arc;

use crate::model::application::{Application, Logo};
use crate::model::client::Client;

/// A write of one client with its application and logos.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Registration {
    /// The client, which every request reads. Its id is the key, its version the number of this state.
    pub client: Client,
    /// The form and its review.
    pub application: Application,
    /// What happens to the logo in force.
    pub logo: LogoWrite,
    /// What happens to the logo that is proposed.
    pub proposed_logo: LogoWrite,
}

impl Registration {
    /// Creates a write that leaves both logos unchanged.
    #[must_use]
    pub const fn new(client: Client, application: Application) -> Self {
        Self { client, application, logo: LogoWrite::Keep, proposed_logo: LogoWrite::Keep }
    }
}

/// What a write does to one logo.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a store must carry out each of them")]
pub enum LogoWrite {
    /// Leaves it unchanged.
    Keep,
    /// Removes it.
    Clear,
    /// Replaces it with this one.
    Put(Arc<Logo>),
}
