//! The life of an application: submission, review and administration.
//!
//! pending → approved | rejected; rejected → pending; approved ↔ suspended; any → deleted. A change of an approved
//! application is reviewed too, and the approved version stays in force until then.

mod administration;
pub(crate) mod approval;
mod claims;
mod document;
mod draft;
pub(crate) mod error;
#[cfg(test)]
mod fixtures;
mod initial_token;
mod judge;
mod logos;
mod open;
mod own_client;
mod owner;
mod places;
mod reduction;
mod rules;
mod submission;
mod update;
pub(crate) mod usage;
mod user_approval;

pub(crate) use approval::Approval;
pub use approval::Approved;
pub(crate) use document::DocumentClient;
pub(crate) use draft::DocumentAdmission;
pub use error::Extension;
pub(crate) use error::RegistrarError;
pub(crate) use initial_token::InitialAccess;
pub use initial_token::{InitialAccessTokenTerms, MadeInitialAccessToken};
pub(crate) use open::{Admission, Decided, Registered};
pub use own_client::OwnClient;
pub use reduction::Reduction;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::id::{ClientId, Subject};
use crate::claim::{ATTEMPTS, claim_record, draw_version};
use crate::context::{Context, RegistrationRules};
use crate::hooks::{ApplicationChange, Event};
use crate::model::application::{
    Application, ApplicationFilter, ApplicationForm, Field, FieldError, Logo, LogoSlot, LookAlikeKey, Problem,
    REASON_CHARACTERS, RegistrationLimits, plain_text,
};
use crate::model::client::{Client, ClientState};
use crate::registration::claims::{Submitting, Taken, Taking};
use crate::registration::judge::Action;
use crate::registration::submission::Submission;
use crate::store::{Page, StoreError};

/// Registers applications: submission, review and administration.
///
/// The library serves none of these methods over HTTP. Your service decides who may call which:
///
/// - The owner of an application may [`change`](Self::change) it, make and replace its secret
///   ([`claim_secret`](Self::claim_secret), [`rotate_secret`](Self::rotate_secret),
///   [`revoke_previous_secret`](Self::revoke_previous_secret)), replace its keys
///   ([`replace_own_keys`](Self::replace_own_keys)), and delete it ([`delete_own`](Self::delete_own)). These methods
///   take the owner. For any other subject they return [`RegistrarError::NotFound`].
/// - A reviewer may [`approve`](Self::approve) and [`reject`](Self::reject).
/// - An administrator may take all other steps. The registrar does not check this: check the caller.
/// - The program describes its first-party clients with [`ensure_client`](Self::ensure_client), and [creates initial
///   access tokens](Self::make_initial_access_token).
///
/// Every step is one conditional write. After [`RegistrarError::Store`] it may or may not have taken effect; it is safe
/// to read the application and to call again. Each step that took effect raises one [`Event::Application`]. With
/// [`CachedClients`](crate::CachedClients) in front of the store, a step takes effect immediately in this process, and
/// in other processes within the time to live of their caches.
#[derive(Clone, Debug)]
pub struct Registrar {
    context: Arc<Context>,
    actor: Option<Subject>,
}

impl Registrar {
    /// Creates a registrar if there is a registry to write to.
    pub(crate) fn new(context: Arc<Context>) -> Option<Self> {
        if !context.stores.has_registry {
            return None;
        }
        Some(Self { context, actor: None })
    }

    /// Creates a registrar. `build()` ensures that there is a registry where clients may register themselves.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if there is none all the same.
    pub(crate) fn required(context: &Arc<Context>) -> Result<Self, StoreError> {
        Self::new(Arc::clone(context)).ok_or_else(|| {
            StoreError::permanent("the clients are in a directory (Stores::with_clients), so there is no registry")
        })
    }

    /// Sets the actor that the events of the steps name ([`Event::Application`]). Without it, events of an owner's
    /// steps name the owner, and other events name no actor.
    ///
    /// # Examples
    ///
    /// ```
    /// use grantor::{AuthorizationServer, ClientId, RegistrarError, Subject};
    ///
    /// async fn suspend(server: &AuthorizationServer, admin: Subject, id: &ClientId) -> Result<(), RegistrarError> {
    ///     let Some(registrar) = server.registrar() else { return Ok(()) };
    ///     registrar.with_actor(admin).suspend(id).await
    /// }
    /// ```
    #[must_use]
    pub fn with_actor(self, actor: Subject) -> Self {
        Self { actor: Some(actor), ..self }
    }

    /// Returns the limits of the form's fields, for the page that shows the form.
    #[must_use]
    pub fn limits(&self) -> &RegistrationLimits {
        &self.rules().limits
    }

    /// Submits a new application for review, and returns its client id [RFC 6749 section 2.2]. It belongs to `owner`.
    ///
    /// The logo is required.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::Invalid`] with everything that is wrong, or [`RegistrarError::Store`].
    pub async fn submit(
        &self,
        owner: Subject,
        form: ApplicationForm,
        logo: Option<Logo>,
    ) -> Result<ClientId, RegistrarError> {
        let (form, logo) = self.rules().check_new(&form, logo)?;
        let logo = self.insert_logo(logo).await?;
        let (now, version) = (self.context.now(), draw_version(&*self.context.entropy));
        let submission = Submission { owner: Some(owner.clone()), form, logo: Some(logo), now, version, open: None };
        let application = self.insert(submission).await?;
        self.keep_logo(logo).await?;
        let id = application.id().clone();
        self.raise(&id, Some(&owner), ApplicationChange::Submitted);
        Ok(id)
    }

    /// Approves a submission, or the change of an approved application; `version` is the version of the [`Application`]
    /// that the reviewer saw.
    ///
    /// It creates no secret: the owner of a confidential client does, with [`claim_secret`](Self::claim_secret). Until
    /// then the client cannot authenticate. A client with keys has no secret: it can authenticate at once, and the
    /// approval of a change from a secret to keys ends its secrets. The form is checked again under the current rules.
    ///
    /// A client that registered itself already has its secret. Its form may lack a name, a website and a logo, which
    /// users see: the [`Approval`] supplies them. After the approval the client counts as reviewed. A client that a
    /// policy approved is reviewed in the same way.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::ChangedMeanwhile`] if it was changed since; [`RegistrarError::Invalid`] if the form now breaks
    /// a rule; [`RegistrarError::NotFound`], [`RegistrarError::NothingProposed`], [`RegistrarError::ScopesNotAsked`],
    /// [`RegistrarError::PublicClient`] if the approval gives what only confidential clients may have,
    /// [`RegistrarError::WrongState`] if rejected, or [`RegistrarError::Store`].
    pub async fn approve(&self, id: &ClientId, version: u32, approval: Approval) -> Result<Approved, RegistrarError> {
        self.keep_logos_of(id, version).await?;
        let logo = match &approval.logo {
            // It is kept at once: after an error of the store, nobody would approve the application again.
            Some(logo) => {
                let id = self.insert_logo(logo.clone().into()).await?;
                self.keep_logo(id).await?;
                Some(id)
            }
            None => None,
        };
        let action = Action::Approve { approval: Box::new(approval), logo };
        let Taken { before, .. } = self.take_with_logo(id, None, Some(version), action, logo).await?;
        let is_change = before.state() != ClientState::Pending;
        let change = if is_change { ApplicationChange::ChangeApproved } else { ApplicationChange::Approved };
        self.raise(id, None, change);
        Ok(Approved { client_id: id.clone(), is_change })
    }

    /// Rejects a submission, or the change of an approved application; the approved version then stays in force.
    /// `version` is the version of the [`Application`] that the reviewer saw.
    ///
    /// The reason has at most 1000 characters and, like all texts that people see, none that could mislead
    /// ([`TextFault`](crate::text::TextFault)). Its lines end with U+000A alone.
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
        let Taken { after, .. } = self.take(id, None, Some(version), Action::Reject { reason }).await?;
        let is_rejected = after.state() == ClientState::Rejected;
        let change = if is_rejected { ApplicationChange::Rejected } else { ApplicationChange::ChangeRejected };
        self.raise(id, None, change);
        Ok(())
    }

    /// Returns an application with its review.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::NotFound`], or [`RegistrarError::Store`].
    pub async fn application(&self, id: &ClientId) -> Result<Arc<Application>, RegistrarError> {
        let application = self.context.stores.applications.find(id).await?;
        application.filter(|found| found.state() != ClientState::Deleted).ok_or(RegistrarError::NotFound)
    }

    /// Returns a client as it is now, bypassing caches.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::NotFound`], or [`RegistrarError::Store`].
    pub async fn client(&self, id: &ClientId) -> Result<Arc<Client>, RegistrarError> {
        let client = self.context.stores.clients.current_client(id).await?;
        client.filter(|found| found.state != ClientState::Deleted).ok_or(RegistrarError::NotFound)
    }

    /// Returns the logo in that slot, if there is one.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::Store`].
    pub async fn logo(&self, id: &ClientId, slot: LogoSlot) -> Result<Option<Arc<Logo>>, RegistrarError> {
        let Some(application) = self.context.stores.applications.find(id).await? else { return Ok(None) };
        let logo = match slot {
            LogoSlot::InForce => application.logo,
            LogoSlot::Proposed => application.proposed_logo,
        };
        let Some(logo) = logo else { return Ok(None) };
        let found = self.context.stores.application_logos.find(&logo).await?;
        Ok(found.map(|found| Arc::new(found.logo.clone())))
    }

    /// Returns the applications that match the filter, ordered by id.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::Store`].
    pub async fn list(
        &self,
        filter: &ApplicationFilter,
        page: Page<ClientId>,
    ) -> Result<Vec<Arc<Application>>, RegistrarError> {
        Ok(self.context.stores.applications.list(&filter.key(), page).await?)
    }

    /// Returns up to 5 applications of other owners that have a name similar in appearance to the newest name of this
    /// one, ordered by id. Names in force and proposed names are compared.
    ///
    /// Rejected applications are left out. Use the result to warn the reviewer, not to refuse: names may look alike for
    /// good reasons. It reads one page of a list for each [key](LookAlikeKey::of) of the name, and more only if the
    /// owner has many applications of that name. A new version of Unicode may change keys; an application is found
    /// under its new keys after its next change.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::Store`].
    pub async fn look_alikes(&self, application: &Application) -> Result<Vec<Arc<Application>>, RegistrarError> {
        let mut found = BTreeMap::new();
        for key in LookAlikeKey::of(application.newest_name()) {
            let similar = self.others_listed(&ApplicationFilter::LooksLike(key), application).await?;
            found.extend(similar.into_iter().map(|other| (other.id().clone(), other)));
        }
        Ok(found.into_values().take(MAX_LOOK_ALIKES).collect())
    }

    /// Reads a list until it has enough applications of other owners. Two applications without an owner have different
    /// ones.
    async fn others_listed(
        &self,
        filter: &ApplicationFilter,
        own: &Application,
    ) -> Result<Vec<Arc<Application>>, RegistrarError> {
        let has_same_owner = |other: &Application| own.owner.is_some() && other.owner == own.owner;
        let (mut found, mut page) = (Vec::new(), Page::first(LOOK_ALIKE_PAGE));
        loop {
            let listed = self.list(filter, page).await?;
            let others = listed.iter().filter(|other| other.id() != own.id() && !has_same_owner(other));
            found.extend(others.cloned());
            match listed.last() {
                Some(last) if listed.len() == LOOK_ALIKE_PAGE && found.len() < MAX_LOOK_ALIKES => {
                    page = Page::after(last.id().clone(), LOOK_ALIKE_PAGE);
                }
                _ => return Ok(found),
            }
        }
    }

    fn rules(&self) -> &RegistrationRules {
        &self.context.registration_rules
    }

    /// Raises the event of a step; `owner` is the owner who took it, if any.
    fn raise(&self, client: &ClientId, owner: Option<&Subject>, change: ApplicationChange<'_>) {
        let actor = self.actor.as_ref().or(owner);
        self.context.raise(&Event::Application { client, actor, change });
    }

    /// Inserts a new application.
    async fn insert(&self, submission: Submission) -> Result<Arc<Application>, RegistrarError> {
        let mut submitting = Submitting { context: &self.context, submission, tried: None };
        let ((), application) = claim_record(&self.context, &mut submitting, Some(ATTEMPTS)).await?;
        application.ok_or(RegistrarError::NotFound)
    }

    /// Takes a step and raises its event.
    async fn carry_out(
        &self,
        id: &ClientId,
        owner: Option<&Subject>,
        version: Option<u32>,
        action: Action,
        change: ApplicationChange<'_>,
    ) -> Result<(), RegistrarError> {
        self.take(id, owner, version, action).await?;
        self.raise(id, owner, change);
        Ok(())
    }

    /// Takes a step. Checks the owner if one is given, and the version that was read if one is given.
    async fn take(
        &self,
        id: &ClientId,
        owner: Option<&Subject>,
        version: Option<u32>,
        action: Action,
    ) -> Result<Taken, RegistrarError> {
        let step = judge::Step { owner, version, action };
        let (context, rules, now) = (&*self.context, self.rules(), self.context.now());
        let mut taking = Taking { context, rules, id, step: &step, now };
        let (before, after) = claim_record(context, &mut taking, Some(ATTEMPTS)).await?;
        let (before, after) = (before?, after.ok_or(RegistrarError::NotFound)?);
        self.expire_logos(before.logos().filter(|logo| after.logos().all(|left| left != *logo))).await;
        Ok(Taken { before, after })
    }
}

/// The most look-alikes that are returned. More would not help a reviewer.
const MAX_LOOK_ALIKES: usize = 5;
/// Applications read at once: as many as are wanted, plus room for some of the same owner.
const LOOK_ALIKE_PAGE: usize = 20;
