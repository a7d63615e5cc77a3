//! What a reviewer grants, and what comes of it.

use crate::id::ClientId;
use crate::secret::ClientSecret;

/// What a reviewer grants to an application; by default what was asked for.
///
/// On a change, what an earlier approval demanded or gave stays and this one adds to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approval {
    pub(super) scopes: Option<String>,
    pub(super) require_pkce: bool,
    pub(super) trusted: bool,
    pub(super) may_introspect: bool,
}

impl Approval {
    /// Approves these scopes only, written as in a request [RFC 6749 section 3.3]; the application must
    /// have asked for all of them.
    #[must_use]
    pub fn scopes(self, wire: impl Into<String>) -> Self {
        Self { scopes: Some(wire.into()), ..self }
    }

    /// Demands PKCE for every authorization of the client [RFC 7636].
    #[must_use]
    pub fn require_pkce(self) -> Self {
        Self { require_pkce: true, ..self }
    }

    /// Makes the client a trusted one: see [`Client::is_trusted`](crate::Client::is_trusted).
    #[must_use]
    pub fn trusted(self) -> Self {
        Self { trusted: true, ..self }
    }

    /// Makes a confidential client a resource server: see
    /// [`Client::may_introspect`](crate::Client::may_introspect).
    #[must_use]
    pub fn may_introspect(self) -> Self {
        Self { may_introspect: true, ..self }
    }
}

/// An approval that took effect.
#[derive(Clone, Debug)]
pub struct Approved {
    pub(super) client_id: ClientId,
    pub(super) client_secret: Option<ClientSecret>,
    pub(super) is_change: bool,
}

impl Approved {
    /// Returns the id of the client.
    #[must_use]
    pub const fn client_id(&self) -> &ClientId {
        &self.client_id
    }

    /// Returns the secret that a first approval of a confidential client made; it is shown this once.
    #[must_use]
    pub const fn client_secret(&self) -> Option<&ClientSecret> {
        self.client_secret.as_ref()
    }

    /// Tells whether a change of an approved application was approved, not a first submission.
    #[must_use]
    pub const fn is_change(&self) -> bool {
        self.is_change
    }
}
