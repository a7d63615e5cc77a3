//! Records that a client that registered itself is used.

use std::sync::Arc;

use crate::clock::Timestamp;
use crate::context::Context;
use crate::grant;
use crate::model::client::Client;
use crate::registration::{Registrar, RegistrarError, must_note_use};

/// Records that tokens of a client that registered itself may live until `until`, unless that is recorded already. The
/// client is kept for the idle time after that.
///
/// # Errors
///
/// [`RegistrarError::NotFound`] if the client has been removed, or [`RegistrarError::Store`].
pub(crate) async fn note(context: &Arc<Context>, client: &Client, until: Timestamp) -> Result<(), RegistrarError> {
    if !must_note_use(client, until) {
        return Ok(());
    }
    match Registrar::new(Arc::clone(context), grant::offered(&context.config).collect()) {
        Some(registrar) => registrar.note_use(client.id(), until).await,
        None => Ok(()),
    }
}
