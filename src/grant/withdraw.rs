//! Takes back what was granted: a grant, or everything of a subject.

use std::sync::Arc;

use crate::clock::Timestamp;
use crate::context::Context;
use crate::grant::confirm;
use crate::grant::list::Reader;
use crate::hooks::Event;
use crate::id::{AuthorizationId, GrantId};
use crate::secret::refresh::LineageDigest;
use crate::store::record::{Authorization, Grant, Pairs, Revocation, RevocationReason, Stage};
use crate::store::{Insertion, Replacement, StoreError};
use crate::subject::Subject;

/// What became of a revocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Outcome {
    /// This call revoked the grant.
    Revoked,
    /// It was revoked before, which was made sure of.
    AlreadyRevoked,
    /// There is no such grant.
    Missing,
}

/// Revokes a grant by one swap, however many tokens it has; a lost claim is tried again without end,
/// because a revocation must beat whatever is in flight.
pub(crate) async fn revoke(context: &Context, id: GrantId, reason: RevocationReason) -> Result<Outcome, StoreError> {
    let now = context.now();
    loop {
        let Some(grant) = context.stores.tokens.find(&id).await? else { return Ok(Outcome::Missing) };
        if grant.revoked.is_some() {
            match confirm::as_found(context, &grant).await? {
                Replacement::Replaced => return Ok(Outcome::AlreadyRevoked),
                Replacement::Lost => continue,
            }
        }
        let next = Arc::new(grant.revoked_at(now, reason));
        match context.stores.tokens.replace(grant.version, next).await {
            Ok(Replacement::Replaced) => {}
            Ok(Replacement::Lost) => continue,
            // The write may have taken effect all the same.
            Err(error) if !confirm::grant(context, id, is_revoked).await? => return Err(error),
            Err(_) => {}
        }
        let Grant { client, subject, .. } = &*grant;
        context.raise(&Event::GrantRevoked { grant: id, client, subject, reason });
        return Ok(Outcome::Revoked);
    }
}

fn is_revoked(grant: &Grant) -> bool {
    grant.revoked.is_some()
}

/// Withdraws a grant if that subject gave it; tells whether it was alive.
pub(crate) async fn withdraw_grant(context: &Context, id: GrantId, subject: &Subject) -> Result<bool, StoreError> {
    match context.stores.tokens.find(&id).await? {
        Some(grant) if grant.subject == *subject => end(context, &grant, RevocationReason::Withdrawn).await,
        Some(_) | None => Ok(false),
    }
}

/// Revokes a grant; tells whether that took anything from anybody.
async fn end(context: &Context, grant: &Grant, reason: RevocationReason) -> Result<bool, StoreError> {
    let was_live = grant.is_live(context.now());
    Ok(revoke(context, grant.id, reason).await? == Outcome::Revoked && was_live)
}

/// The grants of a subject that still open something, the oldest first. It is all of them or an error: a
/// list that leaves one out would say that nobody else has access.
pub(crate) async fn grants_of(context: &Context, subject: &Subject) -> Result<Vec<Arc<Grant>>, StoreError> {
    let now = context.now();
    let mut live = Vec::new();
    let mut list = Reader::new(GrantId::from_octets);
    while let Some(page) = list.next_page() {
        let answer = context.stores.tokens.grants_of(subject, page.clone()).await?;
        for grant in list.take(page, Ok(answer)) {
            let client = context.stores.clients.find(&grant.client).await?;
            if grant.is_live(now) && client.is_some_and(|client| client.epoch == grant.epoch) {
                live.push(grant);
            }
        }
    }
    // Ids tell the time to a minute only.
    live.sort_by_key(|grant| grant.created);
    Ok(live)
}

/// Withdraws everything of a subject: what waits for a decision is denied, codes are killed, grants
/// are revoked. Returns the count of what had been alive.
///
/// What fails is left behind and told at the end, so that it keeps nothing else alive.
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

/// Denies what is held; kills a code, past its end too, by taking the place of its grant. Tells whether
/// it was alive.
async fn withdraw_authorization(context: &Context, first: Arc<Authorization>) -> Result<bool, StoreError> {
    let mut authorization = first;
    loop {
        match authorization.stage {
            Stage::Denied => {
                if confirm::authorization_as_found(context, &authorization).await? == Replacement::Replaced {
                    return Ok(false);
                }
            }
            Stage::CodeIssued(_) => {
                return kill_code(context, &authorization, RevocationReason::SubjectWithdrawn).await;
            }
            Stage::Held => {
                let was_live = context.now() < authorization.end;
                let denied = Arc::new(authorization.denied());
                match context.stores.codes.replace(authorization.version, denied).await {
                    Ok(Replacement::Replaced) => return Ok(was_live),
                    Ok(Replacement::Lost) => {}
                    Err(error) => {
                        // The write may have taken effect all the same.
                        let denied = confirm::authorization(context, authorization.id, is_denied).await?;
                        return if denied { Ok(was_live) } else { Err(error) };
                    }
                }
            }
        }
        let Some(current) = context.stores.codes.find(&authorization.id).await? else { return Ok(false) };
        authorization = current;
    }
}

fn is_denied(authorization: &Authorization) -> bool {
    authorization.stage == Stage::Denied
}

/// Inserts a revoked grant under the code's id, so that no exchange can; a grant that is there already
/// is revoked.
async fn kill_code(
    context: &Context,
    authorization: &Authorization,
    reason: RevocationReason,
) -> Result<bool, StoreError> {
    let id = GrantId::from(authorization.id);
    let was_live = context.now() < authorization.end;
    let tombstone = Arc::new(tombstone(context, authorization, reason));
    loop {
        let failure = match context.stores.tokens.insert(tombstone.clone()).await {
            Ok(Insertion::Inserted) => return Ok(was_live),
            Ok(Insertion::Exists) => None,
            Err(error) => Some(error),
        };
        let found = context.stores.tokens.find(&id).await?;
        match (found, failure) {
            (None, Some(error)) => return Err(error),
            // Whatever had its place is gone since.
            (None, None) => {}
            // The write may have taken effect all the same: then this is the tombstone.
            (Some(grant), Some(error)) if is_revoked(&grant) => {
                let confirmed = confirm::grant(context, id, is_revoked).await?;
                return if confirmed { Ok(was_live) } else { Err(error) };
            }
            (Some(grant), _) => {
                let was_live = grant.is_live(context.now());
                match revoke(context, id, reason).await? {
                    Outcome::Revoked => return Ok(was_live),
                    Outcome::AlreadyRevoked => return Ok(false),
                    Outcome::Missing => {}
                }
            }
        }
    }
}

/// A grant without tokens that was revoked before it began.
fn tombstone(context: &Context, authorization: &Authorization, reason: RevocationReason) -> Grant {
    let now = context.now();
    Grant {
        id: authorization.id.into(),
        version: 1,
        client: authorization.client.clone(),
        epoch: authorization.epoch,
        subject: authorization.subject.clone(),
        scopes: authorization.scopes.clone(),
        resource_scope: authorization.resource_scope.clone(),
        created: now,
        keep_until: keep_until(context, authorization.end),
        lineage: LineageDigest::from_octets([0; 16]),
        pairs_made: 0,
        pairs: Pairs::default(),
        revoked: Some(Revocation { at: now, reason }),
    }
}

/// The end of the code plus the longest token lifetime: what an exchange inserts after that is dead.
pub(crate) fn keep_until(context: &Context, code_end: Timestamp) -> Timestamp {
    let config = &context.config;
    code_end.plus(config.access_token_lifetime.max(config.refresh_token_lifetime))
}
