//! Holds a request while its consent page is shown.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use crate::authorization::consent_requests::Room;
use crate::authorization::identity_request::IdentityRequest;
use crate::authorization::judge::{Asked, judge_client};
use crate::authorization::pending::{AuthorizationError, PendingAuthorization};
use crate::authorization::signed_in::DecidingUser;
use crate::authorization::{consent_requests, device_request, document_client, pushed_request};
use crate::base::clock::Timestamp;
use crate::base::id::{AuthorizationId, IdText};
use crate::claim::{ATTEMPTS, After, Claim, Contended, Effect, Seen, claim_record, draw_version};
use crate::config::DeviceSettings;
use crate::context::Context;
use crate::error::Reason;
use crate::grant::revocation;
use crate::hooks::{Attempt, AttemptKind};
use crate::jose::access_jwt::CLIENT_SUBJECT;
use crate::model::client::{AskConsent, Client};
use crate::model::redirect_uri::RedirectUri;
use crate::model::terms::RememberedConsent;
use crate::model::{Authorization, Destination, Stage, Visit};
use crate::registration::usage;
use crate::secret::{ConsentTicket, Digest, MintedOpaque};
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
