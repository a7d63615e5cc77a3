//! Until when an unreviewed client is used, and how long it is kept.

use std::sync::Arc;
use std::time::Duration;

use crate::claim::Contended;
use crate::clock::Timestamp;
use crate::config::ClientLifetimes;
use crate::model::application::{Application, Asked, ClientPlace};
use crate::model::client::{Client, SelfRegistration};
use crate::model::subject::Subject;
use crate::registration::error::RegistrarError;
use crate::store::StoreError;

/// Added to the time until which a client counts as used, so that this time is written at most once a day.
pub(super) const DAY: Duration = Duration::from_secs(86_400);

/// Returns whether the time until which the client is used must be written.
pub(super) fn must_note_use(client: &Client, until: Timestamp) -> bool {
    client.is_unreviewed() && client.open().and_then(|open| open.used_until).is_none_or(|known| known < until)
}

/// Returns whether a grant of the client may be live.
pub(super) fn may_have_live_grant(client: &Client, now: Timestamp) -> bool {
    let used_until = client.open().and_then(|open| open.used_until);
    used_until.is_some_and(|until| now < until) && !client.is_gone_at(now)
}

/// Returns whether the client must name the consent request, which ends at `until`: no grant keeps the client until then,
/// or it gives way with the clients of another user.
pub(super) fn must_note_request(application: &Application, asked: &Asked, until: Timestamp) -> bool {
    let Some(open) = application.open.as_ref().filter(|open| open.place.is_some()) else { return false };
    let is_anothers = open.approver.as_ref().is_some_and(|approver| *approver != asked.subject) && !open.is_shared;
    is_anothers || !may_have_live_grant(&application.client, until)
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

/// Keeps the client until that time plus a day, so that this is written at most once a day.
pub(super) fn used_until(open: &SelfRegistration, until: Timestamp, limits: &ClientLifetimes) -> SelfRegistration {
    let used_until = open.used_until.into_iter().chain([until.plus(DAY)]).max();
    with_end(&SelfRegistration { used_until, ..open.clone() }, limits)
}

/// The approval of an unreviewed client by a user.
#[derive(Debug)]
pub(crate) struct UserApproval {
    pub(super) subject: Subject,
    /// Whether this user is the first to approve it since it had a live grant.
    pub(super) is_first: bool,
    /// A place among those that a user approved, if the client had none when it was read.
    pub(super) place: Option<ClientPlace>,
    /// Until when tokens may live.
    pub(super) until: Timestamp,
    pub(super) limits: ClientLifetimes,
}

impl UserApproval {
    /// Returns whether everything is recorded already.
    pub(super) fn is_noted(&self, application: &Application) -> bool {
        let Some(open) = &application.open else { return true };
        let is_known = open.is_shared || open.approver.as_ref().is_none_or(|approver| *approver == self.subject);
        is_known && !self.is_first && !must_note_use(&application.client, self.until)
    }

    /// Moves the client to its new place, and records the user and the use.
    pub(super) fn judge(&self, next: &mut Application) -> Result<(), RegistrarError> {
        let Some(open) = &mut next.open else { return Ok(()) };
        // A person reviewed it meanwhile.
        let Some(old) = open.place else { return Ok(()) };
        if !old.room.is_approved {
            // Without a new place: it lost its place since it was read.
            open.place = Some(self.place.ok_or_else(|| StoreError::transient(Contended))?);
        }
        if self.is_first {
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
    use std::sync::Arc;

    use super::*;
    use crate::config::{RegistrationSettings, TokenSettings};
    use crate::model::client::ClientOrigin;
    use crate::model::id::ClientId;
    use crate::scope::ScopeSet;

    const DAYS: fn(u32) -> Timestamp = |days| Timestamp::from_seconds(days * 86_400);

    fn open(used_until: Option<u32>, end: Option<u32>, is_reviewed: bool) -> SelfRegistration {
        SelfRegistration {
            origin: ClientOrigin::DynamicRegistration,
            registered: DAYS(100),
            is_reviewed,
            default_scopes: ScopeSet::empty(),
            resources: None,
            end: end.map(DAYS),
            used_until: used_until.map(DAYS),
            gone_at: None,
            has_foreign_links: false,
            looks_like_another: false,
            document: None,
        }
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
                &RegistrationSettings::default().client_lifetimes(&TokenSettings::default()),
            );
            assert_eq!(found.gone_at, expected.map(DAYS), "{used_until:?} {end:?} {is_reviewed}");
        }
    }

    #[test]
    fn a_use_is_written_if_it_is_later_than_the_one_that_is_known() {
        let client = |open: Option<SelfRegistration>| Client {
            open: open.map(Arc::new),
            ..Client::blank(ClientId::new("id").unwrap())
        };
        for (known, until, expected) in [(None, 1, true), (Some(300), 300, false), (Some(300), 301, true)] {
            assert_eq!(must_note_use(&client(Some(open(known, None, false))), DAYS(until)), expected);
            assert!(!must_note_use(&client(Some(open(known, None, true))), DAYS(until)), "a reviewed client stays");
        }
        assert!(!must_note_use(&client(None), DAYS(1)));
    }
}
