//! The claims that write applications: the insertion of a submission, and a step.

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::id::ClientId;
use crate::claim::{After, Claim, Effect, Seen};
use crate::context::{Context, RegistrationRules};
use crate::model::application::Application;
use crate::registration::error::RegistrarError;
use crate::registration::judge::Step;
use crate::registration::submission::Submission;

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
