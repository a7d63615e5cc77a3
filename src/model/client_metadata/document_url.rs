//! Checks a client id that is the URL of a metadata document [draft-ietf-oauth-client-id-metadata-document section 3].

use crate::base::id::CLIENT_ID_CHARACTERS;
use crate::model::redirect_uri::{WebUri, check_host, has_dot_segment, uri_text};

/// A client id that is the URL of a metadata document. It is compared byte by byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DocumentUrl<'a> {
    text: &'a str,
    host: &'a str,
}

impl<'a> DocumentUrl<'a> {
    /// The first bytes of every such id.
    pub(crate) const START: &'static str = "https://";

    /// > Client identifier URLs MUST have an "https" scheme, MUST contain a path component, MUST NOT contain single-dot
    /// > or double-dot path segments, MUST NOT contain a fragment component and MUST NOT contain a username or
    /// > password.
    ///
    /// [draft-ietf-oauth-client-id-metadata-document section 3]
    pub(crate) fn parse(text: &'a str) -> Result<Self, DocumentUrlError> {
        if !text.starts_with(Self::START) {
            return Err(DocumentUrlError::Scheme);
        }
        if text.len() > CLIENT_ID_CHARACTERS {
            return Err(DocumentUrlError::TooLong);
        }
        let text = uri_text(text.as_bytes()).map_err(|_| DocumentUrlError::Character)?;
        let uri = WebUri::split(text).map_err(|_| DocumentUrlError::Authority)?;
        check_host(uri.host).map_err(|_| DocumentUrlError::Authority)?;
        if uri.path_and_query.contains(['[', ']']) {
            return Err(DocumentUrlError::Character);
        }
        let path = uri.path_and_query.split('?').next().unwrap_or_default();
        if path.is_empty() {
            return Err(DocumentUrlError::NoPath);
        }
        if has_dot_segment(path) {
            return Err(DocumentUrlError::DotSegment);
        }
        Ok(Self { text, host: uri.host })
    }

    /// The URL, as it was sent.
    pub(crate) const fn as_str(&self) -> &'a str {
        self.text
    }

    /// The host as written, in ASCII. An IPv6 address has its brackets.
    pub(crate) const fn host(&self) -> &'a str {
        self.host
    }
}

/// Why a client id is not a valid URL of a metadata document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentUrlError {
    /// It does not begin with `https://` in lower case.
    #[error("the URL does not begin with https://")]
    Scheme,
    /// It has more than 512 bytes.
    #[error("the URL has more than 512 bytes")]
    TooLong,
    /// A character is not allowed in a URI, a percent-escape is invalid or encodes a control character, or there is a
    /// fragment.
    #[error("the URL has a fragment, an invalid escape or a character that is not accepted")]
    Character,
    /// The host or the port is not in its plain form, or there is userinfo before the host.
    #[error("the URL has a host or port that is not in its plain form, or userinfo")]
    Authority,
    /// The path is missing: at least one slash must follow the host.
    #[error("the URL has no path; at least a slash must follow the host")]
    NoPath,
    /// A segment of the path is `.` or `..`, even if it is percent-encoded.
    #[error("the URL has a path segment that is . or ..")]
    DotSegment,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CIMD-3-01, CIMD-3-02
    #[test]
    fn a_url_has_a_path_and_nothing_that_readers_disagree_on() {
        use DocumentUrlError::{Authority, Character, DotSegment, NoPath, Scheme, TooLong};
        for (text, host) in [
            ("https://e.com/", "e.com"),
            ("https://e.com/c", "e.com"),
            ("https://e.com/c?x=1&code=2", "e.com"),
            ("https://e.com:443/c", "e.com"),
            ("https://e.com:8443/oauth/client.json", "e.com"),
            ("https://E.com/C", "E.com"),
            ("https://xn--bcher-kva.example/c", "xn--bcher-kva.example"),
            ("https://127.0.0.1/c", "127.0.0.1"),
            ("https://[::1]:8443/c", "[::1]"),
            ("https://e.com/...", "e.com"),
            ("https://e.com/%2fa/.b", "e.com"),
            ("https://e.com/?..", "e.com"),
        ] {
            let url = DocumentUrl::parse(text);
            assert_eq!(url.map(|url| (url.as_str(), url.host())), Ok((text, host)));
        }
        let long = |length: usize| format!("https://e.com/{}", "x".repeat(length - 14));
        assert!(DocumentUrl::parse(&long(512)).is_ok());
        for (text, error) in [
            ("", Scheme),
            ("app", Scheme),
            ("http://e.com/c", Scheme),
            ("HTTPS://e.com/c", Scheme),
            ("https:e.com/c", Scheme),
            ("https:/e.com/c", Scheme),
            (" https://e.com/c", Scheme),
            (&long(513), TooLong),
            ("https://e.com/c d", Character),
            ("https://e.com/c\t", Character),
            ("https://e.com\\c", Character),
            ("https://e.com/c\\..", Character),
            ("https://e.com/c#", Character),
            ("https://e.com/c#x", Character),
            ("https://e.com/%0a", Character),
            ("https://e.com/%zz", Character),
            ("https://e.com/[c]", Character),
            ("https://b\u{fc}cher.example/c", Character),
            ("https:///c", Authority),
            ("https://user@e.com/c", Authority),
            ("https://user:secret@e.com/c", Authority),
            ("https://@e.com/c", Authority),
            ("https://e.com:/c", Authority),
            ("https://e.com:0/c", Authority),
            ("https://e.com:0443/c", Authority),
            ("https://e.com:65536/c", Authority),
            ("https://e.com./c", Authority),
            ("https://e%2ecom/c", Authority),
            ("https://2130706433/c", Authority),
            ("https://0x7f.1/c", Authority),
            ("https://0177.0.0.1/c", Authority),
            ("https://127.1/c", Authority),
            ("https://[::ffff:127.0.0.1]/c", Authority),
            ("https://[::1/c", Authority),
            ("https://e.com", NoPath),
            ("https://e.com:8443", NoPath),
            ("https://e.com?x", NoPath),
            ("https://e.com/.", DotSegment),
            ("https://e.com/a/../b", DotSegment),
            ("https://e.com/a/%2e/b", DotSegment),
            ("https://e.com/a/%2E.?x", DotSegment),
        ] {
            assert_eq!(DocumentUrl::parse(text), Err(error), "{text}");
        }
    }
}
