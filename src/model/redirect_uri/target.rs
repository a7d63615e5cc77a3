//! Where a redirect URI leads: to a host, or to an app by its private-use scheme.

use crate::model::redirect_uri::error::RedirectUriError;
use crate::model::redirect_uri::web::{Authority, WebScheme, WebUri, check_path_and_query};

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
