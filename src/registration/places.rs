//! The places of clients that no person has reviewed: which one a client gets, and who gives way for it.
//!
//! [`bounds`](crate::bounds) has the rule. A place is a list with one client, or with a few after concurrent writes: the
//! next request that reads the place finds them all.

use std::sync::Arc;

use crate::bounds::{CLIENTS_PER_SUBJECT, Met, draw_places, split_surplus};
use crate::clock::Timestamp;
use crate::context::Context;
use crate::hooks::ApplicationChange;
use crate::model::Authorization;
use crate::model::application::{Application, ApplicationFilter, ClientPlace, ClientRoom};
use crate::model::client::Client;
use crate::model::id::{AuthorizationId, ClientId};
use crate::model::subject::Subject;
use crate::registration::Registrar;
use crate::registration::error::RegistrarError;
use crate::registration::judge::Action;
use crate::registration::last_use::{UserApproval, may_have_live_grant, must_note_use};
use crate::store::Page;

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
    client.open().map_or_else(Timestamp::default, |open| open.used_until.unwrap_or(open.registered))
}

/// Records that tokens of a client that registered itself may live until `until`, unless that is recorded already. The
/// client is kept for the idle time after that.
///
/// # Errors
///
/// [`RegistrarError::NotFound`] if the client has been removed, or [`RegistrarError::Store`].
pub(crate) async fn note_use(context: &Arc<Context>, client: &Client, until: Timestamp) -> Result<(), RegistrarError> {
    let registrar = Registrar::new(Arc::clone(context)).filter(|_| must_note_use(client, until));
    let Some(registrar) = registrar else { return Ok(()) };
    let limits = context.config.registration.client_lifetimes(&context.config.tokens);
    registrar.take(client.id(), None, None, Action::NoteUse { until, limits }).await.map(drop)
}

/// Records that this user approves an unreviewed client, before the code exists. Its first approval moves the client to
/// the places of those that a user approved.
///
/// # Errors
///
/// [`RegistrarError::NoRoom`] if there is no such place, [`RegistrarError::NotFound`] if the client has been removed, or
/// [`RegistrarError::Store`].
pub(crate) async fn note_approval(
    context: &Arc<Context>,
    client: &Client,
    subject: &Subject,
    until: Timestamp,
) -> Result<(), RegistrarError> {
    let registrar = Registrar::new(Arc::clone(context)).filter(|_| client.is_unreviewed());
    let Some(registrar) = registrar else { return Ok(()) };
    let limits = context.config.registration.client_lifetimes(&context.config.tokens);
    let place = registrar.make_room_for(client.id(), subject).await?;
    let approval = UserApproval { subject: subject.clone(), place, until, limits };
    registrar.take(client.id(), None, None, Action::NoteApproval(approval)).await.map(drop)
}

/// Records that a user is asked about an unreviewed client without a live grant, before the user sees the page: until the
/// decision, the client keeps its place.
///
/// # Errors
///
/// [`RegistrarError::NotFound`] if the client has been removed, or [`RegistrarError::Store`].
pub(crate) async fn note_request(
    context: &Arc<Context>,
    client: &Client,
    request: AuthorizationId,
) -> Result<(), RegistrarError> {
    let is_needed = client.is_unreviewed() && !may_have_live_grant(client, context.now());
    let Some(registrar) = Registrar::new(Arc::clone(context)).filter(|_| is_needed) else { return Ok(()) };
    registrar.take(client.id(), None, None, Action::NoteRequest(request)).await.map(drop)
}
