//! Why an application is not taken in, decided or changed.

use crate::client::ClientState;
use crate::client::application::FieldError;
use crate::client::metadata::MetadataError;
use crate::clock::Timestamp;
use crate::error::Reason;
use crate::registrar::widening::Widening;
use crate::store::StoreError;

/// Why the registrar refused.
///
/// Texts carry nothing of a submitted form except what [`FieldError`] allows.
/// [`Widens`](Self::Widens) names what an administrator gave.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistrarError {
    /// The application was changed after the caller read it: read it again.
    #[error("the application was changed since it was read")]
    ChangedMeanwhile,
    /// The client is described by the embedder ([`ensure_client`](crate::Registrar::ensure_client)), who changes the
    /// description: the next start would undo this step.
    #[error("the client is described by the server itself: change the description that it is started with")]
    FirstParty,
    /// A client's replacement of its own registration was refused [RFC 7592 section 2.2]. Only the client configuration
    /// endpoint uses it; no public method of the registrar returns it.
    #[error("the metadata of the client was refused")]
    Metadata(#[from] MetadataError),
    /// Fields are refused: which ones, and why.
    #[error("refused: {}", joined(.0))]
    Invalid(Vec<FieldError>),
    /// There is no application of that id, or the owner who was named does not own it.
    #[error("there is no such application")]
    NotFound,
    /// The client authenticates with its key, and has no secret [RFC 7523 section 2.2]: its keys are
    /// [replaced](crate::Registrar::replace_own_keys) instead.
    #[error("the client authenticates with its key and has no secret: replace its keys instead")]
    NoSecret,
    /// As many clients as [`OpenClients::most`](crate::OpenClients::most) allows have registered themselves, and all that
    /// were looked at are in use.
    #[error("too many clients have registered themselves and are in use")]
    NoRoom,
    /// The application is approved, and no change of it awaits review.
    #[error("the application has no change that awaits review")]
    NothingProposed,
    /// A client of that id was submitted, and is none that the embedder describes.
    #[error("an application of that id was submitted: describe the client under another id")]
    NotFirstParty,
    /// A public client has no secret [RFC 6749 section 2.1], and the secret of a native application is in every copy of
    /// it: neither may introspect all tokens, or keep its refresh token
    /// ([`RefreshRotation::Keep`](crate::RefreshRotation::Keep)), and a public client has no secret to change.
    #[error(
        "a public client has no secret, and a native application none of its own: it has to be a confidential web application"
    )]
    PublicClient,
    /// The id belonged to a client that was deleted, and may still be in use somewhere.
    #[error("the id belonged to a client that was deleted; it is given again from {} on (seconds since 1970)", .until.seconds())]
    Reserved {
        /// From when the id can be given again.
        until: Timestamp,
    },
    /// Scopes or resources are to be approved that the application did not ask for.
    #[error("the approval has scopes or resources that were not asked for")]
    ScopesNotAsked,
    /// The first secret was made already.
    #[error("the application has a secret: rotate_secret makes the next one")]
    SecretExists,
    /// The store failed; the change may or may not have taken effect.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The resources of the application were replaced too often. Its grants refer to the lists of before, which may take
    /// 147 072 bytes in all, as much as four of the longest.
    /// [Withdraw its grants](crate::Registrar::withdraw_grants), so that those lists are dropped, and approve again.
    #[error("the application's resources were replaced too often: withdraw its grants, then approve again")]
    TooManyResourceLists,
    /// More is given than was approved: only a submission and its review give more.
    #[error("not approved: {}; only a submission and its review can add it", joined(.0))]
    Widens(Vec<Widening>),
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

impl From<RegistrarError> for Reason {
    /// What a request is told of a step that it needed.
    fn from(error: RegistrarError) -> Self {
        match error {
            RegistrarError::NoRoom => Self::TooManyClients,
            RegistrarError::Metadata(error) => Self::ClientMetadata(error),
            RegistrarError::NotFound => Self::UnknownClient,
            RegistrarError::Store(error) => Self::Store(error),
            error @ (RegistrarError::ChangedMeanwhile
            | RegistrarError::FirstParty
            | RegistrarError::Invalid(_)
            | RegistrarError::NoSecret
            | RegistrarError::NothingProposed
            | RegistrarError::NotFirstParty
            | RegistrarError::PublicClient
            | RegistrarError::Reserved { .. }
            | RegistrarError::ScopesNotAsked
            | RegistrarError::SecretExists
            | RegistrarError::TooManyResourceLists
            | RegistrarError::Widens(_)
            | RegistrarError::WrongState(_)) => Self::Store(StoreError::permanent(error)),
        }
    }
}

fn joined(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

const fn word(state: ClientState) -> &'static str {
    match state {
        ClientState::Pending => "pending",
        ClientState::Approved => "approved",
        ClientState::Rejected => "rejected",
        ClientState::Suspended => "suspended",
        ClientState::Deleted => "deleted",
    }
}
