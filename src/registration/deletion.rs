//! What is left of a deleted application.

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::model::application::Application;
use crate::model::client::{Client, ClientState};

/// Erases form, logos, owner and secrets. The id is kept, so that no other client gets it while a token of this one may
/// exist. The epoch is raised, so that no such token becomes valid with a later client of that id.
pub(super) fn tombstone(next: &Application, reserved_until: Timestamp) -> Application {
    let client = Client {
        version: next.version(),
        state: ClientState::Deleted,
        epoch: next.client.epoch.saturating_add(1),
        ..Client::blank(next.id().clone())
    };
    Application {
        decided: next.decided,
        reserved_until: Some(reserved_until),
        ..Application::new(Arc::new(client), next.submitted)
    }
}
