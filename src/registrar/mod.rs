//! Applications from submission to approval and after: what becomes of them is decided here.
//!
//! pending → approved | rejected; rejected → pending; approved ↔ suspended. A change of an approved
//! application is reviewed too, and the approved version stays in force until then.

mod approval;
mod error;
mod judge;
mod rules;

pub use approval::{Approval, Approved};
pub use error::RegistrarError;
pub(crate) use rules::RegistrationRules;

use std::sync::Arc;

use crate::client::application::{
    Application, ApplicationFilter, ApplicationForm, Field, FieldError, Logo, LogoSlot, Problem, REASON_CHARACTERS,
    RegistrationLimits, plain_text,
};
use crate::client::{Client, ClientState};
use crate::context::Context;
use crate::hooks::{ApplicationChange, Event};
use crate::id::ClientId;
use crate::registrar::error::Contended;
use crate::registrar::judge::{Current, Step, Submission, successor};
use crate::secret::{ClientSecret, Digest};
use crate::store::{ClientRegistry, Insertion, Page, Registration, Replacement};
use crate::subject::Subject;

/// Claims that may be lost before a change is given up.
const ATTEMPTS: usize = 128;

/// Takes applications in, and lets them be reviewed and administered.
///
/// Who may call what is the embedder's to decide: the registrar knows no reviewers, and does not
/// compare the applicant with whoever submits a change.
///
/// Every change is one conditional write. After [`RegistrarError::Store`] it may have taken effect or
/// not, and it is safe to look and to call again.
#[derive(Clone, Debug)]
pub struct Registrar {
    registry: Arc<dyn ClientRegistry>,
    rules: RegistrationRules,
    context: Arc<Context>,
}

impl Registrar {
    /// Stands ready if there is a registry to write to.
    pub(crate) fn new(context: Arc<Context>) -> Option<Self> {
        let registry = context.stores.registry.clone()?;
        let config = &context.config;
        let rules = RegistrationRules {
            catalog: config.scopes.clone(),
            limits: config.registration.clone(),
            redirect_uris: config.redirect_uris.clone(),
            public_clients: config.public_clients,
        };
        Some(Self { registry, rules, context })
    }

    /// Returns the limits of the form's fields, for the page that asks for them.
    #[must_use]
    pub const fn limits(&self) -> &RegistrationLimits {
        &self.rules.limits
    }

    /// Takes a new application in, which then awaits review, and gives it its client id
    /// [RFC 6749 section 2.2].
    ///
    /// The logo is required.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::Invalid`] with everything that is wrong, or [`RegistrarError::Store`].
    pub async fn submit(
        &self,
        applicant: Subject,
        form: ApplicationForm,
        logo: Option<Logo>,
    ) -> Result<ClientId, RegistrarError> {
        let (form, logo) = self.rules.check_new(&form, logo)?;
        let submission = Submission { applicant, form, logo, now: self.context.now() };
        for _ in 0..ATTEMPTS {
            let id = ClientId::generate(&*self.context.entropy);
            let meant = submission.registration(id.clone());
            let is_meant = |found: &Current| *found.application == meant.application;
            match self.registry.insert(meant.clone()).await {
                Ok(Insertion::Inserted) => {}
                Ok(Insertion::Exists) if self.confirm(&id, is_meant).await?.is_some() => {}
                Ok(Insertion::Exists) => continue,
                Err(_) if matches!(self.confirm(&id, is_meant).await, Ok(Some(_))) => {}
                Err(error) => return Err(error.into()),
            }
            self.raise(&id, ApplicationChange::Submitted);
            return Ok(id);
        }
        Err(Contended.into())
    }

    /// Takes a change of an application in; without a logo the one there stays.
    ///
    /// It replaces a submission that awaits review or was rejected, and awaits review again. For an
    /// approved or suspended application it is kept beside the version in force, in the place of an
    /// earlier change, until it is decided.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::Invalid`] with everything that is wrong, [`Problem::Fixed`] among it for
    /// another client type or application type of an approved application;
    /// [`RegistrarError::NotFound`], or [`RegistrarError::Store`].
    pub async fn change(&self, id: &ClientId, form: ApplicationForm, logo: Option<Logo>) -> Result<(), RegistrarError> {
        let (form, logo) = self.rules.check_change(&form, logo)?;
        let taken = self.take(id, &Step::Change { form: Box::new(form), logo }).await?;
        let awaits_first_review = taken.client.state == ClientState::Pending;
        let change = if awaits_first_review { ApplicationChange::Submitted } else { ApplicationChange::ChangeProposed };
        self.raise(id, change);
        Ok(())
    }

    /// Approves a submission, or the change of an approved application, as it was read: `version` is
    /// that of the [`Application`] that the reviewer saw.
    ///
    /// The first approval of a confidential client makes its secret, which is shown this once; a
    /// change makes none. The form is checked again under the rules of now. If the answer never
    /// arrives, [`rotate_secret`](Self::rotate_secret) makes another secret.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::ChangedMeanwhile`] if it was changed since; [`RegistrarError::Invalid`] if the
    /// form breaks a rule by now; [`RegistrarError::NotFound`],
    /// [`RegistrarError::NothingProposed`], [`RegistrarError::ScopesNotAsked`],
    /// [`RegistrarError::WrongState`] if rejected, or [`RegistrarError::Store`].
    pub async fn approve(&self, id: &ClientId, version: u32, approval: Approval) -> Result<Approved, RegistrarError> {
        let secret = ClientSecret::generate(&*self.context.entropy);
        let digest = Digest::of(secret.expose().as_bytes());
        let Taken { client, before } = self.take(id, &Step::Approve { version, approval, digest }).await?;
        let client_secret = client.secrets.prove(&digest).then_some(secret);
        let is_change = client_secret.is_none() && before != ClientState::Pending;
        let change = if is_change { ApplicationChange::ChangeApproved } else { ApplicationChange::Approved };
        self.raise(id, change);
        Ok(Approved { client_id: client.id.clone(), client_secret, is_change })
    }

    /// Refuses a submission, or the change of an approved application, whose approved version then
    /// stays in force; `version` is that of the [`Application`] that the reviewer saw.
    ///
    /// The reason has at most 1000 characters and no control character but U+000A.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::ChangedMeanwhile`] if it was changed since; [`RegistrarError::Invalid`] for the
    /// reason; [`RegistrarError::NotFound`],
    /// [`RegistrarError::NothingProposed`], [`RegistrarError::WrongState`] if rejected already, or
    /// [`RegistrarError::Store`].
    pub async fn reject(&self, id: &ClientId, version: u32, reason: &str) -> Result<(), RegistrarError> {
        let invalid = |problem| RegistrarError::Invalid(vec![FieldError::new(Field::Reason, problem)]);
        let reason = plain_text(reason, REASON_CHARACTERS).map_err(invalid)?;
        let reason = reason.ok_or_else(|| invalid(Problem::Missing))?;
        let taken = self.take(id, &Step::Reject { version, reason }).await?;
        let rejected = taken.client.state == ClientState::Rejected;
        let change = if rejected { ApplicationChange::Rejected } else { ApplicationChange::ChangeRejected };
        self.raise(id, change);
        Ok(())
    }

    /// Suspends an approved application: nothing is granted, and its tokens are refused meanwhile.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::NotFound`], [`RegistrarError::WrongState`] if it is not approved, or
    /// [`RegistrarError::Store`].
    pub async fn suspend(&self, id: &ClientId) -> Result<(), RegistrarError> {
        self.take(id, &Step::Suspend).await?;
        self.raise(id, ApplicationChange::Suspended);
        Ok(())
    }

    /// Lets a suspended application work again, with the tokens it had.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::NotFound`], [`RegistrarError::WrongState`] if it is not suspended, or
    /// [`RegistrarError::Store`].
    pub async fn resume(&self, id: &ClientId) -> Result<(), RegistrarError> {
        self.take(id, &Step::Resume).await?;
        self.raise(id, ApplicationChange::Resumed);
        Ok(())
    }

    /// Makes a client's next secret, which is shown this once; the one before stays valid beside it.
    ///
    /// A third secret takes the place of the oldest. `version` is that of the [`Application`] that was
    /// read before, so that a form sent twice does not end the secret in use.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::ChangedMeanwhile`] if it was changed since; [`RegistrarError::NotFound`],
    /// [`RegistrarError::PublicClient`], [`RegistrarError::WrongState`] if it was never approved, or
    /// [`RegistrarError::Store`].
    pub async fn rotate_secret(&self, id: &ClientId, version: u32) -> Result<ClientSecret, RegistrarError> {
        let secret = ClientSecret::generate(&*self.context.entropy);
        let digest = Digest::of(secret.expose().as_bytes());
        self.take(id, &Step::RotateSecret { version, digest }).await?;
        self.raise(id, ApplicationChange::SecretRotated);
        Ok(secret)
    }

    /// Ends the secret that was kept beside the newest, if there is one; `version` is that of the
    /// [`Application`] that was read before.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::ChangedMeanwhile`] if it was changed since; [`RegistrarError::NotFound`],
    /// [`RegistrarError::PublicClient`], [`RegistrarError::WrongState`] if it was never approved, or
    /// [`RegistrarError::Store`].
    pub async fn retire_previous_secret(&self, id: &ClientId, version: u32) -> Result<(), RegistrarError> {
        self.take(id, &Step::RetirePreviousSecret { version }).await?;
        self.raise(id, ApplicationChange::PreviousSecretRetired);
        Ok(())
    }

    /// Withdraws every code and grant that the client has from all its users.
    ///
    /// Where clients are cached, it is seen as late as the cache allows.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::NotFound`], or [`RegistrarError::Store`].
    pub async fn withdraw_grants(&self, id: &ClientId) -> Result<(), RegistrarError> {
        self.take(id, &Step::WithdrawGrants).await?;
        self.raise(id, ApplicationChange::GrantsWithdrawn);
        Ok(())
    }

    /// Returns an application with its review.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::NotFound`], or [`RegistrarError::Store`].
    pub async fn application(&self, id: &ClientId) -> Result<Arc<Application>, RegistrarError> {
        self.registry.application(id).await?.ok_or(RegistrarError::NotFound)
    }

    /// Returns a client as it is now, from no cache.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::NotFound`], or [`RegistrarError::Store`].
    pub async fn client(&self, id: &ClientId) -> Result<Arc<Client>, RegistrarError> {
        self.registry.current(id).await?.ok_or(RegistrarError::NotFound)
    }

    /// Returns a logo, if there is one in that place.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::Store`].
    pub async fn logo(&self, id: &ClientId, slot: LogoSlot) -> Result<Option<Arc<Logo>>, RegistrarError> {
        Ok(self.registry.logo(id, slot).await?)
    }

    /// Returns the applications that the filter names, ids ascending.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::Store`].
    pub async fn list(
        &self,
        filter: &ApplicationFilter,
        page: Page<ClientId>,
    ) -> Result<Vec<Arc<Application>>, RegistrarError> {
        Ok(self.registry.list(filter, page).await?)
    }

    fn raise(&self, client: &ClientId, change: ApplicationChange) {
        self.context.raise(&Event::Application { client, change });
    }

    /// Looks, judges and claims until the claim is won or the judgement is against it.
    async fn take(&self, id: &ClientId, step: &Step) -> Result<Taken, RegistrarError> {
        let now = self.context.now();
        for _ in 0..ATTEMPTS {
            let Some(current) = self.look(id, step).await? else { continue };
            let before = current.client.state;
            let next = step.judge(&current, &self.rules, now)?;
            let failure = match self.registry.replace(current.client.version, next.clone()).await {
                Ok(Replacement::Replaced) => return Ok(Taken { client: Arc::new(next.client), before }),
                Ok(Replacement::Lost) => None,
                Err(error) => Some(error),
            };
            // An answer may have been lost after the write was applied.
            match (self.applied(&next, step).await, failure) {
                (Ok(Some(client)), _) => return Ok(Taken { client, before }),
                (Ok(None), None) => {}
                (Err(error), None) => return Err(error),
                (Ok(None) | Err(_), Some(error)) => return Err(error.into()),
            }
        }
        Err(Contended.into())
    }

    /// Reads everything that the step is judged by; `None` if it changed in between.
    async fn look(&self, id: &ClientId, step: &Step) -> Result<Option<Current>, RegistrarError> {
        let Some(mut current) = self.read(id).await? else { return Ok(None) };
        current.proposed_logo = match step {
            Step::Approve { .. } if current.application.proposed.is_some() => {
                self.registry.logo(id, LogoSlot::Proposed).await?
            }
            Step::Approve { .. }
            | Step::Change { .. }
            | Step::Reject { .. }
            | Step::Suspend
            | Step::Resume
            | Step::RotateSecret { .. }
            | Step::RetirePreviousSecret { .. }
            | Step::WithdrawGrants => None,
        };
        Ok(Some(current))
    }

    /// Reads an application without its logos; `None` if it changed in between.
    async fn read(&self, id: &ClientId) -> Result<Option<Current>, RegistrarError> {
        let client = self.client(id).await?;
        let application = self.application(id).await?;
        let is_whole = client.version == application.version;
        Ok(is_whole.then_some(Current { client, application, proposed_logo: None }))
    }

    /// The client, if this very step is what made it, or made it before others changed it.
    async fn applied(&self, next: &Registration, step: &Step) -> Result<Option<Arc<Client>>, RegistrarError> {
        let is_next = |found: &Current| *found.client == next.client && *found.application == next.application;
        self.confirm(&next.client.id, |found| is_next(found) || step.is_carried_by(&found.client)).await
    }

    /// The client, if it is such: written once more as it was found, since a look alone acknowledges
    /// nothing (see [`confirm`](crate::grant::confirm)).
    async fn confirm(
        &self,
        id: &ClientId,
        is_such: impl Fn(&Current) -> bool,
    ) -> Result<Option<Arc<Client>>, RegistrarError> {
        for _ in 0..ATTEMPTS {
            let found = match self.read(id).await {
                Ok(Some(found)) => found,
                Ok(None) => continue,
                Err(RegistrarError::NotFound) => return Ok(None),
                Err(error) => return Err(error),
            };
            if !is_such(&found) {
                return Ok(None);
            }
            if self.registry.replace(found.client.version, successor(&found)?).await? == Replacement::Replaced {
                return Ok(Some(found.client));
            }
        }
        Err(Contended.into())
    }
}

/// A step that took effect.
struct Taken {
    /// The client as the step left it, or later.
    client: Arc<Client>,
    before: ClientState,
}
