//! The type of a client, and where it runs.

use crate::model::client::grant_type::GrantTypes;

/// Whether a client can keep a secret [RFC 6749 section 2.1].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ClientType {
    /// It can, and authenticates with it.
    Confidential,
    /// It cannot: PKCE and rotation protect it instead.
    Public,
}

/// Where an application runs [RFC 8252 section 8.4].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ApplicationType {
    /// On a server.
    Web,
    /// On its user's device.
    Native,
}

impl ApplicationType {
    /// Returns the value of `application_type`: `web` or `native`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::Native => "native",
        }
    }
}

/// The rule of [`Client::counts_as_public`](crate::Client::counts_as_public), for forms too.
///
/// A native application with a key counts as public. If each installation registers a key of its own, it is a
/// confidential client [RFC 8252 section 8.4]. If every copy has the same one, the key proves no more than a shared
/// secret. The server cannot distinguish the two.
pub(crate) fn counts_as_public(
    client_type: ClientType,
    application_type: ApplicationType,
    grant_types: GrantTypes,
) -> bool {
    client_type == ClientType::Public || application_type == ApplicationType::Native || grant_types.count_as_public()
}
