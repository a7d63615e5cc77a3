//! How long an unreviewed client that registered itself is kept.

use std::time::Duration;

use crate::clock::Timestamp;
use crate::config::ClientLifetimes;
use crate::model::application::Application;
use crate::model::client::{Client, SelfRegistration};

/// Added to the time until which a client counts as used, so that this time is written at most once a day.
pub(super) const DAY: Duration = Duration::from_secs(86_400);

/// Returns whether the time until which the client is used must be written.
pub(crate) fn must_note_use(client: &Client, until: Timestamp) -> bool {
    client.is_unreviewed() && client.open().and_then(|open| open.used_until).is_none_or(|known| known < until)
}

/// Returns whether the client may be evicted: no user ever granted it anything. The purge removes clients whose grants
/// have expired, since a clock that jumps ahead does not mislead it.
pub(super) fn may_give_way(application: &Application) -> bool {
    let is_unused = application.client.open().is_some_and(|open| open.used_until.is_none());
    application.slot().is_some() && is_unused && !application.is_kept_out()
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
