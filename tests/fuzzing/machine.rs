//! A whole request to an endpoint that clients call.

use grantor::message::{IntrospectionResponse, Metadata, TokenResponse};
use grantor::wire::{Endpoint, Response};

use super::answer;
use super::request::{self, Written};
use super::stage::{Stage, at_once, play};
use super::world::{ISSUER, SCOPES};

/// Names of what a code or token that opens something stands under.
const CODES: [&str; 2] = ["code", "bare"];
const REFRESH_TOKENS: [&str; 2] = ["refresh", "twin"];
const ACCESS_TOKENS: [&str; 1] = ["access"];

pub(super) fn check(endpoint: Endpoint, input: &[u8]) -> String {
    play(request::profile(input), |stage| {
        let written = Written::read(input, stage);
        let before = stage.contents();
        let response = at_once(stage.world.server.serve(endpoint, &written.request()));
        let changed = stage.contents() != before;
        let accused = stage.world.events.take().iter().any(|event| is_accusation(event));
        answer::check(&response, &[200, 400, 401, 405, 413, 429]);
        let outcome = match endpoint {
            Endpoint::Token => tokens(stage, &written, &response),
            Endpoint::Revocation => revoked(stage, &written, &response, changed),
            Endpoint::Introspection => introspected(stage, &written, &response),
            _ => metadata(&response),
        };
        let may_change = match endpoint {
            // Whoever presents what is spent has it; then the answer is an error, and its grant is dead.
            Endpoint::Token => response.status() == 200 || accused,
            Endpoint::Revocation => response.status() == 200,
            _ => false,
        };
        assert!(may_change || !changed, "a record changed at {endpoint:?}: {outcome}");
        assert!(!accused || endpoint == Endpoint::Token && changed, "{outcome}");
        if accused { "400, accused".to_owned() } else { outcome }
    })
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

/// There is no token without a code or a refresh token, and without the client that it belongs to.
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

/// § 2.2: of what is dead, foreign or unknown nothing is told.
fn introspected(stage: &Stage, written: &Written, response: &Response) -> String {
    if response.status() != 200 {
        return refused(response);
    }
    answer::is_not_stored(response);
    let json = answer::json(response);
    assert!(written.proves_the_client(stage));
    let told: IntrospectionResponse = serde_json::from_value(json.clone()).unwrap();
    if !told.active {
        assert_eq!(json, serde_json::json!({"active": false}));
        return "200".to_owned();
    }
    assert!(written.presents("token", &texts(stage, &ACCESS_TOKENS)));
    assert_eq!(told.client_id.as_deref(), Some(stage.prop("client")));
    assert_eq!(told.sub.as_deref(), Some(stage.world.alice.as_str()));
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
