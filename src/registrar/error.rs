//! Why an application is not taken in, decided or changed.

use crate::client::ClientState;
use crate::client::application::FieldError;
use crate::store::StoreError;

/// Why the registrar refused; its text carries nothing that was submitted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistrarError {
    /// The application was changed after the reviewer read it: it has to be read again.
    #[error("the application was changed since it was read")]
    ChangedMeanwhile,
    /// Fields are refused: which ones, and why.
    #[error("refused: {}", listed(.0))]
    Invalid(Vec<FieldError>),
    /// There is no application of that id.
    #[error("there is no such application")]
    NotFound,
    /// The application is approved, and no change of it awaits review.
    #[error("the application has no change that awaits review")]
    NothingProposed,
    /// A public client has no secret [RFC 6749 section 2.1], so it proves nothing at introspection either. Without
    /// a secret of its own, as in a native application, it may not keep its refresh token
    /// ([`RefreshRotation::Keep`](crate::RefreshRotation::Keep)).
    #[error("a public client has no secret, and a native application none of its own")]
    PublicClient,
    /// Scopes or resources are to be approved that the application did not ask for.
    #[error("the approval has scopes or resources that were not asked for")]
    ScopesNotAsked,
    /// The store failed; the change may or may not have taken effect.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The application stands where this cannot be done.
    #[error("the application is {}", word(*.0))]
    WrongState(ClientState),
}

/// The record was changed as often as its version can count.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the application's versions are used up")]
pub(super) struct VersionsUsedUp;

impl From<VersionsUsedUp> for RegistrarError {
    fn from(used_up: VersionsUsedUp) -> Self {
        Self::Store(StoreError::permanent(used_up))
    }
}

fn listed(errors: &[FieldError]) -> String {
    errors.iter().map(FieldError::to_string).collect::<Vec<_>>().join("; ")
}

const fn word(state: ClientState) -> &'static str {
    match state {
        ClientState::Pending => "pending",
        ClientState::Approved => "approved",
        ClientState::Rejected => "rejected",
        ClientState::Suspended => "suspended",
    }
}
