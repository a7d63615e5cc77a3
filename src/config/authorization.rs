//! The settings of authorization requests, of devices and of pushed requests.

use std::time::Duration;

pub use crate::model::user_code::UserCodeFormat;
use crate::wire::{Cors, RedirectStatus};

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
    /// requires it. The strict profile accepts this while [`Config::identity`](crate::Config::identity) is on, and
    /// still requires a challenge of every request without `openid`.
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

/// The settings of devices without a browser [RFC 8628].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeviceSettings {
    /// Whether devices may ask for access while their users decide in a browser elsewhere; off. The FAPI profile
    /// accepts only `false`.
    ///
    /// Each client must also be registered for [`GrantType::DeviceCode`](crate::client::GrantType::DeviceCode). It
    /// needs a [`derivation key`](crate::Config::refresh), a [`throttle`](crate::server::Builder::throttle) and a
    /// [`verification_uri`](Self::verification_uri).
    pub on: bool,
    /// The address of the page where users type the code that their device shows [RFC 8628 section 3.2]; empty. It must
    /// be an https URL without query, fragment and user. Keep it short, since people type it.
    ///
    /// An [interaction](crate::interaction) serves the page at the path of this URL, if the URL has a path, and the
    /// scheme, host and port of the issuer. Otherwise its page is at `{issuer}/oauth2/auth/device`: serve a page
    /// yourself, or redirect to that one.
    pub verification_uri: String,
    /// Whether devices also get the address with the code in it, for a QR code or a link [RFC 8628 section 3.3.1]; off.
    ///
    /// A link saves typing, also to an attacker who sends it to a user. The user must therefore confirm that the device
    /// shows the code.
    pub complete_uri: bool,
    /// How long both codes are valid; 600 s. 120 to 1800 s are accepted: RFC 8628 section 3.2 shows 1800 s, and a user
    /// needs some time to find the page and to sign in.
    pub lifetime: Duration,
    /// The pages that may ask for access and read the response, such as an application for televisions that is a web
    /// page; [`Off`](Cors::Off). Requests of all other pages are refused, so [`AnyOrigin`](Cors::AnyOrigin) is not
    /// accepted: any page could ask in the network of its visitor, whose consent page would then show that network.
    ///
    /// Packaged applications send `null` or `file://`, which may be listed. Any page can send `null`, from a sandboxed
    /// frame: with it, every page can do what this setting prevents.
    pub cors: Cors,
    /// Which characters a user code has; 8 letters, as in the example of RFC 8628 section 6.1.
    pub user_code: UserCodeFormat,
}

impl Default for DeviceSettings {
    fn default() -> Self {
        Self {
            on: false,
            verification_uri: String::new(),
            complete_uri: false,
            lifetime: Duration::from_secs(600),
            cors: Cors::Off,
            user_code: UserCodeFormat::Letters(8),
        }
    }
}

impl DeviceSettings {
    /// How many seconds a device waits between two polls [RFC 8628 section 3.2].
    pub(crate) const INTERVAL: u32 = 5;
    /// How long before the end a user may no longer decide: two intervals, in which the device can still fetch its
    /// tokens.
    pub(crate) const LAST_DECISION: Duration = Duration::from_secs(10);
}

/// The settings of pushed authorization requests [RFC 9126].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PushedRequestSettings {
    /// Whether clients may push their authorization requests, or must [RFC 9126]; off, in the FAPI profile required.
    ///
    /// Unless it is [`PushedRequests::Off`], the metadata has `pushed_authorization_request_endpoint`. Where it is
    /// [`PushedRequests::Required`], a request that was not pushed is refused [RFC 9126 section 5], and a pushed one
    /// must name its `redirect_uri`.
    pub mode: PushedRequests,
    /// How long a `request_uri` is valid; 300 s. 30 to 599 s are accepted.
    ///
    /// A browser session that presents it in this time may present it again within
    /// [`authorization.hold_lifetime`](crate::Config::authorization), so that the user has more time to sign in.
    pub lifetime: Duration,
}

impl Default for PushedRequestSettings {
    fn default() -> Self {
        Self { mode: PushedRequests::Off, lifetime: Duration::from_secs(300) }
    }
}

/// Whether clients may push their authorization requests, or must [RFC 9126].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PushedRequests {
    /// There is no endpoint for them.
    Off,
    /// Clients may push their requests.
    Optional,
    /// All clients must push their requests [RFC 9126 section 5].
    Required,
}

impl PushedRequestSettings {
    /// Returns whether clients may push their requests.
    pub(crate) fn are_taken(&self) -> bool {
        self.mode != PushedRequests::Off
    }

    /// Returns whether all clients must push their requests.
    pub(crate) fn are_required(&self) -> bool {
        self.mode == PushedRequests::Required
    }
}
