//! The parts of an `https` or `http` redirect URI.

use percent_encoding::percent_decode_str;

use crate::model::redirect_uri::error::RedirectUriError;
use crate::model::redirect_uri::syntax::{check_host, host_in_ascii};
use crate::text::{LineError, check_shown_line, is_blank, is_invisible};

/// The parameters of an authorization response. A redirect URI that already contains one of them could make a client
/// read the wrong value.
const RESPONSE_PARAMETERS: [&str; 12] = [
    "code",
    "state",
    "iss",
    "error",
    "error_description",
    "error_uri",
    "response",
    "access_token",
    "token_type",
    "expires_in",
    "scope",
    "id_token",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WebScheme {
    Https,
    Http,
}

impl WebScheme {
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        if text.eq_ignore_ascii_case("https") {
            return Some(Self::Https);
        }
        text.eq_ignore_ascii_case("http").then_some(Self::Http)
    }

    pub(crate) const fn default_port(self) -> u16 {
        match self {
            Self::Https => 443,
            Self::Http => 80,
        }
    }
}

/// The parts of a redirect URI with an authority, each as written, except for the effective port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WebUri<'a> {
    pub(crate) scheme: WebScheme,
    pub(crate) scheme_text: &'a str,
    /// With the brackets, if it is an IPv6 literal.
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    /// Everything after the authority.
    pub(crate) path_and_query: &'a str,
}

impl<'a> WebUri<'a> {
    /// Splits a value whose characters were checked, and checks every part.
    pub(crate) fn parse(text: &'a str) -> Result<Self, RedirectUriError> {
        let uri = Self::split(text)?;
        check_host(uri.host)?;
        check_path_and_query(uri.path_and_query)?;
        Ok(uri)
    }

    /// Splits a value without checking host, path and query.
    pub(crate) fn split(text: &'a str) -> Result<Self, RedirectUriError> {
        let (scheme_text, rest) = text.split_once("://").ok_or(RedirectUriError::Scheme)?;
        let scheme = WebScheme::from_text(scheme_text).ok_or(RedirectUriError::Scheme)?;
        let (authority, path_and_query) = Authority::split(rest)?;
        let port = authority.port()?.unwrap_or_else(|| scheme.default_port());
        Ok(Self { scheme, scheme_text, host: authority.host, port, path_and_query })
    }

    /// The origin as URL libraries write it: scheme and host in lower case, without a default port.
    pub(crate) fn plain_origin(&self) -> String {
        let (scheme, host) = (self.scheme_text.to_ascii_lowercase(), self.host.to_ascii_lowercase());
        let port = if self.port == self.scheme.default_port() { String::new() } else { format!(":{}", self.port) };
        format!("{scheme}://{host}{port}")
    }

    /// Whether scheme, host and effective port are the same.
    pub(crate) fn has_origin_of(&self, other: &WebUri<'_>) -> bool {
        self.scheme == other.scheme && self.port == other.port && self.host.eq_ignore_ascii_case(other.host)
    }
}

/// Refuses brackets, dot segments and response parameters after the authority or the scheme.
pub(crate) fn check_path_and_query(path_and_query: &str) -> Result<(), RedirectUriError> {
    if path_and_query.contains(['[', ']']) {
        return Err(RedirectUriError::Character);
    }
    let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
    if has_dot_segment(path) {
        return Err(RedirectUriError::DotSegment);
    }
    if query.split('&').any(is_response_parameter) {
        return Err(RedirectUriError::ResponseParameter);
    }
    Ok(())
}

/// The part between the two slashes and the path.
pub(crate) struct Authority<'a> {
    host: &'a str,
    port: Option<&'a str>,
}

impl<'a> Authority<'a> {
    /// Splits what follows the two slashes into the authority and the rest.
    pub(crate) fn split(text: &'a str) -> Result<(Self, &'a str), RedirectUriError> {
        let end = text.find(['/', '?']).unwrap_or(text.len());
        let (authority, path_and_query) = text.split_at_checked(end).ok_or(RedirectUriError::Host)?;
        Ok((Self::parse(authority)?, path_and_query))
    }

    /// Checks host and port.
    pub(crate) fn check(&self) -> Result<(), RedirectUriError> {
        self.port()?;
        check_host(self.host)
    }

    fn port(&self) -> Result<Option<u16>, RedirectUriError> {
        self.port.map(parse_port).transpose()
    }

    fn parse(text: &'a str) -> Result<Self, RedirectUriError> {
        if text.contains('@') {
            return Err(RedirectUriError::UserInfo);
        }
        if text.contains('*') {
            return Err(RedirectUriError::Wildcard);
        }
        if text.is_empty() || text.contains('%') {
            return Err(RedirectUriError::Host);
        }
        let end = match text.strip_prefix('[') {
            Some(_) => text.find(']').ok_or(RedirectUriError::Host)? + 1,
            None => text.find(':').unwrap_or(text.len()),
        };
        let (host, rest) = text.split_at_checked(end).ok_or(RedirectUriError::Host)?;
        let port = match rest {
            "" => None,
            rest => Some(rest.strip_prefix(':').ok_or(RedirectUriError::Host)?),
        };
        Ok(Self { host, port })
    }
}

fn parse_port(text: &str) -> Result<u16, RedirectUriError> {
    if text.starts_with('0') || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(RedirectUriError::Port);
    }
    text.parse().map_err(|_| RedirectUriError::Port)
}

/// Whether a segment is `.` or `..`, even if it is percent-encoded.
pub(crate) fn has_dot_segment(path: &str) -> bool {
    path.split('/').any(is_dot_segment)
}

fn is_dot_segment(segment: &str) -> bool {
    percent_decode_str(segment).eq(*b".") || percent_decode_str(segment).eq(*b"..")
}

fn is_response_parameter(parameter: &str) -> bool {
    let name = parameter.split_once('=').map_or(parameter, |(name, _)| name);
    RESPONSE_PARAMETERS.iter().any(|known| percent_decode_str(name).eq(known.bytes()))
}

/// Why a text is not the address of a website.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WebAddressError {
    /// It cannot be shown.
    Line(LineError),
    NotAWebAddress,
    UserInfo,
    HostNotAscii {
        a_label: Box<str>,
    },
}

/// Checks the address of a website. Only its host must be ASCII.
pub(crate) fn check_web_address(text: &str, limit: usize) -> Result<(), WebAddressError> {
    check_shown_line(text, limit).map_err(WebAddressError::Line)?;
    if text.chars().any(|own| is_blank(own) || own == '\\' || is_invisible(own)) {
        return Err(WebAddressError::NotAWebAddress);
    }
    let start = text.find("://").map_or(0, |end| end + 3);
    let rest = text.get(start..).unwrap_or_default();
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(WebAddressError::UserInfo);
    }
    let address = text.get(..start + authority.len()).unwrap_or_default();
    let uri = WebUri::split(address).map_err(|_| WebAddressError::NotAWebAddress)?;
    if !uri.host.is_ascii() {
        let not_ascii = |a_label| WebAddressError::HostNotAscii { a_label };
        return Err(host_in_ascii(uri.host).map_or(WebAddressError::NotAWebAddress, not_ascii));
    }
    check_host(uri.host).map_err(|_| WebAddressError::NotAWebAddress)
}

/// Returns a link that a client sent; `None` for one with plain http, and for a text that is not a link.
pub(crate) fn web_link(text: &str, limit: usize) -> Option<String> {
    check_web_address(text, limit).ok()?;
    let is_https = text.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("https://"));
    is_https.then(|| text.into())
}

/// Checks an address that the server itself sends requests to: https in lower case, in ASCII, without a fragment.
pub(crate) fn https_address(text: &str, limit: usize) -> Option<Box<str>> {
    let is_plain = text.starts_with("https://") && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
    (is_plain && check_web_address(text, limit).is_ok()).then(|| text.into())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target<'a> {
    Web(WebUri<'a>),
    PrivateUse(AppUri<'a>),
}

/// The parts of a redirect URI with a private-use scheme that the policy checks. The URI is compared as a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AppUri<'a> {
    pub(crate) scheme: &'a str,
    /// Whether two slashes follow the scheme.
    pub(crate) has_authority: bool,
}

impl<'a> Target<'a> {
    /// Parses a value whose characters were checked.
    pub(crate) fn parse(text: &'a str) -> Result<Self, RedirectUriError> {
        let (scheme, rest) = text.split_once(':').ok_or(RedirectUriError::Scheme)?;
        if WebScheme::from_text(scheme).is_some() {
            return WebUri::parse(text).map(Self::Web);
        }
        if !is_app_scheme(scheme) {
            return Err(RedirectUriError::Scheme);
        }
        if !rest.starts_with('/') {
            return Err(RedirectUriError::PrivateUseSlash);
        }
        let authority = rest.strip_prefix("//");
        let path_and_query = authority.map_or(Ok(rest), after_authority)?;
        check_path_and_query(path_and_query)?;
        Ok(Self::PrivateUse(AppUri { scheme, has_authority: authority.is_some() }))
    }
}

/// Checks the authority, and returns what follows it.
fn after_authority(text: &str) -> Result<&str, RedirectUriError> {
    let (authority, path_and_query) = Authority::split(text)?;
    authority.check()?;
    Ok(path_and_query)
}

/// Whether a redirect URI may have this scheme to lead to an app [RFC 3986 section 3.1, RFC 8252 section 7.1].
pub(crate) fn is_app_scheme(scheme: &str) -> bool {
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        && WebScheme::from_text(scheme).is_none()
        && !BROWSER_SCHEMES.iter().any(|own| own.eq_ignore_ascii_case(scheme))
}

/// The schemes that a browser itself executes or opens.
const BROWSER_SCHEMES: [&str; 12] = [
    "javascript",
    "data",
    "vbscript",
    "file",
    "blob",
    "filesystem",
    "about",
    "view-source",
    "ws",
    "wss",
    "ftp",
    "mailto",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::redirect_uri::error::RedirectUriError;

    #[test]
    fn the_parts_are_found_as_written() {
        let uri = WebUri::parse("HTTPS://App.Example.COM:8443/cb?x=1").unwrap();
        assert_eq!(uri.scheme, WebScheme::Https);
        assert_eq!((uri.scheme_text, uri.host, uri.port), ("HTTPS", "App.Example.COM", 8443));
        assert_eq!(uri.path_and_query, "/cb?x=1");
        let uri = WebUri::parse("http://[::1]?x").unwrap();
        assert_eq!((uri.scheme_text, uri.host, uri.port, uri.path_and_query), ("http", "[::1]", 80, "?x"));
        assert_eq!(WebUri::parse("https://a.example").unwrap().port, 443);
    }

    #[test]
    fn each_fault_is_named() {
        use RedirectUriError::{Character, DotSegment, Host, Port, ResponseParameter, Scheme, UserInfo, Wildcard};
        for (text, error) in [
            ("a.example", Scheme),
            ("https:a.example", Scheme),
            ("https:/a.example", Scheme),
            ("httpss://a.example", Scheme),
            ("x/https://a.example", Scheme),
            ("://a.example", Scheme),
            ("https://", Host),
            ("https:///a.example", Host),
            ("https://?x", Host),
            ("https://:443/cb", Host),
            ("https://a%2eexample/", Host),
            ("https://a%2eexample:x/", Host),
            ("https://[::1", Host),
            ("https://[::1]x/", Host),
            ("https://[::1]443/", Host),
            ("https://a[b]/", Host),
            ("https://a[::1]/", Port),
            ("https://a.example;b.example/", Host),
            ("https://u@a.example/", UserInfo),
            ("https://@a.example/", UserInfo),
            ("https://[::1]@a.example/", UserInfo),
            ("https://localhost:80@evil.test/", UserInfo),
            ("https://*.a.example/", Wildcard),
            ("https://a.example:*/", Wildcard),
            ("https://a.example:/", Port),
            ("https://a.example:0/", Port),
            ("https://a.example:080/", Port),
            ("https://a.example:65536/", Port),
            ("https://a.example:100000/", Port),
            ("https://a.example:+80/", Port),
            ("https://a.example:80:80/", Port),
            ("https://[::1]:/", Port),
            ("https://a.example/[::1]", Character),
            ("https://a.example/?x=[", Character),
            ("https://a.example/.", DotSegment),
            ("https://a.example/..", DotSegment),
            ("https://a.example/a/%2e/b", DotSegment),
            ("https://a.example/a/.%2E?x", DotSegment),
            ("https://a.example/?code", ResponseParameter),
            ("https://a.example?a=b&%73tate=", ResponseParameter),
        ] {
            assert_eq!(WebUri::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn free_paths_and_queries_are_accepted() {
        for rest in ["", "/", "/...", "/.a", "/a..", "/..%2fa", "/%252e", "//", "/a;b", "/@b", "/:", "?", "?&", "?.."] {
            assert!(WebUri::parse(&format!("https://a.example{rest}")).is_ok(), "{rest}");
        }
        for query in ["x=code", "Code=1", "code%20=1", "codes=1", "xcode=1", "a=1?code=2", "%25code=1", "=code"] {
            assert!(WebUri::parse(&format!("https://a.example/cb?{query}")).is_ok(), "{query}");
        }
    }

    #[test]
    fn every_response_parameter_is_refused() {
        for name in RESPONSE_PARAMETERS {
            let uri = format!("https://a.example/cb?a=1&{name}=x");
            assert_eq!(WebUri::parse(&uri), Err(RedirectUriError::ResponseParameter), "{name}");
        }
    }

    #[test]
    fn requests_are_sent_to_plain_https_addresses_alone() {
        for (address, is_sound) in [
            ("https://a.example/jwks.json", true),
            ("https://a.example:8443/jwks?v=1", true),
            ("http://a.example/jwks.json", false),
            ("HTTPS://a.example/jwks.json", false),
            ("https://u@a.example/jwks.json", false),
            ("https://a.example/jwks.json#x", false),
            ("https://a.example/\u{7801}", false),
            ("https:///jwks.json", false),
            ("/jwks.json", false),
            ("", false),
        ] {
            assert_eq!(https_address(address, 64).is_some(), is_sound, "{address}");
        }
        assert_eq!(https_address("https://a.example/jwks.json", 26), None);
    }

    #[test]
    fn what_browsers_read_differently_is_refused() {
        assert!(Target::parse("https://xn--bcher-kva.example/").is_ok());
        for text in [
            "https://xn--zzzzzzzzz99999.example/",
            // RFC 5952 and browsers write this address in two ways.
            "https://[::ffff:192.0.2.1]/",
        ] {
            assert_eq!(Target::parse(text), Err(RedirectUriError::Host), "{text}");
        }
    }

    #[test]
    fn a_private_use_scheme_is_distinguished_from_what_browsers_open() {
        for (text, scheme, has_authority) in [
            ("com.example.app:/", "com.example.app", false),
            ("com.example.app:/cb?x=1", "com.example.app", false),
            ("COM.example.app:/a/b", "COM.example.app", false),
            ("a.b+c-d.1:/cb", "a.b+c-d.1", false),
            ("com.example.app://cb", "com.example.app", true),
            ("myapp:/cb", "myapp", false),
            ("cursor://anysphere.cursor-mcp/oauth/callback", "cursor", true),
            ("cursor://x?y=1", "cursor", true),
            ("app://[::1]:8080/cb", "app", true),
        ] {
            assert_eq!(Target::parse(text), Ok(Target::PrivateUse(AppUri { scheme, has_authority })), "{text}");
        }
        for (text, error) in [
            ("1.app:/cb", RedirectUriError::Scheme),
            (".app:/cb", RedirectUriError::Scheme),
            ("com.ex_ample:/cb", RedirectUriError::Scheme),
            ("com.ex%61mple:/cb", RedirectUriError::Scheme),
            ("app.example.com/cb", RedirectUriError::Scheme),
            (":/cb", RedirectUriError::Scheme),
            ("com.example.app:", RedirectUriError::PrivateUseSlash),
            ("com.example.app:cb", RedirectUriError::PrivateUseSlash),
            ("com.example.app:///cb", RedirectUriError::Host),
            ("cursor://", RedirectUriError::Host),
            ("cursor://?x", RedirectUriError::Host),
            ("cursor://a_b/cb", RedirectUriError::Host),
            ("cursor://a%2eb/cb", RedirectUriError::Host),
            ("cursor://user@x/cb", RedirectUriError::UserInfo),
            ("cursor://x:0/cb", RedirectUriError::Port),
            ("com.example.app:/[cb]", RedirectUriError::Character),
            ("com.example.app:/a/../cb", RedirectUriError::DotSegment),
            ("cursor://x/a/../cb", RedirectUriError::DotSegment),
            ("com.example.app:/.//cb", RedirectUriError::DotSegment),
            ("com.example.app:/cb?code=1", RedirectUriError::ResponseParameter),
            ("cursor://x?state", RedirectUriError::ResponseParameter),
        ] {
            assert_eq!(Target::parse(text), Err(error), "{text}");
        }
        for scheme in BROWSER_SCHEMES {
            for text in [format!("{scheme}:/x"), format!("{}://x/", scheme.to_uppercase())] {
                assert_eq!(Target::parse(&text), Err(RedirectUriError::Scheme), "{text}");
            }
        }
    }
}
