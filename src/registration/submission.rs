//! A new application, and its first record.

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::id::{ClientId, LogoId};
use crate::base::subject::Subject;
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
