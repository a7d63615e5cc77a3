//! The places of clients that no person has reviewed: which one a client gets, and who gives way for it.
//!
//! [`bounds`](crate::bounds) has the rule. A place is a list with one client, or with a few after concurrent writes: the
//! next request that reads the place finds them all.

use std::sync::Arc;

use crate::bounds::{CLIENTS_PER_SUBJECT, Met, draw_places, split_surplus};
use crate::claim::Contended;
use crate::clock::Timestamp;
use crate::config::ClientLifetimes;
use crate::hooks::ApplicationChange;
use crate::model::Authorization;
use crate::model::application::{Application, ApplicationFilter, ClientPlace, ClientRoom};
use crate::model::client::Client;
use crate::model::id::ClientId;
use crate::model::subject::Subject;
use crate::registration::Registrar;
use crate::registration::error::RegistrarError;
use crate::registration::judge::Action;
use crate::registration::last_use::{may_have_live_grant, must_note_use, used_until};
use crate::store::{Page, StoreError};

/// After so many places without a free one, the client that gives way is chosen among those that were met.
const ENOUGH_PLACES: usize = 8;
/// How many clients of one place are read. There is more than one only after concurrent writes.
const OF_ONE_PLACE: usize = 8;

/// A place for a client, and the clients that give way.
pub(super) struct FoundPlace {
    pub(super) place: ClientPlace,
    occupants: Vec<Arc<Application>>,
}

impl Registrar {
    /// Finds a free place, or one whose clients may give way. It writes nothing.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::NoRoom`] if all that were read must stay, or [`RegistrarError::Store`].
    pub(super) async fn find_place(&self, room: ClientRoom) -> Result<FoundPlace, RegistrarError> {
        let (now, count) = (self.context.now(), self.context.config.limits.client_places(room.is_approved));
        let mut met = Met::nobody();
        for (read, number) in draw_places(&*self.context.entropy, count).enumerate() {
            if read % ENOUGH_PLACES == 0
                && let Some(found) = met.take_first_to_go()
            {
                return Ok(found);
            }
            let place = ClientPlace { room, number };
            let occupants = self.list(&ApplicationFilter::Place(place), Page::first(OF_ONE_PLACE)).await?;
            if occupants.is_empty() {
                return Ok(FoundPlace { place, occupants });
            }
            if self.all_may_give_way(&occupants, now).await? {
                let since = occupants.iter().map(|occupant| used_since(&occupant.client)).max().unwrap_or(now);
                met.note_giving_way(since, FoundPlace { place, occupants });
            }
        }
        met.take_first_to_go().ok_or(RegistrarError::NoRoom)
    }

    /// Evicts the clients of the place. Call it after everything else is read.
    pub(super) async fn free(&self, found: &FoundPlace) -> Result<(), RegistrarError> {
        for occupant in &found.occupants {
            self.evict(occupant).await?;
        }
        Ok(())
    }

    /// Makes room for a client that this user approves: returns its place among the approved clients, or `None` if it has
    /// one, or needs none.
    pub(super) async fn make_room_for(
        &self,
        id: &ClientId,
        subject: &Subject,
    ) -> Result<Option<ClientPlace>, RegistrarError> {
        let application = self.application(id).await?;
        let Some(old) = application.place().filter(|place| !place.room.is_approved) else { return Ok(None) };
        let surplus = self.surplus_of(subject).await?;
        let found = self.find_place(ClientRoom { is_approved: true, ..old.room }).await?;
        for own in &surplus {
            self.evict(own).await?;
        }
        self.free(&found).await?;
        Ok(Some(found.place))
    }

    /// Returns the clients that give way so that this user may be the first to approve one more: those used longest ago.
    /// One that another user approved too stays, and so does a suspended one, which could come back otherwise.
    async fn surplus_of(&self, subject: &Subject) -> Result<Vec<Arc<Application>>, RegistrarError> {
        let page = Page::first(2 * CLIENTS_PER_SUBJECT);
        let approved = self.list(&ApplicationFilter::FirstApprovedBy(subject.clone()), page).await?;
        let must_stay =
            |own: &Arc<Application>| own.is_kept_out() || own.open.as_ref().is_some_and(|open| open.is_shared);
        let (stay, may_go): (Vec<_>, Vec<_>) = approved.into_iter().partition(must_stay);
        let left = (CLIENTS_PER_SUBJECT - 1).checked_sub(stay.len()).ok_or(RegistrarError::NoRoom)?;
        Ok(split_surplus(may_go, left, |own| (used_since(&own.client), own.id().clone())).0)
    }

    /// Returns whether all of these clients may lose their place: no grant of them is live, and no user is being asked
    /// about them.
    async fn all_may_give_way(&self, occupants: &[Arc<Application>], now: Timestamp) -> Result<bool, RegistrarError> {
        for occupant in occupants {
            if occupant.is_kept_out() || may_have_live_grant(&occupant.client, now) {
                return Ok(false);
            }
            let Some(asked) = occupant.open.as_ref().and_then(|open| open.asked) else { continue };
            let request = self.context.stores.codes.find(&asked).await?;
            let waits = |request: &Authorization| request.is_held(now) || request.has_code(now);
            if request.is_some_and(|request| request.client == *occupant.id() && waits(&request)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Removes a client. If another request has removed it or begun to use it meanwhile, nothing is done; the place then
    /// has one more client.
    async fn evict(&self, occupant: &Application) -> Result<(), RegistrarError> {
        match self.take(occupant.id(), None, Some(occupant.version()), Action::Evict).await {
            Ok(_) => {
                self.raise(occupant.id(), None, ApplicationChange::Evicted);
                Ok(())
            }
            Err(RegistrarError::ChangedMeanwhile | RegistrarError::NotFound) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Returns when the last grant of the client may have ended, or when it was registered, if no user approved it.
fn used_since(client: &Client) -> Timestamp {
    client.open().map_or(Timestamp::default(), |open| open.used_until.unwrap_or(open.registered))
}

/// The approval of an unreviewed client by a user.
#[derive(Debug)]
pub(crate) struct Approval {
    pub(super) subject: Subject,
    /// A place among those that a user approved, if the client had none when it was read.
    pub(super) place: Option<ClientPlace>,
    /// Until when tokens may live.
    pub(super) until: Timestamp,
    pub(super) limits: ClientLifetimes,
}

impl Approval {
    /// Returns whether everything is recorded already.
    pub(super) fn is_noted(&self, application: &Application) -> bool {
        let Some(open) = &application.open else { return true };
        let is_known = open.is_shared || open.approver.as_ref().is_none_or(|approver| *approver == self.subject);
        let is_placed = open.place.is_none_or(|place| place.room.is_approved);
        is_placed && is_known && !must_note_use(&application.client, self.until)
    }

    /// Moves the client to its new place, and records the user and the use.
    pub(super) fn judge(&self, next: &mut Application) -> Result<(), RegistrarError> {
        let Some(open) = &mut next.open else { return Ok(()) };
        match (open.place, self.place) {
            // A person reviewed it meanwhile.
            (None, _) => return Ok(()),
            (Some(old), _) if old.room.is_approved => {
                open.is_shared |= open.approver.as_ref().is_some_and(|approver| *approver != self.subject);
            }
            (Some(_), Some(place)) => {
                open.place = Some(place);
                open.approver = Some(self.subject.clone());
            }
            // It lost its place since it was read.
            (Some(_), None) => return Err(StoreError::transient(Contended).into()),
        }
        if let Some(registration) = &mut next.client_mut().open {
            *registration = Arc::new(used_until(registration, self.until, &self.limits));
        }
        Ok(())
    }
}
