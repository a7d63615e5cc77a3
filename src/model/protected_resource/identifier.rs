//! The identifier of a protected resource, and which spellings are equivalent.

use crate::model::redirect_uri::{WebScheme, WebUri, check_host, check_path_and_query, uri_text};

/// The identifier of a protected resource, in a form for comparison [RFC 8707 section 2].
///
/// Comparison ignores only what URL libraries change in a valid identifier: the case of scheme and host, the default
/// port, and an empty path instead of `/`. Everything else is compared byte by byte, and nothing by prefix.
#[derive(Clone, Debug)]
pub(crate) struct Identifier(Box<str>);

impl Identifier {
    /// Parses an identifier of the settings.
    ///
    /// > The identifier of the resource … MUST be an absolute URI … MUST NOT include a fragment component … SHOULD NOT
    /// > include a query component
    ///
    /// [RFC 8707 section 2]
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = uri_text(text.as_bytes()).ok().filter(|text| !text.contains('?'))?;
        let uri = WebUri::split(text).ok()?;
        check_host(uri.host).ok()?;
        check_path_and_query(uri.path_and_query).ok()?;
        Some(Self(text.into()))
    }

    /// Returns whether a value that a client sent is this identifier.
    pub(crate) fn is(&self, sent: &WebUri<'_>) -> bool {
        let is_same =
            |own: WebUri<'_>| own.has_origin_of(sent) && or_slash(own.path_and_query) == or_slash(sent.path_and_query);
        self.uri().is_some_and(is_same)
    }

    /// Returns whether two identifiers are the same.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        other.uri().is_some_and(|other| self.is(&other))
    }

    pub(crate) fn is_https(&self) -> bool {
        self.uri().is_some_and(|uri| uri.scheme == WebScheme::Https)
    }

    pub(crate) fn host(&self) -> &str {
        self.uri().map_or("", |uri| uri.host)
    }

    /// Returns the path, empty for a bare origin.
    pub(crate) fn path(&self) -> &str {
        match self.uri().map_or("", |uri| uri.path_and_query) {
            "/" => "",
            path => path,
        }
    }

    /// Returns whether scheme, host and port are the same as in another URL.
    pub(crate) fn has_origin_of(&self, url: &str) -> bool {
        let other = WebUri::split(url).ok();
        other.zip(self.uri()).is_some_and(|(other, own)| own.has_origin_of(&other))
    }

    fn uri(&self) -> Option<WebUri<'_>> {
        WebUri::split(&self.0).ok()
    }
}

/// Splits a value that a client sent; `None` if it cannot be an identifier.
pub(super) fn split_sent(sent: &[u8]) -> Option<WebUri<'_>> {
    let text = str::from_utf8(sent).ok().filter(|text| text.len() <= MAX_BYTES)?;
    WebUri::split(text).ok()
}

/// Returns the part of a valid URL before its path: scheme, host and port, as they are written.
pub(crate) fn origin_of(url: &str) -> &str {
    let host = url.find("://").map_or(0, |scheme| scheme + "://".len());
    let path = url.get(host..).and_then(|rest| rest.find('/')).map(|path| host + path);
    url.get(..path.unwrap_or(url.len())).unwrap_or_default()
}

fn or_slash(path: &str) -> &str {
    if path.is_empty() { "/" } else { path }
}

/// The maximum length in bytes of one value of `resource`.
const MAX_BYTES: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_absolute_without_user_query_fragment_and_dots() {
        for good in ["https://a.example", "https://a.example/", "http://[::1]:8080/mcp", "https://A.example/a%20b/"] {
            assert!(Identifier::parse(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "/mcp",
            "a.example",
            "//a.example/x",
            "urn:example:a",
            "https://",
            "https://a.example#",
            "https://a.example/#x",
            "https://a.example/?x",
            "https://a.example?",
            "https://user@a.example",
            "https://a.example/a/../b",
            "https://a.example/%2e",
            "https://a.example/%zz",
            "https://a.example/a b",
            "https://a.example/\"",
            "https://b\u{fc}cher.example",
            "https://a.example:0443",
            "https://127.1/",
        ] {
            assert!(Identifier::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn only_what_url_libraries_change_is_forgiven() {
        let is = |own: &str, sent: &str| {
            split_sent(sent.as_bytes()).is_some_and(|sent| Identifier::parse(own).unwrap().is(&sent))
        };
        for same in
            ["https://mcp.example", "https://mcp.example/", "HTTPS://MCP.Example:443/", "https://mcp.example:443"]
        {
            assert!(is("https://mcp.example", same) && is("https://mcp.example/", same), "{same}");
        }
        for other in [
            "http://mcp.example",
            "https://mcp.example:8443",
            "https://mcp.example//",
            "https://mcp.example?",
            "https://mcp.example/?",
            "https://mcp.example/#",
            "https://mcp.example#",
            "https://user@mcp.example",
            "https://mcp.example.",
            "mcp.example",
            "//mcp.example",
            "https:mcp.example",
            "https://mcp.example:",
        ] {
            assert!(!is("https://mcp.example", other), "{other}");
        }
        assert!(is("https://mcp.example/mcp", "https://MCP.example/mcp"));
        for other in ["", "/", "/mcp/", "/MCP", "/%6dcp", "/mcp?x", "/mcp/x", "/mcp2", "/mc"] {
            assert!(!is("https://mcp.example/mcp", &format!("https://mcp.example{other}")), "{other}");
        }
        let longest = format!("https://mcp.example/{}", "a".repeat(2028));
        assert!(split_sent(longest.as_bytes()).is_some());
        assert!(split_sent(format!("{longest}a").as_bytes()).is_none() && split_sent(b"https://\xff").is_none());
    }
}
