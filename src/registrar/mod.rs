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

use crate::claim::{ATTEMPTS, After, Flow, Seen, Step, claim};
use crate::client::application::{
    Application, ApplicationFilter, ApplicationForm, Field, FieldError, Logo, LogoSlot, Problem, REASON_CHARACTERS,
    RegistrationLimits, plain_text,
};
use crate::client::{Client, ClientState, GrantTypes};
use crate::clock::Timestamp;
use crate::context::Context;
use crate::hooks::{ApplicationChange, Event};
use crate::id::ClientId;
use crate::registrar::judge::{Current, Submission};
use crate::secret::{ClientSecret, Digest};
use crate::store::{ClientRegistry, Page, Registration};
use crate::subject::Subject;

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
    /// Returns a registrar if there is a registry to write to; `grant_types` are those that the server offers.
    pub(crate) fn new(context: Arc<Context>, grant_types: GrantTypes) -> Option<Self> {
        let registry = context.stores.registry.clone()?;
        let config = &context.config;
        let rules = RegistrationRules {
            catalog: config.scopes.clone(),
            limits: config.registration.clone(),
            redirect_uris: config.redirect_uris.clone(),
            public_clients: config.public_clients,
            grant_types,
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
        let id = ClientId::generate(&*self.context.entropy);
        let mut flow = Submitting { registrar: self, submission, id, meant: None };
        let id = claim(&self.context.stores, &mut flow, Some(ATTEMPTS)).await?;
        self.raise(&id, ApplicationChange::Submitted);
        Ok(id)
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
        let taken = self.take(id, &judge::Step::Change { form: Box::new(form), logo }).await?;
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
    /// [`RegistrarError::PublicClient`] if the approval gives what only confidential clients may have,
    /// [`RegistrarError::WrongState`] if rejected, or [`RegistrarError::Store`].
    pub async fn approve(&self, id: &ClientId, version: u32, approval: Approval) -> Result<Approved, RegistrarError> {
        let secret = ClientSecret::generate(&*self.context.entropy);
        let digest = Digest::of(secret.expose().as_bytes());
        let Taken { client, before } = self.take(id, &judge::Step::Approve { version, approval, digest }).await?;
        let client_secret = client.secrets.prove(&digest).then_some(secret);
        let is_change = client_secret.is_none() && before != ClientState::Pending;
        let change = if is_change { ApplicationChange::ChangeApproved } else { ApplicationChange::Approved };
        self.raise(id, change);
        Ok(Approved { client_id: client.id, client_secret, is_change })
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
        let taken = self.take(id, &judge::Step::Reject { version, reason }).await?;
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
        self.take(id, &judge::Step::Suspend).await?;
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
        self.take(id, &judge::Step::Resume).await?;
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
        self.take(id, &judge::Step::RotateSecret { version, digest }).await?;
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
        self.take(id, &judge::Step::RetirePreviousSecret { version }).await?;
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
        self.take(id, &judge::Step::WithdrawGrants).await?;
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

    async fn take(&self, id: &ClientId, step: &judge::Step) -> Result<Taken, RegistrarError> {
        let mut flow = Taking { registrar: self, id, step, now: self.context.now(), current: None };
        claim(&self.context.stores, &mut flow, Some(ATTEMPTS)).await?
    }

    /// Reads an application without its logos; `None` if it changed in between.
    async fn read(&self, id: &ClientId) -> Result<Option<Current>, RegistrarError> {
        let client = self.client(id).await?;
        let application = self.application(id).await?;
        let is_whole = client.version == application.version;
        Ok(is_whole.then_some(Current { client, application, proposed_logo: None }))
    }
}

/// Inserts a submission under an id of its own.
struct Submitting<'a> {
    registrar: &'a Registrar,
    submission: Submission,
    /// The id that is tried next; after one that is taken, another.
    id: ClientId,
    meant: Option<ClientId>,
}

impl Flow for Submitting<'_> {
    type Row = Registration;
    type Won = ClientId;
    type Error = RegistrarError;

    async fn look(&mut self) -> Result<Seen<Registration>, RegistrarError> {
        let Some(id) = &self.meant else { return Ok(Seen::Unread) };
        self.id = ClientId::generate(&*self.registrar.context.entropy);
        match self.registrar.read(id).await {
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

/// Replaces a registration by what a step makes of it.
struct Taking<'a> {
    registrar: &'a Registrar,
    id: &'a ClientId,
    step: &'a judge::Step,
    now: Timestamp,
    current: Option<Current>,
}

/// A step that took effect.
struct Taken {
    /// The client as the step left it, or later.
    client: Client,
    before: ClientState,
}

impl Flow for Taking<'_> {
    type Row = Registration;
    type Won = Result<Taken, RegistrarError>;
    type Error = RegistrarError;

    async fn look(&mut self) -> Result<Seen<Registration>, RegistrarError> {
        self.current = self.registrar.read(self.id).await?;
        if let Some(current) = &mut self.current
            && self.step.may_move_logo()
            && current.application.proposed.is_some()
        {
            current.proposed_logo = self.registrar.registry.logo(self.id, LogoSlot::Proposed).await?;
        }
        Ok(seen(self.current.as_ref()))
    }

    fn judge(&mut self, _: &Seen<Registration>) -> Result<Step<Registration, Self::Won>, RegistrarError> {
        let current = self.current.as_ref().ok_or(RegistrarError::NotFound)?;
        match self.step.judge(current, &self.registrar.rules, self.now) {
            Ok(next) => {
                let taken = Taken { client: next.client.clone(), before: current.client.state };
                Ok(Step::Replace(Arc::new(next), Ok(taken)))
            }
            // It says how the application stands, and may be the answer to a step that is taken again.
            Err(
                error @ (RegistrarError::WrongState(_)
                | RegistrarError::ChangedMeanwhile
                | RegistrarError::NothingProposed),
            ) => Ok(Step::Confirm(Err(error))),
            Err(error) => Err(error),
        }
    }

    fn is_done(&self, found: &Registration, meant: &Registration, _: After) -> bool {
        let is_meant = found.client == meant.client && found.application == meant.application;
        is_meant || self.step.is_carried_by(&found.client)
    }
}

fn seen(current: Option<&Current>) -> Seen<Registration> {
    let Some(current) = current else { return Seen::Torn };
    let (client, application) = (Client::clone(&current.client), Application::clone(&current.application));
    Seen::Found(Arc::new(Registration::new(client, application)))
}
