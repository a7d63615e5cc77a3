//! What the embedder may observe, slow down and veto.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use async_trait::async_trait;

use crate::client::Client;
use crate::error::Reason;
use crate::id::{ClientId, GrantId};
use crate::record::RevocationReason;
use crate::scope::ScopeSet;
use crate::secret::CLIENT_SECRET_CHARACTERS;
use crate::subject::Subject;
use crate::wire::Endpoint;

/// Receives what happened, after it was acknowledged by the store.
///
/// It is called within the request: it should hand over and return. No event holds a secret. The check
/// at a resource raises none, since there is one for every call; what it refuses is in
/// [`ResourceError::reason`](crate::ResourceError::reason).
pub trait EventSink: fmt::Debug + Send + Sync + 'static {
    /// Takes note of one event.
    fn record(&self, event: &Event<'_>);
}

/// What happened.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// An application was submitted, reviewed or changed.
    #[non_exhaustive]
    Application {
        /// The application.
        client: &'a ClientId,
        /// What was done.
        change: ApplicationChange,
    },
    /// The user consented, and the browser was redirected with a code.
    #[non_exhaustive]
    CodeIssued {
        /// The grant that the code will become.
        grant: GrantId,
        /// The application.
        client: &'a ClientId,
        /// The user; `None` where the client acts for itself.
        subject: Option<&'a Subject>,
        /// What the user granted.
        scopes: &'a ScopeSet,
    },
    /// The user refused.
    #[non_exhaustive]
    Denied {
        /// The application.
        client: &'a ClientId,
        /// The user; `None` where the client acts for itself.
        subject: Option<&'a Subject>,
    },
    /// A code became a grant with its first pair of tokens.
    #[non_exhaustive]
    Exchanged {
        /// The grant.
        grant: GrantId,
        /// The application.
        client: &'a ClientId,
        /// The user; `None` where the client acts for itself.
        subject: Option<&'a Subject>,
    },
    /// A spent code was used again by its own client; its grant is revoked.
    #[non_exhaustive]
    CodeReplayed {
        /// The grant.
        grant: GrantId,
        /// The application.
        client: &'a ClientId,
        /// The user; `None` where the client acts for itself.
        subject: Option<&'a Subject>,
    },
    /// A refresh token was exchanged for the next pair, or under [`Keep`](crate::RefreshRotation::Keep) for a further
    /// access token.
    #[non_exhaustive]
    Refreshed {
        /// The grant.
        grant: GrantId,
        /// The application.
        client: &'a ClientId,
        /// The user; `None` where the client acts for itself.
        subject: Option<&'a Subject>,
    },
    /// A superseded refresh token was used within its grace, and stood for the newest one.
    #[non_exhaustive]
    RefreshedInGrace {
        /// The grant.
        grant: GrantId,
        /// The application.
        client: &'a ClientId,
        /// The user; `None` where the client acts for itself.
        subject: Option<&'a Subject>,
        /// Seconds since the token was superseded.
        age: u32,
    },
    /// A superseded refresh token was used after its grace by its own client: somebody has a copy.
    #[non_exhaustive]
    RefreshTokenReused {
        /// The grant.
        grant: GrantId,
        /// The application.
        client: &'a ClientId,
        /// The user; `None` where the client acts for itself.
        subject: Option<&'a Subject>,
        /// Whether the grant was revoked, as it is by default.
        revoked: bool,
    },
    /// A client got an access token of its own [RFC 6749 section 4.4].
    #[non_exhaustive]
    MachineTokenIssued {
        /// The grant that holds the token, and others of the client.
        grant: GrantId,
        /// The client.
        client: &'a ClientId,
        /// What the token may do.
        scopes: &'a ScopeSet,
    },
    /// An access token was revoked by its client.
    #[non_exhaustive]
    AccessTokenRevoked {
        /// Its grant.
        grant: GrantId,
        /// The application.
        client: &'a ClientId,
    },
    /// A client tried to revoke a refresh token that is superseded and out of its grace, before its own
    /// end: nothing changed, the grant lives on.
    #[non_exhaustive]
    SupersededTokenAtRevocation {
        /// Its grant.
        grant: GrantId,
        /// The application.
        client: &'a ClientId,
    },
    /// A grant was revoked.
    #[non_exhaustive]
    GrantRevoked {
        /// The grant.
        grant: GrantId,
        /// The application.
        client: &'a ClientId,
        /// The user; `None` where the client acts for itself.
        subject: Option<&'a Subject>,
        /// Why.
        reason: RevocationReason,
    },
    /// A genuine refresh token is newer than anything in the store: the store lost acknowledged writes.
    #[non_exhaustive]
    StoreWentBack {
        /// The grant.
        grant: GrantId,
        /// The application.
        client: &'a ClientId,
    },
    /// A pair was derived with a key that this server does not have: its
    /// [`derivation_keys`](crate::Config::derivation_keys) differ from those of another server, or a key was removed
    /// too early. The request was answered with 503; nothing changed.
    #[non_exhaustive]
    DerivationKeyMissing {
        /// The grant.
        grant: GrantId,
        /// The application.
        client: &'a ClientId,
    },
    /// Client authentication failed.
    #[non_exhaustive]
    AuthenticationFailed {
        /// Where.
        endpoint: Endpoint,
        /// Whom the request claimed to come from: one that led to a client, or else a text of fewer than
        /// 32 octets, too short to be a secret in the wrong place.
        client: Option<&'a str>,
        /// From where it came.
        peer: Option<IpAddr>,
        /// Exactly what was wrong.
        reason: &'a Reason,
    },
    /// A request was refused for its rate.
    #[non_exhaustive]
    Throttled {
        /// Where.
        endpoint: Endpoint,
        /// Whom the request claimed to come from, unless it has 32 octets or more, as a secret in the wrong
        /// place has, and was not looked up yet: an id of your own that is as long is not told here.
        client: Option<&'a str>,
        /// From where it came.
        peer: Option<IpAddr>,
    },
    /// A request was refused for any other reason, or failed.
    #[non_exhaustive]
    Refused {
        /// Where.
        endpoint: Endpoint,
        /// The client, as far as it is known.
        client: Option<&'a ClientId>,
        /// Exactly what was wrong.
        reason: &'a Reason,
    },
}

/// What was done to an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ApplicationChange {
    /// It was submitted, or submitted anew before it was approved.
    Submitted,
    /// It was approved.
    Approved,
    /// A change of an approved application was proposed.
    ChangeProposed,
    /// A proposed change was approved.
    ChangeApproved,
    /// A proposed change was rejected; the approved version stays in force.
    ChangeRejected,
    /// It was rejected.
    Rejected,
    /// It was suspended.
    Suspended,
    /// It was resumed.
    Resumed,
    /// It got a further secret.
    SecretRotated,
    /// Its older secret was retired.
    PreviousSecretRetired,
    /// All its grants were withdrawn.
    GrantsWithdrawn,
}

/// Slows down who tries too often.
///
/// Failures are to be counted by client and network together, never by client alone: a stranger must
/// not lock an honest client out [RFC 6749 section 2.3.1]. The client is what the request claims and
/// may be anything, so bound what is kept, and let counts fade with time: nothing tells of a success.
/// Without a peer address all strangers look alike; see that the adapter passes it.
#[async_trait]
pub trait Throttle: fmt::Debug + Send + Sync + 'static {
    /// Decides before authentication, or before a request is held, whether to go on.
    async fn check(&self, attempt: &Attempt<'_>) -> ThrottleDecision;

    /// Takes note that authentication failed.
    async fn failed(&self, attempt: &Attempt<'_>);
}

/// Who tries what.
///
/// # Security
///
/// `Debug` leaves out a client of 32 octets or more: it may be a secret in the wrong place.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Attempt<'a> {
    /// Where.
    pub endpoint: Endpoint,
    /// Whom the request claims to come from; may be anything, a secret in the wrong place too: not to be
    /// logged, nor kept as it came: count by a hash of it.
    pub client: Option<&'a str>,
    /// The user who is asked, at the authorization endpoint.
    pub subject: Option<&'a Subject>,
    /// From where it came, as the adapter told.
    pub peer: Option<IpAddr>,
}

impl<'a> Attempt<'a> {
    /// An attempt of which nothing but the endpoint is known, for tests of a [`Throttle`].
    #[must_use]
    pub const fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, client: None, subject: None, peer: None }
    }

    /// Returns what to count by: the IPv4 address, or the first 64 bits of the IPv6 address, since one
    /// host has all addresses of such a network.
    #[must_use]
    pub fn peer_network(&self) -> Option<IpAddr> {
        match self.peer?.to_canonical() {
            IpAddr::V4(address) => Some(address.into()),
            IpAddr::V6(address) => Some(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into()),
        }
    }

    /// The claimed client, unless it is as long as a secret.
    pub(crate) fn client_to_tell(&self) -> Option<&'a str> {
        self.client.filter(|text| text.len() < *CLIENT_SECRET_CHARACTERS.start())
    }
}

impl fmt::Debug for Attempt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("endpoint", &self.endpoint)
            .field("client", &self.client_to_tell())
            .field("subject", &self.subject)
            .field("peer", &self.peer)
            .finish()
    }
}

/// What a [`Throttle`] decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThrottleDecision {
    /// Goes on.
    Allow,
    /// Is answered with 429 and `Retry-After`.
    Refuse {
        /// How long to wait; told in seconds, rounded up, at least one.
        retry_after: Duration,
    },
}

/// Answers for the embedder's users.
///
/// It is asked when a user decides, at exchange and at refresh, in grace too, before anything is
/// claimed: a locked or deleted user gets no token. Access tokens that are out already stay good until
/// their end; to end them too, call
/// [`revoke_subject`](crate::AuthorizationServer::revoke_subject).
#[async_trait]
pub trait Subjects: fmt::Debug + Send + Sync + 'static {
    /// Returns whether this user may be given tokens for that client.
    async fn status(&self, subject: &Subject, client: &Client) -> SubjectStatus;
}

/// What [`Subjects`] tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubjectStatus {
    /// The user may.
    Active,
    /// The user is locked, deleted, or may not use this client.
    Refused,
    /// It cannot be told right now; the request is answered with 503 and nothing changes.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CVE-2026-45364: a host has all addresses of its /64.
    #[test]
    fn ipv6_peers_are_counted_by_their_network() {
        let network = |peer: &str| {
            let attempt =
                Attempt { endpoint: Endpoint::Token, client: None, subject: None, peer: Some(peer.parse().unwrap()) };
            attempt.peer_network().unwrap().to_string()
        };
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(network("192.0.2.7"), "192.0.2.7");
        assert_eq!(network("::ffff:192.0.2.7"), "192.0.2.7");
    }

    #[test]
    fn debug_of_an_attempt_shows_no_client_that_may_be_a_secret() {
        let shown = |client| format!("{:?}", Attempt { client: Some(client), ..Attempt::new(Endpoint::Token) });
        let text = "abcdefghijklmnopqrstuvwxyz012345";
        assert!(shown(&text[1..]).contains(&text[1..]));
        assert!(!shown(text).contains("abc"), "{}", shown(text));
    }
}
