//! Makes sure of what a look found, before it is acknowledged.
//!
//! A write that failed may be in the store all the same, where a look finds it: kept by one server, say,
//! and not yet by the replica that it was to wait for. A fail-over would take it away. So a look
//! acknowledges nothing. The record is written once more as it was found, and what the store says of
//! that write counts.

use std::sync::Arc;

use crate::context::Context;
use crate::id::{AuthorizationId, GrantId};
use crate::store::record::{Authorization, Grant};
use crate::store::{Replacement, StoreError};

/// Whether the store has such a grant, and keeps it; tried again while others change it.
pub(crate) async fn grant(
    context: &Context,
    id: GrantId,
    is_such: impl Fn(&Grant) -> bool,
) -> Result<bool, StoreError> {
    let tokens = &context.stores.tokens;
    loop {
        let Some(found) = tokens.find(&id).await?.filter(|found| is_such(found)) else { return Ok(false) };
        let again = Grant { version: found.version.saturating_add(1), ..(*found).clone() };
        if tokens.replace(found.version, Arc::new(again)).await? == Replacement::Replaced {
            return Ok(true);
        }
    }
}

/// The same of an authorization.
pub(crate) async fn authorization(
    context: &Context,
    id: AuthorizationId,
    is_such: impl Fn(&Authorization) -> bool,
) -> Result<bool, StoreError> {
    let codes = &context.stores.codes;
    loop {
        let Some(found) = codes.find(&id).await?.filter(|found| is_such(found)) else { return Ok(false) };
        let again = Authorization { version: found.version.saturating_add(1), ..(*found).clone() };
        if codes.replace(found.version, Arc::new(again)).await? == Replacement::Replaced {
            return Ok(true);
        }
    }
}
