//! All settings: what each means, its value in each profile, and what the other choices cost.

mod assurance;
pub(crate) mod authentication;
pub(crate) mod bound_tokens;
pub(crate) mod check;
pub(crate) mod document_needs;
pub(crate) mod documents;
pub(crate) mod error;
mod fapi;
mod pushed_requests;
pub(crate) mod report;
mod resources;

use std::borrow::Cow;
use std::time::Duration;

pub use crate::config::documents::MetadataDocuments;
pub use crate::config::error::ConfigError;
pub use crate::config::report::{Finding, SecurityReport};
use crate::model::application::RegistrationLimits;
use crate::model::client::{AuthenticationMethod, AuthenticationMethods, Client, ClientType, RefreshRotation};
use crate::model::protected_resource::ProtectedResource;
use crate::model::redirect_uri::{RedirectUriComparison, RedirectUriPolicy};
use crate::scope::ScopeCatalog;
use crate::secret::derive::DerivationKey;
use crate::secret::nonce::NonceKey;
use crate::wire::cors::Cors;
use crate::wire::{Endpoint, RedirectStatus};

/// A set of settings that belong together. It names the constructor that a [`Config`] came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Profile {
    /// A code hosting platform, as [profiles and defaults](crate::guide::profiles_and_defaults) describes it: domain rule
    /// for redirect URIs, five minutes of grace for both old tokens.
    Platform,
    /// The current best practice [RFC 9700] and OAuth 2.1.
    Strict,
    /// What clients of the Model Context Protocol expect.
    Mcp,
    /// The FAPI 2.0 Security Profile.
    Fapi,
}

/// The settings of one authorization server.
///
/// Start from [`Config::strict`], [`Config::mcp`], [`Config::fapi`] or [`Config::platform`], then set fields. Lifetimes
/// count in whole seconds; parts of a second are dropped.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use grantor::{AuthorizationServer, Config, MemoryStore};
///
/// # fn main() -> Result<(), grantor::ConfigError> {
/// let mut config = Config::strict("https://auth.example");
/// config.access_token_lifetime = Duration::from_secs(3600);
/// let server = AuthorizationServer::new(config, MemoryStore::new())?;
/// assert_eq!(server.issuer(), "https://auth.example");
///
/// let mut config = Config::strict("https://auth.example");
/// config.code_lifetime = Duration::from_secs(601);
/// let error = AuthorizationServer::new(config, MemoryStore::new()).unwrap_err();
/// assert_eq!(error.to_string(), "code_lifetime is 601 s; at most 600 s is accepted (RFC 6749 section 4.1.2)");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The constructor that the settings came from. `build` checks that they still meet its requirements.
    pub(crate) profile: Profile,

    /// The https URL below which the endpoints are reached [RFC 8414 section 2].
    pub issuer: String,
    /// The scopes that applications may request; the platform's 26 in the platform profile, none in the others.
    pub scopes: ScopeCatalog,
    /// The protected resources that tokens are for [RFC 8707]; none. While there are none, the `resource` parameter is
    /// ignored, and introspection reports [`audience`](Self::audience) as `aud`.
    ///
    /// A client that names no resource gets tokens for the default one. A resource refuses tokens that are not for it.
    /// If all resources are removed from the settings, tokens and grants that were issued for them are refused.
    pub resources: Vec<ProtectedResource>,
    /// Whether clients must name a protected resource in authorization requests and in client credentials requests;
    /// off. Most clients name none. The platform profile accepts only `false`.
    pub require_resource: bool,
    /// Whether the metadata lists the identifiers of all protected resources, `protected_resources`
    /// [RFC 9728 section 4]; off.
    pub list_resources: bool,
    /// The limits of the registration form: see [`RegistrationLimits`] for the defaults.
    pub registration: RegistrationLimits,
    /// Whether public clients may be registered and used [RFC 6749 section 2.1]. Off, except in the MCP profile. If it
    /// is on, the metadata lists the authentication method `none`.
    pub public_clients: bool,

    /// Which redirect URIs are accepted, and how they are compared [RFC 6749 section 3.1.2]. By domain in the platform
    /// profile, exactly in the others, as RFC 9700 section 2.1 requires.
    pub redirect_uris: RedirectUriPolicy,
    /// Which errors of an authorization request show a page, and which are sent to the client
    /// [RFC 6749 section 4.1.2.1]. In the platform profile, errors in the service's own parameters show the page.
    pub authorization_errors: AuthorizationErrors,
    /// The status of redirects: 302, and 303 in the strict and FAPI profiles [RFC 9700 section 4.12].
    pub redirect_status: RedirectStatus,
    /// Whether redirects have the fragment `_`, so that browsers do not re-attach another one [RFC 9700 section 4.1.3];
    /// off.
    pub dummy_fragment: bool,
    /// Which clients need PKCE [RFC 7636]. In the platform profile, these are public clients, native clients, and
    /// clients for which a reviewer requires it; in the others, all clients. S256 is the only method.
    pub pkce: PkceRequirement,
    /// Which bytes `state` may contain [RFC 6749 appendix A.5]: any in the platform profile, 20 to 7E hex in the
    /// others.
    pub state: StateCharacters,
    /// The maximum size of `state` in bytes; 4096. At most 65 536 is accepted.
    pub state_bytes: usize,
    /// Whether `iss` is sent with authorization responses [RFC 9207]; on.
    pub response_issuer: bool,

    /// Whether `redirect_uri` may be left out of the exchange even if the request named it [RFC 6749 section 4.1.3]. It
    /// may in the platform profile; in the others only if PKCE binds the code.
    pub exchange_redirect_uri: ExchangeRedirectUri,
    /// How Basic credentials are read [RFC 6749 section 2.3.1]: form-decoded or as they are; in the strict profile,
    /// form-decoded only.
    pub basic: BasicReading,

    /// The methods with which confidential clients may authenticate [RFC 7591 section 2]: `client_secret_basic` and
    /// `client_secret_post`; in the FAPI profile only `private_key_jwt`. [`public_clients`](Self::public_clients) sets
    /// whether `none` is accepted.
    ///
    /// [`AuthenticationMethod::PrivateKeyJwt`] needs the feature `jose` and a
    /// [`ReplayStore`](crate::store::ReplayStore).
    pub authentication_methods: AuthenticationMethods,
    /// What `aud` of a client's assertion must be [RFC 10070]: the issuer, as a JSON string or in an array of one; in
    /// the FAPI profile only as a JSON string.
    pub assertion_audience: AssertionAudience,
    /// How far `exp` of an assertion may be in the future, and `iat` in the past; 3600 s, in the FAPI profile 600 s. 60
    /// to 3600 s are accepted.
    pub assertion_lifetime: Duration,
    /// The maximum size of an assertion in bytes; 8192. 1024 to 16 384 are accepted.
    pub assertion_bytes: usize,
    /// Whether clients may sign assertions with RS256; off, in the MCP profile on, because some large clients support
    /// no other algorithm.
    pub rs256_assertions: bool,
    /// Whether the `typ` of an assertion must be `client-authentication+jwt` [RFC 10070]; off. Few clients send it.
    pub require_assertion_type: bool,
    /// How far the clocks of clients may be ahead of or behind this server's; 30 s. 0 to 60 s are accepted, in the FAPI
    /// profile 10 to 60 s.
    pub clock_skew: Duration,
    /// How the key sets of clients with a `jwks_uri` are fetched, checked and cached, and how large registered sets may
    /// be. They are fetched with the [`Builder::fetcher`](crate::server::Builder::fetcher), such as that of the package
    /// `grantor-fetch`.
    pub key_sets: KeySets,

    /// Whether clients may push their authorization requests [RFC 9126]; off, in the FAPI profile on.
    ///
    /// It needs a [`PushedRequestStore`](crate::store::PushedRequestStore). If it is on, the metadata has
    /// `pushed_authorization_request_endpoint`.
    pub pushed_requests: bool,
    /// Whether every client must push its authorization requests [RFC 9126 section 5]; off, in the FAPI profile on.
    pub require_pushed_requests: bool,
    /// How long a `request_uri` is valid; 300 s. 30 to 599 s are accepted.
    ///
    /// A browser session that presents it in this time may present it again within
    /// [`hold_lifetime`](Self::hold_lifetime), so that the user has more time to sign in.
    pub request_uri_lifetime: Duration,
    /// How many pushed requests of one client may wait for their users at once; 1000. 1 to 1000 are accepted. A further
    /// push is answered with 429. This can also happen shortly before the limit is reached, because a push reads at
    /// most 32 places.
    ///
    /// Anyone can push for a public client. Such a push replaces the oldest request that it finds instead, unless all
    /// of them are held for signed-in users.
    pub pushed_requests_per_client: usize,

    /// Whether access tokens are bound to a key of the client [RFC 9449]: off, in the FAPI profile required.
    ///
    /// Every value except [`BoundTokens::Off`] needs the feature `jose` and a
    /// [`ReplayStore`](crate::store::ReplayStore).
    pub bound_tokens: BoundTokens,
    /// The maximum size of a DPoP proof in bytes; 4096. 1024 to 16 384 are accepted.
    pub proof_bytes: usize,
    /// How long a DPoP proof is valid, counted from its `iat`; 60 s. 10 to 300 s are accepted.
    pub proof_age: Duration,
    /// The nonces that DPoP proofs must contain [RFC 9449 sections 8 and 9]; `None`: proofs need no nonce.
    pub dpop_nonce: Option<DpopNonces>,

    /// How long a user may take to decide on the consent page; 30 minutes.
    pub hold_lifetime: Duration,
    /// How many requests may wait for one user's decision at once; 50. A further request ends the oldest one, whose
    /// form then leads to an error page. 1 to 800, which fit on one page of a list, are accepted, and `usize::MAX` for
    /// no limit.
    pub held_requests: usize,
    /// How many requests of one client may wait for one user's decision at once; 10. 1 to 800 and `usize::MAX` are
    /// accepted. If neither this nor [`held_requests`](Self::held_requests) is limited, no list is read.
    pub held_requests_per_client: usize,
    /// How long a code is valid; 600 s, which is also the maximum [RFC 6749 section 4.1.2]. In the FAPI profile, 60 s
    /// is both.
    pub code_lifetime: Duration,
    /// How long an access token on behalf of a user is valid; 28 800 s, which is 8 hours; in the FAPI profile 3600 s.
    pub access_token_lifetime: Duration,
    /// How long a refresh token is valid, counted from its issue; 15 552 000 s, which is 180 days.
    pub refresh_token_lifetime: Duration,
    /// The maximum lifetime of all tokens of a grant, counted from the exchange of its code; no limit.
    pub grant_lifetime: Option<Duration>,
    /// How long the record of a revoked grant is kept after its revocation, so that support can see when and why it
    /// ended; 0 s.
    ///
    /// The record is kept for at least two hours after its code expires, because a late exchange must not find its
    /// place free. If the store's reads are not settled, it is kept for at least two hours after the revocation, so
    /// that a repeated revocation finds the record even if a fail-over undid the first one.
    pub revoked_retention: Duration,
    /// How many live grants one user may have given to one client; 50. A further exchange revokes the grants that were
    /// refreshed longest ago, with [`TooManyGrants`](crate::store::RevocationReason::TooManyGrants) as the reason.
    /// `usize::MAX` sets no limit; then no list is read.
    pub grants_per_client: usize,

    /// Whether a refresh replaces the refresh token [RFC 9700 section 4.14.2]; it does, except in the FAPI profile.
    ///
    /// This is the default for confidential clients. [`Approval::refresh_rotation`](crate::Approval::refresh_rotation)
    /// and [`ClientBuilder::refresh_rotation`](crate::client::ClientBuilder::refresh_rotation) set it for one client. Public
    /// and native clients always get a new refresh token, because nothing else protects them against a stolen one.
    /// Native clients that authenticate only with a key, as all do in the FAPI profile, count as confidential here.
    pub refresh_rotation: RefreshRotation,
    /// How many access tokens of a grant may be live at once under [`RefreshRotation::Keep`]; 64. A further one ends
    /// the oldest. 1 to 256 are accepted.
    pub live_access_tokens: usize,
    /// Keys outside the database, from which the successors of refresh tokens are derived; none.
    ///
    /// Without a key, anyone who has a copy of the database and the last superseded refresh token can derive the pair
    /// after it. All servers of one store need the same keys. New pairs are derived with the first key, and all keys
    /// are accepted.
    ///
    /// To replace a key, add the new one after the old one on every server. Then move it to the front on every server.
    /// Remove the old one after twice the longest grace of refresh tokens. The very first key is used at once: until
    /// every server has it, a server without it may answer as described below.
    ///
    /// If a record names a key that is missing here, the request is answered with 503 and `Retry-After`, and
    /// [`Event::DerivationKeyMissing`](crate::Event::DerivationKeyMissing) is raised. Nothing is changed.
    pub derivation_keys: Vec<DerivationKey>,
    /// How long tokens stay usable after a refresh replaced them.
    pub grace: Grace,
    /// How long after its grace a superseded refresh token is refused without revoking its grant, because the clocks of
    /// servers differ; 60 s, in the strict and FAPI profiles 0 s.
    pub reuse_margin: Duration,
    /// What happens if a superseded refresh token is used after grace and margin [RFC 9700 section 4.14.2]; the grant
    /// is revoked.
    pub reuse: ReuseResponse,
    /// What the revocation of an access token revokes [RFC 7009 section 2.1]; that token only.
    pub access_token_revocation: AccessTokenRevocation,
    /// What the revocation of a superseded refresh token after its grace revokes; its grant, in the platform profile
    /// nothing.
    pub superseded_token_revocation: SupersededTokenRevocation,
    /// The response to a client that revokes a live token of another client [RFC 7009 section 2.1]; an error.
    pub foreign_token: ForeignTokenAnswer,

    /// Whether clients may get access tokens for themselves, without a user [RFC 6749 section 4.4]; off.
    ///
    /// Each client must also be registered for [`GrantType::ClientCredentials`](crate::client::GrantType::ClientCredentials),
    /// with [`machine_scopes`](crate::ApplicationForm::machine_scopes) and
    /// [`machine_resources`](crate::ApplicationForm::machine_resources).
    pub client_credentials: bool,
    /// How long an access token without a user is valid; 900 s. 60 to 3600 s are accepted.
    pub machine_token_lifetime: Duration,
    /// How many live access tokens without a user a client may have; 1024. 1 to 4096 are accepted.
    ///
    /// A further request is answered with 429 and `Retry-After`, until the first of the tokens expires.
    pub machine_tokens: usize,

    /// Whether clients may register themselves at the registration endpoint [RFC 7591]; off in every profile.
    ///
    /// It needs a [`RegistrationPolicy`](crate::hooks::RegistrationPolicy), which decides about each of them, and a store for
    /// registrations. If it is on, the metadata has `registration_endpoint`.
    pub dynamic_registration: bool,
    /// Whether a client id may be the https URL of a metadata document
    /// [draft-ietf-oauth-client-id-metadata-document]; off in every profile.
    ///
    /// It needs a [`Fetcher`](crate::fetch::Fetcher), a [`RegistrationPolicy`](crate::hooks::RegistrationPolicy), which decides about
    /// each of them, and a store for registrations. A client with a document has no secret, so it also needs
    /// [`public_clients`](Self::public_clients), or [`AuthenticationMethod::PrivateKeyJwt`] among the
    /// [`authentication_methods`](Self::authentication_methods). The server's metadata then includes
    /// `client_id_metadata_document_supported`.
    ///
    /// A document is fetched only for a signed-in user: see [`Request::subject`](crate::wire::Request::subject). A
    /// pushed request has no user, so this is refused together with
    /// [`require_pushed_requests`](Self::require_pushed_requests).
    pub client_id_metadata_documents: bool,
    /// How metadata documents are fetched, checked and cached.
    pub metadata_documents: MetadataDocuments,
    /// Whether a registration needs an initial access token [RFC 7591 section 3]; off. The embedder creates them with
    /// [`Registrar::make_initial_access_token`](crate::Registrar::make_initial_access_token).
    pub require_initial_access_token: bool,
    /// Whether clients that register themselves may read, replace and delete their registration [RFC 7592]; off in
    /// every profile.
    ///
    /// The response to a registration then includes the address and the token for this. A client that registered
    /// earlier has neither. The [`RegistrationPolicy`](crate::hooks::RegistrationPolicy) also decides about replacements.
    pub registration_management: bool,
    /// How many clients that registered themselves or have a metadata document are kept, and for how long.
    pub open_clients: OpenClients,

    /// Whether resources also accept the access token in a form body [RFC 6750 section 2.2]; off.
    pub bearer_in_body: bool,
    /// The `realm` of challenges [RFC 7235 section 2.2]; `oauth2`.
    pub realm: String,
    /// The `aud` of introspection [RFC 7662 section 2.2]; the issuer if not set.
    pub audience: Option<String>,
    /// The `error_uri` of error responses [RFC 6749 section 5.2]; none.
    pub error_uri: Option<String>,
    /// The prefix of each kind of secret, by which scanners and people recognize it.
    pub prefixes: TokenPrefixes,

    /// Which pages of other origins may call the token, pushed request, revocation, registration and metadata
    /// endpoints, and read the responses: none; in the MCP profile, any. The authorization and introspection endpoints
    /// and the management of registrations are never covered [RFC 9700 section 2.6].
    pub cors: Cors,
    /// The maximum size of a request body in bytes; 16 384.
    pub body_bytes: usize,
    /// The maximum size of a query in bytes; 32 768.
    pub query_bytes: usize,
    /// The maximum number of parameters in a query or body; 100.
    pub parameters: usize,
    /// How far the clock may be ahead of the newest time seen before; 86 400 s, which is one day. If it is further
    /// ahead, [`purge_expired`](crate::AuthorizationServer::purge_expired) refuses to run. One hour to 30 days are
    /// accepted.
    ///
    /// If the service was stopped for longer, the clock must be [confirmed](crate::AuthorizationServer::confirm_clock).
    pub clock_leap: Duration,
    /// Whether an issuer with plain `http` on a loopback host is accepted; off.
    pub development: bool,
}

impl Config {
    /// Returns the settings of the service that [profiles and defaults](crate::guide::profiles_and_defaults) describes, a
    /// code hosting platform.
    ///
    /// Its catalog holds the platform's 26 scopes. Redirect URIs are compared by domain, and both old tokens
    /// stay usable for five minutes after a refresh.
    #[must_use]
    pub fn platform(issuer: impl Into<String>) -> Self {
        Self {
            profile: Profile::Platform,
            issuer: issuer.into(),
            scopes: ScopeCatalog::platform(),
            resources: Vec::new(),
            require_resource: false,
            list_resources: false,
            registration: RegistrationLimits::default(),
            public_clients: false,
            redirect_uris: RedirectUriPolicy::default(),
            authorization_errors: AuthorizationErrors::PageForServiceParameters,
            redirect_status: RedirectStatus::Found,
            dummy_fragment: false,
            pkce: PkceRequirement::PublicClients,
            state: StateCharacters::Any,
            state_bytes: 4096,
            response_issuer: true,
            exchange_redirect_uri: ExchangeRedirectUri::Optional,
            basic: BasicReading::Either,
            authentication_methods: AuthenticationMethods::SECRET,
            assertion_audience: AssertionAudience::Issuer,
            assertion_lifetime: Duration::from_secs(3600),
            assertion_bytes: 8192,
            rs256_assertions: false,
            require_assertion_type: false,
            clock_skew: Duration::from_secs(30),
            key_sets: KeySets::default(),
            pushed_requests: false,
            require_pushed_requests: false,
            request_uri_lifetime: Duration::from_secs(300),
            pushed_requests_per_client: 1000,
            bound_tokens: BoundTokens::Off,
            proof_bytes: 4096,
            proof_age: Duration::from_secs(60),
            dpop_nonce: None,
            hold_lifetime: Duration::from_secs(30 * 60),
            held_requests: 50,
            held_requests_per_client: 10,
            code_lifetime: Duration::from_secs(600),
            access_token_lifetime: Duration::from_secs(28_800),
            refresh_token_lifetime: Duration::from_secs(15_552_000),
            grant_lifetime: None,
            revoked_retention: Duration::ZERO,
            grants_per_client: 50,
            refresh_rotation: RefreshRotation::Rotate,
            live_access_tokens: 64,
            derivation_keys: Vec::new(),
            grace: Grace {
                access_token: Duration::from_secs(300),
                refresh_token: Duration::from_secs(300),
                public_refresh_token: Duration::from_secs(300),
                end: GraceEnd::ByTheClock,
            },
            reuse_margin: Duration::from_secs(60),
            reuse: ReuseResponse::RevokeGrant,
            access_token_revocation: AccessTokenRevocation::TokenOnly,
            superseded_token_revocation: SupersededTokenRevocation::Nothing,
            foreign_token: ForeignTokenAnswer::Refuse,
            client_credentials: false,
            machine_token_lifetime: Duration::from_secs(900),
            machine_tokens: 1024,
            dynamic_registration: false,
            client_id_metadata_documents: false,
            metadata_documents: MetadataDocuments::default(),
            require_initial_access_token: false,
            registration_management: false,
            open_clients: OpenClients::default(),
            bearer_in_body: false,
            realm: "oauth2".into(),
            audience: None,
            error_uri: None,
            prefixes: TokenPrefixes::default(),
            cors: Cors::Off,
            body_bytes: 16_384,
            query_bytes: 32_768,
            parameters: 100,
            clock_leap: Duration::from_secs(86_400),
            development: false,
        }
    }

    /// Returns the settings that the current best practice [RFC 9700] and OAuth 2.1 require.
    ///
    /// The catalog is empty: set [`scopes`](Self::scopes).
    #[must_use]
    pub fn strict(issuer: impl Into<String>) -> Self {
        let scopes = ScopeCatalog::empty();
        let mut config = Self { profile: Profile::Strict, scopes, ..Self::platform(issuer) };
        config.redirect_uris.comparison = RedirectUriComparison::Exact;
        config.authorization_errors = AuthorizationErrors::Rfc6749;
        config.redirect_status = RedirectStatus::SeeOther;
        config.pkce = PkceRequirement::AllClients;
        config.state = StateCharacters::Visible;
        config.exchange_redirect_uri = ExchangeRedirectUri::RequiredWithoutPkce;
        config.basic = BasicReading::FormDecoded;
        config.grace.refresh_token = Duration::from_secs(60);
        config.grace.public_refresh_token = Duration::ZERO;
        config.grace.end = GraceEnd::WithNextRefresh;
        config.reuse_margin = Duration::ZERO;
        config.superseded_token_revocation = SupersededTokenRevocation::WholeGrant;
        config
    }

    /// Returns the settings that clients of the Model Context Protocol expect; public clients may be
    /// registered.
    ///
    /// The catalog is empty: set [`scopes`](Self::scopes).
    #[must_use]
    pub fn mcp(issuer: impl Into<String>) -> Self {
        let mut config = Self { profile: Profile::Mcp, ..Self::strict(issuer) };
        config.public_clients = true;
        config.rs256_assertions = true;
        config.metadata_documents.require_name = true;
        config.cors = Cors::AnyOrigin;
        config.redirect_uris.private_use_schemes = false;
        config.redirect_status = RedirectStatus::Found;
        config.basic = BasicReading::Either;
        config.grace = Grace {
            access_token: Duration::from_secs(60),
            refresh_token: Duration::from_secs(60),
            public_refresh_token: Duration::from_secs(60),
            end: GraceEnd::ByTheClock,
        };
        config.reuse_margin = Duration::from_secs(60);
        config
    }

    /// Returns the settings of the FAPI 2.0 Security Profile: clients are confidential, authenticate with a key, push
    /// their requests, and get access tokens that are bound to a key.
    ///
    /// The catalog is empty: set [`scopes`](Self::scopes). To build a server with these settings, enable the feature
    /// `jose`.
    #[must_use]
    pub fn fapi(issuer: impl Into<String>) -> Self {
        let mut config = Self { profile: Profile::Fapi, ..Self::strict(issuer) };
        config.authentication_methods = AuthenticationMethods::KEY;
        config.assertion_audience = AssertionAudience::IssuerString;
        config.assertion_lifetime = Duration::from_secs(600);
        config.pushed_requests = true;
        config.require_pushed_requests = true;
        config.bound_tokens = BoundTokens::Required;
        config.open_clients.omitted_method = AuthenticationMethod::PrivateKeyJwt;
        config.redirect_uris.private_use_schemes = false;
        config.redirect_uris.loopback_http = false;
        config.redirect_uris.localhost = false;
        config.code_lifetime = Duration::from_secs(60);
        config.access_token_lifetime = Duration::from_secs(3600);
        config.refresh_rotation = RefreshRotation::Keep;
        config.grace.access_token = Duration::from_secs(300);
        config
    }

    /// Returns whether a refresh of that client replaces the refresh token.
    pub(crate) fn refresh_rotation(&self, client: &Client) -> RefreshRotation {
        if self.has_unproven_refresh_tokens(client) {
            return RefreshRotation::Rotate;
        }
        client.refresh_rotation().unwrap_or(self.refresh_rotation)
    }

    /// Returns whether only the refresh token itself proves who refreshes. This is so if the client is public, or if
    /// all its installations may have the same secret. A client that authenticates only with a key proves itself.
    pub(crate) fn has_unproven_refresh_tokens(&self, client: &Client) -> bool {
        client.counts_as_public() && !self.authenticates_with_key(client)
    }

    /// Returns whether that client authenticates with a key, and no other way is accepted.
    fn authenticates_with_key(&self, client: &Client) -> bool {
        let has_secret = client.authentication_methods().use_secret() && self.authentication_methods.use_secret();
        client.authentication_methods().contains(AuthenticationMethod::PrivateKeyJwt) && !has_secret
    }

    /// Returns whether some clients get a new refresh token at each refresh.
    pub(crate) fn rotates_by_itself(&self) -> bool {
        self.refresh_rotation == RefreshRotation::Rotate || self.profile != Profile::Fapi
    }

    /// Returns the published URL of an endpoint: the issuer, followed by the path of the endpoint.
    pub(crate) fn url_of(&self, endpoint: Endpoint) -> String {
        format!("{}{}", self.issuer.trim_end_matches('/'), endpoint.path())
    }

    /// Returns whether a pushed request must name its redirect URI, even if only one is registered.
    ///
    /// > shall require the redirect_uri parameter in pushed authorization requests
    ///
    /// [FAPI 2.0 Security Profile section 5.3.2.2]
    pub(crate) fn needs_pushed_redirect_uri(&self) -> bool {
        self.profile == Profile::Fapi
    }

    /// Returns which constructor the settings came from.
    #[must_use]
    pub const fn profile(&self) -> Profile {
        self.profile
    }

    /// Returns how long a refresh token of that client stays usable once it is superseded.
    pub(crate) fn refresh_token_grace(&self, client: &Client) -> Duration {
        if self.has_unproven_refresh_tokens(client) {
            self.grace.public_refresh_token
        } else {
            self.grace.refresh_token
        }
    }

    /// Returns whether clients of that type are served at all.
    pub(crate) fn serves(&self, client_type: ClientType) -> bool {
        client_type != ClientType::Public || self.public_clients
    }

    /// Returns how the redirect URIs of that client are compared: exactly, if it registered itself.
    #[inline]
    pub(crate) fn redirect_uris_of(&self, client: &Client) -> Cow<'_, RedirectUriPolicy> {
        if client.open().is_none() {
            return Cow::Borrowed(&self.redirect_uris);
        }
        Cow::Owned(RedirectUriPolicy { comparison: RedirectUriComparison::Exact, ..self.redirect_uris.clone() })
    }

    pub(crate) fn needs_pkce(&self, client: &Client) -> bool {
        self.pkce == PkceRequirement::AllClients || client.requires_pkce()
    }
}

/// How many clients that registered themselves are kept, and for how long, until a person has reviewed them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenClients {
    /// How many unreviewed clients there may be; 100 000. 1 to 16 777 216 are accepted.
    ///
    /// A registration tries eight places. If none of them is free, it removes the oldest client there that no user ever
    /// approved. If all eight clients are in use, it is answered with 503. Both can happen before the limit is reached.
    pub most: u32,
    /// How long a client that no user has ever approved is kept; 604 800 s, which is 7 days. The minimum is 3600 s.
    ///
    /// Be generous: an application keeps using the id of a removed client, and its users see an error page.
    pub unused_lifetime: Duration,
    /// How long after the end of its last refresh token an unreviewed client is removed; 15 552 000 s, which is 180
    /// days. It may stay a day longer, because its use is recorded once a day.
    pub idle_lifetime: Duration,
    /// The authentication method of a client that names none: `client_secret_basic`, as RFC 7591 section 2 says; in the
    /// FAPI profile `private_key_jwt`, which is the only one there.
    ///
    /// With `none`, such a client gets no secret. The secret of an unknown client proves little anyway. `none` needs
    /// [`Config::public_clients`].
    pub omitted_method: AuthenticationMethod,
}

impl Default for OpenClients {
    fn default() -> Self {
        Self {
            most: 100_000,
            unused_lifetime: Duration::from_secs(7 * 86_400),
            idle_lifetime: Duration::from_secs(15_552_000),
            omitted_method: AuthenticationMethod::ClientSecretBasic,
        }
    }
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

/// Which access tokens are bound to a key of the client. The client proves with DPoP that it has the key [RFC 9449].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BoundTokens {
    /// None: new access tokens are bearer tokens, and the `DPoP` header of token requests is not read. Grants and
    /// tokens that are already bound stay bound, so they cannot be used while this is set.
    Off,
    /// Those of requests with a proof. Clients with [`requires_bound_tokens`](crate::Client::requires_bound_tokens)
    /// must send one.
    Optional,
    /// All: a token request without a proof is refused.
    Required,
}

/// How the key sets of clients with a `jwks_uri` are fetched, checked and cached [RFC 7591 section 2], and how large
/// registered sets may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeySets {
    /// The maximum size of a key set in bytes; 65 536. 1024 to 262 144 are accepted.
    pub most_bytes: usize,
    /// The maximum number of keys in a key set; 32. 1 to 100 are accepted.
    pub most_keys: usize,
    /// How long a fetched key set is used without another fetch; 3600 s. 60 to 86 400 s are accepted.
    pub fresh: Duration,
    /// How long a fetched key set is used if it cannot be fetched again, counted from its fetch; 86 400 s. At least
    /// `fresh` is accepted.
    pub stale: Duration,
    /// How long the server waits between two fetches of one client's keys; 60 s. 10 to 3600 s are accepted.
    pub pause: Duration,
    /// How long a fetch may take; 5 s. 1 to 30 s are accepted.
    pub timeout: Duration,
    /// How many key sets are cached; 1000. If there are more, the least recently used one is dropped. 1 to 100 000 are
    /// accepted.
    pub most_cached: usize,
}

impl Default for KeySets {
    fn default() -> Self {
        Self {
            most_bytes: 65_536,
            most_keys: 32,
            fresh: Duration::from_secs(3600),
            stale: Duration::from_secs(86_400),
            pause: Duration::from_secs(60),
            timeout: Duration::from_secs(5),
            most_cached: 1000,
        }
    }
}

/// The nonces that DPoP proofs must contain [RFC 9449 section 8]. They are derived from the time and a key, and are not
/// stored.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DpopNonces {
    /// How long a nonce is handed out; 120 s. It is accepted for one more period. 60 to 600 s are accepted.
    pub period: Duration,
    /// One to three keys. New nonces are made with the first, and nonces of all of them are accepted. All servers of
    /// one issuer need the same keys.
    pub keys: Vec<NonceKey>,
}

impl DpopNonces {
    /// Creates the settings for nonces with these keys and a period of 120 s.
    #[must_use]
    pub fn new(keys: impl IntoIterator<Item = NonceKey>) -> Self {
        Self { period: Duration::from_secs(120), keys: keys.into_iter().collect() }
    }
}

/// Which errors of an authorization request show a page [RFC 6749 section 4.1.2.1].
///
/// An unknown client or a wrong redirect URI always shows the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AuthorizationErrors {
    /// Errors in `response_type`, `client_id`, `redirect_uri` and `state` show the page. Others are sent
    /// to the client.
    PageForServiceParameters,
    /// All errors except those in client and redirect URI are sent to the client.
    Rfc6749,
}

/// Which clients need PKCE [RFC 7636].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PkceRequirement {
    /// Public and native clients, and those for which [`Approval::require_pkce`](crate::Approval::require_pkce)
    /// requires it.
    PublicClients,
    /// All clients.
    AllClients,
}

/// Which bytes `state` may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StateCharacters {
    /// Any bytes; they are returned unchanged.
    Any,
    /// The bytes 20 to 7E hex [RFC 6749 appendix A.5].
    Visible,
}

/// When the exchange must repeat the redirect URI [RFC 6749 section 4.1.3].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExchangeRedirectUri {
    /// Never; if it is sent, it must be equal.
    Optional,
    /// When the authorization request named one and the code is not bound by PKCE.
    RequiredWithoutPkce,
}

/// How Basic credentials are read [RFC 6749 section 2.3.1].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BasicReading {
    /// Form-decoded; if that does not authenticate the client, as they are.
    Either,
    /// Form-decoded only.
    FormDecoded,
}

/// How long tokens stay usable after a refresh replaced them. Grace never extends a token's own lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grace {
    /// The old access token; 300 s, in the MCP profile 60 s.
    pub access_token: Duration,
    /// The old refresh token of a confidential client; 300 s, in the other profiles 60 s.
    pub refresh_token: Duration,
    /// The old refresh token of a public client, or of a native one that has a secret; 300 s, in the strict and FAPI
    /// profiles 0 s, in the MCP profile 60 s.
    pub public_refresh_token: Duration,
    /// What ends the grace of a refresh token: the clock, in the strict and FAPI profiles also the next refresh.
    pub end: GraceEnd,
}

/// What ends the grace of a superseded refresh token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GraceEnd {
    /// The clock only.
    ByTheClock,
    /// The clock, or the first refresh with a newer refresh token, whichever comes first.
    WithNextRefresh,
}

/// What happens if a superseded refresh token is used after its grace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReuseResponse {
    /// The grant is revoked.
    RevokeGrant,
    /// The grants of public clients and of native clients with a secret are revoked. For other clients, the request is
    /// only refused.
    RevokeGrantOfPublicClients,
    /// The request is refused, and the grant stays.
    Refuse,
}

/// What the revocation of an access token revokes. A token without a user is always revoked alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AccessTokenRevocation {
    /// That token only.
    TokenOnly,
    /// The whole grant.
    WholeGrant,
}

/// What the revocation of a superseded refresh token revokes if the token is past its grace and has not expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SupersededTokenRevocation {
    /// Nothing, as for any invalid token. [`Event::SupersededTokenAtRevocation`](crate::Event) is raised.
    Nothing,
    /// The whole grant, because a client that signs out with an old token means its grant.
    ///
    /// Nothing is revoked if the token was bound to a key and the client proves itself in no other way: a copy of the
    /// token without the key could otherwise sign the user out.
    WholeGrant,
}

/// The response to a client that revokes a live token of another client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ForeignTokenAnswer {
    /// 400 `invalid_grant` [RFC 7009 section 2.1].
    Refuse,
    /// 200, as for any unknown token.
    Accept,
}

/// The prefix of each kind of secret: at most 16 letters, digits, `-`, `_`, `.` or `~`. Each may be empty; those
/// that are not empty must differ.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenPrefixes {
    /// Of the handle in the consent form; `ah_`.
    pub handle: String,
    /// Of authorization codes; `ac_`.
    pub code: String,
    /// Of access tokens; `at_`.
    pub access_token: String,
    /// Of refresh tokens; `rt_`.
    pub refresh_token: String,
    /// Of initial access tokens; `ia_`.
    pub initial_access_token: String,
    /// Of registration access tokens; `ra_`.
    pub registration_access_token: String,
}

impl Default for TokenPrefixes {
    fn default() -> Self {
        Self {
            handle: "ah_".into(),
            code: "ac_".into(),
            access_token: "at_".into(),
            refresh_token: "rt_".into(),
            initial_access_token: "ia_".into(),
            registration_access_token: "ra_".into(),
        }
    }
}
