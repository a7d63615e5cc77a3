//! The settings of clients: how they authenticate [RFC 6749 section 2.3], and how they register: by form, themselves,
//! by metadata documents.

use std::time::Duration;

use crate::jose::JwkSetBounds;
use crate::model::application::RegistrationLimits;
use crate::model::client::{AuthenticationMethod, AuthenticationMethods};

/// The settings of client authentication [RFC 6749 section 2.3].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientAuthenticationSettings {
    /// How Basic credentials are read [RFC 6749 section 2.3.1]: form-decoded or as they are; in the strict profile,
    /// form-decoded only.
    pub basic: BasicDecoding,
    /// The methods with which confidential clients may authenticate [RFC 7591 section 2]: `client_secret_basic` and
    /// `client_secret_post`; in the FAPI profile only `private_key_jwt`.
    /// [`public_clients`](crate::Config::public_clients) sets whether `none` is accepted.
    ///
    /// [`AuthenticationMethod::PrivateKeyJwt`] needs the feature `jose`.
    pub methods: AuthenticationMethods,
    /// What `aud` of a client's assertion must be [RFC 10070]: the issuer, as a JSON string or in an array of one; in
    /// the FAPI profile only as a JSON string.
    pub assertion_audience: AssertionAudience,
    /// Whether clients may sign assertions with RS256; off, in the MCP profile on, because some large clients support
    /// no other algorithm.
    pub rs256: bool,
    /// How far the clocks of clients may be ahead of or behind this server's; 30 s. 0 to 60 s are accepted, in the FAPI
    /// profile 10 to 60 s.
    pub clock_skew: Duration,
}

impl Default for ClientAuthenticationSettings {
    fn default() -> Self {
        Self {
            basic: BasicDecoding::Either,
            methods: AuthenticationMethods::SECRET,
            assertion_audience: AssertionAudience::Issuer,
            rs256: false,
            clock_skew: Duration::from_secs(30),
        }
    }
}

/// How Basic credentials are read [RFC 6749 section 2.3.1].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BasicDecoding {
    /// Form-decoded; if that does not authenticate the client, as they are.
    Either,
    /// Form-decoded only.
    FormDecoded,
}

/// What `aud` of a client's assertion must name [RFC 10070, which updates RFC 7523 section 3].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AssertionAudience {
    /// The issuer, as a JSON string and nothing else [FAPI 2.0 Security Profile section 5.3.2.1].
    IssuerString,
    /// The issuer, as a JSON string or as the only member of an array.
    Issuer,
    /// The same as [`Issuer`](Self::Issuer), or the URL of the token endpoint, or, in a pushed request, the URL of that
    /// endpoint. It is for old clients.
    ///
    /// # Security
    ///
    /// An assertion that was made for another server may be accepted here [CVE-2025-27370].
    Legacy,
}

impl ClientAuthenticationSettings {
    /// Returns the authentication method of a client that registers without naming one.
    ///
    /// > If unspecified or omitted, the default is "client_secret_basic"
    ///
    /// [RFC 7591 section 2] If that method is not offered, it is the first of those that are.
    pub(crate) fn omitted_method(&self) -> AuthenticationMethod {
        let methods = self.methods;
        let preferred = [
            AuthenticationMethod::ClientSecretBasic,
            AuthenticationMethod::ClientSecretPost,
            AuthenticationMethod::PrivateKeyJwt,
        ];
        preferred.into_iter().find(|method| methods.contains(*method)).unwrap_or(AuthenticationMethod::None)
    }

    /// How far `exp` of an assertion may be in the future, and `iat` in the past: 600 s where only the issuer as a JSON
    /// string is accepted, as in the FAPI profile, and else 3600 s.
    pub(crate) fn assertion_lifetime(&self) -> Duration {
        match self.assertion_audience {
            AssertionAudience::IssuerString => Duration::from_secs(600),
            AssertionAudience::Issuer | AssertionAudience::Legacy => Duration::from_secs(3600),
        }
    }

    /// Returns whether clients may authenticate with their keys.
    pub(crate) fn accepts_assertions(&self) -> bool {
        self.methods.contains(AuthenticationMethod::PrivateKeyJwt)
    }
}

/// How large a key set may be: 65 536 bytes and 32 keys. A client needs two keys while it replaces one; large providers
/// publish about ten.
pub(crate) const KEY_SET: JwkSetBounds = JwkSetBounds { bytes: 65_536, keys: 32 };
/// The maximum size of an assertion in bytes.
pub(crate) const ASSERTION_BYTES: usize = 8192;

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
    /// [`AuthenticationMethod::PrivateKeyJwt`] among the
    /// [`client_authentication.methods`](crate::Config::client_authentication). The server's metadata then includes
    /// `client_id_metadata_document_supported`.
    ///
    /// A document is fetched only for a signed-in user: see [`Request::subject`](crate::wire::Request::subject). A
    /// pushed request has no user, so this is refused where
    /// [`pushed_requests`](crate::Config::pushed_requests) are `Required`.
    pub metadata_documents: bool,
    /// The name by which users know the service, as the pages show it; empty. A client that registers itself under a
    /// name that looks like this one [is marked](crate::client::SelfRegistration::looks_like_another), as it is for the
    /// name of an approved application, and its consent page says so. Names look alike if they have the same letters to
    /// the eye: case, blanks, punctuation and similar characters do not count. "Notes Support" does not look like
    /// "Notes".
    pub service_name: String,
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
            service_name: String::new(),
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
