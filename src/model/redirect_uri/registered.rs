//! The redirect URI a client has registered.

use std::net::Ipv4Addr;
use std::sync::Arc;

use crate::base::field::texts;
use crate::model::redirect_uri::error::RedirectUriError;
use crate::model::redirect_uri::policy::{LoopbackHost, RedirectUriPolicy};
use crate::model::redirect_uri::syntax::{host_in_ascii, uri_text};
use crate::model::redirect_uri::web::{Target, WebScheme, WebUri, check_path_and_query, is_app_scheme};

/// A redirect URI that was checked at registration [RFC 6749 section 3.1.2].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RegisteredRedirectUri(Arc<str>);

texts! { RegisteredRedirectUri: |text| Some(Self::from_record(text)) }

impl RegisteredRedirectUri {
    /// Checks a redirect URI of 1 to 2048 bytes for registration.
    ///
    /// # Errors
    ///
    /// The first rule that the value breaks; never [`RedirectUriError::Mismatch`].
    pub fn parse(text: &str, policy: &RedirectUriPolicy) -> Result<Self, RedirectUriError> {
        let target = parse_target(text)?;
        policy.check_kind(&target)?;
        Ok(Self(text.into()))
    }

    /// Checks a redirect URI that a client sends with its metadata. Returns `None` for a valid URI of a kind that is
    /// not accepted here.
    ///
    /// Clients send one list to all servers [RFC 7591 section 2], so a kind that this server does not accept is not an
    /// error.
    ///
    /// # Errors
    ///
    /// The first rule that the value breaks; [`RedirectUriError::Scheme`] for a dangerous scheme.
    pub(crate) fn offered(text: &str, policy: &RedirectUriPolicy) -> Result<Option<Self>, RedirectUriError> {
        match parse_target(text) {
            // A valid URI may still be of a kind that is not accepted.
            Ok(_) => Ok(Self::parse(text, policy).ok()),
            Err(error @ RedirectUriError::PrivateUseSlash) => {
                let path = text.split_once(':').map(|(_, path)| path).filter(|path| !path.is_empty());
                check_path_and_query(path.ok_or(error)?).map(|()| None)
            }
            Err(error) => Err(error),
        }
    }

    /// Takes a stored redirect URI. It is checked at each use: one that no longer parses matches nothing.
    pub(crate) fn from_record(text: &str) -> Self {
        Self(text.into())
    }

    /// Returns the redirect URI as it was registered.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Checks a requested value, form-decoded exactly once, and accepts it unchanged [RFC 6749 section 3.1.2.3].
    ///
    /// # Errors
    ///
    /// The first rule that the value itself breaks, otherwise [`RedirectUriError::Mismatch`].
    pub fn matches(&self, requested: &[u8], policy: &RedirectUriPolicy) -> Result<RedirectUri, RedirectUriError> {
        let own = uri_text(self.0.as_bytes()).and_then(Target::parse).map_err(|_| RedirectUriError::Mismatch)?;
        if requested == self.0.as_bytes() {
            policy.check_kind(&own)?;
            return Ok(self.as_requested());
        }
        let text = uri_text(requested)?;
        let target = Target::parse(text)?;
        policy.check_kind(&target)?;
        let (Target::Web(registered), Target::Web(requested)) = (own, target) else {
            return Err(RedirectUriError::Mismatch);
        };
        if !policy.admits(&registered, &requested) {
            return Err(RedirectUriError::Mismatch);
        }
        Ok(RedirectUri::from_record(text.into()))
    }

    /// Returns the redirect URI as a request would have it, ignoring the policy.
    pub(crate) fn as_requested(&self) -> RedirectUri {
        RedirectUri::from_record(Arc::clone(&self.0))
    }

    /// Returns the redirect URI for a request that names none [RFC 6749 section 3.1.2.3].
    ///
    /// # Errors
    ///
    /// The rule of the policy that the redirect URI breaks, or [`RedirectUriError::Mismatch`] for a stored text that no
    /// longer parses.
    pub fn stand_in(&self, policy: &RedirectUriPolicy) -> Result<RedirectUri, RedirectUriError> {
        self.matches(self.0.as_bytes(), policy)
    }
}

fn parse_target(text: &str) -> Result<Target<'_>, RedirectUriError> {
    if let Some(a_label) = WebUri::split(text).ok().and_then(|uri| host_in_ascii(uri.host)) {
        return Err(RedirectUriError::HostNotAscii { a_label });
    }
    uri_text(text.as_bytes()).and_then(Target::parse)
}

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
    use super::*;
    use crate::model::redirect_uri::error::RedirectUriError;
    use crate::model::redirect_uri::policy::{
        LoopbackHttp, PrivateUseSchemes, RedirectUriComparison, RedirectUriPolicy,
    };

    fn exact() -> RedirectUriPolicy {
        RedirectUriPolicy { comparison: RedirectUriComparison::Exact, ..RedirectUriPolicy::default() }
    }

    fn outcome(registered: &str, requested: &str, policy: &RedirectUriPolicy) -> Result<(), RedirectUriError> {
        let registered = RegisteredRedirectUri::parse(registered, policy)?;
        let accepted = registered.matches(requested.as_bytes(), policy)?;
        assert_eq!(accepted.as_str(), requested);
        Ok(())
    }

    #[test]
    fn a_host_beyond_ascii_is_named_in_ascii() {
        let refused = |text| RegisteredRedirectUri::parse(text, &exact()).unwrap_err();
        for (text, a_label) in [
            ("https://b\u{fc}cher.example/cb", "xn--bcher-kva.example"),
            ("https://B\u{dc}CHER.example:8443", "xn--bcher-kva.example"),
            ("https://\u{7801}\u{4e91}.\u{4e2d}\u{56fd}/cb?x=1", "xn--9kq032h.xn--fiqs8s"),
        ] {
            let expected = RedirectUriError::HostNotAscii { a_label: a_label.into() };
            assert_eq!(refused(text), expected);
            assert_eq!(RegisteredRedirectUri::offered(text, &exact()), Err(expected));
            assert!(refused(text).to_string().ends_with(&format!("write it as {a_label}")));
        }
        let long: String = ('\u{4e00}'..'\u{5050}').collect();
        let long = format!("https://{long}/");
        for text in ["https://demo.example/b\u{fc}cher", "https://\u{200b}/", "\u{fc}:/x", &long] {
            assert_eq!(refused(text), RedirectUriError::Character, "{text:?}");
        }
    }

    /// D-01
    #[test]
    fn the_domain_rule_compares_scheme_host_and_effective_port() {
        use RedirectUriError::Mismatch;
        for (registered, requested, expected) in [
            ("https://a.example/cb", "https://a.example:443/x?y=1", Ok(())),
            ("https://a.example/cb", "HTTPS://A.EXAMPLE", Ok(())),
            ("https://a.example/cb", "https://a.example:444/cb", Err(Mismatch)),
            ("https://a.example/cb", "https://b.example/cb", Err(Mismatch)),
            ("https://a.example/cb", "https://sub.a.example/cb", Err(Mismatch)),
            ("https://sub.a.example/cb", "https://a.example/cb", Err(Mismatch)),
            ("https://a.example/cb", "http://localhost/cb", Err(Mismatch)),
            ("https://a.example/cb", "com.example.a:/cb", Err(Mismatch)),
            ("com.example.a:/cb", "https://a.example/cb", Err(Mismatch)),
            ("com.example.a:/cb", "com.example.a:/cb?x=1", Err(Mismatch)),
            ("https://127.0.0.1/cb", "https://127.0.0.1:8443/cb", Err(Mismatch)),
            ("https://127.0.0.1/cb", "https://127.0.0.1/other", Ok(())),
        ] {
            assert_eq!(outcome(registered, requested, &RedirectUriPolicy::default()), expected, "{requested}");
        }
    }

    /// 8252-7.3-01, CVE-2020-15233, CVE-2020-15234
    #[test]
    fn on_loopback_only_the_port_is_free() {
        let loopbacks = ["127.0.0.1", "[::1]", "localhost"];
        for policy in [RedirectUriPolicy::default(), exact()] {
            for host in loopbacks {
                let registered = format!("http://{host}:3000/cb?x=1");
                for (rest, accepted) in [
                    (":3000/cb?x=1", true),
                    (":49152/cb?x=1", true),
                    ("/cb?x=1", true),
                    (":3000/CB?x=1", false),
                    (":3000/cb?X=1", false),
                    (":3000/cb?x=1&y=2", false),
                    (":3000/cb", false),
                    (":3000/c%62?x=1", false),
                ] {
                    let requested = format!("http://{host}{rest}");
                    assert_eq!(outcome(&registered, &requested, &policy).is_ok(), accepted, "{requested}");
                }
                for other in loopbacks.into_iter().filter(|other| *other != host) {
                    let requested = format!("http://{other}:3000/cb?x=1");
                    assert_eq!(outcome(&registered, &requested, &policy), Err(RedirectUriError::Mismatch));
                }
            }
        }
    }

    /// 9700-2.1-01
    #[test]
    fn the_exact_rule_wants_the_identical_string() {
        for (registered, requested, accepted) in [
            ("https://a.example/cb", "https://a.example/cb", true),
            ("https://a.example/cb", "https://a.example:443/cb", false),
            ("https://a.example/cb", "https://A.example/cb", false),
            ("https://a.example/cb", "https://a.example/cb?", false),
            ("https://a.example", "https://a.example/", false),
            ("http://localhost/cb", "http://LOCALHOST:1/cb", false),
            ("http://localhost/cb", "HTTP://localhost:1/cb", false),
            ("com.example.a:/cb", "com.example.a:/cb", true),
            ("com.example.a:/cb", "Com.example.a:/cb", false),
        ] {
            let outcome = outcome(registered, requested, &exact());
            let expected = if accepted { Ok(()) } else { Err(RedirectUriError::Mismatch) };
            assert_eq!(outcome, expected, "{requested}");
        }
    }

    /// 8252-8.3-01
    #[test]
    fn localhost_by_name_can_be_switched_off() {
        let policy = RedirectUriPolicy { loopback_http: LoopbackHttp::Addresses, ..RedirectUriPolicy::default() };
        let refused = Err(RedirectUriError::PlainHttp);
        assert_eq!(outcome("http://localhost/cb", "http://localhost/cb", &policy), refused);
        assert_eq!(outcome("http://127.0.0.1/cb", "http://127.0.0.1:1/cb", &policy), Ok(()));
        assert_eq!(outcome("https://localhost/cb", "https://localhost/x", &policy), Ok(()));
    }

    #[test]
    fn private_use_schemes_can_be_switched_off() {
        let policy = RedirectUriPolicy {
            private_use_schemes: PrivateUseSchemes::Named(Vec::new()),
            ..RedirectUriPolicy::default()
        };
        let refused = Err(RedirectUriError::PrivateUseScheme);
        assert_eq!(outcome("com.example.a:/cb", "com.example.a:/cb", &policy), refused);
    }

    /// 7591-2-10
    #[test]
    fn a_named_scheme_needs_neither_dot_nor_switch() {
        let named = vec!["cursor".to_owned(), "com.example.b".to_owned()];
        for (private_use_schemes, reverse_domains) in
            [(PrivateUseSchemes::Named(named.clone()), false), (PrivateUseSchemes::ReverseDomain(named), true)]
        {
            let policy = RedirectUriPolicy { private_use_schemes, ..exact() };
            for text in ["cursor://x.y-z/cb", "cursor:/cb", "CURSOR://x/cb", "com.example.b://cb", "com.example.b:/cb"]
            {
                assert_eq!(outcome(text, text, &policy), Ok(()), "{text}");
                assert_eq!(outcome(text, &format!("{text}/"), &policy), Err(RedirectUriError::Mismatch), "{text}");
            }
            assert_eq!(outcome("cursor:/cb", "CURSOR:/cb", &policy), Err(RedirectUriError::Mismatch));
            for (text, error) in [
                ("cursors://x/cb", RedirectUriError::Scheme),
                ("com.example.a://cb", RedirectUriError::PrivateUseSlash),
                ("com.example.b.evil://cb", RedirectUriError::PrivateUseSlash),
                ("javascript:/cb", RedirectUriError::Scheme),
            ] {
                assert_eq!(outcome(text, text, &policy), Err(error), "{text}");
            }
            assert_eq!(outcome("com.example.a:/cb", "com.example.a:/cb", &policy).is_ok(), reverse_domains);
        }
    }

    #[test]
    fn a_port_is_free_under_the_rule_of_that_name_only() {
        let (registered, requested) = ("https://a.example/cb", "https://a.example:8443/x");
        let comparison = RedirectUriComparison::DomainAnyPort;
        let policy = RedirectUriPolicy { comparison, ..RedirectUriPolicy::default() };
        assert_eq!(outcome(registered, requested, &policy), Ok(()));
        assert_eq!(outcome(registered, "https://b.example/cb", &policy), Err(RedirectUriError::Mismatch));
        for policy in [RedirectUriPolicy::default(), exact()] {
            assert_eq!(outcome(registered, requested, &policy), Err(RedirectUriError::Mismatch));
        }
    }

    #[test]
    fn plain_http_is_for_loopback_hosts() {
        for registered in ["http://dev.example/cb", "http://127.0.0.2/cb", "http://[::2]/cb"] {
            let refused = Err(RedirectUriError::PlainHttp);
            assert_eq!(outcome(registered, registered, &RedirectUriPolicy::default()), refused, "{registered}");
        }
        let refused = Err(RedirectUriError::PlainHttp);
        assert_eq!(outcome("https://dev.example/cb", "http://dev.example/cb", &RedirectUriPolicy::default()), refused);
    }

    #[test]
    fn a_stricter_policy_refuses_what_is_registered() {
        let registered = RegisteredRedirectUri::parse("http://127.0.0.1/cb", &RedirectUriPolicy::default()).unwrap();
        let stricter = RedirectUriPolicy { loopback_http: LoopbackHttp::Off, ..RedirectUriPolicy::default() };
        for requested in ["http://127.0.0.1/cb", "http://127.0.0.1:81/cb"] {
            assert_eq!(registered.matches(requested.as_bytes(), &stricter), Err(RedirectUriError::LoopbackHttp));
        }
    }

    /// D-30
    #[test]
    fn a_request_that_names_none_gets_the_registered_string() {
        let registered =
            RegisteredRedirectUri::parse("HTTPS://A.example:443/cb?x=1", &RedirectUriPolicy::default()).unwrap();
        assert_eq!(registered.as_str(), "HTTPS://A.example:443/cb?x=1");
        let policy = RedirectUriPolicy::default();
        assert_eq!(registered.stand_in(&policy).unwrap().as_str(), registered.as_str());
        let broken = RegisteredRedirectUri::from_record("https://broken host/");
        assert_eq!(broken.stand_in(&policy), Err(RedirectUriError::Mismatch));
        let empty = registered.matches(b"", &RedirectUriPolicy::default());
        assert_eq!(empty, Err(RedirectUriError::Empty));
    }

    /// 7591-2-09
    #[test]
    fn what_is_sound_is_kept_or_dropped_and_all_else_refused() {
        use RedirectUriError::{
            Character, DotSegment, Empty, Fragment, Host, PrivateUseSlash, Scheme, UserInfo, Wildcard,
        };
        let policy = RedirectUriPolicy {
            private_use_schemes: PrivateUseSchemes::Named(Vec::new()),
            ..RedirectUriPolicy::default()
        };
        let judged = |text: &str| RegisteredRedirectUri::offered(text, &policy).map(|kept| kept.is_some());
        for text in ["https://app.example/cb", "http://127.0.0.1:8787/cb", "http://localhost/", "http://[::1]/cb"] {
            assert_eq!(judged(text), Ok(true), "{text}");
        }
        for text in [
            "http://app.example/cb",
            "com.example.app:/cb",
            "com.example.app://cb",
            "cursor://anysphere.cursor-retrieval/oauth/user-agent/callback",
            "vscode:/cb",
            "x-app:cb",
        ] {
            assert_eq!(judged(text), Ok(false), "{text}");
        }
        for (text, error) in [
            ("", Empty),
            ("/cb", Scheme),
            ("app.example/cb", Scheme),
            ("https:/app.example", Scheme),
            ("https:app.example", Scheme),
            ("https://", Host),
            ("https://app.example/cb#x", Fragment),
            ("https://user@app.example/cb", UserInfo),
            ("cursor://user@app/cb", UserInfo),
            ("cursor://app/../cb", DotSegment),
            ("cursor:", PrivateUseSlash),
            ("https://*.example/cb", Wildcard),
            ("https://app.example/\n", Character),
            ("javascript:alert(1)", Scheme),
            ("JavaScript:alert(1)", Scheme),
            (" jAvAsCrIpT:alert(1)", Character),
            ("java\tscript:alert(1)", Character),
            ("1x:/cb", Scheme),
        ] {
            assert_eq!(judged(text), Err(error), "{text}");
        }
        for scheme in ["data", "file", "javascript", "mailto", "view-source", "ws"] {
            for text in [format!("{scheme}:x"), format!("{scheme}://x/y"), format!("{}:/x", scheme.to_uppercase())] {
                assert_eq!(judged(&text), Err(Scheme), "{text}");
            }
        }
    }

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
