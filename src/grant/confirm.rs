//! Makes sure of what a look found, before it is acknowledged.
//!
//! A write that failed may be in the store all the same, where a look finds it: kept by one server, say,
//! and not yet by the replica that it was to wait for. A fail-over would take it away. So a look
//! acknowledges nothing. The record is written once more as it was found, and what the store says of
//! that write counts. Where it is not found any more, nothing was acknowledged, and whoever asked goes on
//! from what there is now.

use std::sync::Arc;

use crate::context::Context;
use crate::id::{AuthorizationId, GrantId};
use crate::store::record::{Authorization, Grant};
use crate::store::{Replacement, StoreError};

/// Writes that may be lost before it is given up: each time somebody else has written.
const ATTEMPTS: usize = 128;

/// Writes the grant as it was found; lost if it has changed since.
pub(crate) async fn as_found(context: &Context, found: &Grant) -> Result<Replacement, StoreError> {
    let again = Grant { version: found.version.saturating_add(1), ..found.clone() };
    context.stores.tokens.replace(found.version, Arc::new(again)).await
}

/// Whether the store has such a grant, and keeps it; tried again while others change it.
pub(crate) async fn grant(
    context: &Context,
    id: GrantId,
    is_such: impl Fn(&Grant) -> bool,
) -> Result<bool, StoreError> {
    for _ in 0..ATTEMPTS {
        let Some(found) = context.stores.tokens.find(&id).await?.filter(|found| is_such(found)) else {
            return Ok(false);
        };
        if as_found(context, &found).await? == Replacement::Replaced {
            return Ok(true);
        }
    }
    Err(StoreError::transient("others change the grant all the time"))
}

/// Writes the authorization as it was found; lost if it has changed since.
pub(crate) async fn authorization_as_found(
    context: &Context,
    found: &Authorization,
) -> Result<Replacement, StoreError> {
    let again = Authorization { version: found.version.saturating_add(1), ..found.clone() };
    context.stores.codes.replace(found.version, Arc::new(again)).await
}

/// Whether the store has such an authorization, and keeps it.
pub(crate) async fn authorization(
    context: &Context,
    id: AuthorizationId,
    is_such: impl Fn(&Authorization) -> bool,
) -> Result<bool, StoreError> {
    for _ in 0..ATTEMPTS {
        let Some(found) = context.stores.codes.find(&id).await?.filter(|found| is_such(found)) else {
            return Ok(false);
        };
        if authorization_as_found(context, &found).await? == Replacement::Replaced {
            return Ok(true);
        }
    }
    Err(StoreError::transient("others change the authorization all the time"))
}
