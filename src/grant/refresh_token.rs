//! Gives the next pair for a refresh token [RFC 6749 section 6], with grace for the old one.
//!
//! The claim is one compare-and-swap of the grant. Losing it means that somebody else rotated: the
//! record is read and judged again, now perhaps in grace.

use std::sync::Arc;

use crate::client::Client;
use crate::clock::Timestamp;
use crate::config::{Config, GraceEnd, ReuseResponse};
use crate::context::Context;
use crate::error::Reason;
use crate::grant::confirm;
use crate::grant::issue::{self, Drawn, Issued, NewPair, Place, TokenAnswer};
use crate::grant::withdraw;
use crate::hooks::Event;
use crate::scope::ScopeSet;
use crate::secret::Digest;
use crate::secret::refresh::PresentedRefresh;
use crate::store::Replacement;
use crate::store::record::{Grant, RevocationReason, TokenPair};

/// Claims that one refresh may lose before it gives up.
const CLAIMS: usize = 128;
/// Pairs of a grant that are not superseded; one more supersedes the oldest.
pub(crate) const LIVE_PAIRS: usize = 128;
/// Pairs in grace that a first refresh may find.
const PAIRS_IN_GRACE: usize = 256;
/// Pairs in grace that a use in grace may find: the bound of the record.
pub(crate) const PAIRS_IN_GRACE_AT_MOST: usize = 1024;

/// What a client presents.
pub(crate) struct Refresh<'a> {
    pub(crate) client: &'a Client,
    pub(crate) token: &'a [u8],
    pub(crate) scope: Option<&'a [u8]>,
}

/// Gives the next pair, or a sibling in grace.
pub(crate) async fn refresh(context: &Context, request: &Refresh<'_>) -> Result<Issued, Reason> {
    let config = &context.config;
    let presented =
        PresentedRefresh::parse(&config.prefixes.refresh_token, request.token).ok_or(Reason::UnknownRefreshToken)?;
    let judge = Judge { request, presented: &presented, config, now: context.now() };
    let drawn = Drawn::new(presented.grant, &*context.entropy);
    let is_own = |grant: &Grant| grant.pairs.with_access(&drawn.access_token.digest).is_some();
    let mut claimed: Option<Claim> = None;
    for _ in 0..CLAIMS {
        let found = context.stores.tokens.find(&presented.grant).await?.ok_or(Reason::UnknownRefreshToken)?;
        if let Some(claim) = claimed.take() {
            if is_own(&found) {
                if confirm::grant(context, found.id, is_own).await? {
                    return Ok(drawn.issued(won(context, &found, claim)));
                }
                continue;
            }
        } else {
            // The subject is asked once, and only for a token that would be honoured.
            if let Ok(Standing::Usable(_)) = judge.standing(&found) {
                context.check_subject(&found.subject, request.client).await?;
            }
        }
        let claim = match judge.verdict(&found, &drawn) {
            Ok(claim) => claim,
            Err(reason) => return Err(refused(context, &found, request.client, reason).await?),
        };
        match context.stores.tokens.replace(found.version, claim.next.clone()).await {
            Ok(Replacement::Replaced) => return Ok(drawn.issued(won(context, &found, claim))),
            Ok(Replacement::Lost) => claimed = Some(claim),
            Err(error) => {
                let applied = confirm::grant(context, found.id, is_own).await?;
                return if applied { Ok(drawn.issued(won(context, &found, claim))) } else { Err(error.into()) };
            }
        }
    }
    Err(Reason::Contended)
}

/// What a refresh would write, and what it would tell.
struct Claim {
    next: Arc<Grant>,
    answer: TokenAnswer,
    /// Seconds since the token was superseded, for a use in grace.
    in_grace_since: Option<u32>,
    superseded_oldest: bool,
}

/// Where a genuine refresh token of a live grant stands.
enum Standing<'a> {
    Usable(&'a TokenPair),
    Reused,
}

/// The rules, over plain data.
struct Judge<'a> {
    request: &'a Refresh<'a>,
    presented: &'a PresentedRefresh,
    config: &'a Config,
    now: Timestamp,
}

impl Judge<'_> {
    /// Tells what the token is, in the order in which a wrong party learns least.
    fn standing<'g>(&self, grant: &'g Grant) -> Result<Standing<'g>, Reason> {
        // § 6: bound to the client it was issued to; a stranger changes nothing.
        if grant.client != self.request.client.id {
            return Err(Reason::RefreshTokenOfAnotherClient);
        }
        if grant.revoked.is_some() || grant.epoch != self.request.client.epoch {
            return Err(Reason::GrantRevoked);
        }
        let margin_end = match grant.pairs.with_refresh(&self.presented.digest) {
            Some(pair) if pair.refresh_is_live(self.now) => return Ok(Standing::Usable(pair)),
            Some(pair) => pair.refresh_end().plus(self.config.reuse_margin),
            // A pair leaves the record only when its margin is over.
            None => self.now,
        };
        if grant.lineage != self.presented.lineage.digest() {
            return Err(Reason::UnknownRefreshToken);
        }
        if self.now >= self.presented.end {
            return Err(Reason::RefreshTokenExpired);
        }
        if self.now < margin_end {
            return Err(Reason::RefreshTokenSuperseded);
        }
        if self.presented.number > grant.pairs_made {
            return Err(Reason::StoreWentBack);
        }
        Ok(Standing::Reused)
    }

    /// The whole verdict: what to write, or why not.
    fn verdict(&self, grant: &Grant, drawn: &Drawn) -> Result<Claim, Reason> {
        match self.standing(grant)? {
            Standing::Reused => Err(Reason::RefreshTokenReused),
            Standing::Usable(pair) => {
                let available = self.request.client.still_granted(&grant.scopes, &grant.resource_scope);
                let available = available.filter(|_| !grant.is_worn_out()).ok_or(Reason::GrantRevoked)?;
                let scopes = self.asked(available.scopes)?;
                self.check_room(grant, pair)?;
                Ok(self.rotate(grant, pair, scopes, drawn))
            }
        }
    }

    /// § 6: the scope must not include what was not granted; absent, it is all that was.
    fn asked(&self, available: ScopeSet) -> Result<ScopeSet, Reason> {
        let Some(scope) = self.request.scope else { return Ok(available) };
        let asked = self.config.scopes.parse(scope).map_err(Reason::Scope)?;
        if asked.is_subset_of(&available) { Ok(asked) } else { Err(Reason::ExcessScope) }
    }

    /// Keeps the record small: a first refresh waits while too many pairs are in grace.
    fn check_room(&self, grant: &Grant, pair: &TokenPair) -> Result<(), Reason> {
        let room = if pair.superseded().is_none() { PAIRS_IN_GRACE } else { PAIRS_IN_GRACE_AT_MOST };
        if grant.pairs.len() <= room {
            return Ok(());
        }
        // As long as one of its tokens is in grace, the record holds the pair.
        let ends = grant.pairs.iter().filter(|pair| pair.superseded().is_some()).map(TokenPair::last_end);
        let in_grace = ends.filter(|end| self.now < *end);
        let (count, first_end) =
            in_grace.fold((0, Timestamp::from_seconds(u32::MAX)), |(count, first), end| (count + 1, first.min(end)));
        if count < room {
            return Ok(());
        }
        Err(Reason::TooManyInGrace { retry_after: first_end.seconds_since(self.now).max(1) })
    }

    fn rotate(&self, grant: &Grant, used: &TokenPair, scopes: ScopeSet, drawn: &Drawn) -> Claim {
        let number = grant.pairs_made.saturating_add(1);
        let place = Place {
            client: self.request.client,
            lineage: &self.presented.lineage,
            number,
            now: self.now,
            created: grant.created,
            granted: &grant.scopes,
            scopes,
        };
        let NewPair { record, answer } = issue::pair(self.config, drawn, place);
        let oldest = used.superseded().and_then(|_| self.one_too_many(grant));
        let pairs = grant.pairs.succeeded_by(record, |pair| self.aged(pair, used, oldest));
        let in_grace_since = used.superseded().map(|since| self.now.seconds_since(since));
        let superseded_oldest = oldest.is_some();
        let next = Arc::new(grant.refreshed_with(pairs, number, &self.request.client.scopes));
        Claim { next, answer, in_grace_since, superseded_oldest }
    }

    /// What becomes of a pair when the next one is made; nothing if it has told all it could.
    fn aged(&self, pair: &TokenPair, used: &TokenPair, oldest: Option<Digest>) -> Option<TokenPair> {
        let mut pair = pair.clone();
        let ends_graces = used.superseded().is_none() && self.config.grace.end == GraceEnd::WithNextRefresh;
        if pair.superseded().is_none() {
            if pair.access == used.access || Some(pair.access) == oldest {
                self.supersede(&mut pair);
            }
        } else if ends_graces {
            // In the strict profile the first refresh with any pair ends the grace of those before it.
            pair.end_refresh(self.now);
        }
        (!pair.is_spent(self.now, self.config.reuse_margin)).then_some(pair)
    }

    /// Gives both tokens of a pair their grace, once; it never lengthens a life.
    fn supersede(&self, pair: &mut TokenPair) {
        let grace = self.config.refresh_token_grace(self.request.client);
        pair.supersede(self.now, self.now.plus(self.config.grace.access_token), self.now.plus(grace));
    }

    /// The oldest live pair, by its access token, where a sibling would be one too many.
    fn one_too_many(&self, grant: &Grant) -> Option<Digest> {
        let is_live = |pair: &&TokenPair| pair.superseded().is_none() && pair.refresh_is_live(self.now);
        if grant.pairs.iter().filter(is_live).count() < LIVE_PAIRS {
            return None;
        }
        grant.pairs.iter().rev().find(is_live).map(|pair| pair.access)
    }
}

/// Raises the events of a claim that was won.
fn won(context: &Context, before: &Grant, claim: Claim) -> TokenAnswer {
    let Grant { id, client, subject, .. } = before;
    match claim.in_grace_since {
        None => context.raise(&Event::Refreshed { grant: *id, client, subject }),
        Some(age) => context.raise(&Event::RefreshedInGrace { grant: *id, client, subject, age }),
    }
    if claim.superseded_oldest {
        context.raise(&Event::OldestPairSuperseded { grant: *id, client });
    }
    claim.answer
}

/// Does what a refusal leads to; only a positive match takes anything from anybody.
async fn refused(context: &Context, grant: &Grant, client: &Client, reason: Reason) -> Result<Reason, Reason> {
    let Grant { id, client: client_id, subject, .. } = grant;
    if matches!(reason, Reason::StoreWentBack) {
        context.raise(&Event::StoreWentBack { grant: *id, client: client_id });
    }
    if !matches!(reason, Reason::RefreshTokenReused) {
        return Ok(reason);
    }
    let revokes = match context.config.reuse {
        ReuseResponse::RevokeGrant => true,
        ReuseResponse::RevokeGrantOfPublicClients => client.counts_as_public(),
        ReuseResponse::Refuse => false,
    };
    let mut revoked = false;
    if revokes {
        let outcome = withdraw::revoke(context, *id, RevocationReason::RefreshTokenReused).await?;
        revoked = outcome == withdraw::Outcome::Revoked;
        if !revoked {
            return Ok(Reason::GrantRevoked);
        }
    }
    context.raise(&Event::RefreshTokenReused { grant: *id, client: client_id, subject, revoked });
    Ok(reason)
}

/// How a presented refresh token stands at revocation, where nothing is claimed.
pub(crate) enum AtRevocation {
    Live,
    Superseded,
    /// With its grant.
    Revoked,
    Dead,
}

/// Tells how a refresh token stands for the revocation endpoint, whoever presents it [RFC 7009].
pub(crate) fn at_revocation(grant: &Grant, epoch: u32, presented: &PresentedRefresh, now: Timestamp) -> AtRevocation {
    let pair = grant.pairs.with_refresh(&presented.digest);
    let is_genuine = pair.is_some() || grant.lineage == presented.lineage.digest();
    if grant.revoked.is_some() && is_genuine {
        return AtRevocation::Revoked;
    }
    if grant.revoked.is_some() || grant.epoch != epoch {
        return AtRevocation::Dead;
    }
    match pair {
        Some(pair) if pair.refresh_is_live(now) => AtRevocation::Live,
        // Expired by itself, in the record or out of it.
        _ if now >= presented.end => AtRevocation::Dead,
        Some(_) => AtRevocation::Superseded,
        None if is_genuine => AtRevocation::Superseded,
        None => AtRevocation::Dead,
    }
}
