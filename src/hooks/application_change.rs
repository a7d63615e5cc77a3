//! What happened to an application.

use crate::base::subject::Subject;
use crate::model::client::Privileges;

/// What was done to an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ApplicationChange<'a> {
    /// It was submitted, or submitted again before it was approved.
    Submitted,
    /// It was approved.
    Approved,
    /// A change of an approved application was proposed.
    ChangeProposed,
    /// A proposed change was approved.
    ChangeApproved,
    /// A proposed change was rejected; the approved version stays in force.
    ChangeRejected,
    /// It was rejected.
    Rejected,
    /// It was suspended.
    Suspended,
    /// It was resumed.
    Resumed,
    /// Its privileges were set.
    PrivilegesSet {
        /// The previous privileges.
        old: Privileges,
        /// The new privileges.
        new: Privileges,
    },
    /// Scopes, resources, grant types or redirect URIs were removed.
    Reduced,
    /// Its owner made the first secret.
    SecretClaimed,
    /// It got a further secret.
    SecretRotated,
    /// Its older secret was revoked.
    PreviousSecretRevoked,
    /// All its secrets were ended.
    SecretsEnded,
    /// Its public keys were replaced.
    KeysReplaced,
    /// It was given to another owner.
    Transferred {
        /// The previous owner; `None` if the client registered itself.
        from: Option<&'a Subject>,
        /// The new owner.
        to: &'a Subject,
    },
    /// All its grants were revoked.
    GrantsRevoked,
    /// It was deleted.
    Deleted,
    /// A first-party client was created, or changed to match its description.
    Ensured,
    /// A client registered itself [RFC 7591].
    Registered,
    /// A client was stored from its metadata document, or was changed because its document changed.
    DocumentStored,
    /// An unreviewed client that registered itself or has a metadata document was evicted, because another one needed its
    /// place or its user approved more of them than one user may ([`Limits::unreviewed_clients`]).
    ///
    /// [`Limits::unreviewed_clients`]: crate::config::Limits::unreviewed_clients
    Evicted,
    /// A client that registered itself replaced its registration [RFC 7592 section 2.2].
    Updated,
    /// An initial access token was created [RFC 7591 section 3]. The event's client is the token's id.
    InitialAccessTokenMade,
    /// An initial access token was ended before its expiry.
    InitialAccessTokenEnded,
}

impl ApplicationChange<'_> {
    /// The name of the event for it.
    pub(super) const fn event_name(self) -> &'static str {
        match self {
            Self::Submitted => "application_submitted",
            Self::Approved => "application_approved",
            Self::ChangeProposed => "application_change_proposed",
            Self::ChangeApproved => "application_change_approved",
            Self::ChangeRejected => "application_change_rejected",
            Self::Rejected => "application_rejected",
            Self::Suspended => "application_suspended",
            Self::Resumed => "application_resumed",
            Self::PrivilegesSet { .. } => "privileges_set",
            Self::Reduced => "application_reduced",
            Self::SecretClaimed => "secret_claimed",
            Self::SecretRotated => "secret_rotated",
            Self::PreviousSecretRevoked => "previous_secret_revoked",
            Self::SecretsEnded => "secrets_ended",
            Self::KeysReplaced => "keys_replaced",
            Self::Transferred { .. } => "application_transferred",
            Self::GrantsRevoked => "grants_revoked",
            Self::Deleted => "application_deleted",
            Self::Ensured => "client_ensured",
            Self::Registered => "client_registered",
            Self::DocumentStored => "client_document_stored",
            Self::Evicted => "client_evicted",
            Self::Updated => "application_updated",
            Self::InitialAccessTokenMade => "initial_access_token_made",
            Self::InitialAccessTokenEnded => "initial_access_token_ended",
        }
    }
}
