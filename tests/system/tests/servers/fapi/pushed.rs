//! What happens to the reference of a pushed request.

use support_servers::http::Request;

use crate::fapi::answers::{created, e400, page};
use crate::fapi::call::assertion;
use crate::fapi::fixture::{ONE, TWO, all, one};
use crate::fapi::flow::Flow;

/// FAPI-SUITE-35
/// `par-ensure-reused-request-uri-prior-to-auth-completion-succeeds`
#[tokio::test]
async fn a_link_is_opened_again_before_the_decision() {
    all(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        let link = flow.link(&created(&flow.push().send().await));
        flow.consent_page(&link).await;
        flow.code_of(&flow.decide(&link, "allow").await);
    })
    .await;
}

/// FAPI-SUITE-36
/// `par-attempt-reuse-request_uri`
#[tokio::test]
async fn a_link_is_dead_after_the_decision() {
    all(async |fixture| {
        for button in ["allow", "deny"] {
            let flow = Flow::new(fixture, ONE);
            let link = flow.link(&created(&flow.push().send().await));
            assert_eq!(flow.decide(&link, button).await.status, 303);
            page(&flow.visit(&link).await);
            page(&Request::to("GET", &link).send().await);
        }
    })
    .await;
}

/// FAPI-SUITE-37
/// `par-attempt-to-use-expired-request_uri`
#[tokio::test]
async fn a_link_is_dead_after_its_lifetime() {
    all(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        let answer = flow.push().send().await;
        let (link, lifetime) = (flow.link(&created(&answer)), answer.json()["expires_in"].as_u64().unwrap());
        fixture.advance(lifetime);
        page(&flow.visit(&link).await);
        let link = flow.link(&created(&flow.push().send().await));
        fixture.advance(lifetime - 1);
        flow.code_of(&flow.decide(&link, "allow").await);
    })
    .await;
}

/// FAPI-SUITE-40
/// `par-attempt-to-use-request_uri-for-different-client`
#[tokio::test]
async fn a_link_is_for_the_client_that_pushed() {
    all(async |fixture| {
        let (flow, other) = (Flow::new(fixture, ONE), Flow::new(fixture, TWO));
        let uri = created(&flow.push().send().await);
        page(&other.visit(&other.link(&uri)).await);
        flow.code_of(&flow.decide(&flow.link(&uri), "allow").await);
    })
    .await;
}

/// FAPI-SUITE-41
/// `par-authorization-request-containing-request_uri-form-param`
#[tokio::test]
async fn a_push_has_no_reference() {
    all(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        let uri = created(&flow.push().send().await);
        for uri in [uri.as_str(), "urn:ietf:params:oauth:request_uri:made-up", "https://client.test/request"] {
            e400(&flow.push().field("request_uri", uri).send().await, "invalid_request");
        }
    })
    .await;
}

/// FAPI-SUITE-42
/// `par-attempt-invalid-http-method`
#[tokio::test]
async fn a_push_is_a_post() {
    all(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        for method in ["PUT", "GET", "DELETE"] {
            assert_eq!(flow.push().method(method).send().await.status, 405, "{method}");
        }
        created(&flow.push().send().await);
    })
    .await;
}

/// NEG-PAR-01, 9126-2.1-03
/// The whole way of a browser is searched: addresses, pages, cookies and every other header line.
#[tokio::test]
async fn nothing_that_authenticates_a_push_reaches_the_browser() {
    one(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        let assertion = assertion(fixture, &flow.party, |_, _| {});
        let proof = flow.push().proof(&flow.key).made_proof().unwrap();
        let push = flow.push().asserted(&assertion).header("DPoP", &proof);
        let link = flow.link_with(&created(&push.send().await), &[]);
        let mut seen = format!("{:?}", flow.visit(&link).await);
        let shown = flow.consent_page(&link).await;
        seen.push_str(&format!("{} {} {}", shown.url, shown.html, shown.cookies));
        let answer = shown.submit(&[("decision", "allow")]).await;
        flow.code_of(&answer);
        for answer in [answer, flow.visit(&link).await] {
            seen.push_str(&format!("{:?} {}", answer.headers, answer.text()));
        }
        assert!(seen.contains("handle") && seen.contains("client-one"), "{seen}");
        for needle in assertion.split('.').chain(proof.split('.')).chain(["client_assertion", "dpop_jkt"]) {
            assert!(!seen.contains(needle), "{needle}: {seen}");
        }
    })
    .await;
}
