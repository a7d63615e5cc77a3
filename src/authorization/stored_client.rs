//! The stored client of an authorization request.

use std::sync::Arc;

use crate::context::Context;
use crate::error::Reason;
use crate::model::client::{Client, ClientState};
use crate::model::id::ClientId;
use crate::store::StoreError;

/// Reads a client; `None` also if its registration has ended.
///
/// # Errors
///
/// [`StoreError`] if the store failed.
pub(crate) async fn find(context: &Context, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
    match context.stores.clients.find(id).await? {
        Some(client) if context.is_gone(&client) => Box::pin(context.find_again(id)).await,
        found => Ok(found),
    }
}

/// Checks that users may be asked for this client.
///
/// # Errors
///
/// The reason why they may not be asked.
pub(crate) fn check(context: &Context, client: &Client) -> Result<(), Reason> {
    if !context.config.serves(client.client_type) {
        return Err(Reason::PublicClientsOff);
    }
    match client.state {
        ClientState::Approved => Ok(()),
        // This page explains the review, because no developer can explain it to the user.
        ClientState::Pending if client.is_unreviewed() => Err(Reason::ClientAwaitsReview),
        // This page advises users whose application still has the id of a removed client.
        ClientState::Deleted => Err(Reason::UnknownClient),
        ClientState::Pending | ClientState::Rejected | ClientState::Suspended => Err(Reason::ClientNotApproved),
    }
}
