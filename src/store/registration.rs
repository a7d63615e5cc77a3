//! What a registry is given to write.

use std::sync::Arc;

use crate::client::Client;
use crate::client::application::{Application, Logo};

/// What is written of one application.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Registration {
    /// What every request reads; its id is the key, its version the number of this state.
    pub client: Client,
    /// The form and its review.
    pub application: Application,
    /// What happens to the logo in force.
    pub logo: LogoWrite,
    /// What happens to the logo that is proposed.
    pub proposed_logo: LogoWrite,
}

impl Registration {
    /// A write that leaves both logos as they are.
    #[must_use]
    pub const fn new(client: Client, application: Application) -> Self {
        Self { client, application, logo: LogoWrite::Keep, proposed_logo: LogoWrite::Keep }
    }
}

/// What a write does to one logo.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a store has to carry out each of them, whatever comes")]
pub enum LogoWrite {
    /// Leaves it as it is.
    Keep,
    /// Removes it.
    Clear,
    /// Puts this one in its place.
    Put(Arc<Logo>),
}
