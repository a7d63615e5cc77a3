//! Why a redirect URI is refused, and how a log shows it.

use crate::base::debug_as_text;
use crate::secret::CLIENT_SECRET_CHARACTERS;

/// The reason why a redirect URI is refused. Its text contains nothing from the value, except the host in ASCII where a
/// redirect URI is registered.
///
/// The first failed check is reported. The syntax is checked first, then the policy.
#[derive(Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum RedirectUriError {
    /// The value is empty.
    #[error("the redirect URI is empty")]
    Empty,
    /// There are more than 2048 bytes.
    #[error("the redirect URI is longer than 2048 bytes")]
    TooLong,
    /// A byte is not a URI character, or a bracket does not enclose an address [RFC 3986 section 2].
    #[error("the redirect URI contains a character that is not allowed there")]
    Character,
    /// A percent sign is not followed by two hexadecimal digits, or escapes a control character.
    #[error("the redirect URI contains a malformed escape or an escaped control character")]
    Escape,
    /// There is a fragment, even an empty one [RFC 6749 section 3.1.2].
    #[error("the redirect URI has a fragment")]
    Fragment,
    /// The value does not begin with `https://`, `http://`, a scheme that contains a dot, or one of
    /// the named [`PrivateUseSchemes`](crate::redirect_uri::PrivateUseSchemes).
    #[error(
        "the redirect URI has no scheme that is accepted: write https://, or for an app its domain name in \
         reverse, with a dot and one slash, such as com.example.app:/cb"
    )]
    Scheme,
    /// The authority contains an `@`.
    #[error("the redirect URI has a user name")]
    UserInfo,
    /// The host or the port contains a `*`. Redirect URIs are compared as a whole [RFC 9700 section 2.1].
    #[error("the redirect URI has a wildcard, and none is accepted: register each redirect URI in full")]
    Wildcard,
    /// The host is missing, or is neither a plain host name nor a canonical address.
    #[error("the redirect URI has no host, or one that is not in its plain form")]
    Host,
    /// The host of a redirect URI to register has letters beyond ASCII. Clients and browsers write it in ASCII.
    #[error("the redirect URI has a host with letters beyond ASCII; write it as {a_label}")]
    HostNotAscii {
        /// The host in ASCII [RFC 5890 section 2.3.2.1].
        a_label: Box<str>,
    },
    /// A colon is not followed by a number of 1 to 65535 without leading zeros.
    #[error("the redirect URI has a port that is not a plain number from 1 to 65535")]
    Port,
    /// A path segment is `.` or `..`, escaped or not.
    #[error("the redirect URI has a dot segment in its path")]
    DotSegment,
    /// The query already has a parameter of the authorization response.
    #[error("the redirect URI has a query parameter that belongs to the response")]
    ResponseParameter,
    /// Plain `http` is used with a host that is not a loopback host.
    #[error("the redirect URI uses plain http and does not lead to the loopback interface: write https://")]
    PlainHttp,
    /// Plain `http` is used with a loopback host, and
    /// [`loopback_http`](crate::redirect_uri::RedirectUriPolicy::loopback_http) is off.
    #[error("the redirect URI uses plain http, which is not accepted on the loopback interface either: write https://")]
    LoopbackHttp,
    /// A private-use scheme is not followed by exactly one slash [RFC 8252 section 7.1]. One of
    /// the named [`PrivateUseSchemes`](crate::redirect_uri::PrivateUseSchemes) may have two.
    #[error("the redirect URI has a private-use scheme without exactly one slash after it, as in com.example.app:/cb")]
    PrivateUseSlash,
    /// A private-use scheme is not allowed:
    /// [`RedirectUriPolicy::private_use_schemes`](crate::redirect_uri::RedirectUriPolicy::private_use_schemes) does not
    /// have it.
    #[error(
        "the redirect URI has a private-use scheme, and the server setting redirect_uris.private_use_schemes \
         does not have it; write https://"
    )]
    PrivateUseScheme,
    /// The value is valid, but does not match the registered redirect URI.
    #[error("the redirect URI does not match the registered one")]
    Mismatch,
}

debug_as_text!(RedirectUriError);

/// Returns the redirect URI of a request on one line, for a log.
///
/// A user, a query and a fragment are left out, since there may be a password or a token in them. So is each part
/// that is as long as a secret. Control characters are escaped, and at most 255 bytes are written.
pub(crate) fn shown(requested: &[u8]) -> String {
    let text = String::from_utf8_lossy(requested);
    let (text, end) = match text.find(['?', '#']) {
        Some(end) => (text.get(..end).unwrap_or_default(), LEFT_OUT),
        None => (&*text, ""),
    };
    // Everything before the last `@` counts as the user, even if a parser reads it differently.
    let (start, text) = match text.rsplit_once('@') {
        Some((_, rest)) => ("…@", rest),
        None => ("", text),
    };
    let mut shown = start.to_owned();
    for part in text.split_inclusive([':', '/']) {
        let part = without_secret(part);
        if shown.len() + part.len() > MAX_BYTES {
            return shown + LEFT_OUT;
        }
        shown.push_str(&part);
    }
    shown + end
}

/// Returns the part with the character that ends it. A part that may be a secret is left out.
fn without_secret(part: &str) -> String {
    let own = part.trim_end_matches([':', '/']);
    let end = part.get(own.len()..).unwrap_or_default();
    if own.len() < *CLIENT_SECRET_CHARACTERS.start() {
        part.escape_debug().to_string()
    } else {
        format!("{LEFT_OUT}{end}")
    }
}

const LEFT_OUT: &str = "…";
const MAX_BYTES: usize = 255 - LEFT_OUT.len();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_has_no_secret_and_stays_on_one_line() {
        let code = format!("ac_{}", "x".repeat(44));
        for (requested, expected) in [
            ("https://app.example.com/cb", "https://app.example.com/cb".to_owned()),
            ("myapp:/cb", "myapp:/cb".to_owned()),
            ("", String::new()),
            ("https://app.example.com/cb?code=1", "https://app.example.com/cb…".to_owned()),
            ("https://app.example.com#a@b", "https://app.example.com…".to_owned()),
            ("https://user:word@app.example.com/", "…@app.example.com/".to_owned()),
            (&code, "…".to_owned()),
            (&format!("https://app.example.com/{code}/x"), "https://app.example.com/…/x".to_owned()),
            ("https://a\"b\r\n\u{202e}", r#"https://a\"b\r\n\u{202e}"#.to_owned()),
        ] {
            assert_eq!(shown(requested.as_bytes()), expected, "{requested:?}");
        }
        assert_eq!(shown(b"https://\xff/"), "https://\u{fffd}/");
    }

    #[test]
    fn what_is_shown_is_bounded() {
        for text in ["a/".repeat(3000), "\n/".repeat(3000), "x".repeat(5000), "\u{1f600}:".repeat(3000)] {
            assert!(shown(text.as_bytes()).len() <= 255);
        }
    }
}
