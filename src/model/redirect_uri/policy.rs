//! Which redirect URIs may be registered, and how a requested one is compared.

use crate::model::redirect_uri::error::RedirectUriError;
use crate::model::redirect_uri::target::{AppUri, Target};
use crate::model::redirect_uri::web::{WebScheme, WebUri};

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
    /// The strings are identical [RFC 9700 section 2.1].
    Exact,
}

/// The rules for redirect URIs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedirectUriPolicy {
    /// How a requested value is compared; [`RedirectUriComparison::Domain`] by default.
    pub comparison: RedirectUriComparison,
    /// Whether the name `localhost` is a loopback host; on by default, discouraged by [RFC 8252 section 8.3].
    pub localhost: bool,
    /// Whether plain `http` is accepted on loopback hosts; on by default, for native clients [RFC 8252 section 7.3].
    pub loopback_http: bool,
    /// Whether schemes such as `com.example.app` may be used; on by default [RFC 8252 section 7.1].
    pub private_use_schemes: bool,
    /// Further schemes of apps, in lower case; none by default.
    ///
    /// A named scheme may be one without a dot, may have two slashes after it, and may be used while
    /// [`private_use_schemes`](Self::private_use_schemes) is off: `cursor` admits `cursor://anysphere.cursor-mcp/cb`.
    /// Any app on the user's device can claim such a scheme.
    pub named_schemes: Vec<String>,
    /// Whether the domain rule accepts any port on every host; off by default.
    ///
    /// Any service on the registered host can then receive codes. The exact rule ignores this.
    pub any_port: bool,
    /// Whether plain `http` is accepted on every host; off by default, for development only.
    ///
    /// Codes are then sent unencrypted.
    pub development_http: bool,
}

impl Default for RedirectUriPolicy {
    fn default() -> Self {
        Self {
            comparison: RedirectUriComparison::Domain,
            localhost: true,
            loopback_http: true,
            private_use_schemes: true,
            named_schemes: Vec::new(),
            any_port: false,
            development_http: false,
        }
    }
}

impl RedirectUriPolicy {
    /// Checks that a valid redirect URI is of a kind that may be used.
    pub(crate) fn check_kind<T: AsRef<str>>(&self, target: &Target<T>) -> Result<(), RedirectUriError> {
        match target {
            Target::Web(uri) => self.check_web(uri),
            Target::PrivateUse(uri) => self.check_private_use(uri),
        }
    }

    /// A scheme with a dot is a reversed domain name, which no other app uses by mistake [RFC 8252 section 7.1].
    fn check_private_use<T: AsRef<str>>(&self, uri: &AppUri<T>) -> Result<(), RedirectUriError> {
        let scheme = uri.scheme.as_ref();
        if self.named_schemes.iter().any(|named| named.eq_ignore_ascii_case(scheme)) {
            return Ok(());
        }
        if !scheme.contains('.') {
            return Err(RedirectUriError::Scheme);
        }
        if uri.has_authority {
            return Err(RedirectUriError::PrivateUseSlash);
        }
        if self.private_use_schemes { Ok(()) } else { Err(RedirectUriError::PrivateUseScheme) }
    }

    /// Compares two valid redirect URIs that are not the same string.
    pub(crate) fn admits<T: AsRef<str>>(&self, registered: &WebUri<T>, requested: &WebUri<&str>) -> bool {
        if registered.scheme != requested.scheme || !registered.host.as_ref().eq_ignore_ascii_case(requested.host) {
            return false;
        }
        let same_path_and_query = registered.path_and_query.as_ref() == requested.path_and_query;
        match (self.comparison, self.is_loopback(requested)) {
            (RedirectUriComparison::Domain, true) => same_path_and_query,
            (RedirectUriComparison::Domain, false) => self.any_port || registered.port == requested.port,
            (RedirectUriComparison::Exact, true) => {
                same_path_and_query
                    && registered.scheme_text.as_ref() == requested.scheme_text
                    && registered.host.as_ref() == requested.host
            }
            (RedirectUriComparison::Exact, false) => false,
        }
    }

    fn check_web<T: AsRef<str>>(&self, uri: &WebUri<T>) -> Result<(), RedirectUriError> {
        match uri.scheme {
            WebScheme::Https => Ok(()),
            WebScheme::Http if self.development_http => Ok(()),
            WebScheme::Http if !self.is_loopback(uri) => Err(RedirectUriError::PlainHttp),
            WebScheme::Http if self.loopback_http => Ok(()),
            WebScheme::Http => Err(RedirectUriError::LoopbackHttp),
        }
    }

    fn is_loopback<T: AsRef<str>>(&self, uri: &WebUri<T>) -> bool {
        match LoopbackHost::of(uri) {
            Some(LoopbackHost::Literal) => true,
            Some(LoopbackHost::Name) => self.localhost,
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
    pub(crate) fn of<T: AsRef<str>>(uri: &WebUri<T>) -> Option<Self> {
        let host = uri.host.as_ref();
        match uri.scheme {
            WebScheme::Https => None,
            WebScheme::Http if host == "127.0.0.1" || host == "[::1]" => Some(Self::Literal),
            WebScheme::Http => host.eq_ignore_ascii_case("localhost").then_some(Self::Name),
        }
    }
}
