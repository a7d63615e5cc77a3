//! How the server sends requests: to what clients publish, and to a configured server.

use std::fmt;

use async_trait::async_trait;

use crate::wire::fetch::{FetchError, FetchRequest, FetchResponse, TransportRequest};

/// Fetches what clients publish over HTTPS: their metadata documents, and their keys.
///
/// The library itself opens no connections. The package `grantor-fetch` has an implementation that is safe to use.
///
/// # Security
///
/// The URL comes from a third party, who could use it to make this server send requests into its own network
/// (server-side request forgery). An implementation must:
///
/// * send one GET request with `Accept: application/json`, without cookies and credentials, and accepting no content
///   coding;
/// * look the host's name up once, refuse the request if any of its addresses is special-use [RFC 6890], and connect to
///   one of these checked addresses;
/// * check the server's certificate for the host's name;
/// * follow no redirect, and return its status instead;
/// * bound the requests of each [`purpose`](FetchRequest::purpose) that run at once, apart from the others;
/// * stop reading after [`max_bytes`](FetchRequest::max_bytes), and end the whole request after
///   [`timeout`](FetchRequest::timeout);
/// * ignore proxies that environment variables name.
#[async_trait]
pub trait Fetcher: fmt::Debug + Send + Sync + 'static {
    /// Sends one request and returns the response, with any status.
    ///
    /// # Errors
    ///
    /// [`FetchError`] if no complete response arrives within the bounds.
    async fn fetch(&self, request: &FetchRequest<'_>) -> Result<FetchResponse, FetchError>;

    /// Returns whether the fetcher connects to loopback addresses, for development; `false` by default.
    ///
    /// Unless the issuer is on a loopback host, `build()` refuses such a fetcher.
    fn reaches_loopback(&self) -> bool {
        false
    }
}

/// Sends requests to a server whose address you configured, such as the introspection endpoint of an authorization
/// server.
///
/// The library itself opens no connections. The package `grantor-fetch` has an implementation. Unlike a
/// [`Fetcher`], it may connect to private addresses, because no third party chooses the URL.
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
/// The library bounds the number of requests that it sends at once. It may drop the future of a request at any time.
/// The transport must then not use the connection for another request, unless the response was read to its end.
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
