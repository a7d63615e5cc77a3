//! How long an unreviewed client is kept, and how a user's approval or consent request changes its record: pure
//! functions.

use std::sync::Arc;
use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::base::id::Subject;
use crate::claim::Contended;
use crate::config::ClientLifetimes;
use crate::model::application::{Application, Asked, ClientPlace};
use crate::model::client::{Client, SelfRegistration};
use crate::registration::error::RegistrarError;
use crate::store::StoreError;

/// Returns whether this approval makes the user the first approver: no user has approved the client, or another user
/// was the first and no grant is live any more. Otherwise a user could keep the idle clients of others in use for ever.
pub(super) fn becomes_first(application: &Application, subject: &Subject, now: Timestamp) -> bool {
    let Some(place) = application.place() else { return false };
    let is_idle = !may_have_live_grant(&application.client, now) && application.approver() != Some(subject);
    !place.room.is_approved || is_idle
}

/// Returns whether the record must note this consent request: no grant keeps the client until `until`, or another user
/// was the first to approve it and it may lose its place to that user's next client.
pub(super) fn must_note_request(application: &Application, asked: &Asked, until: Timestamp) -> bool {
    let Some(open) = application.open.as_ref().filter(|open| open.place.is_some()) else { return false };
    let is_anothers = open.approver.as_ref().is_some_and(|approver| *approver != asked.subject) && !open.is_shared;
    is_anothers || !may_have_live_grant(&application.client, until)
}

/// The approval of an unreviewed client by a user.
#[derive(Debug)]
pub(crate) struct UserApproval {
    pub(super) subject: Subject,
    /// Its place among the clients that users approved; `None` if it needs no new place.
    pub(super) place: Option<ClientPlace>,
    /// Until when tokens may live.
    pub(super) until: Timestamp,
    pub(super) limits: ClientLifetimes,
}

impl UserApproval {
    /// Returns whether everything is recorded already.
    pub(super) fn is_noted(&self, application: &Application, now: Timestamp) -> bool {
        let Some(open) = &application.open else { return true };
        let is_known = open.is_shared || open.approver.as_ref().is_none_or(|approver| *approver == self.subject);
        is_known && !becomes_first(application, &self.subject, now) && !must_note_use(&application.client, self.until)
    }

    /// Moves the client to its new place, and records the user and the use.
    pub(super) fn judge(&self, next: &mut Application, now: Timestamp) -> Result<(), RegistrarError> {
        let is_first = becomes_first(next, &self.subject, now);
        let Some(open) = &mut next.open else { return Ok(()) };
        // A person reviewed it meanwhile.
        let Some(old) = open.place else { return Ok(()) };
        if !old.room.is_approved {
            // Without a new place: it lost its place since it was read.
            open.place = Some(self.place.ok_or_else(|| StoreError::transient(Contended))?);
        }
        if is_first {
            open.approver = Some(self.subject.clone());
            open.is_shared = false;
        }
        open.is_shared |= open.approver.as_ref().is_some_and(|approver| *approver != self.subject);
        if let Some(registration) = &mut next.client_mut().open {
            *registration = Arc::new(used_until(registration, self.until, &self.limits));
        }
        Ok(())
    }
}

/// Added to the time until which a client counts as used, so that this time is written at most once a day.
pub(super) const DAY: Duration = Duration::from_secs(86_400);

/// Returns whether the time until which the client is used must be written.
pub(super) fn must_note_use(client: &Client, until: Timestamp) -> bool {
    client.is_unreviewed() && client.open().and_then(|open| open.used_until).is_none_or(|known| known < until)
}

/// Returns whether a grant of an unreviewed client may be live, by the date in its record: no list has the grants of a
/// client. A revocation does not bring the date forward, since the record does not show whether other grants are live.
pub(super) fn may_have_live_grant(client: &Client, now: Timestamp) -> bool {
    let used_until = client.open().and_then(|open| open.used_until);
    used_until.is_some_and(|until| now < until) && !client.is_gone_at(now)
}

/// Sets the time from which the client counts as unknown.
pub(super) fn with_end(open: &SelfRegistration, limits: &ClientLifetimes) -> SelfRegistration {
    let unused = match open.used_until {
        None => open.registered.plus(limits.unused),
        Some(until) => until.plus(limits.idle),
    };
    let gone_at = (!open.is_reviewed).then(|| open.end.map_or(unused, |end| end.min(unused)));
    SelfRegistration { gone_at, ..open.clone() }
}

/// Counts the client as used until a day after `until`, so that this is written at most once a day.
pub(super) fn used_until(open: &SelfRegistration, until: Timestamp, limits: &ClientLifetimes) -> SelfRegistration {
    let used_until = open.used_until.into_iter().chain([until.plus(DAY)]).max();
    with_end(&SelfRegistration { used_until, ..open.clone() }, limits)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::base::id::ClientId;
    use crate::config::Config;
    use crate::model::application::{ClientRoom, OpenApplication};
    use crate::model::client::{Client, ClientState};
    use crate::registration::fixtures::{days, open};

    /// 7591-5-07
    #[test]
    fn of_two_first_approvals_at_once_the_second_shares_the_client() {
        let room = ClientRoom { has_document: false, is_approved: false };
        let client = Client { state: ClientState::Approved, ..Client::blank(ClientId::new("id").unwrap()) };
        let mut application = Application::new(Arc::new(client), days(100));
        application.open = Some(Box::new(OpenApplication {
            place: Some(ClientPlace { room, number: 1 }),
            ..OpenApplication::default()
        }));
        application.client_mut().open = Some(Arc::new(open(None, None, false)));
        let approval = |name: &str, number| UserApproval {
            subject: Subject::new(name).unwrap(),
            place: Some(ClientPlace { room: ClientRoom { is_approved: true, ..room }, number }),
            until: days(300),
            limits: Config::platform("https://auth.example").client_lifetimes(),
        };
        for (name, number, is_shared) in [("alice", 2, false), ("bob", 3, true)] {
            approval(name, number).judge(&mut application, days(101)).unwrap();
            let open = application.open.as_ref().unwrap();
            assert_eq!(open.approver.as_ref().map(Subject::as_str), Some("alice"), "{name}");
            assert_eq!((open.place.unwrap().number, open.is_shared), (2, is_shared), "{name}");
        }
        // The grants have ended.
        approval("bob", 4).judge(&mut application, days(302)).unwrap();
        let open = application.open.as_ref().unwrap();
        assert_eq!((open.approver.as_ref().map(Subject::as_str), open.is_shared), (Some("bob"), false));
    }

    /// 7591-5-06
    #[test]
    fn a_client_is_gone_at_the_first_of_its_ends() {
        for (used_until, end, is_reviewed, expected) in [
            (None, None, false, Some(107)),
            (Some(300), None, false, Some(480)),
            (None, Some(101), false, Some(101)),
            (Some(300), Some(400), false, Some(400)),
            (Some(300), Some(500), false, Some(480)),
            (None, Some(101), true, None),
            (Some(300), None, true, None),
        ] {
            let found = with_end(
                &open(used_until, end, is_reviewed),
                &Config::platform("https://auth.example").client_lifetimes(),
            );
            assert_eq!(found.gone_at, expected.map(days), "{used_until:?} {end:?} {is_reviewed}");
        }
    }

    #[test]
    fn no_grant_outlives_the_registration() {
        let client = |end| Client {
            open: Some(Arc::new(with_end(
                &open(Some(300), end, false),
                &Config::platform("https://a.example").client_lifetimes(),
            ))),
            ..Client::blank(ClientId::new("id").unwrap())
        };
        for (end, now, expected) in
            [(None, 299, true), (None, 300, false), (Some(200), 199, true), (Some(200), 200, false)]
        {
            assert_eq!(may_have_live_grant(&client(end), days(now)), expected, "{end:?} {now}");
        }
    }

    #[test]
    fn a_use_is_written_if_it_is_later_than_the_one_that_is_known() {
        let client = |open: Option<SelfRegistration>| Client {
            open: open.map(Arc::new),
            ..Client::blank(ClientId::new("id").unwrap())
        };
        for (known, until, expected) in [(None, 1, true), (Some(300), 300, false), (Some(300), 301, true)] {
            assert_eq!(must_note_use(&client(Some(open(known, None, false))), days(until)), expected);
            assert!(!must_note_use(&client(Some(open(known, None, true))), days(until)), "a reviewed client stays");
        }
        assert!(!must_note_use(&client(None), days(1)));
    }
}
