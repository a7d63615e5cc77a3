//! The URL that a proof is for, `htu` [RFC 9449 section 4.2], normalized for comparison.

use crate::model::redirect_uri::{WebScheme, WebUri, check_host};

/// An absolute `http` or `https` URL without query and fragment, normalized.
///
/// > To reduce the likelihood of false negatives, servers SHOULD employ syntax-based normalization (Section 6.2.2 of
/// > \[RFC3986\]) and scheme-based normalization (Section 6.2.3 of \[RFC3986\]) before comparing the htu claim.
///
/// [RFC 9449 section 4.3]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TargetUri(String);

impl TargetUri {
    /// Parses and normalizes a URL; `None` if it is not absolute, or has a user name.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let text = text.find(['?', '#']).map_or(Some(text), |end| text.get(..end))?;
        let uri = WebUri::split(text).ok()?;
        check_host(uri.host).ok()?;
        let scheme = match uri.scheme {
            WebScheme::Http => "http",
            WebScheme::Https => "https",
        };
        let host = uri.host.to_ascii_lowercase();
        let path = without_dot_segments(&decoded(uri.path_and_query)?);
        Some(Self(if uri.port == uri.scheme.default_port() {
            format!("{scheme}://{host}{path}")
        } else {
            format!("{scheme}://{host}:{}{path}", uri.port)
        }))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// RFC 3986 sections 6.2.2.1 and 6.2.2.2: escapes of unreserved characters are decoded, and the hexadecimal digits of
/// the others become upper case. `None` if a percent sign is not followed by two such digits.
fn decoded(path: &str) -> Option<String> {
    let mut parts = path.split('%');
    let mut decoded = String::with_capacity(path.len());
    decoded.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        let byte = u8::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
        let character = char::from(byte);
        if character.is_ascii_alphanumeric() || matches!(character, '-' | '.' | '_' | '~') {
            decoded.push(character);
        } else {
            decoded.push('%');
            decoded.push_str(&digits.to_ascii_uppercase());
        }
        decoded.push_str(rest);
    }
    Some(decoded)
}

/// RFC 3986 section 5.2.4, for a path that is empty or begins with a slash. An empty one becomes a slash
/// [RFC 3986 section 6.2.3].
fn without_dot_segments(path: &str) -> String {
    let mut kept = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        match segment {
            "." => {}
            ".." => {
                kept.pop();
            }
            segment => {
                kept.push(segment);
                continue;
            }
        }
        if segments.peek().is_none() {
            kept.push("");
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Endpoint;

    fn normalized(text: &str) -> Option<String> {
        TargetUri::parse(text).map(|uri| uri.0)
    }

    /// 9449-4.3-03
    #[test]
    fn spellings_of_one_url_are_equal() {
        for (text, expected) in [
            ("https://server.example/token", "https://server.example/token"),
            ("HTTPS://Server.EXAMPLE/token", "https://server.example/token"),
            ("https://server.example:443/token", "https://server.example/token"),
            ("http://server.example:80/token", "http://server.example/token"),
            ("https://server.example:8443/token", "https://server.example:8443/token"),
            ("http://server.example:443/token", "http://server.example:443/token"),
            ("https://server.example", "https://server.example/"),
            ("https://server.example?x=1#y", "https://server.example/"),
            ("https://server.example/token?x=1", "https://server.example/token"),
            ("https://server.example/token#y?x", "https://server.example/token"),
            ("https://server.example/%7Eme/%74oken", "https://server.example/~me/token"),
            ("https://server.example/a%2fb%c3%a4", "https://server.example/a%2Fb%C3%A4"),
            ("https://server.example/%2525", "https://server.example/%2525"),
            ("https://server.example/a/./b/../token", "https://server.example/a/token"),
            ("https://server.example/a/%2E%2e/token", "https://server.example/token"),
            ("https://server.example/../../token", "https://server.example/token"),
            ("https://server.example/a/..", "https://server.example/"),
            ("https://server.example/a/b/.", "https://server.example/a/b/"),
            ("https://server.example/token/", "https://server.example/token/"),
            ("https://server.example//token", "https://server.example//token"),
            ("https://[2001:DB8::1]:8443/token", "https://[2001:db8::1]:8443/token"),
        ] {
            assert_eq!(normalized(text).as_deref(), Some(expected), "{text}");
            assert_eq!(normalized(expected).as_deref(), Some(expected), "a normalized URL stays as it is");
        }
    }

    /// 9449-4.3-03
    #[test]
    fn what_is_no_absolute_url_is_refused() {
        for text in [
            "",
            "/token",
            "//server.example/token",
            "server.example/token",
            "https:/server.example/token",
            "https:///token",
            "https://user@server.example/token",
            "https://user:password@server.example/token",
            "https://server.example@evil.example/token",
            "ftp://server.example/token",
            "urn:example:token",
            "https://server.example:/token",
            "https://server.example:0443/token",
            "https://server.example:65536/token",
            "https://server%2Eexample/token",
            "https://server.example/tok%en",
            "https://server.example/token%2",
            "https://server.example/token%+1",
            "https://server.example/to ken",
            "https://server.example/token\n",
            "https://server.example/tok\u{e9}n",
            "https://b\u{fc}cher.example/token",
        ] {
            assert_eq!(normalized(text), None, "{text:?}");
        }
    }

    /// 9449-4.3-04
    #[test]
    fn the_url_of_an_endpoint_follows_the_issuer() {
        let url = |issuer| TargetUri::parse(&Endpoint::Token.url(issuer)).map(|uri| uri.0);
        assert_eq!(url("https://auth.example").as_deref(), Some("https://auth.example/oauth2/token"));
        assert_eq!(url("https://auth.example/").as_deref(), Some("https://auth.example/oauth2/token"));
        assert_eq!(url("https://auth.example/tenant").as_deref(), Some("https://auth.example/tenant/oauth2/token"));
    }
}
