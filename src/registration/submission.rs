//! A new application, and its first records.

use std::sync::Arc;

use crate::clock::Timestamp;
use crate::model::application::{Application, CheckedForm, Logo, MARK_BYTES, OpenApplication};
use crate::model::client::{Client, ClientState, SelfRegistration};
use crate::model::id::ClientId;
use crate::model::subject::Subject;
use crate::registration::in_force::put_in_force;
use crate::secret::Digest;
use crate::store::{LogoWrite, Registration};

/// A new application, checked.
#[derive(Debug)]
pub(super) struct Submission {
    /// `None` for a client that registered itself.
    pub(super) owner: Option<Subject>,
    pub(super) form: CheckedForm,
    pub(super) logo: Option<Arc<Logo>>,
    pub(super) now: Timestamp,
    pub(super) mark: [u8; MARK_BYTES],
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
    pub(super) fn registration(&self, id: ClientId) -> Registration {
        let mut client = Client::blank(id.clone());
        client.state = ClientState::Pending;
        put_in_force(&mut client, &self.form);
        if let Some(open) = &self.open {
            client.state = open.state;
            client.secrets.current = open.secret;
            client.open = Some(Arc::clone(&open.client));
        }
        let application = Application {
            id,
            version: client.version,
            state: client.state,
            owner: self.owner.clone(),
            submitted: self.now,
            decided: None,
            form: self.form.clone(),
            proposed: None,
            rejection: None,
            reserved_until: None,
            open: self.open.as_ref().map(|open| open.application.clone()),
            initial_token: None,
            mark: self.mark,
        };
        Registration {
            client,
            application,
            logo: self.logo.as_ref().map_or(LogoWrite::Keep, |logo| LogoWrite::Put(Arc::clone(logo))),
            proposed_logo: LogoWrite::Keep,
        }
    }
}
