//! Records what requests do with an unreviewed client: a user is asked about it, approves it, or it gets tokens.

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::id::Subject;
use crate::context::Context;
use crate::model::Authorization;
use crate::model::application::Asked;
use crate::model::client::Client;
use crate::registration::Registrar;
use crate::registration::error::RegistrarError;
use crate::registration::judge::Action;
use crate::registration::places::RoomForApproval;
use crate::registration::user_approval::{UserApproval, must_note_use};

/// Records that tokens of an unreviewed client may live until `until`, unless that is recorded already. The client is
/// kept for the idle time after that.
///
/// # Errors
///
/// [`RegistrarError::NotFound`] if the client has been removed, or [`RegistrarError::Store`].
pub(crate) async fn note_use(context: &Arc<Context>, client: &Client, until: Timestamp) -> Result<(), RegistrarError> {
    if !must_note_use(client, until) {
        return Ok(());
    }
    let Some(registrar) = Registrar::new(Arc::clone(context)) else { return Ok(()) };
    let limits = context.config.client_lifetimes();
    registrar.take(client.id(), None, None, Action::NoteUse { until, limits }).await.map(drop)
}

/// Records that this user approves an unreviewed client, before the code exists. Its first approval moves the client to
/// the places of those that a user approved. This is written before other clients are evicted for it, so a lost race
/// evicts none.
///
/// # Errors
///
/// [`RegistrarError::NoRoom`] if there is no such place, [`RegistrarError::NotFound`] if the client has been removed,
/// or [`RegistrarError::Store`].
pub(crate) async fn note_approval(
    context: &Arc<Context>,
    client: &Client,
    subject: &Subject,
    until: Timestamp,
) -> Result<(), RegistrarError> {
    let Some(registrar) = registrar_of_unreviewed(context, client) else { return Ok(()) };
    let limits = context.config.client_lifetimes();
    let RoomForApproval { place, gives_way } = registrar.room_for(client.id(), subject).await?;
    let approval = UserApproval { subject: subject.clone(), place, until, limits };
    registrar.take(client.id(), None, None, Action::NoteApproval(approval)).await?;
    for other in gives_way {
        registrar.evict(&other).await?;
    }
    Ok(())
}

/// Records that a user is asked about an unreviewed client, before the user sees the page: until the decision, the
/// client keeps its place. Nothing is written if a grant keeps it until the request ends.
///
/// # Errors
///
/// [`RegistrarError::NotFound`] if the client has been removed, or [`RegistrarError::Store`].
pub(crate) async fn note_request(
    context: &Arc<Context>,
    client: &Client,
    subject: &Subject,
    request: &Authorization,
) -> Result<(), RegistrarError> {
    let Some(registrar) = registrar_of_unreviewed(context, client) else { return Ok(()) };
    let asked = Asked { request: request.id, subject: subject.clone() };
    registrar.take(client.id(), None, None, Action::NoteRequest { asked, until: request.end }).await.map(drop)
}

/// Returns a registrar if the client is unreviewed, so that it has a place.
fn registrar_of_unreviewed(context: &Arc<Context>, client: &Client) -> Option<Registrar> {
    if client.is_unreviewed() { Registrar::new(Arc::clone(context)) } else { None }
}
