//! Errors of the registrar.

use std::fmt;

use crate::base::clock::Timestamp;
use crate::base::debug_as_text;
use crate::error::Reason;
use crate::model::application::{Field, FieldError};
use crate::model::client::{ClientState, MustAsk};
use crate::model::client_metadata::MetadataError;
use crate::store::StoreError;

/// An error of the registrar.
///
/// Error texts contain nothing of a submitted form except what [`FieldError`] allows. [`Extends`](Self::Extends) names
/// what an administrator passed, and [`MustAsk`](Self::MustAsk) a redirect URI that was accepted before.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RegistrarError {
    /// The application was changed after the caller read it: read it again.
    #[error("the application was changed since it was read")]
    ChangedMeanwhile,
    /// Your service describes the client ([`ensure_client`](crate::Registrar::ensure_client)). Change the description
    /// instead: the next start would undo this step.
    #[error("the client is described by the server itself: change the description that it is started with")]
    FirstParty,
    /// The update that a client sent for its own registration was refused [RFC 7592 section 2.2]. Only the client
    /// configuration endpoint uses this variant; no public method of the registrar returns it.
    #[error("the metadata of the client was refused")]
    Metadata(#[from] MetadataError),
    /// Fields are refused: which ones, and why.
    #[error("refused: {}", joined(.0))]
    Invalid(Vec<FieldError>),
    /// There is no application of that id, or the given owner does not own it.
    #[error("there is no such application")]
    NotFound,
    /// [`OwnClient::ensure`](crate::registration::OwnClient::ensure) failed for this client.
    #[error("the client {client:?}: {error}")]
    OwnClient {
        /// The id with which it was described.
        client: String,
        /// Why.
        error: Box<Self>,
    },
    /// The client authenticates with its key and has no secret [RFC 7523 section 2.2]. [Replace its
    /// keys](crate::Registrar::replace_own_keys) instead.
    #[error("the client authenticates with its key and has no secret: replace its keys instead")]
    NoSecret,
    /// There is no place for one more unreviewed client ([`Limits::unreviewed_clients`]): all that were read are in
    /// use.
    ///
    /// [`Limits::unreviewed_clients`]: crate::config::Limits::unreviewed_clients
    #[error("too many clients have registered themselves and are in use")]
    NoRoom,
    /// The application is approved, and no change of it awaits review.
    #[error("the application has no change that awaits review")]
    NothingProposed,
    /// A client of that id was submitted. Your service does not describe it.
    #[error("an application of that id was submitted: describe the client under another id")]
    NotFirstParty,
    /// The step needs a secret. A public client has none [RFC 6749 section 2.1], and every copy of a native application
    /// contains the same one. Neither may introspect all tokens or keep its refresh token
    /// ([`RefreshRotation::Keep`](crate::client::RefreshRotation::Keep)), and a public client has no secret to change.
    #[error(
        "the client is public or native and cannot keep a secret: only a confidential web application may have this"
    )]
    PublicClient,
    /// The id belonged to a client that was deleted. Tokens for it may still be in use.
    #[error("the id belonged to a client that was deleted; it can be reused from {until} on")]
    Reserved {
        /// The time from which the id can be reused.
        until: Timestamp,
    },
    /// The users of the client must be asked for consent each time, so it cannot have this
    /// [`AskConsent`](crate::client::AskConsent).
    #[error(transparent)]
    MustAsk(#[from] MustAsk),
    /// The approval contains scopes or resources that the application did not request.
    #[error("the approval has scopes or resources that the application did not request")]
    ScopesNotAsked,
    /// The client already has its first secret.
    #[error("the application has a secret: rotate_secret makes the next one")]
    SecretExists,
    /// The store failed; the change may or may not have taken effect.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The reduction would add something that was not approved. Only a submission and its review can add it.
    #[error("not approved: {}; only a submission and its review can add it", joined(.0))]
    Extends(Vec<Extension>),
    /// The step is not possible in this state of the application.
    #[error("the application is {}", word(*.0))]
    WrongState(ClientState),
}

debug_as_text!(RegistrarError);

impl From<RegistrarError> for Reason {
    /// Maps the failure of a step to the error of the request that needed it.
    fn from(error: RegistrarError) -> Self {
        match error {
            RegistrarError::NoRoom => Self::TooManyClients,
            RegistrarError::Metadata(error) => Self::ClientMetadata(error),
            RegistrarError::NotFound => Self::UnknownClient,
            RegistrarError::Store(error) => Self::Store(error),
            RegistrarError::OwnClient { error, .. } => (*error).into(),
            error @ (RegistrarError::ChangedMeanwhile
            | RegistrarError::FirstParty
            | RegistrarError::Invalid(_)
            | RegistrarError::MustAsk(_)
            | RegistrarError::NoSecret
            | RegistrarError::NothingProposed
            | RegistrarError::NotFirstParty
            | RegistrarError::PublicClient
            | RegistrarError::Reserved { .. }
            | RegistrarError::ScopesNotAsked
            | RegistrarError::SecretExists
            | RegistrarError::Extends(_)
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

/// A value in a [`Reduction`](crate::registration::Reduction) that the application does not have; displayed as
/// `scopes: "repo-delete:rw"`. [`RegistrarError::Extends`] lists them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extension {
    /// The field of the reduction that has the value.
    pub field: Field,
    /// The value that the application lacks: a scope, a resource, a grant type or a redirect URI.
    pub added: String,
}

impl Extension {
    pub(super) fn new(field: Field, added: impl Into<String>) -> Self {
        Self { field, added: added.into() }
    }
}

impl fmt::Display for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.field, self.added)
    }
}
