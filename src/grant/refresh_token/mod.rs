//! Issues the next pair for a refresh token [RFC 6749 section 6]; within its grace, returns the newest pair again.
//!
//! The claim is one compare-and-swap of the grant. Losing it means that another request rotated first: the
//! record is read and judged again, and the token is now in its grace.
//!
//! Classifies a refresh token by its grant's record.

mod judge;
#[cfg(test)]
mod tests;

#[cfg(feature = "testing")]
#[cfg(test)]
pub(crate) use judge::PAIRS_IN_GRACE;

use std::sync::Arc;
use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::claim::{ATTEMPTS, After, Claim, Effect, Seen, claim};
use crate::context::Context;
use crate::error::Reason;
use crate::grant::issue::Issued;
use crate::grant::jwt::Signed;
use crate::grant::refresh_token::judge::{Drawn, Judge, Verdict};
use crate::grant::request::TokenRequest;
use crate::grant::{jwt, revocation};
use crate::hooks::Event;
use crate::model::{Grant, Placed, RevocationReason};
use crate::secret::Digest;
use crate::secret::refresh::PresentedRefresh;

/// Returns the next pair, or the newest one again.
pub(crate) async fn refresh(context: &Context, request: &TokenRequest<'_>) -> Result<Issued, Reason> {
    let token = request.required("refresh_token")?;
    let presented =
        PresentedRefresh::parse(&context.prefixes.refresh_token, token).ok_or(Reason::UnknownRefreshToken)?;
    refresh_with(context, request, &presented).await
}

/// The same for what was read already. A device code is presented like a superseded refresh token.
pub(crate) async fn refresh_with(
    context: &Context,
    request: &TokenRequest<'_>,
    presented: &PresentedRefresh,
) -> Result<Issued, Reason> {
    let config = &context.config;
    let drawn = Drawn::new(request.client, config, &*context.entropy);
    let resources = &context.resources;
    let judge = Judge { request, presented, config, resources, now: context.now(), drawn };
    let subject_asked = context.subjects.is_none();
    let signed = Signed::at_most(ATTEMPTS.get());
    let mut refreshing = Refreshing { context, judge, subject_asked, found: None, answer: None, signed };
    let won = claim(context, &mut refreshing, Some(ATTEMPTS)).await;
    let Refreshing { judge, found, answer, .. } = refreshing;
    match (won, &found, answer) {
        (Ok(()), Some(grant), Some((issued, superseded_for))) => {
            let (grant, client, subject) = (grant.id, &grant.client, grant.subject());
            match superseded_for {
                None => context.raise(&Event::Refreshed { grant, client, subject }),
                Some(age) => context.raise(&Event::RefreshedInGrace { grant, client, subject, age }),
            }
            Ok(issued)
        }
        (Err(reason), Some(grant), _) => Err(refused(context, grant, request, judge.presented, reason).await?),
        (Err(reason), None, _) => Err(reason),
        // Never reached: a claim is won only after a grant was found and judged.
        (Ok(()), _, _) => Err(Reason::UnknownRefreshToken),
    }
}

struct Refreshing<'a> {
    context: &'a Context,
    judge: Judge<'a>,
    subject_asked: bool,
    found: Option<Arc<Grant>>,
    /// The answer of the last judgement, and the seconds since the token was superseded. It is kept here because a
    /// claim moves its `Won` at each step.
    answer: Option<(Issued, Option<u32>)>,
    signed: Signed,
}

impl Claim for Refreshing<'_> {
    type Row = Grant;
    type Won = ();
    type Error = Reason;

    async fn read(&mut self) -> Result<Seen<Grant>, Reason> {
        self.found = self.context.stores.tokens.find(&self.judge.presented.grant).await?;
        let client = self.judge.request.client;
        if let Some(found) = &self.found
            && !self.subject_asked
            && self.judge.usable(found).is_ok()
        {
            // The subject hook is asked once, and only for a token that would be accepted.
            self.subject_asked = true;
            self.context.check_subject(found.subject(), client).await?;
        }
        Ok(self.found.clone().into())
    }

    fn judge(&mut self, seen: &Seen<Grant>) -> Result<Effect<Grant, ()>, Reason> {
        let Seen::Found(found) = seen else { return Err(Reason::UnknownRefreshToken) };
        let Verdict { next, issued, superseded_for } = self.judge.verdict(found)?;
        self.answer = Some((issued, superseded_for));
        Ok(match next {
            Some(next) => Effect::Replace(next, ()),
            None => Effect::Confirm(()),
        })
    }

    async fn prepare(&mut self, row: &Grant, (): &mut ()) -> Result<bool, Reason> {
        let (context, request) = (self.context, self.judge.request);
        let has_signed = match &mut self.answer {
            Some((issued, _)) => jwt::sign(context, row, request.client, issued, &mut self.signed).await?,
            None => false,
        };
        request.record_uses(context).await?;
        Ok(has_signed)
    }

    fn is_done(&self, found: &Grant, meant: &Grant, _: After) -> bool {
        youngest_access(meant).is_some_and(|own| found.pairs.with_access(own).is_some())
    }
}

/// The access token that was issued last.
fn youngest_access(grant: &Grant) -> Option<&Digest> {
    grant.pairs.newest.as_ref()?.accesses().last().map(|access| &access.digest)
}

/// Raises the event of a refusal, and revokes the grant if the token was reused.
async fn refused(
    context: &Context,
    grant: &Grant,
    request: &TokenRequest<'_>,
    presented: &PresentedRefresh,
    reason: Reason,
) -> Result<Reason, Reason> {
    let (id, client_id, subject) = (grant.id, &grant.client, grant.subject());
    if matches!(reason, Reason::StoreWentBack) {
        context.raise(&Event::StoreWentBack { grant: id, client: client_id });
    }
    // The token itself was never bound: another party has bound the grant to a key since.
    let is_left_behind = matches!(reason, Reason::MissingDpopProof) && !was_bound(grant, presented);
    if is_left_behind || matches!(reason, Reason::AnotherDpopKey) {
        context.raise(&Event::AnotherDpopKey { grant: id, client: client_id, subject });
    }
    if matches!(reason, Reason::MissingDerivationKey) {
        context.raise(&Event::DerivationKeyMissing { grant: id, client: client_id });
    }
    if !matches!(reason, Reason::RefreshTokenReused) {
        return Ok(reason);
    }
    request.record_uses(context).await?;
    if revocation::revoke(context, id, RevocationReason::RefreshTokenReused).await? != revocation::Outcome::Revoked {
        return Ok(Reason::GrantRevoked);
    }
    context.raise(&Event::RefreshTokenReused { grant: id, client: client_id, subject });
    Ok(reason)
}

/// The state of a refresh token of a live grant.
#[derive(Debug)]
pub(crate) enum TokenState<'a> {
    /// Family id or tag is wrong: the grant did not make it.
    Unknown,
    /// Current, or in its grace.
    Usable(Placed<'a>),
    /// Current, or in its grace, but issued in the future: the clock of its server is or was ahead.
    NotYetValid { issued: Timestamp },
    /// Past its expiry.
    Expired,
    /// Superseded, and past its grace.
    Superseded,
    /// Its number is above the grant's count.
    AboveCount,
    /// Its number is that of another token in the record.
    Forked,
}

/// Returns the state of a token, regardless of the client that presents it.
pub(crate) fn state_of<'g>(grant: &'g Grant, presented: &PresentedRefresh, now: Timestamp) -> TokenState<'g> {
    let placed = grant.pairs.with_refresh(&presented.digest);
    // The digest covers the family id too, so only the tag is left to compare.
    let is_own =
        if placed.is_some() { presented.has_tag(&grant.family.tag_key) } else { presented.is_of(&grant.family) };
    if !is_own {
        return TokenState::Unknown;
    }
    if let Some(placed) = placed
        && placed.pair().refresh_is_live(now)
    {
        let issued = placed.pair().access.issued;
        return if issued.has_come(now) { TokenState::Usable(placed) } else { TokenState::NotYetValid { issued } };
    }
    if now >= presented.position.end {
        return TokenState::Expired;
    }
    superseded(grant, placed, presented)
}

/// Returns the state of a token that its client revokes. One that expired less than `leeway` ago counts as if it had
/// not: the clock of this server may be ahead, and the other servers still accept the token.
pub(crate) fn state_to_revoke<'g>(
    grant: &'g Grant,
    presented: &PresentedRefresh,
    now: Timestamp,
    leeway: Duration,
) -> TokenState<'g> {
    match state_of(grant, presented, now) {
        TokenState::Expired if now < presented.position.end.plus(leeway) => {
            match grant.pairs.with_refresh(&presented.digest) {
                Some(newest @ Placed::Newest(_)) => TokenState::Usable(newest),
                placed => superseded(grant, placed, presented),
            }
        }
        state => state,
    }
}

/// Returns the state of a genuine token that has not expired, and is neither current nor in its grace.
fn superseded<'g>(grant: &'g Grant, placed: Option<Placed<'g>>, presented: &PresentedRefresh) -> TokenState<'g> {
    if placed.is_some() {
        return TokenState::Superseded;
    }
    // The newest pair has the number `pairs_made`; older ones count down from it.
    match grant.pairs_made.checked_sub(presented.position.number) {
        None => TokenState::AboveCount,
        Some(place) if grant.pairs.iter().count() > usize::try_from(place).unwrap_or(usize::MAX) => TokenState::Forked,
        Some(_) => TokenState::Superseded,
    }
}

/// Returns whether the presented refresh token itself was bound to a key. The record shows this for every number.
pub(crate) fn was_bound(grant: &Grant, presented: &PresentedRefresh) -> bool {
    grant.bound_from.is_some_and(|first| first.get() <= presented.position.number)
}
