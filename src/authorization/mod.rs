//! What a browser does: authorization requests, from the first visit to the user's decision.

pub(crate) mod consent_requests;
pub(crate) mod decide;
pub(crate) mod decision;
pub(crate) mod device_request;
pub(crate) mod document_client;
pub(crate) mod hold;
pub(crate) mod identity_request;
pub(crate) mod judge;
pub(crate) mod pending;
pub(crate) mod pushed_request;
pub(crate) mod repeat;
pub(crate) mod request;
pub(crate) mod signed_in;
pub(crate) mod step;
pub(crate) mod user_code;

pub use identity_request::SignInHints;
pub use pending::RequestedScope;
pub use signed_in::DecidingUser;
pub use step::NextStep;
pub use user_code::{AskingDevice, DeviceConsent, TypedUserCode};

use crate::context::Context;
use crate::error::Reason;
use crate::model::client::{Client, ClientState};

/// Checks that users may be asked for this client.
///
/// # Errors
///
/// The reason why they may not be asked.
pub(crate) fn check_client(context: &Context, client: &Client) -> Result<(), Reason> {
    if !context.config.serves(client.form.client_type) {
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
