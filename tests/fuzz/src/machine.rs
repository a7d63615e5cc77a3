//! A whole request to an endpoint that clients call.

use grantor::wire::message::{IntrospectionResponse, Metadata, TokenResponse};
use grantor::wire::{Endpoint, Request, Response};

use super::answer;
use super::request::{self, Written};
use super::stage::{Stage, at_once, play};
use support::world::{ISSUER, SCOPES};

/// The names of codes and tokens that are valid.
const CODES: [&str; 2] = ["code", "bare"];
const REFRESH_TOKENS: [&str; 2] = ["refresh", "twin"];
const ACCESS_TOKENS: [&str; 1] = ["access"];

pub(super) fn check(endpoint: Endpoint, input: &[u8]) -> String {
    play(request::profile(input), |stage| {
        let written = Written::read(input, stage);
        let before = stage.contents();
        let request = written.request();
        let response = at_once(stage.world.server.serve(endpoint, &request));
        let changed = stage.contents() != before;
        let accused = stage.world.events.take().iter().any(|event| is_accusation(event));
        answer::check(&response, &[200, 204, 400, 401, 405, 413, 429]);
        shared_with_pages(endpoint, &response);
        let outcome = match endpoint {
            _ if response.status() == 204 => preflight(endpoint, &request, &response),
            Endpoint::Token => tokens(stage, &written, &response),
            Endpoint::Revocation => revoked(stage, &written, &response, changed),
            Endpoint::Introspection => introspected(stage, &written, &response),
            _ => metadata(&response),
        };
        let may_change = match endpoint {
            // A code or token that was spent before revokes its grant, and the answer is an error.
            Endpoint::Token => response.status() == 200 || accused,
            Endpoint::Revocation => response.status() == 200,
            _ => false,
        };
        assert!(may_change || !changed, "a record changed at {endpoint:?}: {outcome}");
        assert!(!accused || endpoint == Endpoint::Token && changed, "{outcome}");
        if accused { "400, accused".to_owned() } else { outcome }
    })
}

/// The endpoint and the settings decide which pages may read an answer, and nothing of the request is in it.
fn shared_with_pages(endpoint: Endpoint, response: &Response) {
    let own = |name: &str| name.to_ascii_lowercase().starts_with("access-control-");
    let is_shared = response.headers().any(|(name, _)| own(name));
    assert!(!is_shared || endpoint != Endpoint::Introspection);
    assert!(matches!(response.header("Access-Control-Allow-Origin"), None | Some("*")));
    assert_eq!(response.header("Access-Control-Allow-Credentials"), None);
    assert_eq!(response.header("Vary"), None);
}

fn preflight(endpoint: Endpoint, request: &Request<'_>, response: &Response) -> String {
    assert!(request.is_preflight());
    assert_eq!(response.body(), b"");
    let allowed = response.header("Access-Control-Allow-Headers");
    let names = "authorization, content-type, mcp-protocol-version";
    // Of these endpoints, only this one reads proofs.
    let names = if endpoint == Endpoint::Token { format!("{names}, dpop") } else { names.to_owned() };
    assert_eq!(allowed, Some(&*names));
    "204".to_owned()
}

fn is_accusation(event: &str) -> bool {
    event.starts_with("CodeReplayed") || event.starts_with("RefreshTokenReused")
}

fn refused(response: &Response) -> String {
    answer::is_not_stored(response);
    format!("{}, {}", response.status(), answer::error(response))
}

fn texts<'s>(stage: &'s Stage, names: &[&str]) -> Vec<&'s str> {
    names.iter().map(|name| stage.prop(name)).collect()
}

/// Asserts that tokens are issued only for a code or a refresh token, and to the client that it belongs to.
fn tokens(stage: &Stage, written: &Written, response: &Response) -> String {
    if response.status() != 200 {
        return refused(response);
    }
    answer::is_not_stored(response);
    answer::json(response);
    let token: TokenResponse = serde_json::from_slice(response.body()).unwrap();
    assert!(written.proves_the_client(stage));
    let code = written.presents("code", &texts(stage, &CODES));
    let refresh = written.presents("refresh_token", &texts(stage, &[&REFRESH_TOKENS[..], &["old"]].concat()));
    assert!(code || refresh);
    assert!(!stage.props.iter().any(|(_, text)| text == token.access_token.expose()));
    let scope = token.scope.unwrap();
    assert!(scope.split(' ').all(|own| SCOPES.contains(own.trim_end_matches(":r"))), "{scope}");
    "200".to_owned()
}

fn revoked(stage: &Stage, written: &Written, response: &Response, changed: bool) -> String {
    if response.status() != 200 {
        return refused(response);
    }
    answer::is_not_stored(response);
    assert_eq!(response.body(), b"");
    let proven = written.proves_the_client(stage);
    assert!(proven || written.names_the_public_client(stage));
    if !changed {
        return "200".to_owned();
    }
    assert!(
        proven && written.presents("token", &texts(stage, &[&ACCESS_TOKENS[..], &REFRESH_TOKENS, &["old"]].concat()))
    );
    "200, changed".to_owned()
}

/// § 2.2: nothing is revealed of tokens that are revoked, foreign or unknown.
fn introspected(stage: &Stage, written: &Written, response: &Response) -> String {
    if response.status() != 200 {
        return refused(response);
    }
    answer::is_not_stored(response);
    let json = answer::json(response);
    assert!(written.proves_the_client(stage));
    let shown: IntrospectionResponse = serde_json::from_value(json.clone()).unwrap();
    if !shown.active {
        assert_eq!(json, serde_json::json!({"active": false}));
        return "200".to_owned();
    }
    assert!(written.presents("token", &texts(stage, &ACCESS_TOKENS)));
    assert_eq!(shown.client_id.as_deref(), Some(stage.prop("client")));
    assert_eq!(shown.sub.as_deref(), Some(stage.world.alice.as_str()));
    "200, active".to_owned()
}

fn metadata(response: &Response) -> String {
    if response.status() != 200 {
        return refused(response);
    }
    answer::json(response);
    let metadata: Metadata = serde_json::from_slice(response.body()).unwrap();
    assert_eq!(metadata.issuer, ISSUER);
    "200".to_owned()
}
