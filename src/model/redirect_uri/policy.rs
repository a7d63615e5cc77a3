//! Which redirect URIs may be registered, and how a requested one is compared.

use crate::model::redirect_uri::error::RedirectUriError;
use crate::model::redirect_uri::web::{AppUri, Target, WebScheme, WebUri};

/// How a requested redirect URI is compared with the registered one.
///
/// On a loopback host, any port matches under either rule, and path and query must be identical [RFC 8252 section 7.3].
/// With a private-use scheme, only the identical string matches [RFC 8252 section 7.1].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RedirectUriComparison {
    /// Scheme, host and effective port are equal; path and query may differ.
    #[default]
    Domain,
    /// Scheme and host are equal; port, path and query may differ. Any service on the registered host can then receive
    /// codes.
    DomainAnyPort,
    /// The strings are identical [RFC 9700 section 2.1].
    Exact,
}

/// Which redirect URIs on loopback hosts may use plain `http` [RFC 8252 section 7.3].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LoopbackHttp {
    /// None.
    Off,
    /// Those on `127.0.0.1` and `[::1]`.
    Addresses,
    /// Those on these addresses, and on the name `localhost`, which [RFC 8252 section 8.3] discourages.
    #[default]
    AddressesAndLocalhost,
}

/// Which private-use schemes may be used by apps [RFC 8252 section 7.1].
///
/// A scheme that is named, in lower case, may be one without a dot, and may have two slashes after it: `cursor` admits
/// `cursor://anysphere.cursor-mcp/cb`. Any app on the user's device can claim such a scheme.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PrivateUseSchemes {
    /// Domain names in reverse, such as `com.example.app`, and these.
    ReverseDomain(Vec<String>),
    /// Only these.
    Named(Vec<String>),
}

impl Default for PrivateUseSchemes {
    fn default() -> Self {
        Self::ReverseDomain(Vec::new())
    }
}

impl PrivateUseSchemes {
    /// Returns the schemes that are named.
    pub(crate) fn named(&self) -> &[String] {
        match self {
            Self::ReverseDomain(named) | Self::Named(named) => named,
        }
    }
}

/// The rules for redirect URIs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedirectUriPolicy {
    /// How a requested value is compared; [`RedirectUriComparison::Domain`] by default.
    pub comparison: RedirectUriComparison,
    /// Which loopback hosts may be reached by plain `http`; addresses and `localhost` by default. They are for native
    /// clients without a secret, which the FAPI profile does not serve.
    pub loopback_http: LoopbackHttp,
    /// Which private-use schemes may be used; domain names in reverse by default.
    pub private_use_schemes: PrivateUseSchemes,
}

impl RedirectUriPolicy {
    /// Checks that a valid redirect URI is of a kind that may be used.
    pub(crate) fn check_kind(&self, target: &Target<'_>) -> Result<(), RedirectUriError> {
        match target {
            Target::Web(uri) => self.check_web(uri),
            Target::PrivateUse(uri) => self.check_private_use(uri),
        }
    }

    /// A scheme with a dot is a reversed domain name, which no other app uses by mistake [RFC 8252 section 7.1].
    fn check_private_use(&self, uri: &AppUri<'_>) -> Result<(), RedirectUriError> {
        let scheme = uri.scheme;
        if self.private_use_schemes.named().iter().any(|named| named.eq_ignore_ascii_case(scheme)) {
            return Ok(());
        }
        if !scheme.contains('.') {
            return Err(RedirectUriError::Scheme);
        }
        if uri.has_authority {
            return Err(RedirectUriError::PrivateUseSlash);
        }
        match self.private_use_schemes {
            PrivateUseSchemes::ReverseDomain(_) => Ok(()),
            PrivateUseSchemes::Named(_) => Err(RedirectUriError::PrivateUseScheme),
        }
    }

    /// Compares two valid redirect URIs that are not the same string.
    pub(crate) fn admits(&self, registered: &WebUri<'_>, requested: &WebUri<'_>) -> bool {
        if registered.scheme != requested.scheme || !registered.host.eq_ignore_ascii_case(requested.host) {
            return false;
        }
        let same_path_and_query = registered.path_and_query == requested.path_and_query;
        match (self.comparison, self.is_loopback(requested)) {
            (RedirectUriComparison::Domain | RedirectUriComparison::DomainAnyPort, true) => same_path_and_query,
            (RedirectUriComparison::Domain, false) => registered.port == requested.port,
            (RedirectUriComparison::DomainAnyPort, false) => true,
            (RedirectUriComparison::Exact, true) => {
                same_path_and_query
                    && registered.scheme_text == requested.scheme_text
                    && registered.host == requested.host
            }
            (RedirectUriComparison::Exact, false) => false,
        }
    }

    fn check_web(&self, uri: &WebUri<'_>) -> Result<(), RedirectUriError> {
        match uri.scheme {
            WebScheme::Https => Ok(()),
            WebScheme::Http if !self.is_loopback(uri) => Err(RedirectUriError::PlainHttp),
            WebScheme::Http if self.loopback_http == LoopbackHttp::Off => Err(RedirectUriError::LoopbackHttp),
            WebScheme::Http => Ok(()),
        }
    }

    fn is_loopback(&self, uri: &WebUri<'_>) -> bool {
        match LoopbackHost::of(uri) {
            Some(LoopbackHost::Literal) => true,
            Some(LoopbackHost::Name) => self.loopback_http == LoopbackHttp::AddressesAndLocalhost,
            None => false,
        }
    }
}

/// A host that plain `http` reaches without leaving the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopbackHost {
    Literal,
    Name,
}

impl LoopbackHost {
    /// No other address of the loopback network counts [RFC 8252 section 7.3].
    pub(crate) fn of(uri: &WebUri<'_>) -> Option<Self> {
        match uri.scheme {
            WebScheme::Https => None,
            WebScheme::Http if matches!(uri.host, "127.0.0.1" | "[::1]") => Some(Self::Literal),
            WebScheme::Http => uri.host.eq_ignore_ascii_case("localhost").then_some(Self::Name),
        }
    }
}
