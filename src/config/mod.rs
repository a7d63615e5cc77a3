//! All settings: what each means, its value in each profile, and what the other choices cost.

mod authorization;
pub(crate) mod check;
pub(crate) mod clients;
mod identity;
pub(crate) mod report;
mod resources;
pub(crate) mod rule;
pub(crate) mod tokens;

use std::borrow::Cow;
use std::time::Duration;

pub use crate::config::authorization::{
    AuthorizationErrors, AuthorizationSettings, DeviceSettings, ExchangeRedirectUri, PkceRequirement,
    PushedRequestSettings, PushedRequests, StateCharacters, UserCodeFormat,
};
pub(crate) use crate::config::clients::ClientLifetimes;
pub use crate::config::clients::{
    AssertionAudience, BasicDecoding, ClientAuthenticationSettings, DynamicRegistration, ExcessScopes,
    RegistrationSettings,
};
use crate::config::clients::{IDLE_LIFETIME, KEY_SET};
pub use crate::config::identity::Identity;
pub use crate::config::report::{Finding, SecurityReport};
pub use crate::config::tokens::{
    AccessTokenRevocation, ClientCredentialsSettings, DpopBoundTokens, DpopSettings, GraceEnd, Limits, RefreshSettings,
    RevocationSettings, SupersededTokenRevocation, TokenSettings,
};
use crate::jose::{IS_AVAILABLE, SigningAlgorithm};
use crate::model::RETENTION;
use crate::model::client::{
    AskConsent, AuthenticationMethod, AuthenticationMethods, Client, ClientType, GrantType, GrantTypes, KeyRules,
    RefreshRotation,
};
use crate::model::client_metadata::MetadataRules;
use crate::model::protected_resource::ProtectedResource;
use crate::model::redirect_uri::{LoopbackHttp, PrivateUseSchemes, RedirectUriComparison, RedirectUriPolicy};
use crate::scope::ScopeCatalog;
use crate::wire::cors::Cors;
use crate::wire::{Endpoint, RedirectStatus};

/// A set of settings that belong together. It names the constructor that a [`Config`] came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Profile {
    /// A code hosting platform, as [profiles and defaults](crate::guide::profiles_and_defaults) describes it: domain
    /// rule for redirect URIs, five minutes of grace for both old tokens.
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
/// config.tokens.access_lifetime = Duration::from_secs(3600);
/// let server = AuthorizationServer::new(config, MemoryStore::new())?;
/// assert_eq!(server.issuer(), "https://auth.example");
///
/// let mut config = Config::strict("https://auth.example");
/// config.authorization.code_lifetime = Duration::from_secs(601);
/// let error = AuthorizationServer::new(config, MemoryStore::new()).unwrap_err();
/// let expected = "authorization.code_lifetime is 601 s; at most 600 s is accepted (RFC 6749 section 4.1.2)";
/// assert_eq!(error.to_string(), expected);
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
    /// Other issuers that the service has had, or gets, as they were written; none.
    ///
    /// A store keeps the issuer of the server that purged it last. A server with another one is refused by
    /// [`OwnClient::ensure`](crate::registration::OwnClient::ensure), by
    /// [`purge_expired`](crate::AuthorizationServer::purge_expired) and by
    /// [`confirm_clock`](crate::AuthorizationServer::confirm_clock), unless the store's is listed here: two services on
    /// one store would accept each other's tokens.
    pub former_issuers: Vec<String>,
    /// The scopes that applications may request; the platform's 26 in the platform profile, none in the others.
    pub scopes: ScopeCatalog,
    /// Whether clients can learn who signed in, by OpenID Connect; off.
    ///
    /// It needs the feature `jose`, a key that signs ([`Builder::signing_keys`](crate::server::Builder::signing_keys)),
    /// and for scopes beside `openid` the hook [`Claims`](crate::hooks::Claims). The platform profile accepts only
    /// `None`.
    pub identity: Option<Identity>,
    /// The protected resources that tokens are for [RFC 8707]; none. While there are none, the `resource` parameter is
    /// ignored, and introspection reports the [`issuer`](Self::issuer) as `aud`.
    ///
    /// A client that names no resource gets tokens for the default one. A resource refuses tokens that are not for it.
    /// If all resources are removed from the settings, tokens and grants that were issued for them are refused.
    pub resources: Vec<ProtectedResource>,
    /// Whether clients must name a protected resource in authorization requests and in client credentials requests;
    /// off. Most clients name none. The platform profile accepts only `false`.
    pub require_resource: bool,
    /// Whether public clients may be registered and used [RFC 6749 section 2.1]. Off, except in the MCP profile. If it
    /// is on, the metadata lists the authentication method `none`.
    pub public_clients: bool,
    /// Which redirect URIs are accepted, and how they are compared [RFC 6749 section 3.1.2]. By domain in the platform
    /// profile, exactly in the others, as RFC 9700 section 2.1 requires.
    pub redirect_uris: RedirectUriPolicy,
    /// The settings of authorization requests and their responses [RFC 6749 section 4.1].
    pub authorization: AuthorizationSettings,
    /// The settings of client authentication [RFC 6749 section 2.3].
    pub client_authentication: ClientAuthenticationSettings,
    /// The settings of DPoP-bound tokens [RFC 9449].
    pub dpop: DpopSettings,
    /// The settings of pushed authorization requests [RFC 9126].
    pub pushed_requests: PushedRequestSettings,
    /// The lifetimes and the prefix of tokens.
    pub tokens: TokenSettings,
    /// The settings of refresh tokens, and of tokens that a refresh replaced [RFC 6749 section 6].
    pub refresh: RefreshSettings,
    /// The settings of revocation [RFC 7009].
    pub revocation: RevocationSettings,
    /// The settings of the client credentials grant [RFC 6749 section 4.4].
    pub client_credentials: ClientCredentialsSettings,
    /// The settings of devices without a browser [RFC 8628].
    pub devices: DeviceSettings,
    /// The settings of registration: by form, by clients themselves, and by metadata documents.
    pub registration: RegistrationSettings,
    /// How much the server keeps for one user or client, and how much it reads.
    pub limits: Limits,
    /// Whether resources also accept the access token in a form body [RFC 6750 section 2.2]; off.
    pub bearer_in_body: bool,
    /// Which pages of other origins may call the token, pushed request, revocation, registration, metadata and key set
    /// endpoints, and read the responses: none; in the MCP profile, any. The authorization, device and introspection
    /// endpoints and the management of registrations are never covered [RFC 9700 section 2.6].
    pub cors: Cors,
    /// The number of these settings; 0. Raise it with each change of resources, scopes, signing keys, redirect URI
    /// rules or profile that is rolled out to one process after the other.
    ///
    /// What a process with a higher number than this one issues may need settings that this one lacks. Where it would
    /// refuse such a code or token for that reason, it answers with 503 instead of `invalid_grant` or `invalid_token`,
    /// so that the client tries again and keeps its tokens. To go back to older settings, give them a higher number.
    pub revision: u32,
    /// How far the clock may be ahead of the newest time seen before; 86 400 s, which is one day. If it is further
    /// ahead, [`purge_expired`](crate::AuthorizationServer::purge_expired) refuses to run. One hour to 30 days are
    /// accepted.
    ///
    /// If the service was stopped for longer, the clock must be [confirmed](crate::AuthorizationServer::confirm_clock).
    /// A purge during a shorter jump removes what would have expired within that time. An hour is safe, because codes,
    /// grants and requests are kept for an hour after they expire.
    pub clock_jump: Duration,
    /// Whether an issuer with plain `http` on a loopback host is accepted; off. If it is on and the issuer is on a
    /// loopback host, error pages show the cause, except that of a fetch.
    pub development: bool,
}

/// Reads a setting that switches something on.
type Switch = fn(&Config) -> bool;

impl Config {
    /// Returns the settings of the service that [profiles and defaults](crate::guide::profiles_and_defaults) describes,
    /// a code hosting platform.
    ///
    /// Its catalog holds the platform's 26 scopes. Redirect URIs are compared by domain, and both old tokens
    /// stay usable for five minutes after a refresh.
    #[must_use]
    pub fn platform(issuer: impl Into<String>) -> Self {
        Self {
            profile: Profile::Platform,
            issuer: issuer.into(),
            former_issuers: Vec::new(),
            scopes: ScopeCatalog::platform(),
            identity: None,
            resources: Vec::new(),
            require_resource: false,
            public_clients: false,
            redirect_uris: RedirectUriPolicy::default(),
            authorization: AuthorizationSettings::default(),
            client_authentication: ClientAuthenticationSettings::default(),
            dpop: DpopSettings::default(),
            pushed_requests: PushedRequestSettings::default(),
            tokens: TokenSettings::default(),
            refresh: RefreshSettings::default(),
            revocation: RevocationSettings::default(),
            client_credentials: ClientCredentialsSettings::default(),
            devices: DeviceSettings::default(),
            registration: RegistrationSettings::default(),
            limits: Limits::default(),
            bearer_in_body: false,
            cors: Cors::Off,
            revision: 0,
            clock_jump: Duration::from_secs(86_400),
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
        config.authorization.errors = AuthorizationErrors::Rfc6749;
        config.authorization.redirect_status = RedirectStatus::SeeOther;
        config.authorization.pkce = PkceRequirement::AllClients;
        config.authorization.state = StateCharacters::Visible;
        config.authorization.exchange_redirect_uri = ExchangeRedirectUri::RequiredWithoutPkce;
        config.client_authentication.basic = BasicDecoding::FormDecoded;
        config.refresh.grace = Duration::from_secs(120);
        config.refresh.grace_end = GraceEnd::NextRefresh;
        config.revocation.superseded_token = SupersededTokenRevocation::WholeGrant;
        config
    }

    /// Returns the settings that clients of the Model Context Protocol expect; public clients may be
    /// registered.
    ///
    /// With the feature `jose`, clients may get DPoP-bound tokens.
    ///
    /// The catalog is empty: set [`scopes`](Self::scopes).
    #[must_use]
    pub fn mcp(issuer: impl Into<String>) -> Self {
        let mut config = Self { profile: Profile::Mcp, ..Self::strict(issuer) };
        config.public_clients = true;
        config.client_authentication.rs256 = true;
        config.registration.none_beside_private_key_jwt = true;
        config.registration.token_url_audience = true;
        config.registration.excess_scopes = ExcessScopes::Drop;
        if IS_AVAILABLE {
            config.dpop.tokens = DpopBoundTokens::Optional;
        }
        config.cors = Cors::AnyOrigin;
        config.redirect_uris.private_use_schemes = PrivateUseSchemes::Named(Vec::new());
        config.authorization.redirect_status = RedirectStatus::Found;
        config.client_authentication.basic = BasicDecoding::Either;
        config.refresh.grace_end = GraceEnd::Clock;
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
        config.client_authentication.methods = AuthenticationMethods::KEY;
        config.client_authentication.assertion_audience = AssertionAudience::IssuerString;
        config.pushed_requests.mode = PushedRequests::Required;
        config.dpop.tokens = DpopBoundTokens::Required;
        config.redirect_uris.private_use_schemes = PrivateUseSchemes::Named(Vec::new());
        config.redirect_uris.loopback_http = LoopbackHttp::Off;
        config.authorization.code_lifetime = Duration::from_secs(60);
        config.tokens.access_lifetime = Duration::from_secs(3600);
        config.refresh.rotation = RefreshRotation::Keep;
        config
    }

    /// Returns whether a refresh of that client replaces the refresh token.
    pub(crate) fn refresh_rotation(&self, client: &Client) -> RefreshRotation {
        if self.has_unproven_refresh_tokens(client) {
            return RefreshRotation::Rotate;
        }
        client.privileges.refresh_rotation.unwrap_or(self.refresh.rotation)
    }

    /// Returns whether each code needs a page, whatever the client has.
    pub(crate) fn always_asks(&self) -> bool {
        self.profile == Profile::Platform
    }

    /// Returns when users of that client are asked for consent.
    pub(crate) fn ask_consent(&self, client: &Client) -> AskConsent {
        let own = client.privileges.ask_consent;
        let is_asked = own == AskConsent::Always || self.always_asks();
        if is_asked || client.check_identity().is_err() { AskConsent::Always } else { own }
    }

    /// Returns whether only the refresh token itself proves who refreshes. This is so if the client is public, or if
    /// all its installations may have the same secret. A client that authenticates only with a key proves itself.
    pub(crate) fn has_unproven_refresh_tokens(&self, client: &Client) -> bool {
        client.counts_as_public() && !self.authenticates_with_key(client)
    }

    /// Returns whether that client authenticates with a key, and no other way is accepted. A client whose document
    /// lists `none` is public, even if it signs.
    fn authenticates_with_key(&self, client: &Client) -> bool {
        let methods = client.form.authentication_methods;
        let has_secret = methods.use_secret() && self.client_authentication.methods.use_secret();
        methods.contains(AuthenticationMethod::PrivateKeyJwt)
            && !methods.contains(AuthenticationMethod::None)
            && !has_secret
    }

    /// Returns whether some clients get a new refresh token at each refresh.
    pub(crate) fn rotates_by_itself(&self) -> bool {
        self.refresh.rotation == RefreshRotation::Rotate || self.profile != Profile::Fapi
    }

    /// Returns the grant types that are switched on.
    pub(crate) fn offered_grant_types(&self) -> GrantTypes {
        let all = GrantType::ALL.iter().copied();
        all.filter(|grant_type| Self::switch_of(*grant_type).is_none_or(|(_, is_on)| is_on(self))).collect()
    }

    /// Returns the setting that switches a grant type on, and what reads it; `None` if it is always on.
    pub(crate) const fn switch_of(grant_type: GrantType) -> Option<(&'static str, Switch)> {
        match grant_type {
            GrantType::AuthorizationCode | GrantType::RefreshToken => None,
            GrantType::ClientCredentials => Some(("client_credentials.on", |config| config.client_credentials.on)),
            GrantType::DeviceCode => Some(("devices.on", |config| config.devices.on)),
        }
    }

    /// Returns how long a request may be held at most: for a browser, or for a device.
    pub(crate) fn longest_hold(&self) -> Duration {
        let of_device = if self.devices.on { self.devices.lifetime } else { Duration::ZERO };
        self.authorization.hold_lifetime.max(of_device)
    }

    /// Returns how long a redeemed device code leads to the newest pair: the grace of a refresh token. It is at least a
    /// minute, since the polls of a device overlap, and at most as long as the authorization is kept.
    pub(crate) fn device_code_grace(&self) -> Duration {
        self.refresh.grace.clamp(Duration::from_secs(60), RETENTION)
    }

    /// Returns whether a pushed request must name its redirect URI, even if only one is registered.
    ///
    /// > shall require the redirect_uri parameter in pushed authorization requests
    ///
    /// [FAPI 2.0 Security Profile section 5.3.2.2]
    pub(crate) fn needs_pushed_redirect_uri(&self) -> bool {
        self.pushed_requests.mode == PushedRequests::Required
    }

    /// Returns which constructor the settings came from.
    #[must_use]
    pub const fn profile(&self) -> Profile {
        self.profile
    }

    /// Returns whether a protected resource has access tokens in the form of JWTs.
    pub(crate) fn issues_jwts(&self) -> bool {
        self.resources.iter().any(ProtectedResource::has_jwts)
    }

    /// Returns whether clients can learn who signed in.
    pub(crate) const fn has_identity(&self) -> bool {
        self.identity.is_some()
    }

    /// Returns whether anything is signed: access tokens or ID tokens.
    pub(crate) fn signs(&self) -> bool {
        self.has_identity() || self.issues_jwts()
    }

    /// Returns the algorithms of ID tokens, the one of clients that registered none first.
    pub(crate) fn id_token_algorithms(&self) -> &'static [SigningAlgorithm] {
        const ALL: &[SigningAlgorithm] = &[SigningAlgorithm::Rs256, SigningAlgorithm::Es256, SigningAlgorithm::EdDsa];
        // FAPI 2.0 Security Profile section 5.4.1.
        if self.profile == Profile::Fapi { ALL.split_first().map_or(ALL, |(_, others)| others) } else { ALL }
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

    /// Returns the published URL of an endpoint below the issuer. Those of metadata are elsewhere: see
    /// [`Endpoint::path`].
    pub(crate) fn url_of(&self, endpoint: Endpoint) -> String {
        endpoint.url(&self.issuer)
    }

    /// Returns whether a request of the client may name that redirect URI.
    pub(crate) fn accepts_redirect_uri(&self, client: &Client, uri: &[u8]) -> bool {
        let mut registered = client.form.redirect_uris.iter();
        // Most clients send what they registered.
        if registered.clone().any(|own| own.as_str().as_bytes() == uri) {
            return true;
        }
        let policy = &*self.redirect_uris_of(client);
        registered.any(|own| own.matches(uri, policy).is_ok())
    }

    /// Returns whether scopes that an open client may not have are left out of its requests.
    pub(crate) fn drops_excess_scopes(&self) -> bool {
        self.registration.excess_scopes == ExcessScopes::Drop
    }

    /// Returns whether a code for that client needs a challenge. Outside the platform profile, only a request of OpenID
    /// Connect may come without one, since its client compares the nonce.
    pub(crate) fn needs_pkce(&self, client: &Client, asks_openid: bool) -> bool {
        let may_lack = self.profile == Profile::Platform || asks_openid && self.has_identity();
        self.authorization.pkce == PkceRequirement::AllClients || client.requires_pkce() || !may_lack
    }

    /// The algorithms that clients may sign assertions with.
    pub(crate) fn assertion_algorithms(&self) -> impl Iterator<Item = SigningAlgorithm> {
        let has_rs256 = self.client_authentication.rs256;
        let all = SigningAlgorithm::ALL.iter().copied();
        all.filter(move |algorithm| *algorithm != SigningAlgorithm::Rs256 || has_rs256)
    }

    /// The methods that the client of a metadata document may have: those without a shared secret.
    pub(crate) fn document_methods(&self) -> Vec<AuthenticationMethod> {
        let offered = [
            (AuthenticationMethod::PrivateKeyJwt, self.key_rules(true).offers_keys()),
            (AuthenticationMethod::None, self.serves(ClientType::Public)),
        ];
        offered.into_iter().filter(|(_, is_offered)| *is_offered).map(|(method, _)| method).collect()
    }

    /// Returns the rules for clients that register themselves with one of these methods.
    pub(crate) fn metadata_rules(
        &self,
        methods: Vec<AuthenticationMethod>,
        omitted_method: AuthenticationMethod,
        has_fetcher: bool,
    ) -> MetadataRules {
        MetadataRules {
            catalog: self.scopes.clone(),
            limits: self.registration.form.clone(),
            redirect_uris: self.redirect_uris.clone(),
            methods,
            omitted_method,
            keys: self.key_rules(has_fetcher),
            drops_unknown_scopes: self.drops_excess_scopes(),
            offered: self.offered_grant_types(),
        }
    }

    /// Returns how long clients that registered themselves are kept.
    ///
    /// An idle client is kept at least as long as a token lives. A client with a valid refresh token then survives one
    /// lost record of its use.
    pub(crate) fn client_lifetimes(&self) -> ClientLifetimes {
        let longest = self.tokens.refresh_lifetime.max(self.tokens.access_lifetime);
        ClientLifetimes { unused: self.registration.unused_lifetime, idle: IDLE_LIFETIME.max(longest) }
    }

    /// The rules for keys. Without a fetcher, no client may have a `jwks_uri`.
    pub(crate) fn key_rules(&self, has_fetcher: bool) -> KeyRules {
        let methods = self.client_authentication.methods;
        KeyRules {
            methods: if IS_AVAILABLE { methods } else { methods.without(AuthenticationMethod::PrivateKeyJwt) },
            algorithms: self.assertion_algorithms().collect(),
            key_set: KEY_SET,
            has_fetcher,
            pushed_requests: self.pushed_requests.are_taken(),
            dpop_bound_tokens: self.dpop.reads_proofs(),
        }
    }
}
