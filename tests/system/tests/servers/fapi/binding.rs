//! Codes that are bound to the key of proofs [RFC 9449 section 10].

use support::keys::Signer;

use crate::fapi::answers::{created, e400, ok};
use crate::fapi::fixture::{ONE, all};
use crate::fapi::flow::Flow;

/// FAPI-SUITE-09
/// `ensure-mismatched-dpop-jkt-fails`
#[tokio::test]
async fn a_push_names_one_key() {
    all(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        let push = flow.push().proof(&flow.key).field("dpop_jkt", Signer::fresh().thumbprint());
        e400(&push.send().await, "invalid_request");
    })
    .await;
}

/// FAPI-SUITE-10, FAPI-SUITE-11
/// `ensure-token-endpoint-fails-with-mismatched-dpop-proof-jkt`, `ensure-token-endpoint-fails-with-mismatched-dpop-jkt`
#[tokio::test]
async fn a_code_is_exchanged_with_the_key_that_was_pushed() {
    all(async |fixture| {
        for has_proof in [true, false] {
            let flow = Flow::new(fixture, ONE);
            let other = Signer::fresh();
            let push =
                if has_proof { flow.push().proof(&other) } else { flow.push().field("dpop_jkt", other.thumbprint()) };
            let code = flow.code_after(push).await;
            e400(&flow.exchange(&code).send().await, "invalid_grant");
            ok(&flow.exchange(&code).proof(&other).send().await);
        }
    })
    .await;
}

/// FAPI-SUITE-12, FAPI-SUITE-13, FAPI-5.3.2.1-12
/// `ensure-dpopproof-at-par-endpoint-binding-success`, `ensure-dpop-auth-code-binding-success`
#[tokio::test]
async fn a_bound_code_is_good_for_its_key() {
    all(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        flow.succeeds_after(flow.push().proof(&flow.key)).await;
        let flow = Flow::new(fixture, ONE);
        let push = flow.push().proof(&flow.key).field("dpop_jkt", flow.key.thumbprint());
        let uri = created(&push.send().await);
        let code = flow.code_of(&flow.decide(&flow.link(&uri), "allow").await);
        ok(&flow.exchange(&code).send().await);
    })
    .await;
}
