//! Clients that register themselves: their admission, and the steps that they take on their registration [RFC 7592].

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::id::ClientId;
use crate::claim::draw_version;
use crate::config::ClientLifetimes;
use crate::error::Reason;
use crate::hooks::ApplicationChange;
use crate::model::application::{
    Application, ApplicationFilter, ClientPlace, ClientRoom, LookAlikeKey, Management, OpenApplication,
};
use crate::model::client::{ClientOrigin, ClientState, SelfRegistration};
use crate::model::client_metadata::{Admitted, RegistrationBounds, Replacement};
use crate::registration::Registrar;
use crate::registration::claims::Taken;
use crate::registration::error::RegistrarError;
use crate::registration::initial_token::InitialAccess;
use crate::registration::judge::Action;
use crate::registration::submission::{OpenSubmission, Submission};
use crate::registration::update::{Update, check_token};
use crate::registration::user_approval::with_end;
use crate::secret::{ClientSecret, Digest, RegistrationAccessToken};
use crate::store::Page;

/// How many pages of applications with similar names are read: 200 applications.
const LOOK_ALIKE_PAGES: usize = 10;

/// A client that a policy admitted.
pub(crate) struct Admission {
    pub(crate) origin: ClientOrigin,
    pub(crate) admitted: Admitted,
    /// The bounds that it was admitted within.
    pub(crate) bounds: RegistrationBounds,
    /// Whether a person must approve it before it can be used.
    pub(crate) awaits_review: bool,
    /// The initial access token of which a use is spent.
    pub(crate) initial: Option<InitialAccess>,
}

/// A client that registered itself.
pub(crate) struct Registered {
    pub(crate) application: Arc<Application>,
    /// Returned only here; the server keeps only its digest.
    pub(crate) secret: Option<ClientSecret>,
    /// Present if the client may manage its registration; only its digest is stored.
    pub(crate) token: Option<RegistrationAccessToken>,
}

impl Admission {
    /// Returns the records of the client, without a secret.
    fn submission(
        &self,
        place: ClientPlace,
        looks_like_another: bool,
        token: Option<&RegistrationAccessToken>,
        now: Timestamp,
        limits: &ClientLifetimes,
    ) -> OpenSubmission {
        let Self { origin, admitted, bounds, awaits_review, .. } = self;
        let client = SelfRegistration {
            origin: *origin,
            registered: now,
            is_reviewed: false,
            default_scopes: admitted.default_scopes.clone(),
            resources: admitted.resources.clone(),
            end: admitted.lifetime.map(|lifetime| now.plus(lifetime)),
            used_until: None,
            gone_at: None,
            has_foreign_links: admitted.has_foreign_links(),
            looks_like_another,
            document: None,
        };
        let client = with_end(&client, limits);
        let management = token.map(|token| {
            let (token, bounds) = (Digest::of(token.expose().as_bytes()), bounds.clone());
            Box::new(Management { token, bounds, updates_await_review: false })
        });
        let application = OpenApplication {
            place: Some(place),
            more: admitted.more.clone(),
            management,
            ..OpenApplication::default()
        };
        OpenSubmission {
            client: Arc::new(client),
            application: Box::new(application),
            state: if *awaits_review { ClientState::Pending } else { ClientState::Approved },
            secret: None,
        }
    }
}

impl Registrar {
    /// Stores a client that a policy admitted.
    ///
    /// Everything is read before anything is written. Then a use of the initial access token is spent, and last the
    /// client is written. A crash in between loses a use, but there are never more clients than uses.
    ///
    /// # Errors
    ///
    /// [`Reason::TooManyClients`] if no place was found, a store error, or an error of [`spend`](Self::spend).
    pub(crate) async fn register(&self, admission: &Admission) -> Result<Registered, Reason> {
        let (now, config) = (self.context.now(), &self.context.config);
        let found = self.find_place(ClientRoom { has_document: false, is_approved: false }).await?;
        let looks_like_another = self.looks_like_another(&admission.admitted.form.name, None).await?;
        let (entropy, prefixes) = (&*self.context.entropy, &self.context.prefixes);
        let token = config
            .registration
            .management
            .then(|| RegistrationAccessToken::generate(&prefixes.registration_access_token, entropy));
        let needs_secret = admission.admitted.form.authentication_methods.use_secret();
        let secret = needs_secret.then(|| ClientSecret::generate(entropy));
        let open = OpenSubmission {
            secret: secret.as_ref().map(|secret| Digest::of(secret.expose().as_bytes())),
            ..admission.submission(found.place, looks_like_another, token.as_ref(), now, &config.client_lifetimes())
        };
        if let Some(initial) = &admission.initial {
            self.spend(initial, now).await?;
        }
        self.free(&found).await?;
        let form = admission.admitted.form.clone();
        let version = draw_version(entropy);
        let submission = Submission { owner: None, form, logo: None, now, version, open: Some(open) };
        let application = self.insert(submission).await?;
        self.raise(application.id(), None, ApplicationChange::Registered);
        Ok(Registered { application, secret, token })
    }

    /// Returns whether the service, or an approved application other than `own`, has a name that looks like this one.
    ///
    /// It reads up to [`LOOK_ALIKE_PAGES`] pages of a list for each key of the name. If more applications share a key
    /// and none of those read is approved, the name counts as looking like another: an attacker may have submitted
    /// hundreds of applications to hide the approved one.
    pub(super) async fn looks_like_another(&self, name: &str, own: Option<&ClientId>) -> Result<bool, RegistrarError> {
        let of_service: Vec<_> = LookAlikeKey::of(&self.context.config.registration.service_name).collect();
        for key in LookAlikeKey::of(name) {
            if of_service.contains(&key) || self.is_known_by(&ApplicationFilter::LooksLike(key), own).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn is_known_by(&self, filter: &ApplicationFilter, own: Option<&ClientId>) -> Result<bool, RegistrarError> {
        let is_known = |other: &Arc<Application>| {
            own != Some(other.id()) && matches!(other.state(), ClientState::Approved | ClientState::Suspended)
        };
        let mut page = Page::first(crate::registration::LOOK_ALIKE_PAGE);
        for _ in 0..LOOK_ALIKE_PAGES {
            let similar = self.list(filter, page).await?;
            match similar.last() {
                _ if similar.iter().any(is_known) => return Ok(true),
                Some(last) if similar.len() == crate::registration::LOOK_ALIKE_PAGE => {
                    page = Page::after(last.id().clone(), crate::registration::LOOK_ALIKE_PAGE);
                }
                _ => return Ok(false),
            }
        }
        Ok(true)
    }
}

/// An update that a client sent for its own registration, and what the policy decided.
pub(crate) struct Decided {
    pub(crate) replacement: Replacement,
    pub(crate) bounds: RegistrationBounds,
    pub(crate) awaits_review: bool,
}

impl Registrar {
    /// Finds the registration of a client, if the digest is that of its token.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::NotFound`] if the token is not the client's; [`RegistrarError::WrongState`] if the client was
    /// rejected or suspended; [`RegistrarError::Store`].
    pub(crate) async fn own_registration(
        &self,
        id: &ClientId,
        token: &Digest,
    ) -> Result<Arc<Application>, RegistrarError> {
        let application = self.context.stores.applications.find(id).await?.ok_or(RegistrarError::NotFound)?;
        check_token(&application, token, self.context.now())?;
        Ok(application)
    }

    /// Replaces the registration of a client, if the digest is that of its token.
    ///
    /// # Errors
    ///
    /// As [`own_registration`](Self::own_registration), and [`RegistrarError::Metadata`].
    pub(crate) async fn update_own(
        &self,
        id: &ClientId,
        token: &Digest,
        decided: Decided,
    ) -> Result<Arc<Application>, RegistrarError> {
        let Decided { replacement, bounds, awaits_review } = decided;
        let name = replacement.metadata.name.as_deref().unwrap_or_default();
        let looks_like_another = self.looks_like_another(name, Some(id)).await?;
        let limits = self.context.config.client_lifetimes();
        let update = Update { token: *token, replacement, bounds, awaits_review, looks_like_another, limits };
        let Taken { after, .. } = self.take(id, None, None, Action::Update(Box::new(update))).await?;
        let is_proposed = after.proposed.is_some();
        let change = if is_proposed { ApplicationChange::ChangeProposed } else { ApplicationChange::Updated };
        self.raise(id, None, change);
        Ok(after)
    }

    /// Deletes a client with all its grants, if the digest is that of its token.
    ///
    /// # Errors
    ///
    /// As [`own_registration`](Self::own_registration).
    pub(crate) async fn delete_own_registration(&self, id: &ClientId, token: &Digest) -> Result<(), RegistrarError> {
        self.carry_out(id, None, None, Action::Deregister { token: *token }, ApplicationChange::Deleted).await
    }
}
