//! All that grew from one consent.

use crate::clock::Timestamp;
use crate::id::{ClientId, GrantId};
use crate::scope::{ResourceScope, ScopeSet};
use crate::secret::refresh::LineageDigest;
use crate::store::record::{Pairs, RETENTION, TokenPair};
use crate::subject::Subject;

/// Versions that no refresh takes.
const VERSIONS_KEPT: u32 = 1 << 16;

/// All tokens that grew from one consent: the row that rotation and revocation both swap.
///
/// Its size is bounded: pairs whose ends are past leave it, and what a dropped refresh token was can
/// be told from the token itself.
// repr(C) keeps this order, which is no promise to anybody outside: what a check of an access token reads comes
// first, beside the counts of an Arc, so that it fetches fewer lines of memory. That is a twentieth of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Grant {
    pub(crate) id: GrantId,
    pub(crate) version: u32,
    /// The client's epoch when the user consented.
    pub(crate) epoch: u32,
    pub(crate) client: ClientId,
    pub(crate) pairs: Pairs,
    pub(crate) revoked: Option<Revocation>,
    /// Pairs ever made, the number of the newest refresh token.
    pub(crate) pairs_made: u32,
    pub(crate) created: Timestamp,
    pub(crate) subject: Subject,
    pub(crate) scopes: ScopeSet,
    pub(crate) resource_scope: ResourceScope,
    /// The end of its code plus the longest token lifetime: an insert that comes late can only carry
    /// dead tokens.
    pub(crate) keep_until: Timestamp,
    pub(crate) lineage: LineageDigest,
}

impl Grant {
    /// Returns the key of the record.
    #[must_use]
    pub const fn id(&self) -> GrantId {
        self.id
    }

    /// Returns the number of this state of the record, which grows by one with every change.
    #[must_use]
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// Returns the client that holds the tokens.
    #[must_use]
    pub const fn client(&self) -> &ClientId {
        &self.client
    }

    /// Returns the user who consented.
    #[must_use]
    pub const fn subject(&self) -> &Subject {
        &self.subject
    }

    /// Returns the scopes that the user granted.
    #[must_use]
    pub const fn scopes(&self) -> &ScopeSet {
        &self.scopes
    }

    /// Returns the resources that the user granted.
    #[must_use]
    pub const fn resource_scope(&self) -> &ResourceScope {
        &self.resource_scope
    }

    /// Returns when the code was exchanged, or when the grant was withdrawn before that.
    #[must_use]
    pub const fn created(&self) -> Timestamp {
        self.created
    }

    /// Returns when the newest pair of tokens was issued.
    #[must_use]
    pub fn refreshed(&self) -> Timestamp {
        self.pairs.iter().map(TokenPair::issued).max().unwrap_or(self.created)
    }

    /// Returns the latest end of any of its tokens; a revoked grant ended when it was revoked.
    #[must_use]
    pub fn ends(&self) -> Timestamp {
        match self.revoked {
            Some(revocation) => revocation.at,
            None => self.last_end(),
        }
    }

    /// Tells whether any token of the grant is good at `now`, its client apart.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked.is_none() && self.pairs.iter().any(|pair| pair.is_live(now))
    }

    /// Returns when and why the grant was revoked.
    #[must_use]
    pub const fn revoked(&self) -> Option<Revocation> {
        self.revoked
    }

    /// Returns the time from which the record may be removed: an hour after its last token's end, and
    /// not before a late exchange of its code could only bring dead tokens.
    #[must_use]
    pub fn purge_after(&self) -> Timestamp {
        self.last_end().max(self.keep_until).plus(RETENTION)
    }

    /// The next state with other pairs. The text of its scopes is the registration's if that is equal; written
    /// out, so that what changes is not copied for nothing.
    pub(crate) fn refreshed_with(&self, pairs: Pairs, pairs_made: u32, registered: &ScopeSet) -> Self {
        Self {
            id: self.id,
            version: self.version.saturating_add(1),
            client: self.client.clone(),
            epoch: self.epoch,
            subject: self.subject.clone(),
            scopes: self.scopes.sharing(registered),
            resource_scope: self.resource_scope.clone(),
            created: self.created,
            keep_until: self.keep_until,
            lineage: self.lineage,
            pairs_made,
            pairs,
            revoked: self.revoked,
        }
    }

    /// Tells whether the last versions have come: they are kept for revocation, which must not lose its
    /// place to a version that can no longer rise.
    pub(crate) const fn is_worn_out(&self) -> bool {
        self.version >= u32::MAX - VERSIONS_KEPT
    }

    pub(crate) fn revoked_at(&self, at: Timestamp, reason: RevocationReason) -> Self {
        Self { version: self.version.saturating_add(1), revoked: Some(Revocation { at, reason }), ..self.clone() }
    }

    fn last_end(&self) -> Timestamp {
        self.pairs.iter().map(TokenPair::last_end).max().unwrap_or(self.created)
    }
}

/// When and why a grant was revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Revocation {
    /// The time of the revocation.
    pub at: Timestamp,
    /// The reason.
    pub reason: RevocationReason,
}

/// Why a grant was revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RevocationReason {
    /// Its code was used twice [RFC 6749 section 4.1.2].
    CodeReplayed,
    /// A refresh token was used after its grace [RFC 9700 section 4.14.2].
    RefreshTokenReused,
    /// The client revoked a refresh token [RFC 7009].
    RevokedByClient,
    /// The user or an administrator withdrew it.
    Withdrawn,
    /// Everything of its subject was withdrawn.
    SubjectWithdrawn,
}

impl RevocationReason {
    /// Returns the reason as a word, such as for a column of a table.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CodeReplayed => "code_replayed",
            Self::RefreshTokenReused => "refresh_token_reused",
            Self::RevokedByClient => "revoked_by_client",
            Self::Withdrawn => "withdrawn",
            Self::SubjectWithdrawn => "subject_withdrawn",
        }
    }
}
