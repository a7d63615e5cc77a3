//! Takes the decision about a request that was held.

pub(crate) use crate::authorization::decision::{Basis, Submitted};
pub use crate::authorization::decision::{Consent, Decision};

use std::sync::Arc;

use crate::authorization::judge::{Asked, judge_asked, judge_client, judge_decision, judge_held};
use crate::authorization::pending::{Answer, AuthorizationError};
use crate::authorization::repeat::{respond, respond_again};
use crate::authorization::signed_in::DecidingUser;
use crate::authorization::{consent_requests, device_request, pushed_request};
use crate::base::clock::Timestamp;
use crate::base::id::{AuthorizationId, ClientId};
use crate::claim::{ATTEMPTS, After, Claim, Contended, Effect, Seen, claim_record};
use crate::context::Context;
use crate::error::Reason;
use crate::hooks::Event;
use crate::model::client::Client;
use crate::model::terms::Terms;
use crate::model::{Authorization, Destination, SAME_ANSWER, Stage, Visit};
use crate::registration::usage;
use crate::secret::{Digest, Presented};
use crate::store::StoreError;

/// Takes the decision of the user who was asked, at most once. The same decision, sent again, gets the same response.
pub(crate) async fn decide(
    context: &Arc<Context>,
    ticket: &str,
    user: DecidingUser<'_>,
    session: &[u8],
    decision: &Decision,
) -> Result<Answer, AuthorizationError> {
    let submitted = Submitted { ticket, session, decision, data: user.data, basis: Basis::Page };
    let found = find_asked(context, ticket, Asked { user, session }).await;
    let found = found.map_err(|reason| AuthorizationError::page(context, reason))?;
    let page = |reason| AuthorizationError::page_for(context, &found.client, reason);
    let is_again = match judge_held(&found, context.now()) {
        Ok(()) => false,
        Err(Reason::AlreadyDecided) if found.is_fresh_answer(&submitted.digest(), context.now()) => true,
        Err(Reason::AlreadyDecided) => return Err(answered_before(context, &found).await),
        Err(reason) => return Err(page(reason)),
    };
    let client = current_client(context, &found).await?;
    if is_again {
        return repeat(context, &found, &client, &submitted).await;
    }
    take_decision(context, &found, &client, &submitted).await
}

/// Returns the client of a request, if its users may still decide.
async fn current_client(context: &Context, held: &Authorization) -> Result<Arc<Client>, AuthorizationError> {
    let page = |reason| AuthorizationError::page_for(context, &held.client, reason);
    let client = context.current_client(&held.client).await.map_err(|error| page(error.into()))?;
    judge_client(client, held, &context.config).map_err(|reason| {
        match held.destination.browser().filter(|_| matches!(reason, Reason::MissingRedirectUri)) {
            Some(to) => {
                AuthorizationError::page_for_uri(context, &held.client, to.redirect_uri.as_str().as_bytes(), reason)
            }
            None => page(reason),
        }
    })
}

/// Responds to a decision that was sent before.
async fn repeat(
    context: &Context,
    answered: &Authorization,
    client: &Client,
    submitted: &Submitted<'_>,
) -> Result<Answer, AuthorizationError> {
    match respond_again(context, answered, client, submitted).await {
        Ok(answer) => Ok(answer),
        Err(reason) => Err(undecided(context, answered, client, reason).await),
    }
}

/// Responds to a decision without a page that was made before, by the consent request with that ticket.
pub(crate) async fn repeat_without_page(
    context: &Context,
    client: &ClientId,
    used_by: Digest,
    asked: Asked<'_>,
    submitted: &Submitted<'_>,
) -> Result<Answer, AuthorizationError> {
    let page = |reason| AuthorizationError::page_for(context, client, reason);
    let rows = consent_requests::latest(context, asked.user.subject).await.map_err(|error| page(error.into()))?;
    let found = rows.into_iter().find(|row| judge_asked(row, &used_by, &asked).is_ok());
    let found = found.ok_or_else(|| page(Reason::AlreadyDecided))?;
    let client = current_client(context, &found).await?;
    repeat(context, &found, &client, submitted).await
}

/// Takes a decision about a request that was held, for the client as it is now.
pub(crate) async fn take_decision(
    context: &Arc<Context>,
    held: &Arc<Authorization>,
    client: &Client,
    submitted: &Submitted<'_>,
) -> Result<Answer, AuthorizationError> {
    let taken = match judge_decision(held, client, submitted.decision, &context.config) {
        Ok(granted) => match context.check_subject(held.subject(), client).await {
            Ok(()) => approve(context, held, client, granted.with_data(submitted.data), submitted).await,
            Err(reason @ Reason::SubjectRefused) => Err(end(context, held, reason).await),
            Err(reason) => Err(reason),
        },
        Err(Reason::AccessDenied) => deny(context, held, client, submitted).await,
        Err(reason @ Reason::ExcessScope) => Err(end(context, held, reason).await),
        Err(Reason::MissingChallenge) => Err(Reason::MissingChallenge),
        Err(reason) => return Err(AuthorizationError::page_for(context, &client.id, reason)),
    };
    let taken = match taken {
        // Another answer to the same page came first.
        Err(Reason::AlreadyDecided) => respond_again(context, held, client, submitted).await,
        taken => taken,
    };
    match taken {
        Ok(answer) => Ok(answer),
        Err(reason) => Err(undecided(context, held, client, reason).await),
    }
}

/// Finds a request that awaits its user's decision.
pub(crate) async fn find_held(context: &Context, ticket: &str, asked: Asked<'_>) -> Result<Arc<Authorization>, Reason> {
    let found = find_asked(context, ticket, asked).await?;
    judge_held(&found, context.now())?;
    Ok(found)
}

/// The ticket, its user and its session must match. This also protects the form against requests forged by other sites
/// [RFC 6749 section 10.12].
async fn find_asked(context: &Context, ticket: &str, asked: Asked<'_>) -> Result<Arc<Authorization>, Reason> {
    let presented =
        Presented::parse(&context.prefixes.handle, ticket.as_bytes()).ok_or(Reason::UnknownConsentTicket)?;
    let id = AuthorizationId::from_bytes(presented.id);
    let found = context.stores.codes.find(&id).await?.ok_or(Reason::UnknownConsentTicket)?;
    judge_asked(&found, &presented.digest, &asked)?;
    Ok(found)
}

/// Issues the code with one compare-and-swap.
async fn approve(
    context: &Arc<Context>,
    held: &Arc<Authorization>,
    client: &Client,
    granted: Terms,
    submitted: &Submitted<'_>,
) -> Result<Answer, Reason> {
    let (answer, now) = (submitted.given(&*context.entropy), context.now());
    let (minted, code, end) = match &held.destination {
        Destination::Browser(_) => {
            let minted = submitted.code(&answer.seed);
            let digest = minted.digest;
            (Some(minted), digest, now.plus(context.config.authorization.code_lifetime))
        }
        // It has its code already.
        Destination::Device(device) => (None, device.secret, device.end),
    };
    let next = Authorization { epoch: client.epoch, terms: granted, ..held.with_code(code, answer, now, end) };
    note_approval(context, held, client, end).await?;
    let approved = take(context, held, next, submitted.basis).await?;
    let (grant, client_id, subject, scopes) =
        (approved.id.into(), &approved.client, approved.subject(), &approved.terms.scopes);
    context.raise(&match approved.destination {
        Destination::Browser(_) => {
            let asked = submitted.basis == Basis::Page;
            Event::CodeIssued { grant, client: client_id, subject, scopes, asked }
        }
        Destination::Device(_) => Event::DeviceApproved { grant, client: client_id, subject, scopes },
    });
    Ok(respond(context, &approved, client, submitted, minted))
}

/// Keeps a client that registered itself for as long as the tokens for this code may be valid. This is written before
/// the code, so a client with a grant is never removed as unused.
async fn note_approval(
    context: &Arc<Context>,
    held: &Authorization,
    client: &Client,
    code_end: Timestamp,
) -> Result<(), Reason> {
    let Some(subject) = held.subject() else { return Ok(()) };
    let tokens = &context.config.tokens;
    let until = code_end.plus(tokens.refresh_lifetime.max(tokens.access_lifetime));
    Ok(usage::note_approval(context, client, subject, until).await?)
}

/// § 4.1.2.1: the client learns that the user refused.
async fn deny(
    context: &Context,
    held: &Arc<Authorization>,
    client: &Client,
    submitted: &Submitted<'_>,
) -> Result<Answer, Reason> {
    let next = held.denied_by_user(submitted.given(&*context.entropy), context.now());
    let denied = take(context, held, next, submitted.basis).await?;
    context.raise(&Event::Denied { client: &held.client, subject: held.subject() });
    Ok(respond(context, &denied, client, submitted, None))
}

/// Ends a request that can have no code. The user did not refuse, so no event is raised.
async fn end(context: &Context, held: &Arc<Authorization>, reason: Reason) -> Reason {
    take(context, held, held.denied(), Basis::Page).await.err().unwrap_or(reason)
}

/// Reports to the client why the decision was not taken, unless another decision was.
async fn undecided(context: &Context, held: &Authorization, client: &Client, reason: Reason) -> AuthorizationError {
    if matches!(reason, Reason::AlreadyDecided) {
        return answered_before(context, held).await;
    }
    // `UnknownClient`: the client was removed meanwhile.
    let is_without_redirect = matches!(reason, Reason::UnknownClient | Reason::UnknownConsentTicket);
    if is_without_redirect {
        return AuthorizationError::page_for(context, &client.id, reason);
    }
    AuthorizationError::answer(context, client, &held.destination, reason)
}

/// Says what was decided before, and names a client that a person has reviewed. The page is the same without what
/// cannot be read.
async fn answered_before(context: &Context, asked: &Authorization) -> AuthorizationError {
    let found = context.stores.codes.find(&asked.id).await.ok().flatten();
    let client = context.current_client(&asked.client).await.ok().flatten();
    let found = found.filter(|found| found.ticket == asked.ticket);
    AuthorizationError::answered(context, &asked.client, client, found.as_deref())
}

/// Uses up the pushed request or the device's, if there is one, then writes the decision with one compare-and-swap of
/// the request that was judged. If the second write fails, only this consent request can still be decided.
async fn take(
    context: &Context,
    held: &Arc<Authorization>,
    next: Authorization,
    basis: Basis,
) -> Result<Arc<Authorization>, Reason> {
    if let Some(from) = &held.pushed {
        let again = Visit { session: held.session, until: next.since.plus(SAME_ANSWER), holder: None };
        pushed_request::use_up(context, from, held.ticket, (basis == Basis::NoPage).then_some(again)).await?;
    }
    if let Destination::Device(device) = &held.destination {
        let is_denied = next.stage == Stage::Denied;
        let decision = if is_denied { device_request::Decision::Deny } else { device_request::Decision::Approve };
        device_request::decide(context, device, held, decision).await?;
    }
    let mut deciding = Deciding { context, held: held.clone(), next: Some(Arc::new(next)), has_read: false };
    let ((), taken) = claim_record(context, &mut deciding, Some(ATTEMPTS)).await?;
    taken.ok_or(Reason::AlreadyDecided)
}

struct Deciding<'a> {
    context: &'a Context,
    held: Arc<Authorization>,
    /// Moved into the first attempt, not cloned, so that its version can be set without a copy. Unset after that.
    next: Option<Arc<Authorization>>,
    has_read: bool,
}

impl Claim for Deciding<'_> {
    type Row = Authorization;
    type Won = ();
    type Error = Reason;

    async fn read(&mut self) -> Result<Seen<Authorization>, Reason> {
        if !std::mem::replace(&mut self.has_read, true) {
            return Ok(Seen::Found(self.held.clone()));
        }
        Ok(self.context.stores.codes.find(&self.held.id).await?.into())
    }

    fn judge(&mut self, seen: &Seen<Authorization>) -> Result<Effect<Authorization, ()>, Reason> {
        match seen {
            Seen::Found(found) if found.version == self.held.version => {
                // If it is unset, the first attempt lost although the row is unchanged: the store may have failed.
                let next = self.next.take().ok_or_else(|| StoreError::transient(Contended))?;
                Ok(Effect::Replace(next, ()))
            }
            Seen::Found(_) | Seen::Missing | Seen::Unread => Err(Reason::AlreadyDecided),
        }
    }

    /// The bytes that were drawn show which answer was written.
    fn is_done(&self, found: &Authorization, meant: &Authorization, _: After) -> bool {
        let seed = |own: &Authorization| own.answer.as_deref().map(|answer| answer.seed);
        found.stage == meant.stage && found.ticket == meant.ticket && seed(found) == seed(meant)
    }
}
