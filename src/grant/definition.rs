//! How a grant type is described.

use crate::config::Config;

/// A grant type, as the table in [`grant`](crate::grant) lists it.
pub(crate) struct Definition {
    /// The parameters that it reads, besides `grant_type` and those of the client.
    pub(crate) parameters: &'static [&'static str],
    /// Whether the server offers it under these settings.
    pub(crate) is_offered: fn(&Config) -> bool,
}
