//! The grant: all tokens of one consent, or some of the tokens that a client got for itself.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::base::id::{ClientId, GrantId, Subject};
use crate::model::client::Client;
use crate::model::grant_data::GrantData;
use crate::model::protected_resource::Audience;
use crate::model::sign_in::SignIn;
use crate::model::terms::Terms;
use crate::model::{AccessRecord, Authorization, PLACE_KEPT, Pairs, TokenPair};
use crate::scope::{ResourceScope, ScopeSet};
use crate::secret::Digest;
use crate::secret::refresh::Family;

/// All tokens of one consent. Rotation and revocation both replace this row by compare-and-swap.
///
/// A grant without a [`subject`](Self::subject) holds some of the tokens that a client got for itself [RFC 6749 section
/// 4.4].
///
/// Its size is bounded, because superseded pairs leave it a minute after their last end. Their refresh tokens are still
/// recognized, by family id and tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub(crate) id: GrantId,
    pub(crate) version: u32,
    /// The client's epoch when the user consented, or when the client got its newest token for itself.
    pub(crate) epoch: u32,
    pub(crate) client: ClientId,
    pub(crate) pairs: Pairs,
    pub(crate) revoked: Option<Revocation>,
    /// How many pairs were ever created. This is the number of the newest pair; the others count down from it.
    pub(crate) pairs_made: u32,
    /// The number of the first pair whose refresh token was bound to a key. All later ones are bound too. Numbers begin
    /// with 1, so the option is as small as a number; otherwise a grant would exceed its limit for heap.
    pub(crate) bound_from: Option<NonZeroU32>,
    pub(crate) created: Timestamp,
    /// The user who consented; absent where the client acts for itself.
    pub(crate) subject: Option<Subject>,
    pub(crate) terms: Terms,
    /// Until when the record is kept in any case: two hours after the end of its code, when no exchange can insert a
    /// grant in its place any more. A revoked grant is kept for its retention time.
    pub(crate) keep_until: Timestamp,
    /// The data by which its refresh tokens are recognized, however old they are.
    pub(crate) family: Family,
}

impl Grant {
    /// Returns the id, which is the key of the record.
    #[must_use]
    pub const fn id(&self) -> GrantId {
        self.id
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
    /// scopes, and this returns those of the first token.
    #[must_use]
    pub const fn scopes(&self) -> &ScopeSet {
        &self.terms.scopes
    }

    /// Returns the resources that the user granted; none for a revoked grant. The client may still access their
    /// [reduction](ResourceScope::reduced_to) to its
    /// [`resource_scope`](crate::client::CheckedForm::resource_scope). Without a user it is [`ResourceScope::All`]: the
    /// client's [`client_resources`](crate::client::CheckedForm::client_resources) limit its tokens.
    #[must_use]
    pub const fn resource_scope(&self) -> &ResourceScope {
        &self.terms.resources
    }

    /// Returns the identifiers of the protected resources that the user granted [RFC 8707]; none for a revoked grant,
    /// and none if no protected resource was configured. A grant without any counts as a grant for the default
    /// resource.
    pub fn protected_resources(&self) -> impl Iterator<Item = &str> {
        self.terms.audience.iter()
    }

    /// Returns what your service keeps with it: see [`SignedIn::data`](crate::interaction::SignedIn::data). A revoked
    /// grant has none.
    #[must_use]
    pub fn data(&self) -> Option<&GrantData> {
        self.terms.data()
    }

    /// Returns how the user had signed in when the page was shown; `None` unless the client asked who signs in, with a
    /// request of OpenID Connect. A revoked grant has none.
    #[must_use]
    pub fn sign_in(&self) -> Option<&SignIn> {
        self.terms.sign_in()
    }

    /// Returns when the code was exchanged, or when the grant was revoked before that. Without a user, it is the time
    /// at which the first token was issued.
    #[must_use]
    pub const fn created(&self) -> Timestamp {
        self.created
    }

    /// Returns when the newest token was issued. For a revoked grant, which keeps no tokens, it is the time at which
    /// the grant was created.
    #[must_use]
    pub fn refreshed(&self) -> Timestamp {
        let issued = self.pairs.iter().flat_map(TokenPair::accesses).map(|access| access.issued);
        issued.max().unwrap_or(self.created)
    }

    /// Returns when the last of its tokens expires; a revoked grant ended when it was revoked.
    #[must_use]
    pub fn ends(&self) -> Timestamp {
        match self.revoked {
            Some(revocation) => revocation.at,
            None => self.last_end(),
        }
    }

    /// Returns whether any token of the grant is valid at `now`, ignoring the client's state.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked.is_none() && self.pairs.iter().any(|pair| pair.is_live(now))
    }

    /// Returns what your service keeps with its tokens. If there is no user, the client has it.
    pub(crate) fn data_of<'a>(&'a self, client: &'a Client) -> Option<&'a GrantData> {
        if self.subject.is_some() { self.data() } else { client.data() }
    }

    /// Returns the scopes of an access token of the grant.
    pub(crate) fn scopes_of<'a>(&'a self, access: &'a AccessRecord) -> &'a ScopeSet {
        access.scopes().unwrap_or(&self.terms.scopes)
    }

    /// Returns the protected resources that an access token of the grant is for.
    pub(crate) fn audience_of<'a>(&'a self, access: &'a AccessRecord) -> &'a Audience {
        access.audience().unwrap_or(&self.terms.audience)
    }

    /// Returns the scopes of an access token of the grant, as far as its client may still have them.
    pub(crate) fn scopes_left(&self, access: &AccessRecord, client: &Client) -> ScopeSet {
        self.scopes_of(access).intersection(self.bound(client).0)
    }

    /// Returns the resources that the user granted, and those that the client may still have.
    pub(crate) fn resources_left<'a>(&'a self, client: &'a Client) -> [&'a ResourceScope; 2] {
        [&self.terms.resources, self.bound(client).1]
    }

    /// The scopes and resources that the client is registered for now: on behalf of users, or for itself.
    fn bound<'a>(&self, client: &'a Client) -> (&'a ScopeSet, &'a ResourceScope) {
        match self.subject {
            Some(_) => (&client.form.scopes, &client.form.resource_scope),
            None => (&client.form.client_scopes, &client.form.client_resources),
        }
    }

    /// Returns the access token of that digest, if it has not ended at `now`, ignoring the client's state.
    pub(crate) fn live_access(&self, digest: &Digest, now: Timestamp) -> Option<&AccessRecord> {
        let access = self.pairs.with_access(digest)?;
        (self.revoked.is_none() && access.is_live(now)).then_some(access)
    }

    /// Returns how many pairs of tokens were issued for the grant: 1 after the exchange, and one more after each
    /// refresh that rotated the refresh token.
    #[must_use]
    pub const fn pairs_made(&self) -> u32 {
        self.pairs_made
    }

    /// Returns when and why the grant was revoked.
    #[must_use]
    pub const fn revoked(&self) -> Option<Revocation> {
        self.revoked
    }

    /// Creates the grant that takes the place of a code: without tokens, and without anything granted. It is kept for
    /// two hours after the code's end: an exchange begins its insert before that end, and a store applies it within an
    /// hour or never.
    pub(crate) fn in_place_of(authorization: &Authorization, version: u32, created: Timestamp) -> Self {
        Self {
            id: authorization.id.into(),
            version,
            epoch: authorization.epoch,
            client: authorization.client.clone(),
            pairs: Pairs::default(),
            revoked: None,
            pairs_made: 0,
            bound_from: None,
            created,
            subject: authorization.subject.clone(),
            terms: Terms::none(),
            keep_until: authorization.end.plus(PLACE_KEPT),
            family: Family::NONE,
        }
    }

    /// Returns the grant with other pairs. It is built field by field, so that the old pairs are not cloned.
    pub(crate) fn with_pairs(&self, pairs: Pairs) -> Self {
        Self {
            id: self.id,
            version: self.version,
            epoch: self.epoch,
            client: self.client.clone(),
            pairs,
            revoked: self.revoked,
            pairs_made: self.pairs_made,
            bound_from: self.bound_from,
            created: self.created,
            subject: self.subject.clone(),
            terms: self.terms.clone(),
            keep_until: self.keep_until,
            family: self.family,
        }
    }

    /// Returns the same for a row that is written under settings of that revision.
    pub(crate) fn written_under(self, revision: u32) -> Self {
        Self { terms: self.terms.written_under(revision), ..self }
    }

    /// Returns the grant as revoked. Family id and tag key are kept, so that a repeated revocation by its client is
    /// recognized. Tokens and lists are dropped: nothing reads them any more.
    pub(crate) fn revoked_at(&self, at: Timestamp, reason: RevocationReason, retention: Duration) -> Self {
        Self {
            revoked: Some(Revocation { at, reason }),
            bound_from: None,
            terms: Terms::none(),
            keep_until: self.keep_until.max(at.plus(retention)),
            ..self.with_pairs(Pairs::default())
        }
    }

    /// Returns when the last of its tokens ends.
    pub(super) fn last_end(&self) -> Timestamp {
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
    /// The user or an administrator revoked it.
    RevokedByUser,
    /// Everything of its subject was revoked.
    SubjectRevoked,
    /// Everything that its subject granted to its client was revoked.
    ApplicationRevoked,
    /// Its subject gave its client more grants than [`limits.grants`](crate::Config::limits), and this
    /// one was the least recently refreshed.
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
            Self::RevokedByUser => "revoked_by_user",
            Self::SubjectRevoked => "subject_revoked",
            Self::ApplicationRevoked => "application_revoked",
            Self::TooManyGrants => "too_many_grants",
        }
    }
}
