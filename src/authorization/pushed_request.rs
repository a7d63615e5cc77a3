//! A pushed request from the browser's first visit to the decision [RFC 9126 section 4].
//!
//! A visit does not use it up. A visit without a signed-in user is noted, so that the same session may return after the
//! `request_uri` has expired. A consent request keeps the pushed one open, and notes its session too. Approval and
//! denial both use it up: before the decision is written, the pushed request is claimed for one consent request. So at
//! most one of several gets a code. After a crash between the two writes, the user can still decide on the same page.

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::id::PushedRequestId;
use crate::claim::{ATTEMPTS, After, Claim, Effect, Seen, claim};
use crate::context::Context;
use crate::error::Reason;
use crate::model::{PushedFrom, PushedRequest, VISITS, Visit};
use crate::secret::{Digest, Presented};
use crate::store::StoreError;
use crate::wire::Request;

/// The prefix of every `request_uri` [RFC 9126 section 2.2].
pub(crate) const REQUEST_URI_PREFIX: &str = "urn:ietf:params:oauth:request_uri:";

/// Finds the pushed request that a browser presents.
///
/// # Errors
///
/// [`Reason::UnknownRequestUri`] if it is unknown, expired, used, or belongs to another client; the store's error.
pub(crate) async fn visit(
    context: &Context,
    request: &Request<'_>,
    uri: &[u8],
    client: &[u8],
) -> Result<Arc<PushedRequest>, Reason> {
    let presented = Presented::parse(REQUEST_URI_PREFIX, uri).ok_or(Reason::UnknownRequestUri)?;
    let session = request.session.filter(|session| !session.is_empty()).map(Digest::of);
    let mut visiting = Visiting {
        context,
        from: PushedFrom { id: PushedRequestId::from_bytes(presented.id), secret: presented.digest },
        browser: Browser { client, session, is_signed_in: request.subject.is_some() },
        now: context.now(),
    };
    claim(context, &mut visiting, Some(ATTEMPTS)).await
}

/// Keeps the pushed request open until the end of a consent request, whose session may present it until then.
///
/// # Errors
///
/// [`Reason::AlreadyDecided`] if it was decided meanwhile; [`Reason::UnknownRequestUri`] if it can no longer be
/// decided; the store's error.
pub(crate) async fn keep_open(context: &Context, from: &PushedFrom, visit: Visit) -> Result<(), Reason> {
    let change = Change::KeepOpen { visit, now: context.now() };
    claim(context, &mut Changing { context, from: *from, change }, Some(ATTEMPTS)).await
}

/// Uses the pushed request up for the decision of the consent request with that ticket. After a decision without a
/// page, the session of `again` may present it once more.
///
/// # Errors
///
/// [`Reason::AlreadyDecided`] if another decision used it, or its record is gone; the store's error.
pub(crate) async fn use_up(
    context: &Context,
    from: &PushedFrom,
    ticket: Digest,
    again: Option<Visit>,
) -> Result<(), Reason> {
    claim(context, &mut Changing { context, from: *from, change: Change::UseUp { ticket, again } }, Some(ATTEMPTS))
        .await
}

/// Returns the ticket of the consent request whose decision used the pushed request, if one did.
///
/// # Errors
///
/// [`StoreError`] if the store failed.
pub(crate) async fn used_by(context: &Context, from: &PushedFrom) -> Result<Option<Digest>, StoreError> {
    let found = context.stores.pushed_requests.find(&from.id).await?;
    Ok(found.filter(|found| found.is_of(from)).and_then(|found| found.used_by))
}

async fn find(context: &Context, id: &PushedRequestId) -> Result<Seen<PushedRequest>, StoreError> {
    Ok(context.stores.pushed_requests.find(id).await?.into())
}

/// The browser that presents a `request_uri`.
struct Browser<'a> {
    client: &'a [u8],
    session: Option<Digest>,
    is_signed_in: bool,
}

/// What a visit changes: the session is noted, or nothing is.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Noted(Visit),
    Passed,
}

struct Visiting<'a> {
    context: &'a Context,
    from: PushedFrom,
    browser: Browser<'a>,
    now: Timestamp,
}

impl Claim for Visiting<'_> {
    type Row = PushedRequest;
    type Won = Arc<PushedRequest>;
    type Error = Reason;

    async fn read(&mut self) -> Result<Seen<PushedRequest>, Reason> {
        Ok(find(self.context, &self.from.id).await?)
    }

    fn judge(&mut self, seen: &Seen<PushedRequest>) -> Result<Effect<PushedRequest, Arc<PushedRequest>>, Reason> {
        let Seen::Found(found) = seen else { return Err(Reason::UnknownRequestUri) };
        if !found.is_of(&self.from) {
            return Err(Reason::UnknownRequestUri);
        }
        let until = self.now.plus(self.context.config.authorization.hold_lifetime);
        Ok(match judge_visit(found, &self.browser, self.now, until)? {
            Outcome::Passed => Effect::Leave(found.clone()),
            Outcome::Noted(visit) => {
                let visited = Arc::new(found.visited(visit, self.now));
                Effect::Replace(visited.clone(), visited)
            }
        })
    }

    fn is_done(&self, found: &PushedRequest, _: &PushedRequest, _: After) -> bool {
        found.is_of(&self.from) && found.visits.iter().any(|visit| Some(visit.session) == self.browser.session)
    }
}

/// Checks whether the browser may present the request, and whether its session is noted.
fn judge_visit(
    pushed: &PushedRequest,
    browser: &Browser<'_>,
    now: Timestamp,
    until: Timestamp,
) -> Result<Outcome, Reason> {
    if pushed.client.as_str().as_bytes() != browser.client {
        return Err(Reason::UnknownRequestUri);
    }
    let is_noted = browser.session.is_some_and(|session| is_noted(pushed, session, now));
    if pushed.used_by.is_some() && is_noted && browser.is_signed_in {
        // It was decided in this browser a moment ago, without a page.
        return Ok(Outcome::Passed);
    }
    if !pushed.is_open(now) {
        return Err(Reason::not_yet_valid(pushed.created, now, Reason::UnknownRequestUri));
    }
    // > An expired request_uri MUST be rejected as invalid.
    //
    // For a session that has presented it before, it has not expired: the user may need longer to sign in.
    if now >= pushed.end && !is_noted {
        return Err(Reason::UnknownRequestUri);
    }
    match browser.session {
        Some(session) if !is_noted && !browser.is_signed_in && has_room(pushed, now) => {
            Ok(Outcome::Noted(Visit { session, until, holder: None }))
        }
        Some(_) | None => Ok(Outcome::Passed),
    }
}

fn is_noted(pushed: &PushedRequest, session: Digest, now: Timestamp) -> bool {
    pushed.visits.iter().any(|visit| now < visit.until && visit.session == session)
}

fn has_room(pushed: &PushedRequest, now: Timestamp) -> bool {
    pushed.visits.iter().filter(|visit| now < visit.until).count() < VISITS
}

/// Returns whether the visit can be kept. One who awaits a decision displaces one who only opened the link.
fn has_room_for(pushed: &PushedRequest, visit: Visit, now: Timestamp) -> bool {
    has_room(pushed, now) || visit.holder.is_some() && pushed.visits.iter().any(|own| own.holder.is_none())
}

/// Keeps a pushed request open, or uses it up.
struct Changing<'a> {
    context: &'a Context,
    from: PushedFrom,
    change: Change,
}

/// What a consent request does with its pushed request.
enum Change {
    /// Keeps it open until the end of the visit.
    KeepOpen { visit: Visit, now: Timestamp },
    /// Uses it up for the decision of the consent request with that ticket.
    UseUp { ticket: Digest, again: Option<Visit> },
}

impl Claim for Changing<'_> {
    type Row = PushedRequest;
    type Won = ();
    type Error = Reason;

    async fn read(&mut self) -> Result<Seen<PushedRequest>, Reason> {
        Ok(find(self.context, &self.from.id).await?)
    }

    fn judge(&mut self, seen: &Seen<PushedRequest>) -> Result<Effect<PushedRequest, ()>, Reason> {
        let found = seen.found().filter(|found| found.is_of(&self.from));
        match self.change {
            Change::KeepOpen { visit, now } => {
                let found = found.ok_or(Reason::UnknownRequestUri)?;
                match found.used_by {
                    Some(_) => Err(Reason::AlreadyDecided),
                    None if !found.is_open(now) => Err(Reason::UnknownRequestUri),
                    None if is_kept_open(found, visit, now) => Ok(Effect::Leave(())),
                    None => {
                        let held = found.held(visit.until);
                        let may_note = is_noted(found, visit.session, now) || has_room_for(found, visit, now);
                        Ok(Effect::Replace(Arc::new(if may_note { held.visited(visit, now) } else { held }), ()))
                    }
                }
            }
            Change::UseUp { ticket, again } => {
                let found = found.ok_or(Reason::AlreadyDecided)?;
                match found.used_by {
                    // Claimed by an earlier attempt, which did not write the decision.
                    Some(used_by) if used_by == ticket => Ok(Effect::Confirm(())),
                    Some(_) => Err(Reason::AlreadyDecided),
                    None => {
                        let used = match again {
                            Some(again) => found.used_without_page(ticket, again),
                            None => found.used(ticket),
                        };
                        Ok(Effect::Replace(Arc::new(used), ()))
                    }
                }
            }
        }
    }

    fn is_done(&self, found: &PushedRequest, _: &PushedRequest, _: After) -> bool {
        found.is_of(&self.from)
            && match self.change {
                Change::KeepOpen { visit, now } => found.used_by.is_none() && is_kept_open(found, visit, now),
                Change::UseUp { ticket, .. } => found.used_by == Some(ticket),
            }
    }
}

fn is_kept_open(pushed: &PushedRequest, visit: Visit, now: Timestamp) -> bool {
    let is_noted =
        pushed.visits.iter().any(|own| own.session == visit.session && own.holder == visit.holder && now < own.until);
    pushed.is_held() && pushed.open_until >= visit.until && (is_noted || !has_room_for(pushed, visit, now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::ClientId;

    const fn at(seconds: u32) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn visit(session: &[u8], until: u32) -> Visit {
        Visit { session: Digest::of(session), until: at(until), holder: None }
    }

    fn pushed() -> PushedRequest {
        PushedRequest {
            id: PushedRequestId::from_bytes([7; 16]),
            version: 1,
            client: ClientId::new("own").unwrap(),
            epoch: 0,
            secret: Digest::of(b"secret"),
            created: at(1000),
            end: at(1300),
            open_until: at(3000),
            parameters: "response_type=code".into(),
            key: None,
            visits: vec![visit(b"early", 3000)],
            used_by: None,
        }
    }

    /// The browser's session, whether its user has signed in, the time of the visit, and the outcome.
    type Row = (Option<&'static [u8]>, bool, u32, Option<Outcome>);

    /// 9126-4-04: in time, all sessions pass; later, only those that came before.
    #[test]
    fn late_visits_are_for_sessions_that_came_in_time() {
        let noted = |session| Some(Outcome::Noted(visit(session, 9000)));
        let rows: [Row; 12] = [
            (None, false, 1299, Some(Outcome::Passed)),
            (None, false, 1300, None),
            (Some(b"new"), false, 1299, noted(b"new")),
            (Some(b"new"), true, 1299, Some(Outcome::Passed)),
            (Some(b"new"), false, 1300, None),
            (Some(b"new"), true, 1300, None),
            (Some(b"early"), false, 1000, Some(Outcome::Passed)),
            (Some(b"early"), false, 1300, Some(Outcome::Passed)),
            (Some(b"early"), true, 2999, Some(Outcome::Passed)),
            (Some(b"early"), true, 3000, None),
            (Some(b"new"), false, 940, noted(b"new")),
            (Some(b"new"), false, 939, None),
        ];
        for (number, (session, is_signed_in, now, expected)) in rows.into_iter().enumerate() {
            let browser = Browser { client: b"own", session: session.map(Digest::of), is_signed_in };
            let outcome = judge_visit(&pushed(), &browser, at(now), at(9000));
            assert_eq!(outcome.ok(), expected, "row {number}");
        }
    }

    /// 9126-4-01
    #[test]
    fn a_request_is_for_its_client_and_for_one_decision() {
        let anybody = Browser { client: b"own", session: None, is_signed_in: true };
        assert!(judge_visit(&pushed(), &anybody, at(1000), at(9000)).is_ok());
        let other = Browser { client: b"other", session: None, is_signed_in: true };
        assert!(judge_visit(&pushed(), &other, at(1000), at(9000)).is_err());
        let used = pushed().used(Digest::of(b"handle"));
        assert!(judge_visit(&used, &anybody, at(1000), at(9000)).is_err());
    }

    #[test]
    fn no_more_than_eight_sessions_are_noted() {
        let browser = Browser { client: b"own", session: Some(Digest::of(b"new")), is_signed_in: false };
        for (ended, expected) in [(0, Outcome::Passed), (1, Outcome::Noted(visit(b"new", 9000)))] {
            let visits = (0..VISITS).map(|number| visit(&[7; 9][number..], if number < ended { 1200 } else { 3000 }));
            let full = PushedRequest { visits: visits.collect(), ..pushed() };
            assert_eq!(judge_visit(&full, &browser, at(1200), at(9000)).ok(), Some(expected), "{ended} have ended");
        }
    }

    /// Otherwise nobody would know that it is held when the page of another user ends.
    #[test]
    fn who_awaits_a_decision_displaces_who_only_opened_the_link() {
        let visits = (0..VISITS).map(|number| visit(&[7; 9][number..], 3000)).collect();
        let full = PushedRequest { visits, ..pushed() };
        let holder = Some(Digest::of(b"bob"));
        let held = Visit { holder, ..visit(b"bob's session", 3000) };
        assert!(has_room_for(&full, held, at(1200)) && !has_room_for(&full, Visit { holder: None, ..held }, at(1200)));
        let noted = full.held(at(3000)).visited(held, at(1200));
        assert_eq!(noted.visits.len(), VISITS);
        let released = noted.released(&Digest::of(b"mallory"));
        assert!(released.is_held() && !noted.released(&Digest::of(b"bob")).is_held());
    }
}
