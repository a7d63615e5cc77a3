//! Holds a request while its consent page is shown, and takes the decision.

pub(crate) use crate::authorization::decision::{Basis, Submitted};
pub use crate::authorization::decision::{Consent, Decision};

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use crate::authorization::consent_requests::Room;
use crate::authorization::identity_request::IdentityRequest;
use crate::authorization::judge::{Asked, judge_asked, judge_client, judge_decision, judge_held};
use crate::authorization::pending::{Answer, AuthorizationError, PendingAuthorization};
use crate::authorization::repeat::{respond, respond_again};
use crate::authorization::signed_in::DecidingUser;
use crate::authorization::{consent_requests, device_request, document_client, pushed_request};
use crate::base::clock::Timestamp;
use crate::base::id::{AuthorizationId, ClientId, IdText};
use crate::claim::{ATTEMPTS, After, Claim, Contended, Effect, Seen, claim_record, draw_version};
use crate::config::DeviceSettings;
use crate::context::Context;
use crate::error::Reason;
use crate::grant::revocation;
use crate::hooks::{Attempt, AttemptKind, Event};
use crate::jose::access_jwt::CLIENT_SUBJECT;
use crate::model::client::{AskConsent, Client};
use crate::model::redirect_uri::RedirectUri;
use crate::model::terms::{RememberedConsent, Terms};
use crate::model::{Authorization, Destination, SAME_ANSWER, Stage, Visit};
use crate::registration::usage;
use crate::secret::{ConsentTicket, Digest, MintedOpaque, Presented};
use crate::store::StoreError;
use crate::wire::Endpoint;

/// Stores the request for this user and session and returns the ticket for the form.
pub(crate) async fn hold(
    context: &Arc<Context>,
    pending: &PendingAuthorization,
    asked: Asked<'_>,
) -> Result<ConsentTicket, AuthorizationError> {
    check_held(pending, asked.user, context.now()).map_err(|reason| pending.redirect(context, reason))?;
    admit(context, pending, asked).await?;
    let client = &pending.client;
    let room = consent_requests::find_room(context, asked.user.subject, &client.id).await;
    let room = room.map_err(|error| pending.redirect(context, error.into()))?;
    // The client of the request may come from a cache. No user is asked about a client that has been suspended or
    // deleted.
    let current = context.stores.clients.current_client(&client.id).await;
    let current = current.map_err(|error| AuthorizationError::page_for(context, &client.id, error.into()))?;
    let remember = |uri: &RedirectUri| RememberedConsent { asked: context.now(), terms: client.consent_terms(uri) };
    let remembered = match pending.ask_consent {
        // What the page shows is remembered, and not what is registered at the decision.
        AskConsent::Once => pending.redirect_uri().map(remember),
        AskConsent::Always | AskConsent::Never => None,
    };
    Ok(store_request(context, pending, asked, current, room, remembered).await?.ticket)
}

/// Checks again, before a consent page, that the user has signed in as the request demands, and that it permits a page.
fn check_held(pending: &PendingAuthorization, user: DecidingUser<'_>, now: Timestamp) -> Result<(), Reason> {
    match IdentityRequest::is_met_by(pending.identity.as_deref(), user, now) {
        Ok(true) if pending.is_silent() => Err(Reason::ConsentRequired),
        Ok(true) => Ok(()),
        Ok(false) | Err(_) => Err(Reason::LoginRequired),
    }
}

/// Checks that the request may be held, and stores what a metadata document says of its client, even if that must await
/// review.
pub(crate) async fn admit(
    context: &Arc<Context>,
    pending: &PendingAuthorization,
    asked: Asked<'_>,
) -> Result<(), AuthorizationError> {
    let client = &pending.client;
    let page = |reason| AuthorizationError::page_for(context, &client.id, reason);
    check_user(context, asked).map_err(page)?;
    let attempt = Attempt {
        client: Some(client.id.as_str()),
        subject: Some(asked.user.subject),
        peer: pending.peer,
        ..Attempt::new(AttemptKind::ConsentRequest, Endpoint::Authorization)
    };
    context.check_throttle(&attempt).await.map_err(page)?;
    let redirect = |reason| pending.redirect(context, reason);
    if let Some(admission) = &pending.document {
        document_client::store(context, client, admission).await.map_err(page)?;
    }
    if pending.has_dropped_scopes && is_step_up_in_vain(context, pending, asked).await.map_err(redirect)? {
        return Err(redirect(Reason::ExcessScope));
    }
    Ok(())
}

/// Checks that a request can be held for this user and session.
pub(crate) fn check_user(context: &Context, asked: Asked<'_>) -> Result<(), Reason> {
    if asked.session.is_empty() {
        return Err(Reason::MissingSession);
    }
    if asked.user.sign_in.is_some_and(|sign_in| !sign_in.time().has_come(context.now())) {
        return Err(Reason::SignInInTheFuture);
    }
    let is_reserved = context.config.issues_jwts() && asked.user.subject.as_str().starts_with(CLIENT_SUBJECT);
    if is_reserved { Err(Reason::ReservedSubject) } else { Ok(()) }
}

/// A request that was held, the client as it was read for it, and the ticket for the form.
pub(crate) struct Held {
    pub(crate) record: Arc<Authorization>,
    pub(crate) client: Arc<Client>,
    pub(crate) ticket: ConsentTicket,
}

/// Stores a request that was admitted, for the client as it is now, with the consent that an approval remembers, if
/// any.
pub(crate) async fn store_request(
    context: &Arc<Context>,
    pending: &PendingAuthorization,
    asked: Asked<'_>,
    current: Option<Arc<Client>>,
    room: Room,
    remembered: Option<RememberedConsent>,
) -> Result<Held, AuthorizationError> {
    let (client, Asked { user, session }) = (&pending.client, asked);
    let subject = user.subject;
    let page = |reason| AuthorizationError::page_for(context, &client.id, reason);
    let now = context.now();
    let id = AuthorizationId::new(now, &*context.entropy);
    let minted = MintedOpaque::random(&*context.entropy);
    let mut record = Authorization {
        id,
        version: draw_version(&*context.entropy),
        client: client.id.clone(),
        epoch: client.epoch,
        subject: Some(subject.clone()),
        session: Digest::of(session),
        created: now,
        ticket: minted.digest,
        stage: Stage::Held,
        since: now,
        end: match &pending.destination {
            Destination::Browser(_) => now.plus(context.config.authorization.hold_lifetime),
            Destination::Device(device) => device.end.minus(DeviceSettings::LAST_DECISION),
        },
        destination: pending.destination.clone(),
        challenge: pending.challenge,
        terms: pending.terms.clone().with(|extra| {
            extra.remembered = remembered;
            extra.revision = NonZeroU32::new(context.config.revision);
            extra.sign_in = user.sign_in.filter(|_| pending.terms.are_openid()).cloned();
        }),
        key: pending.key.map(Box::new),
        pushed: pending.pushed.as_ref().map(|pushed| Box::new(pushed.from)),
        answer: None,
    };
    let current = current.filter(|client| !context.is_gone(client));
    let current = judge_client(current, &record, &context.config).map_err(page)?;
    record.epoch = current.epoch;
    if let Some(from) = &record.pushed {
        let holder = Some(Digest::of(subject.as_str().as_bytes()));
        let visit = Visit { session: record.session, until: record.end, holder };
        pushed_request::keep_open(context, from, visit).await.map_err(page)?;
    }
    if let Destination::Device(device) = &record.destination {
        device_request::claim_for(context, device, subject).await.map_err(page)?;
    }
    let mut holding = Holding::new(context, record, room.place);
    let claimed = claim_record(context, &mut holding, Some(ATTEMPTS)).await;
    let ((), written) = claimed.map_err(|reason| pending.redirect(context, reason))?;
    let record = written.unwrap_or(holding.record);
    let noted = usage::note_request(context, &current, subject, &record).await;
    for surplus in room.surplus {
        // The request is held. Requests that could not be ended now are ended when the next one is held.
        let _ = revocation::end_held(context, surplus).await;
    }
    // Another tab may have opened the same device code or pushed request since the list was read.
    for ended in room.released.iter().filter(|ended| !ended.shares_source(&record)) {
        revocation::release_source(context, ended).await;
    }
    noted.map_err(|error| page(error.into()))?;
    let ticket = minted.text(&context.prefixes.handle, &IdText::of(record.id.as_bytes()));
    Ok(Held { record, client: current, ticket: ConsentTicket::new(ticket) })
}

/// Returns whether the client got everything that is left of its request several times a moment ago, in this browser. A
/// resource then wants a scope that the client cannot have, and another consent would lead to the same request again.
///
/// Once or twice is no loop: installations of a client share one metadata document, so the next request may come from
/// another program of the user.
async fn is_step_up_in_vain(
    context: &Context,
    pending: &PendingAuthorization,
    asked: Asked<'_>,
) -> Result<bool, Reason> {
    let (now, session) = (context.now(), Digest::of(asked.session));
    let rows = match consent_requests::latest(context, asked.user.subject).await {
        Ok(rows) => rows,
        // The page does not depend on it.
        Err(error) if error.unreadable_key().is_some() => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    let is_same = |row: &&Arc<Authorization>| {
        matches!(row.stage, Stage::CodeIssued(_))
            && (row.client == pending.client.id && row.session == session && now < row.since.plus(STEP_UP))
            && pending.terms.scopes.is_subset_of(&row.terms.scopes)
            && pending.terms.audience == row.terms.audience
    };
    Ok(rows.iter().filter(is_same).count() >= LOOP)
}

/// How soon after its tokens a client that lacks a scope asks for it. A later request with the same scopes may come
/// after the tokens were lost.
const STEP_UP: Duration = Duration::from_secs(300);
/// How many codes for the same scopes in that time are a loop.
const LOOP: usize = 3;

/// Writes without a read before it: it takes over the record of another request, or inserts one. The ticket shows whose
/// row was found.
struct Holding<'a> {
    context: &'a Context,
    record: Arc<Authorization>,
    place: Option<Arc<Authorization>>,
    /// The id under which the record is inserted if there is no place, or another request took it.
    id: AuthorizationId,
    has_read: bool,
}

impl<'a> Holding<'a> {
    fn new(context: &'a Context, record: Authorization, place: Option<Arc<Authorization>>) -> Self {
        let id = record.id;
        let record = match &place {
            Some(place) => Authorization { id: place.id, ..record },
            None => record,
        };
        Self { context, record: Arc::new(record), place, id, has_read: false }
    }
}

impl Claim for Holding<'_> {
    type Row = Authorization;
    type Won = ();
    type Error = Reason;

    async fn read(&mut self) -> Result<Seen<Authorization>, Reason> {
        if !std::mem::replace(&mut self.has_read, true) {
            return Ok(self.place.clone().map_or(Seen::Unread, Seen::Found));
        }
        Ok(self.context.stores.codes.find(&self.record.id).await?.into())
    }

    fn judge(&mut self, seen: &Seen<Authorization>) -> Result<Effect<Authorization, ()>, Reason> {
        match (seen, self.place.take()) {
            (Seen::Unread, _) => Ok(Effect::Insert(self.record.clone(), ())),
            (Seen::Found(found), Some(place)) if found.version == place.version => {
                self.place = Some(place);
                Ok(Effect::Replace(self.record.clone(), ()))
            }
            // Another request took the place, or its user decided.
            (_, Some(_)) => {
                let record = Authorization { id: self.id, ..Authorization::clone(&self.record) };
                self.record = Arc::new(record);
                Ok(Effect::Insert(self.record.clone(), ()))
            }
            // Another request has the same 96 random bits in the same minute.
            (Seen::Missing | Seen::Found(_), None) => Err(StoreError::transient(Contended).into()),
        }
    }

    fn is_done(&self, found: &Authorization, meant: &Authorization, _: After) -> bool {
        found.ticket == meant.ticket
    }
}

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
