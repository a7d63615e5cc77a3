//! The settings of authorization requests and their responses [RFC 6749 section 4.1].

use std::time::Duration;

use crate::wire::RedirectStatus;

/// The settings of authorization requests and their responses [RFC 6749 section 4.1].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AuthorizationSettings {
    /// Which errors of an authorization request show a page, and which are sent to the client
    /// [RFC 6749 section 4.1.2.1]. In the platform profile, errors in the service's own parameters show the page.
    pub errors: AuthorizationErrors,
    /// The status of redirects: 302, and 303 in the strict and FAPI profiles [RFC 9700 section 4.12].
    pub redirect_status: RedirectStatus,
    /// Which clients need PKCE [RFC 7636]. In the platform profile, these are public clients, native clients, and
    /// clients for which a reviewer requires it; in the others, all clients. S256 is the only method.
    pub pkce: PkceRequirement,
    /// Which bytes `state` may contain [RFC 6749 appendix A.5]: any in the platform profile, 20 to 7E hex in the
    /// others.
    pub state: StateCharacters,
    /// Whether `redirect_uri` may be left out of the exchange even if the request named it [RFC 6749 section 4.1.3]. It
    /// may in the platform profile; in the others only if PKCE binds the code.
    pub exchange_redirect_uri: ExchangeRedirectUri,
    /// How long a user may take to decide on the consent page; 30 minutes.
    pub hold_lifetime: Duration,
    /// How long a code is valid; 600 s, which is also the maximum [RFC 6749 section 4.1.2]. In the FAPI profile, 60 s
    /// is both.
    pub code_lifetime: Duration,
}

impl Default for AuthorizationSettings {
    fn default() -> Self {
        Self {
            errors: AuthorizationErrors::PageForServiceParameters,
            redirect_status: RedirectStatus::Found,
            pkce: PkceRequirement::PublicClients,
            state: StateCharacters::Any,
            exchange_redirect_uri: ExchangeRedirectUri::Optional,
            hold_lifetime: Duration::from_secs(30 * 60),
            code_lifetime: Duration::from_secs(600),
        }
    }
}

/// Which errors of an authorization request show a page [RFC 6749 section 4.1.2.1].
///
/// An unknown client or a wrong redirect URI always shows the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AuthorizationErrors {
    /// Errors in `response_type`, `client_id`, `redirect_uri` and `state` show the page, and so does what cannot be
    /// decoded: a percent sign without two digits has no bytes to return. Others are sent to the client.
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
