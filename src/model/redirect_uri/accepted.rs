//! The redirect URI of one authorization.

use std::net::Ipv4Addr;
use std::sync::Arc;

use crate::base::field::texts;
use crate::model::redirect_uri::policy::LoopbackHost;
use crate::model::redirect_uri::syntax::uri_text;
use crate::model::redirect_uri::target::is_app_scheme;
use crate::model::redirect_uri::web::{WebScheme, WebUri};

/// A redirect URI of a request, named or by default, that the client may use [RFC 6749 section 3.1.2].
///
/// It is the requested string itself, which is stored, compared at the token endpoint and sent in `Location`. Two
/// redirect URIs are equal if their bytes are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RedirectUri(Arc<str>);

texts! { RedirectUri: Self::read }

impl RedirectUri {
    /// Takes a redirect URI that was accepted before.
    pub(crate) fn from_record(text: Arc<str>) -> Self {
        Self(text)
    }

    /// Takes a stored redirect URI, if all its characters are allowed.
    pub(crate) fn read(text: &str) -> Option<Self> {
        uri_text(text.as_bytes()).is_ok().then(|| Self(text.into()))
    }

    /// Returns the redirect URI, byte for byte as requested.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the host as written, for the consent page; for a private-use scheme, the scheme.
    ///
    /// An IPv6 literal keeps its brackets, and an international name its A-labels.
    #[must_use]
    pub fn host(&self) -> &str {
        WebUri::split(&self.0).map_or_else(|_| self.scheme(), |uri| uri.host)
    }

    /// Returns whether it leads to the user's own machine by plain `http` [RFC 8252 section 7.3].
    ///
    /// The name `localhost` counts, even if the policy does not accept it.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        WebUri::split(&self.0).is_ok_and(|uri| LoopbackHost::of(&uri).is_some())
    }

    /// Returns whether it leads to an app by a private-use scheme [RFC 8252 section 7.1].
    #[must_use]
    pub fn is_private_use(&self) -> bool {
        is_app_scheme(self.scheme())
    }

    /// Returns whether it is an https or http address.
    pub(crate) fn is_web(&self) -> bool {
        WebUri::split(&self.0).is_ok()
    }

    /// Returns whether it is an https address with a domain name that is not one of the user's own device.
    pub(crate) fn is_https_on_a_domain(&self) -> bool {
        WebUri::split(&self.0).is_ok_and(|uri| {
            let host = uri.host.trim_end_matches('.').to_ascii_lowercase();
            let is_address = host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok();
            let is_local = host == "localhost" || host.ends_with(".localhost");
            uri.scheme == WebScheme::Https && !is_address && !is_local
        })
    }

    /// Returns the sources that a `form-action` must list so that a browser follows the redirect, and further redirects
    /// from there. Browsers check every redirect in the chain that a form starts [CSP section 6.4.1].
    pub(crate) fn form_action_sources(&self) -> String {
        match WebUri::split(&self.0) {
            Ok(_) => "https: http:".to_owned(),
            Err(_) => format!("{}:", self.scheme()),
        }
    }

    fn scheme(&self) -> &str {
        self.0.split_once(':').map_or(&self.0, |(scheme, _)| scheme)
    }
}

#[cfg(test)]
mod tests {
    use crate::model::redirect_uri::accepted::RedirectUri;

    #[test]
    fn host_and_kind_are_read_from_the_text() {
        for (text, host, loopback, private_use) in [
            ("https://app.example.com:8443/cb", "app.example.com", false, false),
            ("HTTPS://App.example.com", "App.example.com", false, false),
            ("https://a.example?x=http://127.0.0.1/", "a.example", false, false),
            ("https://a.example/@b.example:1/", "a.example", false, false),
            ("http://127.0.0.1:3000/cb", "127.0.0.1", true, false),
            ("http://[::1]:3000/cb", "[::1]", true, false),
            ("http://LocalHost/cb", "LocalHost", true, false),
            ("https://localhost/cb", "localhost", false, false),
            ("http://127.0.0.2/cb", "127.0.0.2", false, false),
            ("com.example.app:/cb", "com.example.app", false, true),
            ("com.example.app:/x://y", "com.example.app", false, true),
            ("cursor://anysphere.cursor-mcp/cb", "cursor", false, true),
        ] {
            let uri = RedirectUri::from_record(text.into());
            assert_eq!(uri.as_str(), text);
            assert_eq!((uri.host(), uri.is_loopback(), uri.is_private_use()), (host, loopback, private_use), "{text}");
        }
    }

    #[test]
    fn the_sources_of_a_policy_name_schemes_since_a_web_address_may_redirect_further() {
        for (text, sources) in [
            ("https://app.example.com:8443/cb?x=1", "https: http:"),
            ("http://127.0.0.1:3000/cb", "https: http:"),
            ("http://[::1]:3000/cb", "https: http:"),
            ("com.example.app:/cb", "com.example.app:"),
            ("cursor://anysphere.cursor-mcp/cb", "cursor:"),
        ] {
            assert_eq!(RedirectUri::from_record(text.into()).form_action_sources(), sources, "{text}");
        }
    }

    #[test]
    fn a_damaged_record_does_not_panic() {
        for text in ["", ":", "://", "https://", "http://[", "http://[::1", "https://u@h/", "\u{fc}:\u{fc}"] {
            let uri = RedirectUri::from_record(text.into());
            let _ = (uri.host(), uri.is_loopback(), uri.is_private_use());
        }
    }
}
