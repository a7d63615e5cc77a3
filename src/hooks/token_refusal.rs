//! Why a resource server refuses an access token.

use std::fmt;

use crate::wire::refusal::Severity;

/// Why a [`ResourceServer`](crate::ResourceServer) refuses an access token. In the process of the authorization server
/// it is [`Inactive`](Self::Inactive) or [`AnotherAudience`](Self::AnotherAudience).
///
/// The client of the API sees `invalid_token` for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TokenRefusal {
    /// The token has a byte that no token may have [RFC 6750 section 2.1]. The authorization server was not asked.
    Malformed,
    /// The token is longer than 4096 bytes. The authorization server was not asked.
    TooLong,
    /// The token does not begin with the expected prefix. The authorization server was not asked.
    AnotherPrefix,
    /// The token is unknown, expired or revoked, or this resource server may not introspect it.
    Inactive,
    /// The token has expired.
    Expired,
    /// The token is not valid yet.
    NotYetValid,
    /// The token is from another issuer.
    AnotherIssuer,
    /// The token is for another audience, or for none.
    AnotherAudience,
    /// The token is a refresh token or an ID token, of another type than bearer, or of type DPoP without a key.
    TokenType,
    /// The token is bound to a certificate, for example. Only keys of DPoP proofs are supported.
    UnknownBinding,
    /// The token is opaque, and this API has no client to introspect it: see
    /// [`or_introspect`](crate::ResourceServer::or_introspect).
    Opaque,
    /// The token is not a JWT, or not one that is an access token: its header must have the `typ` `at+jwt`, an `alg`
    /// that is accepted, a `kid`, and nothing else [RFC 9068 section 2.1].
    NotJwt,
    /// A claim of the JWT with this name is missing, has another type, or has a value that it cannot have [RFC 9068
    /// section 2.2].
    MalformedClaim(&'static str),
    /// The key set of the authorization server has no key with the `kid` of the JWT.
    UnknownKey,
    /// The key with the `kid` of the JWT has not signed it.
    Signature,
}

impl TokenRefusal {
    /// Every API meets tokens that have expired; any other refusal may come from a wrong setting.
    pub(crate) fn severity(self) -> Severity {
        if matches!(self, Self::Inactive | Self::Expired) { Severity::Debug } else { Severity::Info }
    }

    /// Returns the reason as a sentence, such as `the access token is not active`. Unlike [`Display`](fmt::Display), it
    /// does not name the claim that is malformed.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "the access token is malformed",
            Self::TooLong => "the access token is too long",
            Self::AnotherPrefix => "the access token has another prefix",
            Self::Inactive => "the access token is not active",
            Self::Expired => "the access token has expired",
            Self::NotYetValid => "the access token is not valid yet",
            Self::AnotherIssuer => "the access token is from another issuer",
            Self::AnotherAudience => "the access token is for another audience",
            Self::TokenType => "the token is not an access token of type bearer or DPoP",
            Self::UnknownBinding => "the access token is bound in a way that is not supported",
            Self::Opaque => "the access token is opaque, and there is no client to introspect it",
            Self::NotJwt => "the token is not a JWT access token",
            Self::MalformedClaim(_) => "a claim of the access token is missing or malformed",
            Self::UnknownKey => "the access token was signed with a key that is not in the key set",
            Self::Signature => "the signature of the access token is wrong",
        }
    }
}

impl fmt::Display for TokenRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::MalformedClaim(name) = self {
            return write!(f, "the claim {name} of the access token is missing or malformed");
        }
        f.write_str(self.as_str())
    }
}
