//! The settings of revocation [RFC 7009].

use std::time::Duration;

/// The settings of revocation [RFC 7009].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RevocationSettings {
    /// How long the record of a revoked grant is kept after its revocation, so that support can see when and why it
    /// ended; 0 s.
    ///
    /// The record is kept for at least two hours after its code expires, because a late exchange must not find its
    /// place free. If the store's reads are not settled, it is kept for at least two hours after the revocation, so
    /// that a repeated revocation finds the record even if a fail-over undid the first one.
    pub retention: Duration,
    /// What the revocation of an access token revokes [RFC 7009 section 2.1]; that token only.
    pub access_token: AccessTokenRevocation,
    /// What the revocation of a superseded refresh token after its grace revokes; its grant, in the platform profile
    /// nothing.
    pub superseded_token: SupersededTokenRevocation,
}

impl Default for RevocationSettings {
    fn default() -> Self {
        Self {
            retention: Duration::ZERO,
            access_token: AccessTokenRevocation::TokenOnly,
            superseded_token: SupersededTokenRevocation::Nothing,
        }
    }
}

/// What the revocation of an access token revokes. A token without a user is always revoked alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AccessTokenRevocation {
    /// That token only.
    TokenOnly,
    /// The whole grant.
    WholeGrant,
}

/// What the revocation of a superseded refresh token revokes if the token is past its grace and has not expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SupersededTokenRevocation {
    /// Nothing, as for any invalid token. [`Event::SupersededTokenAtRevocation`](crate::Event) is raised.
    Nothing,
    /// The whole grant, because a client that signs out with an old token means its grant.
    ///
    /// Nothing is revoked if the token was bound to a key and the client proves itself in no other way: a copy of the
    /// token without the key could otherwise sign the user out.
    WholeGrant,
}
