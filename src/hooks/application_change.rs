//! What happened to an application.

use crate::base::id::Subject;
use crate::model::client::Privileges;

/// One row a change: what was done, and the name of the event for it.
macro_rules! changes {
    (
        $(#[$attribute:meta])*
        pub enum $enum:ident<'a> {
            $(
                $(#[$about:meta])*
                $change:ident $({ $($(#[$about_field:meta])* $field:ident: $type:ty,)+ })? = $name:literal,
            )+
        }
    ) => {
        $(#[$attribute])*
        pub enum $enum<'a> {
            $($(#[$about])* $change $({ $($(#[$about_field])* $field: $type,)+ })?,)+
        }

        impl $enum<'_> {
            pub(super) const fn event_name(self) -> &'static str {
                match self {
                    $(Self::$change { .. } => $name,)+
                }
            }
        }
    };
}

changes! {
    /// What was done to an application.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum ApplicationChange<'a> {
        /// It was submitted, or submitted again before it was approved.
        Submitted = "application_submitted",
        /// It was approved.
        Approved = "application_approved",
        /// A change of an approved application was proposed.
        ChangeProposed = "application_change_proposed",
        /// A proposed change was approved.
        ChangeApproved = "application_change_approved",
        /// A proposed change was rejected; the approved version stays in force.
        ChangeRejected = "application_change_rejected",
        /// It was rejected.
        Rejected = "application_rejected",
        /// It was suspended.
        Suspended = "application_suspended",
        /// It was resumed.
        Resumed = "application_resumed",
        /// Its privileges were set.
        PrivilegesSet {
            /// The previous privileges.
            old: Privileges,
            /// The new privileges.
            new: Privileges,
        } = "privileges_set",
        /// The data that your service keeps with it was replaced.
        DataSet = "client_data_set",
        /// Scopes, resources, grant types or redirect URIs were removed.
        Reduced = "application_reduced",
        /// Its owner made the first secret.
        SecretClaimed = "secret_claimed",
        /// It got a further secret.
        SecretRotated = "secret_rotated",
        /// Its older secret was revoked.
        PreviousSecretRevoked = "previous_secret_revoked",
        /// All its secrets were ended.
        SecretsEnded = "secrets_ended",
        /// Its public keys were replaced.
        KeysReplaced = "keys_replaced",
        /// It was given to another owner.
        Transferred {
            /// The previous owner; `None` if the client registered itself.
            from: Option<&'a Subject>,
            /// The new owner.
            to: &'a Subject,
        } = "application_transferred",
        /// All its grants were revoked.
        GrantsRevoked = "grants_revoked",
        /// It was deleted.
        Deleted = "application_deleted",
        /// A first-party client was created, or changed to match its description.
        Ensured = "client_ensured",
        /// A client registered itself [RFC 7591].
        Registered = "client_registered",
        /// A client was stored from its metadata document, or was changed because its document changed.
        DocumentStored = "client_document_stored",
        /// An unreviewed client that registered itself or has a metadata document was evicted, because another one
        /// needed its place or its user approved more of them than one user may ([`Limits::unreviewed_clients`]).
        ///
        /// [`Limits::unreviewed_clients`]: crate::config::Limits::unreviewed_clients
        Evicted = "client_evicted",
        /// A client that registered itself replaced its registration [RFC 7592 section 2.2].
        Updated = "application_updated",
        /// An initial access token was created [RFC 7591 section 3]. The event's client is the token's id.
        InitialAccessTokenMade = "initial_access_token_made",
        /// An initial access token was ended before its expiry.
        InitialAccessTokenEnded = "initial_access_token_ended",
    }
}
