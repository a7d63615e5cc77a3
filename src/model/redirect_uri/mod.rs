//! Redirect URIs: which may be registered, and which requested values match a registered one.
//!
//! A requested value is checked byte by byte, by rules smaller than any URL parser's. Tests compare the accepted
//! values with the output of a URL library. The requested string itself is stored, compared later and sent in
//! `Location`, never the output of a parser. Nothing is percent-decoded, mapped or folded to make two values equal,
//! except the ASCII letter case of scheme and host. International names are registered and sent as A-labels.
//!
//! # Security
//!
//! [`RedirectUriComparison::Domain`] leaves path and query free. It is unsafe on a host that several owners share by
//! path, and on a host with an open redirector. There, only PKCE and a `redirect_uri` in the exchange protect the code.
//! [`RedirectUriComparison::Exact`] is the rule of RFC 9700.
//!
//! # Examples
//!
//! ```
//! use grantor::redirect_uri::{RedirectUriError, RedirectUriPolicy, RegisteredRedirectUri};
//!
//! # fn main() -> Result<(), RedirectUriError> {
//! let policy = RedirectUriPolicy::default();
//! let registered = RegisteredRedirectUri::parse("https://app.example.com/cb", &policy)?;
//!
//! let accepted = registered.matches(b"https://app.example.com/other", &policy)?;
//! assert_eq!(accepted.as_str(), "https://app.example.com/other");
//!
//! let refused = registered.matches(b"https://app.example.com@evil.test/cb", &policy);
//! assert_eq!(refused, Err(RedirectUriError::UserInfo));
//! # Ok(())
//! # }
//! ```

mod policy;
mod registered;
mod syntax;
mod web;

pub use policy::{LoopbackHttp, PrivateUseSchemes, RedirectUriComparison, RedirectUriPolicy};
pub use registered::{RedirectUri, RegisteredRedirectUri};
pub(crate) use syntax::{check_host, uri_text};
pub(crate) use web::{
    WebAddressError, WebScheme, WebUri, check_path_and_query, check_web_address, has_dot_segment, https_address,
    is_app_scheme, web_link,
};

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
    use serde_json::Value;
    use url::{ParseError, Url};

    use super::*;

    const VECTORS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/redirect-vectors.json"));

    fn vectors() -> Vec<Value> {
        serde_json::from_str(VECTORS).unwrap()
    }

    fn text<'a>(vector: &'a Value, member: &str) -> &'a str {
        vector[member].as_str().unwrap()
    }

    fn policy(comparison: RedirectUriComparison) -> RedirectUriPolicy {
        RedirectUriPolicy { comparison, ..RedirectUriPolicy::default() }
    }

    fn accept(registered: &str, requested: &[u8], policy: &RedirectUriPolicy) -> Option<RedirectUri> {
        RegisteredRedirectUri::parse(registered, policy).ok()?.matches(requested, policy).ok()
    }

    fn disagreeing(comparison: RedirectUriComparison, column: &str) -> Vec<String> {
        let policy = policy(comparison);
        let differs = |vector: &Value| {
            let requested = text(vector, "requested");
            let accepted = accept(text(vector, "registered"), requested.as_bytes(), &policy);
            let verbatim = accepted.as_ref().is_none_or(|uri| uri.as_str() == requested);
            !verbatim || accepted.is_some() != vector[column].as_bool().unwrap()
        };
        vectors().iter().filter(|vector| differs(vector)).map(|vector| text(vector, "id").to_owned()).collect()
    }

    #[test]
    fn every_vector_agrees_under_the_domain_rule() {
        assert_eq!(vectors().len(), 181);
        assert_eq!(disagreeing(RedirectUriComparison::Domain, "accept"), Vec::<String>::new());
    }

    /// 9700-2.1-01
    #[test]
    fn every_vector_agrees_under_the_exact_rule() {
        assert_eq!(disagreeing(RedirectUriComparison::Exact, "accept_exact"), Vec::<String>::new());
    }

    /// Numerical Recipes' linear congruential generator: repeatable, and good enough to vary bytes.
    struct Bytes(u32);

    impl Bytes {
        fn next(&mut self) -> u8 {
            self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            self.0.to_be_bytes()[0]
        }

        fn below(&mut self, bound: usize) -> usize {
            (usize::from(self.next()) * 256 + usize::from(self.next())) % bound
        }

        fn vary(&mut self, bytes: &mut Vec<u8>) {
            const TELLING: &[u8] = b"/\\?#@:[]%.&=; \t\n\r\0+-_~*|`\"<>{}^'0xX2eE\x7f\x80\xc3\xff";
            for _ in 0..=self.below(3) {
                let place = self.below(bytes.len() + 1);
                let byte = match self.next() % 4 {
                    0 => self.next(),
                    _ => TELLING[self.below(TELLING.len())],
                };
                match self.next() % 3 {
                    0 => bytes.insert(place, byte),
                    1 if place < bytes.len() => bytes[place] = byte,
                    _ if place < bytes.len() => drop(bytes.remove(place)),
                    _ => bytes.push(byte),
                }
            }
        }
    }

    /// A browser reads the same scheme, host and port from every accepted value.
    #[test]
    fn a_url_library_reads_what_is_accepted_in_the_same_way() {
        let policy = RedirectUriPolicy::default();
        let mut bytes = Bytes(11);
        let mut accepted = 0;
        for vector in vectors() {
            for round in 0..400 {
                let member = if round % 2 == 0 { "requested" } else { "registered" };
                let mut text = text(&vector, member).as_bytes().to_vec();
                if round > 1 {
                    bytes.vary(&mut text);
                }
                let Ok(text) = String::from_utf8(text) else { continue };
                if RegisteredRedirectUri::parse(&text, &policy).is_ok() {
                    accepted += 1;
                    assert_read_alike(&text);
                }
            }
        }
        assert!(accepted > 5_000, "{accepted}");
    }

    fn assert_read_alike(text: &str) {
        let opinion = match Url::parse(text) {
            Ok(opinion) => opinion,
            // The library also checks the characters of a name. A browser refuses such an address.
            Err(ParseError::IdnaError) => return,
            Err(error) => panic!("{text}: {error}"),
        };
        assert!(opinion.username().is_empty() && opinion.password().is_none() && opinion.fragment().is_none());
        match WebUri::split(text) {
            Ok(uri) => {
                assert_eq!(WebScheme::from_text(opinion.scheme()), Some(uri.scheme), "{text}");
                assert!(opinion.host_str().is_some_and(|host| host.eq_ignore_ascii_case(uri.host)), "{text}");
                assert_eq!(opinion.port_or_known_default(), Some(uri.port), "{text}");
            }
            Err(_) => {
                let scheme = text.split(':').next().unwrap();
                assert!(!opinion.has_host() && opinion.scheme().eq_ignore_ascii_case(scheme), "{text}");
            }
        }
    }

    /// CVE-2022-36087
    #[test]
    fn bytes_of_any_kind_are_refused_or_kept_verbatim_on_the_registered_origin() {
        let mut bytes = Bytes(7);
        for comparison in [RedirectUriComparison::Domain, RedirectUriComparison::Exact] {
            let policy = policy(comparison);
            for vector in vectors() {
                for _ in 0..60 {
                    let registered = text(&vector, "registered");
                    let mut requested = text(&vector, "requested").as_bytes().to_vec();
                    bytes.vary(&mut requested);
                    let _ = RegisteredRedirectUri::parse(&String::from_utf8_lossy(&requested), &policy);
                    let Some(accepted) = accept(registered, &requested, &policy) else { continue };
                    assert_eq!(accepted.as_str().as_bytes(), requested);
                    let (one, other) = (Url::parse(registered).unwrap(), Url::parse(accepted.as_str()).unwrap());
                    assert_eq!((one.scheme(), one.host_str()), (other.scheme(), other.host_str()));
                    if !accepted.is_private_use() {
                        assert!(accepted.host().eq_ignore_ascii_case(other.host_str().unwrap()));
                    }
                }
            }
        }
    }

    #[test]
    fn the_public_types_can_be_shared_between_threads() {
        fn shared<T: Send + Sync + Clone + 'static>() {}
        shared::<RegisteredRedirectUri>();
        shared::<RedirectUri>();
        shared::<RedirectUriPolicy>();
    }

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
