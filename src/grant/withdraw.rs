//! Revokes what was granted: a grant, or everything of a subject.

use std::sync::Arc;

use crate::claim::{After, Flow, Seen, Step, claim};
use crate::clock::Timestamp;
use crate::config::Config;
use crate::context::Context;
use crate::grant::list::Reader;
use crate::hooks::Event;
use crate::id::{AuthorizationId, GrantId};
use crate::record::{Authorization, Grant, Pairs, Revocation, RevocationReason, Stage};
use crate::secret::refresh::Family;
use crate::store::StoreError;
use crate::subject::Subject;

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

/// Revokes a grant by one swap, however many tokens it has, and raises the event.
///
/// A lost claim is tried again without end: a revocation must win against whatever is in flight.
pub(crate) async fn revoke(context: &Context, id: GrantId, reason: RevocationReason) -> Result<Outcome, StoreError> {
    let mut flow = Revoking { context, id, revocation: Revocation { at: context.now(), reason }, found: None };
    let outcome = claim(&context.stores, &mut flow, None).await?;
    if let (Outcome::Revoked, Some(grant)) = (outcome, &flow.found) {
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

impl Flow for Revoking<'_> {
    type Row = Grant;
    type Won = Outcome;
    type Error = StoreError;

    async fn look(&mut self) -> Result<Seen<Grant>, StoreError> {
        self.found = self.context.stores.tokens.find(&self.id).await?;
        Ok(self.found.clone().into())
    }

    fn judge(&mut self, seen: &Seen<Grant>) -> Result<Step<Grant, Outcome>, StoreError> {
        let Seen::Found(grant) = seen else { return Ok(Step::Leave(Outcome::Missing)) };
        if grant.revoked.is_some() {
            return Ok(Step::Confirm(Outcome::AlreadyRevoked));
        }
        let Revocation { at, reason } = self.revocation;
        Ok(Step::Replace(Arc::new(grant.revoked_at(at, reason)), Outcome::Revoked))
    }

    /// A row that others revoked first is judged: this call did not revoke it.
    fn is_done(&self, found: &Grant, _: &Grant, after: After) -> bool {
        after == After::Error && found.revoked.is_some()
    }
}

/// Withdraws a grant if that subject gave it; returns whether it was live.
pub(crate) async fn withdraw_grant(context: &Context, id: GrantId, subject: &Subject) -> Result<bool, StoreError> {
    match context.stores.tokens.find(&id).await? {
        Some(grant) if grant.subject() == Some(subject) => end(context, &grant, RevocationReason::Withdrawn).await,
        Some(_) | None => Ok(false),
    }
}

/// Revokes a grant; returns whether it was live until then.
async fn end(context: &Context, grant: &Grant, reason: RevocationReason) -> Result<bool, StoreError> {
    let was_live = grant.is_live(context.now());
    Ok(revoke(context, grant.id, reason).await? == Outcome::Revoked && was_live)
}

/// The live grants of a subject, the oldest first. It is all of them or an error: a list that leaves one out
/// would say that no other client has access.
pub(crate) async fn grants_of(context: &Context, subject: &Subject) -> Result<Vec<Arc<Grant>>, StoreError> {
    let now = context.now();
    let mut live = Vec::new();
    let mut list = Reader::new(GrantId::from_octets);
    while let Some(page) = list.next_page() {
        let answer = context.stores.tokens.grants_of(subject, page.clone()).await?;
        for grant in list.take(page, Ok(answer)) {
            let client = context.stores.clients.find(&grant.client).await?;
            if grant.is_live(now) && client.is_some_and(|client| client.epoch <= grant.epoch) {
                live.push(grant);
            }
        }
    }
    // The time in an id is exact to a minute only.
    live.sort_by_key(|grant| grant.created);
    Ok(live)
}

/// Withdraws everything of a subject: held requests are denied, codes are killed, grants are revoked. Returns
/// the count of those that were live.
///
/// # Errors
///
/// The first failure, after everything else was withdrawn: one record that fails keeps no other alive.
pub(crate) async fn withdraw_subject(context: &Context, subject: &Subject) -> Result<usize, StoreError> {
    let mut withdrawn = 0;
    let mut codes = Reader::new(AuthorizationId::from_octets);
    while let Some(page) = codes.next_page() {
        let answer = context.stores.codes.authorizations_of(subject, page.clone()).await;
        for authorization in codes.take(page, answer) {
            match withdraw_authorization(context, authorization).await {
                Ok(was_live) => withdrawn += usize::from(was_live),
                Err(error) => codes.fail(error),
            }
        }
    }
    let mut grants = Reader::new(GrantId::from_octets);
    while let Some(page) = grants.next_page() {
        let answer = context.stores.tokens.grants_of(subject, page.clone()).await;
        for grant in grants.take(page, answer) {
            match end(context, &grant, RevocationReason::SubjectWithdrawn).await {
                Ok(was_live) => withdrawn += usize::from(was_live),
                Err(error) => grants.fail(error),
            }
        }
    }
    codes.finish()?;
    grants.finish()?;
    Ok(withdrawn)
}

/// Denies a held request, or kills a code, even an expired one. Returns whether it was live.
async fn withdraw_authorization(context: &Context, first: Arc<Authorization>) -> Result<bool, StoreError> {
    let mut flow = Denying { context, now: context.now(), first: Some(first.clone()), id: first.id };
    match claim(&context.stores, &mut flow, None).await? {
        Withdrawn::Denied { was_live } => Ok(was_live),
        Withdrawn::HasCode(authorization) => kill_code(context, &authorization).await,
    }
}

struct Denying<'a> {
    context: &'a Context,
    now: Timestamp,
    /// The record as the list returned it.
    first: Option<Arc<Authorization>>,
    id: AuthorizationId,
}

enum Withdrawn {
    Denied { was_live: bool },
    HasCode(Arc<Authorization>),
}

impl Flow for Denying<'_> {
    type Row = Authorization;
    type Won = Withdrawn;
    type Error = StoreError;

    async fn look(&mut self) -> Result<Seen<Authorization>, StoreError> {
        match self.first.take() {
            Some(first) => Ok(Seen::Found(first)),
            None => Ok(self.context.stores.codes.find(&self.id).await?.into()),
        }
    }

    fn judge(&mut self, seen: &Seen<Authorization>) -> Result<Step<Authorization, Withdrawn>, StoreError> {
        let gone = Withdrawn::Denied { was_live: false };
        let Seen::Found(found) = seen else { return Ok(Step::Leave(gone)) };
        Ok(match found.stage {
            Stage::Denied => Step::Confirm(gone),
            Stage::CodeIssued(_) => Step::Leave(Withdrawn::HasCode(found.clone())),
            Stage::Held => {
                let was_live = self.now < found.end;
                Step::Replace(Arc::new(found.denied()), Withdrawn::Denied { was_live })
            }
        })
    }

    fn is_done(&self, found: &Authorization, _: &Authorization, after: After) -> bool {
        after == After::Error && found.stage == Stage::Denied
    }
}

/// Inserts a revoked grant under the code's id, so that no exchange can insert one; a grant that is there
/// already is revoked. Returns whether code or grant was live.
async fn kill_code(context: &Context, authorization: &Authorization) -> Result<bool, StoreError> {
    let now = context.now();
    let reason = RevocationReason::SubjectWithdrawn;
    let tombstone = Arc::new(tombstone(&context.config, authorization, Revocation { at: now, reason }));
    let mut flow = Killing { context, code_was_live: now < authorization.end, tombstone, has_looked: false };
    match claim(&context.stores, &mut flow, None).await? {
        Killed::Code { was_live } => Ok(was_live),
        Killed::Exchanged(grant) => end(context, &grant, reason).await,
    }
}

struct Killing<'a> {
    context: &'a Context,
    code_was_live: bool,
    tombstone: Arc<Grant>,
    has_looked: bool,
}

enum Killed {
    Code { was_live: bool },
    Exchanged(Arc<Grant>),
}

impl Flow for Killing<'_> {
    type Row = Grant;
    type Won = Killed;
    type Error = StoreError;

    async fn look(&mut self) -> Result<Seen<Grant>, StoreError> {
        if !std::mem::replace(&mut self.has_looked, true) {
            return Ok(Seen::Unread);
        }
        Ok(self.context.stores.tokens.find(&self.tombstone.id).await?.into())
    }

    fn judge(&mut self, seen: &Seen<Grant>) -> Result<Step<Grant, Killed>, StoreError> {
        Ok(match seen {
            Seen::Unread | Seen::Missing | Seen::Torn => {
                Step::Insert(self.tombstone.clone(), Killed::Code { was_live: self.code_was_live })
            }
            Seen::Found(grant) => Step::Leave(Killed::Exchanged(grant.clone())),
        })
    }

    fn is_done(&self, found: &Grant, _: &Grant, after: After) -> bool {
        after == After::Error && found.revoked.is_some()
    }
}

/// A grant without tokens that was revoked before it began. No token has its lineage or its tag.
fn tombstone(config: &Config, authorization: &Authorization, revocation: Revocation) -> Grant {
    Grant {
        id: authorization.id.into(),
        version: 1,
        client: authorization.client.clone(),
        epoch: authorization.epoch,
        subject: authorization.subject.clone(),
        scopes: authorization.scopes.clone(),
        resource_scope: authorization.resource_scope.clone(),
        created: revocation.at,
        keep_until: keep_until(config, authorization.end),
        family: Family::NONE,
        pairs_made: 0,
        pairs: Pairs::default(),
        revoked: Some(revocation),
    }
}

/// The end of the code plus the longest token lifetime: what an exchange inserts after that is dead.
pub(crate) fn keep_until(config: &Config, code_end: Timestamp) -> Timestamp {
    code_end.plus(config.access_token_lifetime.max(config.refresh_token_lifetime))
}
