//! Until when an unreviewed client is used, and how long it is kept.

use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::config::ClientLifetimes;
use crate::model::client::{Client, SelfRegistration};

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
    use crate::registration::fixtures::{days, open};

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
