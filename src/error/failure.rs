//! Failures of key sets, of introspection and of signers, as the server and its events report them.

use std::error::Error;

use crate::base::debug_as_text;
use crate::jose::JwkSetError;
use crate::wire::fetch::{FetchError, FetchErrorKind};

/// Why a key set is not available: that at the `jwks_uri` of a client [RFC 7591 section 2], or the keys that access
/// tokens are signed with, at a [`JwtVerifier`](crate::resource::JwtVerifier) [RFC 9068 section 4].
///
/// It is no verdict on an assertion or a token: the request is answered with 503, and the client keeps its tokens.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum KeySetError {
    /// The server has no [`Fetcher`](crate::fetch::Fetcher) for the key sets of clients.
    #[error("there is no fetcher; Builder::fetcher sets one")]
    NoFetcher,
    /// No complete response arrived in time, or too many requests wait for it.
    #[error("the request for the key set failed")]
    Fetch(#[from] FetchError),
    /// The response has another status than 200.
    #[error("the key set was answered with status {0}")]
    Status(u16),
    /// The response does not have the media type of JSON. That of a client may have any.
    #[error("the key set was answered with another media type than that of JSON")]
    MediaType,
    /// The response is not a key set, or has more than 65 536 bytes or 32 keys.
    #[error("the response is not a key set")]
    Set(#[from] JwkSetError),
    /// The requests that last waited for it were dropped, and the pause after that has not ended.
    #[error("the last request for the key set was interrupted")]
    Interrupted,
    /// The [`Throttle`](crate::hooks::Throttle) refused the fetch of a client's key set.
    #[error("the throttle refused the fetch from that host")]
    Throttled,
    /// The fetcher or the transport panicked.
    #[error("the fetcher of the key set panicked")]
    Panicked,
}

debug_as_text!(KeySetError);

/// Why a token cannot have the claims that [`Claims`](crate::hooks::Claims) returned. It is answered with 503.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimsError {
    /// The name of the claim is empty, or the library writes or reads a member of that name, in any letter case.
    #[error("the claim {0:?} has a name that the library itself uses, or none")]
    Name(String),
    /// The claims have so many bytes as JSON.
    #[error("the claims have {0} bytes as JSON; at most 2048 are accepted")]
    TooLarge(usize),
    /// The claims are nested too deeply.
    #[error("the claims are nested more than 8 levels deep")]
    TooDeep,
}

debug_as_text!(ClaimsError);

/// Why a [`UserProfile`](crate::hooks::UserProfile) is refused. It has no value of a claim.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The value of the claim is malformed.
    #[error("the claim {0} {1}")]
    Value(&'static str, &'static str),
    /// A claim of your service's own cannot have that name.
    #[error("the claim {0:?} has a `#`, no name, or one that a standard or the library uses")]
    Name(String),
    /// The claim is set twice.
    #[error("the claim {0:?} is set twice")]
    Twice(String),
    /// The claims have so many bytes as JSON.
    #[error("the claims have {0} bytes as JSON; at most 32768 are accepted")]
    TooLarge(usize),
    /// The claims are nested too deeply.
    #[error("the claims are nested more than 8 levels deep")]
    TooDeep,
    /// An address or a number is said to be verified in the future.
    #[error("an address or number was verified in the future")]
    Future,
}

debug_as_text!(ProfileError);

/// Why an authorization server in another process did not say whether an access token is valid [RFC 7662].
///
/// It is no verdict on the token: the request is answered with 503, and the client keeps its tokens.
///
/// # Security
///
/// It contains neither the token nor the secret of the resource server, and no part of the answer.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum IntrospectionError {
    /// No complete answer arrived in time, the answer is too large, or too many requests wait.
    #[error("the introspection request failed")]
    Fetch(#[from] FetchError),
    /// The answer has another status than 200. After 401, check the client id and the secret.
    #[error("the introspection endpoint answered with status {0}")]
    Status(u16),
    /// The answer does not have the media type of JSON. Signed answers are not supported [RFC 9701].
    #[error("the introspection endpoint answered with another media type than that of JSON")]
    MediaType,
    /// The answer is not one JSON object without repeated members.
    #[error("the introspection endpoint answered with something other than one JSON object without repeated members")]
    NotAnObject,
    /// The answer lacks a member.
    #[error("the answer of the introspection endpoint lacks the member {0}")]
    MissingMember(&'static str),
    /// A member of the answer has another type, or a value that it cannot have.
    #[error("the member {0} of the answer of the introspection endpoint is malformed")]
    MalformedMember(&'static str),
    /// The transport panicked.
    #[error("the transport of the introspection request panicked")]
    Panicked,
}

debug_as_text!(IntrospectionError);

impl IntrospectionError {
    /// Returns whether the authorization server cannot be reached or has failed. Any other error may be one of this
    /// process, or a refusal of its credentials.
    pub(crate) fn is_outage(&self) -> bool {
        use FetchErrorKind::{Connection, Name, TimedOut, Tls};
        match self {
            Self::Fetch(error) => matches!(error.kind(), Connection | Name | TimedOut | Tls),
            Self::Status(status) => (500..600).contains(status),
            Self::MediaType
            | Self::NotAnObject
            | Self::MissingMember(_)
            | Self::MalformedMember(_)
            | Self::Panicked => false,
        }
    }
}

/// Why a [`Signer`](crate::hooks::Signer) has not signed a token. The request is answered with 503, and nothing was
/// changed: the client may send it again.
#[derive(thiserror::Error)]
#[error("the token could not be signed: {0}")]
pub struct SignerError(#[source] Box<dyn Error + Send + Sync>);

debug_as_text!(SignerError);

impl SignerError {
    /// Creates an error from its cause, such as the error of a key management service. The cause is in events, so it
    /// must not contain secrets.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::error::{ErrorCode, Reason};
    use crate::wire::fetch::FetchErrorKind;

    /// 9068-4-01
    #[test]
    fn without_the_keys_a_token_is_neither_valid_nor_invalid() {
        for error in [FetchError::new(FetchErrorKind::TimedOut).into(), KeySetError::Status(404), KeySetError::Panicked]
        {
            let reason = Reason::from(Arc::new(error));
            assert_eq!(reason.code(), ErrorCode::TemporarilyUnavailable, "{reason}");
        }
    }

    /// RSC-04, RSC-07
    #[test]
    fn a_failed_look_up_is_temporary() {
        let refused = std::io::Error::other("connection refused");
        let fetch = FetchError::with_source(FetchErrorKind::Connection, refused).into();
        for error in [fetch, IntrospectionError::Status(401), IntrospectionError::MalformedMember("exp")] {
            let reason = Reason::Introspection(Arc::new(error));
            assert_eq!(reason.code(), ErrorCode::TemporarilyUnavailable, "{reason}");
        }
    }

    /// RSC-17
    #[test]
    fn the_text_names_the_cause() {
        let refused = std::io::Error::other("connection refused");
        let fetch: IntrospectionError = FetchError::with_source(FetchErrorKind::Connection, refused).into();
        assert_eq!(
            format!("{fetch:?}"),
            "the introspection request failed: the host could not be reached: connection refused"
        );
    }
}
