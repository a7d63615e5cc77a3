//! Clients that register themselves: their admission.

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::id::ClientId;
use crate::claim::draw_version;
use crate::config::ClientLifetimes;
use crate::error::Reason;
use crate::hooks::ApplicationChange;
use crate::model::application::LookAlikeKey;
use crate::model::application::{Application, ApplicationFilter, ClientPlace, ClientRoom, Management, OpenApplication};
use crate::model::client::{ClientOrigin, ClientState, SelfRegistration};
use crate::model::client_metadata::{Admitted, RegistrationBounds};
use crate::registration::Registrar;
use crate::registration::error::RegistrarError;
use crate::registration::initial_token::InitialAccess;
use crate::registration::last_use::with_end;
use crate::registration::submission::{OpenSubmission, Submission};
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

    /// Returns whether an approved application other than `own` has a name that looks like this one.
    ///
    /// It reads up to [`LOOK_ALIKE_PAGES`] pages of a list for each key of the name. If more applications share a key
    /// and none of those read is approved, the name counts as looking like another: an attacker may have submitted
    /// hundreds of applications to hide the approved one.
    pub(super) async fn looks_like_another(&self, name: &str, own: Option<&ClientId>) -> Result<bool, RegistrarError> {
        for key in LookAlikeKey::of(name) {
            if self.is_known_by(&ApplicationFilter::LooksLike(key), own).await? {
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
