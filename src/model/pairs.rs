//! The tokens of a grant: a line of pairs, each of which replaced the one before it.

use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::jose::JwkThumbprint;
use crate::model::protected_resource::Audience;
use crate::scope::ScopeSet;
use crate::secret::Digest;
use crate::secret::derive::Link;

/// An access token of a grant, in any of its pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AccessRecord {
    pub(crate) digest: Digest,
    pub(crate) issued: Timestamp,
    pub(crate) end: Timestamp,
    /// In a box, since most access tokens have none: [`new`](Self::new) makes no empty one.
    pub(crate) restrictions: Option<Box<Restrictions>>,
}

/// What makes an access token less than a bearer token for all that was granted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Restrictions {
    /// Whether it was revoked alone.
    pub(crate) revoked: bool,
    /// Its scopes if a request reduced them; otherwise it has all that were granted.
    pub(crate) scopes: Option<ScopeSet>,
    /// Its audience if a request reduced it; otherwise unset, and it is for all that was granted.
    pub(crate) audience: Audience,
    /// The key that it is bound to [RFC 9449 section 6.1].
    pub(crate) key: Option<JwkThumbprint>,
}

impl AccessRecord {
    pub(crate) fn new(digest: Digest, issued: Timestamp, end: Timestamp, restrictions: Restrictions) -> Self {
        let has_any = restrictions != Restrictions::default();
        Self { digest, issued, end, restrictions: has_any.then(|| Box::new(restrictions)) }
    }

    /// Returns its scopes, if it has fewer than were granted.
    pub(crate) fn scopes(&self) -> Option<&ScopeSet> {
        self.restrictions.as_ref()?.scopes.as_ref()
    }

    /// Returns its audience, if it is for less than was granted.
    pub(crate) fn audience(&self) -> Option<&Audience> {
        Some(&self.restrictions.as_ref()?.audience).filter(|audience| !audience.is_unset())
    }

    /// Returns the key that it is bound to.
    pub(crate) fn key(&self) -> Option<&JwkThumbprint> {
        self.restrictions.as_ref()?.key.as_ref()
    }

    /// Returns whether it was revoked alone.
    pub(crate) fn is_revoked(&self) -> bool {
        self.restrictions.as_ref().is_some_and(|restrictions| restrictions.revoked)
    }

    pub(crate) fn revoke(&mut self) {
        self.restrictions.get_or_insert_default().revoked = true;
    }

    /// Returns whether it is neither revoked nor expired. Its time of issue may be in the future.
    pub(crate) fn is_live(&self, now: Timestamp) -> bool {
        now < self.end && !self.is_revoked()
    }

    /// Returns whether it may be used: it is live, and its time of issue is not in the future.
    pub(crate) fn is_usable(&self, now: Timestamp) -> bool {
        self.is_live(now) && self.issued.has_come(now)
    }
}

/// The refresh token of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RefreshRecord {
    pub(crate) digest: Digest,
    pub(crate) end: Timestamp,
}

/// The tokens of one token response: an access token and usually a refresh token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenPair {
    pub(crate) access: AccessRecord,
    pub(crate) refresh: Option<RefreshRecord>,
    /// Access tokens that were issued later with the same refresh token, the oldest first.
    pub(crate) further: Further,
}

/// A list of access tokens behind one pointer, since few pairs have any: a grant then stays within its limit for heap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Further(Option<Box<Box<[AccessRecord]>>>);

impl Further {
    pub(crate) fn as_slice(&self) -> &[AccessRecord] {
        self.0.as_ref().map_or(&[], |list| &***list)
    }

    fn as_mut_slice(&mut self) -> &mut [AccessRecord] {
        self.0.as_mut().map_or(&mut [], |list| &mut ***list)
    }
}

impl FromIterator<AccessRecord> for Further {
    fn from_iter<I: IntoIterator<Item = AccessRecord>>(accesses: I) -> Self {
        let list: Box<[AccessRecord]> = accesses.into_iter().collect();
        Self((!list.is_empty()).then(|| Box::new(list)))
    }
}

/// Whether the pair's own access token may end when a further one is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnAccess {
    /// It is counted with the others, as the oldest.
    Counted,
    /// It stays, whatever the number of the others.
    Spared,
}

impl TokenPair {
    pub(crate) fn new(access: AccessRecord, refresh: Option<RefreshRecord>) -> Self {
        Self { access, refresh, further: Further::default() }
    }

    /// Returns the same pair with one more access token. The oldest ones end, so that at most `max` are live, beside
    /// the pair's own if that is spared.
    pub(crate) fn with_further(mut self, access: AccessRecord, max: usize, own: OwnAccess) -> Self {
        let now = access.issued;
        let live = self.further.as_slice().iter().filter(|further| further.is_live(now));
        let further: Vec<_> = live.cloned().chain([access]).collect();
        if own == OwnAccess::Counted && further.len() >= max && self.access.is_live(now) {
            self.access.end = now;
        }
        let surplus = further.len().saturating_sub(max);
        self.further = further.into_iter().skip(surplus).collect();
        self
    }

    /// Returns all its access tokens.
    pub(crate) fn accesses(&self) -> impl Iterator<Item = &AccessRecord> {
        std::iter::once(&self.access).chain(self.further.as_slice())
    }

    fn accesses_mut(&mut self) -> impl Iterator<Item = &mut AccessRecord> {
        std::iter::once(&mut self.access).chain(self.further.as_mut_slice())
    }

    /// Returns the key that the refresh token is bound to, if the line is bound: that of the pair's own access token. A
    /// kept refresh token may have been bound later, with a further one.
    pub(crate) fn line_key(&self) -> Option<&JwkThumbprint> {
        self.access.key().or_else(|| self.further.as_slice().last()?.key())
    }

    pub(crate) fn refresh_digest(&self) -> Option<&Digest> {
        self.refresh.as_ref().map(|refresh| &refresh.digest)
    }

    /// Returns the end of the refresh token, or of the access token if there is no refresh token.
    pub(crate) fn refresh_end(&self) -> Timestamp {
        self.refresh.as_ref().map_or(self.access.end, |refresh| refresh.end)
    }

    /// Ends the refresh token at `end`, unless it ends before.
    pub(crate) fn end_refresh(&mut self, end: Timestamp) {
        if let Some(refresh) = &mut self.refresh {
            refresh.end = refresh.end.min(end);
        }
    }

    /// Ends all tokens at these ends, unless they end before.
    pub(crate) fn shorten(&mut self, ends: GraceEnds) {
        self.accesses_mut().for_each(|access| access.end = access.end.min(ends.access));
        self.end_refresh(ends.refresh);
    }

    /// Returns the latest end of its tokens.
    pub(crate) fn last_end(&self) -> Timestamp {
        self.accesses().map(|access| access.end).fold(self.refresh_end(), Timestamp::max)
    }

    pub(crate) fn is_live(&self, now: Timestamp) -> bool {
        self.accesses().any(|access| access.is_live(now)) || self.refresh_is_live(now)
    }

    pub(crate) fn refresh_is_live(&self, now: Timestamp) -> bool {
        self.refresh.as_ref().is_some_and(|refresh| now < refresh.end)
    }
}

/// How long a superseded pair and its link stay in the record after the last end of its tokens. A request is judged by
/// the time at which it began. A slow one must still find the pair that was in grace then, and not look like reuse.
/// Without this minute, the model of the line of pairs (`tests/model/line_of_pairs.py`) finds such a case.
pub(crate) const RETAINED: Duration = Duration::from_secs(60);

/// A pair that a refresh replaced, with the link to the pair that replaced it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SupersededPair {
    pub(crate) pair: TokenPair,
    pub(crate) since: Timestamp,
    /// Absent where the refresh token has no grace, and in a revoked grant.
    pub(crate) link: Option<Link>,
}

impl SupersededPair {
    /// Creates a superseded pair. The grace of its tokens never extends their lifetime.
    pub(crate) fn new(mut pair: TokenPair, since: Timestamp, ends: GraceEnds, link: Option<Link>) -> Self {
        pair.shorten(ends);
        Self { pair, since, link }
    }

    /// Returns whether no request can need it any more.
    pub(crate) fn is_spent(&self, now: Timestamp) -> bool {
        self.pair.last_end().plus(RETAINED) <= now
    }
}

/// When the grace of a superseded pair ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GraceEnds {
    pub(crate) access: Timestamp,
    pub(crate) refresh: Timestamp,
}

/// The pairs of a grant: the newest, which is stored in the record itself, and those that it superseded, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pairs {
    pub(crate) newest: Option<TokenPair>,
    pub(crate) superseded: Box<[SupersededPair]>,
}

/// The position of a refresh token in the sequence.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Placed<'a> {
    Newest(&'a TokenPair),
    /// A superseded pair, with its index; the newest has index 0.
    Superseded(usize, &'a SupersededPair),
}

impl Pairs {
    pub(crate) fn one(pair: TokenPair) -> Self {
        Self { newest: Some(pair), superseded: Box::default() }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &TokenPair> {
        self.newest.iter().chain(self.superseded.iter().map(|superseded| &superseded.pair))
    }

    /// Returns the access token of that digest.
    pub(crate) fn with_access(&self, digest: &Digest) -> Option<&AccessRecord> {
        self.iter().flat_map(TokenPair::accesses).find(|access| access.digest == *digest)
    }

    /// Revokes the access token of that digest, if there is one.
    pub(crate) fn revoke_access(&mut self, digest: &Digest) {
        let superseded = self.superseded.iter_mut().map(|superseded| &mut superseded.pair);
        let accesses = self.newest.iter_mut().chain(superseded).flat_map(TokenPair::accesses_mut);
        accesses.filter(|access| access.digest == *digest).for_each(AccessRecord::revoke);
    }

    pub(crate) fn with_refresh(&self, digest: &Digest) -> Option<Placed<'_>> {
        let is_own = |pair: &TokenPair| pair.refresh_digest() == Some(digest);
        if let Some(newest) = self.newest.as_ref().filter(|pair| is_own(pair)) {
            return Some(Placed::Newest(newest));
        }
        let (place, superseded) = self.superseded.iter().enumerate().find(|(_, own)| is_own(&own.pair))?;
        Some(Placed::Superseded(place, superseded))
    }
}

impl Placed<'_> {
    pub(crate) const fn pair(&self) -> &TokenPair {
        match self {
            Self::Newest(pair) => pair,
            Self::Superseded(_, superseded) => &superseded.pair,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u32) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn further(number: u8, issued: u32) -> AccessRecord {
        AccessRecord::new(Digest::of(&[number]), at(issued), at(issued + 100), Restrictions::default())
    }

    fn pair(access_end: u32) -> TokenPair {
        let access = AccessRecord::new(Digest::of(b"first"), at(0), at(access_end), Restrictions::default());
        TokenPair::new(access, Some(RefreshRecord { digest: Digest::of(b"r"), end: at(1000) }))
    }

    #[test]
    fn the_oldest_access_token_ends_when_one_is_too_many() {
        let mut pair = pair(100);
        for number in 1..=4 {
            pair = pair.with_further(further(number, 10), 3, OwnAccess::Counted);
            let live = pair.accesses().filter(|access| access.is_live(at(10))).count();
            assert_eq!(live, usize::from(number).min(2) + 1, "{number}");
        }
        assert!(!pair.access.is_live(at(10)), "the pair's own is the oldest");
        let left: Vec<_> = pair.further.as_slice().iter().map(|access| access.digest).collect();
        assert_eq!(left, [2, 3, 4].map(|number: u8| Digest::of(&[number])));
    }

    #[test]
    fn the_own_access_token_is_spared_where_that_is_asked() {
        let mut pair = pair(100);
        for number in 1..=5 {
            pair = pair.with_further(further(number, 10), 3, OwnAccess::Spared);
        }
        assert!(pair.access.is_live(at(10)));
        let left: Vec<_> = pair.further.as_slice().iter().map(|access| access.digest).collect();
        assert_eq!(left, [3, 4, 5].map(|number: u8| Digest::of(&[number])));
    }

    #[test]
    fn expired_and_revoked_access_tokens_make_room() {
        let mut pair = pair(100);
        pair = pair.with_further(further(1, 10), 3, OwnAccess::Counted).with_further(
            further(2, 20),
            3,
            OwnAccess::Counted,
        );
        let mut pairs = Pairs::one(pair);
        pairs.revoke_access(&Digest::of(&[1]));
        pair = pairs.newest.unwrap();
        pair = pair.with_further(further(3, 90), 3, OwnAccess::Counted);
        assert!(pair.access.is_live(at(90)));
        assert_eq!(pair.further.as_slice().len(), 2);
        pair = pair.with_further(further(4, 120), 3, OwnAccess::Counted);
        assert_eq!(
            pair.accesses().filter(|access| access.is_live(at(120))).count(),
            2,
            "20 + 100 is the end of the second"
        );
    }

    #[test]
    fn grace_ends_every_token_of_a_pair_and_lengthens_none() {
        let pair = pair(50).with_further(further(1, 10), 9, OwnAccess::Counted);
        let ends = GraceEnds { access: at(60), refresh: at(70) };
        let old = SupersededPair::new(pair, at(40), ends, None);
        assert_eq!(old.pair.accesses().map(|access| access.end).collect::<Vec<_>>(), [at(50), at(60)]);
        assert_eq!(old.pair.refresh_end(), at(70));
        assert!(!old.is_spent(at(129)));
        assert!(old.is_spent(at(130)));
    }
}
