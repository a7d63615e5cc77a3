//! Revokes what was granted: one grant, everything of a subject, or everything that it granted to one client.

use std::sync::Arc;
use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::base::id::{AuthorizationId, ClientId, GrantId, Subject};
use crate::claim::{After, Claim, Effect, Seen, claim, draw_version};
use crate::context::Context;
use crate::grant::list::Reader;
use crate::grant::release;
use crate::hooks::Event;
use crate::model::{Authorization, Grant, PLACE_KEPT, Revocation, RevocationReason, Stage};
use crate::secret::Digest;
use crate::store::StoreError;

/// The outcome of a revocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Outcome {
    /// This call revoked the grant.
    Revoked,
    /// It was revoked before, durably.
    AlreadyRevoked,
    /// There is no such grant.
    Missing,
}

/// Revokes a grant with one compare-and-swap, however many tokens it has, and raises the event.
///
/// A lost claim is retried without limit, because a revocation must win against concurrent requests.
pub(crate) async fn revoke(context: &Context, id: GrantId, reason: RevocationReason) -> Result<Outcome, StoreError> {
    let mut revoking = Revoking { context, id, revocation: Revocation { at: context.now(), reason }, found: None };
    let outcome = claim(context, &mut revoking, None).await?;
    if let (Outcome::Revoked, Some(grant)) = (outcome, &revoking.found) {
        let (client, subject) = (&grant.client, grant.subject());
        context.raise(&Event::GrantRevoked { grant: id, client, subject, reason });
    }
    Ok(outcome)
}

struct Revoking<'a> {
    context: &'a Context,
    id: GrantId,
    revocation: Revocation,
    found: Option<Arc<Grant>>,
}

impl Claim for Revoking<'_> {
    type Row = Grant;
    type Won = Outcome;
    type Error = StoreError;

    async fn read(&mut self) -> Result<Seen<Grant>, StoreError> {
        self.found = self.context.stores.tokens.find(&self.id).await?;
        Ok(self.found.clone().into())
    }

    fn judge(&mut self, seen: &Seen<Grant>) -> Result<Effect<Grant, Outcome>, StoreError> {
        let Seen::Found(grant) = seen else { return Ok(Effect::Leave(Outcome::Missing)) };
        if grant.revoked.is_some() {
            return Ok(Effect::Confirm(Outcome::AlreadyRevoked));
        }
        let Revocation { at, reason } = self.revocation;
        let revoked = grant.revoked_at(at, reason, kept_after_revocation(self.context));
        Ok(Effect::Replace(Arc::new(revoked), Outcome::Revoked))
    }

    /// A row that another call revoked first is judged again, because this call did not revoke it.
    fn is_done(&self, found: &Grant, _: &Grant, after: After) -> bool {
        after == After::Error && found.revoked.is_some()
    }
}

/// Revokes the grant with that id, or the code or consent request that has not become one, if it belongs to that
/// subject. Returns whether it was live.
pub(crate) async fn revoke_grant(context: &Context, id: GrantId, subject: &Subject) -> Result<bool, StoreError> {
    let reason = RevocationReason::RevokedByUser;
    if let Some(grant) = context.stores.tokens.find(&id).await? {
        return if grant.subject() == Some(subject) { end(context, &grant, reason).await } else { Ok(false) };
    }
    match context.stores.codes.find(&id.into()).await? {
        Some(found) if found.subject() == Some(subject) => revoke_authorization(context, found, reason).await,
        Some(_) | None => Ok(false),
    }
}

/// Revokes a grant; returns whether it was live until then.
async fn end(context: &Context, grant: &Grant, reason: RevocationReason) -> Result<bool, StoreError> {
    let was_live = grant.is_live(context.now());
    Ok(revoke(context, grant.id, reason).await? == Outcome::Revoked && was_live)
}

/// Returns the live grants of a subject, the oldest first. It returns all of them or an error, because an incomplete
/// list would suggest that no other client has access.
pub(crate) async fn grants_of(context: &Context, subject: &Subject) -> Result<Vec<Arc<Grant>>, StoreError> {
    let now = context.now();
    let mut live = Vec::new();
    let mut list = Reader::new(GrantId::from_bytes);
    while let Some(grants) = list.next(&*context.stores.tokens, subject.as_str()).await {
        for grant in grants {
            if grant.is_live(now) && !has_revoked(context, &grant.client, grant.epoch).await? {
                live.push(grant);
            }
        }
    }
    list.finish()?;
    // The time in an id is exact to a minute only.
    live.sort_by_key(|grant| grant.created);
    Ok(live)
}

/// Returns the approved requests of a subject whose codes can still be exchanged, the oldest first. It returns all of
/// them or an error, like [`grants_of`].
pub(crate) async fn authorizations_of(
    context: &Context,
    subject: &Subject,
) -> Result<Vec<Arc<Authorization>>, StoreError> {
    let now = context.now();
    let mut unredeemed = Vec::new();
    let mut list = Reader::new(AuthorizationId::from_bytes);
    while let Some(authorizations) = list.next(&*context.stores.codes, subject.as_str()).await {
        for authorization in authorizations {
            if authorization.has_code(now) && is_unredeemed(context, &authorization).await? {
                unredeemed.push(authorization);
            }
        }
    }
    list.finish()?;
    unredeemed.sort_by_key(|authorization| authorization.created);
    Ok(unredeemed)
}

/// Returns whether a client has revoked what was granted under that epoch, or does not exist any more. A client that
/// was read from a cache, and is older than the epoch, has not.
pub(crate) async fn has_revoked(context: &Context, client: &ClientId, epoch: u32) -> Result<bool, StoreError> {
    let client = context.stores.clients.client(client).await?;
    Ok(client.is_none_or(|client| client.has_revoked(epoch) == Ok(true)))
}

/// Returns whether the code's place is free: it has neither the code's grant nor a revoked one.
async fn is_unredeemed(context: &Context, authorization: &Authorization) -> Result<bool, StoreError> {
    if has_revoked(context, &authorization.client, authorization.epoch).await? {
        return Ok(false);
    }
    Ok(context.stores.tokens.find(&authorization.id.into()).await?.is_none())
}

/// What a revocation ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Extent<'a> {
    /// Everything of the subject.
    Subject,
    /// What the subject granted to this client.
    Application(&'a ClientId),
}

impl Extent<'_> {
    fn includes(self, client: &ClientId) -> bool {
        match self {
            Self::Subject => true,
            Self::Application(own) => own == client,
        }
    }

    const fn reason(self) -> RevocationReason {
        match self {
            Self::Subject => RevocationReason::SubjectRevoked,
            Self::Application(_) => RevocationReason::ApplicationRevoked,
        }
    }
}

/// Revokes what a subject granted: consent requests are denied, codes and grants are revoked. Returns the count of
/// those that were live.
///
/// The requests come first. So a request that becomes a code meanwhile is found as a code, and a code that becomes a
/// grant is found as a grant. Those that use a remembered consent are listed again at the end: one can be
/// created until the grant is revoked.
///
/// # Errors
///
/// The first failure, after everything else was revoked.
pub(crate) async fn revoke_all(context: &Context, subject: &Subject, extent: Extent<'_>) -> Result<usize, StoreError> {
    let first = revoke_authorizations(context, subject, extent, |_| true).await;
    let grants = revoke_grants(context, subject, extent).await;
    let last = revoke_authorizations(context, subject, extent, |own| own.terms.remembered().is_some()).await;
    Ok(first? + grants? + last?)
}

async fn revoke_authorizations(
    context: &Context,
    subject: &Subject,
    extent: Extent<'_>,
    which: fn(&Authorization) -> bool,
) -> Result<usize, StoreError> {
    let mut revoked = 0;
    let mut codes = Reader::new(AuthorizationId::from_bytes);
    while let Some(authorizations) = codes.next(&*context.stores.codes, subject.as_str()).await {
        for authorization in authorizations.into_iter().filter(|own| extent.includes(&own.client) && which(own)) {
            match revoke_authorization(context, authorization, extent.reason()).await {
                Ok(was_live) => revoked += usize::from(was_live),
                Err(error) => codes.fail(error),
            }
        }
    }
    codes.finish()?;
    Ok(revoked)
}

async fn revoke_grants(context: &Context, subject: &Subject, extent: Extent<'_>) -> Result<usize, StoreError> {
    let mut revoked = 0;
    let mut grants = Reader::new(GrantId::from_bytes);
    while let Some(found) = grants.next(&*context.stores.tokens, subject.as_str()).await {
        for grant in found.into_iter().filter(|own| extent.includes(&own.client)) {
            match end(context, &grant, extent.reason()).await {
                Ok(was_live) => revoked += usize::from(was_live),
                Err(error) => grants.fail(error),
            }
        }
    }
    grants.finish()?;
    Ok(revoked)
}

/// Denies a consent request, or revokes a code, even an expired one. Returns whether it was live.
async fn revoke_authorization(
    context: &Context,
    first: Arc<Authorization>,
    reason: RevocationReason,
) -> Result<bool, StoreError> {
    let mut denying = Denying::new(context, first.clone());
    match claim(context, &mut denying, None).await? {
        Ended::Now { was_live } => {
            if was_live {
                release_source(context, &first).await;
            }
            Ok(was_live)
        }
        Ended::Later(authorization) => kill_code(context, &authorization, reason).await,
    }
}

/// Releases what an ended request came from, unless another page of the user waits for it.
pub(crate) async fn release_source(context: &Context, ended: &Authorization) {
    if ended.source().is_some() && !is_source_needed(context, ended).await {
        release::source_of(context, ended).await;
    }
}

/// Returns whether another page of the user waits for the same device or pushed request: a user may open two.
async fn is_source_needed(context: &Context, ended: &Authorization) -> bool {
    let Some(subject) = ended.subject() else { return false };
    let now = context.now();
    let mut codes = Reader::new(AuthorizationId::from_bytes);
    while let Some(found) = codes.next(&*context.stores.codes, subject.as_str()).await {
        if found.iter().any(|other| other.id != ended.id && other.is_held(now) && other.shares_source(ended)) {
            return true;
        }
    }
    // What cannot be read may need it.
    codes.finish().is_err()
}

/// Ends a request that is still held; one that was decided meanwhile stays as it is.
pub(crate) async fn end_held(context: &Context, held: Arc<Authorization>) -> Result<(), StoreError> {
    claim(context, &mut Denying::new(context, held), None).await.map(drop)
}

struct Denying<'a> {
    context: &'a Context,
    now: Timestamp,
    /// The record as the list returned it.
    first: Option<Arc<Authorization>>,
    id: AuthorizationId,
    ticket: Digest,
}

impl<'a> Denying<'a> {
    fn new(context: &'a Context, first: Arc<Authorization>) -> Self {
        let (id, ticket) = (first.id, first.ticket);
        Self { context, now: context.now(), first: Some(first), id, ticket }
    }
}

/// What became of a record that is to end.
enum Ended<R> {
    /// It ended, or had ended before. `was_live` says whether this call ended it in time.
    Now { was_live: bool },
    /// It went on before that: this record has a code, or is the grant of the code.
    Later(Arc<R>),
}

impl Claim for Denying<'_> {
    type Row = Authorization;
    type Won = Ended<Authorization>;
    type Error = StoreError;

    async fn read(&mut self) -> Result<Seen<Authorization>, StoreError> {
        match self.first.take() {
            Some(first) => Ok(Seen::Found(first)),
            None => Ok(self.context.stores.codes.find(&self.id).await?.into()),
        }
    }

    fn judge(&mut self, seen: &Seen<Authorization>) -> Result<Effect<Authorization, Ended<Authorization>>, StoreError> {
        let gone = Ended::Now { was_live: false };
        let Seen::Found(found) = seen else { return Ok(Effect::Leave(gone)) };
        Ok(match found.stage {
            // A request that was held later took the record over, which ended this one.
            _ if found.ticket != self.ticket => Effect::Confirm(gone),
            Stage::Denied => Effect::Confirm(gone),
            Stage::CodeIssued(_) => Effect::Leave(Ended::Later(found.clone())),
            Stage::Held => {
                let was_live = self.now < found.end;
                Effect::Replace(Arc::new(found.denied()), Ended::Now { was_live })
            }
        })
    }

    fn is_done(&self, found: &Authorization, _: &Authorization, after: After) -> bool {
        after == After::Error && (found.stage == Stage::Denied || found.ticket != self.ticket)
    }
}

/// Inserts a revoked grant under the code's id, so that no exchange can insert one. If there is a grant already,
/// revokes it. Returns whether the code or the grant was live.
async fn kill_code(
    context: &Context,
    authorization: &Authorization,
    reason: RevocationReason,
) -> Result<bool, StoreError> {
    let now = context.now();
    let never_exchanged = Grant::in_place_of(authorization, draw_version(&*context.entropy), now);
    let revoked = Arc::new(never_exchanged.revoked_at(now, reason, kept_after_revocation(context)));
    let mut killing = Killing { context, code_was_live: now < authorization.end, revoked, has_read: false };
    match claim(context, &mut killing, None).await? {
        Ended::Now { was_live } => Ok(was_live),
        Ended::Later(grant) => end(context, &grant, reason).await,
    }
}

struct Killing<'a> {
    context: &'a Context,
    code_was_live: bool,
    /// A grant without tokens that was revoked before it began. No token has its family id or its tag.
    revoked: Arc<Grant>,
    has_read: bool,
}

impl Claim for Killing<'_> {
    type Row = Grant;
    type Won = Ended<Grant>;
    type Error = StoreError;

    async fn read(&mut self) -> Result<Seen<Grant>, StoreError> {
        if !std::mem::replace(&mut self.has_read, true) {
            return Ok(Seen::Unread);
        }
        Ok(self.context.stores.tokens.find(&self.revoked.id).await?.into())
    }

    fn judge(&mut self, seen: &Seen<Grant>) -> Result<Effect<Grant, Ended<Grant>>, StoreError> {
        Ok(match seen {
            Seen::Unread | Seen::Missing => {
                Effect::Insert(self.revoked.clone(), Ended::Now { was_live: self.code_was_live })
            }
            Seen::Found(grant) => Effect::Leave(Ended::Later(grant.clone())),
        })
    }

    fn is_done(&self, found: &Grant, _: &Grant, after: After) -> bool {
        after == After::Error && found.revoked.is_some()
    }
}

/// How long the record of a grant is kept after its revocation. If reads are not settled, a repeated revocation must
/// find the row to confirm it, because a fail-over may undo the first one.
fn kept_after_revocation(context: &Context) -> Duration {
    let retention = context.config.revocation.retention;
    if context.stores.tokens.reads_settled() { retention } else { retention.max(PLACE_KEPT) }
}
