//! How many requests may wait for one user at once, and which of them makes room for another.

use std::sync::Arc;

use crate::clock::Timestamp;
use crate::config::Config;
use crate::context::Context;
use crate::model::id::{AuthorizationId, ClientId};
use crate::model::subject::Subject;
use crate::model::{Authorization, Stage};
use crate::store::{Page, StoreError};

/// Other requests of the user that one page may show besides the held ones: those that were decided within twice
/// [`hold_lifetime`](Config::authorization).
const DECIDED: usize = 200;

/// What happens to a user's requests when another one is held.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Room {
    /// The request of the same client whose record the new one takes over.
    pub(crate) place: Option<Arc<Authorization>>,
    /// Consent requests beyond the limits, which are ended.
    pub(crate) surplus: Vec<Arc<Authorization>>,
}

/// Reads one page of the user's requests and finds room for another one.
///
/// # Errors
///
/// [`StoreError`] if the store failed. An unreadable record is not an error: nothing is counted then, and the user
/// still gets the consent page.
pub(crate) async fn find_room(context: &Context, subject: &Subject, client: &ClientId) -> Result<Room, StoreError> {
    let (config, now) = (&context.config, context.now());
    if config.limits.consent_requests == usize::MAX && config.limits.consent_requests_per_client == usize::MAX {
        return Ok(Room::default());
    }
    let start = AuthorizationId::first_at(
        now.minus(config.authorization.hold_lifetime).minus(config.authorization.hold_lifetime),
    );
    let page = Page::after(start, config.limits.consent_requests.saturating_add(DECIDED));
    match context.stores.codes.list(subject.as_str(), page).await {
        Ok(rows) => Ok(judge(rows, client, config, now)),
        Err(error) if error.unreadable_key().is_some() => Ok(Room::default()),
        Err(error) => Err(error),
    }
}

/// The oldest of the client make room first, then the oldest of the user.
fn judge(rows: Vec<Arc<Authorization>>, client: &ClientId, config: &Config, now: Timestamp) -> Room {
    let (mut held, ended): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| is_held(row, now));
    held.sort_by_key(|row| (row.created, row.id));
    let is_own = |row: &Arc<Authorization>| row.client == *client;
    let own = held.iter().filter(|row| is_own(row)).count();
    let mut too_many = (own + 1).saturating_sub(config.limits.consent_requests_per_client);
    let (mut surplus, rest): (Vec<_>, Vec<_>) = held.into_iter().partition(|row| {
        let goes = too_many > 0 && is_own(row);
        too_many -= usize::from(goes);
        goes
    });
    let too_many = (rest.len() + 1).saturating_sub(config.limits.consent_requests);
    surplus.extend(rest.into_iter().take(too_many));

    let is_place = |row: &Arc<Authorization>| is_own(row) && lasts(row, config, now);
    let place = match ended.into_iter().find(|row| is_place(row) && !matches!(row.stage, Stage::CodeIssued(_))) {
        Some(ended) => Some(ended),
        None => surplus.iter().position(is_place).map(|place| surplus.remove(place)),
    };
    Room { place, surplus }
}

/// Whether the request can be decided. A request in the future, left by a clock that had jumped forward, cannot.
fn is_held(row: &Authorization, now: Timestamp) -> bool {
    row.stage == Stage::Held && row.since.has_come(now) && now < row.end
}

/// Whether another request may take over the record. While that request may be held, a page that begins twice the
/// lifetime ago must show the record's id.
fn lasts(row: &Authorization, config: &Config, now: Timestamp) -> bool {
    row.id >= AuthorizationId::first_at(now.minus(config.authorization.hold_lifetime))
}
