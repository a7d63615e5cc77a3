//! How a user's approval or consent request changes the record of an unreviewed client: pure functions.

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::subject::Subject;
use crate::claim::Contended;
use crate::config::ClientLifetimes;
use crate::model::application::{Application, Asked, ClientPlace};
use crate::registration::error::RegistrarError;
use crate::registration::last_use::{may_have_live_grant, must_note_use, used_until};
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

#[cfg(test)]
mod tests {
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
}
