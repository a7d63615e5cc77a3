//! The requests that the server itself sends, their responses, and their errors.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::base::debug_as_text;

/// A request that a [`Fetcher`](crate::fetch::Fetcher) sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FetchRequest<'a> {
    /// An absolute https URL without userinfo and fragment, in ASCII.
    pub url: &'a str,
    /// How many bytes of the body are read at most. A longer body is the error [`FetchErrorKind::TooLarge`].
    pub max_bytes: usize,
    /// How long the whole request may take, from the look-up of the name to the last byte.
    pub timeout: Duration,
    /// What the response is for.
    pub purpose: FetchPurpose,
}

/// What a response is for, and so who can cause the request.
///
/// A fetcher bounds concurrent requests of each purpose apart. Otherwise a stranger's hosts that never answer would
/// keep reviewed clients from authenticating.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FetchPurpose {
    /// The metadata document of a client. Any signed-in user can cause it, for any host.
    MetadataDocument,
    /// The key set of a client that was reviewed, or that an administrator described.
    ReviewedKeySet,
    /// The key set of an unreviewed client that registered itself.
    UnreviewedKeySet,
}

impl<'a> FetchRequest<'a> {
    /// Returns a request with the bounds of metadata documents: 5120 bytes, 5 s.
    #[must_use]
    pub const fn new(url: &'a str) -> Self {
        let purpose = FetchPurpose::MetadataDocument;
        Self { url, max_bytes: DOCUMENT_BYTES, timeout: Duration::from_secs(5), purpose }
    }
}

/// The maximum size of a metadata document in bytes, as section 8.7 of the draft advises.
pub(crate) const DOCUMENT_BYTES: usize = 5120;

/// The response that a [`Fetcher`](crate::fetch::Fetcher) received. Header values are unchanged. The values of a
/// repeated header are joined by commas [RFC 9110 section 5.3].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FetchResponse {
    /// The status code.
    pub status: u16,
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// `Cache-Control` [RFC 9111 section 5.2].
    pub cache_control: Option<String>,
    /// `Expires` [RFC 9111 section 5.3].
    pub expires: Option<String>,
    /// `Date` [RFC 9110 section 6.6.1].
    pub date: Option<String>,
    /// `Age` [RFC 9111 section 5.1].
    pub age: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

impl FetchResponse {
    /// Returns a response without headers.
    #[must_use]
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, body: body.into(), ..Self::default() }
    }

    /// Returns whether the media type is `application/json`, or a subtype that ends in `+json`, with any parameters
    /// [RFC 6839 section 3.1].
    pub(crate) fn is_json(&self) -> bool {
        let media_type = self.content_type.as_deref().unwrap_or_default();
        let essence = media_type.split(';').next().unwrap_or_default().trim_matches([' ', '\t']);
        let Some((main, subtype)) = essence.split_once('/') else { return false };
        let subtype = subtype.to_ascii_lowercase();
        let has_suffix =
            subtype.strip_suffix("+json").is_some_and(|name| !name.is_empty() && !name.contains(['/', ',']));
        main.eq_ignore_ascii_case("application") && (subtype == "json" || has_suffix)
    }
}

/// Why a [`Fetcher`](crate::fetch::Fetcher) returns no response. Users do not see it;
/// [`Event::Refused`](crate::Event::Refused) contains it.
#[derive(thiserror::Error)]
#[error("{kind}")]
pub struct FetchError {
    kind: FetchErrorKind,
    source: Option<Box<dyn Error + Send + Sync>>,
}

debug_as_text!(FetchError);

impl FetchError {
    /// Returns an error without a source.
    #[must_use]
    pub const fn new(kind: FetchErrorKind) -> Self {
        Self { kind, source: None }
    }

    /// Returns an error with its source.
    pub fn with_source(kind: FetchErrorKind, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { kind, source: Some(source.into()) }
    }

    /// Returns what kind of error it is.
    #[must_use]
    pub const fn kind(&self) -> FetchErrorKind {
        self.kind
    }
}

/// What kind of error a [`FetchError`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum FetchErrorKind {
    /// The URL cannot be fetched; for example, its scheme is not https.
    #[error("the URL cannot be fetched")]
    Url,
    /// The name of the host was not found.
    #[error("the name of the host was not found")]
    Name,
    /// The host has an address that must not be connected to [RFC 6890].
    #[error("the host has a special-use address")]
    SpecialUseAddress,
    /// No connection was possible, or it was lost.
    #[error("the host could not be reached")]
    Connection,
    /// TLS failed; for example, the certificate is for another name.
    #[error("TLS failed")]
    Tls,
    /// The response is not valid HTTP, or its body is encoded.
    #[error("the response is malformed")]
    Response,
    /// The body is longer than [`max_bytes`](FetchRequest::max_bytes).
    #[error("the response is too large")]
    TooLarge,
    /// The request took longer than [`timeout`](FetchRequest::timeout).
    #[error("the request timed out")]
    TimedOut,
    /// Too many requests wait: for the same response, or for the fetcher or transport.
    #[error("too many requests wait")]
    TooManyRequests,
}

/// A request that a [`Transport`](crate::fetch::Transport) sends.
///
/// [`Debug`](fmt::Debug) shows neither headers nor body.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TransportRequest<'a> {
    /// The method, such as `POST`.
    pub method: &'a str,
    /// An absolute URL without userinfo and fragment, in ASCII.
    pub url: &'a str,
    /// Names and values of the headers. None is repeated.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body; empty if there is none.
    pub body: &'a [u8],
    /// How many bytes of the response's body are read at most. A longer body is the error
    /// [`FetchErrorKind::TooLarge`].
    pub max_bytes: usize,
    /// How long the whole request may take, from the wait for a connection to the last byte of the response.
    pub timeout: Duration,
}

/// The maximum size of an answer to introspection in bytes.
pub(crate) const INTROSPECTION_BYTES: usize = 65_536;

/// How long a request may take, unless another time is set.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(2);

impl<'a> TransportRequest<'a> {
    /// Returns a request without headers and body, with the bounds of introspection: 65,536 bytes, 2 s.
    #[must_use]
    pub const fn new(method: &'a str, url: &'a str) -> Self {
        Self { method, url, headers: &[], body: &[], max_bytes: INTROSPECTION_BYTES, timeout: TIMEOUT }
    }
}

impl fmt::Debug for TransportRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransportRequest")
            .field("method", &self.method)
            .field("url", &self.url)
            .field("max_bytes", &self.max_bytes)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RSC-17
    #[test]
    fn debug_shows_neither_headers_nor_body() {
        let request = TransportRequest {
            headers: &[("Authorization", "Basic secret")],
            body: b"token=secret",
            ..TransportRequest::new("POST", "https://auth.example/oauth2/introspect")
        };
        let shown = format!("{request:?}");
        assert!(shown.contains("https://auth.example/oauth2/introspect"), "{shown}");
        assert!(!shown.contains("secret") && !shown.contains("Authorization"), "{shown}");
        assert!(!shown.contains(&format!("{:?}", request.body)), "{shown}");
    }
}
