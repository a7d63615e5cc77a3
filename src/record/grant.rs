//! The grant: all tokens of one consent, or a part of a client's own tokens.

use std::time::Duration;

use crate::client::Client;
use crate::clock::Timestamp;
use crate::id::{ClientId, GrantId};
use crate::protected_resource::Audience;
use crate::record::{AccessPart, Pairs, RETENTION, TokenPair};
use crate::scope::{ConsentedResources, ResourceScope, ScopeSet};
use crate::secret::Digest;
use crate::secret::refresh::Family;
use crate::subject::Subject;

/// Versions below `u32::MAX` that no refresh takes: they are kept for revocation.
const VERSIONS_KEPT: u32 = 1 << 16;

/// All tokens that grew from one consent: the row that rotation and revocation both swap.
///
/// A grant without a [`subject`](Self::subject) holds a part of the tokens that a client got for itself
/// [RFC 6749 section 4.4].
///
/// Its size is bounded: pairs leave it after grace and margin. A refresh token that has left is recognized by its
/// lineage and its tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub(crate) id: GrantId,
    pub(crate) version: u32,
    /// The client's epoch when the user consented, or when the client got its newest token for itself.
    pub(crate) epoch: u32,
    pub(crate) client: ClientId,
    pub(crate) pairs: Pairs,
    pub(crate) revoked: Option<Revocation>,
    /// Pairs ever made, which is the number of the newest; the others count down from it.
    pub(crate) pairs_made: u32,
    pub(crate) created: Timestamp,
    /// The user who consented; absent where the client acts for itself.
    pub(crate) subject: Option<Subject>,
    pub(crate) scopes: ScopeSet,
    pub(crate) resources: ConsentedResources,
    /// Until when the record stays whatever its tokens are: two hours after the end of its code, when no exchange can
    /// insert a grant in its place any more; for a revoked grant as long as it is kept for questions.
    pub(crate) keep_until: Timestamp,
    /// What makes its refresh tokens recognizable, however old they are.
    pub(crate) family: Family,
}

impl Grant {
    /// Returns the id, which is the key of the record.
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

    /// Returns the user who consented; `None` for a grant of the client to itself
    /// [RFC 6749 section 4.4].
    #[must_use]
    pub const fn subject(&self) -> Option<&Subject> {
        self.subject.as_ref()
    }

    /// Returns the scopes that the user granted; none for a revoked grant. Without a user, each token has its own
    /// scopes, and these are those of the first.
    #[must_use]
    pub const fn scopes(&self) -> &ScopeSet {
        &self.scopes
    }

    /// Returns the resources that the user granted; none for a revoked grant. What the client may still have of them is their
    /// [narrowing](ResourceScope::narrowed_to) to its [`resource_scope`](Client::resource_scope). Without a user it is
    /// [`ResourceScope::All`]: the client's [`machine_resources`](Client::machine_resources) limit its tokens.
    ///
    /// `client` is the client of the grant, such as [`AuthorizationServer::client`](crate::AuthorizationServer::client)
    /// returns it: its row has the lists that long consents refer to. With another one, such a consent has no named
    /// resource.
    #[must_use]
    pub fn resource_scope(&self, client: &Client) -> ResourceScope {
        client.resources_of(&self.resources).into_owned()
    }

    /// Returns the identifiers of the protected resources that the user granted [RFC 8707]; none for a revoked grant, and
    /// none if there was no protected resource in the settings. A grant without any counts as one for the default resource.
    pub fn protected_resources(&self) -> impl Iterator<Item = &str> {
        self.audience().iter()
    }

    /// Returns when the code was exchanged, or when the grant was withdrawn before that. Without a user, it is the
    /// issue of the first token.
    #[must_use]
    pub const fn created(&self) -> Timestamp {
        self.created
    }

    /// Returns when the newest token was issued; for a revoked grant, which keeps no tokens, when it was made.
    #[must_use]
    pub fn refreshed(&self) -> Timestamp {
        let issued = self.pairs.iter().flat_map(TokenPair::accesses).map(|access| access.issued);
        issued.max().unwrap_or(self.created)
    }

    /// Returns the latest end of any of its tokens; a revoked grant ended when it was revoked.
    #[must_use]
    pub fn ends(&self) -> Timestamp {
        match self.revoked {
            Some(revocation) => revocation.at,
            None => self.last_end(),
        }
    }

    /// Returns whether any token of the grant has not ended at `now`, ignoring the client's state.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked.is_none() && self.pairs.iter().any(|pair| pair.is_live(now))
    }

    /// The protected resources that the user granted.
    #[inline]
    pub(crate) fn audience(&self) -> &Audience {
        self.pairs.granted()
    }

    /// The access token of that digest, if it has not ended at `now`, ignoring the client's state.
    pub(crate) fn live_access(&self, digest: &Digest, now: Timestamp) -> Option<AccessPart<'_>> {
        let access = self.pairs.with_access(digest)?;
        (self.revoked.is_none() && access.is_live(now)).then_some(access)
    }

    /// Returns when and why the grant was revoked.
    #[must_use]
    pub const fn revoked(&self) -> Option<Revocation> {
        self.revoked
    }

    /// Returns the time from which the record may be removed: an hour after the end of its last token, and not before
    /// two hours after the end of its code. A revoked grant has no token to wait for. It stays until two hours after
    /// the end of its code, or for [`revoked_retention`](crate::Config::revoked_retention) after its revocation if that
    /// is later.
    #[must_use]
    pub fn purge_after(&self) -> Timestamp {
        match self.revoked {
            Some(_) => self.keep_until,
            None => self.last_end().plus(RETENTION).max(self.keep_until),
        }
    }

    /// The next state with other pairs. It is written field by field, so that the old pairs are not cloned.
    pub(crate) fn refreshed_with(&self, pairs: Pairs, pairs_made: u32) -> Self {
        Self {
            id: self.id,
            version: self.version.saturating_add(1),
            client: self.client.clone(),
            epoch: self.epoch,
            subject: self.subject.clone(),
            scopes: self.scopes.clone(),
            resources: self.resources.clone(),
            created: self.created,
            keep_until: self.keep_until,
            family: self.family,
            pairs_made,
            pairs,
            revoked: self.revoked,
        }
    }

    /// Returns whether only [`VERSIONS_KEPT`] versions are left. They are for revocation, which needs a higher version
    /// than the one that it replaces.
    pub(crate) const fn is_worn_out(&self) -> bool {
        self.version >= u32::MAX - VERSIONS_KEPT
    }

    /// The next state, revoked. Lineage and tag key stay, so that its client's repeated revocation is recognized. The
    /// tokens and the lists go: nothing reads them any more.
    pub(crate) fn revoked_at(&self, at: Timestamp, reason: RevocationReason, retention: Duration) -> Self {
        Self {
            id: self.id,
            version: self.version.saturating_add(1),
            epoch: self.epoch,
            client: self.client.clone(),
            pairs: Pairs::default(),
            revoked: Some(Revocation { at, reason }),
            pairs_made: self.pairs_made,
            created: self.created,
            subject: self.subject.clone(),
            scopes: ScopeSet::empty(),
            resources: ConsentedResources::none(),
            keep_until: self.keep_until.max(at.plus(retention)),
            family: self.family,
        }
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
    /// Everything that its subject granted to its client was withdrawn.
    ApplicationWithdrawn,
    /// Its subject gave more grants to its client than [`grants_per_client`](crate::Config::grants_per_client), and
    /// this one was refreshed longest ago.
    TooManyGrants,
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
            Self::ApplicationWithdrawn => "application_withdrawn",
            Self::TooManyGrants => "too_many_grants",
        }
    }
}
