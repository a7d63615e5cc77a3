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

mod error;
mod policy;
mod registered;
mod syntax;
mod web;

pub use error::RedirectUriError;
pub(crate) use error::shown;
pub use policy::{LoopbackHttp, PrivateUseSchemes, RedirectUriComparison, RedirectUriPolicy};
pub use registered::{RedirectUri, RegisteredRedirectUri};
pub(crate) use syntax::{check_host, uri_text};
pub(crate) use web::{
    WebAddressError, WebScheme, WebUri, check_path_and_query, check_web_address, has_dot_segment, https_address,
    is_app_scheme, web_link,
};

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
}
