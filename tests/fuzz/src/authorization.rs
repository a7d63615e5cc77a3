//! A whole request to the authorization endpoint, with its user's decision.

use grantor::wire::Response;
use grantor::{AuthorizationError, Consent, Decision, PendingAuthorization};

use super::answer;
use super::redirect_uri::place;
use super::request::{self, Written, parameters};
use super::stage::{Stage, at_once, play};
use support::world::{ISSUER, REDIRECT_URI, SESSION};

pub(super) fn check(input: &[u8]) -> String {
    play(request::profile(input), |stage| {
        let written = Written::read(input, stage);
        let before = stage.contents();
        let found = at_once(stage.world.server.authorize(&written.request()));
        assert!(stage.contents() == before, "checking a request changes nothing");
        match found {
            Ok(pending) => decided(stage, &written, &pending),
            Err(error) => refused(stage, &written, error),
        }
    })
}

/// The error page, or a redirect to the client if a user is signed in.
fn refused(stage: &Stage, written: &Written, error: AuthorizationError) -> String {
    let redirects = error.redirects();
    let alice = &stage.world.alice;
    let response = error.response(redirects.then_some(alice));
    answer::is_not_stored(&response);
    if redirects {
        return format!("error, {}", text(&redirected(stage, written, &response), "error"));
    }
    answer::check(&response, &[400, 405]);
    answer::page(&response);
    if response.status() == 405 { "method".to_owned() } else { "page".to_owned() }
}

/// Both decisions send the browser back to the client, one with a code and the other without.
fn decided(stage: &Stage, written: &Written, pending: &PendingAuthorization) -> String {
    assert!(matches!(written.method(), "GET" | "HEAD"));
    assert!(pending.scopes().is_subset_of(&pending.client().form().scopes));
    assert!(pending.requested().count() > 0);
    for decision in [Decision::Deny, Decision::Approve(Consent::to_everything())] {
        let (world, alice) = (&stage.world, &stage.world.alice);
        let handle = at_once(world.server.hold(pending, alice, SESSION)).unwrap();
        let response = at_once(world.server.decide(handle.expose(), alice, SESSION, &decision)).unwrap();
        answer::is_not_stored(&response);
        let parameters = redirected(stage, written, &response);
        let agreed = decision != Decision::Deny;
        assert_eq!(parameters.iter().any(|(name, _)| name == b"code"), agreed);
        assert_eq!(parameters.iter().any(|(name, _)| name == b"error"), !agreed);
    }
    "code".to_owned()
}

/// Returns what was added to the redirect URI, which must lead to a registered place.
fn redirected(stage: &Stage, written: &Written, response: &Response) -> Vec<(Vec<u8>, Vec<u8>)> {
    answer::check(response, &[302, 303]);
    let location = response.header("Location").unwrap();
    assert!(location.bytes().all(is_uri_character), "{location:?}");
    let known = [REDIRECT_URI, "http://127.0.0.1/cb", "com.example.app:/cb"];
    let there = place(location.split('#').next().unwrap()).unwrap();
    let is_known = known.iter().any(|known| place(known).unwrap() == there);
    assert!(is_known, "not a registered place: {location}");

    let requested = written.in_query("redirect_uri");
    let client = written.in_query("client_id");
    let alone = if client == [stage.prop("public").as_bytes()] { "http://127.0.0.1/cb" } else { REDIRECT_URI };
    let own = requested.first().map_or(alone.as_bytes(), Vec::as_slice);
    let added = location.as_bytes().strip_prefix(own).expect("the redirect URI itself, as it was sent");
    let added = added.strip_suffix(b"#_").unwrap_or(added);
    let added = parameters(added.strip_prefix(b"?").unwrap_or(added));
    let state = written.in_query("state");
    match added.iter().find(|(name, _)| name == b"state") {
        Some((_, found)) => assert_eq!(state.first(), Some(found)),
        // A `state` that cannot be returned, or that was sent twice, is not returned.
        None if written.times_in_query("state") > 1 => {}
        None => assert!(!matches!(&state[..], [one] if can_be_returned(one)), "{location}"),
    }
    assert_eq!(text(&added, "iss"), ISSUER);
    for name in added.iter().map(|(name, _)| name) {
        assert_eq!(added.iter().filter(|(own, _)| own == name).count(), 1, "{location}");
    }
    if let Some((_, description)) = added.iter().find(|(name, _)| name == b"error_description") {
        answer::is_fixed_sentence(&String::from_utf8(description.clone()).unwrap());
    }
    added
}

/// RFC 6749 appendix A.5, and the server's limit.
fn can_be_returned(state: &[u8]) -> bool {
    !state.is_empty() && state.len() <= 4096 && state.iter().all(|byte| (0x20..=0x7e).contains(byte))
}

fn text(parameters: &[(Vec<u8>, Vec<u8>)], name: &str) -> String {
    let found = parameters.iter().find(|(own, _)| own == name.as_bytes());
    found.map(|(_, value)| String::from_utf8(value.clone()).unwrap()).unwrap_or_default()
}

/// RFC 3986 section 2, and nothing that would need an escape.
fn is_uri_character(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte)
}
