//! What is left of a deleted application.

use crate::clock::Timestamp;
use crate::model::application::{Application, CheckedForm};
use crate::model::client::{Client, ClientState};
use crate::store::{LogoWrite, Registration};

/// Erases form, logos, owner and secrets. The id is kept, so that no other client gets it while a token of this one may
/// exist. The epoch is raised, so that no such token becomes valid with a later client of that id.
pub(super) fn tombstone(next: &Registration, reserved_until: Timestamp) -> Registration {
    let Registration { client, application, .. } = next;
    let id = client.id.clone();
    let client = Client {
        version: client.version,
        state: ClientState::Deleted,
        epoch: client.epoch.saturating_add(1),
        ..Client::blank(id.clone())
    };
    let application = Application {
        id,
        version: client.version,
        state: client.state,
        owner: None,
        submitted: application.submitted,
        decided: application.decided,
        form: CheckedForm::of(&Client::blank(client.id.clone())),
        proposed: None,
        rejection: None,
        reserved_until: Some(reserved_until),
        open: None,
        initial_token: None,
        mark: application.mark,
    };
    Registration { client, application, logo: LogoWrite::Clear, proposed_logo: LogoWrite::Clear }
}
