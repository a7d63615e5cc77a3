//! Modules that expect success.

use support::world::encode;
use support_servers::http::Request;

use crate::fapi::answers::{created, ok, parameter, redirected, served};
use crate::fapi::call::{Call, RESOURCE};
use crate::fapi::fixture::{CALLBACK, Fixture, ONE, TWO, all, one};
use crate::fapi::flow::{Flow, GRANTS};

/// The second client of the suite, which does everything in another way.
pub(crate) fn second(fixture: &Fixture) -> Flow<'_> {
    let mut flow = Flow::new(fixture, TWO);
    flow.state = Some(format!("{}-._~", &"Aa0".repeat(42)[..124]));
    assert_eq!(flow.state.as_deref().map(str::len), Some(128));
    flow.redirect_uri = format!("{CALLBACK}?dummy1=lorem&dummy2=ipsum");
    flow
}

/// FAPI-SUITE-02, FAPI-5.3.2.2-02, FAPI-5.3.2.2-07, FAPI-5.3.2.2-14, FAPI-5.3.2.1-12
/// `happy-flow`
#[tokio::test]
async fn both_clients_go_the_whole_way() {
    all(async |fixture| {
        let first = Flow::new(fixture, ONE);
        let tokens = first.succeeds_after(first.push()).await;

        let flow = second(fixture);
        let push = flow.push().field("dpop_jkt", flow.key.thumbprint()).field("nonce", "n".repeat(64));
        let uri = created(&push.send().await);
        let reversed = [("scope", "account-profile:r"), ("client_id", flow.party.id), ("request_uri", &*uri)];
        let code = flow.code_of(&flow.decide(&flow.link_of(&reversed), "allow").await);
        let others = ok(&flow.exchange(&code).send().await);
        let resource = || flow.resource(&others.access);
        served(fixture, &resource().send().await);
        for accept in ["*/*", "text/html", "application/json; charset=utf-8"] {
            served(fixture, &resource().header("Accept", accept).send().await);
        }

        let query = encode(&[("access_token", &others.access)]);
        let in_query = Request::get(RESOURCE).query(query).send_to(fixture.address).await;
        assert!([400, 401, 414].contains(&in_query.status), "{in_query:?}");
        for (token, key) in [(&others, &first.key), (&tokens, &flow.key)] {
            let foreign = Call::resource(fixture, &token.access, key).send().await;
            assert!((400..500).contains(&foreign.status), "{foreign:?}");
        }
    })
    .await;
}

/// FAPI-SUITE-02, FAPI-5.3.4-01
/// `happy-flow` for client credentials
#[tokio::test]
async fn both_clients_get_tokens_of_their_own() {
    all(async |fixture| {
        for number in [ONE, TWO] {
            let flow = Flow::new(fixture, number);
            let tokens = flow.tokens(GRANTS[1]).await;
            served(fixture, &flow.resource(&tokens.access).send().await);
            let foreign = Call::resource(fixture, &tokens.access, &Flow::new(fixture, number).key).send().await;
            assert!((400..500).contains(&foreign.status), "{foreign:?}");
        }
    })
    .await;
}

/// FAPI-SUITE-03, FAPI-5.3.2.2-10, FAPI-5.3.2.2-11
/// `user-rejects-authentication`
#[tokio::test]
async fn a_refusal_goes_back_with_state_and_issuer() {
    all(async |fixture| {
        for flow in [Flow::new(fixture, ONE), second(fixture)] {
            let uri = created(&flow.push().send().await);
            let answer = flow.decide(&flow.link(&uri), "deny").await;
            let parameters = redirected(&answer, &flow.redirect_uri);
            assert_eq!(parameter(&parameters, "error"), Some("access_denied"));
            assert_eq!(parameter(&parameters, "state"), flow.state.as_deref());
            let known = ["error", "error_description", "error_uri", "iss", "state"];
            assert!(parameters.iter().all(|(name, _)| known.contains(&name.as_str())), "{parameters:?}");
        }
    })
    .await;
}

/// FAPI-SUITE-04
/// `ensure-authorization-request-without-state-success`
#[tokio::test]
async fn a_request_without_state_is_answered_without_it() {
    all(async |fixture| {
        let flow = Flow { state: None, ..Flow::new(fixture, ONE) };
        flow.succeeds_after(flow.push()).await;
    })
    .await;
}

/// FAPI-SUITE-05
/// `access-token-type-header-case-sensitivity`
#[tokio::test]
async fn the_scheme_is_read_in_any_case() {
    all(async |fixture| {
        for grant in GRANTS {
            let flow = Flow::new(fixture, ONE);
            let tokens = flow.tokens(grant).await;
            let call = flow.resource(&tokens.access).without_header("Authorization");
            served(fixture, &call.header("Authorization", format!("dPOp {}", tokens.access)).send().await);
        }
    })
    .await;
}

/// FAPI-SUITE-06
/// `check-dpop-proof-nbf-exp`
#[tokio::test]
async fn proofs_may_have_a_beginning_and_an_end() {
    all(async |fixture| {
        for grant in GRANTS {
            let flow = Flow::new(fixture, ONE);
            let now = fixture.now();
            let with_times = |_: &mut _, claims: &mut serde_json::Value| {
                claims["nbf"] = now.into();
                claims["exp"] = (now + 300).into();
            };
            let tokens = ok(&flow.token_request(grant).await.proof_with(&flow.key, with_times).send().await);
            served(fixture, &flow.resource(&tokens.access).proof_with(&flow.key, with_times).send().await);
        }
    })
    .await;
}

/// FAPI-SUITE-07, FAPI-SUITE-08, FAPI-5.3.2.1-13
/// `ensure-dpopproof-with-iat-10seconds-before-succeeds`, `ensure-dpopproof-with-iat-10seconds-after-succeeds`
#[tokio::test]
async fn clocks_may_differ_by_ten_seconds() {
    all(async |fixture| {
        for seconds in [-10, 8, 10] {
            for grant in GRANTS {
                let flow = Flow::new(fixture, ONE);
                let moved = |_: &mut _, claims: &mut serde_json::Value| {
                    claims["iat"] = fixture.now().checked_add_signed(seconds).into();
                };
                let code_request = async || {
                    let code = flow.code_after(flow.push().proof_with(&flow.key, moved)).await;
                    flow.exchange(&code)
                };
                let request = if grant == GRANTS[0] { code_request().await } else { flow.token_request(grant).await };
                let tokens = ok(&request.proof_with(&flow.key, moved).send().await);
                served(fixture, &flow.resource(&tokens.access).proof_with(&flow.key, moved).send().await);
            }
        }
    })
    .await;
}

/// FAPI-SUITE-14
/// `ensure-different-state-inside-and-outside-request-object`
#[tokio::test]
async fn the_pushed_state_counts() {
    all(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        let uri = created(&flow.push().send().await);
        flow.code_of(&flow.decide(&flow.link_with(&uri, &[("state", "another")]), "allow").await);
    })
    .await;
}

/// FAPI-SUITE-15, FAPI-5.3.2.2-14
/// `ensure-authorization-request-with-long-state`
#[tokio::test]
async fn a_state_of_1000_characters_comes_back() {
    one(async |fixture| {
        let flow = Flow { state: Some("s".repeat(1000)), ..Flow::new(fixture, ONE) };
        flow.succeeds_after(flow.push()).await;
    })
    .await;
}

/// FAPI-SUITE-16
/// `state-only-outside-request-object-not-used`
#[tokio::test]
async fn a_state_that_was_not_pushed_is_ignored() {
    one(async |fixture| {
        let flow = Flow { state: None, ..Flow::new(fixture, ONE) };
        let uri = created(&flow.push().send().await);
        flow.code_of(&flow.decide(&flow.link_with(&uri, &[("state", "outside")]), "allow").await);
    })
    .await;
}

/// FAPI-SUITE-47
/// `par-without-duplicate-parameters`
#[tokio::test]
async fn the_link_needs_client_and_reference_alone() {
    all(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        let uri = created(&flow.push().send().await);
        let code = flow.code_of(&flow.decide(&flow.link_with(&uri, &[]), "allow").await);
        let tokens = ok(&flow.exchange(&code).send().await);
        served(fixture, &flow.resource(&tokens.access).send().await);
    })
    .await;
}
