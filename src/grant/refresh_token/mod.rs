//! Issues the next pair for a refresh token [RFC 6749 section 6]; within its grace, returns the newest pair again.
//!
//! The claim is one compare-and-swap of the grant. Losing it means that another request rotated first: the
//! record is read and judged again, and the token is now in its grace.

mod judge;
pub(crate) mod state;
#[cfg(test)]
mod tests;

#[cfg(feature = "testing")]
#[cfg(test)]
pub(crate) use judge::PAIRS_IN_GRACE;

use std::sync::Arc;

use crate::claim::{ATTEMPTS, After, Claim, Effect, Seen, claim};
use crate::context::Context;
use crate::error::Reason;
use crate::grant::issue::Issued;
use crate::grant::jwt::Signed;
use crate::grant::refresh_token::judge::{Drawn, Judge, Verdict};
use crate::grant::refresh_token::state::was_bound;
use crate::grant::request::TokenRequest;
use crate::grant::{id_token, jwt, revocation};
use crate::hooks::Event;
use crate::model::{Grant, RevocationReason};
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
    let signed = [(); 2].map(|()| Signed::at_most(ATTEMPTS.get()));
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
        (Err(reason), Some(grant), _) => {
            let reason = reason.or_newer_settings(config, &grant.terms);
            Err(refused(context, grant, request, judge.presented, reason).await?)
        }
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
    /// The access token and the ID token.
    signed: [Signed; 2],
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
            Some((issued, _)) => {
                let [access_token, id_token] = &mut self.signed;
                let signs_access_token = jwt::sign(context, row, request.client, issued, access_token).await?;
                let has_id_token = context.config.identity.as_ref().is_some_and(|own| own.id_token_on_refresh);
                let signs_id_token =
                    has_id_token && id_token::sign(context, row, request.client, issued, None, id_token).await?;
                signs_access_token || signs_id_token
            }
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
