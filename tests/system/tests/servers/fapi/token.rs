//! Codes and proofs at the token endpoint.

use crate::fapi::answers::{e400, edp, ok, served, wd};
use crate::fapi::fixture::{ONE, TWO, all};
use crate::fapi::flow::{Flow, GRANTS, Grant};

/// FAPI-SUITE-24, FAPI-5.3.2.1-04, FAPI-CC-01
/// `ensure-holder-of-key-required`
#[tokio::test]
async fn no_token_is_given_without_a_proof() {
    all(async |fixture| {
        for grant in GRANTS {
            let flow = Flow::new(fixture, ONE);
            let call = flow.token_request(grant).await.without_proof();
            edp(&call.send().await);
            // Neither the code nor anything else was used up.
            ok(&call.signed(&flow.party).proof(&flow.key).send().await);
        }
    })
    .await;
}

/// FAPI-SUITE-25
/// `ensure-authorization-code-is-bound-to-client`
#[tokio::test]
async fn a_code_is_for_its_client() {
    all(async |fixture| {
        let (flow, other) = (Flow::new(fixture, ONE), Flow::new(fixture, TWO));
        let code = flow.code().await;
        e400(&other.exchange(&code).send().await, "invalid_grant");
        ok(&flow.exchange(&code).send().await);
    })
    .await;
}

/// FAPI-SUITE-26, FAPI-5.3.2.2-09
/// `attempt-reuse-authorization-code-after-one-second`
#[tokio::test]
async fn a_used_code_is_refused_and_ends_its_tokens() {
    all(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        let code = flow.code().await;
        let tokens = ok(&flow.exchange(&code).send().await);
        served(fixture, &flow.resource(&tokens.access).send().await);
        fixture.advance(1);
        e400(&flow.exchange(&code).send().await, "invalid_grant");
        wd(&flow.resource(&tokens.access).send().await, "invalid_token");
        e400(&flow.refresh(&tokens.refresh, &flow.key).send().await, "invalid_grant");
    })
    .await;
}

/// FAPI-SUITE-27, FAPI-5.3.2.1-11
/// `ensure-token-endpoint-fails-with-expired-auth-code`
#[tokio::test]
async fn a_code_lives_for_a_minute() {
    all(async |fixture| {
        for (seconds, is_good) in [(59, true), (60, false), (62, false)] {
            let flow = Flow::new(fixture, ONE);
            let code = flow.code().await;
            fixture.advance(seconds);
            let answer = flow.exchange(&code).send().await;
            if is_good {
                ok(&answer);
            } else {
                e400(&answer, "invalid_grant");
            }
        }
    })
    .await;
}

/// FAPI-SUITE-44, FAPI-SUITE-45, FAPI-5.3.2.2-05
/// `ensure-pkce-code-verifier-required`, `incorrect-pkce-code-verifier-rejected`
#[tokio::test]
async fn the_exchange_needs_the_verifier() {
    all(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        let code = flow.code().await;
        e400(&flow.exchange(&code).without("code_verifier").send().await, "invalid_grant");
        let wrong = flow.exchange(&code).field("code_verifier", "wrong".repeat(10));
        e400(&wrong.send().await, "invalid_grant");
    })
    .await;
}

/// FAPI-5.3.2.1-02
#[tokio::test]
async fn there_is_no_password_grant() {
    all(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        let call = flow.exchange("").field("grant_type", "password").field("username", "alice").field("password", "x");
        e400(&call.send().await, "unsupported_grant_type");
    })
    .await;
}

/// FAPI-CC-01
#[tokio::test]
async fn a_client_gets_what_is_registered_for_itself() {
    all(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        let answer = flow.token_request(Grant::ClientCredentials).await.send().await;
        assert!(ok(&answer).refresh.is_empty());
        let beyond = flow.token_request(Grant::ClientCredentials).await.field("scope", "repo-code:rw");
        e400(&beyond.send().await, "invalid_scope");
    })
    .await;
}
