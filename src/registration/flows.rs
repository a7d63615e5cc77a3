//! The flows that write registrations: the insertion of a submission, and a step.

use std::sync::Arc;

use crate::claim::{After, Flow, Seen, Step};
use crate::clock::Timestamp;
use crate::model::application::{Application, LogoSlot};
use crate::model::client::Client;
use crate::model::id::ClientId;
use crate::registration::error::RegistrarError;
use crate::registration::judge::{self, Current};
use crate::registration::rules::RegistrationRules;
use crate::registration::submission::Submission;
use crate::secret::entropy::Entropy;
use crate::store::{ClientRegistry, Registration};

/// Inserts a submission under a new id.
pub(super) struct Submitting<'a> {
    pub(super) registry: &'a dyn ClientRegistry,
    pub(super) entropy: &'a dyn Entropy,
    pub(super) submission: Submission,
    /// The id that is tried next. If it is taken, another one is generated.
    pub(super) id: ClientId,
    pub(super) meant: Option<ClientId>,
}

impl Flow for Submitting<'_> {
    type Row = Registration;
    type Won = ClientId;
    type Error = RegistrarError;

    async fn read(&mut self) -> Result<Seen<Registration>, RegistrarError> {
        let Some(id) = &self.meant else { return Ok(Seen::Unread) };
        self.id = ClientId::generate(self.entropy);
        match read_existing(self.registry, id).await {
            Ok(current) => Ok(seen(current.as_ref())),
            Err(RegistrarError::NotFound) => Ok(Seen::Missing),
            Err(error) => Err(error),
        }
    }

    fn judge(&mut self, _: &Seen<Registration>) -> Result<Step<Registration, ClientId>, RegistrarError> {
        self.meant = Some(self.id.clone());
        Ok(Step::Insert(Arc::new(self.submission.registration(self.id.clone())), self.id.clone()))
    }

    fn is_done(&self, found: &Registration, meant: &Registration, _: After) -> bool {
        found.application == meant.application
    }
}

/// Replaces a registration with the result of a step.
pub(super) struct Taking<'a> {
    pub(super) registry: &'a dyn ClientRegistry,
    pub(super) rules: &'a RegistrationRules,
    pub(super) id: &'a ClientId,
    pub(super) step: &'a judge::Step<'a>,
    pub(super) now: Timestamp,
    pub(super) current: Option<Current>,
}

/// A step that took effect.
pub(super) struct Taken {
    /// The client as the step left it.
    pub(super) client: Client,
    pub(super) application: Application,
    pub(super) before: Current,
}

impl Flow for Taking<'_> {
    type Row = Registration;
    type Won = Result<Taken, RegistrarError>;
    type Error = RegistrarError;

    async fn read(&mut self) -> Result<Seen<Registration>, RegistrarError> {
        self.current = read_existing(self.registry, self.id).await?;
        if let Some(current) = &mut self.current
            && self.step.may_move_logo()
            && current.application.proposed.is_some()
        {
            current.proposed_logo = self.registry.logo(self.id, LogoSlot::Proposed).await?;
        }
        Ok(seen(self.current.as_ref()))
    }

    fn judge(&mut self, _: &Seen<Registration>) -> Result<Step<Registration, Self::Won>, RegistrarError> {
        let current = self.current.as_ref().ok_or(RegistrarError::NotFound)?;
        if self.step.is_needless(&current.client) {
            let (client, application) = (Client::clone(&current.client), Application::clone(&current.application));
            return Ok(Step::Leave(Ok(Taken { client, application, before: current.clone() })));
        }
        match self.step.judge(current, self.rules, self.now) {
            Ok(next) => {
                let (client, application) = (next.client.clone(), next.application.clone());
                let taken = Taken { client, application, before: current.clone() };
                Ok(Step::Replace(Arc::new(next), Ok(taken)))
            }
            // The error names the state of the application. The step may already have taken effect at an earlier
            // attempt.
            Err(
                error @ (RegistrarError::ChangedMeanwhile
                | RegistrarError::NotFound
                | RegistrarError::NothingProposed
                | RegistrarError::SecretExists
                | RegistrarError::WrongState(_)),
            ) => Ok(Step::Confirm(Err(error))),
            Err(error) => Err(error),
        }
    }

    fn is_done(&self, found: &Registration, meant: &Registration, _: After) -> bool {
        let is_meant = found.client == meant.client && found.application == meant.application;
        is_meant || self.step.is_carried_by(&found.client)
    }
}

/// Reads an application without its logos, even if it is deleted; `None` if it changed between the reads.
pub(super) async fn read_existing(
    registry: &dyn ClientRegistry,
    id: &ClientId,
) -> Result<Option<Current>, RegistrarError> {
    let client = registry.current(id).await?.ok_or(RegistrarError::NotFound)?;
    let application = registry.application(id).await?.ok_or(RegistrarError::NotFound)?;
    let is_whole = client.version == application.version;
    Ok(is_whole.then_some(Current { client, application, proposed_logo: None }))
}

/// Reads the records of a client that may not exist.
pub(super) async fn read_any(
    registry: &dyn ClientRegistry,
    id: &ClientId,
) -> Result<(Seen<Registration>, Option<Current>), RegistrarError> {
    match read_existing(registry, id).await {
        Ok(current) => Ok((seen(current.as_ref()), current)),
        Err(RegistrarError::NotFound) => Ok((Seen::Missing, None)),
        Err(error) => Err(error),
    }
}

pub(super) fn seen(current: Option<&Current>) -> Seen<Registration> {
    let Some(current) = current else { return Seen::Torn };
    let (client, application) = (Client::clone(&current.client), Application::clone(&current.application));
    Seen::Found(Arc::new(Registration::new(client, application)))
}
