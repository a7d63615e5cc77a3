//! Clients that register themselves: admission, their places, use, and eviction.
//!
//! A client that no person has reviewed has one of a fixed number of places. A registration draws places until it finds
//! a free one, or else takes that of a client that was never used. So the number of such clients is bounded, and
//! nothing is counted. Two registrations at once may share a place; the next one that draws it finds both.

use std::sync::Arc;

use crate::claim::{ATTEMPTS, claim};
use crate::client::application::{Application, ApplicationFilter, OpenApplication};
use crate::client::metadata::Admitted;
use crate::client::{AuthenticationMethods, Client, ClientOrigin, ClientState, OpenClient};
use crate::clock::Timestamp;
use crate::config::OpenClients;
use crate::hooks::ApplicationChange;
use crate::id::ClientId;
use crate::registrar::Registrar;
use crate::registrar::error::RegistrarError;
use crate::registrar::flows::{Submitting, Taken};
use crate::registrar::idle::{may_give_way, must_note_use, with_end};
use crate::registrar::judge::{Action, OpenSubmission, Submission};
use crate::secret::{ClientSecret, Digest};
use crate::store::Page;
use crate::text::LookAlikeKey;

/// How many places a registration draws.
const DRAWS: u32 = 8;
/// Clients of one place that are read. More than one are there only after registrations at once.
const OF_ONE_PLACE: usize = 8;

/// A client that a policy admitted.
pub(crate) struct Admission {
    pub(crate) origin: ClientOrigin,
    pub(crate) admitted: Admitted,
    /// Whether a person has to approve it before it can be used.
    pub(crate) awaits_review: bool,
}

/// A client that registered itself.
pub(crate) struct Registered {
    pub(crate) id: ClientId,
    /// Shown this once; only its digest is kept.
    pub(crate) secret: Option<ClientSecret>,
    pub(crate) at: Timestamp,
}

impl Registrar {
    /// Stores a client that a policy admitted.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::NoRoom`] if no place was found, or [`RegistrarError::Store`].
    pub(crate) async fn register(&self, admission: &Admission) -> Result<Registered, RegistrarError> {
        let Admission { origin, admitted, awaits_review } = admission;
        let (entropy, now, limits) = (&*self.context.entropy, self.context.now(), &self.context.config.open_clients);
        let slot = self.find_slot(now, limits).await?;
        let is_public = admitted.form.authentication_methods == AuthenticationMethods::PUBLIC;
        let secret = (!is_public).then(|| ClientSecret::generate(entropy));
        let client = OpenClient {
            origin: *origin,
            registered: now,
            is_reviewed: false,
            default_scopes: admitted.default_scopes.clone(),
            end: admitted.lifetime.map(|lifetime| now.plus(lifetime)),
            used_until: None,
            gone_at: None,
            has_foreign_links: admitted.has_foreign_links(),
            looks_like_another: self.looks_like_another(&admitted.form.name).await?,
        };
        let client = with_end(&client, limits);
        let application =
            OpenApplication { slot: Some(slot), is_used: false, gone_at: client.gone_at, more: admitted.more.clone() };
        let open = OpenSubmission {
            client: Arc::new(client),
            application: Box::new(application),
            state: if *awaits_review { ClientState::Pending } else { ClientState::Approved },
            secret: secret.as_ref().map(|secret| Digest::of(secret.expose().as_bytes())),
        };
        let submission = Submission {
            owner: None,
            form: admitted.form.clone(),
            logo: None,
            now,
            mark: self.mark(),
            open: Some(open),
        };
        let id = ClientId::generate(entropy);
        let mut flow = Submitting { registry: &*self.registry, entropy, submission, id, meant: None };
        let id = claim(&self.context.stores, &mut flow, Some(ATTEMPTS)).await?;
        self.raise(&id, super::FIRST_VERSION, None, ApplicationChange::Registered);
        Ok(Registered { id, secret, at: now })
    }

    /// Notes that a user approved a client, or that it refreshed, if that has to be written.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::NotFound`] if the client has been removed, or [`RegistrarError::Store`].
    pub(crate) async fn note_use(&self, client: &Client, until: Timestamp) -> Result<(), RegistrarError> {
        if !must_note_use(client, until) {
            return Ok(());
        }
        self.take(&client.id, None, None, Action::NoteUse { until, limits: self.context.config.open_clients }).await?;
        Ok(())
    }

    /// Finds a place, and frees it.
    async fn find_slot(&self, now: Timestamp, limits: &OpenClients) -> Result<u32, RegistrarError> {
        let mut oldest: Option<(Timestamp, u32, Vec<Arc<Application>>)> = None;
        for slot in self.draw_slots(limits.most) {
            let page = Page::first(OF_ONE_PLACE);
            let occupants = self.registry.list(&ApplicationFilter::Slot(slot), page).await?;
            if occupants.is_empty() {
                return Ok(slot);
            }
            let since = occupants.iter().map(|occupant| occupant.submitted).max().unwrap_or(now);
            let is_older = oldest.as_ref().is_none_or(|(oldest, ..)| since < *oldest);
            if is_older && occupants.iter().all(|occupant| may_give_way(occupant)) {
                oldest = Some((since, slot, occupants));
            }
        }
        let (_, slot, occupants) = oldest.ok_or(RegistrarError::NoRoom)?;
        for occupant in occupants {
            self.evict(&occupant).await?;
        }
        Ok(slot)
    }

    /// Removes a client that was never used. What another request has removed or begun to use meanwhile stays as it is:
    /// the place then has one client more.
    async fn evict(&self, occupant: &Application) -> Result<(), RegistrarError> {
        match self.take(&occupant.id, None, Some(occupant.version), Action::Evict).await {
            Ok(Taken { client, .. }) => {
                self.raise(&client.id, client.version, None, ApplicationChange::Evicted);
                Ok(())
            }
            Err(RegistrarError::ChangedMeanwhile | RegistrarError::NotFound) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Draws places that differ; all of them where there are few.
    fn draw_slots(&self, most: u32) -> impl Iterator<Item = u32> {
        let mut drawn = [0; 4];
        self.context.entropy.fill(&mut drawn);
        let first = u32::from_be_bytes(drawn) % most.max(1);
        // Places that are far apart are as good as places that are drawn anew.
        let step = (most / DRAWS).max(1);
        let draws = DRAWS.min(most);
        (0..draws).map(move |draw| {
            let place = u64::from(first) + u64::from(draw) * u64::from(step);
            u32::try_from(place % u64::from(most.max(1))).unwrap_or_default()
        })
    }

    /// Returns whether an approved application has a name that looks like this one.
    async fn looks_like_another(&self, name: &str) -> Result<bool, RegistrarError> {
        for key in LookAlikeKey::of(name) {
            let filter = ApplicationFilter::LooksLike(key);
            let alike = self.registry.list(&filter, Page::first(super::LOOK_ALIKE_PAGE)).await?;
            let is_known =
                |other: &Arc<Application>| matches!(other.state, ClientState::Approved | ClientState::Suspended);
            if alike.iter().any(is_known) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
