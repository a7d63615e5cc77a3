//! The places of clients that no person has reviewed: which one a client gets, and who gives way for it.
//!
//! [`places`](crate::claim::places) has the rule. A place is a list with one client, or with a few after concurrent
//! writes: the next request that reads the place finds them all.
//!
//! A free place is searched in place of counting, since all registrations would contend for a counter. The eviction of
//! a client is a step like any other, which fails if the client was used meanwhile.
//!
//! - While a user is asked about a client without a live grant, it stays. Its record names the newest consent requests,
//!   at most eight, and at most two of one user, so that no user ends the wait of another. An account that opens any
//!   number of pages keeps as many clients as it may have consent requests: fifty.
//! - One user is the first to approve at most fifty clients. A further one evicts the user's client that was used
//!   longest ago, but none that another user approved too, or is asked about. So 800 accounts are needed to fill a
//!   room. A user whose fifty clients are all in use by others cannot be the first to approve another one. Otherwise
//!   two accounts that approve each other's clients would have no bound.

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::id::{ClientId, Subject};
use crate::claim::places::{CLIENTS_PER_SUBJECT, Met, draw_places};
use crate::hooks::ApplicationChange;
use crate::model::Authorization;
use crate::model::application::{Application, ApplicationFilter, ClientPlace, ClientRoom};
use crate::model::client::Client;
use crate::registration::Registrar;
use crate::registration::error::RegistrarError;
use crate::registration::judge::Action;
use crate::registration::user_approval::{becomes_first, may_have_live_grant};
use crate::store::Page;

/// After so many places without a free one, a registration takes that of a client which no user approved. An approval
/// reads on: nobody else's client gives way while a free place may be found.
const ENOUGH_PLACES: usize = 8;
/// How many clients of one place are read. There is more than one only after concurrent writes.
const OF_ONE_PLACE: usize = 8;

/// A place for a client, and the clients that give way.
pub(super) struct FoundPlace {
    pub(super) place: ClientPlace,
    occupants: Vec<Arc<Application>>,
}

/// Room for a client that a user approves.
#[derive(Default)]
pub(super) struct RoomForApproval {
    /// Its place among the clients that users approved, if it has none there.
    pub(super) place: Option<ClientPlace>,
    /// The clients that give way.
    pub(super) gives_way: Vec<Arc<Application>>,
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
            if !room.is_approved
                && read % ENOUGH_PLACES == 0
                && let Some(found) = met.take_first_to_go()
            {
                return Ok(found);
            }
            let place = ClientPlace { room, number };
            let mut occupants = self.list(&ApplicationFilter::Place(place), Page::first(OF_ONE_PLACE)).await?;
            // A suspended client stays, and takes no room from others.
            occupants.retain(|occupant| !occupant.is_suspended_document());
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

    /// Finds room for a client that this user approves. It writes nothing.
    pub(super) async fn room_for(&self, id: &ClientId, subject: &Subject) -> Result<RoomForApproval, RegistrarError> {
        let (now, application) = (self.context.now(), self.application(id).await?);
        let is_first = becomes_first(&application, subject, now);
        let Some(old) = application.place().filter(|_| is_first) else { return Ok(RoomForApproval::default()) };
        let mut gives_way = self.surplus_of(subject, now).await?;
        if old.room.is_approved {
            return Ok(RoomForApproval { place: None, gives_way });
        }
        let room = ClientRoom { is_approved: true, ..old.room };
        let left_by_own = gives_way.iter().filter_map(|own| own.place()).find(|place| place.room == room);
        let place = match left_by_own {
            Some(place) => place,
            None => {
                let found = self.find_place(room).await?;
                gives_way.extend(found.occupants);
                found.place
            }
        };
        Ok(RoomForApproval { place: Some(place), gives_way })
    }

    /// Returns the clients that give way so that this user may be the first to approve one more: those used longest
    /// ago. One that another user approved too, or is asked about, stays, and so does a suspended one, which could come
    /// back otherwise.
    async fn surplus_of(&self, subject: &Subject, now: Timestamp) -> Result<Vec<Arc<Application>>, RegistrarError> {
        let page = Page::first(2 * CLIENTS_PER_SUBJECT);
        let mut approved = self.list(&ApplicationFilter::FirstApprovedBy(subject.clone()), page).await?;
        approved.retain(|own| !own.client.is_gone_at(now));
        approved.sort_by_key(|own| (used_since(&own.client), own.id().clone()));
        let too_many = (approved.len() + 1).saturating_sub(CLIENTS_PER_SUBJECT);
        let mut surplus = Vec::new();
        for own in approved {
            let is_shared = own.open.as_ref().is_some_and(|open| open.is_shared);
            if surplus.len() < too_many
                && !own.is_suspended_document()
                && !is_shared
                && !self.is_asked_about(&own, Some(subject), now).await?
            {
                surplus.push(own);
            }
        }
        if surplus.len() < too_many { Err(RegistrarError::NoRoom) } else { Ok(surplus) }
    }

    /// Returns whether all of these clients may lose their place: no grant of them is live, and no user is being asked
    /// about them.
    async fn all_may_give_way(&self, occupants: &[Arc<Application>], now: Timestamp) -> Result<bool, RegistrarError> {
        for occupant in occupants {
            if may_have_live_grant(&occupant.client, now) || self.is_asked_about(occupant, None, now).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns whether a consent request that the client names still waits for its user, or became a code; `except`
    /// names a user whose requests do not count.
    async fn is_asked_about(
        &self,
        application: &Application,
        except: Option<&Subject>,
        now: Timestamp,
    ) -> Result<bool, RegistrarError> {
        let waits = |request: &Authorization| request.is_held(now) || request.has_code(now);
        let asked = application.open.iter().flat_map(|open| &open.asked);
        for asked in asked.filter(|asked| Some(&asked.subject) != except) {
            let request = self.context.stores.codes.find(&asked.request).await?;
            if request.is_some_and(|request| request.client == *application.id() && waits(&request)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Removes a client. If another request has removed it or begun to use it meanwhile, nothing is done; the place
    /// then has one more client.
    pub(super) async fn evict(&self, occupant: &Application) -> Result<(), RegistrarError> {
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

/// Returns when the last grant of the client may end, or when it was registered, if no user approved it.
fn used_since(client: &Client) -> Timestamp {
    client.open().map_or_else(Timestamp::default, |open| open.used_until.unwrap_or(open.registered))
}
