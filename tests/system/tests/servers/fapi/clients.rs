//! Client authentication.

use serde_json::{Value, json};
use support::keys::Signer;

use crate::fapi::answers::{created, eic, ok};
use crate::fapi::call::{PUSH, TOKEN, assertion};
use crate::fapi::fixture::{Fixture, ISSUER, ONE, Party, TWO, all, one};
use crate::fapi::flow::{Flow, GRANTS};

/// Refused at the token endpoint for both grants; afterwards the same code works.
async fn refused(fixture: &Fixture, change: impl Fn(&mut Value, &mut Value) + Copy) {
    for grant in GRANTS {
        let flow = Flow::new(fixture, ONE);
        let good = flow.token_request(grant).await;
        let good = {
            let bad = good.signed_with(&flow.party, change);
            eic(&bad.send().await);
            bad.signed(&flow.party)
        };
        ok(&good.send().await);
    }
}

/// FAPI-SUITE-23
/// `ensure-client-id-in-token-endpoint`
#[tokio::test]
async fn a_client_cannot_be_another_by_its_name() {
    all(async |fixture| {
        for grant in GRANTS {
            let flow = Flow::new(fixture, ONE);
            let pretended = Party { id: fixture.parties[TWO].id, key: flow.party.key.clone() };
            let call = flow.token_request(grant).await.field("client_id", pretended.id).signed(&pretended);
            eic(&call.send().await);
        }
    })
    .await;
}

/// FAPI-SUITE-28, FAPI-5.4.1-01
/// `ensure-signed-client-assertion-with-RS256-fails`
#[tokio::test]
async fn rs256_is_refused() {
    all(async |fixture| {
        if fixture.variant.algorithm != "PS256" {
            return;
        }
        for grant in GRANTS {
            let flow = Flow::new(fixture, ONE);
            // The same key pair: the first of PS256 is that of RS256.
            let weak = Party { key: Signer::rs256().named("key-one"), ..flow.party.clone() };
            assert_eq!(weak.key.thumbprint(), flow.party.key.thumbprint());
            eic(&flow.token_request(grant).await.signed(&weak).send().await);
            let mislabelled = |header: &mut Value, _: &mut Value| header["alg"] = "PS256".into();
            eic(&flow.token_request(grant).await.signed_with(&weak, mislabelled).send().await);
        }
    })
    .await;
}

/// FAPI-SUITE-29, FAPI-5.3.2.1-06, FAPI-5.3.2.2-04
/// `ensure-client-assertion-in-token-endpoint`
#[tokio::test]
async fn a_name_alone_proves_nothing() {
    all(async |fixture| {
        for grant in GRANTS {
            let flow = Flow::new(fixture, ONE);
            let call = flow.token_request(grant).await.field("client_id", flow.party.id);
            eic(&call.without("client_assertion").without("client_assertion_type").send().await);
        }
        let flow = Flow::new(fixture, ONE);
        eic(&flow.push().without("client_assertion").without("client_assertion_type").send().await);
    })
    .await;
}

/// FAPI-SUITE-30
/// `ensure-client-assertion-with-exp-is-5-minutes-in-past-fails`
#[tokio::test]
async fn an_expired_assertion_is_refused() {
    all(async |fixture| {
        let end = fixture.now() - 300;
        refused(fixture, |_, claims| claims["exp"] = end.into()).await;
    })
    .await;
}

/// FAPI-SUITE-31, FAPI-5.3.2.1-08
/// `ensure-client-assertion-with-wrong-aud-fails`
#[tokio::test]
async fn an_assertion_for_another_server_is_refused() {
    all(async |fixture| refused(fixture, |_, claims| claims["aud"] = "https://other.test".into()).await).await;
}

/// FAPI-SUITE-32
/// `ensure-client-assertion-with-no-sub-fails`
#[tokio::test]
async fn an_assertion_without_sub_is_refused() {
    all(async |fixture| {
        refused(fixture, |_, claims| drop(claims.as_object_mut().unwrap().remove("sub"))).await;
    })
    .await;
}

/// FAPI-SUITE-38, FAPI-5.3.2.1-13
/// `par-ensure-jwt-client-assertions-nbf-8-seconds-in-the-future-is-accepted`
#[tokio::test]
async fn an_assertion_may_be_a_few_seconds_ahead() {
    all(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        for seconds in [8, 10] {
            let ahead = |_: &mut Value, claims: &mut Value| {
                claims["iat"] = (fixture.now() + seconds).into();
                claims["nbf"] = claims["iat"].clone();
            };
            created(&flow.push().signed_with(&flow.party, ahead).send().await);
        }
    })
    .await;
}

/// FAPI-SUITE-39, FAPI-5.3.2.1-13
/// `par-ensure-jwt-client-assertions-nbf-over-60-seconds-in-the-future-fails`
#[tokio::test]
async fn an_assertion_is_not_a_minute_ahead() {
    all(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        for seconds in [61, 62] {
            let ahead = |_: &mut Value, claims: &mut Value| {
                for time in ["iat", "nbf", "exp"] {
                    claims[time] = (claims[time].as_u64().unwrap() + seconds).into();
                }
            };
            eic(&flow.push().signed_with(&flow.party, ahead).send().await);
        }
    })
    .await;
}

/// FAPI-SUITE-48, FAPI-SUITE-49, FAPI-SUITE-50, FAPI-5.3.2.1-08
/// `par-test-array-as-audience-fails`, `par-test-par-endpoint-url-as-audience-fails`,
/// `par-test-token-endpoint-url-as-audience-fails`
#[tokio::test]
async fn the_audience_is_the_issuer_as_a_string() {
    all(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        let (token, push) = (format!("{ISSUER}{TOKEN}"), format!("{ISSUER}{PUSH}"));
        for audience in
            [json!([ISSUER, token]), json!([ISSUER]), json!(push), json!(token), json!(format!("{ISSUER}/"))]
        {
            let aimed = |_: &mut Value, claims: &mut Value| claims["aud"] = audience.clone();
            eic(&flow.push().signed_with(&flow.party, aimed).send().await);
        }
        created(&flow.push().send().await);
    })
    .await;
}

/// FAPI-5.3.2.1-06
#[tokio::test]
async fn secrets_are_no_way_in() {
    one(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        let bare = || flow.exchange("made-up").without("client_assertion").without("client_assertion_type");
        let call = bare().field("client_id", flow.party.id).field("client_secret", "secret");
        eic(&call.send().await);
        let basic = bare().header("Authorization", "Basic Y2xpZW50LW9uZTpzZWNyZXQ=");
        let answer = basic.send().await;
        assert_eq!((answer.status, answer.json()["error"].as_str()), (401, Some("invalid_client")));
        assert!(answer.header("www-authenticate").is_some());
    })
    .await;
}

/// FAPI-SUITE-29
/// An assertion is valid for one request, at any endpoint.
#[tokio::test]
async fn an_assertion_is_used_once() {
    all(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        let assertion = assertion(fixture, &flow.party, |_, _| {});
        created(&flow.push().asserted(&assertion).send().await);
        eic(&flow.push().asserted(&assertion).send().await);
        eic(&flow.exchange(&flow.code().await).asserted(&assertion).send().await);
    })
    .await;
}
