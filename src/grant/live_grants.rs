//! The live grants that a user gave to one client, and how many there may be.

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::id::{ClientId, GrantId, Subject};
use crate::claim::places::split_surplus;
use crate::context::Context;
use crate::grant::list::Reader;
use crate::grant::revocation;
use crate::model::client::Client;
use crate::model::{Grant, RevocationReason};
use crate::store::StoreError;

/// Revokes the grants beyond [`limits.grants`](crate::Config::limits) that were refreshed longest ago,
/// but never the new one.
///
/// This runs after the exchange, when the client has its tokens. If it fails, the next exchange tries again.
pub(crate) async fn keep_within_bound(context: &Context, new: &Grant) {
    if context.config.limits.grants == usize::MAX {
        return;
    }
    let Some(subject) = new.subject() else { return };
    let Ok(surplus) = surplus(context, subject, new).await else { return };
    for grant in surplus {
        let _ = revocation::revoke(context, grant.id, RevocationReason::TooManyGrants).await;
    }
}

/// Returns the live grants of a user to that client.
///
/// # Errors
///
/// [`StoreError`] if a grant cannot be read.
pub(crate) async fn to_client(
    context: &Context,
    subject: &Subject,
    client: &Client,
) -> Result<Vec<Arc<Grant>>, StoreError> {
    let now = context.now();
    let mut live = Vec::new();
    let mut list = Reader::new(GrantId::from_bytes);
    while let Some(rows) = list.next(&*context.stores.tokens, subject.as_str()).await {
        live.extend(rows.into_iter().filter(|grant| is_live(grant, &client.id, client.epoch, now)));
    }
    list.finish()?;
    Ok(live)
}

/// Returns whether the grant with that id is live now, and that client has not revoked its grants since.
pub(crate) async fn is_still_live(context: &Context, id: &GrantId, client: &Client) -> Result<bool, StoreError> {
    let found = context.stores.tokens.find(id).await?;
    Ok(found.is_some_and(|grant| is_live(&grant, &client.id, client.epoch, context.now())))
}

/// Returns whether a grant to that client is live, and the client has not revoked its grants since.
fn is_live(grant: &Grant, client: &ClientId, epoch: u32, now: Timestamp) -> bool {
    grant.client == *client && grant.epoch == epoch && grant.is_live(now)
}

/// Reads one page if the user has fewer records than there may be grants.
async fn surplus(context: &Context, subject: &Subject, new: &Grant) -> Result<Vec<Arc<Grant>>, StoreError> {
    let (max, now) = (context.config.limits.grants, context.now());
    let mut live = Vec::new();
    let mut list = Reader::new(GrantId::from_bytes);
    while let Some(rows) = list.next(&*context.stores.tokens, subject.as_str()).await {
        // Most users have one page with fewer records than the limit: then nothing is collected.
        if rows.len() > max || !live.is_empty() || list.has_more() {
            live.extend(rows.into_iter().filter(|grant| is_live(grant, &new.client, new.epoch, now)));
        }
    }
    list.finish()?;
    // Grants from the future, left by a clock that had jumped forward, go first, because they cannot be used.
    let rank = |grant: &Arc<Grant>| {
        (grant.id == new.id, grant.refreshed().may_have_come(now), grant.refreshed(), grant.created, grant.id)
    };
    Ok(split_surplus(live, max, rank).0)
}
