//! The first record of an application, and what is left of it after a deletion.

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::id::{ClientId, LogoId, Subject};
use crate::model::application::{Application, OpenApplication};
use crate::model::client::{CheckedForm, Client, ClientState, SelfRegistration};
use crate::secret::Digest;

/// A new application, checked.
#[derive(Debug)]
pub(super) struct Submission {
    /// `None` for a client that registered itself.
    pub(super) owner: Option<Subject>,
    pub(super) form: CheckedForm,
    pub(super) logo: Option<LogoId>,
    pub(super) now: Timestamp,
    pub(super) version: u32,
    pub(super) open: Option<OpenSubmission>,
}

/// The additional data of a submission by a client that registers itself.
#[derive(Debug)]
pub(super) struct OpenSubmission {
    pub(super) client: Arc<SelfRegistration>,
    pub(super) application: Box<OpenApplication>,
    pub(super) state: ClientState,
    pub(super) secret: Option<Digest>,
}

impl Submission {
    pub(super) fn application(&self, id: ClientId) -> Application {
        let mut client = Client { version: self.version, state: ClientState::Pending, ..Client::blank(id) };
        client.put_form(self.form.clone());
        if let Some(open) = &self.open {
            client.state = open.state;
            client.secrets.current = open.secret;
            client.open = Some(Arc::clone(&open.client));
        }
        Application {
            owner: self.owner.clone(),
            logo: self.logo,
            open: self.open.as_ref().map(|open| open.application.clone()),
            ..Application::new(Arc::new(client), self.now)
        }
    }
}

/// Erases form, logos, owner and secrets. The id is kept, so that no other client gets it while a token of this one may
/// exist. The epoch is raised, so that no such token becomes valid with a later client of that id.
/// The revision is kept, so that a process with that description or an older one does not create the client again.
pub(super) fn deleted_record(next: &Application, reserved_until: Timestamp) -> Application {
    let client = Client {
        version: next.version(),
        state: ClientState::Deleted,
        epoch: next.client.epoch.saturating_add(1),
        revision: next.client.revision,
        ..Client::blank(next.id().clone())
    };
    Application {
        decided: next.decided,
        reserved_until: Some(reserved_until),
        ..Application::new(Arc::new(client), next.submitted)
    }
}
