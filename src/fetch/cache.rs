//! A bounded cache with text keys and expiring entries, and how long a response is fresh [RFC 9111 section 4.2].
//!
//! The cache holds fetched documents and key sets, and the clients whose refused introspections were reported.

use std::collections::HashMap;
use std::time::{Duration, UNIX_EPOCH};

use crate::base::clock::Timestamp;
use crate::wire::fetch::FetchResponse;

/// How many documents are cached, how many key sets of reviewed and of unreviewed clients, and how many clients that
/// asked about the tokens of others.
pub(crate) const MAX_CACHED: usize = 1000;

/// Drops the least recently used entry when it is full.
#[derive(Debug)]
pub(crate) struct Cache<V> {
    max: usize,
    entries: HashMap<Box<str>, Entry<V>>,
    uses: u64,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    since: Timestamp,
    until: Timestamp,
    /// The number of its last use.
    used: u64,
}

impl<V: Clone> Cache<V> {
    pub(crate) fn new(max: usize) -> Self {
        Self { max, entries: HashMap::new(), uses: 0 }
    }

    /// Returns the entry, unless it has expired. Setting the clock back does not make an entry valid for longer.
    pub(crate) fn find(&mut self, key: &str, now: Timestamp) -> Option<V> {
        let entry = self.entries.get_mut(key)?;
        if now < entry.since || now >= entry.until {
            self.entries.remove(key);
            return None;
        }
        self.uses += 1;
        entry.used = self.uses;
        Some(entry.value.clone())
    }

    /// Stores an entry. The least recently used one is found by a search of all, which is short beside a fetch.
    pub(crate) fn keep(&mut self, key: &str, value: V, since: Timestamp, until: Timestamp) {
        if self.entries.len() >= self.max && !self.entries.contains_key(key) {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
            oldest.and_then(|oldest| self.entries.remove(&oldest));
        }
        self.uses += 1;
        self.entries.insert(key.into(), Entry { value, since, until, used: self.uses });
    }
}

/// The bounds of the time for which a response is cached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Even if the headers forbid caching, so that this server does not request it repeatedly.
    pub(crate) shortest: Duration,
    pub(crate) longest: Duration,
    /// Without caching headers.
    pub(crate) usual: Duration,
}

/// Returns how long a response that arrived at `now` is cached: as its headers say, within the bounds.
pub(crate) fn lifetime(response: &FetchResponse, now: Timestamp, bounds: &Bounds) -> Duration {
    let said = fresh_seconds(response, now).map(Duration::from_secs);
    said.unwrap_or(bounds.usual).clamp(bounds.shortest, bounds.longest)
}

/// The seconds that remain of the lifetime in the headers; `None` if the headers have none.
fn fresh_seconds(response: &FetchResponse, now: Timestamp) -> Option<u64> {
    let directives = Directives::read(response.cache_control.as_deref().unwrap_or_default());
    if directives.forbids {
        return Some(0);
    }
    // § 4.2.1: `s-maxage` first, since all users share this cache.
    let allowed = directives.shared.or(directives.any).or_else(|| until_expiry(response, now))?;
    let age = response.age.as_deref().map_or(0, |age| seconds(age).unwrap_or(u64::MAX));
    Some(allowed.saturating_sub(age))
}

/// § 5.3: an invalid date counts as past.
fn until_expiry(response: &FetchResponse, now: Timestamp) -> Option<u64> {
    let expires = response.expires.as_deref()?;
    let date = response.date.as_deref().and_then(http_date).unwrap_or(now);
    Some(http_date(expires).map_or(0, |expires| expires.seconds_since(date).into()))
}

/// Reads a date in any of the three formats of [RFC 9110 section 5.6.7].
fn http_date(text: &str) -> Option<Timestamp> {
    let since_epoch = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
    u32::try_from(since_epoch.as_secs()).ok().map(Timestamp::from_seconds)
}

/// The directives of `Cache-Control` that are used here [RFC 9111 section 5.2.2].
#[derive(Debug, Default)]
struct Directives {
    forbids: bool,
    /// `s-maxage`
    shared: Option<u64>,
    /// `max-age`
    any: Option<u64>,
}

impl Directives {
    /// Reads the directives. An invalid value counts as 0. If a directive is repeated, its smallest value counts.
    fn read(header: &str) -> Self {
        let mut directives = Self::default();
        for directive in header.split(',') {
            let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
            let allowed = seconds(value.trim().trim_matches('"')).unwrap_or(0);
            let least = |before: Option<u64>| Some(before.map_or(allowed, |before| before.min(allowed)));
            match name.trim().to_ascii_lowercase().as_str() {
                "no-store" | "no-cache" => directives.forbids = true,
                "s-maxage" => directives.shared = least(directives.shared),
                "max-age" => directives.any = least(directives.any),
                _ => {}
            }
        }
        directives
    }
}

/// § 1.2.2: a number that is too large counts as the largest possible one.
fn seconds(text: &str) -> Option<u64> {
    let text = text.trim();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(u32) -> Timestamp = Timestamp::from_seconds;

    #[test]
    fn what_was_used_least_recently_leaves_first() {
        let mut cache = Cache::new(2);
        cache.keep("a", 1, AT(0), AT(9));
        cache.keep("b", 2, AT(0), AT(9));
        assert_eq!(cache.find("a", AT(1)), Some(1));
        cache.keep("c", 3, AT(1), AT(9));
        let found = ["a", "b", "c"].map(|key| cache.find(key, AT(1)));
        assert_eq!(found, [Some(1), None, Some(3)]);
        cache.keep("c", 4, AT(1), AT(9));
        assert_eq!(["a", "c"].map(|key| cache.find(key, AT(1))), [Some(1), Some(4)]);
        assert_eq!(cache.entries.len(), 2);
    }

    #[test]
    fn what_has_expired_is_not_found() {
        let mut cache = Cache::new(2);
        for (now, expected) in [(5, Some(1)), (9, Some(1)), (10, None), (4, None)] {
            cache.keep("a", 1, AT(5), AT(10));
            assert_eq!(cache.find("a", AT(now)), expected, "{now}");
        }
        assert_eq!(cache.entries.len(), 0);
    }

    /// Cache-Control, Expires, Date and Age, and for how long the response is kept.
    type Case = ([&'static str; 4], u64);

    /// Those of metadata documents.
    const BOUNDS: Bounds = Bounds {
        shortest: Duration::from_secs(300),
        longest: Duration::from_secs(86_400),
        usual: Duration::from_secs(3600),
    };

    #[test]
    fn dates_are_read_in_their_three_formats() {
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(http_date(text), Some(Timestamp::from_seconds(784_111_777)), "{text}");
        }
        for bad in ["", "0", "-1", "now", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Nov 1969 08:49:37 GMT"] {
            assert_eq!(http_date(bad), None, "{bad}");
        }
    }

    /// CIMD-4.3-01
    #[test]
    fn headers_decide_within_bounds() {
        const CASES: [Case; 33] = [
            (["", "", "", ""], 3600),
            (["no-store", "", "", ""], 300),
            (["no-cache", "", "", ""], 300),
            (["No-Store, max-age=1000", "", "", ""], 300),
            (["max-age=1000, no-cache=\"x\"", "", "", ""], 300),
            (["max-age=0", "", "", ""], 300),
            (["max-age=1", "", "", ""], 300),
            (["max-age=301", "", "", ""], 301),
            (["public, Max-Age=1000", "", "", ""], 1000),
            (["max-age=\"1000\"", "", "", ""], 1000),
            (["max-age=1000 , must-revalidate", "", "", ""], 1000),
            (["max-age=86401", "", "", ""], 86_400),
            (["max-age=31536000", "", "", ""], 86_400),
            (["max-age=99999999999999999999999", "", "", ""], 86_400),
            (["max-age=-1", "", "", ""], 300),
            (["max-age=", "", "", ""], 300),
            (["max-age", "", "", ""], 300),
            (["max-age=1e9", "", "", ""], 300),
            (["max-age=1000, max-age=2000", "", "", ""], 1000),
            (["max-age=1000, s-maxage=2000", "", "", ""], 2000),
            (["private", "", "", ""], 3600),
            (["max-age=1000", "", "", "600"], 400),
            (["max-age=1000", "", "", "5000"], 300),
            (["max-age=1000", "", "", "x"], 300),
            (["max-age=1000", "Thu, 01 Jan 1970 00:00:00 GMT", "", ""], 1000),
            (["", "Sun, 09 Sep 2001 01:56:40 GMT", "Sun, 09 Sep 2001 01:46:40 GMT", ""], 600),
            (["", "Sun, 09 Sep 2001 02:56:40 GMT", "Sun, 09 Sep 2001 02:46:40 GMT", ""], 600),
            (["", "Sun, 09 Sep 2001 01:56:40 GMT", "", ""], 600),
            (["", "Sun, 09 Sep 2001 02:06:40 GMT", "", "600"], 600),
            (["", "Sun, 09 Sep 2001 01:56:40 GMT", "x", ""], 600),
            (["", "Sat, 08 Sep 2001 01:56:40 GMT", "", ""], 300),
            (["", "0", "", ""], 300),
            (["", "", "Sun, 09 Sep 2001 01:46:40 GMT", "7"], 3600),
        ];
        // 2001-09-09T01:46:40Z
        let now = Timestamp::from_seconds(1_000_000_000);
        for (headers, expected) in CASES {
            let header = |place: usize| Some(headers[place].to_owned()).filter(|text| !text.is_empty());
            let response = FetchResponse {
                cache_control: header(0),
                expires: header(1),
                date: header(2),
                age: header(3),
                ..FetchResponse::new(200, "")
            };
            assert_eq!(lifetime(&response, now, &BOUNDS), Duration::from_secs(expected), "{headers:?}");
        }
    }
}
