//! Decides what a refresh writes and returns, by rules over plain data.

use std::sync::Arc;
use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::base::entropy::Entropy;
use crate::config::{Config, GraceEnd};
use crate::error::Reason;
use crate::grant::issue;
use crate::grant::issue::{Issued, NewPair, Place};
use crate::grant::refresh_token::state::{TokenState, state_of, was_bound};
use crate::grant::request::TokenRequest;
use crate::model::client::{Client, RefreshRotation};
use crate::model::protected_resource::{ResourceTable, Target};
use crate::model::{
    AccessRecord, GraceEnds, Grant, OwnAccess, Pairs, Placed, RETAINED, Restrictions, SupersededPair, TokenPair,
};
use crate::scope::{OPENID, ScopeSet};
use crate::secret::derive::{Link, MissingKey, PairSecrets};
use crate::secret::refresh::{Fresh, MintedRefresh, Position, PresentedRefresh};
use crate::secret::{MintedOpaque, refresh};

/// How many access tokens of one refresh token may be live at once. A further one ends the oldest. 64 is more
/// than the workers that share one consent, and bounds the size of the record.
pub(super) const MAX_LIVE_ACCESS_TOKENS: usize = 64;

/// Pairs of a grant that may be in grace at once: with the default grace, 64 refreshes in five minutes. This limits the
/// size of the record, and the number of links that a request must follow. A further refresh is answered with 429: if a
/// pair were dropped instead, its use would later look like reuse.
pub(crate) const PAIRS_IN_GRACE: usize = 64;
/// Superseded pairs in the record, in grace or retained after it. With the settings of every profile, the limit of
/// those in grace is reached first.
const PAIRS_KEPT: usize = 2 * PAIRS_IN_GRACE;

/// One request, with everything that it is judged by except the record.
pub(super) struct Judge<'a> {
    pub(super) request: &'a TokenRequest<'a>,
    pub(super) presented: &'a PresentedRefresh,
    pub(super) config: &'a Config,
    pub(super) resources: &'a ResourceTable,
    pub(super) now: Timestamp,
    pub(super) drawn: Drawn,
}

/// The random parts of the next pair, drawn once for a request. A retried claim uses the same parts, so that the caller
/// recognizes its own write.
pub(super) enum Drawn {
    /// The next pair is derived from the newest.
    Link(Link),
    /// The next pair is drawn: the old refresh token has no grace.
    Pair(PairSecrets),
    /// A further access token is drawn: the refresh token stays.
    Access(MintedOpaque),
}

impl Drawn {
    pub(super) fn new(client: &Client, config: &Config, entropy: &dyn Entropy) -> Self {
        match config.refresh_rotation(client) {
            RefreshRotation::Keep => Self::Access(MintedOpaque::random(entropy)),
            RefreshRotation::Rotate if config.refresh.grace.is_zero() => Self::Pair(PairSecrets::random(entropy)),
            RefreshRotation::Rotate => Self::Link(Link::random(entropy, config.refresh.derivation_keys.first())),
        }
    }
}

/// A refresh that is granted.
pub(super) struct Verdict {
    /// The record to write; `None` if the newest pair is the answer.
    pub(super) next: Option<Arc<Grant>>,
    pub(super) issued: Issued,
    /// Seconds since the token was superseded, for a use in grace.
    pub(super) superseded_for: Option<u32>,
}

/// The newest pair of a grant, with the secrets that were derived from the presented token.
struct Newest<'a> {
    pair: &'a TokenPair,
    fresh: Fresh,
    /// For a use in grace: the tokens of the pair.
    in_grace: Option<InGrace>,
}

/// The tokens that a request may get.
enum Secrets {
    /// The next pair, and the link to it.
    Pair(PairSecrets, Option<Link>),
    Access(MintedOpaque),
}

/// The scopes and the target of the requested access token.
struct Asked<'a> {
    scopes: ScopeSet,
    target: Target<'a>,
}

struct InGrace {
    secrets: PairSecrets,
    /// `None` if the client gets no refresh tokens; a device code led to the pair.
    refresh_token: Option<MintedRefresh>,
    /// When the presented token was superseded.
    since: Timestamp,
}

impl Judge<'_> {
    /// Returns the place of the token, if it may be used. Checks in the order that reveals least to a wrong party.
    pub(super) fn usable<'g>(&self, grant: &'g Grant) -> Result<Placed<'g>, Reason> {
        // § 6: "the refresh token is bound to the client to which it was issued"
        if grant.client != self.request.client.id {
            return Err(Reason::RefreshTokenOfAnotherClient);
        }
        if grant.revoked.is_some() || self.request.client.has_revoked(grant.epoch)? {
            return Err(Reason::GrantRevoked);
        }
        let state = state_of(grant, self.presented, self.now);
        // The key is compared only for genuine tokens. For a token that was bound, it is compared before reuse is
        // judged, so that a copy of the token alone does not count as reuse. A token that was never bound has no key to
        // protect it. Its reuse must be detected even if another party has bound the grant since.
        let needs_key = match state {
            TokenState::Unknown => false,
            TokenState::Usable(_) | TokenState::NotYetValid { .. } => true,
            TokenState::Expired | TokenState::AboveCount | TokenState::Forked | TokenState::Superseded => {
                was_bound(grant, self.presented)
            }
        };
        if needs_key && let Err(reason) = self.check_key(grant) {
            // Another party has bound the line since this token was superseded. Nothing but the key could tell which
            // party is the owner.
            let is_left_behind = matches!(state, TokenState::Usable(Placed::Superseded(..)))
                && !was_bound(grant, self.presented)
                && self.config.has_unproven_refresh_tokens(self.request.client);
            return Err(if is_left_behind { Reason::RefreshTokenReused } else { reason });
        }
        match state {
            TokenState::Usable(placed) => Ok(placed),
            TokenState::Unknown => Err(Reason::UnknownRefreshToken),
            TokenState::NotYetValid { issued } => {
                Err(Reason::not_yet_valid(issued, self.now, Reason::RefreshTokenNotYetValid))
            }
            TokenState::Expired => Err(Reason::RefreshTokenExpired),
            TokenState::AboveCount | TokenState::Forked => Err(Reason::StoreWentBack),
            TokenState::Superseded => Err(Reason::RefreshTokenReused),
        }
    }

    /// Once a refresh token of the grant is bound to a key, all later ones are too. Those of a public client stay bound
    /// to that key:
    ///
    /// > When an authorization server supporting DPoP issues a refresh token to a public client that presents a valid
    /// > DPoP proof at the token endpoint, the refresh token MUST be bound to the respective public key.
    ///
    /// [RFC 9449 section 5]
    fn check_key(&self, grant: &Grant) -> Result<(), Reason> {
        if grant.bound_from.is_none() {
            return Ok(());
        }
        let Some(sent) = self.request.key else { return Err(Reason::MissingDpopProof) };
        let is_other = grant.pairs.newest.as_ref().and_then(TokenPair::line_key).is_some_and(|bound| bound != sent);
        if is_other && self.config.has_unproven_refresh_tokens(self.request.client) {
            return Err(Reason::AnotherDpopKey);
        }
        Ok(())
    }

    /// Decides about a refresh. A token in its grace is judged like the newest one.
    pub(super) fn verdict(&self, grant: &Grant) -> Result<Verdict, Reason> {
        let placed = self.usable(grant)?;
        let client = self.request.client;
        let available = grant.terms.left_for(client).ok_or(Reason::GrantRevoked)?.scopes;
        let target = self.resources.granted(&grant.terms.audience, client, self.request.resources)?;
        let asked = Asked { scopes: self.requested_scopes(available, &target)?, target };
        let newest = self.newest(grant, placed)?;
        let superseded_for = newest.in_grace.as_ref().map(|own| self.now.seconds_since(own.since));
        if let Some(issued) = self.newest_again(grant, &newest, &asked) {
            return Ok(Verdict { next: None, issued, superseded_for });
        }
        // A token in grace never rotates: a client that refreshes one token for two resources at once may store the
        // slower answer, and must not be accused for it later. The exception is a newest pair that was issued far in
        // the future, during a clock jump: it cannot be used yet. If the clocks differ by minutes, the client that has
        // the newest pair uses it at another server.
        let issued = newest.pair.access.issued;
        let is_far = !issued.may_have_come(self.now);
        let rotates = newest.in_grace.is_none() || is_far;
        let (next, issued) = match self.secrets(&newest)? {
            Secrets::Pair(secrets, link) if rotates => self.rotate(grant, &newest, asked, secrets, link)?,
            Secrets::Pair(PairSecrets { access, .. }, _) | Secrets::Access(access) => {
                self.keep(grant, newest, asked, access)
            }
        };
        Ok(Verdict { next: Some(next), issued, superseded_for })
    }

    fn secrets(&self, newest: &Newest<'_>) -> Result<Secrets, Reason> {
        match &self.drawn {
            Drawn::Access(access) => Ok(Secrets::Access(access.clone())),
            Drawn::Pair(secrets) => Ok(Secrets::Pair(secrets.clone(), None)),
            Drawn::Link(link) => {
                let secrets = link.follow(&newest.fresh, &self.config.refresh.derivation_keys);
                let secrets = secrets.map_err(|MissingKey| Reason::MissingDerivationKey)?;
                Ok(Secrets::Pair(secrets, Some(*link)))
            }
        }
    }

    /// § 6: "The requested scope MUST NOT include any scope not originally granted by the resource owner, and if
    /// omitted is treated as equal to the scope originally granted by the resource owner."
    ///
    /// The access token then has what its protected resources serve.
    fn requested_scopes(&self, mut available: ScopeSet, target: &Target<'_>) -> Result<ScopeSet, Reason> {
        // A service that no longer says who its users are no longer has these scopes.
        if !self.config.has_identity() && available.contains_name(OPENID) {
            available = self.config.scopes.known_part(&available);
        }
        let asked = match self.config.scopes.sent(self.request.scope) {
            None => available,
            Some(scope) => {
                let asked = self.config.scopes.read(scope).map_err(Reason::Scope)?;
                if !asked.is_subset_of(&available) {
                    return Err(Reason::ExcessScope);
                }
                asked
            }
        };
        let served = target.served_of(asked);
        if served.is_empty() { Err(target.nothing_left().into()) } else { Ok(served) }
    }

    /// Derives the secrets of the newest pair: from the token itself, or from an old one link by link, even if pairs in
    /// between have expired.
    fn newest<'g>(&self, grant: &'g Grant, placed: Placed<'g>) -> Result<Newest<'g>, Reason> {
        let (place, presented) = match placed {
            Placed::Newest(pair) => return Ok(Newest { pair, fresh: self.presented.fresh.clone(), in_grace: None }),
            Placed::Superseded(place, presented) => (place, presented),
        };
        let pair = grant.pairs.newest.as_ref().ok_or(Reason::RefreshTokenSuperseded)?;
        let mut fresh = self.presented.fresh.clone();
        let mut derived = None;
        for superseded in grant.pairs.superseded.iter().take(place + 1).rev() {
            // A link is missing if a refresh token had no grace, perhaps under earlier settings.
            let link = superseded.link.ok_or(Reason::RefreshTokenSuperseded)?;
            let secrets = link.follow(&fresh, &self.config.refresh.derivation_keys);
            let secrets = secrets.map_err(|MissingKey| Reason::MissingDerivationKey)?;
            fresh = secrets.fresh.clone();
            derived = Some(secrets);
        }
        let secrets = derived.ok_or(Reason::RefreshTokenSuperseded)?;
        let refresh_token = pair.refresh.is_some().then(|| self.refresh_token(grant, pair, &fresh));
        // The digests in the record prove the derivation.
        let is_proven = pair.access.digest == secrets.access.digest
            && pair.refresh_digest() == refresh_token.as_ref().map(|token| &token.digest);
        if !is_proven {
            return Err(Reason::RefreshTokenSuperseded);
        }
        Ok(Newest { pair, fresh, in_grace: Some(InGrace { secrets, refresh_token, since: presented.since }) })
    }

    /// The refresh token of the newest pair. Its end was never shortened, and its number is the grant's count.
    fn refresh_token(&self, grant: &Grant, newest: &TokenPair, fresh: &Fresh) -> MintedRefresh {
        let position = Position { end: newest.refresh_end(), number: grant.pairs_made };
        refresh::mint(position, &self.presented.family_id, fresh, &grant.family.tag_key)
    }

    /// Answers a use in grace with the newest pair, if that is exactly what this request would get now.
    fn newest_again(&self, grant: &Grant, newest: &Newest<'_>, asked: &Asked<'_>) -> Option<Issued> {
        let InGrace { secrets, refresh_token, .. } = newest.in_grace.as_ref()?;
        let access = &newest.pair.access;
        let Asked { scopes, target } = asked;
        let is_same = grant.scopes_of(access) == scopes
            && grant.audience_of(access) == target.audience()
            && access.key() == self.request.key;
        (is_same && access.is_usable(self.now)).then(|| Issued {
            grant: grant.id,
            access_token: secrets.access.clone(),
            refresh_token: refresh_token.clone(),
            expires_in: access.end.seconds_since(self.now),
            scopes: scopes.clone(),
            signed: Vec::new(),
        })
    }

    fn lifetime(&self, target: &Target<'_>) -> Duration {
        issue::lifetime_for(self.config, target, self.config.tokens.access_lifetime)
    }

    /// Refuses a further pair while [`PAIRS_IN_GRACE`] pairs have a token in grace, because such pairs stay in the
    /// record.
    fn check_room(&self, grant: &Grant) -> Result<(), Reason> {
        if grant.pairs.superseded.len() < PAIRS_IN_GRACE {
            return Ok(());
        }
        let ends = grant.pairs.superseded.iter().map(|superseded| superseded.pair.last_end());
        let in_grace = ends.filter(|end| self.now < *end);
        let (count, first_end) =
            in_grace.fold((0, Timestamp::from_seconds(u32::MAX)), |(count, first), end| (count + 1, first.min(end)));
        if count >= PAIRS_IN_GRACE {
            return Err(Reason::TooManyInGrace { retry_after: first_end.seconds_since(self.now).max(1) });
        }
        // Retained pairs are limited too: without a grace, there are no others.
        let kept = self.kept(&grant.pairs.superseded);
        match kept.last().filter(|_| kept.len() >= PAIRS_KEPT) {
            Some(oldest) => {
                let spent = oldest.pair.last_end().plus(RETAINED);
                Err(Reason::TooManyInGrace { retry_after: spent.seconds_since(self.now).max(1) })
            }
            None => Ok(()),
        }
    }

    /// Returns the superseded pairs, without those at the old end that need not be retained.
    fn kept<'g>(&self, old: &'g [SupersededPair]) -> &'g [SupersededPair] {
        let is_spent = |old: &&SupersededPair| old.is_spent(self.now);
        let spent = old.iter().rev().take_while(is_spent).count();
        old.split_at(old.len() - spent).0
    }

    /// Puts a new pair in front of the newest.
    fn rotate(
        &self,
        grant: &Grant,
        newest: &Newest<'_>,
        asked: Asked<'_>,
        secrets: PairSecrets,
        link: Option<Link>,
    ) -> Result<(Arc<Grant>, Issued), Reason> {
        self.check_room(grant)?;
        let number = grant.pairs_made.checked_add(1).ok_or(Reason::GrantRevoked)?;
        let place = Place {
            grant: grant.id,
            client: self.request.client,
            family_id: &self.presented.family_id,
            tag_key: &grant.family.tag_key,
            number,
            now: self.now,
            lifetime: self.lifetime(&asked.target),
            created: grant.created,
            granted: &grant.terms.scopes,
            scopes: asked.scopes,
            audience: asked.target.reduced_from(&grant.terms.audience),
            key: self.request.key,
        };
        let NewPair { record, issued } = issue::pair(self.config, secrets, place);
        let ends = GraceEnds {
            access: self.now.plus(self.config.refresh.access_token_grace),
            refresh: self.now.plus(self.config.refresh.grace),
        };
        let replaced = SupersededPair::new(newest.pair.clone(), self.now, ends, link);
        let cuts = newest.in_grace.is_none() && self.config.refresh.grace_end == GraceEnd::NextRefresh;
        let superseded = self.aged(&grant.pairs.superseded, replaced, ends, cuts);
        let pairs = Pairs { newest: Some(record), superseded };
        let bound_from = issue::bound_from(grant.bound_from, self.request.key, number);
        let next = grant.with_pairs(pairs).written_under(self.config.revision);
        Ok((Arc::new(Grant { pairs_made: number, bound_from, ..next }), issued))
    }

    /// Returns the superseded pairs with one more in front. Pairs are removed only from the old end, so that no link is
    /// missing between those that stay.
    ///
    /// Their block has exactly their size. One that is shrunk leaves a fragment at each refresh, and the allocator then
    /// takes a fifth of the operation.
    fn aged(
        &self,
        old: &[SupersededPair],
        replaced: SupersededPair,
        ends: GraceEnds,
        cuts: bool,
    ) -> Box<[SupersededPair]> {
        let kept = self.kept(old);
        let mut aged = Vec::with_capacity(kept.len() + 1);
        aged.push(replaced);
        aged.extend(kept.iter().map(|old| {
            let mut old = old.clone();
            // In the strict profile, a refresh with the newest token ends the grace of the pairs before it.
            if cuts {
                old.pair.end_refresh(self.now);
            }
            // A clock that was ahead set this grace. No grace may be longer than one that begins now.
            if !old.since.has_come(self.now) {
                old.pair.shorten(ends);
            }
            old
        }));
        aged.into()
    }

    /// Issues one more access token beside the newest pair. The refresh token of the pair stays as it is. A use in
    /// grace never ends the pair's own access token: other uses in grace return it.
    fn keep(
        &self,
        grant: &Grant,
        newest: Newest<'_>,
        asked: Asked<'_>,
        access_token: MintedOpaque,
    ) -> (Arc<Grant>, Issued) {
        let Asked { scopes, target } = asked;
        let own = if newest.in_grace.is_some() { OwnAccess::Spared } else { OwnAccess::Counted };
        let refresh_token = match newest.in_grace {
            Some(in_grace) => in_grace.refresh_token,
            None => Some(self.refresh_token(grant, newest.pair, &newest.fresh)),
        };
        let end = issue::access_end(self.config, grant.created, self.now, self.lifetime(&target));
        let restrictions = Restrictions {
            revoked: false,
            scopes: (scopes != grant.terms.scopes).then(|| scopes.clone()),
            audience: target.reduced_from(&grant.terms.audience),
            key: self.request.key.copied(),
        };
        let access = AccessRecord::new(access_token.digest, self.now, end, restrictions);
        let pair = newest.pair.clone().with_further(access, MAX_LIVE_ACCESS_TOKENS, own);
        let pairs = Pairs { newest: Some(pair), superseded: grant.pairs.superseded.clone() };
        let bound_from = match own {
            OwnAccess::Counted => issue::bound_from(grant.bound_from, self.request.key, grant.pairs_made),
            // A token in grace binds nothing.
            OwnAccess::Spared => grant.bound_from,
        };
        let issued = Issued {
            grant: grant.id,
            access_token,
            refresh_token,
            expires_in: end.seconds_since(self.now),
            scopes,
            signed: Vec::new(),
        };
        let next = grant.with_pairs(pairs).written_under(self.config.revision);
        (Arc::new(Grant { bound_from, ..next }), issued)
    }
}
