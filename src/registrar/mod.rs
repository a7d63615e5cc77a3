//! Applications from submission to approval and after: what becomes of them is decided here.
//!
//! pending → approved | rejected; rejected → pending; approved ↔ suspended; any → deleted. A change of an approved
//! application is reviewed too, and the approved version stays in force until then.

mod administration;
mod approval;
mod deletion;
mod document;
mod draft;
mod ensure;
mod error;
mod flows;
mod idle;
mod in_force;
mod initial_token;
mod judge;
mod keys;
mod management;
mod narrowing;
mod open;
mod owner;
mod rules;
mod update;
mod widening;

pub use approval::{Approval, Approved};
pub(crate) use document::Standing;
pub(crate) use draft::{DocumentAdmission, is_of_document};
pub use error::RegistrarError;
pub(crate) use idle::must_note_use;
pub(crate) use initial_token::InitialAccess;
pub use initial_token::{InitialAccessTokenTerms, MadeInitialAccessToken};
pub(crate) use management::{Decided, OwnRegistration};
pub use narrowing::Narrowing;
pub(crate) use open::{Admission, Registered};
pub(crate) use rules::RegistrationRules;
pub use widening::Widening;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::claim::{ATTEMPTS, claim};
use crate::client::application::{
    Application, ApplicationFilter, ApplicationForm, Field, FieldError, Logo, LogoSlot, MARK_BYTES, Problem,
    REASON_CHARACTERS, RegistrationLimits, plain_text,
};
use crate::client::{Client, ClientState, GrantTypes};
use crate::config::Config;
use crate::context::Context;
use crate::hooks::{ApplicationChange, Event};
use crate::id::ClientId;
use crate::registrar::flows::{Submitting, Taken, Taking};
use crate::registrar::judge::{Action, Submission};
use crate::store::{ClientRegistry, Page};
use crate::subject::Subject;
use crate::text::LookAlikeKey;

/// Registers applications: submission, review and administration.
///
/// Who may call what is the embedder's to decide, and the library serves none of it over HTTP:
///
/// - The owner of an application may [`change`](Self::change) it, make and replace its secret
///   ([`claim_secret`](Self::claim_secret), [`rotate_secret`](Self::rotate_secret),
///   [`retire_previous_secret`](Self::retire_previous_secret)), replace its keys
///   ([`replace_own_keys`](Self::replace_own_keys)), and delete it ([`delete_own`](Self::delete_own)).
///   These steps name the owner. For any other subject there is no such application.
/// - A reviewer may [`approve`](Self::approve) and [`reject`](Self::reject).
/// - An administrator may take all other steps. The registrar knows no administrators: check who calls.
/// - The program itself describes its own clients with [`ensure_client`](Self::ensure_client), and [makes initial
///   access tokens](Self::make_initial_access_token).
///
/// Every step is one conditional write. After [`RegistrarError::Store`] it may have taken effect or
/// not, and it is safe to read the application and to call again. Each step that took effect raises one
/// [`Event::Application`]. With [`CachedClients`](crate::CachedClients) in front of the store, this process acts by a
/// step at once, other processes within the time to live of their caches.
#[derive(Clone, Debug)]
pub struct Registrar {
    registry: Arc<dyn ClientRegistry>,
    rules: RegistrationRules,
    context: Arc<Context>,
    actor: Option<Subject>,
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
            keys: config.assurance_rules(context.key_sets.is_some()),
            reservation: reservation(config),
        };
        Some(Self { registry, rules, context, actor: None })
    }

    /// Names who takes the steps, for their events: [`Event::Application`]. Without it, the owner's steps name the
    /// owner, and others nobody.
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

    /// Returns the limits of the form's fields, for the page that asks for them.
    #[must_use]
    pub const fn limits(&self) -> &RegistrationLimits {
        &self.rules.limits
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
        let (form, logo) = self.rules.check_new(&form, logo)?;
        let (now, mark) = (self.context.now(), self.mark());
        let submission = Submission { owner: Some(owner.clone()), form, logo: Some(logo), now, mark, open: None };
        let id = ClientId::generate(&*self.context.entropy);
        let mut flow =
            Submitting { registry: &*self.registry, entropy: &*self.context.entropy, submission, id, meant: None };
        let id = claim(&self.context.stores, &mut flow, Some(ATTEMPTS)).await?;
        self.raise(&id, FIRST_VERSION, Some(&owner), ApplicationChange::Submitted);
        Ok(id)
    }

    /// Approves a submission, or the change of an approved application, as it was read: `version` is
    /// that of the [`Application`] that the reviewer saw.
    ///
    /// It makes no secret: the owner of a confidential client does, with [`claim_secret`](Self::claim_secret). Until
    /// then the client cannot authenticate. A client with keys has no secret: it can authenticate at once, and the
    /// approval of a change from a secret to keys ends its secrets. The form is checked again under the rules of now.
    ///
    /// A client that registered itself has its secret already. Its form may lack a name, a website and a logo, which
    /// users see: the [`Approval`] supplies them. From then on the client counts as reviewed. One that a policy approved
    /// is reviewed in the same way.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::ChangedMeanwhile`] if it was changed since; [`RegistrarError::Invalid`] if the
    /// form breaks a rule by now; [`RegistrarError::NotFound`],
    /// [`RegistrarError::NothingProposed`], [`RegistrarError::ScopesNotAsked`],
    /// [`RegistrarError::PublicClient`] if the approval gives what only confidential clients may have,
    /// [`RegistrarError::TooManyResourceLists`] if resources were replaced too often,
    /// [`RegistrarError::WrongState`] if rejected, or [`RegistrarError::Store`].
    pub async fn approve(&self, id: &ClientId, version: u32, approval: Approval) -> Result<Approved, RegistrarError> {
        let Taken { client, before, .. } =
            self.take(id, None, Some(version), Action::Approve(Box::new(approval))).await?;
        let is_change = before.client.state != ClientState::Pending;
        let change = if is_change { ApplicationChange::ChangeApproved } else { ApplicationChange::Approved };
        self.raise(id, client.version, None, change);
        Ok(Approved { client_id: client.id, is_change })
    }

    /// Refuses a submission, or the change of an approved application, whose approved version then
    /// stays in force; `version` is that of the [`Application`] that the reviewer saw.
    ///
    /// The reason has at most 1000 characters and, as all texts that people see, none that could mislead
    /// ([`TextFault`](crate::TextFault)). Its lines end with U+000A alone.
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
        let Taken { client, .. } = self.take(id, None, Some(version), Action::Reject { reason }).await?;
        let is_rejected = client.state == ClientState::Rejected;
        let change = if is_rejected { ApplicationChange::Rejected } else { ApplicationChange::ChangeRejected };
        self.raise(id, client.version, None, change);
        Ok(())
    }

    /// Returns an application with its review.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::NotFound`], or [`RegistrarError::Store`].
    pub async fn application(&self, id: &ClientId) -> Result<Arc<Application>, RegistrarError> {
        let application = self.registry.application(id).await?;
        application.filter(|found| found.state != ClientState::Deleted).ok_or(RegistrarError::NotFound)
    }

    /// Returns a client as it is now, from no cache.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::NotFound`], or [`RegistrarError::Store`].
    pub async fn client(&self, id: &ClientId) -> Result<Arc<Client>, RegistrarError> {
        let client = self.registry.current(id).await?;
        client.filter(|found| found.state != ClientState::Deleted).ok_or(RegistrarError::NotFound)
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

    /// Returns up to 5 applications of other owners with a name, in force or proposed, that looks like the newest name
    /// of this one, ids ascending.
    ///
    /// Rejected applications are left out. It is for a warning to the reviewer, not for a refusal: names may be alike
    /// for good reasons. It reads one page of a list for each [key](LookAlikeKey::of) of the name, and more only if the
    /// owner has many applications of that name. A new version of Unicode may change keys; an application is found
    /// under its new ones from its next change on.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::Store`].
    pub async fn look_alikes(&self, application: &Application) -> Result<Vec<Arc<Application>>, RegistrarError> {
        let mut found = BTreeMap::new();
        for key in LookAlikeKey::of(application.newest_name()) {
            let alike = self.others_listed(&ApplicationFilter::LooksLike(key), application.owner()).await?;
            found.extend(alike.into_iter().map(|other| (other.id().clone(), other)));
        }
        Ok(found.into_values().take(MOST_LOOK_ALIKES).collect())
    }

    /// Reads a list until enough are of another owner.
    async fn others_listed(
        &self,
        filter: &ApplicationFilter,
        owner: Option<&Subject>,
    ) -> Result<Vec<Arc<Application>>, RegistrarError> {
        let (mut found, mut page) = (Vec::new(), Page::first(LOOK_ALIKE_PAGE));
        loop {
            let listed = self.registry.list(filter, page).await?;
            found.extend(listed.iter().filter(|other| other.owner() != owner).cloned());
            match listed.last() {
                Some(last) if listed.len() == LOOK_ALIKE_PAGE && found.len() < MOST_LOOK_ALIKES => {
                    page = Page::after(last.id().clone(), LOOK_ALIKE_PAGE);
                }
                _ => return Ok(found),
            }
        }
    }

    /// Raises the event of a step; `owner` is who took it, where it names one.
    fn raise(&self, client: &ClientId, version: u32, owner: Option<&Subject>, change: ApplicationChange<'_>) {
        let actor = self.actor.as_ref().or(owner);
        self.context.raise(&Event::Application { client, version, actor, change });
    }

    /// Random bytes, drawn once for each step.
    fn mark(&self) -> [u8; MARK_BYTES] {
        let mut mark = [0; MARK_BYTES];
        self.context.entropy.fill(&mut mark);
        mark
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
        let Taken { client, .. } = self.take(id, owner, version, action).await?;
        self.raise(id, client.version, owner, change);
        Ok(())
    }

    /// Takes a step, for the owner if one is named, on the version that was read if one is named.
    async fn take(
        &self,
        id: &ClientId,
        owner: Option<&Subject>,
        version: Option<u32>,
        action: Action,
    ) -> Result<Taken, RegistrarError> {
        let step = judge::Step { mark: self.mark(), owner, version, action };
        let (rules, now) = (&self.rules, self.context.now());
        let mut flow = Taking { registry: &*self.registry, rules, id, step: &step, now, current: None };
        claim(&self.context.stores, &mut flow, Some(ATTEMPTS)).await?
    }
}

/// More would tell a reviewer nothing new.
const MOST_LOOK_ALIKES: usize = 5;
/// Applications read at once: as many as are wanted, and some of the same owner.
const LOOK_ALIKE_PAGE: usize = 20;
/// The version of a new registration.
const FIRST_VERSION: u32 = 1;

/// How long the id of a deleted client is kept: until the last token that it could have got would have ended, and an
/// hour, within which every write that is under way is done and every cache has read the client anew.
fn reservation(config: &Config) -> Duration {
    let lives = [config.access_token_lifetime, config.refresh_token_lifetime, config.machine_token_lifetime];
    let longest = lives.into_iter().max().unwrap_or_default();
    longest.saturating_add(config.code_lifetime).saturating_add(Duration::from_secs(3600))
}
