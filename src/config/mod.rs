//! Every setting: what it means, what it is in each profile, what the other choice costs.

pub(crate) mod check;
pub(crate) mod report;

use time::Duration;

use crate::client::application::RegistrationLimits;
use crate::client::redirect_uri::{RedirectUriComparison, RedirectUriPolicy};
use crate::client::{Client, ClientType};
use crate::scope::ScopeCatalog;
use crate::wire::RedirectStatus;

/// A set of settings that belong together; each can be changed afterwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Profile {
    /// The described service: domain rule for redirect URIs, five minutes of grace for both old tokens.
    #[default]
    Platform,
    /// The current best practice [RFC 9700] and OAuth 2.1.
    Strict,
    /// What clients of the Model Context Protocol expect.
    Mcp,
}

/// The settings of one authorization server.
///
/// Lifetimes are whole seconds; parts of a second are dropped. Start from a [`Profile`]; what
/// `Default` gives is the platform profile.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// What the settings were taken from; `build` checks that they still keep its promises.
    pub(crate) profile: Profile,

    /// What applications may ask for; the platform's 26 scopes by default.
    pub scopes: ScopeCatalog,
    /// The limits of the registration form.
    pub registration: RegistrationLimits,
    /// Whether public clients may be registered and used [RFC 6749 section 2.1]. Off, except in the MCP
    /// profile; on, the metadata lists the authentication method `none`.
    pub public_clients: bool,

    /// Which redirect URIs are accepted, and how they are compared [RFC 6749 section 3.1.2]. By domain
    /// in the platform profile, exactly in the others, as RFC 9700 section 2.1 asks.
    pub redirect_uris: RedirectUriPolicy,
    /// Which faults of an authorization request show a page, and which are sent to the client.
    pub authorization_errors: AuthorizationErrors,
    /// The status of redirects: 302, and 303 in the strict profile [RFC 9700 section 4.12].
    pub redirect_status: RedirectStatus,
    /// Whether `_` is appended as a fragment, so that browsers re-attach no other one
    /// [RFC 9700 section 4.1.3]; off.
    pub dummy_fragment: bool,
    /// Which clients need PKCE [RFC 7636]: public and native ones and those registered so, or all. S256
    /// is the only method.
    pub pkce: PkceRequirement,
    /// Which octets `state` may hold: any, or the RFC's visible ones [RFC 6749 appendix A.5].
    pub state: StateCharacters,
    /// Octets that `state` may have at most; 4096, and no more than 65 536.
    pub state_octets: usize,
    /// Whether `iss` is sent with authorization responses [RFC 9207], where an issuer is set; on.
    pub response_issuer: bool,

    /// Whether `redirect_uri` may be left out of the exchange though the request named it
    /// [RFC 6749 section 4.1.3].
    pub exchange_redirect_uri: ExchangeRedirectUri,
    /// How Basic credentials are read [RFC 6749 section 2.3.1].
    pub basic: BasicReading,

    /// How long a user may look at the consent page; 30 minutes.
    pub hold_lifetime: Duration,
    /// How long a code may be exchanged; 600 s, which is also the most [RFC 6749 section 4.1.2].
    pub code_lifetime: Duration,
    /// How long an access token is good; 28 800 s.
    pub access_token_lifetime: Duration,
    /// How long a refresh token is good from its own issue; 15 552 000 s, which is 180 days.
    pub refresh_token_lifetime: Duration,
    /// How long a grant may be refreshed in all, counted from the exchange; no end.
    pub grant_lifetime: Option<Duration>,

    /// How long tokens stay usable after a refresh replaced them.
    pub grace: Grace,
    /// How long after its grace a superseded refresh token is refused without accusing anybody, since
    /// clocks differ; 60 s, 0 in the strict profile.
    pub reuse_margin: Duration,
    /// What the use of a superseded refresh token after grace and margin leads to
    /// [RFC 9700 section 4.14.2].
    pub reuse: ReuseResponse,
    /// What the revocation of an access token takes with it [RFC 7009 section 2.1].
    pub access_token_revocation: AccessTokenRevocation,
    /// What a client is told that revokes the live token of another one [RFC 7009 section 2.1].
    pub foreign_token: ForeignTokenAnswer,

    /// Whether resources also take the access token from a form body [RFC 6750 section 2.2]; off.
    pub bearer_in_body: bool,
    /// The `realm` of challenges [RFC 7235 section 2.2]; `oauth2`.
    pub realm: String,
    /// The `aud` of introspection [RFC 7662 section 2.2]; the issuer if not set.
    pub audience: Option<String>,
    /// The `error_uri` of error answers [RFC 6749 section 5.2]; none.
    pub error_uri: Option<String>,
    /// What stands in front of each kind of secret, so that scanners and people know it.
    pub prefixes: TokenPrefixes,

    /// Octets that a request body may have at most; 16 384.
    pub body_octets: usize,
    /// Octets that a query may have at most; 32 768.
    pub query_octets: usize,
    /// Parameters that a query or body may have at most; 100.
    pub parameters: usize,
    /// Whether an issuer with plain `http` on a loopback host is accepted; off.
    pub development: bool,
}

impl Config {
    /// The settings of the platform profile.
    #[must_use]
    pub fn platform() -> Self {
        Self {
            profile: Profile::Platform,
            scopes: ScopeCatalog::platform(),
            registration: RegistrationLimits::default(),
            public_clients: false,
            redirect_uris: RedirectUriPolicy::default(),
            authorization_errors: AuthorizationErrors::PageForServiceParameters,
            redirect_status: RedirectStatus::Found,
            dummy_fragment: false,
            pkce: PkceRequirement::PublicClients,
            state: StateCharacters::Any,
            state_octets: 4096,
            response_issuer: true,
            exchange_redirect_uri: ExchangeRedirectUri::Optional,
            basic: BasicReading::Either,
            hold_lifetime: Duration::minutes(30),
            code_lifetime: Duration::seconds(600),
            access_token_lifetime: Duration::seconds(28_800),
            refresh_token_lifetime: Duration::seconds(15_552_000),
            grant_lifetime: None,
            grace: Grace {
                access_token: Duration::seconds(300),
                refresh_token: Duration::seconds(300),
                public_refresh_token: Duration::seconds(300),
                end: GraceEnd::ByTheClock,
            },
            reuse_margin: Duration::seconds(60),
            reuse: ReuseResponse::RevokeGrant,
            access_token_revocation: AccessTokenRevocation::TokenOnly,
            foreign_token: ForeignTokenAnswer::Refuse,
            bearer_in_body: false,
            realm: "oauth2".into(),
            audience: None,
            error_uri: None,
            prefixes: TokenPrefixes::default(),
            body_octets: 16_384,
            query_octets: 32_768,
            parameters: 100,
            development: false,
        }
    }

    /// The settings of the strict profile.
    #[must_use]
    pub fn strict() -> Self {
        let mut config = Self { profile: Profile::Strict, ..Self::platform() };
        config.redirect_uris.comparison = RedirectUriComparison::Exact;
        config.authorization_errors = AuthorizationErrors::Rfc6749;
        config.redirect_status = RedirectStatus::SeeOther;
        config.pkce = PkceRequirement::AllClients;
        config.state = StateCharacters::Visible;
        config.exchange_redirect_uri = ExchangeRedirectUri::RequiredWithoutPkce;
        config.basic = BasicReading::FormDecoded;
        config.grace.refresh_token = Duration::seconds(60);
        config.grace.public_refresh_token = Duration::ZERO;
        config.grace.end = GraceEnd::WithNextRefresh;
        config.reuse_margin = Duration::ZERO;
        config
    }

    /// The settings of the MCP profile.
    #[must_use]
    pub fn mcp() -> Self {
        let mut config = Self { profile: Profile::Mcp, ..Self::strict() };
        config.public_clients = true;
        config.redirect_uris.private_use_schemes = false;
        config.redirect_status = RedirectStatus::Found;
        config.basic = BasicReading::Either;
        config.grace = Grace {
            access_token: Duration::seconds(60),
            refresh_token: Duration::seconds(60),
            public_refresh_token: Duration::seconds(60),
            end: GraceEnd::ByTheClock,
        };
        config.reuse_margin = Duration::seconds(60);
        config
    }

    /// Returns how long a refresh token of that client stays usable once it is superseded.
    pub(crate) fn refresh_token_grace(&self, client: &Client) -> Duration {
        if client.counts_as_public() { self.grace.public_refresh_token } else { self.grace.refresh_token }
    }

    /// Tells whether clients of that type are served at all.
    pub(crate) fn serves(&self, client_type: ClientType) -> bool {
        client_type != ClientType::Public || self.public_clients
    }

    pub(crate) fn needs_pkce(&self, client: &Client) -> bool {
        self.pkce == PkceRequirement::AllClients || client.requires_pkce()
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::platform()
    }
}

impl From<Profile> for Config {
    fn from(profile: Profile) -> Self {
        match profile {
            Profile::Platform => Self::platform(),
            Profile::Strict => Self::strict(),
            Profile::Mcp => Self::mcp(),
        }
    }
}

/// Which faults of an authorization request show a page [RFC 6749 section 4.1.2.1].
///
/// An unknown client or a wrong redirect URI shows the page always.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AuthorizationErrors {
    /// Faults in `response_type`, `client_id`, `redirect_uri` and `state` show the page; others are sent
    /// to the client.
    PageForServiceParameters,
    /// All but client and redirect URI are sent to the client.
    Rfc6749,
}

/// Which clients need PKCE [RFC 7636].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PkceRequirement {
    /// Public and native ones, and those registered so.
    PublicClients,
    /// All.
    AllClients,
}

/// Which octets `state` may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StateCharacters {
    /// Any octets; they come back as they were.
    Any,
    /// The octets 20 to 7E hex [RFC 6749 appendix A.5].
    Visible,
}

/// When the exchange has to repeat the redirect URI [RFC 6749 section 4.1.3].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExchangeRedirectUri {
    /// Never; if it is sent, it has to be equal.
    Optional,
    /// When the authorization request named one and the code is not bound by PKCE.
    RequiredWithoutPkce,
}

/// How Basic credentials are read [RFC 6749 section 2.3.1].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BasicReading {
    /// Form-decoded, or else as they stand.
    Either,
    /// Form-decoded alone.
    FormDecoded,
}

/// How long tokens stay usable after a refresh replaced them; their own ends cap it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grace {
    /// The old access token; 300 s, in the MCP profile 60 s.
    pub access_token: Duration,
    /// The old refresh token of a confidential client; 300 s, in the other profiles 60 s.
    pub refresh_token: Duration,
    /// The old refresh token of a public or native client; 300 s, strict 0 s, MCP 60 s.
    pub public_refresh_token: Duration,
    /// Whether anything but the clock ends the grace of a refresh token.
    pub end: GraceEnd,
}

/// What ends the grace of a superseded refresh token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GraceEnd {
    /// The clock alone.
    ByTheClock,
    /// The first refresh with any newer one too.
    WithNextRefresh,
}

/// What the use of a superseded refresh token after its grace leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReuseResponse {
    /// The grant is revoked.
    RevokeGrant,
    /// The grants of public and native clients are revoked; others are only refused.
    RevokeGrantOfPublicClients,
    /// The request is refused, nothing else.
    Refuse,
}

/// What the revocation of an access token takes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AccessTokenRevocation {
    /// That token alone.
    TokenOnly,
    /// The whole grant.
    WholeGrant,
}

/// What a client is told that revokes the live token of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ForeignTokenAnswer {
    /// 400 `invalid_grant` [RFC 7009 section 2.1].
    Refuse,
    /// 200, as for any unknown token.
    Accept,
}

/// What stands in front of each kind of secret: at most 16 letters, digits, `-`, `_`, `.` or `~`; may
/// be empty.
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
}

impl Default for TokenPrefixes {
    fn default() -> Self {
        Self { handle: "ah_".into(), code: "ac_".into(), access_token: "at_".into(), refresh_token: "rt_".into() }
    }
}
