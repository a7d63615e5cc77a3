//! No URI is accepted that a browser would take to another place than the registered one.
//!
//! An input is the registered redirect URI, a line end, and the requested one.

use grantor::redirect_uri::{PrivateUseSchemes, RedirectUriComparison, RedirectUriPolicy, RegisteredRedirectUri};
use url::{ParseError, Position, Url};

pub(super) fn check(input: &[u8]) -> String {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let requested = input.get(end + 1..).unwrap_or_default();
    let Ok(text) = std::str::from_utf8(&input[..end]) else { return "not registered".to_owned() };
    let (domain, exact) = (policy(RedirectUriComparison::Domain), policy(RedirectUriComparison::Exact));
    let registered = RegisteredRedirectUri::parse(text, &domain);
    assert_eq!(registered, RegisteredRedirectUri::parse(text, &exact), "the comparison is for requests alone");
    let Ok(registered) = registered else { return "not registered".to_owned() };
    if leads_nowhere(text) {
        return "registered, to nowhere".to_owned();
    }
    is_safe(text);
    assert_eq!(registered.as_str(), text);
    assert!(registered.matches(text.as_bytes(), &exact).is_ok_and(|found| found.as_str() == text), "{text:?}");
    assert!(registered.stand_in(&exact).is_ok(), "{text:?}");

    let (by_domain, exactly) = (registered.matches(requested, &domain), registered.matches(requested, &exact));
    let Ok(found) = by_domain else {
        assert!(exactly.is_err(), "{}", requested.escape_ascii());
        return "refused".to_owned();
    };
    let asked = std::str::from_utf8(requested).unwrap();
    assert_eq!(found.as_str(), asked, "accepted as it was sent");
    is_safe(asked);
    assert_eq!(place(asked), place(text), "{asked:?} is not where {text:?} is");
    let (there, own) = (Url::parse(asked).unwrap(), Url::parse(text).unwrap());
    assert_eq!(found.is_loopback(), is_loopback(&there), "{asked:?}");
    if is_loopback(&there) {
        assert_eq!(there[Position::BeforePath..], own[Position::BeforePath..], "{asked:?}");
    } else if exactly.is_ok() {
        assert_eq!(asked, text);
    }
    if exactly.is_ok() { "accepted".to_owned() } else { "accepted by domain".to_owned() }
}

fn policy(comparison: RedirectUriComparison) -> RedirectUriPolicy {
    let mut policy = RedirectUriPolicy::default();
    policy.comparison = comparison;
    policy.private_use_schemes = PrivateUseSchemes::ReverseDomain(vec!["cursor".into()]);
    policy
}

/// Asserts that a URI has only visible characters, no user or fragment, and no plain HTTP beyond the user's own device.
fn is_safe(text: &str) {
    assert!(text.bytes().all(|byte| (0x21..=0x7e).contains(&byte)), "{text:?}");
    assert!(!text.contains(['"', '<', '>', '\\', '#', '^', '`', '{', '|', '}']), "{text:?}");
    let (scheme, host, _) = place(text).unwrap();
    match scheme.as_str() {
        "https" => assert!(text.to_ascii_lowercase()["https://".len()..].starts_with(&host), "{text:?}"),
        "http" => assert!(is_loopback(&Url::parse(text).unwrap()), "{text:?}"),
        "cursor" => {}
        _ => assert!(scheme.contains('.') && host.is_empty(), "{text:?}"),
    }
}

fn is_loopback(url: &Url) -> bool {
    url.scheme() == "http" && matches!(url.host_str(), Some("127.0.0.1" | "[::1]" | "localhost"))
}

/// Whether a label after `xn--` may not be registered in the DNS: then a browser goes nowhere.
pub(super) fn leads_nowhere(text: &str) -> bool {
    Url::parse(text) == Err(ParseError::IdnaError)
}

/// Where a browser would go, as far as the rule compares it: on a loopback host, the port may differ.
pub(super) fn place(text: &str) -> Result<(String, String, Option<u16>), String> {
    let url = Url::parse(text).map_err(|error| format!("{text:?}: {error}"))?;
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err(format!("{text:?} has a user, a password or a fragment"));
    }
    let port = url.port_or_known_default().filter(|_| !is_loopback(&url));
    Ok((url.scheme().to_owned(), url.host_str().unwrap_or_default().to_owned(), port))
}
