//! No redirect URI is accepted that a browser would take to another place than the registered one.

use std::cell::Cell;

use grantor::redirect_uri::{PrivateUseSchemes, RedirectUriComparison, RedirectUriPolicy, RegisteredRedirectUri};
use proptest::prelude::*;
use url::{ParseError, Position, Url};

use crate::properties::cases::{check, count, holds};

const CASES: u32 = 12_000;

const REGISTERED: [&str; 11] = [
    "https://app.example.com/cb",
    "https://app.example.com:8443/cb?x=1",
    "https://APP.example.com",
    "https://xn--bcher-kva.example/a/b",
    "https://192.0.2.7/cb",
    "https://[2001:db8::7]/cb",
    "http://127.0.0.1:5000/cb",
    "http://[::1]/cb",
    "http://localhost/cb",
    "com.example.app:/cb",
    "cursor://anysphere.cursor-mcp/cb",
];

/// What attacks on redirect URIs are made of.
const FRAGMENTS: [&str; 66] = [
    "/",
    "//",
    "\\",
    "/\\",
    "?",
    "#",
    "@",
    ":",
    "::",
    ".",
    "..",
    "/..",
    "/./",
    "%",
    "%2f",
    "%5c",
    "%40",
    "%00",
    "%0d%0a",
    "%2e",
    "%2E%2e",
    "\t",
    "\n",
    "\r",
    " ",
    "+",
    "\0",
    "*",
    "_",
    "-",
    "'",
    "\"",
    "<",
    ">",
    "[",
    "]",
    "{",
    "|",
    "^",
    "`",
    ";",
    "&",
    "=",
    "evil.example",
    ".evil.example",
    "@evil.example",
    "://evil.example/",
    "evil.example/",
    "user:secret@",
    "localhost",
    "127.0.0.1",
    "127.1",
    "0x7f.1",
    "2130706433",
    ":443",
    ":80",
    ":0",
    ":00443",
    ":65536",
    "https:",
    "javascript:",
    "blob:https://",
    "xn--",
    "\u{ff0e}",
    "\u{3002}",
    "\u{ad}",
];

/// A change of a text at a random place.
#[derive(Clone, Debug)]
enum Change {
    Insert(usize, &'static str),
    Replace(usize, &'static str),
    Remove(usize, usize),
    /// Changes the case of a letter.
    Turn(usize),
    Append(&'static str),
    Prepend(&'static str),
}

fn change() -> impl Strategy<Value = Change> {
    let fragment = || prop::sample::select(FRAGMENTS.to_vec());
    prop_oneof![
        3 => (0..64_usize, fragment()).prop_map(|(place, fragment)| Change::Insert(place, fragment)),
        1 => (0..64_usize, fragment()).prop_map(|(place, fragment)| Change::Replace(place, fragment)),
        1 => (0..64_usize, 1..4_usize).prop_map(|(place, count)| Change::Remove(place, count)),
        1 => (0..64_usize).prop_map(Change::Turn),
        2 => fragment().prop_map(Change::Append),
        1 => fragment().prop_map(Change::Prepend),
    ]
}

fn changed(text: &str, changes: &[Change]) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for change in changes {
        let count = characters.len();
        match change {
            Change::Insert(place, fragment) => {
                let place = place % (count + 1);
                characters.splice(place..place, fragment.chars());
            }
            Change::Replace(place, fragment) if count > 0 => {
                let place = place % count;
                characters.splice(place..=place, fragment.chars());
            }
            Change::Remove(place, length) if count > 0 => {
                let place = place % count;
                characters.drain(place..(place + length).min(count));
            }
            Change::Turn(place) if count > 0 => {
                let own = &mut characters[place % count];
                *own = if own.is_ascii_lowercase() { own.to_ascii_uppercase() } else { own.to_ascii_lowercase() };
            }
            Change::Replace(..) | Change::Remove(..) | Change::Turn(_) => {}
            Change::Append(fragment) => characters.extend(fragment.chars()),
            Change::Prepend(fragment) => {
                characters.splice(0..0, fragment.chars());
            }
        }
    }
    characters.into_iter().collect()
}

fn policy(comparison: RedirectUriComparison) -> RedirectUriPolicy {
    let mut policy = RedirectUriPolicy::default();
    policy.comparison = comparison;
    policy.private_use_schemes = PrivateUseSchemes::ReverseDomain(vec!["cursor".into()]);
    policy
}

fn is_loopback(url: &Url) -> bool {
    url.scheme() == "http" && matches!(url.host_str(), Some("127.0.0.1" | "[::1]" | "localhost"))
}

/// Where a browser would go, as far as the rule compares it: on a loopback host, the port may differ.
fn place(text: &str) -> Result<(String, String, Option<u16>), String> {
    let url = Url::parse(text).map_err(|error| format!("{text:?}: {error}"))?;
    let plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    holds(plain, || format!("{text:?} has a user, a password or a fragment"))?;
    let port = url.port_or_known_default().filter(|_| !is_loopback(&url));
    Ok((url.scheme().to_owned(), url.host_str().unwrap_or_default().to_owned(), port))
}

#[test]
fn nothing_is_accepted_that_a_browser_takes_elsewhere() {
    let accepted = Cell::new(0_u32);
    let case = (prop::sample::select(REGISTERED.to_vec()), prop::collection::vec(change(), 0..4));
    check(CASES, &case, |(registered, changes)| {
        let requested = changed(registered, &changes);
        let (domain, exact) = (policy(RedirectUriComparison::Domain), policy(RedirectUriComparison::Exact));
        let own = RegisteredRedirectUri::parse(registered, &domain).unwrap();
        let by_domain = own.matches(requested.as_bytes(), &domain);
        let exactly = own.matches(requested.as_bytes(), &exact);
        holds(exactly.is_err() || by_domain.is_ok(), || format!("{requested:?} is accepted exactly alone"))?;
        let Ok(found) = by_domain else { return Ok(()) };
        accepted.set(accepted.get() + 1);
        holds(found.as_str() == requested, || format!("{requested:?} is kept as it is"))?;
        holds(requested.is_ascii() && !requested.contains('\\'), || format!("{requested:?}"))?;
        let there = place(&requested)?;
        holds(there == place(registered)?, || format!("{requested:?} leads to {there:?}"))?;
        let url = Url::parse(&requested).unwrap();
        if registered.starts_with("http") {
            // Nothing was repaired on the way: the browser's host is in the text itself.
            holds(found.host().eq_ignore_ascii_case(&there.1), || format!("{requested:?}: {}", found.host()))?;
            let authority = requested[requested.find("://").unwrap() + 3..].to_ascii_lowercase();
            holds(authority.starts_with(&there.1), || format!("{requested:?} is not where {} is", there.1))?;
        }
        if is_loopback(&url) {
            let rest = |url: &Url| url[Position::BeforePath..].to_owned();
            holds(rest(&url) == rest(&Url::parse(registered).unwrap()), || format!("{requested:?}"))?;
        }
        if exactly.is_ok() && !is_loopback(&url) {
            holds(requested == registered, || format!("{requested:?} is not {registered:?}"))?;
        }
        Ok(())
    });
    assert!(accepted.get() > count(CASES) / 20, "hardly anything was accepted: {}", accepted.get());
}

#[test]
fn nothing_is_registered_that_a_browser_reads_otherwise() {
    let accepted = Cell::new(0_u32);
    let case = (prop::sample::select(REGISTERED.to_vec()), prop::collection::vec(change(), 0..3));
    check(CASES / 2, &case, |(text, changes)| {
        let text = changed(text, &changes);
        let policy = policy(RedirectUriComparison::Domain);
        let Ok(registered) = RegisteredRedirectUri::parse(&text, &policy) else { return Ok(()) };
        // An invalid label after "xn--": a browser goes nowhere.
        if Url::parse(&text) == Err(ParseError::IdnaError) {
            return Ok(());
        }
        accepted.set(accepted.get() + 1);
        let (scheme, host, _) = place(&text)?;
        let url = Url::parse(&text).unwrap();
        match scheme.as_str() {
            "https" => {}
            "http" => holds(is_loopback(&url), || format!("{text:?} is in clear"))?,
            "cursor" => {}
            _ => holds(scheme.contains('.') && host.is_empty(), || format!("{text:?} is no private-use scheme"))?,
        }
        // What was registered is accepted, and nothing but itself under the exact rule.
        let found = registered.matches(text.as_bytes(), &policy);
        holds(found.is_ok_and(|found| found.as_str() == text), || format!("{text:?} matches itself"))
    });
    assert!(accepted.get() > count(CASES / 2) / 20, "hardly anything was registered: {}", accepted.get());
}
