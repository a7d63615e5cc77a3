//! What the application of a client that registered itself has beside every other.

use crate::client::metadata::MoreMetadata;
use crate::clock::Timestamp;

/// The part of an application whose client registered itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenApplication {
    /// Its place among the clients that nobody reviewed; `None` once it is reviewed.
    pub(crate) slot: Option<u32>,
    /// Whether a user ever approved the client.
    pub(crate) is_used: bool,
    /// From when the client counts as unknown and may be removed.
    pub(crate) gone_at: Option<Timestamp>,
    pub(crate) more: MoreMetadata,
}
