//! The addresses of a flow, and where a user continues after the sign-in.

use std::fmt;

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_encode, utf8_percent_encode};
use serde::Deserialize;

use crate::authorization::identity_request::SIGNED_IN_SINCE;
use crate::base::ValueError;
use crate::base::clock::Timestamp;
use crate::model::redirect_uri::WebUri;
use crate::server::AuthorizationServer;
use crate::wire::Endpoint;

/// A path of your service with its query, where a user continues after the sign-in.
///
/// It begins with one slash and has only visible ASCII characters, and no backslash, quotation mark or angle bracket.
/// So it never leads to another host, and a sign-in page may redirect to it even if the link to that page was forged
/// [RFC 9700 section 4.11].
///
/// ```
/// use grantor::interaction::ReturnTo;
///
/// let return_to = ReturnTo::parse("/oauth2/auth?client_id=1")?;
/// assert_eq!(return_to.query("/sign-in"), "/sign-in?return_to=%2Foauth2%2Fauth%3Fclient%5Fid%3D1");
/// assert!(ReturnTo::parse("//evil.example").is_err());
/// # Ok::<(), grantor::error::ValueError>(())
/// ```
///
/// In the handler of your sign-in page, make it a field `return_to` of the query and of the form: it implements
/// `Deserialize` and refuses every other text.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ReturnTo(String);

impl ReturnTo {
    /// Checks a text from a query or a form.
    ///
    /// # Errors
    ///
    /// [`ValueError`] if it is not a local path.
    pub fn parse(text: impl Into<String>) -> Result<Self, ValueError> {
        let text = text.into();
        // Browsers read a backslash as a slash, and skip tabs and line breaks [WHATWG URL]. They escape quotation marks
        // and angle brackets themselves, so a page that forgets to is not open to a forged link.
        let is_local = text.starts_with('/') && !text.starts_with("//");
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\\\"'<>".contains(&byte));
        if is_local && is_plain { Ok(Self(text)) } else { Err(NO_LOCAL_PATH) }
    }

    /// Joins a path of this service and the query of a request. Bytes that may not stand in a URL are escaped, which
    /// does not change their meaning.
    pub(super) fn of(path: &str, query: &[u8]) -> Self {
        const RAW: AsciiSet = CONTROLS.add(b' ').add(b'#').add(b'\\').add(b'"').add(b'\'').add(b'<').add(b'>');
        let separator = if query.is_empty() { "" } else { "?" };
        Self(format!("{path}{separator}{}", percent_encode(query, &RAW)))
    }

    /// Returns the address of the same request, which shows the page whatever is remembered.
    pub(super) fn asking(self) -> Self {
        if self.asks() { self } else { Self(self.0 + ASK_AGAIN) }
    }

    /// Whether [`asking`](Self::asking) returned it. It is no parameter of the client, which may have sent `prompt`
    /// once.
    pub(super) fn asks(&self) -> bool {
        self.0.ends_with(ASK_AGAIN)
    }

    /// Returns the address of the same request, in which a sign-in from `now` on counts as new.
    pub(super) fn signed_in_since(self, now: Timestamp) -> Self {
        let own = self.0.strip_suffix(ASK_AGAIN).unwrap_or(&self.0);
        let is_older = |piece: &&str| piece.strip_prefix(SIGNED_IN_SINCE).is_some_and(|rest| rest.starts_with('='));
        let kept: Vec<_> = own.split('&').filter(|piece| !is_older(piece)).collect();
        let end = if self.asks() { ASK_AGAIN } else { "" };
        Self(format!("{}&{SIGNED_IN_SINCE}={}{end}", kept.join("&"), now.seconds()))
    }

    /// Returns the query, if the path is this one.
    pub(super) fn query_at(&self, path: &str) -> Option<&str> {
        self.0.split_once('?').filter(|(own, _)| *own == path).map(|(_, query)| query)
    }

    /// Returns the path with its query.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the address of a sign-in page that continues here: `path` with the parameter `return_to`.
    #[must_use]
    pub fn query(&self, path: &str) -> String {
        let separator = if path.contains('?') { '&' } else { '?' };
        format!("{path}{separator}return_to={}", utf8_percent_encode(&self.0, NON_ALPHANUMERIC))
    }
}

impl fmt::Display for ReturnTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for ReturnTo {
    type Error = ValueError;

    fn try_from(text: String) -> Result<Self, ValueError> {
        Self::parse(text)
    }
}

/// The parameter, of this server alone, with which a request shows the page.
const ASK_AGAIN: &str = "&ask_again=1";

const NO_LOCAL_PATH: ValueError = ValueError(
    "return_to must be a path of this service: one slash first, visible ASCII characters, no backslash, quotation \
     mark or angle bracket",
);

/// An address of a [`Flow`](crate::interaction::Flow).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Route {
    /// The authorization endpoint, which asks the user.
    Authorization,
    /// Where the consent page sends its form.
    Consent,
    /// Where users type the code that a device shows [RFC 8628 section 3.3].
    Device,
    /// The list of authorized applications, and where its forms are sent.
    Applications,
    /// The logo of an application that a person has approved.
    Logo,
}

impl Route {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Authorization, Self::Consent, Self::Device, Self::Applications, Self::Logo];

    /// Returns whether the answer depends on the browser and the user. That of the logo does not, and caches keep it,
    /// so it must have no cookie.
    #[must_use]
    pub const fn has_visitor(self) -> bool {
        !matches!(self, Self::Logo)
    }

    /// The methods, as the `Allow` header lists them.
    pub(super) const fn allow(self) -> &'static str {
        match self {
            Self::Authorization | Self::Logo => "GET, HEAD",
            Self::Consent => "POST",
            Self::Device | Self::Applications => "GET, HEAD, POST",
        }
    }
}

/// Returns the path of the page for user codes: that of the published address, if that has the issuer's origin.
pub(super) fn device_path(server: &AuthorizationServer) -> String {
    let page = WebUri::split(server.config().devices.verification_uri.as_str());
    // "/" alone is the start page of the service.
    let page = page.ok().filter(|page| page.path_and_query.len() > 1);
    let is_own = |page: &WebUri<'_>| {
        WebUri::split(server.issuer()).is_ok_and(|issuer| issuer.plain_origin() == page.plain_origin())
    };
    match page.filter(is_own) {
        Some(page) => page.path_and_query.to_owned(),
        None => server.path(Endpoint::Authorization) + "/device",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_local_path_is_accepted() {
        for local in ["/", "/oauth2/auth?redirect_uri=https://a.example/", "/a//b", "/%0a#x"] {
            assert_eq!(ReturnTo::parse(local).unwrap().as_str(), local);
        }
        for other in [
            "",
            "oauth2/auth",
            "//evil.example",
            "/\\evil.example",
            "\\/evil.example",
            "https://evil.example/",
            "javascript:alert(1)",
            "/\t/evil.example",
            "/\n/evil.example",
            "/a b",
            " /a",
            "/\u{e4}",
            "/\"><script>",
            "/'x",
        ] {
            assert_eq!(ReturnTo::parse(other), Err(NO_LOCAL_PATH), "{other:?}");
        }
    }

    #[test]
    fn the_query_of_a_request_is_kept_in_visible_characters() {
        let query = b"state=\xe4 \\\"<&scope=a%20b";
        let return_to = ReturnTo::of("/oauth2/auth", query);
        assert_eq!(return_to.as_str(), "/oauth2/auth?state=%E4%20%5C%22%3C&scope=a%20b");
        assert_eq!(ReturnTo::parse(return_to.as_str()), Ok(return_to.clone()));
        assert_eq!(return_to.query_at("/oauth2/auth"), Some("state=%E4%20%5C%22%3C&scope=a%20b"));
        assert_eq!(return_to.query_at("/oauth2"), None);
        assert_eq!(ReturnTo::of("/list", b"").as_str(), "/list");
    }

    #[test]
    fn the_address_of_a_sign_in_page_has_it_as_one_parameter() {
        let return_to = ReturnTo::parse("/a?b=c&d=e").unwrap();
        assert_eq!(return_to.query("/in"), "/in?return_to=%2Fa%3Fb%3Dc%26d%3De");
        assert_eq!(return_to.query("/in?lang=de"), "/in?lang=de&return_to=%2Fa%3Fb%3Dc%26d%3De");
        let read: Vec<(String, ReturnTo)> = serde_urlencoded::from_str("return_to=%2Fa%3Fb%3Dc%26d%3De").unwrap();
        assert_eq!(read, [("return_to".to_owned(), return_to)]);
        assert!(serde_urlencoded::from_str::<Vec<(String, ReturnTo)>>("return_to=%2F%2Fevil.example").is_err());
    }
}
