//! The interface through which requests to a configured server are sent.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use crate::fetch::{FetchError, FetchResponse};

/// Sends requests to a server whose address you configured, such as the introspection endpoint of an authorization
/// server.
///
/// The library itself opens no connections. The package `grantor-fetch` has an implementation. Unlike a
/// [`Fetcher`](crate::fetch::Fetcher), it may connect to private addresses, because no third party chooses the URL.
///
/// # Security
///
/// The headers contain a client secret and the body an access token. An implementation must:
///
/// * send exactly the given method, URL, headers and body, and accept no content coding. It adds what HTTP itself
///   needs, such as `Host` and `Content-Length`;
/// * connect over TLS and check the server's certificate for the host's name. It may send a request without TLS to a
///   loopback address, for development;
/// * follow no redirect, and return its status instead;
/// * stop reading after [`max_bytes`](TransportRequest::max_bytes);
/// * end the whole request after [`timeout`](TransportRequest::timeout), even if the server sends nothing: the library
///   has no timer, so a transport that waits for longer keeps the callers waiting;
/// * ignore proxies that environment variables name;
/// * keep headers and body out of its logs and errors.
///
/// The library bounds the number of requests that it sends at once. It may drop the future of a request at any time. The
/// transport must then not use the connection for another request, unless the response was read to its end.
///
/// # Examples
///
/// ```
/// use grantor::fetch::{FetchError, FetchErrorKind, FetchResponse, Transport, TransportRequest};
///
/// /// Reaches no server, as in an outage.
/// #[derive(Debug)]
/// struct Unreachable;
///
/// #[async_trait::async_trait]
/// impl Transport for Unreachable {
///     async fn send(&self, _: &TransportRequest<'_>) -> Result<FetchResponse, FetchError> {
///         Err(FetchError::new(FetchErrorKind::Connection))
///     }
/// }
/// ```
#[async_trait]
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// Sends one request and returns the response, with any status.
    ///
    /// # Errors
    ///
    /// [`FetchError`] if no complete response arrives within the bounds.
    async fn send(&self, request: &TransportRequest<'_>) -> Result<FetchResponse, FetchError>;
}

/// A request that a [`Transport`] sends.
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
    /// [`FetchErrorKind::TooLarge`](crate::fetch::FetchErrorKind::TooLarge).
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
