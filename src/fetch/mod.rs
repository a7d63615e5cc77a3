//! The interface through which the server fetches metadata documents and key sets.

pub(crate) mod cache;
pub(crate) mod documents;
pub(crate) mod flight;
pub(crate) mod freshness;
pub(crate) mod key_sets;
pub(crate) mod transport;

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::base::debug_as_text;
use crate::fetch::flight::NoOutput;
pub use crate::fetch::transport::{Transport, TransportRequest};

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

/// A request that a [`Fetcher`] sends.
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
/// A fetcher bounds concurrent requests of each purpose apart. Otherwise a stranger's hosts that never answer would keep
/// reviewed clients from authenticating.
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

/// The response that a [`Fetcher`] received. Header values are unchanged. The values of a repeated header are joined by
/// commas [RFC 9110 section 5.3].
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

/// Why a [`Fetcher`] returns no response. Users do not see it; [`Event::Refused`](crate::Event::Refused) contains it.
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

/// Returns the error of a request that waited for a fetch in vain; `panicked` is that of a panic.
pub(crate) fn in_vain<E: From<FetchError>>(why: NoOutput, panicked: E) -> Arc<E> {
    Arc::new(match why {
        NoOutput::Panicked => panicked,
        NoOutput::TooManyTasks => FetchError::new(FetchErrorKind::TooManyRequests).into(),
    })
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
