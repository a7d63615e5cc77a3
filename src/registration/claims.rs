//! The records of an application: the first one, the claims that write them, and what is left after a deletion.

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::id::{ClientId, LogoId, Subject};
use crate::claim::{After, Claim, Effect, Seen};
use crate::context::{Context, RegistrationRules};
use crate::model::application::{Application, OpenApplication};
use crate::model::client::{CheckedForm, Client, ClientState, SelfRegistration};
use crate::registration::error::RegistrarError;
use crate::registration::judge::Step;
use crate::secret::Digest;

/// Inserts a submission under a new id.
pub(super) struct Submitting<'a> {
    pub(super) context: &'a Context,
    pub(super) submission: Submission,
    /// The id that was tried last. If it is taken, another one is generated.
    pub(super) tried: Option<ClientId>,
}

impl Claim for Submitting<'_> {
    type Row = Application;
    type Won = ();
    type Error = RegistrarError;

    async fn read(&mut self) -> Result<Seen<Application>, RegistrarError> {
        let Some(tried) = &self.tried else { return Ok(Seen::Unread) };
        Ok(self.context.stores.applications.find(tried).await?.into())
    }

    fn judge(&mut self, _: &Seen<Application>) -> Result<Effect<Application, ()>, RegistrarError> {
        let id = ClientId::generate(&*self.context.entropy);
        self.tried = Some(id.clone());
        Ok(Effect::Insert(Arc::new(self.submission.application(id)), ()))
    }

    fn is_done(&self, found: &Application, meant: &Application, _: After) -> bool {
        found == meant
    }
}

/// Replaces an application with the result of a step.
pub(super) struct Taking<'a> {
    pub(super) context: &'a Context,
    pub(super) rules: &'a RegistrationRules,
    pub(super) id: &'a ClientId,
    pub(super) step: &'a Step<'a>,
    pub(super) now: Timestamp,
}

/// A step that took effect.
pub(super) struct Taken {
    pub(super) before: Arc<Application>,
    pub(super) after: Arc<Application>,
}

impl Claim for Taking<'_> {
    type Row = Application;
    /// The application before the step.
    type Won = Result<Arc<Application>, RegistrarError>;
    type Error = RegistrarError;

    async fn read(&mut self) -> Result<Seen<Application>, RegistrarError> {
        Ok(self.context.stores.applications.find(self.id).await?.into())
    }

    fn judge(&mut self, seen: &Seen<Application>) -> Result<Effect<Application, Self::Won>, RegistrarError> {
        let current = seen.found().ok_or(RegistrarError::NotFound)?;
        if self.step.is_needless(current, self.now) {
            return Ok(Effect::Leave(Ok(current.clone())));
        }
        match self.step.judge(current, self.rules, self.now) {
            Ok(next) => Ok(Effect::Replace(Arc::new(next), Ok(current.clone()))),
            // The error names the state of the application. The step may already have taken effect at an earlier
            // attempt.
            Err(
                error @ (RegistrarError::ChangedMeanwhile
                | RegistrarError::NotFound
                | RegistrarError::NothingProposed
                | RegistrarError::SecretExists
                | RegistrarError::WrongState(_)),
            ) => Ok(Effect::Confirm(Err(error))),
            Err(error) => Err(error),
        }
    }

    fn is_done(&self, found: &Application, meant: &Application, _: After) -> bool {
        found == meant || self.step.is_carried_by(&found.client)
    }
}

/// Erases form, logos, owner and secrets. The id is kept, so that no other client gets it while a token of this one may
/// exist. The epoch is raised, so that no such token becomes valid with a later client of that id.
/// The revision is kept, so that a process with that description or an older one does not create the client again.
pub(super) fn tombstone(next: &Application, reserved_until: Timestamp) -> Application {
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
