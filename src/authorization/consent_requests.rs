//! How many requests may wait for one user at once, and which of them makes room for another.
//!
//! A request beyond the bound is not refused, since a person may have forgotten many tabs. It takes over the record of
//! its client's oldest request, by compare-and-swap under the same id. The record then has another ticket, so the old
//! form leads to the error page. This costs no row. A row keeps its client, so the oldest request of another client is
//! ended by a write of its own. The record of a request that was denied or has expired is taken over too; one with a
//! code never is, since its grant has the same id.
//!
//! Callers that read the list at the same time may exceed the bound together, and so may a user who approves more than
//! 200 requests within two lifetimes. The next request restores the bound.

use std::sync::Arc;
use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::base::id::{AuthorizationId, ClientId, Subject};
use crate::claim::places::split_surplus;
use crate::context::Context;
use crate::model::{Authorization, Stage};
use crate::store::{Page, StoreError};

/// Other requests of the user that one page may show besides the held ones: those that were decided within twice
/// [`hold_lifetime`](crate::Config::authorization).
const DECIDED: usize = 200;

/// What happens to a user's requests when another one is held.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Room {
    /// The request of the same client whose record the new one takes over.
    pub(crate) place: Option<Arc<Authorization>>,
    /// Consent requests beyond the limits, which are ended.
    pub(crate) surplus: Vec<Arc<Authorization>>,
    /// The requests that end and whose [source is released](crate::grant::release): no other request of the user came
    /// from it.
    pub(crate) released: Vec<Arc<Authorization>>,
}

/// Reads one page of the user's requests and finds room for another one.
///
/// # Errors
///
/// [`StoreError`] if the store failed. An unreadable record is not an error: nothing is counted then, and the user
/// still gets the consent page.
pub(crate) async fn find_room(context: &Context, subject: &Subject, client: &ClientId) -> Result<Room, StoreError> {
    let (lifetime, now) = (context.config.longest_hold(), context.now());
    let max = context.config.limits.consent_requests;
    match recent(context, subject).await {
        Ok(Some(rows)) => Ok(judge(rows, client, max, lifetime, now)),
        Ok(None) => Ok(Room::default()),
        Err(error) if error.unreadable_key().is_some() => Ok(Room::default()),
        Err(error) => Err(error),
    }
}

/// Finds room for a request that is decided without a page, and returns how many codes of the client the user's browser
/// got in the last [`hold_lifetime`]; `None` if there is no room. Exchanged ones count too. So a page that sends a
/// browser here again and again gets few of them.
///
/// [`hold_lifetime`]: crate::Config::authorization
pub(crate) async fn find_room_without_page(
    context: &Context,
    subject: &Subject,
    client: &ClientId,
) -> Result<Option<(Room, usize)>, StoreError> {
    let (lifetime, now) = (context.config.longest_hold(), context.now());
    let max = context.config.limits.consent_requests;
    let Some(rows) = recent(context, subject).await? else { return Ok(Some((Room::default(), 0))) };
    let is_code = |row: &&Arc<Authorization>| {
        row.client == *client && matches!(row.stage, Stage::CodeIssued(_)) && lasts(row, lifetime, now)
    };
    let codes = rows.iter().filter(is_code).count();
    let has_room = codes < max_of_client(max) && rows.len() < max.saturating_add(DECIDED);
    Ok(has_room.then(|| (judge(rows, client, max, lifetime, now), codes)))
}

/// Reads the user's requests of the last two lifetimes; `None` if they are not limited.
async fn recent(context: &Context, subject: &Subject) -> Result<Option<Vec<Arc<Authorization>>>, StoreError> {
    if context.config.limits.consent_requests == usize::MAX {
        Ok(None)
    } else {
        latest(context, subject).await.map(Some)
    }
}

/// Reads one page of the user's requests of the last two lifetimes.
pub(crate) async fn latest(context: &Context, subject: &Subject) -> Result<Vec<Arc<Authorization>>, StoreError> {
    let lifetime = context.config.longest_hold();
    let start = AuthorizationId::first_at(context.now().minus(lifetime).minus(lifetime));
    // The bound is 800 at most, or none.
    let page = Page::after(start, context.config.limits.consent_requests.min(800).saturating_add(DECIDED));
    context.stores.codes.list(subject.as_str(), page).await
}

/// A client may have a fifth of the user's requests.
fn max_of_client(max: usize) -> usize {
    (max / 5).max(1)
}

/// The oldest of the client make room first, then the oldest of the user.
fn judge(rows: Vec<Arc<Authorization>>, client: &ClientId, max: usize, lifetime: Duration, now: Timestamp) -> Room {
    let is_own = |row: &Arc<Authorization>| row.client == *client;
    let age = |row: &Arc<Authorization>| (row.created, row.id);
    let (held, ended): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.is_held(now));
    let (own, others): (Vec<_>, Vec<_>) = held.into_iter().partition(is_own);
    let (mut surplus, own) = split_surplus(own, max_of_client(max) - 1, age);
    let (of_user, kept) = split_surplus([own, others].concat(), max - 1, age);
    surplus.extend(of_user);
    let is_released =
        |row: &&Arc<Authorization>| row.source().is_some() && !kept.iter().any(|own| own.shares_source(row));
    let released = surplus.iter().filter(is_released).cloned().collect();

    let is_place = |row: &Arc<Authorization>| is_own(row) && lasts(row, lifetime, now) && !row.has_fresh_answer(now);
    let place = match ended.into_iter().find(|row| is_place(row) && !matches!(row.stage, Stage::CodeIssued(_))) {
        Some(ended) => Some(ended),
        None => surplus.iter().position(is_place).map(|place| surplus.remove(place)),
    };
    Room { place, surplus, released }
}

/// Whether another request may take over the record. While that request may be held, a page that begins twice the
/// lifetime ago must show the record's id.
fn lasts(row: &Authorization, lifetime: Duration, now: Timestamp) -> bool {
    row.id >= AuthorizationId::first_at(now.minus(lifetime))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grant::fixtures::redirection;
    use crate::model::Destination;
    use crate::model::terms::Terms;
    use crate::secret::Digest;

    const LIFETIME: Duration = Duration::from_secs(1800);

    fn at(seconds: u32) -> Timestamp {
        Timestamp::from_seconds(1_000_000 + seconds)
    }

    /// A request that was held at that time.
    fn request(client: &str, seconds: u32, stage: Stage) -> Arc<Authorization> {
        Arc::new(Authorization {
            id: AuthorizationId::first_at(at(seconds)),
            version: 1,
            client: ClientId::new(client).unwrap(),
            epoch: 0,
            subject: None,
            session: Digest::of(b"session"),
            created: at(seconds),
            ticket: Digest::of(b"ticket"),
            stage,
            since: at(seconds),
            end: at(seconds).plus(LIFETIME),
            destination: Destination::Browser(redirection("https://app.example/cb")),
            challenge: None,
            terms: Terms::none(),
            key: None,
            pushed: None,
            answer: None,
        })
    }

    /// A second click on the first page would otherwise be answered by the request of another client.
    #[test]
    fn only_the_record_of_a_request_of_the_same_client_is_taken_over() {
        let room = |rows: &[&Arc<Authorization>], max| {
            judge(rows.iter().copied().cloned().collect(), &ClientId::new("own").unwrap(), max, LIFETIME, at(100))
        };
        let (denied, of_other) = (request("own", 1, Stage::Denied), request("other", 2, Stage::Denied));
        let spent = request("own", 3, Stage::CodeIssued(Digest::of(b"code")));
        assert_eq!(room(&[&of_other, &spent], 50), Room::default());
        assert_eq!(room(&[&of_other, &denied, &spent], 50), Room { place: Some(denied), ..Room::default() });
        // At the limit, a request of another client ends, and its record stays.
        let held = request("other", 4, Stage::Held);
        assert_eq!(room(&[&held], 1), Room { surplus: vec![held], ..Room::default() });
        let own = request("own", 5, Stage::Held);
        assert_eq!(room(&[&own], 1), Room { place: Some(own), ..Room::default() });
    }
}
