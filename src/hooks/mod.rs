//! Hooks with which your service observes, slows down and vetoes.

mod application_change;
pub(crate) mod claims;
pub(crate) mod event;
pub(crate) mod observed;
mod profile;
pub(crate) mod registration_policy;
mod signing;
pub(crate) mod throttle;
pub(crate) mod token_refusal;
#[cfg(feature = "tracing")]
pub(crate) mod tracing_events;

pub use crate::error::failure::ClaimsError;
pub use crate::wire::refusal::Severity;
pub use application_change::ApplicationChange;
pub use claims::{Claims, TokenContext, UserContext};
pub(crate) use event::{Event, EventSink, Events};
pub use profile::{Address, Email, PhoneNumber, ProfileError, UserClaims, UserProfile};
pub use registration_policy::{
    ApproveWithin, DocumentHosts, DocumentRequest, QueueAll, RegistrationDecision, RegistrationPolicy,
    RegistrationRequest,
};
pub use signing::{Signer, SignerError, SigningKey, SigningKeyError};
pub use throttle::{Rate, ThrottleLimits};
pub use token_refusal::TokenRefusal;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use async_trait::async_trait;

use crate::base::id::Subject;
use crate::model::client::Client;
use crate::secret::{CLIENT_SECRET_CHARACTERS, Digest};
use crate::wire::Endpoint;
use crate::wire::fetch::{FetchError, FetchRequest, FetchResponse, TransportRequest};

/// Slows down callers that try too often. [`MemoryThrottle`](crate::MemoryThrottle) is ready to use.
///
/// Count failures by client and network together, never by client alone: an attacker must not be able to lock out an
/// honest client [RFC 6749 section 2.3.1]. Other users share its network, so let pass what was right before, and what
/// is no guess: see [`Credential`]. The client is what the request claims and may be any text, so bound what is kept,
/// and let counts decay over time. Without a peer address, callers cannot be distinguished: make sure that the adapter
/// passes it.
#[async_trait]
pub trait Throttle: fmt::Debug + Send + Sync + 'static {
    /// Decides whether the attempt may proceed. It is called before a client is looked up and authenticated, before a
    /// request is held, before a user code is looked up, before a client is registered, and before a metadata document
    /// is fetched.
    async fn check(&self, attempt: &Attempt<'_>) -> ThrottleDecision;

    /// Records that authentication failed, or that a user code was wrong.
    async fn failed(&self, attempt: &Attempt<'_>);

    /// Records that the client authenticated with its secret or key, or that a user code was right. It is not called
    /// for a client that only sends its id. Does nothing by default.
    async fn succeeded(&self, attempt: &Attempt<'_>) {
        let _ = attempt;
    }
}

/// What is attempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AttemptKind {
    /// A client authenticates, or only sends its id, at one of the endpoints that take a form.
    Authentication,
    /// A valid authorization request is stored until its user decides. The user is signed in, and the client exists.
    ConsentRequest,
    /// A user types the code that a device shows [RFC 8628 section 5.1]. The user is signed in. Count it in `check`,
    /// and undo that in `succeeded`: guesses that are sent at the same time then all count.
    UserCode,
    /// A device asks for access [RFC 8628 section 3.1]. Its request was not read yet.
    DeviceRequest,
    /// A client registers itself [RFC 7591]. Its request was not read yet.
    Registration,
    /// A client's metadata document is about to be fetched. The user is signed in, and [`Attempt::host`] is set.
    MetadataDocument,
    /// The key set of an unreviewed client that registered itself is about to be fetched from its `jwks_uri`, which is
    /// not on the host of its metadata document. [`Attempt::client`] and [`Attempt::host`] are set. Concurrent requests
    /// share the fetch: the address is that of the request that begins it, and the endpoint is the token endpoint. A
    /// refusal counts as a failed fetch.
    KeySet,
}

/// What a client proves itself with in an attempt.
///
/// Only a secret can be guessed, and only if your service chose it. An attempt with the id of a public client carries a
/// code or a refresh token of 256 random bits at the token endpoint, and is found by its primary key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Credential {
    /// Nothing that can be read. At the token and revocation endpoints also the id of no public client, about which the
    /// throttle is asked a second time, once it was looked up.
    #[default]
    None,
    /// The client id alone.
    ClientId,
    /// A secret of the client, or its registration access token.
    Secret(PresentedSecret),
    /// A signed assertion.
    Assertion,
}

/// A secret that a request presents, right or wrong.
///
/// It can only be hashed and compared. Count by a keyed hash of it: a wrong one may be the secret of another service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PresentedSecret(Digest);

impl PresentedSecret {
    /// Returns the secret as it was sent.
    #[must_use]
    pub fn of(secret: &[u8]) -> Self {
        Self(Digest::of(secret))
    }
}

impl From<Digest> for PresentedSecret {
    fn from(digest: Digest) -> Self {
        Self(digest)
    }
}

impl Hash for PresentedSecret {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.bytes().hash(state);
    }
}

/// An attempt that a [`Throttle`] decides about.
///
/// # Security
///
/// `Debug` leaves out a client of 32 bytes or more: it may be a misplaced secret.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Attempt<'a> {
    /// What is attempted.
    pub kind: AttemptKind,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The client that the request claims to come from. It may be any text, even a misplaced secret: do not log it,
    /// and do not store it as it is. Count by a hash of it.
    pub client: Option<&'a str>,
    /// What the client proves itself with, if it authenticates.
    pub credential: Credential,
    /// The user who is asked, if a request is held, a user code is typed or a metadata document is fetched.
    pub subject: Option<&'a Subject>,
    /// The host that a metadata document or a key set is fetched from, in lower case.
    pub host: Option<&'a str>,
    /// The address that the request came from, as the adapter passed it.
    pub peer: Option<IpAddr>,
    /// Whether a web page sent the request that registers a client. Count these apart, since the person in whose
    /// network it is sent may not know of it.
    pub from_page: bool,
}

impl<'a> Attempt<'a> {
    /// Returns an attempt with nothing else set, for tests of a [`Throttle`].
    #[must_use]
    pub const fn new(kind: AttemptKind, endpoint: Endpoint) -> Self {
        let (client, credential) = (None, Credential::None);
        Self { kind, endpoint, client, credential, subject: None, host: None, peer: None, from_page: false }
    }

    /// Returns the address to count by: the IPv4 address, or the first 64 bits of the IPv6 address, since one host has
    /// all addresses of such a network.
    #[must_use]
    pub fn peer_network(&self) -> Option<IpAddr> {
        self.peer.map(network_of)
    }

    /// Returns whether the attempt presents the id of a public client with a code or a token, which nobody can guess.
    /// If there is no such client, the throttle is asked again, as for an attempt without credentials.
    pub(crate) fn guesses_nothing(&self) -> bool {
        self.credential == Credential::ClientId && matches!(self.endpoint, Endpoint::Token | Endpoint::Revocation)
    }

    /// The claimed client, unless it is as long as a secret.
    pub(crate) fn loggable_client(&self) -> Option<&'a str> {
        self.client.filter(|text| text.len() < *CLIENT_SECRET_CHARACTERS.start())
    }
}

impl fmt::Debug for Attempt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("kind", &self.kind)
            .field("endpoint", &self.endpoint)
            .field("client", &self.loggable_client())
            .field("credential", &self.credential)
            .field("subject", &self.subject)
            .field("host", &self.host)
            .field("peer", &self.peer)
            .finish()
    }
}

/// What a [`Throttle`] decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThrottleDecision {
    /// The attempt may proceed.
    Allow,
    /// The attempt is answered with 429 and `Retry-After`.
    Refuse {
        /// How long to wait. `Retry-After` has it in whole seconds, rounded up, at least one.
        retry_after: Duration,
    },
}

/// Returns the network of an address: the IPv4 address, or the first 64 bits of the IPv6 address, since one host has
/// all addresses of such a network.
pub(crate) fn network_of(address: IpAddr) -> IpAddr {
    wide_network_of(address, 64).unwrap_or_else(|| address.to_canonical())
}

/// Returns the first `bits` of an IPv6 address. A provider gives a customer a network of 56 or 48 bits, which has many
/// of 64 bits.
pub(crate) fn wide_network_of(address: IpAddr, bits: u8) -> Option<IpAddr> {
    match address.to_canonical() {
        IpAddr::V4(_) => None,
        IpAddr::V6(address) => {
            let left_out = 128_u32.saturating_sub(bits.into());
            let mask = u128::MAX.checked_shl(left_out).unwrap_or_default();
            Some(Ipv6Addr::from_bits(address.to_bits() & mask).into())
        }
    }
}

/// Decides whether your service's users may be given tokens.
///
/// It is called when a user decides, at exchange and at refresh, also in grace, before anything is claimed: a locked or
/// deleted user gets no token. Access tokens that were issued before stay valid until they expire. To revoke them too,
/// call [`revoke_subject`](crate::AuthorizationServer::revoke_subject).
#[async_trait]
pub trait Subjects: fmt::Debug + Send + Sync + 'static {
    /// Returns whether this user may be given tokens for that client.
    async fn status(&self, subject: &Subject, client: &Client) -> SubjectStatus;

    /// Returns the name by which other users may know this user; by default none.
    ///
    /// The [pages of an interaction](crate::interaction) show it as the publisher of the applications that this user
    /// submitted.
    async fn public_name(&self, subject: &Subject) -> Option<String> {
        let _ = subject;
        None
    }
}

/// The answer of [`Subjects`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubjectStatus {
    /// The user may be given tokens.
    Active,
    /// The user is locked, deleted, or may not use this client.
    Refused,
    /// It cannot be determined right now; the request is answered with 503 and nothing changes.
    Unknown,
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn of_a_client() -> Attempt<'static> {
        Attempt::new(AttemptKind::Authentication, Endpoint::Token)
    }

    /// CVE-2026-45364: a host has all addresses of its /64.
    #[test]
    fn ipv6_peers_are_counted_by_their_network() {
        let network = |peer: &str| {
            let attempt = Attempt { peer: Some(peer.parse().unwrap()), ..of_a_client() };
            attempt.peer_network().unwrap().to_string()
        };
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(network("192.0.2.7"), "192.0.2.7");
        assert_eq!(network("::ffff:192.0.2.7"), "192.0.2.7");
        let wide = |bits| wide_network_of("2001:db8:1:1234::7".parse().unwrap(), bits).unwrap().to_string();
        assert_eq!([48, 56, 64].map(wide), ["2001:db8:1::", "2001:db8:1:1200::", "2001:db8:1:1234::"]);
        assert_eq!(wide_network_of("192.0.2.7".parse().unwrap(), 48), None);
    }

    #[test]
    fn debug_of_an_attempt_shows_no_client_that_may_be_a_secret() {
        let shown = |client| format!("{:?}", Attempt { client: Some(client), ..of_a_client() });
        let text = "abcdefghijklmnopqrstuvwxyz012345";
        assert!(shown(&text[1..]).contains(&text[1..]));
        assert!(!shown(text).contains("abc"), "{}", shown(text));
    }
}
