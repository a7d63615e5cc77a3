//! Authorization requests that are refused.

use support::keys::new_id;
use support::world::CHALLENGE;

use crate::fapi::answers::{e400, parameter, redirected};
use crate::fapi::fixture::{CALLBACK, ONE, SCOPE, all, one};
use crate::fapi::flow::Flow;

/// FAPI-SUITE-17, FAPI-SUITE-20, FAPI-5.3.2.2-06
/// `ensure-request-object-without-redirect-uri-fails`, `ensure-redirect-uri-in-authorization-request`
#[tokio::test]
async fn a_push_without_redirect_uri_is_refused() {
    all(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        e400(&flow.push().without("redirect_uri").send().await, "invalid_request");
    })
    .await;
}

/// FAPI-SUITE-18, FAPI-5.3.2.1-07, FAPI-5.3.2.2-08
/// `plain-fapi-tolerate-unregistered-redirect-uri`
#[tokio::test]
async fn an_unregistered_redirect_uri_is_refused() {
    all(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        let near = ["/random", "?dummy1=lorem", "?dummy2=ipsum&dummy1=lorem", "#fragment", "/"];
        for uri in near.map(|more| format!("{CALLBACK}{more}")) {
            e400(&flow.push().field("redirect_uri", uri).send().await, "invalid_request");
        }
    })
    .await;
}

/// FAPI-SUITE-19, FAPI-5.3.2.2-03
/// `ensure-unsigned-authorization-request-without-using-par-fails`
#[tokio::test]
async fn a_request_that_was_not_pushed_is_refused() {
    all(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        let state = new_id();
        let plain = [
            ("client_id", flow.party.id),
            ("response_type", "code"),
            ("redirect_uri", CALLBACK),
            ("scope", SCOPE),
            ("state", &state),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
        ];
        let parameters = redirected(&flow.visit(&flow.link_of(&plain)).await, CALLBACK);
        assert_eq!(parameter(&parameters, "error"), Some("invalid_request"));
        assert_eq!(parameter(&parameters, "state"), Some(state.as_str()));
    })
    .await;
}

/// FAPI-SUITE-21, FAPI-SUITE-22, FAPI-5.3.2.2-01
/// `ensure-response-type-code-idtoken-fails`, `ensure-response-type-token-fails`
#[tokio::test]
async fn the_only_response_type_is_code() {
    all(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        for response_type in ["code id_token", "token", "id_token", "code token"] {
            let answer = flow.push().field("response_type", response_type).send().await;
            e400(&answer, "unsupported_response_type");
        }
    })
    .await;
}

/// FAPI-SUITE-43, FAPI-SUITE-46, FAPI-5.3.2.2-05
/// `par-ensure-pkce-required`, `par-plain-pkce-rejected`
#[tokio::test]
async fn a_push_needs_a_challenge_by_s256() {
    all(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        let without = flow.push().without("code_challenge").without("code_challenge_method");
        e400(&without.send().await, "invalid_request");
        e400(&flow.push().field("code_challenge_method", "plain").send().await, "invalid_request");
        e400(&flow.push().without("code_challenge_method").send().await, "invalid_request");
    })
    .await;
}

/// FAPI-5.3.2.1-14
#[tokio::test]
async fn a_request_without_scope_gets_no_more_than_is_registered() {
    one(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        flow.succeeds_after(flow.push().without("scope")).await;
        e400(&flow.push().field("scope", "repo-code:rw").send().await, "invalid_scope");
    })
    .await;
}
