//! The tokens of a grant: a sequence of pairs, each of which replaced the one before it.

use std::num::NonZeroU32;

use std::time::Duration;

use crate::clock::Timestamp;
use crate::jose::JwkThumbprint;
use crate::model::protected_resource::{Audience, NO_AUDIENCE};
use crate::scope::ScopeSet;
use crate::secret::Digest;
use crate::secret::derive::Link;

/// The digests of the tokens in one token response: an access token and usually a refresh token.
///
/// A store holds one or two pairs for every consent, so a pair is small: data that few pairs have is in a box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenPair {
    access: Digest,
    refresh: Option<RefreshPart>,
    issued: Timestamp,
    access_end: Timestamp,
    /// In the pair itself: its unused values represent an absent pair, so that `Option<TokenPair>` needs no more room.
    access_revoked: bool,
    rare: Option<Box<Rare>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct RefreshPart {
    digest: Digest,
    /// Seconds since 1970. Zero never occurs, so `Option<RefreshPart>` needs no more room.
    end: NonZeroU32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rare {
    /// The scopes of the access token if a refresh reduced them; otherwise it has all that were granted.
    reduced: Option<ScopeSet>,
    /// The audience of the access token if a request reduced it; otherwise unset.
    audience: Audience,
    /// The key that the access token is bound to [RFC 9449 section 6.1].
    key: Option<JwkThumbprint>,
    /// The audience that the user granted, in the newest pair. Most grants have none, so a grant has no field for it.
    granted: Audience,
    /// The number of the first pair of the grant that was bound to a key, also in the newest pair only.
    bound_from: Option<NonZeroU32>,
    /// Access tokens issued later with the same refresh token, the oldest first.
    further: Vec<FurtherAccess>,
}

/// An access token that was issued for a pair without replacing its refresh token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FurtherAccess {
    pub(crate) digest: Digest,
    pub(crate) issued: Timestamp,
    pub(crate) end: Timestamp,
    pub(crate) revoked: bool,
    pub(crate) reduced: Option<ScopeSet>,
    pub(crate) audience: Audience,
    pub(crate) key: Option<JwkThumbprint>,
}

impl FurtherAccess {
    fn part(&self) -> AccessPart<'_> {
        AccessPart {
            digest: &self.digest,
            issued: self.issued,
            end: self.end,
            revoked: self.revoked,
            reduced: self.reduced.as_ref(),
            audience: Some(&self.audience).filter(|audience| !audience.is_unset()),
            key: self.key.as_ref(),
        }
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

/// One access token of a grant, in any of its pairs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessPart<'a> {
    pub(crate) digest: &'a Digest,
    pub(crate) issued: Timestamp,
    pub(crate) end: Timestamp,
    pub(crate) revoked: bool,
    /// Its scopes if a refresh reduced them; otherwise it has all that were granted.
    pub(crate) reduced: Option<&'a ScopeSet>,
    /// Its audience if a request reduced it; otherwise it is for all that was granted.
    pub(crate) audience: Option<&'a Audience>,
    /// The key that it is bound to [RFC 9449 section 6.1].
    pub(crate) key: Option<&'a JwkThumbprint>,
}

impl AccessPart<'_> {
    /// Returns whether it is neither revoked nor expired. Its time of issue may be in the future.
    pub(crate) fn is_live(&self, now: Timestamp) -> bool {
        !self.revoked && now < self.end
    }

    /// Returns whether it may be used: it is live, and its time of issue is not in the future.
    pub(crate) fn is_usable(&self, now: Timestamp) -> bool {
        self.is_live(now) && self.issued.has_come(now)
    }
}

impl TokenPair {
    /// Creates a pair without a refresh token.
    pub(crate) fn new(access: Digest, issued: Timestamp, access_end: Timestamp) -> Self {
        Self { access, refresh: None, issued, access_end, access_revoked: false, rare: None }
    }

    pub(crate) fn with_refresh(self, digest: Digest, end: Timestamp) -> Self {
        Self { refresh: Some(RefreshPart { digest, end: nonzero(end) }), ..self }
    }

    pub(crate) fn reduced_to(mut self, scopes: ScopeSet) -> Self {
        self.rare.get_or_insert_default().reduced = Some(scopes);
        self
    }

    /// Binds the access token to a key.
    pub(crate) fn bound_to(mut self, key: JwkThumbprint) -> Self {
        self.rare.get_or_insert_default().key = Some(key);
        self
    }

    /// Returns the key that the refresh token is bound to, if the line is bound: that of the pair's own access token. A
    /// kept refresh token may have been bound later, with a further one.
    pub(crate) fn line_key(&self) -> Option<&JwkThumbprint> {
        let rare = self.rare.as_ref()?;
        rare.key.as_ref().or_else(|| rare.further.last()?.key.as_ref())
    }

    /// Sets the audience of the whole grant.
    pub(crate) fn of_grant_for(mut self, audience: Audience) -> Self {
        if !audience.is_unset() {
            self.rare.get_or_insert_default().granted = audience;
        }
        self
    }

    /// Sets the number of the first pair of the grant that was bound to a key.
    pub(crate) fn of_grant_bound_from(mut self, number: Option<NonZeroU32>) -> Self {
        if number.is_some() {
            self.rare.get_or_insert_default().bound_from = number;
        }
        self
    }

    /// Returns the same pair without the data of the whole grant, which the pair that replaces it holds.
    fn without_granted(mut self) -> Self {
        if let Some(rare) = &mut self.rare {
            (rare.granted, rare.bound_from) = (Audience::UNSET, None);
            if **rare == Rare::default() {
                self.rare = None;
            }
        }
        self
    }

    pub(crate) fn for_audience(mut self, audience: Audience) -> Self {
        if !audience.is_unset() {
            self.rare.get_or_insert_default().audience = audience;
        }
        self
    }

    /// Returns the same pair with one more access token. The oldest ones end, so that at most `most` are live, beside the
    /// pair's own if that is spared.
    pub(crate) fn with_further(mut self, access: FurtherAccess, max: usize, own: OwnAccess) -> Self {
        let now = access.issued;
        let counted = self.accesses().skip(usize::from(own == OwnAccess::Spared));
        let mut live = counted.filter(|access| access.is_live(now)).count() + 1;
        if own == OwnAccess::Counted && live > max && self.access().is_live(now) {
            self.access_end = now;
            live -= 1;
        }
        let further = &mut self.rare.get_or_insert_default().further;
        further.retain(|own| {
            let is_live = !own.revoked && now < own.end;
            let stays = is_live && live <= max;
            live -= usize::from(is_live && !stays);
            stays
        });
        further.push(access);
        self
    }

    pub(crate) const fn issued(&self) -> Timestamp {
        self.issued
    }

    pub(crate) const fn access_digest(&self) -> &Digest {
        &self.access
    }

    pub(crate) fn refresh_digest(&self) -> Option<&Digest> {
        self.refresh.as_ref().map(|refresh| &refresh.digest)
    }

    /// Returns the end of the refresh token, or of the access token if there is no refresh token.
    pub(crate) fn refresh_end(&self) -> Timestamp {
        self.refresh.as_ref().map_or(self.access_end, |refresh| Timestamp::from_seconds(refresh.end.get()))
    }

    /// Returns the access token of the pair itself.
    pub(crate) fn access(&self) -> AccessPart<'_> {
        AccessPart {
            digest: &self.access,
            issued: self.issued,
            end: self.access_end,
            revoked: self.access_revoked,
            reduced: self.rare.as_ref().and_then(|rare| rare.reduced.as_ref()),
            audience: self.rare.as_ref().map(|rare| &rare.audience).filter(|audience| !audience.is_unset()),
            key: self.rare.as_ref().and_then(|rare| rare.key.as_ref()),
        }
    }

    /// Returns the access tokens that were issued later with the same refresh token, the oldest first.
    pub(crate) fn further(&self) -> &[FurtherAccess] {
        self.rare.as_ref().map_or(&[], |rare| &rare.further)
    }

    /// Returns all its access tokens.
    pub(crate) fn accesses(&self) -> impl Iterator<Item = AccessPart<'_>> {
        std::iter::once(self.access()).chain(self.further().iter().map(FurtherAccess::part))
    }

    /// Returns the access token of that digest, if the pair has it.
    fn with_access(&self, digest: &Digest) -> Option<AccessPart<'_>> {
        if self.access == *digest {
            return Some(self.access());
        }
        self.further().iter().find(|access| access.digest == *digest).map(FurtherAccess::part)
    }

    /// Sets the audience of the access token at that place of [`accesses`](Self::accesses), if there is one.
    pub(crate) fn set_audience(&mut self, place: usize, audience: Audience) {
        let Rare { audience: own, further, .. } = &mut **self.rare.get_or_insert_default();
        let of_further = further.iter_mut().map(|access| &mut access.audience);
        if let Some(of_place) = std::iter::once(own).chain(of_further).nth(place) {
            *of_place = audience;
        }
    }

    /// Sets the key of the access token at that place of [`accesses`](Self::accesses), if there is one.
    pub(crate) fn set_key(&mut self, place: usize, key: JwkThumbprint) {
        let Rare { key: own, further, .. } = &mut **self.rare.get_or_insert_default();
        let of_further = further.iter_mut().map(|access| &mut access.key);
        if let Some(of_place) = std::iter::once(own).chain(of_further).nth(place) {
            *of_place = Some(key);
        }
    }

    /// Revokes the access token of that digest, if the pair has it.
    pub(crate) fn revoke_access(&mut self, digest: &Digest) {
        if self.access == *digest {
            self.access_revoked = true;
        }
        let further = self.rare.iter_mut().flat_map(|rare| &mut rare.further);
        further.filter(|access| access.digest == *digest).for_each(|access| access.revoked = true);
    }

    pub(crate) fn push_further(&mut self, access: FurtherAccess) {
        self.rare.get_or_insert_default().further.push(access);
    }

    /// Ends the refresh token at `end`, unless it ends before.
    fn end_refresh(&mut self, end: Timestamp) {
        if let Some(refresh) = &mut self.refresh {
            refresh.end = refresh.end.min(nonzero(end));
        }
    }

    /// Ends all access tokens at `end`, unless they end before.
    fn end_accesses(&mut self, end: Timestamp) {
        self.access_end = self.access_end.min(end);
        let further = self.rare.iter_mut().flat_map(|rare| &mut rare.further);
        further.for_each(|access| access.end = access.end.min(end));
    }

    /// Returns the latest end of its tokens.
    pub(crate) fn last_end(&self) -> Timestamp {
        let accesses = self.accesses().map(|access| access.end).max();
        accesses.unwrap_or_default().max(self.refresh_end())
    }

    pub(crate) fn is_live(&self, now: Timestamp) -> bool {
        self.accesses().any(|access| access.is_live(now)) || self.refresh_is_live(now)
    }

    pub(crate) fn refresh_is_live(&self, now: Timestamp) -> bool {
        self.refresh.is_some() && now < self.refresh_end()
    }
}

fn nonzero(time: Timestamp) -> NonZeroU32 {
    NonZeroU32::new(time.seconds()).unwrap_or(NonZeroU32::MIN)
}

/// How long a superseded pair and its link stay in the record after the last end of its tokens. A request is judged by
/// the time at which it began. A slow one must still find the pair that was in grace then, and not look like reuse: a
/// model of the line of pairs (`tests/model/line_of_pairs.py`) finds that without it.
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
    pub(crate) fn new(pair: TokenPair, since: Timestamp, ends: GraceEnds, link: Option<Link>) -> Self {
        let mut pair = if pair.rare.is_some() { pair.without_granted() } else { pair };
        pair.end_accesses(ends.access);
        pair.end_refresh(ends.refresh);
        Self { pair, since, link }
    }

    /// Ends both kinds of tokens at these ends, unless they end before.
    pub(crate) fn shorten(&mut self, ends: GraceEnds) {
        self.pair.end_accesses(ends.access);
        self.pair.end_refresh(ends.refresh);
    }

    /// Ends the grace of the refresh token at `end`, unless it ends before.
    pub(crate) fn end_grace(&mut self, end: Timestamp) {
        self.pair.end_refresh(end);
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

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut TokenPair> {
        self.newest.iter_mut().chain(self.superseded.iter_mut().map(|superseded| &mut superseded.pair))
    }

    pub(crate) fn with_access(&self, digest: &Digest) -> Option<AccessPart<'_>> {
        self.iter().find_map(|pair| pair.with_access(digest))
    }

    /// Returns the protected resources that the user granted.
    #[inline]
    pub(crate) fn granted(&self) -> &Audience {
        self.newest.as_ref().and_then(|pair| pair.rare.as_ref()).map_or(&NO_AUDIENCE, |rare| &rare.granted)
    }

    /// Returns the number of the first pair that was bound to a key; all later pairs are bound too.
    pub(crate) fn bound_from(&self) -> Option<NonZeroU32> {
        self.newest.as_ref()?.rare.as_ref()?.bound_from
    }

    /// Returns whether any access token has a smaller audience than the grant.
    pub(crate) fn has_reduced_audience(&self) -> bool {
        let in_rare = |pair: &TokenPair| {
            let rare = pair.rare.as_ref();
            rare.is_some_and(|_| pair.accesses().any(|access| access.audience.is_some()))
        };
        self.iter().any(in_rare)
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

    fn further(number: u8, issued: u32) -> FurtherAccess {
        let digest = Digest::of(&[number]);
        FurtherAccess {
            digest,
            issued: at(issued),
            end: at(issued + 100),
            revoked: false,
            reduced: None,
            audience: Audience::UNSET,
            key: None,
        }
    }

    #[test]
    fn the_oldest_access_token_ends_when_one_is_too_many() {
        let mut pair = TokenPair::new(Digest::of(b"first"), at(0), at(100)).with_refresh(Digest::of(b"r"), at(1000));
        for number in 1..=4 {
            pair = pair.with_further(further(number, 10), 3, OwnAccess::Counted);
            let live = pair.accesses().filter(|access| access.is_live(at(10))).count();
            assert_eq!(live, usize::from(number).min(2) + 1, "{number}");
        }
        assert!(!pair.access().is_live(at(10)), "the pair's own is the oldest");
        let left: Vec<_> = pair.further().iter().map(|access| access.digest).collect();
        assert_eq!(left, [2, 3, 4].map(|number: u8| Digest::of(&[number])));
    }

    #[test]
    fn the_own_access_token_is_spared_where_that_is_asked() {
        let mut pair = TokenPair::new(Digest::of(b"first"), at(0), at(100)).with_refresh(Digest::of(b"r"), at(1000));
        for number in 1..=5 {
            pair = pair.with_further(further(number, 10), 3, OwnAccess::Spared);
        }
        assert!(pair.access().is_live(at(10)));
        let left: Vec<_> = pair.further().iter().map(|access| access.digest).collect();
        assert_eq!(left, [3, 4, 5].map(|number: u8| Digest::of(&[number])));
    }

    #[test]
    fn expired_and_revoked_access_tokens_make_room() {
        let mut pair = TokenPair::new(Digest::of(b"first"), at(0), at(100)).with_refresh(Digest::of(b"r"), at(1000));
        pair = pair.with_further(further(1, 10), 3, OwnAccess::Counted).with_further(
            further(2, 20),
            3,
            OwnAccess::Counted,
        );
        pair.revoke_access(&Digest::of(&[1]));
        pair = pair.with_further(further(3, 90), 3, OwnAccess::Counted);
        assert!(pair.access().is_live(at(90)));
        assert_eq!(pair.further().len(), 2);
        pair = pair.with_further(further(4, 120), 3, OwnAccess::Counted);
        assert_eq!(
            pair.accesses().filter(|access| access.is_live(at(120))).count(),
            2,
            "20 + 100 is the end of the second"
        );
    }

    #[test]
    fn grace_ends_every_token_of_a_pair_and_lengthens_none() {
        let pair = TokenPair::new(Digest::of(b"a"), at(0), at(50)).with_refresh(Digest::of(b"r"), at(1000));
        let pair = pair.with_further(further(1, 10), 9, OwnAccess::Counted);
        let ends = GraceEnds { access: at(60), refresh: at(70) };
        let old = SupersededPair::new(pair, at(40), ends, None);
        assert_eq!(old.pair.accesses().map(|access| access.end).collect::<Vec<_>>(), [at(50), at(60)]);
        assert_eq!(old.pair.refresh_end(), at(70));
        assert!(!old.is_spent(at(129)));
        assert!(old.is_spent(at(130)));
    }
}
