//! The settings of registration: by form, by clients themselves, and by metadata documents.

use std::time::Duration;

use crate::model::application::RegistrationLimits;

/// The settings of registration: by form, by clients themselves, and by metadata documents.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RegistrationSettings {
    /// The limits of the registration form: see [`RegistrationLimits`] for the defaults.
    pub form: RegistrationLimits,
    /// Whether clients may register themselves at the registration endpoint [RFC 7591], and whether they need an
    /// initial access token for it; off in every profile.
    ///
    /// It needs a [`RegistrationPolicy`](crate::hooks::RegistrationPolicy), which decides about each of them, and a
    /// store for registrations. If it is on, the metadata has `registration_endpoint`.
    pub dynamic: DynamicRegistration,
    /// Whether a client id may be the https URL of a metadata document
    /// [draft-ietf-oauth-client-id-metadata-document]; off in every profile.
    ///
    /// It needs a [`Fetcher`](crate::fetch::Fetcher), a [`RegistrationPolicy`](crate::hooks::RegistrationPolicy), which
    /// decides about each of them, and a store for registrations. A client with a document has no secret, so it also
    /// needs [`public_clients`](crate::Config::public_clients), or
    /// [`AuthenticationMethod::PrivateKeyJwt`](crate::client::AuthenticationMethod::PrivateKeyJwt) among the
    /// [`client_authentication.methods`](crate::Config::client_authentication). The server's metadata then includes
    /// `client_id_metadata_document_supported`.
    ///
    /// A document is fetched only for a signed-in user: see [`Request::subject`](crate::wire::Request::subject). A
    /// pushed request has no user, so this is refused where
    /// [`pushed_requests`](crate::Config::pushed_requests) are `Required`.
    pub metadata_documents: bool,
    /// Accepts a document with `private_key_jwt` as that of a public client if it also lists `none`, and the server
    /// does not offer the method or the document's `token_endpoint_auth_signing_alg`; off, in the MCP profile on. The
    /// list is `token_endpoint_auth_methods_supported` [OpenID Connect Relying Party Metadata Choices 1.0]. The client
    /// then sends its id alone.
    ///
    /// A client whose document lists `none` is public in any case, and needs
    /// [`public_clients`](crate::Config::public_clients). Where the server offers `private_key_jwt`, the client must
    /// sign its requests too.
    pub none_beside_private_key_jwt: bool,
    /// Whether a client whose document lists `none` may sign assertions for the URL of the token endpoint instead of
    /// the issuer; off, in the MCP profile on. ChatGPT does so. It applies to the token and the revocation endpoint,
    /// and to assertions that expire within 600 s.
    ///
    /// # Security
    ///
    /// RFC 10070 section 4 forbids that audience: a malicious server can name this server's token endpoint as its own,
    /// and get an assertion that is accepted here. For a client that may also come without a key, that server gains
    /// nothing. Each code still needs PKCE, and each refresh token is rotated.
    pub token_url_audience: bool,
    /// What happens to scopes that the catalog or the policy does not admit, in requests of clients that registered
    /// themselves or have a metadata document [RFC 6749 section 3.3]; they are refused, in the MCP profile dropped.
    pub excess_scopes: ExcessScopes,
    /// Whether clients that register themselves may read, replace and delete their registration [RFC 7592]; off in
    /// every profile.
    ///
    /// The response to a registration then includes the address and the token for this. A client that registered
    /// earlier has neither. The [`RegistrationPolicy`](crate::hooks::RegistrationPolicy) also decides about
    /// replacements.
    pub management: bool,
    /// How long a client that no user has ever approved is kept; 604 800 s, which is 7 days. The minimum is 3600 s.
    ///
    /// Be generous: an application keeps using the id of a removed client, and its users see an error page.
    pub unused_lifetime: Duration,
}

impl Default for RegistrationSettings {
    fn default() -> Self {
        Self {
            form: RegistrationLimits::default(),
            dynamic: DynamicRegistration::Off,
            metadata_documents: false,
            none_beside_private_key_jwt: false,
            token_url_audience: false,
            excess_scopes: ExcessScopes::Refuse,
            management: false,
            unused_lifetime: Duration::from_secs(7 * 86_400),
        }
    }
}

/// Whether clients may register themselves [RFC 7591 section 3].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DynamicRegistration {
    /// There is no registration endpoint.
    Off,
    /// Any client may register itself.
    Open,
    /// A client needs an initial access token. Your service creates them with
    /// [`Registrar::make_initial_access_token`](crate::Registrar::make_initial_access_token).
    WithToken,
}

/// What happens to scopes that a client which registered itself may not have [RFC 6749 section 3.3].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExcessScopes {
    /// An authorization request with such a scope is refused with `invalid_scope`. So are a registration and a metadata
    /// document whose `scope` has no scope that the catalog knows.
    Refuse,
    /// They are left out. The consent page shows the others, and the token response names them. A registration or a
    /// metadata document without a known scope gets the default.
    ///
    /// It is for clients that ask for every scope of the metadata, or for scopes of other servers. A request is refused
    /// if no scope is left. It is also refused if, in the last five minutes, the user granted this client all that is
    /// left: it would ask again and again for a scope that it cannot have.
    Drop,
}

/// How long clients that registered themselves are kept, until a person has reviewed them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientLifetimes {
    /// How long a client is kept that no user has ever approved.
    pub(crate) unused: Duration,
    /// How long a client is kept after the end of its last refresh token. It may stay a day longer, because its use is
    /// recorded once a day.
    pub(crate) idle: Duration,
}

/// Hosts keep the ids of their clients for months: as long as a refresh token lives in every profile.
pub(super) const IDLE_LIFETIME: Duration = Duration::from_secs(15_552_000);

impl RegistrationSettings {
    /// Returns whether clients may register themselves.
    pub(crate) fn is_dynamic(&self) -> bool {
        self.dynamic != DynamicRegistration::Off
    }
}
