//! The tokens of a grant: one pair for each token response.

use std::num::NonZeroU32;

use time::Duration;

use crate::clock::Timestamp;
use crate::scope::ScopeSet;
use crate::secret::Digest;

/// What one token response carried: the digests of an access token and, mostly, a refresh token.
///
/// A store holds one or two for every consent, so it is kept small: what few pairs have is in a box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenPair {
    pub(crate) access: Digest,
    refresh: Option<RefreshPart>,
    issued: Moment,
    pub(crate) access_end: Timestamp,
    /// When a refresh first replaced this pair.
    superseded: Option<Moment>,
    rare: Option<Box<Rare>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct RefreshPart {
    digest: Digest,
    end: Moment,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rare {
    access_revoked: bool,
    /// What the access token may do where a refresh narrowed it; otherwise all that was granted.
    narrowed: Option<ScopeSet>,
}

/// A time after the first second of 1970, which leaves room for "none" in its four octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment(NonZeroU32);

impl From<Timestamp> for Moment {
    fn from(time: Timestamp) -> Self {
        Self(NonZeroU32::new(time.seconds()).unwrap_or(NonZeroU32::MIN))
    }
}

impl From<Moment> for Timestamp {
    fn from(moment: Moment) -> Self {
        Self::from_seconds(moment.0.get())
    }
}

impl TokenPair {
    /// A pair without refresh token.
    pub(crate) fn new(access: Digest, issued: Timestamp, access_end: Timestamp) -> Self {
        Self { access, refresh: None, issued: issued.into(), access_end, superseded: None, rare: None }
    }

    pub(crate) fn with_refresh(self, digest: Digest, end: Timestamp) -> Self {
        Self { refresh: Some(RefreshPart { digest, end: end.into() }), ..self }
    }

    pub(crate) fn superseded_at(self, time: Timestamp) -> Self {
        Self { superseded: Some(time.into()), ..self }
    }

    pub(crate) fn narrowed_to(mut self, scopes: ScopeSet) -> Self {
        self.rare.get_or_insert_default().narrowed = Some(scopes);
        self
    }

    pub(crate) fn refresh_digest(&self) -> Option<&Digest> {
        self.refresh.as_ref().map(|refresh| &refresh.digest)
    }

    /// The end of the refresh token; of the access token where there is no other.
    pub(crate) fn refresh_end(&self) -> Timestamp {
        self.refresh.as_ref().map_or(self.access_end, |refresh| refresh.end.into())
    }

    pub(crate) fn issued(&self) -> Timestamp {
        self.issued.into()
    }

    pub(crate) fn superseded(&self) -> Option<Timestamp> {
        self.superseded.map(Timestamp::from)
    }

    pub(crate) fn access_revoked(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.access_revoked)
    }

    /// What the access token may do where a refresh narrowed it; otherwise all that was granted.
    pub(crate) fn narrowed(&self) -> Option<&ScopeSet> {
        self.rare.as_ref()?.narrowed.as_ref()
    }

    pub(crate) fn revoke_access(&mut self) {
        self.rare.get_or_insert_default().access_revoked = true;
    }

    /// Marks the pair as replaced; ends only come nearer.
    pub(crate) fn supersede(&mut self, now: Timestamp, access_end: Timestamp, refresh_end: Timestamp) {
        self.superseded = Some(now.into());
        self.access_end = self.access_end.min(access_end);
        self.end_refresh(refresh_end);
    }

    /// Ends the refresh token at `end`, unless it ends before.
    pub(crate) fn end_refresh(&mut self, end: Timestamp) {
        if let Some(refresh) = &mut self.refresh {
            refresh.end = Timestamp::from(refresh.end).min(end).into();
        }
    }

    /// The end of the token that lives longer.
    pub(crate) fn last_end(&self) -> Timestamp {
        self.access_end.max(self.refresh_end())
    }

    /// Tells whether nothing can be learned from this pair any more at `now`.
    pub(crate) fn is_spent(&self, now: Timestamp, margin: Duration) -> bool {
        self.last_end().plus(margin) <= now
    }

    pub(crate) fn is_live(&self, now: Timestamp) -> bool {
        self.access_is_live(now) || self.refresh_is_live(now)
    }

    pub(crate) fn access_is_live(&self, now: Timestamp) -> bool {
        !self.access_revoked() && now < self.access_end
    }

    pub(crate) fn refresh_is_live(&self, now: Timestamp) -> bool {
        self.refresh.as_ref().is_some_and(|refresh| now < refresh.end.into())
    }
}

/// The pairs of a grant, the newest first; that one lies in the record itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pairs {
    newest: Option<TokenPair>,
    older: Box<[TokenPair]>,
}

impl Pairs {
    pub(crate) fn one(pair: TokenPair) -> Self {
        Self { newest: Some(pair), older: Box::default() }
    }

    pub(crate) fn from_newest_first(mut pairs: impl Iterator<Item = TokenPair>) -> Self {
        Self { newest: pairs.next(), older: pairs.collect() }
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.newest.is_some()) + self.older.len()
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &TokenPair> {
        self.newest.iter().chain(&self.older)
    }

    pub(crate) fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut TokenPair> {
        self.newest.iter_mut().chain(&mut self.older)
    }

    pub(crate) fn with_access(&self, digest: &Digest) -> Option<&TokenPair> {
        self.iter().find(|pair| pair.access == *digest)
    }

    pub(crate) fn with_refresh(&self, digest: &Digest) -> Option<&TokenPair> {
        self.iter().find(|pair| pair.refresh.as_ref().is_some_and(|refresh| refresh.digest == *digest))
    }

    /// The same with a pair in front, each of the others as the rule leaves it, or gone.
    ///
    /// One pair mostly stays, in grace two. They get a block of their size at once: a larger one, cut afterwards,
    /// costs the allocator more than all the rest of this.
    pub(crate) fn succeeded_by(&self, newest: TokenPair, rule: impl Fn(&TokenPair) -> Option<TokenPair>) -> Self {
        let mut kept = self.iter().filter_map(rule);
        let older: Box<[_]> = match (kept.next(), kept.next()) {
            (None, _) => Box::default(),
            (Some(one), None) => Box::new([one]),
            (Some(one), Some(two)) => [one, two].into_iter().chain(kept).collect(),
        };
        Self { newest: Some(newest), older }
    }
}
